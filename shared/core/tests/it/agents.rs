//! Agents that others call: the calls, the shares, and the runs that answer them.

use std::collections::BTreeMap;

use djinn_core::agent::{AgentContext, AgentSpec, AnswerFormat, CallBefore, ToolChoiceRule};
use djinn_core::conversation::{ConversationItem, Nudge};
use djinn_core::effect::{Effect, ToolChoice};
use djinn_core::entry::Event;
use djinn_core::error_code::ErrorCode;
use djinn_core::file::Attachment;
use djinn_core::id::{CallId, ChildId, FileName};
use djinn_core::input::{AgentChanged, Input, RunSpec};
use djinn_core::journal::Journal;
use djinn_core::settings::{Machine, Role};
use djinn_core::status::RunStatus;
use djinn_core::tool::{
    EffectClass, OfferedTool, Risk, ToolFailure, ToolPolicy, ToolResult, ToolSetRef,
};
use serde_json::{Value, json};

use crate::machine::{check, owed};
use crate::story;
use crate::story::machine::input;

fn asked(question: &str) -> RunSpec {
    let mut asked = story::asked(question);
    asked.settings.budget.steps = 40;
    asked
}

fn tell_of_agents(line: &str) -> Input {
    let status = |word| match word {
        "ended" => Some(RunStatus::Finished),
        "failed" => Some(RunStatus::Failed),
        "stopped" => Some(RunStatus::Stopped),
        _ => None,
    };
    let child = line.split_once(' ').and_then(|(word, child)| Some((status(word)?, child)));
    match child {
        Some((status, child)) => story::task_ended(child, status, "It is done."),
        None => input(line),
    }
}

#[test]
fn agents_are_called_as_their_table_says() {
    let cases = check(include_str!("agents.txt"), asked, tell_of_agents, owed);
    assert!(cases >= 9, "only {cases} cases were found");
}

/// A journal with what it was told so far.
struct Told(Journal);

impl Told {
    fn of(spec: RunSpec) -> Self {
        Self(Journal::open(spec, 1, story::write(0), 0).0)
    }

    fn tell(&mut self, input: Input) -> Vec<String> {
        let n = self.0.next_number();
        let decided = self.0.decide_record(vec![input], 1, story::write(n), 0);
        let (after, record) = decided.expect("the input is waited for");
        self.0 = after;
        record.entries.iter().map(|entry| entry.id.to_string()).collect()
    }

    fn child(&self, id: &str) -> RunSpec {
        self.0.run().child_spec(&ChildId::new(id).unwrap()).expect("the child is owed")
    }

    fn owed(&self) -> Vec<String> {
        owed(self.0.run())
    }
}

fn calls(count: usize) -> Input {
    story::replied("t1", "", &vec![("helper", json!({"task": "look"})); count])
}

/// An agent that reads.
fn agent() -> AgentSpec {
    AgentSpec {
        name: "helper".to_owned(),
        description: "Helps.".to_owned(),
        prompt: "Help.".to_owned(),
        parameters: json!({"type": "object"}),
        tools: vec!["read".to_owned(), "helper".to_owned()],
        model: Role::Executor,
        machine: Machine::React,
        max_steps: 5,
        max_calls: None,
        before: Vec::new(),
        after: None,
        max_result_chars: None,
        first_tool: None,
        answer: AnswerFormat::Text,
        context: AgentContext::None,
        risk: Risk::Low,
        entry: false,
        title: None,
        agent_type: None,
        tool_choice: ToolChoiceRule::Auto,
        stop_at: Vec::new(),
        hands_over: Vec::new(),
        review: None,
        workflow: None,
    }
}

/// A run that answers a call with these arguments.
fn called(agent: AgentSpec, arguments: Value) -> Told {
    let mut caller = Told::of(asked("why?"));
    caller.tell(story::replied("t1", "", &[("helper", arguments)]));
    Told::of(caller.child("t1.c1").with_agent(agent))
}

/// An agent of one turn, whose file has a tool called before it and one with its answer.
fn agent_between_calls() -> Told {
    let file = AgentSpec {
        before: vec![CallBefore::Name("read".to_owned())],
        after: Some("read".to_owned()),
        max_steps: 1,
        ..agent()
    };
    let mut told = called(file, json!({"task": "look"}));
    assert_eq!(told.owed(), ["model:before"]);
    let made = story::replied("before", "", &[("read", json!({"task": "look"}))]);
    assert_eq!(told.tell(made), ["before.c1"]);
    assert_eq!(told.owed(), ["tool:before.c1"]);
    assert_eq!(told.tell(input("returned before.c1")), ["before.c1.result"]);
    assert_eq!(told.owed(), ["model:t1"]);
    told.tell(story::replied("t1", "The answer.", &[]));
    // Its one step is used up, and the call is made all the same.
    assert_eq!(told.owed(), ["model:after"]);
    told.tell(story::replied(
        "after",
        "The answer.",
        &[("read", json!({"answer": "The answer."}))],
    ));
    assert_eq!(told.owed(), ["tool:after.c1"]);
    told
}

#[test]
fn a_file_has_calls_made_before_the_first_turn_and_with_the_answer() {
    let mut told = agent_between_calls();
    told.tell(input("returned after.c1"));
    let ended = told.0.run().child_result().unwrap();
    assert_eq!((ended.status, ended.report.text.as_str()), (RunStatus::Finished, "fine"));
    assert_eq!((ended.spent.steps, ended.spent.model_calls), (1, 1));
}

#[test]
fn an_answer_whose_call_fails_is_none() {
    let mut told = agent_between_calls();
    told.tell(input("tool_failed after.c1"));
    let ended = told.0.run().child_result().unwrap();
    let failure = ended.report.failure.as_ref().unwrap();
    assert_eq!((ended.status, failure.code), (RunStatus::Failed, ErrorCode::BadAnswer));
    assert!(failure.detail.starts_with("read "), "{}", failure.detail);
}

#[test]
fn what_dies_between_the_calls_of_a_file_is_owed_again() {
    let mut told = agent_between_calls();
    told.tell(input("resumed 2"));
    assert_eq!(told.owed(), ["tool:after.c1#2"]);
}

#[test]
fn an_agent_is_told_what_it_is_called_for_and_where_it_stands() {
    let mut caller = Told::of(asked("why?"));
    caller.tell(calls(2));
    let (called, schema) = caller.0.run().agent_of(&ChildId::new("t1.c2").unwrap()).unwrap();
    assert_eq!((called, schema.is_some()), ("helper", true));
    let spec = caller.child("t1.c2").with_agent(agent());
    let child = spec.child.clone().unwrap();
    assert_eq!(spec.path().to_string(), "t1.c2");
    assert_eq!((child.description.as_str(), child.concurrent_children), ("look", 2));
    assert_eq!(spec.arguments["task"], json!("look"));
    // 39 steps are left: a third for each of the two and for the caller, of which the agent takes five.
    assert_eq!((spec.settings.budget.steps, child.places), (5, 499));
    let mut below = Told::of(spec);
    below.tell(calls(1));
    let spec = below.child("t1.c1").with_agent(agent());
    assert_eq!(spec.path().to_string(), "t1.c2.t1.c1");
    // One alone is driven where its caller is, and takes no place.
    assert_eq!(spec.places(), 499);
}

#[test]
fn only_agents_that_know_the_conversation_know_what_came_with_its_question() {
    let attached = Attachment { name: FileName::new("sales.csv").unwrap(), image: None };
    let spec = RunSpec { attachments: vec![attached.clone()], ..asked("why?") };
    let mut caller = Told::of(spec);
    caller.tell(calls(1));
    for (context, known) in [
        (AgentContext::Conversation, vec![attached]),
        (AgentContext::Files, Vec::new()),
        (AgentContext::None, Vec::new()),
    ] {
        let spec = caller.child("t1.c1").with_agent(AgentSpec { context, ..agent() });
        assert_eq!(spec.attachments, known);
        assert_eq!(spec.files.len(), 1);
    }
}

#[test]
fn shares_nest_and_what_is_not_used_comes_back() {
    let mut asked = asked("why?");
    asked.settings.budget.tokens = 1_000_000;
    asked.settings.budget.tool_calls = 90;
    let mut caller = Told::of(asked);
    caller.tell(calls(2));
    let budgets = ["t1.c1", "t1.c2"].map(|id| caller.child(id).settings.budget);
    let left = 1_000_000 - caller.0.run().spending().tokens();
    for budget in budgets {
        assert_eq!((budget.steps, budget.tool_calls), (15, 34));
        assert_eq!(budget.tokens, (left - left / 4) / 2);
    }
    caller.tell(story::task_ended("t1.c1", RunStatus::Finished, "done"));
    caller.tell(story::task_ended("t1.c2", RunStatus::Finished, "done"));
    assert_eq!(caller.0.run().spending().steps, 1 + 2 + 2);
    caller.tell(story::replied("t2", "", &[("helper", json!({"task": "again"}))]));
    // 34 steps are left, of which the caller keeps a quarter.
    assert_eq!(caller.child("t2.c1").settings.budget.steps, 26);
}

#[test]
fn the_deepest_agent_has_a_budget_to_work_with() {
    let mut spec = asked("why?");
    for _ in 0..4 {
        let mut caller = Told::of(spec);
        caller.tell(calls(1));
        spec = caller.child("t1.c1").with_agent(AgentSpec { max_steps: 40, ..agent() });
    }
    let budget = spec.settings.budget;
    assert!(budget.steps >= 12 && budget.tool_calls >= 30, "{budget:?}");
}

#[test]
fn without_places_agents_are_at_work_one_after_another() {
    let mut caller = Told::of(asked("why?"));
    caller.tell(calls(1));
    let mut spec = caller.child("t1.c1").with_agent(AgentSpec { max_steps: 30, ..agent() });
    spec.child.as_mut().unwrap().places = 0;
    let mut below = Told::of(spec);
    let begun = below.tell(calls(3));
    assert_eq!(begun, ["t1", "t1.c1", "t1.c2", "t1.c3", "t1.c1.start"]);
    for (ended, next) in [("t1.c1", "t1.c2"), ("t1.c2", "t1.c3")] {
        let due = below.0.run().due();
        let alone = due.iter().any(|effect| matches!(effect, Effect::RunChild(run) if run.alone));
        assert!(alone, "{due:?}");
        let entries = below.tell(story::task_ended(ended, RunStatus::Finished, "done"));
        let start = format!("{next}.start");
        assert_eq!(entries, [format!("{ended}.end"), format!("{ended}.result"), start]);
        assert_eq!(below.owed(), [format!("child:{next}")]);
    }
}

#[test]
fn a_run_that_heard_of_a_stop_before_its_caller_leaves_a_stopped_call() {
    let mut caller = Told::of(asked("why?"));
    caller.tell(calls(2));
    let stopped = story::task_ended("t1.c1", RunStatus::Stopped, "");
    let number = caller.0.next_number();
    let decided = caller.0.decide_record(vec![stopped], 1, story::write(number), 0);
    let (_, record) = decided.expect("the end is waited for");
    let results = record.entries.iter().filter_map(|entry| match &entry.event {
        Event::CallCompleted { result, .. } => Some(result),
        _ => None,
    });
    let stopped = ToolResult::Failed { reason: ToolFailure::Stopped, detail: String::new() };
    // The other's ends with its caller.
    assert_eq!(results.collect::<Vec<_>>(), [&stopped, &stopped]);
}

/// The reasons of the failed calls.
fn reasons(told: &Told) -> Vec<ToolFailure> {
    let items = &told.0.run().conversation().items;
    let turns = items.iter().filter_map(|item| match item {
        ConversationItem::Turn(turn) => Some(&turn.calls),
        _ => None,
    });
    let failed = turns.flatten().filter_map(|(_, result)| match result {
        ToolResult::Failed { reason, .. } => Some(*reason),
        _ => None,
    });
    failed.collect()
}

#[test]
fn the_seventeenth_call_of_a_turn_and_one_from_too_far_down_have_a_reason() {
    let mut caller = Told::of(asked("why?"));
    caller.tell(calls(17));
    assert_eq!(caller.owed().len(), 16);
    for nth in 1..=16 {
        let id = format!("t1.c{nth}");
        caller.tell(story::task_ended(&id, RunStatus::Finished, "done"));
    }
    assert_eq!(reasons(&caller), [ToolFailure::TooMany]);

    let mut deep = asked("why?");
    deep.settings.budget.steps = 400;
    let mut run = Told::of(deep);
    for _ in 0..4 {
        run.tell(calls(1));
        run = Told::of(run.child("t1.c1").with_agent(AgentSpec { max_steps: 40, ..agent() }));
    }
    assert_eq!(run.0.run().spec().path().to_string(), "t1.c1.t1.c1.t1.c1.t1.c1");
    run.tell(calls(1));
    assert_eq!(
        (reasons(&run), run.owed()),
        (vec![ToolFailure::TooDeep], vec!["model:t2".to_owned()])
    );
}

fn tool_choice(told: &Told) -> ToolChoice {
    let due = told.0.run().due();
    let call = due.iter().find_map(|effect| match effect {
        Effect::CallModel(call) => Some(call.tool_choice.clone()),
        _ => None,
    });
    call.expect("a model call is owed")
}

#[test]
fn an_agents_file_says_which_tools_a_turn_may_call() {
    let first_tool = Some("read".to_owned());
    let mut told = called(AgentSpec { first_tool, max_steps: 3, ..agent() }, json!({}));
    assert_eq!(tool_choice(&told), ToolChoice::Named("read".to_owned()));
    told.tell(story::replied("t1", "", &[("read", json!({}))]));
    told.tell(story::returned("t1.c1", "fine"));
    assert_eq!(tool_choice(&told), ToolChoice::Auto);
    told.tell(story::replied("t2", "", &[("read", json!({"of": 2}))]));
    told.tell(story::returned("t2.c1", "fine"));
    assert_eq!(tool_choice(&told), ToolChoice::None, "the last turn is for the answer");
    let without = called(AgentSpec { tools: Vec::new(), ..agent() }, json!({}));
    assert_eq!(tool_choice(&without), ToolChoice::None);
}

/// An agent that ends with the results of `read`.
fn stopping_agent() -> AgentSpec {
    let tools = vec!["read".to_owned(), "file_tool".to_owned()];
    AgentSpec { tools, stop_at: vec!["read".to_owned()], ..agent() }
}

#[test]
fn results_of_a_tool_in_stop_at_are_the_answer_without_a_model_call() {
    let mut root = Told::of(asked("why?").with_agent(stopping_agent()));
    let calls = [("read", json!({"of": 1})), ("file_tool", json!({})), ("read", json!({"of": 2}))];
    root.tell(story::replied("t1", "I read.", &calls));
    root.tell(story::returned("t1.c3", "and so it is\n"));
    root.tell(input("tool_failed t1.c2"));
    assert_eq!(root.owed(), ["tool:t1.c1"]);
    assert_eq!(root.tell(story::returned("t1.c1", "Because")), ["t1.c1.result", "end"]);
    assert_eq!(root.owed(), ["deliver:alarm_removal"], "neither a turn nor a closing call follows");
    assert_eq!(root.0.run().status(), RunStatus::Finished);

    let mut child = called(stopping_agent(), json!({}));
    child.tell(story::replied("t1", "", &[("read", json!({}))]));
    child.tell(story::returned("t1.c1", "Because."));
    let result = child.0.run().child_result().unwrap();
    assert_eq!((result.report.text.as_str(), result.report.done), ("Because.", true));
}

#[test]
fn failed_or_blank_result_of_a_tool_in_stop_at_lets_the_loop_go_on() {
    let mut told = called(stopping_agent(), json!({}));
    told.tell(story::replied("t1", "", &[("read", json!({"of": 1})), ("read", json!({"of": 2}))]));
    told.tell(story::returned("t1.c1", "Because."));
    told.tell(input("tool_failed t1.c2"));
    assert_eq!(told.owed(), ["model:t2"]);
    told.tell(story::replied("t2", "", &[("read", json!({"of": 3}))]));
    told.tell(story::returned("t2.c1", "  "));
    assert_eq!(told.owed(), ["model:t3"]);
    told.tell(story::replied("t3", "", &[("file_tool", json!({}))]));
    told.tell(story::returned("t3.c1", "Because."));
    assert_eq!(told.owed(), ["model:t4"], "the result of another tool is no answer");
}

#[test]
fn users_message_in_the_last_turn_is_read_before_the_agent_ends() {
    let mut root = Told::of(asked("why?").with_agent(stopping_agent()));
    root.tell(story::replied("t1", "", &[("read", json!({}))]));
    root.tell(story::human_requests::said("m1", "And why?"));
    root.tell(story::returned("t1.c1", "Because."));
    assert_eq!(root.owed(), ["model:t2"]);
}

#[test]
fn smart_choice_requires_a_call_until_a_tool_has_returned_a_result() {
    let smart = AgentSpec { tool_choice: ToolChoiceRule::Smart, ..agent() };
    let mut told = called(smart.clone(), json!({}));
    assert_eq!(tool_choice(&told), ToolChoice::Required);
    told.tell(story::replied("t1", "", &[("read", json!({"of": 1}))]));
    told.tell(input("tool_failed t1.c1"));
    assert_eq!(tool_choice(&told), ToolChoice::Required, "a failure is no result");
    told.tell(story::replied("t2", "", &[("read", json!({"of": 2}))]));
    told.tell(story::returned("t2.c1", "fine"));
    assert_eq!(tool_choice(&told), ToolChoice::Auto);
    let root = Told::of(asked("why?").with_agent(AgentSpec { max_steps: 1, ..smart }));
    assert_eq!(tool_choice(&root), ToolChoice::Auto, "the last turn is free for the answer");
}

#[test]
fn an_answer_that_is_too_long_is_kept_whole_before_the_caller_hears_of_it() {
    let mut told = called(agent(), json!({}));
    let answer = "word ".repeat(2_001);
    assert_eq!(told.tell(story::replied("t1", &answer, &[])), ["t1"]);
    let due = told.0.run().due();
    let [Effect::SaveAnswer(file), ..] = due.as_slice() else { panic!("{due:?}") };
    assert_eq!((file.name.clone(), file.text.trim()), (None, answer.trim()));
    assert!(told.0.run().child_result().is_none());
    told.tell(Input::AnswerSaved { file: Some(story::file("result-1.txt")) });
    assert_eq!(told.owed(), ["deliver:child_result"]);
    let result = told.0.run().child_result().unwrap();
    assert_eq!(result.report.text.chars().count(), 10_000);
    let whole = result.full_output.clone().unwrap();
    assert_eq!(whole.file, FileName::new("result-1.txt").unwrap());
    assert!(whole.characters > 10_000 && result.report.done);
}

#[test]
fn an_answer_that_is_a_file_is_written_once_under_the_name_that_the_caller_gave() {
    let writer = AgentSpec { answer: AnswerFormat::File, ..agent() };
    let name = |arguments| {
        let mut told = called(writer.clone(), arguments);
        told.tell(story::replied("t1", "# Report", &[]));
        let due = told.0.run().due();
        let [Effect::SaveAnswer(file), ..] = due.as_slice() else { panic!("{due:?}") };
        assert_eq!(file.text, "# Report");
        file.name.as_ref().unwrap().to_string()
    };
    assert_eq!(name(json!({"file_name": "growth.md"})), "growth.md");
    assert_eq!(name(json!({"file_name": "../growth.md"})), "helper-t1.c1.md");
    assert_eq!(name(json!({"file_name": "TODO.md"})), "helper-t1.c1.md");
    assert_eq!(name(json!({})), "helper-t1.c1.md");

    let mut told = called(writer.clone(), json!({}));
    told.tell(story::replied("t1", "# Report", &[]));
    told.tell(Input::AnswerSaved { file: None });
    let result = told.0.run().child_result().unwrap();
    let failure = result.report.failure.as_ref().map(|failure| failure.code);
    assert_eq!((failure, result.status), (Some(ErrorCode::StoreUnavailable), RunStatus::Failed));
}

#[test]
fn a_document_that_is_cut_off_goes_on_three_times_and_its_tool_makes_the_file() {
    let (answer, after) = (AnswerFormat::File, Some("read".to_owned()));
    let mut told = called(AgentSpec { answer, after, max_steps: 4, ..agent() }, json!({}));
    for turn in ["t1", "t2", "t3"] {
        told.tell(story::cut_off(turn, "so it "));
    }
    assert_eq!(told.owed(), ["model:t4"]);
    told.tell(story::cut_off("t4", "goes"));
    // Three times are enough: what there is becomes the document.
    assert_eq!(told.owed(), ["model:after"]);
    assert_eq!(told.0.run().conversation().final_text(), "so it so it so it goes");
    told.tell(story::replied("after", "", &[("read", json!({}))]));
    told.tell(story::wrote("after.c1", "growth.md"));
    assert_eq!(told.owed(), ["deliver:child_result"], "no file is written beside the tool's");
    let result = told.0.run().child_result().unwrap();
    assert_eq!((result.report.text.as_str(), result.report.done), ("written", true));
    assert_eq!(result.report.files, [FileName::new("growth.md").unwrap()]);
}

#[test]
fn an_answer_of_the_wrong_form_is_asked_for_twice_and_fails_then() {
    let judge = AgentSpec { answer: AnswerFormat::Json(json!({"type": "object"})), ..agent() };
    let mut told = called(judge, json!({}));
    let answer = |turn: &str| {
        let Input::ModelReplied(mut replied) = story::replied(turn, "No.", &[]) else {
            unreachable!("a reply is a reply")
        };
        replied.answer_problem = Some("it is no object".to_owned());
        Input::ModelReplied(replied)
    };
    told.tell(answer("t1"));
    told.tell(answer("t2"));
    let nudges = told.0.run().conversation().items.iter().filter(|item| {
        matches!(item, ConversationItem::Nudge(Nudge::BadAnswer(problem)) if problem == "it is no object")
    });
    assert_eq!((nudges.count(), told.owed()), (2, vec!["model:t3".to_owned()]));
    told.tell(answer("t3"));
    let result = told.0.run().child_result().unwrap();
    let failure = result.report.failure.clone().unwrap();
    assert_eq!((failure.code, failure.detail.as_str()), (ErrorCode::BadAnswer, "it is no object"));
}

#[test]
fn an_agent_that_plans_sums_up_and_leaves_the_roots_plan_alone() {
    let planner = AgentSpec { machine: Machine::PlanSolve, max_steps: 30, ..agent() };
    let mut caller = Told::of(asked("why?"));
    caller.tell(story::replied("t1", "", &[("helper", json!({}))]));
    let mut told = Told::of(caller.child("t1.c1").with_agent(planner));
    told.tell(story::planned("t1", &json!({"command": "create", "steps": ["look"]})));
    // No file of the plan's is owed: the session's is that of the root's plan.
    assert_eq!(told.owed(), ["child:s1.1"]);
    assert_eq!(told.child("s1.1").path().to_string(), "t1.c1.s1.1");
    told.tell(story::task_ended("s1.1", RunStatus::Finished, "found"));
    told.tell(story::planned("t2", &json!({"command": "finish"})));
    assert_eq!(told.owed(), ["model:summary"]);
    told.tell(story::replied("summary", "It is 4.", &[]));
    assert_eq!(told.0.run().child_result().unwrap().report.text, "It is 4.");
}

#[test]
fn root_agent_has_its_own_limit_and_a_closing_call() {
    let mut told = Told::of(asked("why?").with_agent(AgentSpec { max_steps: 1, ..agent() }));
    assert_eq!(told.0.run().spec().machine(), Machine::React);
    assert_eq!(tool_choice(&told), ToolChoice::Auto, "a closing call follows its last turn");
    told.tell(story::replied("t1", "I look.", &[("read", json!({"task": "look"}))]));
    told.tell(input("returned t1.c1"));
    assert_eq!(told.owed(), ["model:summary"]);
}

#[test]
fn root_agent_with_a_formed_answer_has_no_closing_call() {
    let answer = AnswerFormat::Json(json!({"type": "object"}));
    let last = AgentSpec { max_steps: 1, answer: answer.clone(), ..agent() };
    let mut told = Told::of(asked("why?").with_agent(last));
    assert_eq!(tool_choice(&told), ToolChoice::None, "its last turn is for the answer");
    told.tell(story::replied("t1", "{}", &[]));
    assert_eq!(told.0.run().status(), RunStatus::Finished);
    let mut told = Told::of(asked("why?").with_agent(AgentSpec { answer, ..agent() }));
    for turn in ["t1", "t2", "t3"] {
        let Input::ModelReplied(mut replied) = story::replied(turn, "No.", &[]) else {
            unreachable!("a reply is a reply")
        };
        replied.answer_problem = Some("it is no object".to_owned());
        told.tell(Input::ModelReplied(replied));
    }
    assert_eq!(told.0.run().status(), RunStatus::Failed);
}

#[test]
fn root_agent_may_answer_with_a_file_that_the_question_names() {
    let writer = AgentSpec { answer: AnswerFormat::File, ..agent() };
    let mut told = Told::of(asked("Write growth.md.").with_agent(writer.clone()));
    told.tell(story::replied("t1", "# Growth", &[]));
    let due = told.0.run().due();
    let file = due.iter().find_map(|effect| match effect {
        Effect::SaveAnswer(file) => file.name.clone(),
        _ => None,
    });
    assert_eq!(file, Some(FileName::new("growth.md").unwrap()));
    let unnamed = asked("Write.").with_agent(writer);
    assert_eq!(unnamed.arguments["file_name"], "helper.md");
}

#[test]
fn root_agent_that_plans_has_its_tools_for_steps_and_leaves_agents_nothing_else() {
    let planner = AgentSpec { machine: Machine::PlanSolve, max_steps: 30, ..agent() };
    let mut spec = asked("why?").with_agent(planner);
    spec.arguments.insert("depth".to_owned(), json!(3));
    let mut told = Told::of(spec);
    told.tell(story::planned("t1", &json!({"command": "create", "steps": ["look"]})));
    let step = told.child("s1.1");
    assert_eq!(step.child.as_ref().unwrap().tools, Some(agent().tools));
    assert_eq!((step.agent(), step.arguments.len()), (None, 0));
    assert_eq!(step.machine(), Machine::React);
}

#[test]
fn agent_of_an_old_record_is_read_from_the_child() {
    let mut caller = Told::of(asked("why?"));
    caller.tell(calls(1));
    let spec = caller.child("t1.c1").with_agent(agent());
    let mut old = serde_json::to_value(&spec).unwrap();
    for name in ["agent", "arguments"] {
        let moved = old.as_object_mut().unwrap().remove(name).unwrap();
        old["child"][name] = moved;
    }
    assert_eq!(serde_json::from_value::<RunSpec>(old).unwrap(), spec);
}

/// The tools of the stories, with agents that take the run over.
fn replied_with_next_agents(message: &str, text: &str, calls: &[(&str, Value)]) -> Input {
    let Input::ModelReplied(mut replied) = story::replied(message, text, calls) else {
        unreachable!("a reply is a reply")
    };
    replied.offered.push(OfferedTool {
        name: "planner".to_owned(),
        schema_hash: "hash".to_owned(),
        effect: EffectClass::Agent,
        timeout_ms: 10_000,
        visible: true,
        policy: ToolPolicy { hands_over: true, ..ToolPolicy::default() },
    });
    replied.tool_set = ToolSetRef::of(&replied.offered, BTreeMap::new());
    Input::ModelReplied(replied)
}

/// The agent that takes the run over by this call.
fn taken_over(call: &str, agent: AgentSpec) -> Input {
    let call = CallId::new(call).unwrap();
    let arguments = json!({"depth": 2}).as_object().cloned().unwrap();
    Input::AgentChanged(Box::new(AgentChanged { call, agent: Box::new(agent), arguments }))
}

/// A mode that can hand its run over.
fn router() -> AgentSpec {
    AgentSpec { hands_over: vec!["planner".to_owned()], max_steps: 30, ..agent() }
}

fn planner() -> AgentSpec {
    let name = "planner".to_owned();
    AgentSpec { name, machine: Machine::PlanSolve, max_steps: 20, ..agent() }
}

#[test]
fn next_agent_works_on_the_same_question_in_the_same_run() {
    let mut told = Told::of(asked("why?").with_agent(router()));
    let hand_over = replied_with_next_agents("t1", "I ask the planner.", &[("planner", json!({}))]);
    assert_eq!(told.tell(hand_over), ["t1", "t1.c1"]);
    assert_eq!(told.owed(), ["tool:t1.c1"]);
    assert_eq!(told.tell(taken_over("t1.c1", planner())), ["t1.c1.result", "t1.c1.agent"]);
    assert_eq!(told.owed(), ["model:t2"]);
    let run = told.0.run();
    assert_eq!((run.spec().machine(), run.spec().question.as_str()), (Machine::PlanSolve, "why?"));
    assert!(run.conversation().items.is_empty(), "the next agent begins with the question");
    assert_eq!(run.spec().settings.budget.steps, 21, "its own turns follow those before");
    told.tell(story::planned("t2", &json!({"command": "create", "steps": ["look"]})));
    assert_eq!(told.owed(), ["child:s1.1", "plan:1"], "the plan is the run's");
    told.tell(story::task_ended("s1.1", RunStatus::Finished, "found"));
    told.tell(story::planned("t3", &json!({"command": "finish"})));
    told.tell(story::replied("summary", "It is 4.", &[]));
    assert_eq!(told.0.run().status(), RunStatus::Finished);
}

#[test]
fn hand_over_waits_for_the_other_calls_whose_results_stay() {
    let mut told = Told::of(asked("why?").with_agent(router()));
    let calls = [("planner", json!({})), ("read", json!({"of": 1})), ("planner", json!({}))];
    told.tell(replied_with_next_agents("t1", "", &calls));
    assert_eq!(open_calls(&told), ["t1.c2"], "of two hand-overs, the second is refused");
    assert!(told.owed().contains(&"tool:t1.c2".to_owned()) && told.owed().len() == 1);
    let early = told.0.decide_record(vec![taken_over("t1.c1", planner())], 1, story::write(9), 0);
    assert!(early.is_none(), "a hand-over before its turn is ignored");
    told.tell(story::returned("t1.c2", "fine"));
    assert_eq!(told.owed(), ["tool:t1.c1"]);
    told.tell(taken_over("t1.c1", AgentSpec { name: "planner".to_owned(), ..agent() }));
    let items = &told.0.run().conversation().items;
    let [ConversationItem::Turn(turn)] = items.as_slice() else { panic!("{items:?}") };
    let kept: Vec<&str> = turn.calls.iter().map(|(call, _)| call.tool.as_str()).collect();
    assert_eq!(kept, ["read", "planner"], "without the call that handed over");
}

/// The due tool calls.
fn open_calls(told: &Told) -> Vec<String> {
    let owed = told.owed().into_iter();
    owed.filter_map(|effect| effect.strip_prefix("tool:").map(str::to_owned)).collect()
}

#[test]
fn hand_over_that_fails_lets_the_loop_go_on_and_a_crash_repeats_it() {
    let mut told = Told::of(asked("why?").with_agent(router()));
    told.tell(replied_with_next_agents("t1", "", &[("planner", json!({}))]));
    told.tell(story::died(2));
    assert_eq!(told.owed(), ["tool:t1.c1#2"]);
    told.tell(story::failed("t1.c1", ToolFailure::BadArguments));
    assert_eq!(told.owed(), ["model:t2"]);
    assert_eq!(told.0.run().spec().agent().unwrap().name, "helper");
}

#[test]
fn text_before_a_hand_over_is_shown_only_if_it_is_long() {
    let shown = |text: &str, calls: &[(&str, Value)]| {
        let mut told = Told::of(asked("why?").with_agent(router()));
        let n = told.0.next_number();
        let reply = replied_with_next_agents("t1", text, calls);
        let (after, record) = told.0.decide_record(vec![reply], 1, story::write(n), 0).unwrap();
        told.0 = after;
        match &record.entries[0].event {
            Event::MessageCompleted { text, .. } => text.clone(),
            other => panic!("{other:?}"),
        }
    };
    let hand_over = [("planner", json!({}))];
    let long = "x".repeat(200);
    assert_eq!(shown("I ask.", &hand_over), "");
    assert_eq!(shown(&long[1..], &hand_over), "");
    assert_eq!(shown(&long, &hand_over), long);
    let look_first = [("read", json!({})), ("planner", json!({}))];
    assert_eq!(shown("I look.", &look_first), "I look.");
    assert_eq!(shown("It is 4.", &[]), "It is 4.");
}

#[test]
fn hand_overs_end_after_four_and_turns_keep_one_numbering() {
    let mut told = Told::of(asked("why?").with_agent(router()));
    for turn in 1..=4 {
        let hand_over = [("planner", json!({}))];
        told.tell(replied_with_next_agents(&format!("t{turn}"), "", &hand_over));
        let before = vec![CallBefore::Name("read".to_owned())];
        told.tell(taken_over(&format!("t{turn}.c1"), AgentSpec { before, ..router() }));
        let message = format!("t{}.before", turn + 1);
        assert_eq!(told.owed(), [format!("model:{message}")]);
        told.tell(story::replied(&message, "", &[("read", json!({"of": turn}))]));
        told.tell(input(&format!("returned {message}.c1")));
    }
    told.tell(replied_with_next_agents("t5", "", &[("planner", json!({}))]));
    assert_eq!(told.owed(), ["model:t6"]);
    assert_eq!(reasons(&told), [ToolFailure::TooDeep]);
}

#[test]
fn words_of_a_model_do_not_become_the_users_words() {
    let url = "https://example.org/secret";
    let mut told = Told::of(asked("why?").with_agent(router()));
    told.tell(replied_with_next_agents("t1", "", &[("planner", json!({}))]));
    let Input::AgentChanged(mut changed) = taken_over("t1.c1", agent()) else { unreachable!() };
    changed.arguments.insert("page".to_owned(), url.into());
    told.tell(Input::AgentChanged(changed));
    assert_eq!(told.0.run().spec().arguments["page"], url);
    assert!(!told.0.run().knows_url(url));
    assert_eq!(told.0.run().spec().user_texts().collect::<Vec<_>>(), ["why?"]);
}

#[test]
fn called_agent_hands_over_within_its_own_run() {
    let mut child = called(router(), json!({"task": "look", "depth": 1}));
    child.tell(replied_with_next_agents("t1", "", &[("planner", json!({}))]));
    child.tell(taken_over("t1.c1", planner()));
    let spec = child.0.run().spec().clone();
    assert_eq!((&spec.arguments["task"], &spec.arguments["depth"]), (&json!("look"), &json!(2)));
    assert_eq!(spec.question, "look", "the plan is about the task of the call");
    child.tell(story::replied("t2", "Found.", &[]));
    let result = child.0.run().child_result().unwrap();
    assert_eq!((result.report.text.as_str(), result.report.done), ("Found.", true));
}
