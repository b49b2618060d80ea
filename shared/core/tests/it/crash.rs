//! Calls that take their drivers down: each of them is given up, and nothing else is.

use std::collections::{BTreeMap, BTreeSet};

use djinn_core::effect::Effect;
use djinn_core::entry::Event;
use djinn_core::id::CallId;
use djinn_core::input::{Input, RunSpec};
use djinn_core::journal::{Journal, Record};
use djinn_core::run::Run;
use djinn_core::status::RunStatus;
use djinn_core::tool::{EffectClass, ToolFailure, ToolResult};
use proptest::prelude::*;
use serde_json::json;

use crate::story;

/// Drivers and the run that they die over. What kills each of them is one of `poison`.
struct World {
    journal: Journal,
    records: Vec<Record>,
    poison: BTreeSet<String>,
    /// What is being done now, in the order in which it was begun.
    running: Vec<Effect>,
    at_once: usize,
    deaths: u64,
}

impl World {
    fn new(asked: RunSpec, poison: BTreeSet<String>, at_once: usize) -> Self {
        let (journal, first) = Journal::open(asked, 1, story::write(0), 0);
        let (records, running) = (vec![first], Vec::new());
        Self { journal, records, poison, running, at_once, deaths: 0 }
    }

    fn tell(&mut self, input: &Input) {
        let n = self.journal.next_number();
        let decided = self.journal.decide_record(vec![input.clone()], 1, story::write(n), 100);
        let (journal, record) = decided.unwrap_or_else(|| panic!("{input:?} is not waited for"));
        self.journal = journal;
        self.records.push(record);
    }

    /// Drops what is owed no longer and begins what may begin, as a driver does: in order, and no more
    /// than may run at once.
    fn begin(&mut self) {
        let due = self.journal.run().due();
        self.running.retain(|known| due.iter().any(|effect| effect.id() == known.id()));
        for effect in due {
            let is_work = matches!(effect, Effect::RunTool(_) | Effect::CallModel(_));
            let id = effect.id();
            let is_running = self.running.iter().any(|known| known.id() == id);
            if !is_work || effect.is_waiting() || is_running || self.running.len() >= self.at_once {
                continue;
            }
            if let Effect::RunTool(run) = &effect
                && run.class == EffectClass::Once
            {
                assert!(!run.started, "{id} is begun twice");
                self.tell(&Input::ToolStarted { call: run.call.id.clone() });
            }
            self.running.push(effect);
        }
    }

    /// One of those that run returns, or takes the driver down. False when nothing runs any more.
    fn step(&mut self, dice: usize) -> bool {
        self.begin();
        let Some(nth) = dice.checked_rem(self.running.len()) else { return false };
        let id = self.running[nth].id().to_string();
        if self.poison.contains(&id) {
            self.deaths += 1;
            self.running.clear();
            self.tell(&story::died(self.deaths + 1));
            return true;
        }
        let answer = match self.running.remove(nth) {
            Effect::RunTool(run) => story::returned(&run.call.id.to_string(), "fine"),
            Effect::CallModel(call) if call.message.is_employees() => {
                story::names(r#"{"read": "Reader"}"#)
            }
            Effect::CallModel(call) => story::replied(
                &call.message.to_string(),
                &format!("{} is said.", call.message),
                &[],
            ),
            other => panic!("{other:?} is not work"),
        };
        self.tell(&answer);
        true
    }

    fn outcomes(&self) -> BTreeMap<CallId, ToolResult> {
        let entries = self.records.iter().flat_map(|record| &record.entries);
        let outcomes = entries.filter_map(|entry| match &entry.event {
            Event::CallCompleted { call, result: outcome } => Some((call.clone(), outcome.clone())),
            _ => None,
        });
        outcomes.collect()
    }
}

/// A turn's calls: the name of each tool, and whether it takes its process down.
fn any_calls() -> impl Strategy<Value = Vec<(&'static str, bool)>> {
    let tool = prop::sample::select(vec!["read", "file_tool", "send"]);
    let poison = prop_oneof![3 => Just(false), 1 => Just(true)];
    proptest::collection::vec((tool, poison), 1..9)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn an_effect_that_takes_drivers_down_is_given_up_and_all_others_have_results(
        calls in any_calls(),
        at_once in 1usize..6,
        as_a_task in any::<bool>(),
        dice in proptest::collection::vec(any::<usize>(), 200),
    ) {
        let named: Vec<_> = calls.iter().map(|(tool, _)| (*tool, json!({"of": tool}))).collect();
        let poison = calls.iter().enumerate().filter(|(_, (_, poison))| *poison);
        let poison = poison.map(|(nth, _)| format!("tool:t1.c{}", nth + 1)).collect();
        let asked = if as_a_task { story::asked_as_a_task("why?") } else { story::asked("why?") };
        let mut world = World::new(asked, poison, at_once);
        world.tell(&story::replied("t1", "I call them.", &named));
        for dice in dice {
            if !world.step(dice) {
                break;
            }
        }
        prop_assert_eq!(world.journal.run().status(), RunStatus::Finished);
        let outcomes = world.outcomes();
        let mut died = 0;
        for (nth, (tool, poison)) in calls.iter().enumerate() {
            let call = format!("t1.c{}", nth + 1);
            let outcome = &outcomes[&CallId::new(call.as_str()).unwrap()];
            let reason = match outcome {
                ToolResult::Done(_) => None,
                ToolResult::Failed { reason, .. } => Some(*reason),
                ToolResult::PlanRefused { error } => panic!("{error}"),
            };
            match (poison, *tool) {
                // It is not begun again, whoever killed its driver.
                (_, "send") => prop_assert!(
                    matches!(reason, None | Some(ToolFailure::Uncertain)) && !(*poison && reason.is_none()),
                    "{call}: {outcome:?}"
                ),
                (true, _) => prop_assert_eq!(reason, Some(ToolFailure::Crashed), "{}", call),
                (false, _) => prop_assert_eq!(reason, None, "{}", call),
            }
            died += match (poison, *tool) {
                (false, _) => 0,
                (true, "send") => 1,
                (true, _) => 3,
            };
        }
        // Nobody dies for nothing: of several causes one kills while the other is suspect, too.
        prop_assert!(world.deaths <= died, "{} deaths", world.deaths);
        prop_assert_eq!(Journal::fold(&world.records).unwrap(), world.journal);
    }

    #[test]
    fn a_model_call_that_takes_drivers_down_ends_its_run_and_one_for_show_does_not(
        is_for_show in any::<bool>(),
        dice in proptest::collection::vec(any::<usize>(), 60),
    ) {
        let poison = if is_for_show { "model:employees" } else { "model:t1" };
        let asked = story::asked_as_a_task("why?");
        let mut world = World::new(asked, BTreeSet::from([poison.to_owned()]), 4);
        for dice in dice {
            if !world.step(dice) {
                break;
            }
        }
        let expected = if is_for_show { RunStatus::Finished } else { RunStatus::Failed };
        prop_assert_eq!(world.journal.run().status(), expected);
        let most = if is_for_show { 2 } else { 3 };
        prop_assert!(world.deaths <= most, "{} deaths", world.deaths);
    }
}

/// The information is in the journal, in few bytes, and a record without it is read as it always was.
#[test]
fn how_a_death_is_counted_stands_in_its_record() {
    let told = serde_json::to_value(story::died(2)).unwrap();
    assert_eq!(told, json!({"input": "resumed", "epoch": 2, "isolated": true}));
    let old: Input = serde_json::from_value(json!({"input": "resumed", "epoch": 2})).unwrap();
    assert_eq!(old, Input::Resumed { epoch: 2, lost_usage: None, isolated: false });
}

/// A standstill counts in the records that say so; older ones fold as they always did.
#[test]
fn standstills_of_older_records_are_not_counted() {
    let Input::AttemptFailed(mut failed) = story::model_stalled("t1", 1) else {
        panic!("another input")
    };
    let record = serde_json::to_value(Input::AttemptFailed(failed.clone())).unwrap();
    assert_eq!(
        (&record["process_stalled"], &record["counts_as_crash"]),
        (&json!(true), &json!(true))
    );
    let mut old = record;
    old.as_object_mut().unwrap().remove("counts_as_crash");
    failed.counts_as_crash = false;
    assert_eq!(serde_json::from_value::<Input>(old).unwrap(), Input::AttemptFailed(failed.clone()));
    let (mut run, _) = Run::start(story::asked("why?"), 0);
    for attempt in 1..=5 {
        failed.attempt = attempt;
        assert!(run.apply_input(&Input::AttemptFailed(failed.clone()), 0).is_some());
    }
    assert_eq!(run.status(), RunStatus::Running);
    let told = serde_json::to_value(story::tool_stalled("t1.c1", 2)).unwrap();
    assert_eq!(told, json!({"input": "tool.stalled", "call": "t1.c1", "attempt": 2}));
}
