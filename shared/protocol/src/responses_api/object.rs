//! A response as an object, for its first and last events and as a document.

use djinn_core::id::RunId;
use djinn_core::status::RunStatus;
use serde_json::{Value, json};

use super::number::SequenceNumber;
use crate::body::{
    IncompleteDetailsBody, ResponseErrorBody, ResponseMetadataBody, ResponseObjectBody,
    ResponseSessionBody, ResponseUsageBody,
};

/// The response as the client asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponsesApiOptions {
    /// The name of the model in the request, or of the run's mode.
    pub model: String,
    /// The session of the run.
    pub session: String,
    /// The response that the request continues.
    pub previous: Option<String>,
    /// True if the request did not wait for the run.
    pub is_background: bool,
    /// The form of the response.
    pub form: ResponsesApiForm,
}

/// The form of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponsesApiForm {
    /// Server-sent events.
    Stream {
        /// The last event that the client has received.
        after: Option<SequenceNumber>,
    },
    /// One JSON document at the end.
    Document,
}

/// The facts of a response's end.
#[derive(Default)]
pub(super) struct EndFacts {
    pub(super) error: Option<ResponseErrorBody>,
    pub(super) incomplete: Option<&'static str>,
    pub(super) usage: Option<ResponseUsageBody>,
}

/// The facts of a run.
#[derive(Clone, Copy)]
pub(super) struct RunFacts<'a> {
    pub(super) run: &'a RunId,
    /// The start of the run, Unix seconds.
    pub(super) created_s: i64,
    pub(super) run_status: RunStatus,
}

impl ResponsesApiOptions {
    /// Returns the response with these items.
    pub(super) fn describe(
        &self,
        facts: RunFacts<'_>,
        status: &'static str,
        end: EndFacts,
        output: &[Value],
    ) -> Value {
        let Self { model, session, previous, is_background, .. } = self;
        json!(ResponseObjectBody {
            id: facts.run,
            object: "response",
            created_at: facts.created_s,
            status,
            background: *is_background,
            error: end.error,
            incomplete_details: end.incomplete.map(|reason| IncompleteDetailsBody { reason }),
            model,
            output,
            previous_response_id: previous.as_deref(),
            conversation: ResponseSessionBody { id: session },
            usage: end.usage,
            metadata: ResponseMetadataBody { run_status: facts.run_status },
            parallel_tool_calls: true,
            tool_choice: "auto",
            tools: [],
            temperature: None,
            top_p: None,
        })
    }
}
