//! What a person tells a run at work.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse, Response};
use djinn_core::error_code::ErrorCode;
use djinn_core::human::MAX_RESPONSE_BYTES;
use djinn_core::input::{PlanEdit, UserMessage};
use djinn_core::plan::StepEdit;
use djinn_protocol::body::{
    MessageBody, MessageState, PlanConflictBody, PlanEditState, PlanVersionBody, PlanWaitingBody,
};
use djinn_protocol::event::PublicPlan;
use djinn_runtime::serve::{MessageStatus, PlanEditStatus, send_message, send_plan_edit};
use djinn_runtime::texts::check_bounds;
use djinn_runtime::world::Ports;

use super::{find_own_run, step_request};
use crate::agent::SharedAgent;
use crate::api_error::{ApiError, add_id_headers, member_error};
use crate::fields::BodyFields;
use crate::identity::Caller;
use crate::query::invalid_field;
use crate::route::response::response_or_error;

/// `POST /runs/{run}/messages`: a word to a run at work, read at its next turn.
pub(crate) async fn post_message<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    Path(run): Path<String>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let (parts, body) = request.into_parts();
        let caller = Caller::of(&parts.extensions)?;
        let fields = BodyFields::read_body(&parts.headers, body).await?;
        let text = fields.required_text("text")?;
        if text.trim().is_empty() {
            return Err(invalid_field(
                "text",
                &format!("must have 1 to {MAX_RESPONSE_BYTES} bytes"),
            ));
        }
        let mut said = UserMessage { id: new_id(), by: caller.user, text: text.to_owned() };
        check_bounds(&mut said)?;
        let mut run = find_own_run(&agent, &parts.extensions, &run).await?;
        let heard = send_message(&agent.ports, &mut run, said).await;
        let (status, state) = match heard.map_err(|failure| member_error(failure, "text"))? {
            MessageStatus::Accepted => (StatusCode::OK, MessageState::Taken),
            MessageStatus::Resumed => (StatusCode::OK, MessageState::GoesOn),
            MessageStatus::Pending => (StatusCode::ACCEPTED, MessageState::Waiting),
        };
        let id = &run.key().run;
        let body = MessageBody { run: id.to_string(), state };
        let mut response = (status, Json(body)).into_response();
        add_id_headers(response.headers_mut(), Some(id), None);
        Ok(response)
    };
    response_or_error(&agent, answer.await)
}

/// `PATCH /runs/{run}/plan`: the steps as they are to be, but for those that have begun. 409 with the
/// plan as it is, if that is another than the one that was changed.
pub(crate) async fn patch_plan<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    Path(run): Path<String>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let (parts, body) = request.into_parts();
        let caller = Caller::of(&parts.extensions)?;
        let fields = BodyFields::read_body(&parts.headers, body).await?;
        let title = fields.text("title")?.unwrap_or_default();
        let version = fields.number("version")?.and_then(|number| u32::try_from(number).ok());
        let version =
            version.ok_or_else(|| invalid_field("version", "must be the plan's version"))?;
        let mut edited = PlanEdit {
            id: new_id(),
            by: caller.user,
            version,
            title: title.to_owned(),
            steps: parse_steps(&fields)?,
        };
        check_bounds(&mut edited)?;
        let mut run = find_own_run(&agent, &parts.extensions, &run).await?;
        let edited = send_plan_edit(&agent.ports, &mut run, edited).await;
        let mut response = match edited.map_err(|failure| member_error(failure, "steps"))? {
            PlanEditStatus::Accepted { version, plan } => {
                Json(PlanVersionBody { version, plan: PublicPlan::new(&plan) }).into_response()
            }
            PlanEditStatus::Conflict { version, plan } => {
                let error = ApiError::from(ErrorCode::PlanChanged);
                let error = error.body(agent.settings.run.language);
                let body = PlanConflictBody { error, version, plan: PublicPlan::new(&plan) };
                (StatusCode::CONFLICT, Json(body)).into_response()
            }
            PlanEditStatus::Pending => {
                let body = PlanWaitingBody { state: PlanEditState::Waiting };
                (StatusCode::ACCEPTED, Json(body)).into_response()
            }
        };
        add_id_headers(response.headers_mut(), Some(&run.key().run), None);
        Ok(response)
    };
    response_or_error(&agent, answer.await)
}

fn parse_steps(fields: &BodyFields) -> Result<Vec<StepEdit>, ApiError> {
    let Some(given) = fields.list("steps")? else {
        return Err(invalid_field("steps", "must be a list of steps"));
    };
    step_request::parse_steps(given)
}

fn new_id() -> String {
    format!("{:016x}", fastrand::u64(..))
}
