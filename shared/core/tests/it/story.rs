//! Builders of inputs and journals, short enough to read a test as a story.

#[path = "story/confirm.rs"]
pub(crate) mod confirm;
#[path = "story/human_requests.rs"]
pub(crate) mod human_requests;
#[path = "story/machine.rs"]
pub(crate) mod machine;
#[path = "story/plan_solve.rs"]
pub(crate) mod plan_solve;
#[path = "story/review.rs"]
pub(crate) mod review;
#[path = "story/top_up.rs"]
pub(crate) mod top_up;
#[path = "story/workflow.rs"]
pub(crate) mod workflow;

use djinn_core::budget::{Budget, Spending, Usage};
use djinn_core::conversation::{ChildReport, Exchange, Reasoning};
use djinn_core::entry::{Entry, Event};
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::file::{ProductFile, media_type_of};
use djinn_core::id::Path;
use djinn_core::id::{
    CallId, ChildId, EntryId, FileName, MessageId, RequestId, RunId, SessionId, TenantId, UserId,
    WriteId,
};
use djinn_core::input::{
    AttemptFailed, ChildEnded, ChildSpec, FinishReason, Input, ModelChanged, ModelReplied, Reply,
    RequestedCall, RunSpec, WindowUsage,
};
use djinn_core::journal::{Journal, Record};
use djinn_core::plan::PLANNING_TOOL;
use djinn_core::settings::{Machine, Role, RunSettings};
use djinn_core::status::RunStatus;
use djinn_core::tool::{
    EffectClass, OfferedTool, ResultView, ToolArguments, ToolFailure, ToolOutput, ToolPolicy,
    ToolResult,
};
use serde_json::{Value, json};

pub(crate) fn asked(question: &str) -> RunSpec {
    let budget =
        Budget { steps: 4, tool_calls: 100, tokens: 1_000_000, wall_ms: 60_000, micro_usd: None };
    let spec = RunSpec::new(
        TenantId::new("local").unwrap(),
        UserId::new("you").unwrap(),
        SessionId::new("s1").unwrap(),
        RequestId::new("r1").unwrap(),
        question.to_owned(),
        RunSettings { budget, ..RunSettings::default() },
    );
    RunSpec { body_hash: "0".repeat(64), files: vec![file("sales.csv")], ..spec }
}

/// The same, to be planned.
pub(crate) fn asked_to_plan(question: &str) -> RunSpec {
    let mut asked = asked(question);
    asked.settings.mode = Machine::PlanSolve.into();
    asked
}

/// The same, as a task whose digital employees are to be named.
pub(crate) fn asked_as_a_task(question: &str) -> RunSpec {
    let mut asked = asked_to_plan(question);
    asked.settings.plan.employees = true;
    asked.child = Some(ChildSpec::new(ChildId::for_step(1, 1), "look it up".to_owned()));
    asked
}

/// The reply that names a task's employees.
pub(crate) fn names(text: &str) -> Input {
    replied("employees", text, &[])
}

/// After a conversation of so many tokens, with models that take `window`.
pub(crate) fn with_history(asked: &mut RunSpec, tokens: u64, window: u64) {
    let exchange = |nth: u32| Exchange {
        question: format!("Question {nth}?"),
        answer: format!("Answer {nth}."),
        ..Exchange::default()
    };
    asked.history = (1..=4).map(exchange).collect();
    asked.history_tokens = tokens;
    let windows = Role::ALL.iter().map(|role| (*role, window)).collect();
    asked.settings.context.input_limits = windows;
}

/// The planner's reply with one call of its tool.
pub(crate) fn planned(message: &str, arguments: &Value) -> Input {
    let Input::ModelReplied(mut replied) =
        replied(message, "I plan.", &[(PLANNING_TOOL, arguments.clone())])
    else {
        unreachable!("a reply is a reply")
    };
    replied.offered = vec![OfferedTool {
        name: PLANNING_TOOL.to_owned(),
        schema_hash: "hash".to_owned(),
        effect: EffectClass::Read,
        timeout_ms: 0,
        visible: false,
        policy: ToolPolicy::default(),
    }];
    Input::ModelReplied(replied)
}

/// The input by which a task ends.
pub(crate) fn task_ended(task: &str, status: RunStatus, text: &str) -> Input {
    let done = status == RunStatus::Finished;
    Input::ChildEnded(Box::new(ChildEnded {
        report: ChildReport {
            child: ChildId::new(task).unwrap(),
            description: "a".to_owned(),
            text: text.to_owned(),
            failure: (!done).then(|| ErrorCode::ModelUnreachable.into()),
            files: Vec::new(),
            done,
            skipped: false,
            edit_comment: None,
            truncated: false,
            known_urls: Vec::new(),
        },
        status,
        files: vec![file(&format!("{task}.md"))],
        spent: Spending { steps: 2, model_calls: 2, ..Spending::default() },
        turns: Vec::new(),
        evidence: Vec::new(),
        tainted: false,
        full_output: None,
        entry_count: None,
    }))
}

pub(crate) fn run_id() -> RunId {
    RunId::new("run_deb7851cf96a75f934e819cb35d26e3b").unwrap()
}

pub(crate) fn file(name: &str) -> ProductFile {
    ProductFile {
        name: FileName::new(name).unwrap(),
        description: format!("about {name}"),
        size: 42,
        internal: name.starts_with("result-"),
        media_type: media_type_of(name).to_owned(),
        object: format!("object-of-{name}"),
        has_rows: None,
        uploaded: false,
    }
}

/// The tools of these stories: reading, writing, and sending, which must not happen twice.
pub(crate) fn offered() -> Vec<OfferedTool> {
    [
        ("read", EffectClass::Read),
        ("file_tool", EffectClass::Idempotent),
        ("send", EffectClass::Once),
        ("helper", EffectClass::Agent),
    ]
    .into_iter()
    .map(|(name, effect)| OfferedTool {
        name: name.to_owned(),
        schema_hash: "hash".to_owned(),
        effect,
        timeout_ms: 30_000,
        visible: name != "file_tool",
        policy: ToolPolicy::default(),
    })
    .collect()
}

pub(crate) fn replied(message: &str, text: &str, calls: &[(&str, Value)]) -> Input {
    reply(
        message,
        Reply {
            text: text.to_owned(),
            calls: calls
                .iter()
                .map(|(tool, arguments)| {
                    let arguments = arguments.as_object().unwrap().clone();
                    RequestedCall::new(*tool, ToolArguments::Parsed(arguments))
                })
                .collect(),
            usage: usage(),
            ..Reply::default()
        },
    )
}

pub(crate) fn reply(message: &str, reply: Reply) -> Input {
    let message = MessageId::new(message).unwrap();
    Input::ModelReplied(Box::new(ModelReplied {
        message,
        reply,
        offered: offered(),
        tool_set: None,
        dropped: None,
        window: None,
        answer_problem: None,
    }))
}

/// The same reply, to a request that took up so many tokens of so many.
pub(crate) fn filling(input: Input, tokens: u64, limit: u64) -> Input {
    let Input::ModelReplied(mut replied) = input else { unreachable!("no reply") };
    replied.window = Some(WindowUsage { tokens, limit, learned_for: None });
    Input::ModelReplied(replied)
}

pub(crate) fn cut_off(message: &str, text: &str) -> Input {
    reply(
        message,
        Reply { text: text.to_owned(), finish: FinishReason::Length, ..Reply::default() },
    )
}

pub(crate) fn thought(message: &str, thoughts: &str, text: &str) -> Input {
    let reasoning = Some(Reasoning { text: thoughts.to_owned(), signature: None, original: None });
    reply(message, Reply { text: text.to_owned(), reasoning, usage: usage(), ..Reply::default() })
}

pub(crate) fn returned(call: &str, text: &str) -> Input {
    outcome(call, ToolResult::Done(ToolOutput::from_text(text)))
}

pub(crate) fn wrote(call: &str, name: &str) -> Input {
    let file = file(name);
    outcome(
        call,
        ToolResult::Done(ToolOutput {
            text: "written".to_owned(),
            full_output: None,
            view: ResultView::FileWritten { file: file.clone() },
            files: vec![file],
            images: Vec::new(),
            state: None,
            known_urls: Box::default(),
        }),
    )
}

pub(crate) fn failed(call: &str, reason: ToolFailure) -> Input {
    outcome(call, ToolResult::Failed { reason, detail: "it says why".to_owned() })
}

pub(crate) fn outcome(call: &str, outcome: ToolResult) -> Input {
    Input::ToolReturned { call: CallId::new(call).unwrap(), result: outcome, took_ms: 7 }
}

pub(crate) fn started(call: &str) -> Input {
    Input::ToolStarted { call: CallId::new(call).unwrap() }
}

pub(crate) fn broke_off(message: &str, attempt: u32) -> Input {
    Input::AttemptFailed(Box::new(attempt_failed(message, attempt)))
}

pub(crate) fn attempt_failed(message: &str, attempt: u32) -> AttemptFailed {
    AttemptFailed {
        message: MessageId::new(message).unwrap(),
        attempt,
        failure: Failure::new(ErrorCode::ModelUnreachable, "connection reset"),
        usage: Usage::default(),
        process_stalled: false,
        counts_as_crash: false,
        failed_attempts: 1,
        silent: false,
        retry_at_ms: None,
        failing_since_ms: None,
    }
}

/// The process stood still during an attempt at a model call, which failed.
pub(crate) fn model_stalled(message: &str, attempt: u32) -> Input {
    Input::AttemptFailed(Box::new(AttemptFailed {
        process_stalled: true,
        counts_as_crash: true,
        silent: true,
        ..attempt_failed(message, attempt)
    }))
}

/// The process stood still during an attempt at a tool call, which failed.
pub(crate) fn tool_stalled(call: &str, attempt: u32) -> Input {
    Input::ToolStalled { call: CallId::new(call).unwrap(), attempt }
}

pub(crate) fn failed_silently(message: &str, attempt: u32) -> Input {
    let failed = attempt_failed(message, attempt);
    Input::AttemptFailed(Box::new(AttemptFailed {
        usage: usage(),
        failed_attempts: 2,
        silent: true,
        ..failed
    }))
}

/// An attempt failed, and its provider is waited for until then.
pub(crate) fn delayed(message: &str, attempt: u32, until_ms: i64) -> Input {
    Input::AttemptFailed(Box::new(AttemptFailed {
        silent: true,
        retry_at_ms: Some(until_ms),
        failing_since_ms: Some(0),
        ..attempt_failed(message, attempt)
    }))
}

/// A driver died, and another took over.
pub(crate) fn died(epoch: u64) -> Input {
    Input::Resumed { epoch, lost_usage: None, isolated: true }
}

pub(crate) fn model_changed(message: &str) -> Input {
    Input::ModelChanged(Box::new(ModelChanged {
        message: MessageId::new(message).unwrap(),
        from: "main".to_owned(),
        to: "backup".to_owned(),
        failure: Failure::new(ErrorCode::ModelKeyRefused, "HTTP 401"),
    }))
}

pub(crate) fn model_failed(message: &str) -> Input {
    Input::ModelFailed {
        message: MessageId::new(message).unwrap(),
        failure: Failure::new(ErrorCode::ModelKeyRefused, "401"),
    }
}

pub(crate) fn stop() -> Input {
    Input::StopRequested { by: UserId::new("you").unwrap(), partial: None }
}

pub(crate) fn usage() -> Usage {
    Usage { input_tokens: 100, output_tokens: 10, cached_tokens: 40, took_ms: 250, micro_usd: 0 }
}

/// Tells a journal these inputs, one record each; what is ignored leaves none.
pub(crate) fn journal(question: &str, inputs: Vec<Input>) -> (Journal, Vec<Record>) {
    journal_of(asked(question), inputs)
}

pub(crate) fn journal_of(asked: RunSpec, inputs: Vec<Input>) -> (Journal, Vec<Record>) {
    let (mut journal, first) = Journal::open(asked, 1, write(0), 1_000);
    let mut records = vec![first];
    for input in inputs {
        let n = journal.next_number();
        let at_ms = 1_000 + i64::try_from(n).unwrap() * 500;
        if let Some((next, record)) = journal.decide_record(vec![input], 1, write(n), at_ms) {
            journal = next;
            records.push(record);
        }
    }
    (journal, records)
}

pub(crate) fn write(n: u64) -> WriteId {
    WriteId::new(format!("test.1.{n}")).unwrap()
}

/// The story most tests tell: a file is read, the answer is written to another, and told.
pub(crate) fn growth() -> Vec<Input> {
    vec![
        replied(
            "t1",
            "I read the sales.",
            &[
                ("file_tool", json!({"command": "get", "filename": "sales.csv"})),
                ("read", json!({"what": "calendar"})),
            ],
        ),
        returned("t1.c2", "it is autumn"),
        outcome(
            "t1.c1",
            ToolResult::Done(ToolOutput {
                text: "region,year,sales".to_owned(),
                full_output: None,
                view: ResultView::FileRead { file: file("sales.csv") },
                files: Vec::new(),
                images: Vec::new(),
                state: None,
                known_urls: Box::default(),
            }),
        ),
        replied(
            "t2",
            "North grew fastest; I write that down.",
            &[(
                "file_tool",
                json!({"command": "upload", "filename": "growth.md", "content": "# Growth"}),
            )],
        ),
        wrote("t2.c1", "growth.md"),
        thought("t3", "Is anything missing? No.", "North grew fastest, by 12 %: see growth.md."),
    ]
}

/// The story of a plan: two steps at once, then the planner is done.
pub(crate) fn prices() -> Vec<Input> {
    let create = json!({
        "command": "create", "title": "Prices", "steps": ["Gold: look it up", "Silver: look it up"],
        "depends_on": [[], []],
    });
    vec![
        planned("t1", &create),
        task_ended("s2.1", RunStatus::Finished, "Silver is cheap."),
        task_ended("s1.1", RunStatus::Finished, "Gold is dear."),
        planned("t2", &json!({"command": "finish"})),
        replied("summary", "Gold is dearer.$$$s1.1.md", &[]),
    ]
}

/// What the tasks did that ended with a record: each said what it hands back.
pub(crate) fn entries_of_tasks(record: &Record) -> Vec<Entry> {
    let mut entries = Vec::new();
    for input in &record.inputs {
        let Input::ChildEnded(ended) = input else { continue };
        let message = MessageId::new("t1").unwrap();
        let said = Event::MessageCompleted {
            message,
            text: ended.report.text.clone(),
            reasoning: None,
            truncated: false,
            finish: FinishReason::Done,
            answer: false,
            draft: false,
            usage: usage(),
        };
        let entry = Entry {
            id: EntryId::new("t1").unwrap(),
            path: Path::default(),
            at_ms: 1_500,
            event: said,
        };
        entries.push(entry.below(&Path::to(ended.report.child.clone())));
    }
    entries
}
