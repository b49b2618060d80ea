//! Responses to human requests.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::request::value::{optional_text, required_text};

/// A response to a human request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FeedbackRequest {
    /// The id of the human request or of the request's group.
    #[serde(deserialize_with = "required_text")]
    pub feedback_id: String,
    /// `confirm`, `modify`, `skip`, `stop`, or a text for the model; for `modify`, optionally the parameters.
    /// May be absent if `parameters` is present.
    pub feedback: Option<FeedbackWords>,
    /// The replacement parameters for `modify`.
    pub parameters: Option<Map<String, Value>>,
    /// An additional comment, at most 4 096 bytes.
    #[serde(default, deserialize_with = "optional_text")]
    pub comment: Option<String>,
    /// The digest of the request as shown to the user. A response with another digest is rejected.
    #[serde(default, deserialize_with = "optional_text")]
    pub digest: Option<String>,
}

/// The response: a text, or replacement parameters.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "must be a non-empty string, or an object of parameters")]
pub enum FeedbackWords {
    /// A word of the API, or a text for the model.
    Words(String),
    /// The parameters of `modify`.
    Parameters(Map<String, Value>),
}
