//! Incoming questions: each starts a run, or joins an existing run.

mod attached_files;
mod ended_run;
mod known_runs;
mod message_class;
mod new_run;

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::journal::Record;
use ended_run::find_unseen_run;
use known_runs::KnownRuns;
use message_class::{MessageClass, MessageForm, classify};
use new_run::{RunCreation, create_run};

use super::chat_response::{ChatMessage, ChatResult, submit_chat_response};
use super::{LoadedRun, ResponseCapability, store_failure};
use crate::leased_run::LeasedRun;
use crate::port::RunKey;
use crate::port::checker::ContentOwner;
use crate::port::clock::Clock;
use crate::port::journal::{Journals, Lease, SessionView};
use crate::question::UserQuestion;
use crate::settings::to_millis;
use crate::texts::check_bounds;
use crate::world::Ports;

/// The run opened by a question.
pub enum StartResult {
    /// A new run, driven by this invocation.
    New {
        /// The key of the new run.
        key: RunKey,
        /// The first record and the lease of the run.
        leased_run: Box<LeasedRun>,
        /// The first record for the client.
        first_record: Box<Record>,
    },
    /// An existing run: the same request came before, or the message responded to the run, or the message was
    /// `continue`. A `continue` joins active work, or an ended run whose end no client received.
    Existing {
        /// The run to show to the client.
        run: Box<LoadedRun>,
        /// The record of the request answered by the question, or of a pending request. A client with a place
        /// for each message begins there.
        request_record: Option<u64>,
    },
}

/// Opens a question: creates its run, or finds the existing run.
///
/// `holder` names the driver; see [`super::ServeContext`]. `loaded_run` is a run already read by
/// the caller.
///
/// # Errors
/// Returns `request_id_reused`, `session_busy` with the active run, `nothing_to_continue`, `rate_limited`,
/// `too_many_runs` or `store_unavailable`. May also return an error of
/// [`crate::content::ContentPolicy::screen_input`].
pub async fn start_streaming<P: Ports>(
    ports: &P,
    question: UserQuestion,
    holder: &str,
    loaded_run: Option<LoadedRun>,
) -> Result<StartResult, Failure> {
    let mut message = IncomingQuestion::read(ports, question, loaded_run).await?;
    if let Some(existing) = message.find_run().await? {
        return Ok(existing.into());
    }
    let driver = ports.shutdown().register_driver();
    let until_ms = ports.clock().now_ms().saturating_add(to_millis(ports.settings().lease));
    let lease = Lease { holder: holder.to_owned(), until_ms, epoch: 1 };
    let key = message.own.clone();
    Ok(match message.start(Some(lease.clone())).await? {
        RunCreation::Created(journal, record) => {
            let first_record = Box::new(record);
            let leased_run =
                Box::new(LeasedRun { lease, lapsed: false, is_new: true, journal, driver });
            StartResult::New { key, leased_run, first_record }
        }
        RunCreation::Exists(run) => ExistingRun { run: *run, request_record: None }.into(),
    })
}

/// Accepts a question without a client: creates its run without a driver, or finds the existing run. The
/// caller starts a driver.
///
/// # Errors
/// Returns the errors of [`start_streaming`].
pub async fn start_background<P: Ports>(
    ports: &P,
    question: UserQuestion,
) -> Result<RunKey, Failure> {
    let mut message = IncomingQuestion::read(ports, question, None).await?;
    if let Some(existing) = message.find_run().await? {
        return Ok(existing.run.key().clone());
    }
    let key = message.own.clone();
    match message.start(None).await? {
        RunCreation::Created(..) | RunCreation::Exists(_) => Ok(key),
    }
}

/// An existing run, and the record of the request answered by the question or of a pending request.
struct ExistingRun {
    run: LoadedRun,
    request_record: Option<u64>,
}

impl From<ExistingRun> for StartResult {
    fn from(ExistingRun { run, request_record }: ExistingRun) -> Self {
        Self::Existing { run: Box::new(run), request_record }
    }
}

/// A question with its session, before it is known if the question starts a run.
struct IncomingQuestion<'a, P: Ports> {
    ports: &'a P,
    question: UserQuestion,
    /// The run of this request, if the question starts a run.
    own: RunKey,
    view: SessionView,
    runs: KnownRuns,
}

impl<'a, P: Ports> IncomingQuestion<'a, P> {
    /// Reads the session of a question.
    async fn read(
        ports: &'a P,
        mut question: UserQuestion,
        loaded_run: Option<LoadedRun>,
    ) -> Result<Self, Failure> {
        check_bounds(&mut question)?;
        let own = question.run_key();
        question.spec.body_hash = question.body_hash();
        let session = question.session_key();
        let view =
            ports.store().load_session(&session).await.map_err(|error| store_failure(&error))?;
        Ok(Self { ports, question, own, view, runs: KnownRuns::new(loaded_run) })
    }

    /// Handles a message that starts no run, and returns the existing run. Returns `None` for a question of a
    /// new run, which is then ready to start.
    async fn find_run(&mut self) -> Result<Option<ExistingRun>, Failure> {
        let runs = self.runs.describe(self.ports, &self.question, &self.view).await?;
        let form = MessageForm {
            is_continue: self.question.is_continue(),
            has_files: !self.question.attachments.is_empty(),
            may_respond: self.question.capability != ResponseCapability::Nothing,
        };
        match classify(runs, form) {
            MessageClass::Start => self.prepare_start().await,
            MessageClass::Join => self.join().await.map(Some),
            MessageClass::Continue => {
                let (existing, _) = self.send_to_active().await?;
                Ok(Some(existing))
            }
            MessageClass::Respond => match self.send_to_active().await? {
                (existing, true) => Ok(Some(existing)),
                (_, false) => self.prepare_start().await,
            },
            MessageClass::ReplayEnd => {
                let Self { ports, question, view, runs, .. } = self;
                let run = find_unseen_run(*ports, question, &view.ended, runs).await?;
                Ok(Some(ExistingRun { run, request_record: None }))
            }
            MessageClass::Busy => Err(Failure::session_busy(&self.active_key()?.run)),
        }
    }

    /// Returns the run of the same request.
    async fn join(&mut self) -> Result<ExistingRun, Failure> {
        let run = self.runs.take(self.ports, &self.own).await?;
        let run = run.require_repeat(&self.question.spec)?;
        Ok(ExistingRun { run, request_record: None })
    }

    /// Sends the message to the active run. The flag is true if the message was a response.
    async fn send_to_active(&mut self) -> Result<(ExistingRun, bool), Failure> {
        let mut run = self.runs.take(self.ports, &self.active_key()?).await?;
        let message = ChatMessage {
            by: &self.question.spec.user,
            id: self.question.spec.request.as_str(),
            text: &self.question.spec.question,
            parsed_response: self.question.parsed_response.as_ref(),
            capability: self.question.capability,
        };
        let ChatResult { is_response, request_record } =
            submit_chat_response(self.ports, &mut run, message).await?;
        Ok((ExistingRun { run, request_record }, is_response))
    }

    fn active_key(&self) -> Result<RunKey, Failure> {
        let active = self.view.active.clone().ok_or(ErrorCode::NothingToContinue)?;
        Ok(RunKey::new(self.own.tenant.clone(), active))
    }

    /// Screens the question of a new run, and applies the checker's replacements. Returns the existing run of a
    /// repeat, which was screened before and whose files are written.
    async fn prepare_start(&mut self) -> Result<Option<ExistingRun>, Failure> {
        let content = self.ports.content();
        if content.allows_all() && self.question.attachments.is_empty() {
            return Ok(None);
        }
        if self.runs.find(self.ports, &self.own).await?.is_some() {
            return self.join().await.map(Some);
        }
        if !content.allows_all() {
            let user = self.question.spec.user.clone();
            let session = self.question.spec.session_name();
            let owner = ContentOwner::of(&self.own, &user, &session);
            content.screen_input(&mut self.question, owner).await?;
        }
        Ok(None)
    }

    /// Creates the run of the question, with the lease of its driver.
    async fn start(self, lease: Option<Lease>) -> Result<RunCreation, Failure> {
        create_run(self.ports, self.question, self.view, lease).await
    }
}
