//! The declared risk and cost of a tool's calls.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Risk, canonical_json};
use crate::estimate::Estimate;

/// The declared risk and cost of a tool's calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolPolicy {
    /// The possible harm of a wrong call.
    pub risk: Risk,
    /// The calls without harm, regardless of the risk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub safe_arguments: Option<SafeArguments>,
    /// True if calls send data to others.
    pub sends_out: bool,
    /// The name of the URL argument of a tool that only sends a request to this URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url_argument: Option<String>,
    /// True if the deployment's operator chose the recipient of the data.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sends_to_operator: bool,
    /// The maximum characters of arguments with which a call counts as one to such a recipient. Only for tools that
    /// change nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trusted_chars: Option<u32>,
    /// True if results contain text that anybody may have written.
    pub untrusted: bool,
    /// True if results may repeat the model's own text, so that their URLs are not known URLs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub echoes_model: bool,
    /// True if the agent takes the run over: the call is its caller's last act.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hands_over: bool,
    /// SHA-256 of the definition of a tool that is a file. A changed definition is another tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// The usual cost of a call.
    pub estimate: Estimate,
}

impl ToolPolicy {
    /// Returns true if a call with these arguments may reveal the run's data to others than the deployment's
    /// operator.
    #[must_use]
    pub fn can_leak(&self, arguments: &Map<String, Value>) -> bool {
        let is_short = self.trusted_chars.is_some_and(|most| {
            let text = canonical_json(&Value::Object(arguments.clone()));
            text.chars().nth(most as usize).is_none()
        });
        self.sends_out && !self.sends_to_operator && !is_short
    }

    /// Returns the URL of a call that only sends a request to this URL.
    #[must_use]
    pub fn requested_url<'a>(&self, arguments: &'a Map<String, Value>) -> Option<&'a str> {
        arguments.get(self.url_argument.as_ref()?)?.as_str()
    }

    /// Returns true if a call with these arguments changes nothing, regardless of the risk.
    #[must_use]
    pub fn is_harmless(&self, arguments: &Map<String, Value>) -> bool {
        self.safe_arguments.as_ref().is_some_and(|harmless| {
            let value = arguments.get(&harmless.argument).and_then(Value::as_str);
            value.is_some_and(|value| harmless.values.iter().any(|own| own == value))
        })
    }
}

/// The values of an argument with which a tool's calls change nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SafeArguments {
    /// The name of the argument.
    pub argument: String,
    /// The harmless values of the argument.
    pub values: Vec<String>,
}
