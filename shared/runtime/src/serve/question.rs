//! A question comes in: it starts a run, or joins the one it belongs to.

use std::collections::BTreeMap;

use djinn_core::code::{ErrorCode, Failure};
use djinn_core::conversation::Exchange;
use djinn_core::feedback::{Answer, without_marks};
use djinn_core::id::{RequestId, RunId, SessionId, TenantId, UserId, WriteId, sha256};
use djinn_core::input::Asked;
use djinn_core::journal::{Journal, Record};
use djinn_core::session::{SessionName, SharedSession};
use djinn_core::settings::{Mode, ModelChoice, OutputStyle, Role, RunSettings};
use serde_json::json;

use super::access::has_share_ended;
use super::chat::{InChat, Words, answer_in_chat};
use super::{Driving, known, stop, unavailable};
use crate::port::admission::{Admission, TooMany};
use crate::port::catalog::UserKey;
use crate::port::checker::Whose;
use crate::port::clock::Clock;
use crate::port::journal::{
    Created, EndedRun, Journals, Lease, NewRun, RunMeta, SessionKey, SessionView,
};
use crate::port::model::Model;
use crate::port::{Ports, RunKey};
use crate::settings::{UserLimits, journal_expiry_s, milliseconds};
use crate::texts::bounded;

/// A question, as a verified caller asked it.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Whose run it is.
    pub tenant: TenantId,
    /// Who asks.
    pub user: UserId,
    /// The conversation it belongs to, by its owner's label.
    pub session: SessionId,
    /// How that is shared with who asks, if it is somebody else's; the caller has checked that who asks
    /// may.
    pub shared: Option<SharedSession>,
    /// The client's label for it.
    pub request: RequestId,
    /// What is asked; not empty.
    pub text: String,
    /// What the text says as an answer to what a run asks, in the words of whoever reads it for us.
    /// `None`: in those of [`Answer::read`].
    pub as_answer: Option<Result<Answer, Failure>>,
    /// The form the answer should take.
    pub output_style: Option<OutputStyle>,
    /// The deployment's instructions, put into its run's system prompt.
    pub house_prompt: String,
    /// The client's own instructions, put behind those.
    pub base_prompt: String,
    /// What holds until the run ends.
    pub settings: RunSettings,
}

/// What a question opened.
pub enum Opened {
    /// A run of its own, which this invocation drives.
    New {
        /// The run.
        key: RunKey,
        /// Its first record and its lease.
        driving: Box<Driving>,
        /// What the client is sent first.
        first: Record,
    },
    /// A run that exists: the same request came before, or the question was `continue` and goes on with
    /// what is at work, or with an end that no client was sent.
    Existing {
        /// The run.
        key: RunKey,
        /// Whether it is the session's active run rather than this request's own.
        continued: bool,
        /// The record by which that run asked what the question answers, or asks still: a client that
        /// has another place for each message begins there.
        asked_in: Option<u64>,
    },
}

/// The words that go on with a run instead of asking something. They never begin one.
const CONTINUE: [&str; 2] = ["continue", "继续"];

/// Opens a question: creates its run, or finds the run it belongs to.
///
/// `holder` names the driver; see [`super::Serving`].
///
/// # Errors
/// `request_id_reused`, `session_busy` with the run that is active, `nothing_to_continue`,
/// `rate_limited`, `too_many_runs`, `store_unavailable`, or what [`crate::content::Content::let_in`] says.
pub async fn open<P: Ports>(
    ports: &P,
    mut question: Question,
    holder: &str,
) -> Result<Opened, Failure> {
    bounded(&mut question)?;
    let (key, body_hash) = (question.run_key(), question.body_hash());
    let session = question.session_key();
    let view = ports.store().session(&session).await.map_err(|error| unavailable(&error))?;
    if let Some((key, asked_in)) = in_chat(ports, &question, &view).await? {
        return Ok(Opened::Existing { key, continued: true, asked_in });
    }
    let_in(ports, &mut question, &key).await?;
    match create(ports, question, body_hash, &key, view, Some(holder)).await? {
        Made::Existing => Ok(Opened::Existing { key, continued: false, asked_in: None }),
        Made::New(made) => Ok(match *made {
            (journal, first, Some(lease)) => {
                let driving = Box::new(Driving { lease, lapsed: false, fresh: true, journal });
                Opened::New { key, driving, first }
            }
            (_, _, None) => Opened::Existing { key, continued: false, asked_in: None },
        }),
    }
}

/// A run of the session, if what is said is no question of its own: it answers what the active run asks,
/// and that has been told so; or it follows that, or one that has ended. A repeat of a request belongs to
/// the run it began.
async fn in_chat<P: Ports>(
    ports: &P,
    question: &Question,
    view: &SessionView,
) -> Result<Option<(RunKey, Option<u64>)>, Failure> {
    let own = question.run_key();
    let active = view.active.as_ref().filter(|active| **active != own.run);
    if active.is_none() && !question.is_continue() {
        return Ok(None);
    }
    let began = ports.store().meta(&own).await.map_err(|error| unavailable(&error))?;
    if began.is_some() {
        return Ok(None);
    }
    let Some(active) = active else { return find_unseen(ports, question, view).await };
    let active = RunKey::new(own.tenant.clone(), active.clone());
    let RunMeta { user, status, .. } = known(ports, &active).await?;
    if user == question.user {
        let (by, id) = (&question.user, question.request.as_str());
        let as_answer = question.as_answer.as_ref();
        let words = Words { by, id, text: &question.text, as_answer };
        let InChat { answers, asked_in } = answer_in_chat(ports, &active, words).await?;
        return Ok((answers || question.is_continue()).then_some((active, asked_in)));
    }
    match question.is_continue() {
        true if status.has_ended() => find_unseen(ports, question, view).await,
        true => Err(Failure::new(ErrorCode::SessionBusy, active.run.to_string())),
        false => Ok(None),
    }
}

async fn find_unseen<P: Ports>(
    ports: &P,
    question: &Question,
    view: &SessionView,
) -> Result<Option<(RunKey, Option<u64>)>, Failure> {
    find_unseen_run(ports, question, view).await.map(|key| Some((key, None)))
}

/// What a `continue` goes on with where no run is at work: the newest of the user's ended runs in the
/// session whose end no client was sent, and that can still be shown.
async fn find_unseen_run<P: Ports>(
    ports: &P,
    question: &Question,
    view: &SessionView,
) -> Result<RunKey, Failure> {
    if let Some(key) = find_unseen_among(ports, question, &view.ended).await? {
        return Ok(key);
    }
    // One that ended while the session was read may be neither at work there nor among the ended.
    let session = question.session_key();
    let view = ports.store().session(&session).await.map_err(|error| unavailable(&error))?;
    let unseen = find_unseen_among(ports, question, &view.ended).await?;
    unseen.ok_or_else(|| ErrorCode::NothingToContinue.into())
}

async fn find_unseen_among<P: Ports>(
    ports: &P,
    question: &Question,
    ended: &[EndedRun],
) -> Result<Option<RunKey>, Failure> {
    let kept_since_ms =
        ports.clock().now_ms().saturating_sub(milliseconds(ports.settings().retention));
    for ended in ended.iter().filter(|ended| ended.user.as_ref() == Some(&question.user)) {
        let key = RunKey::new(question.tenant.clone(), ended.run.clone());
        let meta = ports.store().meta(&key).await.map_err(|error| unavailable(&error))?;
        let is_kept = |at_ms| at_ms > kept_since_ms;
        if meta.is_some_and(|meta| !meta.end_shown && meta.ended_at_ms.is_some_and(is_kept)) {
            return Ok(Some(key));
        }
    }
    Ok(None)
}

/// Accepts a question for whoever drives runs without a client: creates its run undriven, or finds
/// the run it belongs to. The caller has it driven.
///
/// # Errors
/// Those of [`open`].
pub async fn accept<P: Ports>(ports: &P, mut question: Question) -> Result<RunKey, Failure> {
    bounded(&mut question)?;
    let (key, body_hash) = (question.run_key(), question.body_hash());
    let session = question.session_key();
    let view = ports.store().session(&session).await.map_err(|error| unavailable(&error))?;
    if let Some((active, _)) = in_chat(ports, &question, &view).await? {
        return Ok(active);
    }
    let_in(ports, &mut question, &key).await?;
    match create(ports, question, body_hash, &key, view, None).await? {
        Made::New(..) | Made::Existing => Ok(key),
    }
}

/// Lets a question in, or what the checker puts in its place. A repeat of a request was let in before.
async fn let_in<P: Ports>(ports: &P, question: &mut Question, key: &RunKey) -> Result<(), Failure> {
    let content = ports.content();
    if content.is_open() {
        return Ok(());
    }
    let known = ports.store().meta(key).await.map_err(|error| unavailable(&error))?;
    if known.is_some() {
        return Ok(());
    }
    let (tenant, user) = (question.tenant.clone(), question.user.clone());
    let session = question.session_name();
    let whose = Whose { tenant: &tenant, user: &user, session: &session, run: Some(&key.run) };
    content.let_in(question, whose).await
}

/// What came of creating a run.
enum Made {
    New(Box<(Journal, Record, Option<Lease>)>),
    Existing,
}

async fn create<P: Ports>(
    ports: &P,
    question: Question,
    body_hash: String,
    key: &RunKey,
    view: SessionView,
    holder: Option<&str>,
) -> Result<Made, Failure> {
    let now_ms = ports.clock().now_ms();
    let user = question.user.clone();
    let asked = question.into_asked(ports, view, body_hash.clone());
    let until_ms = now_ms.saturating_add(milliseconds(ports.settings().lease));
    let lease = holder.map(|holder| Lease { holder: holder.to_owned(), until_ms, epoch: 1 });
    let (journal, first) =
        Journal::open(asked, u64::from(lease.is_some()), first_write(holder, ports)?, now_ms);
    let expires_at_s = journal_expiry_s(ports.settings(), journal.run());
    let UserLimits { runs_per_minute, runs_at_once, .. } = ports.settings().user;
    let admission = Admission { runs_per_minute, runs_at_once };
    let run = NewRun { record: first.clone(), lease: lease.clone(), expires_at_s, admission };
    match ports.store().create(key, &run).await.map_err(|error| unavailable(&error))? {
        Created::New => {
            stop_if_unshared(ports, key, journal.run().asked()).await?;
            Ok(Made::New(Box::new((journal, first, lease))))
        }
        Created::Exists(meta) if meta.body_hash == body_hash && meta.user == user => {
            Ok(Made::Existing)
        }
        Created::Exists(_) => Err(ErrorCode::RequestIdReused.into()),
        Created::SessionBusy(active) => {
            Err(Failure::new(ErrorCode::SessionBusy, active.to_string()))
        }
        Created::TooMany(TooMany::Started { again_in_s }) => {
            Err(Failure::new(ErrorCode::RateLimited, again_in_s.to_string()))
        }
        Created::TooMany(TooMany::AtWork(most)) => {
            Err(Failure::new(ErrorCode::TooManyRuns, most.to_string()))
        }
    }
}

/// Stops a guest's run whose share ended while it was made: whoever ended it may not have seen the run.
async fn stop_if_unshared<P: Ports>(ports: &P, key: &RunKey, asked: &Asked) -> Result<(), Failure> {
    let user = UserKey { tenant: asked.tenant.clone(), user: asked.user.clone() };
    let ended = has_share_ended(ports, &user, asked.shared.as_ref()).await;
    if ended.map_err(|error| unavailable(&error))? {
        stop(ports, key, asked.owner().clone()).await?;
    }
    Ok(())
}

/// Names the write of record 0. Two requests that create the same run at the same moment must not
/// take each other's record for their own.
fn first_write<P: Ports>(holder: Option<&str>, ports: &P) -> Result<WriteId, Failure> {
    let writer = match holder {
        Some(holder) => holder.to_owned(),
        None => format!("accept.{}.{:x}", ports.clock().now_ms(), ports.clock().jitter().to_bits()),
    };
    WriteId::new(format!("{writer}.0.0")).map_err(|error| {
        tracing::error!(%error, "driver name unusable");
        ErrorCode::Internal.into()
    })
}

/// Whether these words follow what is at work.
pub(super) fn is_continue(words: &str) -> bool {
    CONTINUE.iter().any(|word| without_marks(words).eq_ignore_ascii_case(word))
}

impl Question {
    /// The run that answers it.
    #[must_use]
    pub fn run_key(&self) -> RunKey {
        let Self { tenant, user, request, .. } = self;
        let run = RunId::of(tenant, user, &self.session_name(), request);
        RunKey::new(self.tenant.clone(), run)
    }

    /// The session as who asks names it.
    #[must_use]
    pub fn session_name(&self) -> SessionName {
        SharedSession::name_of(self.shared.as_ref(), &self.session)
    }

    /// The session it is asked in.
    #[must_use]
    pub fn session_key(&self) -> SessionKey {
        let owner = SharedSession::owner_of(self.shared.as_ref(), &self.user);
        let (tenant, session) = (self.tenant.clone(), self.session.clone());
        SessionKey { tenant, owner: owner.clone(), session }
    }

    /// Whether it goes on with a run of the session instead of asking something.
    #[must_use]
    pub fn is_continue(&self) -> bool {
        is_continue(&self.text)
    }

    /// What a repeat of the request must agree in.
    fn body_hash(&self) -> String {
        let style = self.output_style.map(OutputStyle::as_str);
        sha256(json!([self.text, style, self.prompt(), self.settings.mode]).to_string().as_bytes())
    }

    /// All instructions of the run.
    fn prompt(&self) -> String {
        let both = [&self.house_prompt, &self.base_prompt].into_iter();
        both.filter(|text| !text.is_empty()).map(String::as_str).collect::<Vec<_>>().join("\n\n")
    }

    fn into_asked<P: Ports>(self, ports: &P, view: SessionView, body_hash: String) -> Asked {
        let base_prompt = self.prompt();
        let mut settings = self.settings;
        settings.prompt_version = ports.prompts().version().to_owned();
        settings.context.windows = windows(ports);
        Asked {
            tenant: self.tenant,
            user: self.user,
            session: self.session,
            shared: self.shared,
            request: self.request,
            body_hash,
            question: self.text,
            output_style: self.output_style,
            base_prompt,
            history_tokens: tokens_of(ports, &settings, &view.history),
            earlier: None,
            history: view.history,
            files: view.files,
            settings,
            task: None,
        }
    }
}

/// What the models take now; a model that is not configured fails when it is called.
fn windows<P: Ports>(ports: &P) -> BTreeMap<Role, u64> {
    let window = |role: &Role| {
        let limits = ports.model().limits(*role, ModelChoice::Primary).ok()?;
        Some((*role, limits.max_input_tokens))
    };
    Role::ALL.iter().filter_map(window).collect()
}

/// Tokens of a history. They are counted only where that could matter.
fn tokens_of<P: Ports>(ports: &P, settings: &RunSettings, history: &[Exchange]) -> u64 {
    let role = match settings.mode {
        Mode::React => Role::React,
        Mode::PlanSolve => Role::Planner,
    };
    let window = settings.context.windows.get(&role).copied().unwrap_or(u64::MAX);
    let texts = || history.iter().flat_map(|exchange| [&exchange.question, &exchange.answer]);
    let bytes: u64 = texts().map(|text| text.len() as u64).sum();
    if bytes <= window / 2 {
        return bytes.div_ceil(4);
    }
    texts().map(|text| ports.model().count_tokens(role, ModelChoice::Primary, text)).sum()
}
