//! Commands to a working run.

use axum::extract::State;
use axum::http::StatusCode;
use djinn_core::error_code::ErrorCode;
use djinn_core::human::MAX_RESPONSE_BYTES;
use djinn_core::id::RequestId;
use djinn_core::input::{PlanEdit, UserMessage};
use djinn_protocol::body::{
    MessageBody, MessageState, PlanConflictBody, PlanEditState, PlanVersionBody, PlanWaitingBody,
};
use djinn_protocol::event::PublicPlan;
use djinn_protocol::request::{MessageRequest, NoParameters, PlanRequest, WholeNumber};
use djinn_runtime::serve::{
    MessageStatus, PlanEditStatus, ResponseCapability, send_message, send_plan_edit,
};
use djinn_runtime::texts::check_bounds;
use djinn_runtime::world::Ports;

use super::{find_own_run, step_request};
use crate::agent::SharedAgent;
use crate::api_error::{ApiError, member_error};
use crate::body::OwnBody;
use crate::identity::Caller;
use crate::path::RunPath;
use crate::query::UrlQuery;
use crate::reply::{JsonReply, ReplyResult};

/// `POST /runs/{run}/messages`: sends a message to a working run, which reads the message in the next turn.
pub(crate) async fn post_message<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    RunPath(run): RunPath,
    _: UrlQuery<NoParameters>,
    OwnBody(MessageRequest { text, message_id }): OwnBody<MessageRequest>,
) -> ReplyResult {
    if text.trim().is_empty() {
        let problem = format!("must have 1 to {MAX_RESPONSE_BYTES} bytes");
        return Err(ApiError::invalid_field("text", &problem));
    }
    let id = message_id.map_or_else(|| Ok(new_id()), parse_message_id)?;
    let mut message = UserMessage { id, by: caller.user.clone(), text };
    check_bounds(&mut message)?;
    let mut run = find_own_run(&agent, &caller, &run).await?;
    let ports = agent.ports.refresh().await;
    let result = send_message(&ports, &mut run, message, ResponseCapability::Everything).await;
    let (status, state) = match result.map_err(|failure| member_error(failure, "text"))? {
        MessageStatus::Accepted => (StatusCode::OK, MessageState::Taken),
        MessageStatus::Resumed => (StatusCode::OK, MessageState::GoesOn),
        MessageStatus::Pending => (StatusCode::ACCEPTED, MessageState::Waiting),
    };
    let id = &run.key().run;
    let reply = JsonReply::json(&MessageBody { run: id.to_string(), state })?;
    Ok(reply.with_status(status).about_run(id))
}

/// `PATCH /runs/{run}/plan`: replaces the steps that have not started. Returns 409 with the current plan if
/// the plan has changed since the client's version.
pub(crate) async fn patch_plan<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    RunPath(run): RunPath,
    _: UrlQuery<NoParameters>,
    OwnBody(request): OwnBody<PlanRequest>,
) -> ReplyResult {
    let mut edit = parse_edit(request, &caller)?;
    check_bounds(&mut edit)?;
    let mut run = find_own_run(&agent, &caller, &run).await?;
    let result = send_plan_edit(&agent.ports.refresh().await, &mut run, edit).await;
    let reply = match result.map_err(|failure| member_error(failure, "steps"))? {
        PlanEditStatus::Accepted { version, plan } => {
            JsonReply::json(&PlanVersionBody { version, plan: PublicPlan::new(&plan) })?
        }
        PlanEditStatus::Conflict { version, plan } => {
            let error = ApiError::from(ErrorCode::PlanChanged).body(agent.settings.run.language);
            let body = PlanConflictBody { error, version, plan: PublicPlan::new(&plan) };
            JsonReply::json(&body)?.with_status(StatusCode::CONFLICT)
        }
        PlanEditStatus::Pending => {
            let body = PlanWaitingBody { state: PlanEditState::Waiting };
            JsonReply::json(&body)?.with_status(StatusCode::ACCEPTED)
        }
    };
    Ok(reply.about_run(&run.key().run))
}

fn parse_edit(request: PlanRequest, caller: &Caller) -> Result<PlanEdit, ApiError> {
    let PlanRequest { version: WholeNumber(version), title, steps } = request;
    let version = u32::try_from(version)
        .map_err(|_| ApiError::invalid_field("version", "must be the plan's version"))?;
    let title = title.unwrap_or_default();
    let steps = step_request::parse_steps(&steps)?;
    Ok(PlanEdit { id: new_id(), by: caller.user.clone(), version, title, steps })
}

/// Returns a client's message id with a prefix that Djinn's own ids never have.
fn parse_message_id(text: String) -> Result<String, ApiError> {
    match RequestId::new(text) {
        Ok(id) => Ok(format!("m.{id}")),
        Err(problem) => Err(ApiError::invalid_field("message_id", &problem.to_string())),
    }
}

fn new_id() -> String {
    format!("{:016x}", fastrand::u64(..))
}
