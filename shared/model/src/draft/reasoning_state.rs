//! The part of a model's thoughts to send back, kept in the opaque signature of a turn's reasoning.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The data that a provider requires back with the turn, as journaled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReasoningState {
    /// `provider/model`: no other model is sent these.
    pub(crate) model_id: String,
    /// True if the whole text is sent back beside the answer (DeepSeek, Kimi).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) echo: bool,
    /// Signed blocks, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) blocks: Vec<ReasoningBlock>,
    /// The signature of each call, where calls have their own (Gemini).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) calls: Vec<Option<String>>,
}

/// A block of thoughts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReasoningBlock {
    /// The next `bytes` of the text under this signature.
    Signed {
        /// The block's length in the text, in bytes.
        bytes: usize,
        /// The signature is the provider's own, and goes back unchanged.
        signature: String,
    },
    /// A signature without text.
    Detached(String),
    /// A block without text, sent back unchanged.
    Opaque(Value),
}

impl ReasoningState {
    /// Returns the signature of a reply's reasoning, or `None` if no data must be sent back.
    pub(crate) fn to_signature(&self) -> Option<String> {
        let is_empty =
            !self.echo && self.blocks.is_empty() && self.calls.iter().all(Option::is_none);
        (!is_empty).then(|| serde_json::to_string(self).ok()).flatten()
    }

    /// Returns the content of a signature for this model, or `None` if another model or program wrote the
    /// signature.
    pub(crate) fn from_signature(signature: Option<&str>, by: &str) -> Option<Self> {
        serde_json::from_str::<Self>(signature?).ok().filter(|state| state.model_id == by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_kept_comes_back_to_the_same_model_only() {
        let kept = ReasoningState {
            model_id: "anthropic/claude".to_owned(),
            blocks: vec![
                ReasoningBlock::Signed { bytes: 5, signature: "sig".to_owned() },
                ReasoningBlock::Opaque(json!({"type": "redacted_thinking", "data": "x"})),
            ],
            calls: vec![None, Some("sig2".to_owned())],
            echo: false,
        };
        let sealed = kept.to_signature().unwrap();
        assert_eq!(
            sealed,
            r#"{"model_id":"anthropic/claude","blocks":[{"signed":{"bytes":5,"signature":"sig"}},{"opaque":{"type":"redacted_thinking","data":"x"}}],"calls":[null,"sig2"]}"#
        );
        assert_eq!(ReasoningState::from_signature(Some(&sealed), "anthropic/claude"), Some(kept));
        assert_eq!(ReasoningState::from_signature(Some(&sealed), "openai/gpt-4.1"), None);
        assert_eq!(ReasoningState::from_signature(Some("EqQBCkYIARgC"), "anthropic/claude"), None);
        assert_eq!(ReasoningState::default().to_signature(), None);
    }
}
