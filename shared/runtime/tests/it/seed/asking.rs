//! Runs of bad weather that ask people: what they ask about, whether anything is done unasked, and what
//! would have come of the same answers without any weather.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use djinn_core::entry::{Entry, Event};
use djinn_core::human::{
    HumanRequest, HumanResponse, HumanSettings, Reason, ResponseRecord, TimeoutAction,
};
use djinn_core::id::HumanRequestId;
use djinn_core::language::Language;
use djinn_core::settings::{Machine, RunSettings};
use djinn_core::tool::{EffectClass, ToolOutput, ToolSpec};
use djinn_runtime::port::RunKey;
use djinn_runtime::port::journal::Journals as _;
use djinn_runtime::port::model::ModelErrorKind;
use djinn_runtime::port::tool::{BoxFuture, Tool, ToolContext, ToolError, Toolbox};
use djinn_runtime::serve::{LoadedRun, list_requests};
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::memory::MemoryStore;
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use fastrand::Rng;
use serde_json::{Map, Value};

use super::outcome::Undisturbed;
use super::tale::Tale;
use crate::market::seen;

/// What was done that nobody had consented to, in words.
pub(super) type Unasked = Arc<Mutex<Vec<String>>>;

/// What one seed's run asks people.
#[derive(Debug, Clone)]
pub(super) struct Asking {
    settings: RunSettings,
    tale: Tale,
    /// How often each call of these is interrupted.
    write: u32,
    send: u32,
    /// The message for which its provider is not paid at first.
    unpaid: Option<&'static str>,
    /// The message for which its provider is down at first, for about half a minute.
    down: Option<&'static str>,
}

impl Asking {
    /// What the seed's run asks; two in five ask anything.
    pub(super) fn of(seed: u64) -> Option<Self> {
        [1, 3].contains(&(seed % 5)).then_some(())?;
        let mut rng = Rng::with_seed(seed ^ 0xa5_0000);
        let mode = if rng.u32(0..3) == 0 { Machine::React } else { Machine::PlanSolve };
        let timeouts = [0, 0, 0, 20, 90, 300];
        let defaults = [TimeoutAction::Skip, TimeoutAction::Confirm, TimeoutAction::Stop];
        let human = HumanSettings {
            enabled: true,
            require: ["send"].map(str::to_owned).into(),
            timeout_s: timeouts[rng.usize(0..timeouts.len())],
            on_timeout: defaults[rng.usize(0..defaults.len())],
            confirm_plan: rng.bool(),
            confirm_steps: ["s3", "*"]
                .into_iter()
                .filter(|_| rng.u32(0..5) == 0)
                .map(str::to_owned)
                .collect(),
            confirm_results: rng.u32(0..5) == 0,
            ..HumanSettings::default()
        };
        let tale = Tale::of(seed, mode);
        let unpaid = (rng.u32(0..3) == 0).then(|| tale.payable()[rng.usize(0..3)]);
        let settings = RunSettings { mode: mode.into(), human, ..RunSettings::default() };
        let (write, send) = (rng.u32(0..3) / 2, rng.u32(0..3) / 2);
        let down = (rng.u32(0..3) == 0).then(|| tale.payable()[rng.usize(0..3)]);
        Some(Self { settings, tale, write, send, unpaid, down })
    }

    pub(super) fn settings(&self) -> RunSettings {
        self.settings.clone()
    }

    /// A simulation of it, and what was done unasked in it.
    pub(super) fn sim(&self, points: &Points, ledger: &Ledger) -> (Sim, Unasked) {
        let failing = |(message, line): (&'static str, StoryLine)| {
            let unpaid = usize::from(self.unpaid == Some(message));
            let down = if self.down == Some(message) { 5 } else { 0 };
            let kinds = [(ModelErrorKind::NoBalance, unpaid), (ModelErrorKind::Overloaded, down)];
            let line = kinds.into_iter().fold(line, |line, (kind, times)| {
                (0..times).fold(line, |line, _| line.failing_after(0, kind))
            });
            (message, line)
        };
        let model = StoryModel::new(self.tale.lines().into_iter().map(failing), points.clone());
        let mut sim = Sim::new(model, Toolbox::default(), points.clone());
        let unasked = Unasked::default();
        let run = sim.make_question(self.settings()).run_key();
        let tool = |name, effect, takes_ms, interrupts| Watched {
            tool: LedgerTool {
                duration: Duration::from_millis(takes_ms),
                timeout_ms: 600_000,
                logs_arguments: true,
                interrupts,
                ..LedgerTool::new(name, effect, ledger, points)
            },
            store: MemoryStore::clone(&sim.ports.store),
            run: run.clone(),
            unasked: Arc::clone(&unasked),
        };
        sim.ports.tools = self.tale.tools([
            tool("look", EffectClass::Read, 6_000, 0),
            tool("write", EffectClass::Idempotent, 200, self.write),
            tool("send", EffectClass::Once, 400, self.send),
        ]);
        (sim, unasked)
    }

    /// The run without weather, in which people decide as they did in this history.
    pub(super) async fn undisturbed(&self, history: &[Entry]) -> Undisturbed {
        let decided: BTreeMap<&HumanRequestId, &HumanResponse> =
            answers(history).map(|answered| (&answered.request, &answered.answer)).collect();
        let was_asked = |message: &&str| {
            history
                .iter()
                .any(|entry| entry.id.to_string() == format!("{message}.again1.requested"))
        };
        let unpaid = self.unpaid.filter(was_asked);
        let mut same = Self { unpaid, down: None, ..self.clone() };
        same.settings.human.timeout_s = 0;
        let (mut sim, _) = same.sim(&Points::new(), &Ledger::default());
        let question = sim.make_question(same.settings());
        let key = question.run_key();
        sim.post_question(question);
        for _ in 0..100 {
            sim.pass_time(Duration::from_secs(20)).await;
            let entries = sim.read_history(&key).await.unwrap();
            if let Some(Event::RunEnded(ending)) = entries.last().map(|entry| &entry.event) {
                return Undisturbed {
                    once: self.tale.once(),
                    seen: seen(&entries),
                    status: ending.status,
                };
            }
            let mut run = LoadedRun::load(&sim.ports, &key).await.unwrap();
            let asks = list_requests(&sim.ports, &mut run).await.unwrap();
            for ask in asks {
                // What would have come without the stop.
                let answer = decided.get(&ask.id).filter(|said| ***said != HumanResponse::Stop);
                sim.send_answer(
                    &key,
                    &ask,
                    answer.map_or(HumanResponse::Confirm, |said| (*said).clone()),
                );
            }
        }
        panic!("{same:?} does not end even without bad weather: {:?}", seen(history));
    }
}

/// The answers that a history holds.
pub(super) fn answers(history: &[Entry]) -> impl Iterator<Item = &ResponseRecord> {
    history.iter().filter_map(|entry| match &entry.event {
        Event::HumanResolved(answered) => Some(answered.as_ref()),
        _ => None,
    })
}

/// All that a history asks.
pub(super) fn asks(history: &[Entry]) -> impl Iterator<Item = &HumanRequest> {
    history.iter().flat_map(|entry| match &entry.event {
        Event::HumanRequested { requests: asks, .. } => asks.as_slice(),
        _ => &[],
    })
}

/// A tool that looks, before it does anything, whether a person's consent is in its run's journal.
struct Watched {
    tool: LedgerTool,
    store: MemoryStore,
    run: RunKey,
    unasked: Unasked,
}

impl Watched {
    /// Why this must not be done now, if it must not.
    async fn problem(
        &self,
        context: &ToolContext,
        arguments: &Map<String, Value>,
    ) -> Option<String> {
        let call = context.call.clone().below(&context.path).to_string();
        let records = self.store.read_from(&self.run, 0).await.unwrap();
        let history: Vec<Entry> = records.into_iter().flat_map(|record| record.entries).collect();
        let first = (self.tool.name == "send").then(|| call.clone());
        let again = (1..=context.interrupts).map(|round| format!("{call}.again{round}"));
        let mut expected = None;
        for needed in first.into_iter().chain(again) {
            let asked = asks(&history).find(|ask| ask.id.to_string() == needed);
            let shown = asked.and_then(|ask| ask.subject.call()).map(|(_, _, shown)| shown.clone());
            let answered =
                answers(&history).find(|answered| answered.request.to_string() == needed);
            expected = match answered.map(|answered| &answered.answer) {
                Some(HumanResponse::Confirm) => shown,
                Some(HumanResponse::Modify { arguments }) => Some(arguments.clone()),
                other => return Some(format!("{needed} is done after {other:?}")),
            };
        }
        let differs = expected.filter(|expected| expected != arguments)?;
        Some(format!("{call} is done with {arguments:?}, confirmed was {differs:?}"))
    }
}

impl Tool for Watched {
    fn spec(&self, language: Language) -> ToolSpec {
        self.tool.spec(language)
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            if let Some(problem) = self.problem(context, arguments).await {
                self.unasked.lock().unwrap().push(problem);
            }
            self.tool.run(context, arguments).await
        })
    }

    fn check_arguments(&self, arguments: &Map<String, Value>) -> Result<(), String> {
        self.tool.check_arguments(arguments)
    }
}

/// What came of people in many seeds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Decided {
    pub(super) runs: usize,
    pub(super) confirmed: usize,
    pub(super) modified: usize,
    pub(super) skipped: usize,
    pub(super) said: usize,
    pub(super) stopped: usize,
    pub(super) expired: usize,
    pub(super) late: usize,
    pub(super) went_on: usize,
    pub(super) interrupts: usize,
    pub(super) plans: usize,
    pub(super) steps: usize,
    pub(super) results: usize,
    pub(super) in_tasks: usize,
    pub(super) quiet: usize,
}

impl Decided {
    pub(super) fn of(history: &[Entry]) -> Self {
        let mut decided = Self { runs: 1, ..Self::default() };
        for answered in answers(history) {
            *match &answered.answer {
                _ if answered.by.is_none() => &mut decided.expired,
                HumanResponse::Confirm if answered.id.starts_with("chat.") => &mut decided.went_on,
                HumanResponse::Confirm => &mut decided.confirmed,
                HumanResponse::Modify { .. } => &mut decided.modified,
                HumanResponse::Skip => &mut decided.skipped,
                HumanResponse::Stop => &mut decided.stopped,
                HumanResponse::Say { .. } => &mut decided.said,
            } += 1;
        }
        for ask in asks(history) {
            decided.interrupts += usize::from(ask.subject.interrupt().is_some());
            decided.in_tasks += usize::from(ask.child.is_some());
            decided.steps += usize::from(ask.reasons.contains(&Reason::Step));
            decided.results += usize::from(ask.reasons.contains(&Reason::Result));
            let tool = ask.subject.call().map(|(_, tool, _)| tool);
            decided.plans += usize::from(tool == Some("planning"));
        }
        decided
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            runs: self.runs + other.runs,
            confirmed: self.confirmed + other.confirmed,
            modified: self.modified + other.modified,
            skipped: self.skipped + other.skipped,
            said: self.said + other.said,
            stopped: self.stopped + other.stopped,
            expired: self.expired + other.expired,
            late: self.late + other.late,
            went_on: self.went_on + other.went_on,
            interrupts: self.interrupts + other.interrupts,
            plans: self.plans + other.plans,
            steps: self.steps + other.steps,
            results: self.results + other.results,
            in_tasks: self.in_tasks + other.in_tasks,
            quiet: self.quiet + other.quiet,
        }
    }

    /// Whether everything that people can do was tried.
    pub(super) fn is_telling(&self) {
        let each = [self.modified, self.skipped, self.said, self.expired, self.late, self.plans];
        assert!(each.iter().all(|count| *count > self.runs / 20), "{self:?}");
        let rarer = [
            self.stopped,
            self.went_on,
            self.interrupts,
            self.in_tasks,
            self.steps,
            self.results,
            self.quiet,
        ];
        assert!(rarer.iter().all(|count| *count > 0), "{self:?}");
        assert!(self.confirmed > self.runs / 2, "{self:?}");
    }
}
