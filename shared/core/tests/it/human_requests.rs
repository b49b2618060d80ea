//! Human requests: `human_requests.txt` as a table, and what decides whether they are.

use std::collections::BTreeSet;

use djinn_core::conversation::ConversationItem;
use djinn_core::effect::Effect;
use djinn_core::entry::Event;
use djinn_core::estimate::Estimate;
use djinn_core::human::{
    ASK_USER, HumanRequest, HumanResponse, HumanSettings, Reason, Subject, TimeoutAction,
    approval_reasons, call_risk,
};
use djinn_core::id::StepId;
use djinn_core::input::Input;
use djinn_core::plan::StepEdit;
use djinn_core::run::Run;
use djinn_core::status::RunStatus;
use djinn_core::tool::{
    EffectClass, OfferedTool, ResultView, Risk, SafeArguments, ToolFailure, ToolOutput, ToolPolicy,
    ToolResult,
};
use serde_json::{Value, json};

use crate::story::human_requests::{
    answered, asked_with_approval, changed, edited, input, said, with_declared,
};
use crate::{machine, story};

#[test]
fn people_are_asked_as_the_table_says() {
    let cases =
        machine::check(include_str!("human_requests.txt"), asked_with_approval, input, owed);
    assert!(cases >= 15, "only {cases} cases were found");
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

fn changed_arguments() -> djinn_core::tool::ToolArguments {
    djinn_core::tool::ToolArguments::Parsed(changed())
}

fn tool(declared: ToolPolicy) -> OfferedTool {
    OfferedTool {
        name: "file_tool".to_owned(),
        schema_hash: String::new(),
        effect: EffectClass::Once,
        timeout_ms: 1_000,
        visible: false,
        policy: declared,
    }
}

#[test]
fn the_settings_say_which_calls_need_approval_and_why() {
    let on = HumanSettings { enabled: true, ..HumanSettings::default() };
    let named = || [String::from("file_tool")].into_iter().collect();
    let medium = ToolPolicy { risk: Risk::Medium, ..ToolPolicy::default() };
    let sending = ToolPolicy { sends_out: true, ..ToolPolicy::default() };
    let nothing = Vec::new;
    let cases = [
        ("off", HumanSettings::default(), medium.clone(), true, nothing()),
        ("low", on.clone(), ToolPolicy::default(), false, nothing()),
        ("medium", on.clone(), medium.clone(), false, vec![Reason::Risk]),
        (
            "required",
            HumanSettings { require: named(), ..on.clone() },
            ToolPolicy::default(),
            false,
            vec![Reason::Required],
        ),
        (
            "named as high risk",
            HumanSettings { high_risk: named(), risk: Risk::High, ..on.clone() },
            ToolPolicy::default(),
            false,
            vec![Reason::Risk],
        ),
        (
            "confirmed by the settings",
            HumanSettings { auto_confirm: named(), ..on.clone() },
            medium.clone(),
            false,
            nothing(),
        ),
        ("only high", HumanSettings { risk: Risk::High, ..on.clone() }, medium, false, nothing()),
        ("sends, untainted", HumanSettings::default(), sending.clone(), false, nothing()),
        (
            "sends, tainted",
            HumanSettings::default(),
            sending.clone(),
            true,
            vec![Reason::Untrusted],
        ),
        (
            "the guard is above what is confirmed",
            HumanSettings { auto_confirm: named(), ..on },
            sending.clone(),
            true,
            vec![Reason::Untrusted],
        ),
        (
            "a tool that the deployment trusts",
            HumanSettings { trusted: named(), ..HumanSettings::default() },
            sending.clone(),
            true,
            nothing(),
        ),
        (
            "to an engine of the operator's",
            HumanSettings::default(),
            ToolPolicy { sends_to_operator: true, ..sending.clone() },
            true,
            nothing(),
        ),
        (
            "a known URL",
            HumanSettings::default(),
            ToolPolicy { url_argument: Some("url".to_owned()), ..sending.clone() },
            true,
            nothing(),
        ),
        (
            "an unknown URL",
            HumanSettings::default(),
            ToolPolicy { url_argument: Some("to".to_owned()), ..sending.clone() },
            true,
            vec![Reason::Untrusted],
        ),
        (
            "no URL",
            HumanSettings::default(),
            ToolPolicy { url_argument: Some("none".to_owned()), ..sending.clone() },
            true,
            vec![Reason::Untrusted],
        ),
        (
            "short arguments",
            HumanSettings::default(),
            ToolPolicy { trusted_chars: Some(50), ..sending.clone() },
            true,
            nothing(),
        ),
        (
            "long arguments",
            HumanSettings::default(),
            ToolPolicy { trusted_chars: Some(49), ..sending.clone() },
            true,
            vec![Reason::Untrusted],
        ),
        (
            "no guard",
            HumanSettings { guard: false, ..HumanSettings::default() },
            sending,
            true,
            nothing(),
        ),
    ];
    let known = BTreeSet::from(["https://a.test/1".to_owned()]);
    for (name, settings, declared, tainted, why) in cases {
        let arguments = json!({"url": "https://a.test/1", "to": "https://a.test/2"});
        let arguments = arguments.as_object().cloned().unwrap();
        let found = approval_reasons(&settings, &tool(declared), &arguments, tainted, &known);
        assert_eq!(found, why, "{name}");
    }
}

#[test]
fn a_call_that_only_reads_is_harmless_whatever_its_tool_can_do() {
    let values = vec!["get".to_owned()];
    let harmless = Some(SafeArguments { argument: "command".to_owned(), values });
    let tool =
        tool(ToolPolicy { risk: Risk::High, safe_arguments: harmless, ..ToolPolicy::default() });
    let settings = HumanSettings::default();
    let of = |arguments: Value| call_risk(&settings, &tool, arguments.as_object().unwrap());
    assert_eq!(of(json!({"command": "get"})), Risk::Low);
    assert_eq!(of(json!({"command": "upload"})), Risk::High);
    assert_eq!(of(json!({"command": ["get"]})), Risk::High);
    assert_eq!(of(json!({})), Risk::High);
}

#[test]
fn a_turn_that_may_cost_more_than_the_settings_allow_needs_approval() {
    let (mut run, _) = Run::start(asked_with_approval("why?"), 0);
    let Input::ModelReplied(mut replied) =
        story::replied("t1", "", &[("read", json!({"of": 1})), ("read", json!({"of": 2}))])
    else {
        unreachable!("a reply")
    };
    for tool in &mut replied.offered {
        tool.policy.estimate = Estimate { tokens: 6_000, calls: 1, ..Estimate::default() };
    }
    let entries = run.apply_input(&Input::ModelReplied(replied), 1_000).unwrap();
    let asked = entries.iter().find_map(|entry| match &entry.event {
        Event::HumanRequested { group, estimate, requests: asks, .. } => {
            Some((group, estimate, asks))
        }
        _ => None,
    });
    let (group, estimate, asks) = asked.unwrap();
    assert_eq!((group.to_string().as_str(), estimate.tokens, estimate.calls), ("t1", 12_000, 2));
    assert_eq!(asks.len(), 2);
    assert!(
        asks.iter().all(|ask| ask.reasons == [Reason::Cost] && ask.expires_at_ms == Some(301_000))
    );
}

#[test]
fn while_people_are_asked_no_time_passes() {
    let (mut run, _) = Run::start(asked_with_approval("why?"), 0);
    let before = run.wall_time_deadline_ms();
    run.apply_input(&with_declared(story::replied("t1", "", &[("send", json!({}))])), 1_000);
    assert_eq!(run.next_limit().unwrap().1, i64::MAX);
    let month_ms = 30 * 24 * 3_600 * 1_000;
    let answer = Input::HumanResponded(Box::new(answered("t1.c1", HumanResponse::Confirm)));
    run.apply_input(&answer, 1_000 + month_ms);
    assert_eq!(run.wall_time_deadline_ms(), before + month_ms);
}

#[test]
fn a_users_message_is_read_at_the_next_turn_and_keeps_the_run_from_ending() {
    let (mut run, _) = Run::start(story::asked("why?"), 0);
    run.apply_input(&said("m1", "And silver?"), 0).unwrap();
    assert!(run.apply_input(&said("m1", "And silver?"), 0).is_none(), "a repeat");
    assert!(run.conversation().items.is_empty(), "the turn that is being written did not see it");
    run.apply_input(&story::replied("t1", "It is gold.", &[]), 0).unwrap();
    assert_eq!(
        run.conversation().items[1],
        ConversationItem::UserMessage("And silver?".to_owned())
    );
    let owed: Vec<String> = owed(&run);
    assert_eq!(owed, ["model:t2"], "the answer did not know of it");
    run.apply_input(&story::replied("t2", "And silver.", &[]), 0).unwrap();
    assert!(run.apply_input(&said("m2", "And copper?"), 0).is_none(), "it sums up");
}

/// A plan of three steps one after another, of which the first is at work.
fn planned() -> Run {
    let (mut run, _) = Run::start(story::asked_to_plan("why?"), 0);
    let plan = json!({"command": "create", "steps": ["a", "b", "c"]});
    run.apply_input(&story::planned("t1", &plan), 0).unwrap();
    run
}

fn step(id: Option<u32>, details: &str, on: &[usize]) -> StepEdit {
    let depends_on = on.iter().copied().collect();
    StepEdit { id: id.map(StepId), details: details.to_owned(), depends_on, ..StepEdit::default() }
}

#[test]
fn steps_that_have_not_begun_are_changed_and_those_at_work_are_not() {
    let mut run = planned();
    assert_eq!((run.plan_version(), run.running_children().len()), (1, 1));
    let steps =
        vec![step(Some(1), "other words", &[]), step(Some(3), "c!", &[1]), step(None, "d", &[])];
    assert!(run.apply_input(&edited("e0", 2, steps.clone()), 0).is_none(), "another version");
    let events = run.apply_input(&edited("e1", 1, steps), 0).unwrap();
    let words: Vec<_> = run.plan().unwrap().steps().iter().map(|step| step.label()).collect();
    assert_eq!((words, run.plan_version()), (vec!["a".into(), "c!".into(), "d".into()], 2));
    // What of it a person wrote, no error may quote.
    assert_eq!(run.user_plan_texts().collect::<Vec<_>>(), ["c!", "d", "other words"]);
    let ids: Vec<_> = events.iter().map(|entry| entry.id.to_string()).collect();
    assert_eq!(ids, ["edit.e1", "s4.1.start"], "what is ready begins");
    assert_eq!(run.running_children().len(), 2);
}

/// A plan that people are shown before it begins.
fn shown() -> Run {
    let mut asked = story::asked_to_plan("why?");
    asked.settings.human.confirm_plan = true;
    let (mut run, _) = Run::start(asked, 0);
    let plan = json!({"command": "create", "steps": ["a", "b"], "depends_on": [[], []]});
    run.apply_input(&story::planned("t1", &plan), 0).unwrap();
    assert_eq!(run.status(), RunStatus::Paused);
    assert_eq!(run.pending_requests().next().unwrap().reasons, [Reason::Plan]);
    assert!(run.plan().is_none() && run.running_children().is_empty(), "nothing has begun");
    run
}

fn says(run: &mut Run, answer: HumanResponse) -> Vec<String> {
    let entries =
        run.apply_input(&Input::HumanResponded(Box::new(answered("t1.c1", answer))), 0).unwrap();
    entries.into_iter().map(|entry| entry.id.to_string()).collect()
}

#[test]
fn a_plan_is_accepted_changed_or_rejected_before_it_begins() {
    let mut accepted = shown();
    let ids = says(&mut accepted, HumanResponse::Confirm);
    let begun = ["s1.1.start", "s2.1.start"];
    assert_eq!(ids, ["t1.c1.resolved", "t1.c1.result", "t1.c1.resolved.plan", begun[0], begun[1]]);
    assert_eq!(accepted.running_children().len(), 2);

    let mut changed = shown();
    let plan = json!({"command": "create", "steps": ["c"]});
    says(&mut changed, HumanResponse::Modify { arguments: plan.as_object().unwrap().clone() });
    assert_eq!(changed.plan().unwrap().steps()[0].details, "c");

    for answer in [HumanResponse::Skip, HumanResponse::Say { text: "Only gold.".to_owned() }] {
        let mut rejected = shown();
        assert_eq!(says(&mut rejected, answer), ["t1.c1.resolved", "t1.c1.result"]);
        assert_eq!(owed(&rejected), ["model:t2"], "the planner makes another");
    }
}

#[test]
fn a_question_of_the_models_is_answered_by_a_person_alone() {
    let question = |mut replied: Input| {
        if let Input::ModelReplied(replied) = &mut replied {
            replied
                .offered
                .push(OfferedTool { name: ASK_USER.to_owned(), ..tool(ToolPolicy::default()) });
        }
        replied
    };
    for (answer, detail) in [
        (HumanResponse::Say { text: "The blue one.".to_owned() }, "The blue one."),
        (HumanResponse::Confirm, "yes"),
        (HumanResponse::Modify { arguments: changed() }, r#"{"of":"changed"}"#),
    ] {
        let (mut run, _) = Run::start(story::asked("why?"), 0);
        let asks = json!({"questions": ["Which one?"]});
        run.apply_input(&question(story::replied("t1", "", &[(ASK_USER, asks)])), 0).unwrap();
        assert_eq!(
            (run.status(), owed(&run)),
            (RunStatus::Paused, vec!["human:t1.c1".into(), "| paused".into()])
        );
        says(&mut run, answer);
        assert_eq!(owed(&run), ["model:t2"]);
        let ConversationItem::Turn(turn) = &run.conversation().items[0] else { panic!("no turn") };
        let told = ToolOutput { view: ResultView::UserAnswer, ..ToolOutput::from_text(detail) };
        assert_eq!(turn.calls[0].1, ToolResult::Done(told));
    }
    // Nobody answers: whatever stands for that elsewhere, it is no word of the user's.
    let mut asked = story::asked("why?");
    asked.settings.human.on_timeout = TimeoutAction::Confirm;
    let (mut run, _) = Run::start(asked, 0);
    let asks = json!({"questions": ["Which one?"]});
    run.apply_input(&question(story::replied("t1", "", &[(ASK_USER, asks)])), 0).unwrap();
    run.apply_input(&input("expired t1.c1"), 1_000_000).unwrap();
    let ConversationItem::Turn(turn) = &run.conversation().items[0] else { panic!("no turn") };
    let ToolResult::Failed { reason, .. } = &turn.calls[0].1 else { panic!("{turn:?}") };
    assert_eq!(*reason, ToolFailure::Unanswered);
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
        let is_none = changed.apply_input(&edited("e1", 1, steps), 0).is_none();
        // Without a step of its own there is still the one at work.
        assert!(is_none || name == "none", "{name}");
        assert_eq!(changed.running_children().len(), 1, "{name}");
    }
}

#[test]
fn a_timeout_never_consents_to_what_needs_a_user() {
    use TimeoutAction::{Confirm, Skip, Stop};
    for (reason, setting, action) in [
        (Reason::Risk, Confirm, Confirm),
        (Reason::Result, Confirm, Confirm),
        (Reason::Untrusted, Confirm, Skip),
        (Reason::Budget, Confirm, Skip),
        (Reason::Clarification, Confirm, Skip),
        (Reason::Untrusted, Stop, Stop),
        (Reason::Risk, Skip, Skip),
    ] {
        let mut request = HumanRequest {
            id: serde_json::from_value(json!("t1.c1")).unwrap(),
            child: None,
            subject: Subject::StepReview { step: StepId(1), details: "x".into() },
            risk: Risk::Low,
            reasons: vec![Reason::Plan, reason],
            estimate: Estimate::default(),
            digest: String::new(),
            expires_at_ms: Some(1),
        };
        assert_eq!(request.timeout_action(setting), Some(action), "{reason:?}");
        request.expires_at_ms = None;
        assert_eq!(request.timeout_action(setting), None, "{reason:?}");
    }
}
