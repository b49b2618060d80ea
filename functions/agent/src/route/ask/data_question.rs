//! `POST /data/chatQuery`: questions over tables, the default of JoyAgent's UI.

use axum::extract::State;
use axum::http::request::Parts;
use djinn_core::id::RequestId;
use djinn_protocol::cursor::Cursor;
use djinn_protocol::request::{DataRequest, RunRequest};
use djinn_runtime::port::RunKey;
use djinn_runtime::serve::LoadedRun;
use djinn_runtime::world::Ports;

use super::question_members::{FieldNames, QuestionMembers};
use super::{QuestionReader, QuestionReply, new_request_id};
use crate::agent::{Agent, AgentPorts, SharedAgent};
use crate::api_error::ApiError;
use crate::body::{JsonMembers, parse_id};
use crate::identity::Caller;
use crate::run_stream::{StreamProtocol, StreamRequest, last_event_id, stream_question};

/// The path of data questions from JoyAgent's UI. The UI reads only events.
pub(crate) const ASK_DATA: &str = "/data/chatQuery";

/// The mode that answers.
const MODE: &str = "data_query";

/// `POST /data/chatQuery`: runs the mode `data_query` in a session of its own, and streams its thoughts and charts. An
/// error is also a stream.
pub(crate) async fn ask_data<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    parts: Parts,
    members: JsonMembers,
) -> QuestionReply {
    let agent = &agent.refresh().await;
    let mut reader = QuestionReader::new(agent, caller, &parts, FieldNames::JoyAgentData);
    let response = async {
        let request = name_request(agent, &reader.caller, &parts, &members).await?;
        reader.facts.request = Some(request);
        let (request, unknown) = members.parse_request::<DataRequest>();
        let request = RunRequest {
            question: request?.content,
            session_id: None,
            attachments: None,
            request_id: None,
            mode: Some(MODE.to_owned()),
            arguments: None,
            output_style: None,
            base_prompt: None,
            review: None,
            human_requests: None,
        };
        let fields = QuestionMembers::of_run(request);
        let mut question = reader.read_question(fields, &unknown).await?;
        question.spec.is_unlisted = true;
        let protocol = StreamProtocol::JoyAgentData;
        stream_question(agent, &parts, StreamRequest { question, protocol, previews: true }).await
    };
    let response = response.await;
    reader.into_reply(response)
}

/// Returns the id of the request: the client's, or that of the run in its cursor, or a new one. The page sends no id,
/// but the cursor when it reconnects.
async fn name_request<P: Ports>(
    agent: &Agent<P>,
    caller: &Caller,
    parts: &Parts,
    members: &JsonMembers,
) -> Result<RequestId, ApiError> {
    let name = FieldNames::JoyAgentData.translate("request_id");
    if let Some(id) = members.peek_text(name) {
        return parse_id(name, id);
    }
    let cursor = last_event_id(&parts.headers).and_then(|text| Cursor::parse(&text));
    if let Some(cursor) = cursor
        && let Some(run) =
            LoadedRun::find(&agent.ports, &RunKey::new(caller.tenant.clone(), cursor.run)).await?
        && run.meta().user == caller.user
    {
        return Ok(run.meta().request.clone());
    }
    new_request_id(agent)
}
