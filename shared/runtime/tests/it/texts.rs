//! The list of texts: all that people tell and models write is on it, or stands below with a reason.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use djinn_core::budget::{Spending, Usage};
use djinn_core::conversation::Reasoning;
use djinn_core::entry::{Event, ReviewResult, RunResult};
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::human::{HumanResponse, ResponseRecord};
use djinn_core::id::{FileName, RequestId, RunId, SessionId, SessionName, TenantId, UserId};
use djinn_core::input::{
    FinishReason, ModelChanged, PlanEdit, Reply, RequestedCall, RunSpec, UserMessage,
};
use djinn_core::plan::StepEdit;
use djinn_core::settings::RunSettings;
use djinn_core::tool::{ArgumentProblem, ResultView, ToolArguments, ToolOutput, ToolResult};
use djinn_runtime::content::{CheckPolicy, ContentPolicy};
use djinn_runtime::port::checker::{CheckError, Checker, ContentCheck, ContentOwner, Verdict};
use djinn_runtime::port::file::NewFile;
use djinn_runtime::port::model::{ModelError, ModelErrorKind};
use djinn_runtime::port::tool::BoxFuture;
use djinn_runtime::question::{QuestionAttachment, UserQuestion};
use djinn_runtime::texts::{HasTexts, SessionTitle, check_bounds};
use djinn_text::deny::DenyList;
use serde_json::json;

/// A checker that lets everything pass and keeps what it was asked.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<Vec<String>>>>);

impl Checker for Recorder {
    fn check<'a>(&'a self, check: ContentCheck<'a>) -> BoxFuture<'a, Result<Verdict, CheckError>> {
        let texts = check.texts.iter().map(|text| text.text.to_owned()).collect();
        self.0.lock().unwrap().push(texts);
        Box::pin(async { Ok(Verdict::Allow) })
    }
}

impl Recorder {
    fn marks(&self) -> BTreeSet<String> {
        self.0.lock().unwrap().iter().flatten().flat_map(|text| marks(text)).collect()
    }
}

/// Every word of the form `mk-…`.
fn marks(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    words.filter(|word| word.starts_with("mk-")).map(str::to_owned).collect()
}

fn marks_of(told: &impl Debug) -> BTreeSet<String> {
    marks(&format!("{told:?}"))
}

fn id<T: TryFrom<String>>(text: &str) -> T {
    T::try_from(text.to_owned()).ok().unwrap()
}

fn with_text(text: &str) -> UserQuestion {
    let mut question = question();
    question.spec.question = text.to_owned();
    question
}

fn question() -> UserQuestion {
    let mut settings = RunSettings::default();
    settings.human.require.insert("mk-tool".to_owned());
    let spec = RunSpec::new(
        id("mk-tenant"),
        id("mk-user"),
        id("mk-session"),
        id("mk-request"),
        "mk-question".to_owned(),
        settings,
    );
    UserQuestion {
        spec: RunSpec { base_prompt: "mk-house".to_owned(), ..spec },
        client_prompt: "mk-prompt".to_owned(),
        history: None,
        choice: serde_json::Value::Null,
        attachments: vec![QuestionAttachment::New(
            NewFile {
                name: id("mk-attached.csv"),
                description: "mk-attached-words".to_owned(),
                internal: false,
                media_type: "text/csv".to_owned(),
                uploaded: false,
                writer: id("mk-user"),
            },
            b"a,b".to_vec(),
        )],
        parsed_response: Some(Ok(HumanResponse::Say { text: "mk-question".to_owned() })),
        capability: djinn_runtime::serve::ResponseCapability::Everything,
    }
}

fn answered(answer: HumanResponse) -> ResponseRecord {
    ResponseRecord {
        request: id("t1.c1"),
        id: "mk-answer-id".to_owned(),
        by: Some(id("mk-user")),
        answer,
        comment: "mk-comment".to_owned(),
        digest: Some("mk-digest".to_owned()),
        via: None,
    }
}

fn edited() -> PlanEdit {
    let step = StepEdit {
        id: None,
        stage: "mk-stage".to_owned(),
        details: "mk-details".to_owned(),
        depends_on: BTreeSet::new(),
        agent: None,
    };
    let (title, steps) = ("mk-title".to_owned(), vec![step]);
    PlanEdit { id: "mk-edit-id".to_owned(), by: id("mk-user"), version: 1, title, steps }
}

fn members() -> serde_json::Map<String, serde_json::Value> {
    let members = json!({"mk-name": ["mk-item", {"mk-inner": "mk-value"}], "n": 1});
    members.as_object().unwrap().clone()
}

fn reply() -> Reply {
    let call = |tool: &str, arguments| RequestedCall::new(tool, arguments);
    let raw = "mk-raw".to_owned();
    Reply {
        text: "mk-text".to_owned(),
        reasoning: Some(Reasoning {
            text: "mk-thought".to_owned(),
            signature: Some("mk-signature".to_owned()),
            original: Some("mk-written".to_owned()),
        }),
        calls: vec![
            call("mk-tool", ToolArguments::Parsed(members())),
            call("x", ToolArguments::Malformed { raw, problem: ArgumentProblem::NotJson }),
        ],
        finish: FinishReason::Done,
        usage: Usage::default(),
    }
}

/// Ids are labels: of letters and digits, chosen by machines, shown to no model.
const IDS: [&str; 7] = [
    "mk-answer-id",
    "mk-edit-id",
    "mk-request",
    "mk-said-id",
    "mk-session",
    "mk-tenant",
    "mk-user",
];

/// What is no text of those who tell it.
const NOT_TOLD: [&str; 3] = [
    // The deployment's own words.
    "mk-house",
    // A name that is compared with those of tools.
    "mk-tool",
    // A hash that is compared with another.
    "mk-digest",
];

async fn check_one(mut told: impl HasTexts + Debug + Clone + Send) {
    let all = marks_of(&told);
    let exempt =
        |mark: &&String| !IDS.contains(&mark.as_str()) && !NOT_TOLD.contains(&mark.as_str());
    let wanted: BTreeSet<String> = all.iter().filter(exempt).cloned().collect();
    let recorder = Recorder::default();
    let open = content(&[], Some(recorder.clone()));
    let_in(&open, &mut told).await.unwrap();
    assert_eq!(recorder.marks(), wanted, "{told:?}");
    assert!(recorder.0.lock().unwrap().len() <= 1, "all at once");
    for mark in &wanted {
        let closed = content(&[mark], None);
        let refused = let_in(&closed, &mut told.clone()).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::ContentRefused, "{mark} in {told:?}");
        assert!(refused.field.is_some(), "{mark}");
    }
}

fn content(deny: &[&String], checker: Option<Recorder>) -> ContentPolicy {
    let checks =
        checker.map(|checker| CheckPolicy { checker: Arc::new(checker), fails_open: false });
    ContentPolicy { deny: DenyList::new(deny).unwrap(), check_policy: checks }
}

async fn let_in(content: &ContentPolicy, told: &mut (impl HasTexts + Send)) -> Result<(), Failure> {
    let (tenant, user): (TenantId, UserId) = (id("t"), id("u"));
    let session = SessionName::from(id::<SessionId>("s"));
    content
        .screen_input(
            told,
            ContentOwner { tenant: &tenant, user: &user, session: &session, run: None },
        )
        .await
}

#[tokio::test]
async fn every_text_of_a_person_is_checked() {
    check_one(question()).await;
    let text = "mk-said".to_owned();
    check_one(UserMessage { id: "mk-said-id".to_owned(), by: id("mk-user"), text }).await;
    check_one(edited()).await;
    for answer in [
        HumanResponse::Confirm,
        HumanResponse::Modify { arguments: members() },
        HumanResponse::Skip,
        HumanResponse::Stop,
        HumanResponse::Say { text: "mk-words".to_owned() },
    ] {
        check_one(answered(answer)).await;
    }
    check_one(SessionTitle { title: "mk-title".to_owned() }).await;
    let name: FileName = id("mk-name.md");
    let description = "mk-description".to_owned();
    check_one(NewFile {
        name,
        description,
        internal: false,
        media_type: "text/x".to_owned(),
        uploaded: false,
        writer: id("u"),
    })
    .await;
}

#[tokio::test]
async fn every_text_of_a_model_is_checked() {
    let (tenant, user): (TenantId, UserId) = (id("t"), id("u"));
    let session = SessionName::from(id::<SessionId>("s"));
    let run = RunId::of(&tenant, &user, &session, &id::<RequestId>("r"));
    let whose = ContentOwner { tenant: &tenant, user: &user, session: &session, run: Some(&run) };
    let recorder = Recorder::default();
    let mut out = reply();
    content(&[], Some(recorder.clone())).screen_reply(&mut out, &[], whose).await.unwrap();
    assert_eq!(out, reply());
    assert_eq!(recorder.0.lock().unwrap().len(), 2, "once what it says, once what its calls do");
    let mut wanted = marks_of(&reply());
    // Opaque, and what goes back to its model alone.
    for hidden in ["mk-signature", "mk-written"] {
        assert!(wanted.remove(hidden));
    }
    assert_eq!(recorder.marks(), wanted);
    for mark in &wanted {
        let closed = content(&[mark], None);
        let mut out = reply();
        let let_out = closed.screen_reply(&mut out, &[], whose).await;
        match mark.as_str() {
            "mk-text" | "mk-thought" => {
                assert_eq!(let_out.unwrap_err().code, ErrorCode::ContentRefused);
            }
            in_call => {
                let_out.unwrap();
                assert!(!marks_of(&out).contains(in_call), "{in_call} in {out:?}");
                assert_eq!(out.calls.len(), 2);
            }
        }
    }
    let detail = "mk-detail".to_owned();
    let (kind, usage) = (ModelErrorKind::Unreadable, Usage::default());
    let mut error = ModelError { kind, detail, retry_after: None, usage };
    content(&[&"mk-detail".to_owned()], None).screen_error(&mut error, whose).await;
    assert_eq!((error.detail.as_str(), error.kind), ("", ModelErrorKind::Unreadable));
}

/// Every member of an entry that holds a text, with where that was looked at. A new entry or member does not
/// compile until somebody says so.
fn looked_at(event: Event) -> Vec<(&'static str, String)> {
    let files = |files: Vec<djinn_core::file::ProductFile>| {
        files.into_iter().map(|file| ("a call, or a file that was added", file.description))
    };
    let of_failure = |failure: Option<Failure>| failure.map(|failure| ("an error", failure.detail));
    match event {
        Event::RunStarted {
            session: _,
            request: _,
            question,
            // Names of files.
            attachments: _,
            mode: _,
            machine: _,
            agent_type: _,
            output_style: _,
            ignored: _,
            // Sentences of ours about files of the deployment.
            warnings: _,
        } => {
            vec![("a question", question)]
        }
        Event::RunResumed { epoch: _ } => Vec::new(),
        Event::MessageReset { message: _, reason: _, attempt: _, failure } => {
            of_failure(failure).into_iter().collect()
        }
        // Names in a file of the deployment.
        Event::AgentChanged { call: _, agent: _, title: _, machine: _, agent_type: _ } => {
            Vec::new()
        }
        Event::ModelDelayed { message: _, until_ms: _, failure } => {
            of_failure(Some(failure)).into_iter().collect()
        }
        Event::ModelChanged(ModelChanged { message: _, from: _, to: _, failure }) => {
            of_failure(Some(failure)).into_iter().collect()
        }
        Event::MessageCompleted {
            message: _,
            text,
            reasoning,
            truncated: _,
            finish: _,
            answer: _,
            draft: _,
            usage: _,
        } => [Some(text), reasoning].into_iter().flatten().map(|text| ("a reply", text)).collect(),
        Event::CallRequested { call: _, tool, arguments, visible: _ } => {
            vec![("a call", tool), ("a call", arguments.to_string())]
        }
        Event::CallCompleted { call: _, result: outcome } => match outcome {
            // What a tool brings of the world is masked, and looked at where a model makes something of it.
            ToolResult::Done(ToolOutput {
                text: _,
                full_output: _,
                view: shown,
                files: written,
                // Each is a file that was written or read.
                images: _,
                // Bytes that no viewer and no model sees.
                state: _,
                // They stand in the text.
                known_urls: _,
            }) => {
                let plan = match shown {
                    ResultView::Plan { plan } => Some(("a call", format!("{plan:?}"))),
                    ResultView::FileRead { file: _ }
                    | ResultView::FileWritten { file: _ }
                    | ResultView::Text
                    | ResultView::Searched { results: _ }
                    | ResultView::Rows { results: _ }
                    | ResultView::UserAnswer => None,
                };
                files(written).chain(plan).collect()
            }
            ToolResult::Failed { reason: _, detail: _ } | ToolResult::PlanRefused { error: _ } => {
                Vec::new()
            }
        },
        Event::FileAdded { file } => files(vec![file]).collect(),
        Event::ContextCompacted { message: _, exchanges: _, turns: _, usage: _ } => Vec::new(),
        Event::EmployeesNamed { roles, usage: _ } => {
            roles.into_values().map(|role| ("a reply", role)).collect()
        }
        Event::PlanChanged { plan } => vec![("a call, or a changed plan", format!("{plan:?}"))],
        Event::StepChanged { step: _, status: _, note } => vec![("a call", note)],
        Event::ChildStarted { child: _, description: words, agent: _ } => {
            vec![("a call, or a changed plan", words)]
        }
        Event::ChildEnded {
            child: _,
            status: _,
            text,
            files: written,
            failure,
            spent: _,
            entry_count: _,
        } => files(written).chain(of_failure(failure)).chain([("a reply", text)]).collect(),
        Event::ReviewCompleted(ReviewResult {
            child: _,
            round: _,
            accepted: _,
            problems,
            missing,
            message: _,
            failure,
        }) => {
            let texts = problems.into_iter().chain(missing).map(|text| ("a reply", text));
            texts.chain(of_failure(failure)).collect()
        }
        Event::VerdictGiven(djinn_core::verdict::EnsembleVerdict { chosen: _, scores }) => {
            scores.into_iter().map(|score| ("a call", score.reason)).collect()
        }
        Event::UserMessageAdded { by: _, text } => vec![("a message", text)],
        Event::HumanRequested { group: _, reasoning, risk: _, estimate: _, requests: asks } => {
            vec![("a reply", reasoning), ("a call", format!("{asks:?}"))]
        }
        Event::HumanResolved(answered) => vec![("an answer", format!("{answered:?}"))],
        Event::RunEnded(RunResult {
            status: _,
            answer,
            files: written,
            failure,
            finish: _,
            review: _,
            spent: _,
            took_ms: _,
            paused_ms: _,
        }) => files(written).chain(of_failure(failure)).chain([("a reply", answer)]).collect(),
    }
}

#[test]
fn a_viewer_is_shown_no_member_of_an_entry_that_was_not_checked() {
    let failure = Failure::new(ErrorCode::ModelRefused, "mk-failure");
    let ended = Event::RunEnded(RunResult {
        status: djinn_core::status::RunStatus::Failed,
        answer: "mk-answer".to_owned(),
        files: Vec::new(),
        failure: Some(failure),
        finish: FinishReason::Done,
        review: None,
        spent: Spending::default(),
        took_ms: 0,
        paused_ms: 0,
    });
    let asked =
        Event::HumanResolved(Box::new(answered(HumanResponse::Modify { arguments: members() })));
    let said = Event::UserMessageAdded { by: id("mk-user"), text: "mk-said".to_owned() };
    for event in [ended, asked, said] {
        let shown = marks_of(&event);
        let looked: BTreeSet<String> =
            looked_at(event).iter().flat_map(|(_, text)| marks(text)).collect();
        let unseen: Vec<_> =
            shown.difference(&looked).filter(|mark| !IDS.contains(&mark.as_str())).collect();
        assert!(unseen.is_empty(), "{unseen:?}");
    }
}

#[test]
fn a_text_that_is_too_long_is_refused_before_it_is_checked() {
    let long = "mk-x ".repeat(300_000);
    let first = |told: &mut dyn HasTexts| check_bounds(told).unwrap_err();
    for (mut told, code, field, bound) in [
        (
            Box::new(with_text(&long)) as Box<dyn HasTexts>,
            ErrorCode::QueryTooLong,
            "question",
            "65536",
        ),
        (
            Box::new(UserQuestion { client_prompt: long.clone(), ..question() }),
            ErrorCode::TooLong,
            "base_prompt",
            "20000 characters",
        ),
        (
            Box::new(answered(HumanResponse::Say { text: long.clone() })),
            ErrorCode::TooLong,
            "response",
            "16384 bytes",
        ),
        (
            Box::new(ResponseRecord { comment: long.clone(), ..answered(HumanResponse::Skip) }),
            ErrorCode::TooLong,
            "comment",
            "4096 bytes",
        ),
        (
            Box::new(PlanEdit { title: long.clone(), ..edited() }),
            ErrorCode::TooLong,
            "title",
            "bytes",
        ),
        (
            Box::new(SessionTitle { title: long.clone() }),
            ErrorCode::TooLong,
            "title",
            "200 characters",
        ),
    ] {
        let refused = first(told.as_mut());
        assert_eq!((refused.code, refused.field), (code, Some(field)));
        assert!(refused.detail.contains(bound), "{refused:?}");
    }
    let arguments = json!({"a": [long, "x"]}).as_object().unwrap().clone();
    let refused = check_bounds(&mut answered(HumanResponse::Modify { arguments })).unwrap_err();
    assert_eq!((refused.code, refused.field), (ErrorCode::TooLong, Some("parameters")));
}
