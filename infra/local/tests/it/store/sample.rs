//! A run to be, and its records.

use djinn_core::conversation::Exchange;
use djinn_core::id::{
    ChildId, FileName, MessageId, RequestId, RunId, SessionId, TenantId, UserId, WriteId,
};
use djinn_core::input::{ChildSpec, Input, ModelReplied, Reply, RunSpec};
use djinn_core::journal::{FORMAT, Journal, Record, RecordHash};
use djinn_core::settings::RunSettings;
use djinn_core::status::RunStatus;
use djinn_runtime::port::admission::Admission;
use djinn_runtime::port::file::NewFile;
use djinn_runtime::port::journal::{Lease, NewRun, RunEnd};
use djinn_runtime::port::{RunKey, SessionKey};

pub(crate) const EXPIRY: i64 = 4_102_444_800;

pub(crate) fn tenant() -> TenantId {
    TenantId::new("local").unwrap()
}

pub(crate) fn user() -> UserId {
    UserId::new("ann").unwrap()
}

pub(crate) fn session(label: &str) -> SessionKey {
    SessionKey { tenant: tenant(), owner: user(), session: SessionId::new(label).unwrap() }
}

pub(crate) fn key(session: &str, request: &str) -> RunKey {
    let (session, request) = (SessionId::new(session).unwrap(), RequestId::new(request).unwrap());
    RunKey::new(tenant(), RunId::of(&tenant(), &user(), &session.into(), &request))
}

pub(crate) fn new_run(session: &str, request: &str, at_ms: i64) -> NewRun {
    let (_, record) = opened(asked(session, request), at_ms);
    NewRun { lease: Some(lease()), ..undriven(record) }
}

/// A task of the run `r` in the session `s`, whose round begins after these words.
pub(crate) fn new_task(step: u32, words: &str) -> NewRun {
    let mut asked = asked("s", "r");
    asked.history = vec![said("Who?", words)];
    let mut child = ChildSpec::new(ChildId::for_step(step, 1), format!("Step {step}"));
    child.concurrent_children = 5;
    child.deadline_ms = Some(9);
    asked.child = Some(child);
    let (_, record) = opened(asked, 5);
    undriven(record)
}

fn undriven(record: Record) -> NewRun {
    NewRun { record, lease: None, expires_at_s: EXPIRY, admission: Admission::default() }
}

fn opened(asked: RunSpec, at_ms: i64) -> (Journal, Record) {
    Journal::open(asked, 1, WriteId::new("h.1.0").unwrap(), at_ms)
}

fn asked(session: &str, request: &str) -> RunSpec {
    let session = SessionId::new(session).unwrap();
    let question = format!("What is\n{request}?");
    let request = RequestId::new(request).unwrap();
    let spec = RunSpec::new(tenant(), user(), session, request, question, RunSettings::default());
    RunSpec { body_hash: "hash".into(), ..spec }
}

pub(crate) fn lease() -> Lease {
    Lease { holder: "h".into(), until_ms: 1_000, epoch: 1 }
}

pub(crate) fn record(n: u64, text: &str) -> Record {
    let reply = Reply { text: text.to_owned(), ..Reply::default() };
    let replied = ModelReplied {
        message: MessageId::for_turn(1),
        reply,
        offered: Vec::new(),
        tool_set: None,
        dropped: None,
        window: None,
        answer_problem: None,
    };
    Record {
        format: FORMAT,
        number: n,
        write: WriteId::new(format!("h.1.{n}")).unwrap(),
        epoch: 1,
        at_ms: 5,
        previous: RecordHash::default(),
        hash: None,
        inputs: vec![Input::ModelReplied(Box::new(replied))],
        entries: Vec::new(),
    }
}

pub(crate) fn end(session: &str, started_at_ms: i64, status: RunStatus) -> RunEnd {
    RunEnd {
        status,
        session: self::session(session),
        user: user(),
        request: RequestId::new("r").unwrap(),
        started_at_ms,
        exchange: said("q", "a"),
        memory: None,
        is_counted: false,
        day_changes: Vec::new(),
        end_shown: false,
        outline: None,
    }
}

pub(crate) fn file(name: &str) -> NewFile {
    NewFile {
        name: FileName::new(name).unwrap(),
        description: String::new(),
        internal: false,
        media_type: "text/markdown".into(),
        uploaded: false,
        writer: user(),
    }
}

fn said(question: &str, answer: &str) -> Exchange {
    let asker = Some(user());
    Exchange { question: question.into(), answer: answer.into(), asker, ..Exchange::default() }
}
