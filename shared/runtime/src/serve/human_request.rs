//! Human requests of a run, and the responses of users.

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::human::{
    HumanRequest, HumanResponse, Resolution, ResponseError, ResponseRecord, TimeoutAction,
};
use djinn_core::language::Language;
use djinn_core::plan::{MAX_TITLE, PLANNING_TOOL, PlanCommand};
use djinn_core::run::Run;
use djinn_core::settings::RunSettings;
use djinn_messages::Wording;
use serde_json::{Map, Value};

use super::{LoadedRun, ResponseCapability, store_failure};
use crate::port::checker::ContentOwner;
use crate::port::mailbox::Mail;
use crate::port::tool::ToolAudience;
use crate::render::planning_tool;
use crate::texts::check_bounds;
use crate::world::Ports;

/// The result of submitting a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseStatus {
    /// The run continues with the response.
    Accepted,
    /// The response waits for the run, which did not record it within a few seconds.
    Pending,
}

/// Returns the pending requests of a run and its children; none for an ended run.
///
/// # Errors
/// Returns `internal` for an unreadable journal, or `store_unavailable`.
pub async fn list_requests<P: Ports>(
    ports: &P,
    run: &mut LoadedRun,
) -> Result<Vec<HumanRequest>, Failure> {
    if run.meta().status.has_ended() {
        return Ok(Vec::new());
    }
    let journal = run.advance(ports).await.map_err(|error| store_failure(&error))?;
    Ok(journal.run().pending_requests().cloned().collect())
}

/// Returns the setting for the timeout of a run's requests, as of the last read of its journal.
#[must_use]
pub fn timeout_setting(run: &LoadedRun) -> Option<TimeoutAction> {
    run.journal().ok().map(|journal| journal.run().spec().settings.human.on_timeout)
}

/// Returns the JSON Schema of a tool's arguments, described in `language`. Covers only the deployment's own
/// tools: a tool source may serve another audience.
#[must_use]
pub fn tool_schema<P: Ports>(ports: &P, tool: &str, language: Language) -> Option<Value> {
    if tool == PLANNING_TOOL {
        return Some(planning_tool(ports.prompts(), language, true).schema);
    }
    ports.tools().find_tool(tool).map(|tool_match| tool_match.spec(language).schema)
}

/// Submits a response to a request. `response.id` must be unique for each response.
///
/// # Errors
/// Returns `session_busy` if the capability does not allow this response. Returns `request_not_found` with the pending requests, `request_resolved` with the user of the first
/// response, or `request_stale`. Returns `invalid_field` for arguments that break their tool's schema. Returns
/// `store_unavailable`, or an error of [`crate::content::ContentPolicy::screen_input`].
pub async fn submit_response<P: Ports>(
    ports: &P,
    run: &mut LoadedRun,
    mut response: ResponseRecord,
    capability: ResponseCapability,
) -> Result<ResponseStatus, Failure> {
    check_bounds(&mut response)?;
    let run_id = run.key().run.clone();
    let journal = run.advance(ports).await.map_err(|error| store_failure(&error))?;
    let requests = find_requests(journal.run(), &response)?;
    capability.require(&run_id, &requests)?;
    let settings = journal.run().spec().settings.clone();
    let audience = ToolAudience::of(journal.run().spec());
    if let Some(end_status) = run.ended_status() {
        return Err(late_response(end_status.as_str()));
    }
    let meta = run.meta();
    let session = run.meta().session_name();
    let owner = ContentOwner::of(run.key(), &meta.user, &session);
    ports.content().screen_input(&mut response, owner).await?;
    check_response(ports, &settings, &audience, &requests, &response.answer).await?;
    let mail = Mail::HumanResponse { response: Box::new(response.clone()) };
    run.wake(ports, &mail).await.map_err(|error| store_failure(&error))?;
    await_acceptance(ports, run, &response).await
}

/// Waits until the run records a response.
async fn await_acceptance<P: Ports>(
    ports: &P,
    run: &mut LoadedRun,
    response: &ResponseRecord,
) -> Result<ResponseStatus, Failure> {
    let outcome = run.poll_until(ports, |run| {
        let has_ended = run.status().has_ended();
        if run.is_resolved_by(&response.id) {
            return Some(Ok(ResponseStatus::Accepted));
        }
        match run.match_response(response) {
            Ok(_) | Err(ResponseError::UnknownRequest) if has_ended => {
                Some(Err(late_response(run.status().as_str())))
            }
            Ok(_) => None,
            Err(refusal) => Some(Err(response_failure(run, refusal))),
        }
    });
    outcome.await.unwrap_or(Ok(ResponseStatus::Pending))
}

fn find_requests(run: &Run, response: &ResponseRecord) -> Result<Vec<HumanRequest>, Failure> {
    run.match_response(response).map_err(|refusal| response_failure(run, refusal))
}

fn response_failure(run: &Run, refusal: ResponseError) -> Failure {
    match refusal {
        ResponseError::UnknownRequest => {
            let pending_ids: Vec<String> =
                run.pending_requests().map(|request| request.id.to_string()).collect();
            let pending_text =
                if pending_ids.is_empty() { "none".to_owned() } else { pending_ids.join(", ") };
            Failure::new(ErrorCode::RequestNotFound, pending_text)
        }
        ResponseError::AlreadyResolved(Resolution { by, response: answer, .. }) => {
            let by = by.map_or_else(|| "no one in time".to_owned(), |by| by.to_string());
            late_response(&format!("{answer} ({by})"))
        }
        ResponseError::Stale => ErrorCode::RequestStale.into(),
    }
}

fn late_response(how: &str) -> Failure {
    Failure::new(ErrorCode::RequestResolved, how)
}

/// Checks changed arguments like arguments of the model.
async fn check_response<P: Ports>(
    ports: &P,
    settings: &RunSettings,
    audience: &ToolAudience,
    requests: &[HumanRequest],
    answer: &HumanResponse,
) -> Result<(), Failure> {
    let HumanResponse::Modify { arguments } = answer else { return Ok(()) };
    let bad = |detail: String| Failure::new(ErrorCode::InvalidField, detail);
    for request in requests {
        let Some((_, tool, call_arguments)) = request.subject.call() else {
            request.subject.check_parameters(arguments).map_err(bad)?;
            continue;
        };
        if tool == PLANNING_TOOL {
            let no_plan = |problem| bad(format!("`parameters` are not a valid plan: {problem}"));
            let command =
                PlanCommand::parse(arguments).map_err(|error| no_plan(error.to_string()))?;
            if command.title().len() > MAX_TITLE {
                return Err(no_plan(format!("its title has at most {MAX_TITLE} bytes")));
            }
            let plan = command.apply_to(None, settings.plan.max_steps as usize);
            plan.map_err(|error| no_plan(error.to_string()))?;
        }
        let tools = ports.tools().list_tools(ports.clock(), audience).await;
        let tool_match = tools.find_tool(tool);
        let schema = if tool == PLANNING_TOOL {
            Some(planning_tool(ports.prompts(), settings.language, true).schema)
        } else {
            tool_match.as_ref().map(|tool_match| tool_match.spec(settings.language).schema)
        };
        let name_problem = schema.as_ref().and_then(|schema| {
            find_unknown_parameters(schema, call_arguments, arguments, settings.language)
        });
        let argument_problem =
            tool_match.and_then(|tool_match| tool_match.check_arguments(arguments).err());
        if let Some(problem) = name_problem.or(argument_problem) {
            let values = [("tool", tool), ("problem", problem.as_str())];
            return Err(bad(Wording::ParametersRefused.fill(settings.language, &values)));
        }
    }
    Ok(())
}

/// Returns a message with arguments the tool would ignore, and the known ones. The call's own arguments count
/// as known.
fn find_unknown_parameters(
    schema: &Value,
    call_arguments: &Map<String, Value>,
    arguments: &Map<String, Value>,
    language: Language,
) -> Option<String> {
    let properties = schema.get("properties")?.as_object()?;
    let takes_others = schema.get("additionalProperties").is_some_and(|others| others != false);
    let is_unknown =
        |name: &&String| !properties.contains_key(*name) && !call_arguments.contains_key(*name);
    let unknown_names: Vec<&str> =
        arguments.keys().filter(is_unknown).map(String::as_str).collect();
    if unknown_names.is_empty() || takes_others {
        return None;
    }
    let known_names: Vec<&str> = properties.keys().map(String::as_str).collect();
    let values = [("names", unknown_names.join(", ")), ("known", known_names.join(", "))];
    let values = values.each_ref().map(|(name, value)| (*name, value.as_str()));
    Some(Wording::UnknownParameters.fill(language, &values))
}
