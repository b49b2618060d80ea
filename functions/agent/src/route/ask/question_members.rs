//! The fields of a question in one form, for all endpoints.

use djinn_core::settings::Machine;
use djinn_protocol::mode_support::{ModeRequest, find_mode};
use djinn_protocol::request::{JoyAgentRequest, RunRequest, WholeNumber};

use super::attachments::{NamedFile, joyagent_files, own_files};
use super::member_names::{parse_agent_type, parse_mode};
use crate::api_error::ApiError;

/// The fields of a question, common to all endpoints.
pub(super) struct QuestionMembers {
    /// The native form of the request. The next fields replace its files and its mode.
    pub(super) request: RunRequest,
    pub(super) files: Vec<NamedFile>,
    /// The mode, or the error for an unknown mode. Reported after the errors of all other fields.
    pub(super) mode: Result<Machine, ApiError>,
    /// The fields of the request's type that have no effect in this request.
    pub(super) unused: Vec<&'static str>,
}

impl QuestionMembers {
    pub(super) fn of_run(mut request: RunRequest) -> Self {
        let files = own_files(request.attachments.take());
        let mode = parse_mode(request.mode.as_deref());
        Self { request, files, mode, unused: Vec::new() }
    }

    /// Takes the fields of JoyAgent's raw protocol.
    pub(super) fn of_joyagent(request: JoyAgentRequest) -> Self {
        let unused = request.deep_think.map(|_| "deepThink");
        let mode = parse_agent_type(request.agent_type);
        Self::of_client(request, mode, unused)
    }

    /// Takes the fields of JoyAgent's web page.
    pub(super) fn of_page(request: JoyAgentRequest) -> Self {
        let agent_type = request.agent_type.map(|_| "agentType");
        let is_stream = request.is_stream.map(|_| "isStream");
        let deep_think = request.deep_think.is_some_and(|WholeNumber(number)| number != 0);
        let mode = find_mode(ModeRequest::DeepThink(deep_think)).unwrap_or_default();
        Self::of_client(request, Ok(mode), agent_type.into_iter().chain(is_stream))
    }

    fn of_client(
        request: JoyAgentRequest,
        mode: Result<Machine, ApiError>,
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
            output_style: request.output_style,
            base_prompt: request.base_prompt,
            human_requests: request.human_feedback,
        };
        Self { request, files, mode, unused: messages.into_iter().chain(unused).collect() }
    }
}
