//! The protocols of streamed responses.

use std::time::Duration;

use axum::http::HeaderMap;
use djinn_core::id::RunId;
use djinn_protocol::ag_ui::AgUiOptions;
use djinn_protocol::chat_completions::{ChatForm, ChatOptions};
use djinn_protocol::mcp::McpServerCall;
use djinn_protocol::responses_api::{ResponsesApiForm, ResponsesApiOptions};
use serde_json::Value;

use crate::ai_stream::AiStream;

/// A response of the Responses API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResponsesStream {
    pub(crate) options: ResponsesApiOptions,
    /// The longest time of a response to a run that is driven elsewhere.
    pub(crate) wait: Option<Duration>,
}

/// The client's protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StreamProtocol {
    /// JoyAgent's raw events, as sent by `POST /AutoAgent`.
    JoyAgent,
    /// The events of JoyAgent's UI, as sent by `queryAgentStreamIncr`.
    JoyAgentUi,
    /// The events of Djinn's own protocol, as sent by `POST /runs`.
    Native,
    /// The chunks or the document of Chat Completions.
    ChatCompletions(ChatOptions),
    /// The UI message stream of the AI SDK.
    AiSdk(AiStream),
    /// The events of AG-UI.
    AgUi(AgUiOptions),
    /// The events or the document of the Responses API.
    Responses(ResponsesStream),
    /// The events of JoyAgent's data page, as sent by `POST /data/chatQuery`.
    JoyAgentData,
    /// The call of a tool of the MCP server, with the longest wait for its result.
    Mcp(McpServerCall, Duration),
}

impl StreamProtocol {
    /// Returns the first record for a client that displays the events after a message below the message. The message
    /// responded to a human request of the record `n`. `None` for clients that display the whole run.
    pub(crate) fn first_record_below(&self, n: u64) -> Option<u64> {
        match self {
            // The page shows the request once more, with its form.
            Self::JoyAgent | Self::JoyAgentUi => Some(n),
            Self::ChatCompletions(_) | Self::AiSdk(_) | Self::AgUi(_) | Self::Responses(_) => {
                Some(n.saturating_add(1))
            }
            Self::Native | Self::JoyAgentData | Self::Mcp(..) => None,
        }
    }

    /// Returns the longest time of a response to a run that is driven elsewhere; `None` for a response that may drive
    /// its run.
    pub(crate) fn max_wait(&self) -> Option<Duration> {
        match self {
            Self::Mcp(_, wait) => Some(*wait),
            Self::Responses(stream) => stream.wait,
            Self::JoyAgent
            | Self::JoyAgentUi
            | Self::Native
            | Self::ChatCompletions(_)
            | Self::AiSdk(_)
            | Self::AgUi(_)
            | Self::JoyAgentData => None,
        }
    }

    /// Returns the id of a call whose client may stop waiting for the response.
    pub(crate) fn call_id(&self) -> Option<Value> {
        if let Self::Mcp(call, _) = self { Some(call.id.clone()) } else { None }
    }

    /// Returns the media type of responses.
    pub(crate) fn media_type(&self) -> &'static str {
        match self {
            Self::ChatCompletions(ChatOptions { form: ChatForm::Document, .. })
            | Self::Mcp(McpServerCall { is_stream: false, .. }, _) => "application/json",
            Self::Responses(ResponsesStream { options, .. })
                if options.form == ResponsesApiForm::Document =>
            {
                "application/json"
            }
            Self::JoyAgent
            | Self::JoyAgentUi
            | Self::Native
            | Self::AiSdk(_)
            | Self::AgUi(_)
            | Self::JoyAgentData
            | Self::Mcp(..)
            | Self::Responses(_)
            | Self::ChatCompletions(_) => "text/event-stream; charset=utf-8",
        }
    }

    /// Returns the protocol's own headers for a response that begins at this record.
    pub(crate) fn headers(&self, run: &RunId, first_record: u64) -> HeaderMap {
        match self {
            Self::AiSdk(stream) => stream.headers(run, first_record),
            Self::JoyAgent
            | Self::JoyAgentUi
            | Self::Native
            | Self::AgUi(_)
            | Self::JoyAgentData
            | Self::Mcp(..)
            | Self::Responses(_)
            | Self::ChatCompletions(_) => HeaderMap::new(),
        }
    }
}
