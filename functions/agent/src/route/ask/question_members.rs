//! The fields of a question in one form, for all endpoints.

use djinn_protocol::request::{JoyAgentRequest, RunRequest, WholeNumber};
use djinn_runtime::texts::{ATTACHMENTS, QUESTION};

use super::attachments::{NamedFile, joyagent_files, own_files};
use crate::api_error::ApiError;
use crate::mode_choice::ModeChoice;

/// The names of a question's fields in requests and errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldNames {
    /// The names of [`RunRequest`].
    Native,
    /// The names of [`JoyAgentRequest`], whose clients cannot change.
    JoyAgent,
    /// The names of Chat Completions, whose clients cannot change either.
    ChatCompletions,
    /// The names of the Responses API.
    ResponsesApi,
    /// The names of the AI SDK's chats.
    AiSdk,
    /// The names of AG-UI.
    AgUi,
    /// The names of JoyAgent's data page.
    JoyAgentData,
    /// The names of the arguments of MCP's tools.
    Mcp,
}

impl FieldNames {
    /// Returns the name of a field of [`RunRequest`] under these names.
    pub(super) fn translate(self, name: &'static str) -> &'static str {
        match (self, name) {
            (Self::Native, name) => name,
            (Self::JoyAgent, QUESTION) => "query",
            (Self::JoyAgent, "session_id") => "sessionId",
            (Self::JoyAgent, "request_id") => "requestId",
            (Self::JoyAgent, "output_style") => "outputStyle",
            (Self::JoyAgent, "base_prompt") => "basePrompt",
            (Self::JoyAgent, "human_requests") => "humanFeedback",
            (Self::JoyAgent, ATTACHMENTS) => "files",
            (Self::JoyAgent, name) => name,
            (Self::ChatCompletions, "mode") => "model",
            (Self::ChatCompletions, QUESTION | ATTACHMENTS | "base_prompt") => "messages",
            (Self::ChatCompletions, name) => name,
            (Self::ResponsesApi, "mode") => "model",
            (Self::ResponsesApi, QUESTION | ATTACHMENTS) => "input",
            (Self::ResponsesApi, "base_prompt") => "instructions",
            (Self::ResponsesApi, "session_id") => "conversation",
            (Self::ResponsesApi, name) => name,
            (Self::AiSdk, "session_id") => "id",
            (Self::AiSdk, QUESTION | ATTACHMENTS) => "messages",
            (Self::AiSdk, name) => name,
            (Self::AgUi, "session_id") => "threadId",
            (Self::AgUi, QUESTION | ATTACHMENTS) => "messages",
            (Self::AgUi, "base_prompt") => "context",
            (Self::AgUi, "mode") => "forwardedProps.djinn.mode",
            (Self::AgUi, "output_style") => "forwardedProps.djinn.output_style",
            (Self::AgUi, "human_requests") => "forwardedProps.djinn.human_requests",
            (Self::AgUi, name) => name,
            (Self::JoyAgentData, QUESTION) => "content",
            (Self::JoyAgentData, "request_id") => "traceId",
            (Self::JoyAgentData, name) => name,
            (Self::Mcp, "session_id") => "session",
            (Self::Mcp, name) => name,
        }
    }

    /// Renames the invalid field of an error. A question may also be a response to a human request.
    pub(super) fn rename_field(self, error: ApiError) -> ApiError {
        let name = match error.field() {
            // No text of this protocol is a response, and its other names are ours.
            _ if self == Self::Mcp => return error,
            Some(QUESTION | "response" | "parameters") => QUESTION,
            Some(ATTACHMENTS) => ATTACHMENTS,
            Some("base_prompt") => "base_prompt",
            Some("mode") => "mode",
            // Files are parts of messages.
            Some(field)
                if field.starts_with(ATTACHMENTS)
                    && !matches!(self, Self::Native | Self::JoyAgent | Self::JoyAgentData) =>
            {
                ATTACHMENTS
            }
            Some(_) | None => return error,
        };
        error.with_member_name(self.translate(name))
    }
}

/// The fields of a question, common to all endpoints.
pub(super) struct QuestionMembers {
    /// The native form of the request. The next fields replace its files and its mode.
    pub(super) request: RunRequest,
    pub(super) files: Vec<NamedFile>,
    pub(super) mode: ModeChoice,
    /// The fields of the request's type that have no effect in this request.
    pub(super) unused: Vec<&'static str>,
}

impl QuestionMembers {
    pub(super) fn of_run(mut request: RunRequest) -> Self {
        let files = own_files(request.attachments.take());
        let mode = ModeChoice::Name(request.mode.take());
        Self { request, files, mode, unused: Vec::new() }
    }

    /// Takes the fields of JoyAgent's raw protocol.
    pub(super) fn of_joyagent(request: JoyAgentRequest) -> Self {
        let unused = request.deep_think.map(|_| "deepThink");
        let number = request.agent_type.map(|WholeNumber(number)| number);
        let mode = ModeChoice::AgentType(number);
        Self::of_client(request, mode, unused)
    }

    /// Takes the fields of JoyAgent's web page.
    pub(super) fn of_page(request: JoyAgentRequest) -> Self {
        let agent_type = request.agent_type.map(|_| "agentType");
        let is_stream = request.is_stream.map(|_| "isStream");
        let deep_think = request.deep_think.is_some_and(|WholeNumber(number)| number != 0);
        let mode = ModeChoice::DeepThink(deep_think);
        Self::of_client(request, mode, agent_type.into_iter().chain(is_stream))
    }

    fn of_client(
        request: JoyAgentRequest,
        mode: ModeChoice,
        unused: impl IntoIterator<Item = &'static str>,
    ) -> Self {
        let (files, messages) =
            joyagent_files(request.files, request.attachments, request.messages);
        let request = RunRequest {
            question: request.query,
            session_id: request.session_id,
            attachments: None,
            request_id: request.request_id,
            mode: None,
            arguments: None,
            output_style: request.output_style,
            base_prompt: request.base_prompt,
            review: None,
            human_requests: request.human_feedback,
        };
        Self { request, files, mode, unused: messages.into_iter().chain(unused).collect() }
    }
}
