//! Runs, records and files for checking a store.

use djinn_core::id::Path;
use std::error::Error;

use djinn_core::budget::Usage;
use djinn_core::conversation::{ChildReport, Exchange};
use djinn_core::entry::{Entry, Event};
use djinn_core::id::{
    CallId, ChildId, EntryId, FileName, MessageId, RequestId, RunId, SessionId, ShareHandle,
    TenantId, UserId, WriteId,
};
use djinn_core::input::{ChildSpec, Input, ModelReplied, Reply, RunSpec};
use djinn_core::journal::{FORMAT, Journal, Record, RecordHash};
use djinn_core::session::SharedSession;
use djinn_core::settings::RunSettings;
use djinn_core::status::RunStatus;
use djinn_core::tool::{ToolOutput, ToolResult};
use djinn_protocol::preview::{EarlyEntry, Live, Preview, TextKind};
use djinn_runtime::port::admission::Admission;
use djinn_runtime::port::file::NewFile;
use djinn_runtime::port::journal::{Lease, NewRun, RunEnd};
use djinn_runtime::port::{RunKey, SessionKey, Store, StoreError, UserKey};

/// The expiry of records: in the year 2100.
pub(super) const EXPIRY: i64 = 4_102_444_800;

/// The default user of runs.
const ANN: &str = "arn:aws:iam::1:user/ann";

pub(super) type FixtureResult<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// A run to create.
#[derive(Clone)]
pub(super) struct RunFixture {
    pub(super) key: RunKey,
    pub(super) spec: RunSpec,
    pub(super) at_ms: i64,
}

impl RunFixture {
    /// Creates a request of Ann in her session, in tenant `t`.
    pub(super) fn of(session: &str, request: &str) -> FixtureResult<Self> {
        Self::of_tenant("t", session, request)
    }

    pub(super) fn of_tenant(tenant: &str, session: &str, request: &str) -> FixtureResult<Self> {
        Self::of_user(tenant, ANN, session, request)
    }

    fn of_user(tenant: &str, user: &str, session: &str, request: &str) -> FixtureResult<Self> {
        let tenant = TenantId::new(tenant)?;
        let user = UserId::new(user)?;
        let session = SessionId::new(session)?;
        let request = RequestId::new(request)?;
        let run = RunId::of(&tenant, &user, &session.clone().into(), &request);
        let body_hash = format!("hash of {request}");
        let question = format!("What is {request}?\nAnd why? 为什么");
        let settings = RunSettings::default();
        let spec = RunSpec::new(tenant.clone(), user, session, request, question, settings);
        let spec = RunSpec { body_hash, ..spec };
        Ok(Self { key: RunKey::new(tenant, run), spec, at_ms: 1_700_000_000_000 })
    }

    /// Returns the same request by another user, in a session with the same label.
    pub(super) fn by_user(self, user: &str) -> FixtureResult<Self> {
        let RunSpec { tenant, session, request, .. } = &self.spec;
        let fixture = Self::of_user(tenant.as_str(), user, session.as_str(), request.as_str())?;
        Ok(fixture.at_time(self.at_ms))
    }

    /// Returns the same request by a guest of this session, shared under this handle.
    pub(super) fn by_guest(mut self, user: &str, handle: &ShareHandle) -> FixtureResult<Self> {
        let owner = std::mem::replace(&mut self.spec.user, UserId::new(user)?);
        self.spec.shared = Some(SharedSession { owner, handle: handle.clone() });
        let RunSpec { tenant, user, request, .. } = &self.spec;
        self.key.run = RunId::of(tenant, user, &self.spec.session_name(), request);
        Ok(self)
    }

    /// Returns the key of the asker, possibly not the owner of the session.
    pub(super) fn user_key(&self) -> UserKey {
        UserKey::of(&self.spec)
    }

    /// Creates a task of this run, whose round follows a conversation that ends with `text`.
    pub(super) fn child_run(&self, step: u32, text: &str) -> FixtureResult<Self> {
        let report = |task: ChildId, text: &str| ChildReport {
            child: task,
            description: "Look".to_owned(),
            text: text.to_owned(),
            failure: None,
            files: Vec::new(),
            done: true,
            skipped: false,
            edit_comment: None,
            truncated: false,
            known_urls: Vec::new(),
        };
        let task = ChildId::for_step(step, 1);
        let mut fixture = self.clone();
        fixture.key = fixture.key.with_child(task.clone());
        fixture.spec.history =
            vec![Exchange { tainted: true, ..exchange_of("Who?", text, &fixture.spec.user) }];
        let mut child = ChildSpec::new(task, format!("Step {step}"));
        child.earlier_rounds = vec![report(ChildId::for_step(9, 1), text)];
        child.current_round = vec![report(ChildId::for_step(step + 100, 1), "of this round")];
        child.keeps_answer = true;
        child.concurrent_children = 3;
        child.deadline_ms = Some(self.at_ms + 1_000);
        fixture.spec.child = Some(child);
        Ok(fixture)
    }

    /// Returns the same run, asked at another time.
    pub(super) fn at_time(self, at_ms: i64) -> Self {
        Self { at_ms, ..self }
    }

    pub(super) fn session_key(&self) -> SessionKey {
        SessionKey::of(&self.spec)
    }

    /// Returns the creation of the run by the write with this id.
    pub(super) fn created_by(&self, write: &str, lease: Option<Lease>) -> FixtureResult<NewRun> {
        let epoch = lease.as_ref().map_or(0, |lease| lease.epoch);
        let (_, record) = Journal::open(self.spec.clone(), epoch, WriteId::new(write)?, self.at_ms);
        Ok(NewRun { record, lease, expires_at_s: EXPIRY, admission: Admission::default() })
    }

    /// Returns the changes at the end of the run.
    pub(super) fn run_end(&self) -> RunEnd {
        RunEnd {
            status: RunStatus::Finished,
            session: self.session_key(),
            user: self.spec.user.clone(),
            request: self.spec.request.clone(),
            started_at_ms: self.at_ms,
            exchange: exchange_of(
                &self.spec.question,
                &format!("The answer to {}", self.spec.request),
                &self.spec.user,
            ),
            memory: None,
            is_counted: false,
            day_changes: Vec::new(),
            end_shown: false,
            outline: None,
        }
    }
}

/// Creates an exchange of this user.
pub(super) fn exchange_of(question: &str, answer: &str, asker: &UserId) -> Exchange {
    Exchange {
        question: question.to_owned(),
        answer: answer.to_owned(),
        tainted: false,
        asker: Some(asker.clone()),
        files: FileName::new("report.md").into_iter().collect(),
    }
}

/// Creates a lease of this holder.
pub(super) fn lease_of(holder: &str, until_ms: i64, epoch: u64) -> Lease {
    Lease { holder: holder.to_owned(), until_ms, epoch }
}

/// Creates a record with the text as an input and as an entry.
pub(super) fn record_of(n: u64, write: &str, text: &str) -> FixtureResult<Record> {
    let message = MessageId::for_turn(1);
    let reply = Reply { text: text.to_owned(), ..Reply::default() };
    let model_reply = ModelReplied {
        message: message.clone(),
        reply,
        offered: Vec::new(),
        tool_set: None,
        dropped: None,
        window: None,
        answer_problem: None,
    };
    let at_ms = 1_700_000_000_000 + i64::try_from(n)?;
    let event = Event::MessageCompleted {
        message,
        text: text.to_owned(),
        reasoning: None,
        truncated: false,
        finish: djinn_core::input::FinishReason::Done,
        answer: false,
        draft: false,
        usage: Usage::default(),
    };
    Ok(Record {
        format: FORMAT,
        number: n,
        write: WriteId::new(write)?,
        epoch: 1,
        at_ms,
        previous: RecordHash::default(),
        hash: None,
        inputs: vec![Input::ModelReplied(Box::new(model_reply))],
        entries: vec![Entry { id: EntryId::new("t1")?, path: Path::default(), at_ms, event }],
    })
}

/// Reads the records from number `from` on, as they were before the store added their hashes.
pub(super) async fn read_written(
    store: &impl Store,
    key: &RunKey,
    from: u64,
) -> Result<Vec<Record>, StoreError> {
    let records = store.read_from(key, from).await?;
    Ok(records.into_iter().map(without_hash).collect())
}

/// Returns a read record as it was before the store added its hash.
pub(super) fn without_hash(record: Record) -> Record {
    Record { hash: None, ..record }
}

/// Creates a text of at least this many bytes, partly not ASCII, that compresses badly.
pub(super) fn text_of(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 8);
    for n in 0_u64.. {
        if text.len() >= bytes {
            break;
        }
        text.push_str(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_string());
        text.push_str("界\"\n");
    }
    text
}

pub(super) fn preview_piece(offset: u64, text: &str, at_ms: i64) -> Live {
    Live::Preview(Preview {
        path: Path::default(),
        message: MessageId::for_turn(1),
        attempt: 1,
        kind: TextKind::Text,
        offset,
        text: text.to_owned(),
        at_ms,
    })
}

/// Creates an early entry of a working task, with this index.
pub(super) fn early_entry(nth: u64, at_ms: i64) -> FixtureResult<Live> {
    let event = Event::CallCompleted {
        call: CallId::new("t1.c1")?,
        result: ToolResult::Done(ToolOutput::from_text("三 files")),
    };
    let entry = Entry { id: EntryId::new("t1.c1.result")?, path: Path::default(), at_ms, event };
    let entry = entry.below(&Path::to(ChildId::for_step(1, 1)));
    Ok(Live::Entry(Box::new(EarlyEntry { index: nth, ends_record: true, entry })))
}

pub(super) fn new_file(name: &str) -> FixtureResult<NewFile> {
    Ok(NewFile {
        name: FileName::new(name)?,
        description: format!("About {name}"),
        internal: false,
        media_type: "text/markdown".to_owned(),
        uploaded: false,
        writer: UserId::new(ANN)?,
    })
}

/// Returns the key of Ann's session with this label, in tenant `t`.
pub(super) fn session_of(label: &str) -> FixtureResult<SessionKey> {
    Ok(RunFixture::of(label, "r")?.session_key())
}
