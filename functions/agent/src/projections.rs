//! The projections of streamed responses.

use djinn_core::id::{RequestId, RunId};
use djinn_protocol::ag_ui::AgUi;
use djinn_protocol::ai_sdk::AiSdk;
use djinn_protocol::chat_completions::ChatCompletions;
use djinn_protocol::connection::Projection;
use djinn_protocol::joyagent::{JoyAgent, ToolSchemas, Translator};
use djinn_protocol::joyagent_data::JoyAgentData;
use djinn_protocol::joyagent_ui::JoyAgentUi;
use djinn_protocol::link::SessionLinks;
use djinn_protocol::mcp::Mcp;
use djinn_protocol::native::NativeProjection;
use djinn_protocol::responses_api::ResponsesApi;
use djinn_runtime::serve::{AccessLevel, tool_schema};
use djinn_runtime::world::Ports;

use crate::agent::SharedAgent;
use crate::mcp_words::describe_state;
use crate::stream_protocol::StreamProtocol;

/// The run of a stream, and the place where the stream begins.
pub(crate) struct StreamPlace<'a> {
    pub(crate) run: &'a RunId,
    pub(crate) request: &'a RequestId,
    /// The name of the session for the client.
    pub(crate) public_session: String,
    /// The number of the first record for the client.
    pub(crate) first_record: u64,
    /// True if the run did not exist before.
    pub(crate) is_new: bool,
}

/// Returns the projection of a stream in the client's protocol, for a client with this access level.
pub(crate) fn build_projection<P: Ports>(
    agent: &SharedAgent<P>,
    protocol: StreamProtocol,
    place: StreamPlace<'_>,
    viewer: AccessLevel,
    links: SessionLinks,
) -> Box<dyn Projection> {
    let StreamPlace { run, request, public_session, first_record, is_new } = place;
    let language = agent.settings.run.language;
    let run = run.clone();
    let translator = |links| {
        let ports = agent.ports.clone();
        let schemas = ToolSchemas::new(move |tool, language| tool_schema(&ports, tool, language));
        Translator::new(run.clone(), request.clone(), links, language).with_schemas(schemas)
    };
    match protocol {
        StreamProtocol::Native if viewer == AccessLevel::Guest => {
            Box::new(NativeProjection::new(links).without_names())
        }
        StreamProtocol::Native => Box::new(NativeProjection::new(links)),
        StreamProtocol::ChatCompletions(options) => {
            Box::new(ChatCompletions::new(run, options, links, language))
        }
        StreamProtocol::AiSdk(stream) => {
            let options = stream.into_options(&run, first_record);
            Box::new(AiSdk::new(run, options, links, language))
        }
        StreamProtocol::AgUi(options) => {
            Box::new(AgUi::new(run, options.with_join(!is_new), links, language))
        }
        StreamProtocol::Responses(stream) => {
            Box::new(ResponsesApi::new(run, stream.options, links, language))
        }
        StreamProtocol::Mcp(call, _) => {
            let words = describe_state(agent);
            Box::new(Mcp::new(call, run, public_session, links, words, language))
        }
        StreamProtocol::JoyAgentData => Box::new(JoyAgentData::new(run, language)),
        StreamProtocol::JoyAgent => Box::new(JoyAgent::new(translator(links))),
        StreamProtocol::JoyAgentUi => Box::new(JoyAgentUi::new(translator(links))),
    }
}
