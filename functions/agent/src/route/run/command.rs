//! What a person tells a run at work.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse, Response};
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::human::MAX_RESPONSE_BYTES;
use djinn_core::input::{PlanEdit, UserMessage};
use djinn_core::plan::{Plan, StepEdit};
use djinn_runtime::serve::{MessageStatus, PlanEditStatus, send_message, send_plan_edit};
use djinn_runtime::texts::check_bounds;
use djinn_runtime::world::Ports;
use serde_json::{Value, json};

use super::find_own_run;
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
            MessageStatus::Accepted => (StatusCode::OK, "taken"),
            MessageStatus::Resumed => (StatusCode::OK, "goes_on"),
            MessageStatus::Pending => (StatusCode::ACCEPTED, "waiting"),
        };
        let id = &run.key().run;
        let body = json!({"run": id, "state": state});
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
        let (status, body) = match edited.map_err(|failure| member_error(failure, "steps"))? {
            PlanEditStatus::Accepted { version, plan } => {
                (StatusCode::OK, plan_json(version, &plan))
            }
            PlanEditStatus::Conflict { version, plan } => {
                let failure = Failure::from(ErrorCode::PlanChanged);
                let body = json!({
                    "code": failure.code.as_str(),
                    "message": failure.sentence(agent.settings.run.language),
                    "version": version,
                    "plan": plan,
                });
                (StatusCode::CONFLICT, body)
            }
            PlanEditStatus::Pending => (StatusCode::ACCEPTED, json!({"state": "waiting"})),
        };
        let mut response = (status, Json(body)).into_response();
        add_id_headers(response.headers_mut(), Some(&run.key().run), None);
        Ok(response)
    };
    response_or_error(&agent, answer.await)
}

fn plan_json(version: u32, plan: &Plan) -> Value {
    json!({"version": version, "plan": plan})
}

fn parse_steps(fields: &BodyFields) -> Result<Vec<StepEdit>, ApiError> {
    let Some(given) = fields.list("steps")? else {
        return Err(invalid_field("steps", "must be a list of steps"));
    };
    serde_json::from_value(Value::Array(given))
        .map_err(|error| invalid_field("steps", &format!("must be a list of steps: {error}")))
}

fn new_id() -> String {
    format!("{:016x}", fastrand::u64(..))
}
