//! A question comes in: it starts a run, or joins the one it belongs to.

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

/// What a question opened.
pub enum StartResult {
    /// A run of its own, which this invocation drives.
    New {
        /// The key of the run, which did not exist before.
        key: RunKey,
        /// Its first record and its lease.
        leased_run: Box<LeasedRun>,
        /// What the client is sent first.
        first_record: Record,
    },
    /// A run that exists: the same request came before, or the question was `continue` and goes on with
    /// what is at work, or with an end that no client was sent.
    Existing {
        /// The run that the client is shown.
        run: Box<LoadedRun>,
        /// Whether it is the session's active run rather than this request's own.
        continued: bool,
        /// The record by which that run asked what the question answers, or asks still: a client that
        /// has another place for each message begins there.
        request_record: Option<u64>,
    },
}

/// Opens a question: creates its run, or finds the run it belongs to.
///
/// `holder` names the driver; see [`super::ServeContext`]. `known` is a run that the caller has read for this
/// question.
///
/// # Errors
/// `request_id_reused`, `session_busy` with the run that is active, `nothing_to_continue`, `rate_limited`,
/// `too_many_runs`, `store_unavailable`, or what [`crate::content::ContentPolicy::screen_input`] says.
pub async fn start_streaming<P: Ports>(
    ports: &P,
    mut question: UserQuestion,
    holder: &str,
    known: Option<LoadedRun>,
) -> Result<StartResult, Failure> {
    check_bounds(&mut question)?;
    let (key, body_hash) = (question.run_key(), question.body_hash());
    let session = question.session_key();
    let view = ports.store().load_session(&session).await.map_err(|error| store_failure(&error))?;
    let mut known = KnownRuns::new(known);
    if let Some((run, asked_in)) = find_continued_run(ports, &question, &view, &mut known).await? {
        let run = Box::new(run);
        return Ok(StartResult::Existing { run, continued: true, request_record: asked_in });
    }
    screen_question(ports, &mut question, &key, known).await?;
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

/// Accepts a question for whoever drives runs without a client: creates its run undriven, or finds
/// the run it belongs to. The caller has it driven.
///
/// # Errors
/// Those of [`start_streaming`].
pub async fn start_background<P: Ports>(
    ports: &P,
    mut question: UserQuestion,
) -> Result<RunKey, Failure> {
    check_bounds(&mut question)?;
    let (key, body_hash) = (question.run_key(), question.body_hash());
    let session = question.session_key();
    let view = ports.store().load_session(&session).await.map_err(|error| store_failure(&error))?;
    let mut known = KnownRuns::default();
    if let Some((active, _)) = find_continued_run(ports, &question, &view, &mut known).await? {
        return Ok(active.key().clone());
    }
    screen_question(ports, &mut question, &key, known).await?;
    match create_run(ports, question, body_hash, &key, view, None).await? {
        RunCreation::New(..) | RunCreation::Existing(_) => Ok(key),
    }
}

/// Lets a question in, or what the checker puts in its place. A repeat of a request was let in before.
async fn screen_question<P: Ports>(
    ports: &P,
    question: &mut UserQuestion,
    key: &RunKey,
    mut known: KnownRuns,
) -> Result<(), Failure> {
    let content = ports.content();
    if content.allows_all() || known.find(ports, key).await?.is_some() {
        return Ok(());
    }
    let (tenant, user) = (question.tenant.clone(), question.user.clone());
    let session = question.session_name();
    let whose =
        ContentOwner { tenant: &tenant, user: &user, session: &session, run: Some(&key.run) };
    content.screen_input(question, whose).await
}

/// What came of creating a run.
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
    let attached = Box::pin(attach_files(ports, &question)).await?;
    let now_ms = ports.clock().now_ms();
    let user = question.user.clone();
    let warnings = Box::pin(list_warnings(ports, &question)).await;
    let spec = to_spec(ports, question, view, body_hash.clone());
    let files = to_file_list(&spec.files, &attached);
    let attachments = attached.into_iter().map(|(_, attachment)| attachment).collect();
    let asked = RunSpec { warnings, files, attachments, ..spec };
    let write = first_write_id(lease.as_ref().map(|lease| lease.holder.as_str()), ports)?;
    let (journal, first) = Journal::open(asked, u64::from(lease.is_some()), write, now_ms);
    let expires_at_s = journal_expiry_s(ports.settings(), journal.run());
    let UserLimits { runs_per_minute, runs_at_once, .. } = ports.settings().user;
    let admission = Admission { runs_per_minute, runs_at_once };
    let run = NewRun { record: first.clone(), lease, expires_at_s, admission };
    match ports.store().create(key, &run).await.map_err(|error| store_failure(&error))? {
        CreateResult::Created => {
            stop_if_unshared(ports, key, journal.run().spec()).await?;
            Ok(RunCreation::New(journal, first))
        }
        CreateResult::Exists(meta) => {
            to_same_run(LoadedRun::new(key.clone(), *meta), &body_hash, &user)
        }
        CreateResult::SessionBusy(active) => Err(Failure::session_busy(&active)),
        CreateResult::NotAdmitted(AdmissionError::RateLimited { retry_in_s: again_in_s }) => {
            Err(Failure::rate_limited(again_in_s))
        }
        CreateResult::NotAdmitted(AdmissionError::TooManyRuns(most)) => {
            Err(Failure::new(ErrorCode::TooManyRuns, most.to_string()))
        }
    }
}

/// The run that this request has begun before, if the question brings files: these are not written anew. Nor
/// are they where another run of the session is at work.
async fn find_before_attaching<P: Ports>(
    ports: &P,
    question: &UserQuestion,
    key: &RunKey,
    view: &SessionView,
) -> Result<Option<LoadedRun>, Failure> {
    if question.attachments.is_empty() {
        return Ok(None);
    }
    let known = LoadedRun::find(ports, key).await?;
    match &view.active {
        Some(active) if known.is_none() => Err(Failure::session_busy(active)),
        Some(_) | None => Ok(known),
    }
}

/// A run that exists, for who asked the same before.
fn to_same_run(run: LoadedRun, body_hash: &str, user: &UserId) -> Result<RunCreation, Failure> {
    let is_same = run.meta().body_hash == body_hash && run.meta().user == *user;
    is_same.then(|| RunCreation::Existing(Box::new(run))).ok_or(ErrorCode::RequestIdReused.into())
}

/// Stops a guest's run whose share ended while it was made: whoever ended it may not have seen the run.
async fn stop_if_unshared<P: Ports>(
    ports: &P,
    key: &RunKey,
    asked: &RunSpec,
) -> Result<(), Failure> {
    let user = UserKey { tenant: asked.tenant.clone(), user: asked.user.clone() };
    let ended = has_share_ended(ports, &user, asked.shared.as_ref()).await;
    if ended.map_err(|error| store_failure(&error))? {
        let mut run = LoadedRun::load(ports, key).await?;
        request_stop(ports, &mut run, asked.owner().clone()).await?;
    }
    Ok(())
}

/// Names the write of record 0. Two requests that create the same run at the same moment must not
/// take each other's record for their own.
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

/// The most sentences about broken files that a run's start tells, and the most characters of each.
const MAX_WARNINGS: usize = 20;
const MAX_WARNING: usize = 300;

/// What clients are told at a run's start of the deployment's files that are broken now.
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

/// The run that answers a question, with what holds until it ends.
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

/// The models of now, by their roles.
fn model_names<P: Ports>(ports: &P) -> BTreeMap<Role, String> {
    let name =
        |role: &Role| Some((*role, ports.model().name(*role, ModelChoice::Primary)?.to_owned()));
    Role::ALL.iter().filter_map(name).collect()
}

/// What the models take now; a model that is not configured fails when it is called.
fn context_windows<P: Ports>(ports: &P) -> BTreeMap<Role, u64> {
    let window = |role: &Role| {
        let limits = ports.model().limits(*role, ModelChoice::Primary).ok()?;
        Some((*role, limits.max_input_tokens))
    };
    Role::ALL.iter().filter_map(window).collect()
}

/// Tokens of a history. They are counted only where that could matter.
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
