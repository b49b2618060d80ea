//! Processes that stand still for longer than anything they do may take: nobody is told that their
//! time ran out, and nothing fails of it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use djinn_core::entry::{Entry, Event};
use djinn_core::human::{HumanRequest, HumanResponse, HumanSettings};
use djinn_core::language::Language;
use djinn_core::settings::RunSettings;
use djinn_core::tool::{EffectClass, ToolFailure, ToolSpec};
use djinn_runtime::content::{CheckPolicy, ContentPolicy};
use djinn_runtime::port::checker::{CheckError, Checker, ContentCheck, Direction, Verdict};
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::model::ModelErrorKind;
use djinn_runtime::port::tool::{BoxFuture, Tool, ToolContext, ToolError, Toolbox};
use djinn_runtime::settings::Settings;
use djinn_testkit::clock::PausedClock;
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::memory::{OpKind, StoreFault};
use djinn_testkit::point::{Fate, Points};
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use serde_json::{Map, Value, json};

use crate::crash::sorted;
use crate::story::{TOLD, sim, told, visible};

/// Longer than any tool may take, and than a run waits for people.
const LONG: Duration = Duration::from_secs(100);

/// Points of which the first of this name stops its process, for so long.
fn stopping_at(name: &'static str) -> Points {
    let mut left = Some(name);
    Points::with_decision(move |_, point| match left.take_if(|name| point.name == *name) {
        Some(_) => Fate::Freezes(LONG),
        None => Fate::Passes,
    })
}

/// Points of which those of this name have these fates, the last of them again and again.
fn with_fates(name: &'static str, fates: &'static [Fate]) -> Points {
    let mut passed = 0;
    Points::with_decision(move |_, point| {
        if point.name != name {
            return Fate::Passes;
        }
        passed += 1;
        fates[passed.min(fates.len()) - 1]
    })
}

/// Nobody takes a run over from a process that stands still: its lease outlives that.
fn leased_for_long(mut sim: Sim) -> Sim {
    let lease = LONG * 4;
    sim.ports.settings = Arc::new(Settings { lease, ..Settings::default() });
    sim
}

#[tokio::test(start_paused = true)]
async fn a_run_that_stands_still_at_any_point_is_the_same_as_without() {
    let points = Points::new();
    told(&mut leased_for_long(sim(points.clone(), &Ledger::default()))).await;
    let names = points.point_names();
    for (at, name) in names.iter().enumerate() {
        let ledger = Ledger::default();
        let points =
            Points::with_decision(
                move |nth, _| if nth == at { Fate::Freezes(LONG) } else { Fate::Passes },
            );
        let entries = told(&mut leased_for_long(sim(points, &ledger))).await;
        assert_eq!(sorted(&visible(&entries)), sorted(&TOLD), "it stood still {name}");
        assert!(entries.iter().all(|entry| !matches!(entry.event, Event::RunResumed { .. })));
        assert_eq!(
            ledger.lines().len(),
            3,
            "nothing was cut short, so nothing is repeated: {name}"
        );
    }
}

/// A tool whose other side hangs up on a process that stands still.
struct Call {
    effect: EffectClass,
    clock: PausedClock,
    points: Points,
    ledger: Ledger,
}

impl Tool for Call {
    fn spec(&self, language: Language) -> ToolSpec {
        LedgerTool::new("call", self.effect, &self.ledger, &self.points).spec(language)
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<djinn_core::tool::ToolOutput, ToolError>> {
        Box::pin(async move {
            let began_ms = self.clock.now_ms();
            let done = LedgerTool::new("call", self.effect, &self.ledger, &self.points);
            let done = done.run(context, arguments).await;
            if self.clock.now_ms() - began_ms > 10_000 {
                Err(ToolError::from_detail("connection reset by peer"))
            } else {
                done
            }
        })
    }

    fn check_arguments(&self, _arguments: &Map<String, Value>) -> Result<(), String> {
        Ok(())
    }
}

/// What comes of a call that stands still `at` a point, and how often it was made.
async fn called(effect: EffectClass, at: &'static str) -> (String, usize) {
    let (result, calls, _) = called_through(effect, stopping_at(at)).await;
    (result, calls)
}

/// What comes of a call at these points, how often it was made, and the last line of its run.
async fn called_through(effect: EffectClass, points: Points) -> (String, usize, String) {
    let ledger = Ledger::default();
    let line = StoryLine::say("I call.").with_call("call", json!({}));
    let model = StoryModel::new([("t1", line), ("t2", StoryLine::say("Done."))], points.clone());
    let (clock, tool_ledger) = (PausedClock::new(), ledger.clone());
    let tool = Call { effect, clock, points: points.clone(), ledger: tool_ledger };
    let mut sim = leased_for_long(Sim::new(model, Toolbox::default().with_tool(tool), points));
    let entries = told(&mut sim).await;
    let lines = visible(&entries);
    let result = lines.iter().find(|line| line.starts_with("t1.c1.result")).unwrap();
    (result.clone(), ledger.count("call t1.c1"), lines.last().unwrap().clone())
}

#[tokio::test(start_paused = true)]
async fn a_call_over_which_its_process_always_stands_still_is_given_up_the_third_time() {
    const FREEZES: Fate = Fate::Freezes(LONG);
    for effect in [EffectClass::Read, EffectClass::Idempotent] {
        let points = with_fates("before tool t1.c1", &[FREEZES]);
        let (result, calls, end) = called_through(effect, points).await;
        assert_eq!((result.as_str(), calls), ("t1.c1.result fails: crashed", 3));
        assert!(end.starts_with("end finished: Done."), "{end}");
    }
    // Two are not enough, whatever happens after them.
    let points = with_fates("before tool t1.c1", &[FREEZES, FREEZES, Fate::Passes]);
    let (result, calls, _) = called_through(EffectClass::Read, points).await;
    assert_eq!((result.as_str(), calls), ("t1.c1.result gets: call is done", 3));
}

#[tokio::test(start_paused = true)]
async fn standstills_and_deaths_of_a_call_count_together_whoever_drives() {
    const FREEZES: Fate = Fate::Freezes(LONG);
    for fates in [
        &[FREEZES, Fate::Dies, FREEZES, Fate::Passes],
        &[Fate::Dies, FREEZES, Fate::Dies, Fate::Passes],
    ] {
        let points = with_fates("before tool t1.c1", fates);
        let (result, _, end) = called_through(EffectClass::Read, points.clone()).await;
        assert_eq!(result, "t1.c1.result fails: crashed", "{fates:?}");
        assert!(end.starts_with("end finished: Done."), "{end}");
        let begun = points.point_names().iter().filter(|name| *name == "before tool t1.c1").count();
        assert_eq!(begun, 3, "{fates:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_failed_in_a_standstill_is_made_again_unless_its_effect_is_unknown() {
    let done = "t1.c1.result gets: call is done".to_owned();
    let uncertain = "t1.c1.result fails: uncertain".to_owned();
    for at in ["before tool t1.c1", "after tool t1.c1"] {
        for effect in [EffectClass::Read, EffectClass::Idempotent] {
            assert_eq!(called(effect, at).await, (done.clone(), 2), "{effect:?} {at}");
        }
        assert_eq!(called(EffectClass::Once, at).await, (uncertain.clone(), 1), "{at}");
    }
    assert_eq!(called(EffectClass::Once, "before Append 1").await, (done, 1));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_and_stands_still_besides_has_had_its_time() {
    let (points, ledger) = (stopping_at("before tool t1.c1"), Ledger::default());
    let line = StoryLine::say("I call.").with_call("dig", json!({}));
    let model = StoryModel::new([("t1", line), ("t2", StoryLine::say("Done."))], points.clone());
    let tool = LedgerTool {
        duration: Duration::from_secs(30),
        timeout_ms: 20_000,
        ..LedgerTool::new("dig", EffectClass::Read, &ledger, &points)
    };
    let mut sim = leased_for_long(Sim::new(model, Toolbox::default().with_tool(tool), points));
    let entries = told(&mut sim).await;
    // It was given all of it once more, with nothing in the way.
    assert_eq!(visible(&entries)[3], "t1.c1.result fails: timed_out 20");
    assert_eq!(reason(&entries), Some(ToolFailure::TimedOut));
    assert!(ledger.lines().is_empty());
}

fn reason(entries: &[Entry]) -> Option<ToolFailure> {
    entries.iter().find_map(|entry| match &entry.event {
        Event::CallCompleted {
            result: djinn_core::tool::ToolResult::Failed { reason, .. },
            ..
        } => Some(*reason),
        _ => None,
    })
}

/// A run whose model's first attempts fail, the very first of them while its process stands still.
async fn attempted(fails: &[usize]) -> Vec<String> {
    let points = stopping_at("before model t1");
    let line = fails.iter().fold(StoryLine::say("Hello there."), |line, sent| {
        line.failing_after(*sent, ModelErrorKind::Unreachable)
    });
    let model = StoryModel::new([("t1", line)], points.clone()).with_fallback(100_000);
    let mut sim = leased_for_long(Sim::new(model, Toolbox::default(), points));
    visible(&told(&mut sim).await)
}

#[tokio::test(start_paused = true)]
async fn a_model_call_that_broke_off_while_its_process_stood_still_uses_up_no_attempt() {
    let end = "end finished: Hello there. (1 steps, ";
    let told = attempted(&[0, 0, 0]).await;
    assert_eq!(told.len(), 3, "{told:#?}");
    assert!(told[2].starts_with(end), "{told:#?}");
    let told = attempted(&[4, 0, 0]).await;
    assert_eq!(told[1], "t1.reset1 reset after attempt 1");
    assert!(told[3].starts_with(end), "{told:#?}");
    // Three of its own are enough for its fallback.
    let told = attempted(&[0, 0, 0, 0]).await;
    assert_eq!(told[1], "t1.model1 backup in place of story: model_unreachable");
}

#[tokio::test(start_paused = true)]
async fn a_model_call_over_which_its_process_always_stands_still_ends_its_run_the_third_time() {
    for sent in [0, 4] {
        let points = with_fates("before model t1", &[Fate::Freezes(LONG)]);
        let line = (0..5).fold(StoryLine::say("Hello there."), |line, _| {
            line.failing_after(sent, ModelErrorKind::Unreachable)
        });
        let model = StoryModel::new([("t1", line)], points.clone());
        let mut sim = leased_for_long(Sim::new(model, Toolbox::default(), points.clone()));
        let told = visible(&told(&mut sim).await);
        let last = told.last().unwrap();
        assert!(last.starts_with("end failed:") && last.contains("crashed"), "{told:#?}");
        let begun = points.point_names().iter().filter(|name| *name == "before model t1").count();
        assert_eq!(begun, 3, "{told:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_driver_whose_run_was_taken_over_meanwhile_pays_for_no_other_attempt() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let points = Points::with_decision({
        let asked = asked.clone();
        move |_, point| {
            if point.name != "before model t1" {
                return Fate::Passes;
            }
            let mut asked = asked.lock().unwrap();
            asked.push(point.process);
            if asked.len() == 1 { Fate::Freezes(LONG) } else { Fate::Passes }
        }
    });
    let unreachable = ModelErrorKind::Unreachable;
    let line =
        StoryLine::say("Hello there.").failing_after(0, unreachable).failing_after(0, unreachable);
    let model = StoryModel::new([("t1", line)], points.clone());
    let mut sim = Sim::new(model, Toolbox::default(), points);
    // It hears late that the run is another's.
    sim.ports.store.before_each(|op| async move {
        if op.kind == OpKind::RenewLease {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        StoreFault::None
    });
    let told = visible(&told(&mut sim).await);
    tokio::time::sleep(LONG).await;
    let asked = asked.lock().unwrap();
    assert_eq!(asked.iter().filter(|process| **process == 1).count(), 1, "{asked:?}");
    assert!(asked.contains(&2), "{asked:?}");
    assert!(told.last().unwrap().starts_with("end finished: Hello there."), "{told:#?}");
}

/// A checker without a verdict, over which its process stands still the first times.
struct StallingChecker {
    standstills: usize,
    checks: Arc<AtomicUsize>,
}

impl Checker for StallingChecker {
    fn check<'a>(&'a self, check: ContentCheck<'a>) -> BoxFuture<'a, Result<Verdict, CheckError>> {
        Box::pin(async move {
            if check.direction == Direction::In {
                return Ok(Verdict::Allow);
            }
            if self.checks.fetch_add(1, Ordering::SeqCst) < self.standstills {
                // The watch over the process begins before it stands still.
                tokio::task::yield_now().await;
                tokio::time::advance(LONG).await;
            }
            Err(CheckError("the checker cannot be reached".to_owned()))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_checker_over_which_its_process_stands_still_is_asked_three_times() {
    for (standstills, expected) in [(0, 1), (1, 2), (2, 3), (10, 3)] {
        let (points, checks) = (Points::new(), Arc::new(AtomicUsize::new(0)));
        let model = StoryModel::new([("t1", StoryLine::say("Hello."))], points.clone());
        let mut sim = leased_for_long(Sim::new(model, Toolbox::default(), points));
        let checker = Arc::new(StallingChecker { standstills, checks: Arc::clone(&checks) });
        let check_policy = Some(CheckPolicy { checker, fails_open: false });
        sim.ports.content = Arc::new(ContentPolicy { check_policy, ..ContentPolicy::default() });
        let told = visible(&told(&mut sim).await);
        assert!(told.last().unwrap().contains("content_unchecked"), "{told:#?}");
        assert_eq!(checks.load(Ordering::SeqCst), expected, "{standstills} standstills");
    }
}

fn confirms(_: &HumanRequest) -> HumanResponse {
    HumanResponse::Confirm
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_time_counts_although_the_process_stood_still_beyond_it() {
    let (points, ledger) = (stopping_at("before tool t1.c1"), Ledger::default());
    let line = StoryLine::say("I look and send.")
        .with_call("look", json!({}))
        .with_call("send", json!({}));
    let model = StoryModel::new([("t1", line), ("t2", StoryLine::say("Done."))], points.clone());
    let tool = |name, effect| LedgerTool {
        duration: Duration::from_secs(5),
        ..LedgerTool::new(name, effect, &ledger, &points)
    };
    let tools = Toolbox::default()
        .with_tool(tool("look", EffectClass::Read))
        .with_tool(tool("send", EffectClass::Once));
    let mut sim = leased_for_long(Sim::new(model, tools, points));
    sim.person = Some(confirms);
    let require = ["send".to_owned()].into();
    let human = HumanSettings { enabled: true, require, timeout_s: 60, ..HumanSettings::default() };
    let settings = RunSettings { human, ..RunSettings::default() };
    let question = sim.make_question(settings);
    let seen = visible(&sim.run_to_end(&question).await.unwrap());
    assert!(seen.contains(&"t1.c2.resolved hears confirm".to_owned()), "{seen:#?}");
    assert_eq!((ledger.count("look t1.c1"), ledger.count("send t1.c2")), (1, 1), "{seen:#?}");
}
