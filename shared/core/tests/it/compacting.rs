//! Long conversations: what is summed up when, as a table; and what stands for it then.

use djinn_core::conversation::{CompactedContext, CompactionRange};
use djinn_core::effect::{Effect, Limit};
use djinn_core::id::ChildId;
use djinn_core::input::{Input, RunSpec};
use djinn_core::journal::Journal;
use djinn_core::run::Run;
use djinn_core::settings::Role;
use djinn_core::status::RunStatus;
use serde_json::{Value, json};

use crate::machine;
use crate::story;

/// Tokens that a model takes.
const WINDOW: u64 = 1_000;

fn asked(question: &str) -> RunSpec {
    let mut asked = story::asked(question);
    asked.settings.budget.steps = 20;
    asked.settings.context.keep_turns = 2;
    asked
}

/// `filled t1 300 read(a)` is a reply of about 200 tokens to a request of 300.
fn input(line: &str) -> Input {
    let Some(rest) = line.strip_prefix("filled ") else { return story::machine::input(line) };
    let mut words = rest.split_whitespace();
    let message = words.next().unwrap();
    let tokens = words.next().unwrap().parse().unwrap();
    let calls: Vec<(&str, Value)> = words
        .map(|call| {
            let (tool, of) = call.strip_suffix(')').unwrap().split_once('(').unwrap();
            (tool, json!({"of": of}))
        })
        .collect();
    story::filling(story::replied(message, &"talk ".repeat(120), &calls), tokens, WINDOW)
}

fn told(asked: RunSpec, lines: &[&str]) -> Run {
    let (journal, _) = story::journal_of(asked, lines.iter().map(|line| input(line)).collect());
    journal.run().clone()
}

/// What is owed, without the plan's file.
fn owed(run: &Run) -> Vec<String> {
    machine::owed(run).into_iter().filter(|effect| !effect.starts_with("plan:")).collect()
}

#[test]
fn compacting_does_what_its_table_says() {
    let cases = machine::check(include_str!("compacting.txt"), asked, input, owed);
    assert_eq!(cases, 8);
}

#[test]
fn while_a_fallback_answers_the_next_call_is_to_fit_into_both_windows() {
    let owed_after = |tokens: u64, window: u64, by_fallback: bool| {
        let mut asked = asked("why?");
        story::with_history(&mut asked, 0, WINDOW);
        let mut inputs = vec![input("filled t1 100 read(a)"), input("returned t1.c1")];
        inputs.extend(by_fallback.then(|| story::model_changed("t2")));
        let reply = story::replied("t2", "", &[("read", json!({"of": "b"}))]);
        inputs.extend([story::filling(reply, tokens, window), input("returned t2.c1")]);
        owed(story::journal_of(asked, inputs).0.run())
    };
    assert_eq!(owed_after(600, WINDOW, false), ["model:t3"]);
    assert_eq!(owed_after(600, WINDOW / 2, true), ["model:t3.compact"]);
    // The first model is asked again, whatever the other takes.
    assert_eq!(owed_after(1_100, 4 * WINDOW, true), ["model:t3.compact"]);
    assert_eq!(owed_after(600, 4 * WINDOW, true), ["model:t3"]);
}

#[test]
fn the_cost_of_compaction_counts_and_ends_a_run_that_has_no_more_to_spend() {
    for (tokens, next) in [(1_000_000, "model:t4"), (4 * 110, "model:summary")] {
        let mut asked = asked("why?");
        asked.settings.budget.tokens = tokens;
        let run = told(
            asked,
            &[
                "filled t1 900 read(a)",
                "returned t1.c1",
                "filled t2 900 read(b)",
                "returned t2.c1",
                "filled t3 900 read(c)",
                "returned t3.c1",
                "replied t4.compact \"Notes.\"",
            ],
        );
        assert_eq!(owed(&run), [next]);
        assert_eq!(run.conversation().compacted.as_ref().unwrap().text, "Notes.");
    }
}

#[test]
fn summed_up_turns_are_replaced_and_their_files_and_last_words_are_kept() {
    let run = told(
        asked("why?"),
        &[
            "filled t1 300 file_tool(a)",
            "wrote t1.c1",
            "replied t2 \"\" read(b)",
            "returned t2.c1",
            "replied t3 \"\" read(c)",
            "returned t3.c1",
        ],
    );
    assert_eq!((run.compaction_range(), owed(&run)), (None, vec!["model:t4".to_owned()]));
    let mut run = run;
    for line in ["filled t4 990 read(d)", "returned t4.c1"] {
        run.apply_input(&input(line), 0).unwrap();
    }
    // The newest two stay, and so does the question.
    assert_eq!(run.compaction_range(), Some(CompactionRange { exchanges: 0, items: 2 }));
    let before = run.spending().model_calls;
    run.apply_input(&story::replied("t5.compact", "  What was done: a lot.  ", &[]), 0).unwrap();
    let conversation = run.conversation();
    let compacted = conversation.compacted.as_ref().unwrap();
    assert_eq!(compacted.text, "What was done: a lot.");
    assert_eq!((compacted.exchanges, compacted.turns), (0, 2));
    assert_eq!(compacted.files.iter().map(|name| name.as_str()).collect::<Vec<_>>(), ["growth.md"]);
    assert_eq!((conversation.items.len(), conversation.question.as_str()), (2, "why?"));
    assert_eq!((run.spending().model_calls, run.spending().steps), (before + 1, 4));
    assert!(conversation.last_text().starts_with("talk"));
}

#[test]
fn the_words_of_turns_that_are_gone_are_still_the_last_ones() {
    let mut run = told(
        asked("why?"),
        &[
            "replied t1 \"North grew.\" read(a)",
            "returned t1.c1",
            "replied t2 \"\" read(b)",
            "returned t2.c1",
            "replied t3 \"\" read(c)",
            "returned t3.c1",
        ],
    );
    let full = story::filling(story::replied("t4", "", &[("read", json!({}))]), 2_000, WINDOW);
    run.apply_input(&full, 0).unwrap();
    run.apply_input(&input("returned t4.c1"), 0).unwrap();
    run.apply_input(&story::replied("t5.compact", "Notes.", &[]), 0).unwrap();
    assert_eq!(run.conversation().last_text(), "North grew.");
}

#[test]
fn a_long_history_is_summed_up_before_the_first_request() {
    let mut asked = asked("and now?");
    story::with_history(&mut asked, 700, WINDOW);
    assert_eq!(owed(&Run::start(asked.clone(), 0).0), ["model:t1"]);
    asked.history_tokens = 400_000;
    asked.history[3].answer = "long ".repeat(200);
    let (mut run, _) = Run::start(asked.clone(), 0);
    assert_eq!(owed(&run), ["model:t1.compact"]);
    assert_eq!(
        run.compaction_range(),
        Some(CompactionRange { exchanges: 2, items: 0 }),
        "the newest two stay"
    );
    asked.history[3].answer = "long ".repeat(2_000);
    let (all, _) = Run::start(asked, 0);
    assert_eq!(all.compaction_range(), Some(CompactionRange { exchanges: 4, items: 0 }));

    run.apply_input(&story::replied("t1.compact", "They asked two things.", &[]), 0).unwrap();
    assert_eq!(owed(&run), ["model:t1"]);
    let compacted = run.conversation().compacted.as_ref().unwrap();
    assert_eq!((compacted.exchanges, run.conversation().history.len()), (2, 2));
    // A first reply without calls is the answer, as ever.
    run.apply_input(&story::replied("t1", "It is 4.", &[]), 0).unwrap();
    assert_eq!(run.status(), RunStatus::Finished);
}

#[test]
fn the_older_half_of_a_history_of_twenty_is_summed_up_whatever_its_size() {
    let with_exchanges = |exchanges: usize| {
        let mut spec = asked("and now?");
        story::with_history(&mut spec, 700, WINDOW);
        spec.history = spec.history.iter().cycle().take(exchanges).cloned().collect();
        spec
    };
    assert_eq!(owed(&Run::start(with_exchanges(19), 0).0), ["model:t1"]);
    let (mut run, _) = Run::start(with_exchanges(20), 0);
    assert_eq!(owed(&run), ["model:t1.compact"]);
    assert_eq!(run.compaction_range(), Some(CompactionRange { exchanges: 10, items: 0 }));

    let mut unlucky = run.clone();
    unlucky.apply_input(&story::replied("t1.compact", " ", &[]), 0).unwrap();
    assert_eq!(owed(&unlucky), ["model:t1"]);
    unlucky.apply_input(&input("filled t1 100 read(a)"), 0).unwrap();
    unlucky.apply_input(&input("returned t1.c1"), 0).unwrap();
    assert_eq!(owed(&unlucky), ["model:t2"], "it is tried once");

    run.apply_input(&story::replied("t1.compact", "They asked ten things.", &[]), 0).unwrap();
    assert_eq!(owed(&run), ["model:t1"]);
    let compacted = run.conversation().compacted.clone().unwrap();
    assert_eq!((compacted.exchanges, run.conversation().history.len()), (10, 10));

    // The next twenty begin with what the first ten came to.
    let mut later = with_exchanges(20);
    later.earlier = Some(compacted);
    let (mut later, _) = Run::start(later, 0);
    later.apply_input(&story::replied("t1.compact", "They asked twenty things.", &[]), 0).unwrap();
    assert_eq!(later.conversation().compacted.as_ref().unwrap().exchanges, 20);
}

#[test]
fn a_summary_of_what_others_wrote_taints_the_runs_after_it() {
    for tainted in [false, true] {
        let mut spec = asked("and now?");
        spec.files.clear();
        spec.earlier = Some(CompactedContext {
            text: "Notes.".to_owned(),
            exchanges: 10,
            turns: 0,
            files: Vec::new(),
            last_text: String::new(),
            tainted,
        });
        assert_eq!(Run::start(spec, 0).0.is_tainted(), tainted);
    }
}

#[test]
fn the_budget_is_checked_after_compaction_which_ends_with_the_work() {
    let mut asked = asked("why?");
    asked.settings.budget.tokens = 550;
    let full = [
        "filled t1 900 read(a)",
        "returned t1.c1",
        "filled t2 900 read(b)",
        "returned t2.c1",
        "filled t3 900 read(c)",
        "returned t3.c1",
    ];
    let run = told(asked, &full);
    assert_eq!(owed(&run), ["model:t4.compact"]);
    // A reply costs 110 tokens.
    let mut used_up = run.clone();
    for (input, owes) in [
        (story::broke_off("t4.compact", 1), "model:t4.compact#2"),
        (story::replied("t4.compact", "Notes.", &[]), "model:t4"),
    ] {
        used_up.apply_input(&input, 0).unwrap();
        assert_eq!(owed(&used_up), [owes]);
    }
    let mut asked = run.spec().clone();
    asked.settings.budget.tokens = 440;
    let mut used_up = told(asked, &full);
    let entries = used_up.apply_input(&story::replied("t4.compact", "Notes.", &[]), 0).unwrap();
    let shown: Vec<_> = entries.iter().map(|entry| entry.id.to_string()).collect();
    assert_eq!(
        (shown, owed(&used_up)),
        (vec!["t4.compact".to_owned()], vec!["model:summary".to_owned()])
    );

    let mut late = run;
    let entries = late.apply_input(&Input::LimitReached { limit: Limit::WorkTime }, 0).unwrap();
    assert_eq!((entries.len(), owed(&late)), (0, vec!["model:summary".to_owned()]));
    assert_eq!(late.apply_input(&story::replied("t4.compact", "Notes.", &[]), 0), None);
}

#[test]
fn without_a_known_window_nothing_is_summed_up() {
    let mut asked = asked("why?");
    asked.history_tokens = 400_000;
    assert_eq!(owed(&Run::start(asked, 0).0), ["model:t1"]);
}

#[test]
fn the_planner_sums_up_rounds_and_its_tasks_begin_with_the_notes() {
    let mut asked = story::asked_to_plan("why?");
    asked.settings.context.keep_turns = 1;
    story::with_history(&mut asked, 0, WINDOW);
    let (mut journal, _) = Journal::open(asked, 1, story::write(0), 0);
    let plans = |message: &str, tokens: u64, command: Value| {
        story::filling(story::planned(message, &command), tokens, WINDOW)
    };
    let report = "long ".repeat(100);
    let done = |task: &str| story::task_ended(task, RunStatus::Finished, &report);
    let tell = |journal: &mut Journal, input: Input| {
        let n = journal.next_number();
        *journal = journal.decide_record(vec![input], 1, story::write(n), 0).unwrap().0;
        owed(journal.run())
    };
    let create = json!({"command": "create", "steps": ["a"]});
    assert_eq!(tell(&mut journal, plans("t1", 950, create)), ["child:s1.1"]);
    // A round is what the planner sees next; before it, there must be room.
    assert_eq!(tell(&mut journal, done("s1.1")), ["model:t2.compact"]);
    assert_eq!(journal.run().compaction_range(), Some(CompactionRange { exchanges: 4, items: 1 }));
    let notes = story::replied("t2.compact", "Step a is planned.", &[]);
    assert_eq!(tell(&mut journal, notes), ["model:t2"]);
    let update = json!({"command": "update", "steps": ["a", "b"]});
    assert_eq!(tell(&mut journal, plans("t2", 500, update)), ["child:s2.1"]);

    let task = journal.run().child_spec(&ChildId::for_step(2, 1)).unwrap();
    assert_eq!((task.history.len(), task.child.as_ref().unwrap().earlier_rounds.len()), (0, 1));
    let earlier = task.earlier.clone().unwrap();
    assert_eq!((earlier.text.as_str(), earlier.exchanges), ("Step a is planned.", 4));
    let (task, _) = Run::start(task, 0);
    let due = task.due();
    assert!(matches!(&due[0], Effect::CallModel(call) if call.role == Role::Executor), "{due:?}");
    assert_eq!(
        (task.conversation().compacted.as_ref(), task.conversation().last_text()),
        (Some(&earlier), "")
    );
}
