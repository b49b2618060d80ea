//! Incoming questions: each starts a run, or joins an existing run.

mod attached_files;
mod continued_run;
mod known_runs;

use std::collections::BTreeMap;

use attached_files::{attach_files, to_file_list};
use continued_run::find_continued_run;
use djinn_core::conversation::Exchange;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{UserId, WriteId};
use djinn_core::input::RunSpec;
use djinn_core::journal::{Journal, Record};
use djinn_core::settings::{Mode, ModelChoice, Role, RunSettings};
use djinn_text::tokens::estimate_tokens;
use known_runs::KnownRuns;

use super::access::has_share_ended;
use super::{LoadedRun, request_stop, store_failure};
use crate::leased_run::LeasedRun;
use crate::port::admission::{Admission, AdmissionError};
use crate::port::checker::ContentOwner;
use crate::port::clock::Clock;
use crate::port::journal::{CreateResult, Journals, Lease, NewRun, SessionView};
use crate::port::model::Model;
use crate::port::tool::ToolAudience;
use crate::port::{RunKey, UserKey};
use crate::question::UserQuestion;
use crate::settings::{UserLimits, journal_expiry_s, to_millis};
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
        first_record: Record,
    },
    /// An existing run: the same request came before, or the question was `continue`. A `continue` joins
    /// active work, or an ended run whose end no client received.
    Existing {
        /// The run to show to the client.
        run: Box<LoadedRun>,
        /// True if the run is the session's active run, false if it is this request's own.
        continued: bool,
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
    mut question: UserQuestion,
    holder: &str,
    loaded_run: Option<LoadedRun>,
) -> Result<StartResult, Failure> {
    check_bounds(&mut question)?;
    let key = question.run_key();
    let body_hash = question.body_hash();
    let session = question.session_key();
    let view = ports.store().load_session(&session).await.map_err(|error| store_failure(&error))?;
    let mut runs = KnownRuns::new(loaded_run);
    if let Some((run, request_record)) =
        find_continued_run(ports, &question, &view, &mut runs).await?
    {
        let run = Box::new(run);
        return Ok(StartResult::Existing { run, continued: true, request_record });
    }
    screen_question(ports, &mut question, &key, runs).await?;
    let driver = ports.shutdown().register_driver();
    let until_ms = ports.clock().now_ms().saturating_add(to_millis(ports.settings().lease));
    let lease = Lease { holder: holder.to_owned(), until_ms, epoch: 1 };
    Ok(match create_run(ports, question, body_hash, &key, view, Some(lease.clone())).await? {
        RunCreation::Existing(run) => {
            StartResult::Existing { run, continued: false, request_record: None }
        }
        RunCreation::New(journal, first_record) => {
            let leased_run =
                Box::new(LeasedRun { lease, lapsed: false, is_new: true, journal, driver });
            StartResult::New { key, leased_run, first_record }
        }
    })
}

/// Accepts a question without a client: creates its run without a driver, or finds the existing run. The
/// caller starts a driver.
///
/// # Errors
/// Returns the errors of [`start_streaming`].
pub async fn start_background<P: Ports>(
    ports: &P,
    mut question: UserQuestion,
) -> Result<RunKey, Failure> {
    check_bounds(&mut question)?;
    let key = question.run_key();
    let body_hash = question.body_hash();
    let session = question.session_key();
    let view = ports.store().load_session(&session).await.map_err(|error| store_failure(&error))?;
    let mut runs = KnownRuns::default();
    if let Some((active, _)) = find_continued_run(ports, &question, &view, &mut runs).await? {
        return Ok(active.key().clone());
    }
    screen_question(ports, &mut question, &key, runs).await?;
    match create_run(ports, question, body_hash, &key, view, None).await? {
        RunCreation::New(..) | RunCreation::Existing(_) => Ok(key),
    }
}

/// Screens a question, and applies the checker's replacements. A repeated request was screened before.
async fn screen_question<P: Ports>(
    ports: &P,
    question: &mut UserQuestion,
    key: &RunKey,
    mut runs: KnownRuns,
) -> Result<(), Failure> {
    let content = ports.content();
    if content.allows_all() || runs.find(ports, key).await?.is_some() {
        return Ok(());
    }
    let tenant = question.tenant.clone();
    let user = question.user.clone();
    let session = question.session_name();
    let owner =
        ContentOwner { tenant: &tenant, user: &user, session: &session, run: Some(&key.run) };
    content.screen_input(question, owner).await
}

/// The result of creating a run.
enum RunCreation {
    New(Journal, Record),
    Existing(Box<LoadedRun>),
}

async fn create_run<P: Ports>(
    ports: &P,
    question: UserQuestion,
    body_hash: String,
    key: &RunKey,
    view: SessionView,
    lease: Option<Lease>,
) -> Result<RunCreation, Failure> {
    let ports = &Box::pin(ports.refresh()).await;
    if let Some(run) = find_before_attaching(ports, &question, key, &view).await? {
        return to_same_run(run, &body_hash, &question.user);
    }
    let attachment_files = Box::pin(attach_files(ports, &question)).await?;
    let now_ms = ports.clock().now_ms();
    let user = question.user.clone();
    let warnings = Box::pin(list_warnings(ports, &question)).await;
    let spec = to_spec(ports, question, view, body_hash.clone());
    let files = to_file_list(&spec.files, &attachment_files);
    let attachments = attachment_files.into_iter().map(|(_, attachment)| attachment).collect();
    let full_spec = RunSpec { warnings, files, attachments, ..spec };
    let write = first_write_id(lease.as_ref().map(|lease| lease.holder.as_str()), ports)?;
    let (mut journal, first) = Journal::open(full_spec, u64::from(lease.is_some()), write, now_ms);
    let expires_at_s = journal_expiry_s(ports.settings(), journal.run());
    let UserLimits { runs_per_minute, runs_at_once, .. } = ports.settings().user;
    let admission = Admission { runs_per_minute, runs_at_once };
    let run = NewRun { record: first.clone(), lease, expires_at_s, admission };
    match ports.store().create(key, &run).await.map_err(|error| store_failure(&error))? {
        CreateResult::Created(hash) => {
            journal.set_head(hash);
            stop_if_unshared(ports, key, journal.run().spec()).await?;
            Ok(RunCreation::New(journal, first))
        }
        CreateResult::Exists(meta) => {
            to_same_run(LoadedRun::new(key.clone(), *meta), &body_hash, &user)
        }
        CreateResult::SessionBusy(active) => Err(Failure::session_busy(&active)),
        CreateResult::NotAdmitted(AdmissionError::RateLimited { retry_in_s }) => {
            Err(Failure::rate_limited(retry_in_s))
        }
        CreateResult::NotAdmitted(AdmissionError::TooManyRuns(most)) => {
            Err(Failure::new(ErrorCode::TooManyRuns, most.to_string()))
        }
    }
}

/// Returns the existing run of a repeated request with files, so the files are not written again. Returns an
/// error if another run of the session is active.
async fn find_before_attaching<P: Ports>(
    ports: &P,
    question: &UserQuestion,
    key: &RunKey,
    view: &SessionView,
) -> Result<Option<LoadedRun>, Failure> {
    if question.attachments.is_empty() {
        return Ok(None);
    }
    let existing_run = LoadedRun::find(ports, key).await?;
    match &view.active {
        Some(active) if existing_run.is_none() => Err(Failure::session_busy(active)),
        Some(_) | None => Ok(existing_run),
    }
}

/// Returns an existing run, if the repeated request is equal.
fn to_same_run(run: LoadedRun, body_hash: &str, user: &UserId) -> Result<RunCreation, Failure> {
    let is_same = run.meta().body_hash == body_hash && run.meta().user == *user;
    is_same.then(|| RunCreation::Existing(Box::new(run))).ok_or(ErrorCode::RequestIdReused.into())
}

/// Stops a guest's run if its share ended meanwhile: ending the share may have missed the new run.
async fn stop_if_unshared<P: Ports>(
    ports: &P,
    key: &RunKey,
    spec: &RunSpec,
) -> Result<(), Failure> {
    let user = UserKey { tenant: spec.tenant.clone(), user: spec.user.clone() };
    let share_end = has_share_ended(ports, &user, spec.shared.as_ref()).await;
    if share_end.map_err(|error| store_failure(&error))? {
        let mut run = LoadedRun::load(ports, key).await?;
        request_stop(ports, &mut run, spec.owner().clone()).await?;
    }
    Ok(())
}

/// Returns the write id of record 0. Two concurrent creations of the same run need different ids, so that
/// each recognizes its own record.
fn first_write_id<P: Ports>(holder: Option<&str>, ports: &P) -> Result<WriteId, Failure> {
    let writer = match holder {
        Some(holder) => holder.to_owned(),
        None => {
            format!("background.{}.{:x}", ports.clock().now_ms(), ports.clock().jitter().to_bits())
        }
    };
    WriteId::new(format!("{writer}.0.0")).map_err(|error| {
        tracing::error!(%error, "driver name unusable");
        ErrorCode::Internal.into()
    })
}

/// The maximum number of warnings about broken files at a run's start, and the maximum characters of each.
const MAX_WARNINGS: usize = 20;
const MAX_WARNING: usize = 300;

/// Returns warnings for clients about the deployment's broken files.
async fn list_warnings<P: Ports>(ports: &P, question: &UserQuestion) -> Vec<String> {
    let audience = ToolAudience {
        user: UserKey { tenant: question.tenant.clone(), user: question.user.clone() },
        mode: question.settings.mode,
        output_style: question.output_style,
    };
    let of_tools = ports.tools().list_problems(ports.clock(), &audience).await;
    let problems = ports.configuration_problems().to_vec().into_iter().chain(of_tools);
    problems.take(MAX_WARNINGS).map(|text| text.chars().take(MAX_WARNING).collect()).collect()
}

/// Creates the run spec of a question, with everything fixed until the run's end.
fn to_spec<P: Ports>(
    ports: &P,
    question: UserQuestion,
    view: SessionView,
    body_hash: String,
) -> RunSpec {
    let base_prompt = question.instructions();
    let is_owner = question.shared.is_none();
    let mut settings = question.settings;
    settings.prompt_version = ports.prompts().version();
    settings.models = model_names(ports);
    settings.context.input_limits = context_windows(ports);
    RunSpec {
        tenant: question.tenant,
        user: question.user,
        session: question.session,
        shared: question.shared,
        request: question.request,
        body_hash,
        question: question.text,
        output_style: question.output_style,
        ignored: question.ignored,
        warnings: Vec::new(),
        base_prompt,
        history_tokens: count_history_tokens(ports, &settings, &view.history),
        earlier: view.earlier.filter(|_| is_owner),
        history: view.history,
        files: view.files,
        attachments: Vec::new(),
        settings,
        child: None,
    }
}

/// Returns the current models by role.
fn model_names<P: Ports>(ports: &P) -> BTreeMap<Role, String> {
    let name =
        |role: &Role| Some((*role, ports.model().name(*role, ModelChoice::Primary)?.to_owned()));
    Role::ALL.iter().filter_map(name).collect()
}

/// Returns the current input limits of the models. An unconfigured model fails when called.
fn context_windows<P: Ports>(ports: &P) -> BTreeMap<Role, u64> {
    let window = |role: &Role| {
        let limits = ports.model().limits(*role, ModelChoice::Primary).ok()?;
        Some((*role, limits.max_input_tokens))
    };
    Role::ALL.iter().filter_map(window).collect()
}

/// Returns the tokens of a history. Estimates if at most half of the window could be used.
fn count_history_tokens<P: Ports>(ports: &P, settings: &RunSettings, history: &[Exchange]) -> u64 {
    let role = match settings.mode {
        Mode::React => Role::React,
        Mode::PlanSolve => Role::Planner,
    };
    let window = settings.context.input_limits.get(&role).copied().unwrap_or(u64::MAX);
    let texts = || history.iter().flat_map(|exchange| [&exchange.question, &exchange.answer]);
    let bytes: u64 = texts().map(|text| text.len() as u64).sum();
    if bytes <= window / 2 {
        return estimate_tokens(bytes);
    }
    texts().map(|text| ports.model().count_tokens(role, ModelChoice::Primary, text)).sum()
}
