//! The fields of a question under each endpoint's names.

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::settings::{Machine, OutputStyle};
use djinn_protocol::mode_support::{MODES, ModeRequest, ModeSupport, find_mode};
use djinn_protocol::request::WholeNumber;
use djinn_runtime::texts::{ATTACHMENTS, QUESTION};

use crate::api_error::ApiError;
use crate::unknown::UnknownMembers;

/// An endpoint's names for the fields of a question.
pub(super) struct MemberNames {
    pub(super) question: &'static str,
    pub(super) session: &'static str,
    pub(super) request: &'static str,
    pub(super) style: &'static str,
    /// True if the endpoint's clients cannot change. Fields without effect are reported, not rejected.
    pub(super) lenient: bool,
    pub(super) base_prompt: &'static str,
    pub(super) human_requests: &'static str,
    pub(super) attachments: &'static str,
    /// True if the endpoint's events contain digital employees.
    pub(super) employees: bool,
}

/// The field names of `POST /AutoAgent` and of JoyAgent's UI.
pub(super) const JOYAGENT: MemberNames = MemberNames {
    question: "query",
    session: "sessionId",
    request: "requestId",
    style: "outputStyle",
    lenient: true,
    base_prompt: "basePrompt",
    human_requests: "humanFeedback",
    attachments: "files",
    employees: true,
};

pub(super) const NATIVE: MemberNames = MemberNames {
    question: "question",
    session: "session_id",
    request: "request_id",
    style: "output_style",
    lenient: false,
    base_prompt: "base_prompt",
    human_requests: "human_requests",
    attachments: "attachments",
    employees: false,
};

impl MemberNames {
    /// Renames the invalid field of an error to this endpoint's name. A question may also be a response to a
    /// human request.
    pub(super) fn rename_member(&self, refusal: ApiError) -> ApiError {
        match refusal.field() {
            Some(QUESTION | "response" | "parameters") => refusal.with_member_name(self.question),
            Some(ATTACHMENTS) => refusal.with_member_name(self.attachments),
            Some("base_prompt") => refusal.with_member_name(self.base_prompt),
            Some(_) | None => refusal,
        }
    }

    /// Returns the fields without effect, including an unknown style.
    ///
    /// # Errors
    /// Returns `invalid_field` for the first unknown field, if the endpoint's clients can change.
    pub(super) fn ignored(
        &self,
        unknown: &UnknownMembers,
        is_unknown_style: bool,
    ) -> Result<Vec<String>, ApiError> {
        if !self.lenient {
            unknown.require_none()?;
        }
        let mut names = unknown.header_names();
        names.extend(is_unknown_style.then(|| self.style.to_owned()));
        Ok(names)
    }

    /// Parses an output style; `None` for a name unknown to Djinn.
    pub(super) fn parse_style(&self, word: Option<&str>) -> Result<Option<OutputStyle>, ApiError> {
        let Some(word) = word else { return Ok(None) };
        match OutputStyle::parse(word) {
            None if !self.lenient => {
                Err(ApiError::from(ErrorCode::UnknownStyle).with_field(self.style))
            }
            style => Ok(style),
        }
    }
}

/// Parses JoyAgent's number of an agent.
pub(super) fn parse_agent_type(number: Option<WholeNumber>) -> Result<Machine, ApiError> {
    let number = number.map(|WholeNumber(number)| number);
    find_mode(ModeRequest::AgentType(number)).ok_or_else(|| {
        let describe =
            |support: &ModeSupport| format!("{} ({})", support.agent_type, support.title);
        unknown_mode("agentType", describe)
    })
}

pub(super) fn parse_mode(word: Option<&str>) -> Result<Machine, ApiError> {
    find_mode(ModeRequest::Word(word))
        .ok_or_else(|| unknown_mode("mode", |support| format!("`{}`", support.mode.as_str())))
}

fn unknown_mode(field: &'static str, describe: impl Fn(&ModeSupport) -> String) -> ApiError {
    let there_are = MODES.iter().map(describe).collect::<Vec<_>>().join(" and ");
    let unknown = Failure::new(ErrorCode::UnknownAgent, format!("there are {there_are}"));
    ApiError::from(unknown).with_field(field)
}
