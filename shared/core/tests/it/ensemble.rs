//! Ensembles: agents before the first turn, and the verdict on their answers.

use djinn_core::agent::{AgentContext, AgentSpec, AnswerFormat, CallBefore, ToolChoiceRule};
use djinn_core::effect::{Effect, ToolChoice};
use djinn_core::entry::{Entry, Event, RunResult};
use djinn_core::id::{ChildId, MessageId};
use djinn_core::input::{ChildEnded, Input, ModelReplied, RequestedCall, RunSpec, UserMessage};
use djinn_core::journal::Journal;
use djinn_core::settings::{Machine, Role, SummaryPolicy};
use djinn_core::status::RunStatus;
use djinn_core::tool::{
    EffectClass, OfferedTool, Risk, ToolArguments, ToolPolicy, ToolResult, ToolSetRef,
};
use djinn_core::verdict::{EnsembleVerdict, Evidence};
use serde_json::{Value, json};

use crate::machine::{check, owed};
use crate::story;
use crate::story::machine::input;

fn agent(name: &str) -> AgentSpec {
    AgentSpec {
        name: name.to_owned(),
        description: "Helps.".to_owned(),
        prompt: "Help.".to_owned(),
        parameters: json!({"type": "object"}),
        tools: vec!["read".to_owned()],
        model: Role::React,
        machine: Machine::React,
        max_steps: 100,
        max_calls: None,
        before: Vec::new(),
        after: None,
        max_result_chars: None,
        first_tool: None,
        answer: AnswerFormat::Text,
        context: AgentContext::Conversation,
        risk: Risk::Low,
        entry: true,
        title: None,
        agent_type: None,
        tool_choice: ToolChoiceRule::Auto,
        stop_at: Vec::new(),
        hands_over: Vec::new(),
        workflow: None,
        review: None,
    }
}

fn critic() -> AgentSpec {
    let helper = || "helper".to_owned();
    let with_model = CallBefore::WithModel { agent: helper(), model: Role::Second };
    AgentSpec {
        tools: vec!["give_verdict".to_owned()],
        before: vec![CallBefore::Name(helper()), with_model],
        model: Role::Critic,
        ..agent("critic")
    }
}

fn asked(question: &str) -> RunSpec {
    let mut asked = story::asked(question);
    asked.settings.budget.steps = 40;
    asked.settings.summary_policy = Some(SummaryPolicy::Always);
    asked.with_agent(critic())
}

/// `verdict t1 A B`: chooses A, and scores the letters up to B.
fn verdict(line: &str) -> Input {
    let [_, message, choice, last] = line.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{line}")
    };
    let letters = ('A'..='H').take_while(|letter| letter.to_string().as_str() <= last);
    let score = |letter: char| json!({"letter": letter, "score": 70, "reason": format!("{letter} is complete.")});
    let scores: Vec<Value> = letters.map(score).collect();
    let arguments = json!({"choice": choice, "scores": scores});
    let Input::ModelReplied(mut replied) =
        story::replied(message, "", &[("give_verdict", arguments)])
    else {
        unreachable!("a reply is a reply")
    };
    offer(&mut replied, "give_verdict");
    Input::ModelReplied(replied)
}

fn offer(replied: &mut ModelReplied, tool: &str) {
    replied.offered.push(OfferedTool {
        name: tool.to_owned(),
        schema_hash: "hash".to_owned(),
        effect: EffectClass::Read,
        timeout_ms: 0,
        visible: false,
        policy: ToolPolicy::default(),
    });
    replied.tool_set = ToolSetRef::of(&replied.offered, Default::default());
}

fn tell(line: &str) -> Input {
    match line.split_once(' ') {
        Some(("verdict", _)) => verdict(line),
        Some(("ended", child)) => story::task_ended(child, RunStatus::Finished, "It is done."),
        Some(("failed", child)) => story::task_ended(child, RunStatus::Failed, ""),
        Some(("said", id)) => Input::UserMessageAdded(Box::new(UserMessage {
            id: id.to_owned(),
            by: story::asked("").user,
            text: "Shorter, please.".to_owned(),
        })),
        _ => input(line),
    }
}

#[test]
fn ensembles_do_what_their_table_says() {
    let cases = check(include_str!("ensemble.txt"), asked, tell, owed);
    assert!(cases >= 8, "only {cases} cases were found");
}

/// A run of an ensemble, and its entries.
struct Told {
    journal: Journal,
    entries: Vec<Entry>,
}

impl Told {
    fn of(spec: RunSpec) -> Self {
        Self { journal: Journal::open(spec, 1, story::write(0), 0).0, entries: Vec::new() }
    }

    fn tell(&mut self, input: Input) {
        let n = self.journal.next_number();
        let decided = self.journal.decide_record(vec![input], 1, story::write(n), 0);
        let (after, record) = decided.expect("the input is waited for");
        self.journal = after;
        self.entries.extend(record.entries);
    }

    fn verdict(&self) -> Option<&EnsembleVerdict> {
        let mut verdicts = self.entries.iter().filter_map(|entry| match &entry.event {
            Event::VerdictGiven(verdict) => Some(verdict),
            _ => None,
        });
        let first = verdicts.next();
        assert_eq!(verdicts.next(), None, "one verdict");
        first
    }

    fn result(&self) -> &RunResult {
        self.entries.iter().find_map(|entry| entry.event.run_result()).expect("the run has ended")
    }

    fn tool_choice(&self) -> ToolChoice {
        let due = self.journal.run().due().into_iter();
        let mut choices = due.filter_map(|effect| match effect {
            Effect::CallModel(call) => Some(call.tool_choice),
            _ => None,
        });
        choices.next().expect("a model call is due")
    }
}

fn child(index: u32) -> ChildId {
    ChildId::new(format!("before.c{index}")).unwrap()
}

/// The calls of the critic's file.
fn called() -> Input {
    let Input::ModelReplied(mut replied) =
        story::replied("before", "", &[("helper", json!({"task": "why?"}))])
    else {
        unreachable!("a reply is a reply")
    };
    let arguments = json!({"task": "why?"}).as_object().cloned().unwrap();
    let second = RequestedCall {
        model: Some(Role::Second),
        ..RequestedCall::new("helper", ToolArguments::Parsed(arguments))
    };
    replied.reply.calls.push(second);
    Input::ModelReplied(replied)
}

fn ended(index: u32, text: &str, change: impl FnOnce(&mut ChildEnded)) -> Input {
    let id = child(index).to_string();
    let Input::ChildEnded(mut ended) = story::task_ended(&id, RunStatus::Finished, text) else {
        unreachable!("an end is an end")
    };
    change(&mut ended);
    Input::ChildEnded(ended)
}

/// A run whose two agents have answered.
fn judging() -> Told {
    let mut told = Told::of(asked("why?"));
    told.tell(called());
    told.tell(ended(1, "First answer.", |_| {}));
    told.tell(ended(2, "Second answer.", |_| {}));
    told
}

/// The letter of a child's answer.
fn letter_of(told: &Told, wanted: &ChildId) -> char {
    let ensemble = told.journal.run().ensemble().unwrap();
    let mut pairs = ensemble.candidates();
    pairs.find(|(_, candidate)| candidate.child == *wanted).unwrap().0
}

#[test]
fn chosen_answer_and_its_files_are_those_of_the_run() {
    for index in 1..=2 {
        let mut told = judging();
        let letter = letter_of(&told, &child(index));
        told.tell(verdict(&format!("verdict t1 {letter} B")));
        let result = told.result();
        let expected = ["First answer.", "Second answer."][index as usize - 1];
        assert_eq!((result.status, result.answer.as_str()), (RunStatus::Finished, expected));
        let files: Vec<_> = result.files.iter().map(|file| file.name.to_string()).collect();
        assert_eq!(files, [format!("before.c{index}.md")]);
        let verdict = told.verdict().unwrap();
        assert_eq!(verdict.chosen, Some(child(index)));
        let letters: String = verdict.scores.iter().map(|score| score.letter).collect();
        assert_eq!(letters, "AB");
    }
}

#[test]
fn merged_answer_is_not_summed_up_again() {
    let mut told = judging();
    told.tell(verdict("verdict t1 merged B"));
    assert_eq!(told.tool_choice(), ToolChoice::None);
    told.tell(story::replied("t2", "Both together.", &[]));
    assert_eq!(told.result().answer, "Both together.");
    assert_eq!(told.verdict().unwrap().chosen, None);
}

#[test]
fn verdict_must_be_given_while_there_are_answers_without_one() {
    let mut told = judging();
    let named = ToolChoice::Named("give_verdict".to_owned());
    assert_eq!(told.tool_choice(), named);
    told.tell(verdict("verdict t1 C B"));
    assert_eq!(told.tool_choice(), named, "the verdict was rejected");
    let mut told = Told::of(asked("why?"));
    told.tell(called());
    told.tell(tell("failed before.c1"));
    told.tell(tell("failed before.c2"));
    assert_eq!(told.tool_choice(), ToolChoice::None, "there is nothing to judge");
}

#[test]
fn agents_of_a_file_have_shares_lanes_and_the_model_of_their_role() {
    let mut told = Told::of(asked("why?"));
    told.tell(called());
    let spec = |index| told.journal.run().child_spec(&child(index)).unwrap();
    for index in 1..=2 {
        let spec = spec(index);
        assert_eq!(spec.path().to_string(), format!("before.c{index}"));
        // Of 3 * 40 turns, a quarter stays with the critic.
        assert_eq!(spec.settings.budget.steps, 45);
        assert_eq!(spec.arguments, json!({"task": "why?"}).as_object().cloned().unwrap());
    }
    let role = |index| spec(index).with_agent(agent("helper")).working_role();
    assert_eq!((role(1), role(2)), (Role::React, Role::Second));
    let started = told.entries.iter().filter_map(|entry| match &entry.event {
        Event::ChildStarted { child, agent, .. } => Some((child.to_string(), agent.as_str())),
        _ => None,
    });
    let expected = [("before.c1".to_owned(), "helper"), ("before.c2".to_owned(), "helper")];
    assert_eq!(started.collect::<Vec<_>>(), expected);
}

#[test]
fn long_answer_is_chosen_whole_and_judged_by_its_beginning() {
    let long = "é".repeat(12_000);
    let mut told = Told::of(asked("why?"));
    told.tell(called());
    told.tell(ended(1, &long, |_| {}));
    told.tell(tell("failed before.c2"));
    let items = &told.journal.run().conversation().items;
    let [djinn_core::conversation::ConversationItem::Turn(turn)] = items.as_slice() else {
        panic!("{items:?}")
    };
    let ToolResult::Done(output) = &turn.calls[0].1 else { panic!("{turn:?}") };
    assert_eq!(output.text.chars().count(), 10_000);
    told.tell(verdict("verdict t1 A A"));
    assert_eq!(told.result().answer, long);
}

#[test]
fn child_of_a_file_returns_its_whole_answer_and_its_evidence() {
    let mut above = Told::of(asked("why?"));
    above.tell(called());
    let spec = above.journal.run().child_spec(&child(1)).unwrap().with_agent(agent("helper"));
    let mut told = Told::of(spec);
    told.tell(story::replied("t1", "", &[("read", json!({"of": "sales"}))]));
    told.tell(story::returned("t1.c1", "North grows."));
    let long = "é".repeat(50_000);
    told.tell(story::replied("t2", &long, &[]));
    told.tell(Input::AnswerSaved { file: Some(story::file("helper.md")) });
    let result = told.journal.run().child_result().unwrap();
    assert_eq!(result.report.text.chars().count(), 40_000);
    let evidence = Evidence { source: "read".to_owned(), text: "North grows.".to_owned() };
    assert_eq!(result.evidence, [evidence]);
    assert_eq!(result.full_output.as_ref().unwrap().characters, 50_000);
}

#[test]
fn letters_do_not_depend_on_the_order_of_the_ends() {
    let letters = |order: [u32; 2]| {
        let mut told = Told::of(asked("why?"));
        told.tell(called());
        for index in order {
            told.tell(ended(index, "An answer.", |_| {}));
        }
        (letter_of(&told, &child(1)), letter_of(&told, &child(2)))
    };
    assert_eq!(letters([1, 2]), letters([2, 1]));
}

#[test]
fn agent_that_takes_a_run_over_has_an_ensemble_of_its_own() {
    for text in ["before.c1", "t3.before.c2", "s1.1", "t2.c1"] {
        assert_eq!(ChildId::new(text).unwrap().to_string(), text);
    }
    for text in ["before", "before.1", "before.c0", "t0.before.c1", "t2.before", "t2.after.c1"] {
        assert!(ChildId::new(text).is_err(), "{text}");
    }
    let call = djinn_core::id::CallId::nth_of(&MessageId::before_turn(3), 2);
    let own = call.to_child().unwrap();
    assert_eq!((own.to_string().as_str(), own.is_before()), ("t3.before.c2", true));
    assert_eq!(djinn_core::id::CallId::of_child(&own), Some(call));
}
