//! What people are asked: `feedback.txt` as a table, and what decides whether they are.

use djinn_core::audit::{Audit, AuditLine};
use djinn_core::conversation::Item;
use djinn_core::effect::Effect;
use djinn_core::entry::Event;
use djinn_core::feedback::{
    ASK_USER, Answer, Answered, Answering, CallSample, Estimate, FeedbackSettings, Interrupt, Why,
    digest, reasons, risk,
};
use djinn_core::id::{CallId, FeedbackId, MessageId, UserId, sha256};
use djinn_core::input::{Asked, Input, Interrupted, PlanEdited, Said};
use djinn_core::journal::Record;
use djinn_core::plan::{StepEdit, StepId};
use djinn_core::run::Run;
use djinn_core::status::RunStatus;
use djinn_core::tool::{
    Declared, EffectClass, FailReason, Harmless, Observation, OfferedTool, Outcome, Risk, Shown,
    canonical,
};
use serde_json::{Map, Value, json};

use crate::{machine, story};

#[test]
fn people_are_asked_as_the_table_says() {
    let cases = machine::check(include_str!("feedback.txt"), asked_with_approval, input, owed);
    assert!(cases >= 15, "only {cases} cases were found");
}

pub(crate) fn asked_with_approval(question: &str) -> Asked {
    let mut asked = story::asked(question);
    asked.settings.feedback.enabled = true;
    asked
}

/// What the tools of these stories declare.
pub(crate) fn declared(tool: &OfferedTool) -> Declared {
    let risk = match tool.name.as_str() {
        "send" => Risk::High,
        "file_tool" => Risk::Medium,
        _ => Risk::Low,
    };
    let (sends_out, untrusted) = (tool.name == "send", tool.name == "read");
    Declared { risk, sends_out, untrusted, ..Declared::default() }
}

/// The same input, with tools that declare what they do.
pub(crate) fn with_declared(input: Input) -> Input {
    let Input::ModelReplied(mut replied) = input else { return input };
    for tool in &mut replied.offered {
        tool.declared = declared(tool);
    }
    Input::ModelReplied(replied)
}

pub(crate) fn answered(feedback: &str, answer: Answer) -> Answered {
    Answered {
        feedback: FeedbackId::new(feedback).unwrap(),
        id: "a1".to_owned(),
        by: Some(UserId::new("you").unwrap()),
        answer,
        comment: String::new(),
        digest: None,
        via: None,
    }
}

pub(crate) fn said(id: &str, text: &str) -> Input {
    let (id, by) = (id.to_owned(), UserId::new("you").unwrap());
    Input::UserSaid(Box::new(Said { id, by, text: text.to_owned() }))
}

pub(crate) fn edited(id: &str, version: u32, steps: Vec<StepEdit>) -> Input {
    let (id, by) = (id.to_owned(), UserId::new("you").unwrap());
    let title = String::new();
    Input::PlanEdited(Box::new(PlanEdited { id, by, version, title, steps }))
}

pub(crate) fn changed() -> Map<String, Value> {
    Map::from_iter([("of".to_owned(), json!("changed"))])
}

pub(crate) fn interrupt() -> Interrupt {
    Interrupt { code: "20006".to_owned(), message: "Out of credits.".to_owned() }
}

pub(crate) fn input(line: &str) -> Input {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let answer = |answer| Input::HumanAnswered(Box::new(answered(rest, answer)));
    match word {
        "confirm" => answer(Answer::Confirm),
        "skip" => answer(Answer::Skip),
        "halt" => answer(Answer::Stop),
        "say" => answer(Answer::Say { words: "Use the other one.".to_owned() }),
        "modify" => answer(Answer::Modify { arguments: changed() }),
        "stale" => {
            let digest = Some(digest("file_tool", &changed()));
            let answered = Answered { digest, ..answered(rest, Answer::Confirm) };
            Input::HumanAnswered(Box::new(answered))
        }
        "expired" => Input::FeedbackExpired { feedback: FeedbackId::new(rest).unwrap() },
        "interrupted" => {
            let of = Interrupted::Call(CallId::new(rest).unwrap());
            Input::Interrupted { of, interrupt: interrupt() }
        }
        "model_interrupted" => {
            let of = Interrupted::Message(MessageId::new(rest).unwrap());
            Input::Interrupted { of, interrupt: interrupt() }
        }
        _ => with_declared(machine::input(line)),
    }
}

fn owed(run: &Run) -> Vec<String> {
    let mut owed: Vec<String> = run
        .due()
        .iter()
        .filter(|effect| !matches!(effect, Effect::Wait { .. }))
        .map(|effect| match effect {
            Effect::RunTool(tool) if tool.call.arguments == changed_arguments() => {
                format!("{}=changed", effect.id())
            }
            _ => effect.id().to_string(),
        })
        .collect();
    if run.status() == RunStatus::Paused {
        owed.push("| paused".to_owned());
    }
    owed
}

fn changed_arguments() -> djinn_core::tool::Arguments {
    djinn_core::tool::Arguments::Parsed(changed())
}

fn tool(declared: Declared) -> OfferedTool {
    OfferedTool {
        name: "file_tool".to_owned(),
        schema_hash: String::new(),
        effect: EffectClass::Once,
        timeout_ms: 1_000,
        visible: false,
        declared,
    }
}

#[test]
fn what_is_asked_about_is_what_the_settings_say() {
    let on = FeedbackSettings { enabled: true, ..FeedbackSettings::default() };
    let named = || [String::from("file_tool")].into_iter().collect();
    let medium = Declared { risk: Risk::Medium, ..Declared::default() };
    let sending = Declared { sends_out: true, ..Declared::default() };
    let nothing = Vec::new;
    let cases = [
        ("off", FeedbackSettings::default(), medium.clone(), true, nothing()),
        ("low", on.clone(), Declared::default(), false, nothing()),
        ("medium", on.clone(), medium.clone(), false, vec![Why::Risk]),
        (
            "required",
            FeedbackSettings { require: named(), ..on.clone() },
            Declared::default(),
            false,
            vec![Why::Required],
        ),
        (
            "named as high risk",
            FeedbackSettings { high_risk: named(), risk: Risk::High, ..on.clone() },
            Declared::default(),
            false,
            vec![Why::Risk],
        ),
        (
            "confirmed by the settings",
            FeedbackSettings { auto_confirm: named(), ..on.clone() },
            medium.clone(),
            false,
            nothing(),
        ),
        (
            "only high",
            FeedbackSettings { risk: Risk::High, ..on.clone() },
            medium,
            false,
            nothing(),
        ),
        ("sends, untainted", FeedbackSettings::default(), sending.clone(), false, nothing()),
        (
            "sends, tainted",
            FeedbackSettings::default(),
            sending.clone(),
            true,
            vec![Why::Untrusted],
        ),
        (
            "the guard is above what is confirmed",
            FeedbackSettings { auto_confirm: named(), ..on },
            sending.clone(),
            true,
            vec![Why::Untrusted],
        ),
        (
            "no guard",
            FeedbackSettings { guard: false, ..FeedbackSettings::default() },
            sending,
            true,
            nothing(),
        ),
    ];
    for (name, settings, declared, tainted, why) in cases {
        let found = reasons(&settings, &tool(declared), &Map::new(), tainted);
        assert_eq!(found, why, "{name}");
    }
}

#[test]
fn a_call_that_only_reads_is_harmless_whatever_its_tool_can_do() {
    let values = vec!["get".to_owned()];
    let harmless = Some(Harmless { argument: "command".to_owned(), values });
    let tool = tool(Declared { risk: Risk::High, harmless, ..Declared::default() });
    let settings = FeedbackSettings::default();
    let of = |arguments: Value| risk(&settings, &tool, arguments.as_object().unwrap());
    assert_eq!(of(json!({"command": "get"})), Risk::Low);
    assert_eq!(of(json!({"command": "upload"})), Risk::High);
    assert_eq!(of(json!({"command": ["get"]})), Risk::High);
    assert_eq!(of(json!({})), Risk::High);
}

#[test]
fn what_a_turn_costs_is_asked_about() {
    let (mut run, _) = Run::start(asked_with_approval("why?"), 0);
    let Input::ModelReplied(mut replied) =
        story::replied("t1", "", &[("read", json!({"of": 1})), ("read", json!({"of": 2}))])
    else {
        unreachable!("a reply")
    };
    for tool in &mut replied.offered {
        tool.declared.estimate = Estimate { tokens: 6_000, calls: 1, ..Estimate::default() };
    }
    let entries = run.next(&Input::ModelReplied(replied), 1_000).unwrap();
    let asked = entries.iter().find_map(|entry| match &entry.event {
        Event::FeedbackAsked { feedback, estimate, asks, .. } => Some((feedback, estimate, asks)),
        _ => None,
    });
    let (feedback, estimate, asks) = asked.unwrap();
    assert_eq!((feedback.as_str(), estimate.tokens, estimate.calls), ("t1", 12_000, 2));
    assert_eq!(asks.len(), 2);
    assert!(asks.iter().all(|ask| ask.why == [Why::Cost] && ask.expires_at_ms == Some(301_000)));
}

#[test]
fn while_people_are_asked_no_time_passes() {
    let (mut run, _) = Run::start(asked_with_approval("why?"), 0);
    let before = run.wall_time_ends_at_ms();
    run.next(&with_declared(story::replied("t1", "", &[("send", json!({}))])), 1_000);
    assert_eq!(run.next_limit().unwrap().1, i64::MAX);
    let month_ms = 30 * 24 * 3_600 * 1_000;
    let answer = Input::HumanAnswered(Box::new(answered("t1.c1", Answer::Confirm)));
    run.next(&answer, 1_000 + month_ms);
    assert_eq!(run.wall_time_ends_at_ms(), before + month_ms);
}

fn audited(records: &[Record]) -> Vec<AuditLine> {
    let mut audit = Audit::default();
    records.iter().for_each(|record| audit.record(&story::run_id(), record));
    audit.into_lines()
}

#[test]
fn an_audit_vouches_for_what_was_decided() {
    let told = vec![
        with_declared(story::replied("t1", "I write.", &[("file_tool", json!({"of": 1}))])),
        Input::HumanAnswered(Box::new(answered("t1.c1", Answer::Skip))),
        story::stop(),
    ];
    let (_, records) = story::journal_of(asked_with_approval("why?"), told);
    let lines = audited(&records);
    let what: Vec<_> = lines.iter().map(|line| line.what).collect();
    let expected = ["asked", "feedback.asked", "feedback.answered", "stop.asked", "run.ended"];
    assert_eq!(what, expected);
    assert_eq!(lines[2].detail["by"], "you");
    assert_eq!(lines[2].detail["answer"], "skip");
    let mut previous = "0".repeat(64);
    for line in &lines {
        assert_eq!(line.previous, previous);
        let mut text = json!(line);
        text.as_object_mut().unwrap().remove("hash");
        assert_eq!(sha256(canonical(&text).as_bytes()), line.hash);
        previous.clone_from(&line.hash);
    }
    let mut changed = records;
    let Input::HumanAnswered(_) = &changed[2].inputs[0] else { panic!("{changed:?}") };
    let Event::FeedbackAnswered(answered) = &mut changed[2].entries[0].event else {
        panic!("{changed:?}")
    };
    answered.answer = Answer::Confirm;
    let other = audited(&changed);
    assert!(lines[1].hash == other[1].hash && lines[4].hash != other[4].hash);
}

#[test]
fn what_is_said_is_read_at_the_next_turn_and_keeps_the_run_from_ending() {
    let (mut run, _) = Run::start(story::asked("why?"), 0);
    run.next(&said("m1", "And silver?"), 0).unwrap();
    assert!(run.next(&said("m1", "And silver?"), 0).is_none(), "a repeat");
    assert!(run.conversation().items.is_empty(), "the turn that is being written did not see it");
    run.next(&story::replied("t1", "It is gold.", &[]), 0).unwrap();
    assert_eq!(run.conversation().items[1], Item::Said("And silver?".to_owned()));
    let owed: Vec<String> = owed(&run);
    assert_eq!(owed, ["model:t2"], "the answer did not know of it");
    run.next(&story::replied("t2", "And silver.", &[]), 0).unwrap();
    assert!(run.next(&said("m2", "And copper?"), 0).is_none(), "it sums up");
}

/// A plan of three steps one after another, of which the first is at work.
fn planned() -> Run {
    let (mut run, _) = Run::start(story::asked_to_plan("why?"), 0);
    let plan = json!({"command": "create", "steps": ["a", "b", "c"]});
    run.next(&story::planned("t1", &plan), 0).unwrap();
    run
}

fn step(id: Option<u32>, details: &str, on: &[usize]) -> StepEdit {
    let depends_on = on.iter().copied().collect();
    StepEdit { id: id.map(StepId), details: details.to_owned(), depends_on, ..StepEdit::default() }
}

#[test]
fn steps_that_have_not_begun_are_changed_and_those_at_work_are_not() {
    let mut run = planned();
    assert_eq!((run.plan_version(), run.running_tasks().len()), (1, 1));
    let steps =
        vec![step(Some(1), "other words", &[]), step(Some(3), "c!", &[1]), step(None, "d", &[])];
    assert!(run.next(&edited("e0", 2, steps.clone()), 0).is_none(), "another version");
    let events = run.next(&edited("e1", 1, steps), 0).unwrap();
    let words: Vec<_> = run.plan().unwrap().steps().iter().map(|step| step.words()).collect();
    assert_eq!((words, run.plan_version()), (vec!["a".into(), "c!".into(), "d".into()], 2));
    // What of it a person wrote, no error may quote.
    assert_eq!(run.plan_words().collect::<Vec<_>>(), ["c!", "d", "other words"]);
    let ids: Vec<_> = events.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids, ["edit.e1", "s4.1.start"], "what is ready begins");
    assert_eq!(run.running_tasks().len(), 2);
}

/// A plan that people are shown before it begins.
fn shown() -> Run {
    let mut asked = story::asked_to_plan("why?");
    asked.settings.feedback.confirm_plan = true;
    let (mut run, _) = Run::start(asked, 0);
    let plan = json!({"command": "create", "steps": ["a", "b"], "depends_on": [[], []]});
    run.next(&story::planned("t1", &plan), 0).unwrap();
    assert_eq!(run.status(), RunStatus::Paused);
    assert_eq!(run.asks().next().unwrap().why, [Why::Plan]);
    assert!(run.plan().is_none() && run.running_tasks().is_empty(), "nothing has begun");
    run
}

fn says(run: &mut Run, answer: Answer) -> Vec<String> {
    let entries = run.next(&Input::HumanAnswered(Box::new(answered("t1.c1", answer))), 0).unwrap();
    entries.into_iter().map(|entry| entry.id).collect()
}

#[test]
fn a_plan_is_accepted_changed_or_rejected_before_it_begins() {
    let mut accepted = shown();
    let ids = says(&mut accepted, Answer::Confirm);
    let begun = ["s1.1.start", "s2.1.start"];
    assert_eq!(ids, ["t1.c1.answered", "t1.c1.result", "t1.c1.answered.plan", begun[0], begun[1]]);
    assert_eq!(accepted.running_tasks().len(), 2);

    let mut changed = shown();
    let plan = json!({"command": "create", "steps": ["c"]});
    says(&mut changed, Answer::Modify { arguments: plan.as_object().unwrap().clone() });
    assert_eq!(changed.plan().unwrap().steps()[0].details, "c");

    for answer in [Answer::Skip, Answer::Say { words: "Only gold.".to_owned() }] {
        let mut rejected = shown();
        assert_eq!(says(&mut rejected, answer), ["t1.c1.answered", "t1.c1.result"]);
        assert_eq!(owed(&rejected), ["model:t2"], "the planner makes another");
    }
}

#[test]
fn a_question_of_the_models_is_answered_by_a_person_alone() {
    let question = |mut replied: Input| {
        if let Input::ModelReplied(replied) = &mut replied {
            replied
                .offered
                .push(OfferedTool { name: ASK_USER.to_owned(), ..tool(Declared::default()) });
        }
        replied
    };
    for (answer, detail) in [
        (Answer::Say { words: "The blue one.".to_owned() }, "The blue one."),
        (Answer::Confirm, "yes"),
        (Answer::Modify { arguments: changed() }, r#"{"of":"changed"}"#),
    ] {
        let (mut run, _) = Run::start(story::asked("why?"), 0);
        let asks = json!({"questions": ["Which one?"]});
        run.next(&question(story::replied("t1", "", &[(ASK_USER, asks)])), 0).unwrap();
        assert_eq!(
            (run.status(), owed(&run)),
            (RunStatus::Paused, vec!["ask:t1.c1".into(), "| paused".into()])
        );
        says(&mut run, answer);
        assert_eq!(owed(&run), ["model:t2"]);
        let Item::Turn(turn) = &run.conversation().items[0] else { panic!("no turn") };
        let told = Observation { shown: Shown::UserAnswer, ..Observation::text(detail) };
        assert_eq!(turn.calls[0].1, Outcome::Done(told));
    }
    // Nobody answers: whatever stands for that elsewhere, it is no word of the user's.
    let mut asked = story::asked("why?");
    asked.settings.feedback.on_timeout = Answering::Confirm;
    let (mut run, _) = Run::start(asked, 0);
    let asks = json!({"questions": ["Which one?"]});
    run.next(&question(story::replied("t1", "", &[(ASK_USER, asks)])), 0).unwrap();
    run.next(&input("expired t1.c1"), 1_000_000).unwrap();
    let Item::Turn(turn) = &run.conversation().items[0] else { panic!("no turn") };
    let Outcome::Failed { reason, .. } = &turn.calls[0].1 else { panic!("{turn:?}") };
    assert_eq!(*reason, FailReason::Skipped);
}

#[test]
fn a_change_that_makes_no_plan_changes_nothing() {
    let run = planned();
    let cases = [
        ("none", vec![]),
        ("a circle", vec![step(None, "x", &[2]), step(None, "y", &[1])]),
        ("a step that is not there", vec![step(Some(9), "x", &[])]),
        ("a step twice", vec![step(Some(2), "x", &[]), step(Some(2), "y", &[])]),
        ("no words", vec![step(None, " ", &[])]),
        ("a place that is not there", vec![step(None, "x", &[7])]),
    ];
    for (name, steps) in cases {
        let mut changed = run.clone();
        let is_none = changed.next(&edited("e1", 1, steps), 0).is_none();
        // Without a step of its own there is still the one at work.
        assert!(is_none || name == "none", "{name}");
        assert_eq!(changed.running_tasks().len(), 1, "{name}");
    }
}

#[test]
fn answers_are_read_as_people_write_them() {
    let parameters = changed();
    let cases = [
        ("confirm", None, Ok("confirm")),
        (" YES ", None, Ok("confirm")),
        ("proceed", None, Ok("confirm")),
        ("继续", None, Ok("say")),
        ("cancel", None, Ok("stop")),
        ("Abort", None, Ok("stop")),
        ("skip", None, Ok("skip")),
        ("modify", Some(parameters.clone()), Ok("modify")),
        ("confirm", Some(parameters.clone()), Err(())),
        ("no, don't", Some(parameters), Err(())),
        ("modify", None, Err(())),
        ("  ", None, Err(())),
        ("Use the other file.", None, Ok("say")),
    ];
    for (words, arguments, expected) in cases {
        let read = Answer::read(words, arguments);
        assert_eq!(read.as_ref().map(Answer::as_str).map_err(|_| ()), expected, "{words:?}");
    }
    assert!(Answer::read(&"x".repeat(20_000), None).is_err());
}

#[test]
fn an_estimate_is_made_of_twenty_calls_or_more_and_declared_before() {
    let declared =
        Estimate { tokens: 1_000, ms: 500, calls: 2, micro_usd: Some(7), ..Estimate::default() };
    let samples = |n: u64| -> Vec<CallSample> {
        (1..=n).rev().map(|nth| CallSample { ms: nth * 10, tokens: nth }).collect()
    };
    for few in [0, 1, 19] {
        assert_eq!(Estimate::from_samples(declared, &samples(few)), declared);
    }
    let of = |n| Estimate::from_samples(declared, &samples(n));
    let of_20 =
        Estimate { ms: 100, ms_p95: 190, tokens: 10, tokens_p95: 19, samples: 20, ..declared };
    assert_eq!(of(20), of_20);
    let of_100 =
        Estimate { ms: 500, ms_p95: 950, tokens: 50, tokens_p95: 95, samples: 100, ..declared };
    assert_eq!(of(100), of_100);
}
