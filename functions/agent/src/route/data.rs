//! Data questions, the default of JoyAgent's UI. Not supported yet.

use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse, Response};
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::language::Language;
use djinn_protocol::body::ModelListBody;
use djinn_protocol::joyagent_data;
use djinn_protocol::request::DataRequest;
use djinn_runtime::texts::MAX_QUESTION;
use djinn_runtime::world::Ports;

use super::ask::is_blank;
use crate::agent::SharedAgent;
use crate::api_error::ApiError;
use crate::body::LenientBody;
use crate::reply::{JsonReply, ReplyResult};

/// The path of data questions from JoyAgent's UI. The UI reads only events.
pub(crate) const ASK_DATA: &str = "/data/chatQuery";

/// The field with the question.
const CONTENT: &str = "content";

/// `POST /data/chatQuery`: reports the missing support in a stream, with status 200, as for an answer.
pub(crate) async fn ask_data<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    LenientBody { request, .. }: LenientBody<DataRequest>,
) -> Result<Response, ApiError> {
    let question = request.content.as_deref().unwrap_or_default();
    let language = Language::of_text(question);
    check_question(question).map_err(|refusal| refusal.with_language(language))?;
    let stream = HeaderValue::from_static("text/event-stream");
    let why = ErrorCode::DataUnavailable.into();
    let language = language.unwrap_or(agent.settings.run.language);
    let body = joyagent_data::refusal_stream(&why, language);
    Ok(([(CONTENT_TYPE, stream)], body).into_response())
}

/// Checks a question, as invalid questions are possible here too.
fn check_question(question: &str) -> Result<(), ApiError> {
    let failure = match question {
        blank if is_blank(blank) => Failure::new(ErrorCode::QueryMissing, CONTENT),
        long if long.len() > MAX_QUESTION => {
            Failure::new(ErrorCode::QueryTooLong, MAX_QUESTION.to_string())
        }
        _ => return Ok(()),
    };
    Err(ApiError::from(failure).with_field(CONTENT))
}

/// `GET /data/allModels`: the home page of JoyAgent's UI fails without this route.
pub(crate) async fn list_models() -> ReplyResult {
    JsonReply::json(&ModelListBody { code: 200, data: Vec::new() })
}
