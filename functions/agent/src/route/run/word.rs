//! What a person tells a run at work.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse, Response};
use djinn_core::code::{ErrorCode, Failure};
use djinn_core::feedback::MAX_WORDS;
use djinn_core::input::{PlanEdited, Said};
use djinn_core::plan::{Plan, StepEdit};
use djinn_runtime::port::Ports;
use djinn_runtime::serve::{Edited, Heard, edit, say};
use djinn_runtime::texts::bounded;
use serde_json::{Value, json};

use super::{answered, own_run};
use crate::Shared;
use crate::fields::Fields;
use crate::identity::Caller;
use crate::query::wrong;
use crate::refusal::{Refusal, name, of_what_is_sent};

/// `POST /runs/{run}/messages`: a word to a run at work, read at its next turn.
pub(crate) async fn tell_run<P: Ports>(
    State(agent): State<Shared<P>>,
    Path(run): Path<String>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let (parts, body) = request.into_parts();
        let caller = Caller::of(&parts.extensions)?;
        let fields = Fields::read(&parts.headers, body).await?;
        let text = fields.needed("text")?;
        if text.trim().is_empty() {
            return Err(wrong("text", &format!("must have 1 to {MAX_WORDS} bytes")));
        }
        let mut said = Said { id: new_id(), by: caller.user, text: text.to_owned() };
        bounded(&mut said)?;
        let key = own_run(&agent, &parts.extensions, &run).await?;
        let heard = say(&agent.ports, &key, said).await;
        let (status, state) = match heard.map_err(|failure| of_what_is_sent(failure, "text"))? {
            Heard::Taken => (StatusCode::OK, "taken"),
            Heard::GoesOn => (StatusCode::OK, "goes_on"),
            Heard::Waiting => (StatusCode::ACCEPTED, "waiting"),
        };
        let body = json!({"run": key.run, "state": state});
        let mut response = (status, Json(body)).into_response();
        name(response.headers_mut(), Some(&key.run), None);
        Ok(response)
    };
    answered(&agent, answer.await)
}

/// `PATCH /runs/{run}/plan`: the steps as they are to be, but for those that have begun. 409 with the
/// plan as it is, if that is another than the one that was changed.
pub(crate) async fn edit_plan<P: Ports>(
    State(agent): State<Shared<P>>,
    Path(run): Path<String>,
    request: Request<Body>,
) -> Response {
    let answer = async {
        let (parts, body) = request.into_parts();
        let caller = Caller::of(&parts.extensions)?;
        let fields = Fields::read(&parts.headers, body).await?;
        let title = fields.text("title")?.unwrap_or_default();
        let version = fields.number("version")?.and_then(|number| u32::try_from(number).ok());
        let version = version.ok_or_else(|| wrong("version", "must be the plan's version"))?;
        let mut edited = PlanEdited {
            id: new_id(),
            by: caller.user,
            version,
            title: title.to_owned(),
            steps: steps(&fields)?,
        };
        bounded(&mut edited)?;
        let key = own_run(&agent, &parts.extensions, &run).await?;
        let edited = edit(&agent.ports, &key, edited).await;
        let (status, body) = match edited.map_err(|failure| of_what_is_sent(failure, "steps"))? {
            Edited::Taken { version, plan } => (StatusCode::OK, shown(version, &plan)),
            Edited::Conflict { version, plan } => {
                let failure = Failure::from(ErrorCode::PlanChanged);
                let body = json!({
                    "code": failure.code.as_str(),
                    "message": failure.sentence(agent.settings.run.language),
                    "version": version,
                    "plan": plan,
                });
                (StatusCode::CONFLICT, body)
            }
            Edited::Waiting => (StatusCode::ACCEPTED, json!({"state": "waiting"})),
        };
        let mut response = (status, Json(body)).into_response();
        name(response.headers_mut(), Some(&key.run), None);
        Ok(response)
    };
    answered(&agent, answer.await)
}

fn shown(version: u32, plan: &Plan) -> Value {
    json!({"version": version, "plan": plan})
}

fn steps(fields: &Fields) -> Result<Vec<StepEdit>, Refusal> {
    let Some(given) = fields.list("steps")? else {
        return Err(wrong("steps", "must be a list of steps"));
    };
    serde_json::from_value(Value::Array(given))
        .map_err(|error| wrong("steps", &format!("must be a list of steps: {error}")))
}

fn new_id() -> String {
    format!("{:016x}", fastrand::u64(..))
}
