//! Data questions, which JoyAgent's UI asks unless it is told otherwise. There are no answers yet.

use axum::body::Body;
use axum::extract::State;
use axum::http::Request;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse, Response};
use djinn_core::code::{ErrorCode, Failure};
use djinn_core::wire::joyagent_data;
use djinn_runtime::port::Ports;
use djinn_runtime::texts::MAX_QUESTION;
use serde_json::{Value, json};

use super::ask::is_blank;
use crate::Shared;
use crate::fields::Fields;
use crate::refusal::Refusal;

/// Where the UI asks them; it reads nothing but their events.
pub(crate) const ASK_DATA: &str = "/data/chatQuery";

/// The member that holds the question.
const CONTENT: &str = "content";

/// `POST /data/chatQuery`: says that there is no answer, in a stream like that of one, with the status
/// of one.
pub(crate) async fn ask_data<P: Ports>(
    State(agent): State<Shared<P>>,
    request: Request<Body>,
) -> Response {
    let language = agent.settings.run.language;
    match read(request).await {
        Ok(()) => {
            let stream = HeaderValue::from_static("text/event-stream");
            let why = ErrorCode::DataUnavailable.into();
            ([(CONTENT_TYPE, stream)], joyagent_data::refusal(&why, language)).into_response()
        }
        Err(refusal) => refusal.json(language),
    }
}

/// Reads a question, which may be wrong all the same.
async fn read(request: Request<Body>) -> Result<(), Refusal> {
    let (parts, body) = request.into_parts();
    let fields = Fields::read(&parts.headers, body).await?;
    let question = fields.text(CONTENT)?.unwrap_or_default();
    let failure = match question {
        blank if is_blank(blank) => Failure::new(ErrorCode::QueryMissing, CONTENT),
        long if long.len() > MAX_QUESTION => {
            Failure::new(ErrorCode::QueryTooLong, MAX_QUESTION.to_string())
        }
        _ => return Ok(()),
    };
    Err(Refusal::from(failure).about(CONTENT))
}

/// `GET /data/allModels`: the home page of JoyAgent's UI asks for it and breaks without it.
pub(crate) async fn list_models() -> axum::Json<Value> {
    axum::Json(json!({"code": 200, "data": []}))
}
