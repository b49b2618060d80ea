//! The new run of a question.

use std::collections::BTreeMap;

use djinn_core::conversation::Exchange;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{TenantId, WriteId};
use djinn_core::input::RunSpec;
use djinn_core::journal::{Journal, Record};
use djinn_core::settings::{ModelChoice, Role};
use djinn_text::tokens::estimate_tokens;

use super::attached_files::{attach_files, to_file_list};
use crate::port::admission::{Admission, AdmissionError};
use crate::port::clock::Clock;
use crate::port::journal::{CreateResult, Journals, Lease, NewRun, SessionView};
use crate::port::model::Model;
use crate::port::{RunKey, UserKey};
use crate::question::UserQuestion;
use crate::serve::access::has_share_ended;
use crate::serve::{LoadedRun, request_stop, store_failure};
use crate::settings::{UserLimits, journal_expiry_s};
use crate::world::Ports;

/// The result of creating a run.
pub(super) enum RunCreation {
    /// The run exists now, with this first record.
    Created(Journal, Record),
    /// The same request came before, and this is its run.
    Exists(Box<LoadedRun>),
}

/// Creates the run of a question, after its files.
///
/// # Errors
/// Returns `request_id_reused`, `session_busy`, `rate_limited`, `too_many_runs` or `store_unavailable`.
pub(super) async fn create_run<P: Ports>(
    ports: &P,
    question: UserQuestion,
    view: SessionView,
    lease: Option<Lease>,
) -> Result<RunCreation, Failure> {
    let key = question.run_key();
    let ports = &Box::pin(ports.refresh()).await;
    if !ports.is_configured() {
        let problems = ports.configuration_problems().join("; ");
        tracing::error!(problems, "a question is rejected: the settings were never read");
        return Err(ErrorCode::StoreUnavailable.into());
    }
    let attachment_files = Box::pin(attach_files(ports, &question)).await?;
    let now_ms = ports.clock().now_ms();
    let mut warnings = question.spec.warnings.clone();
    warnings.extend(list_warnings(ports, &key.tenant));
    let files = to_file_list(&view.files, &attachment_files);
    let attachments = attachment_files.into_iter().map(|(_, attachment)| attachment).collect();
    let spec = complete_spec(ports, question, view);
    let mut spec = RunSpec { warnings, files, attachments, ..spec };
    if let Some(agent) = spec.agent.take() {
        spec = spec.with_agent(*agent);
    }
    let write = first_write_id(lease.as_ref().map(|lease| lease.holder.as_str()), ports)?;
    let (mut journal, record) = Journal::open(spec, u64::from(lease.is_some()), write, now_ms);
    let expires_at_s = journal_expiry_s(ports.settings(), journal.run());
    let UserLimits { runs_per_minute, runs_at_once, .. } = ports.settings().user;
    let admission = Admission { runs_per_minute, runs_at_once };
    let run = NewRun { record: record.clone(), lease, expires_at_s, admission };
    match ports.store().create(&key, &run).await.map_err(|error| store_failure(&error))? {
        CreateResult::Created(hash) => {
            journal.set_head(hash);
            stop_if_unshared(ports, &key, journal.run().spec()).await?;
            Ok(RunCreation::Created(journal, record))
        }
        CreateResult::Exists(meta) => {
            let run = LoadedRun::new(key, *meta);
            Ok(RunCreation::Exists(Box::new(run.require_repeat(journal.run().spec())?)))
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

/// Stops a guest's run if its share ended meanwhile: ending the share may have missed the new run.
async fn stop_if_unshared<P: Ports>(
    ports: &P,
    key: &RunKey,
    spec: &RunSpec,
) -> Result<(), Failure> {
    let user = UserKey::of(spec);
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

/// The maximum number of warnings about files and tools at a run's start, and the maximum characters of each.
const MAX_WARNINGS: usize = 20;
const MAX_WARNING: usize = 300;

/// Returns warnings for clients about the deployment's broken files, and about tools that their servers no longer have.
fn list_warnings<P: Ports>(ports: &P, tenant: &TenantId) -> Vec<String> {
    let problems = ports.configuration_problems();
    let gone = ports.configured_tools().warn_of_gone_tools(tenant);
    let warnings = problems.iter().chain(&gone).take(MAX_WARNINGS);
    warnings.map(|text| text.chars().take(MAX_WARNING).collect()).collect()
}

/// Adds the facts about the deployment and the session to the spec of a question.
fn complete_spec<P: Ports>(ports: &P, question: UserQuestion, view: SessionView) -> RunSpec {
    let base_prompt = question.instructions();
    let has_own_history = question.history.is_some();
    let history = question.history.unwrap_or(view.history);
    let mut spec = question.spec;
    spec.settings.prompt_version = ports.prompts().version();
    spec.settings.models = model_names(ports);
    spec.settings.context.input_limits = context_windows(ports);
    let is_owner = spec.shared.is_none();
    RunSpec {
        base_prompt,
        history_tokens: count_history_tokens(ports, &spec, &history),
        earlier: view.earlier.filter(|_| is_owner && !has_own_history),
        history,
        ..spec
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
fn count_history_tokens<P: Ports>(ports: &P, spec: &RunSpec, history: &[Exchange]) -> u64 {
    let role = if spec.machine().has_plan() { Role::Planner } else { Role::React };
    let window = spec.settings.context.input_limits.get(&role).copied().unwrap_or(u64::MAX);
    let texts = || history.iter().flat_map(|exchange| [&exchange.question, &exchange.answer]);
    let bytes: u64 = texts().map(|text| text.len() as u64).sum();
    if bytes <= window / 2 {
        return estimate_tokens(bytes);
    }
    texts().map(|text| ports.model().count_tokens(text)).sum()
}
