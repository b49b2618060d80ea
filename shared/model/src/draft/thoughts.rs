//! What must be sent back of a model's thoughts, kept in the opaque signature of a turn's reasoning.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a provider wants back with the turn, as the journal keeps it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// `provider/model`: no other model is sent these.
    #[serde(rename = "by")]
    pub(crate) by: String,
    /// Whether the whole text goes back beside the answer (DeepSeek, Kimi).
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) echo: bool,
    /// Signed blocks, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) blocks: Vec<Block>,
    /// The signature of each call, where calls have their own (Gemini).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) calls: Vec<Option<String>>,
}

/// One block of thoughts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Block {
    /// The next `bytes` of the text under this signature.
    Signed {
        /// Its length in the text.
        bytes: usize,
        /// The signature.
        signature: String,
    },
    /// A signature that belongs to no text.
    Mark(String),
    /// A block that shows no text and goes back as it came.
    Hidden(Value),
}

impl Kept {
    /// The signature of a reply's reasoning; `None` when nothing must go back.
    pub(crate) fn sealed(&self) -> Option<String> {
        let is_empty =
            !self.echo && self.blocks.is_empty() && self.calls.iter().all(Option::is_none);
        (!is_empty).then(|| serde_json::to_string(self).ok()).flatten()
    }

    /// What a signature holds for this model; nothing if it is another's, or not ours at all.
    pub(crate) fn opened(signature: Option<&str>, by: &str) -> Option<Self> {
        serde_json::from_str::<Self>(signature?).ok().filter(|kept| kept.by == by)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_kept_comes_back_to_the_same_model_only() {
        let kept = Kept {
            by: "anthropic/claude".to_owned(),
            blocks: vec![
                Block::Signed { bytes: 5, signature: "sig".to_owned() },
                Block::Hidden(json!({"type": "redacted_thinking", "data": "x"})),
            ],
            calls: vec![None, Some("sig2".to_owned())],
            echo: false,
        };
        let sealed = kept.sealed().unwrap();
        assert_eq!(
            sealed,
            r#"{"by":"anthropic/claude","blocks":[{"signed":{"bytes":5,"signature":"sig"}},{"hidden":{"type":"redacted_thinking","data":"x"}}],"calls":[null,"sig2"]}"#
        );
        assert_eq!(Kept::opened(Some(&sealed), "anthropic/claude"), Some(kept));
        assert_eq!(Kept::opened(Some(&sealed), "openai/gpt-4.1"), None);
        assert_eq!(Kept::opened(Some("EqQBCkYIARgC"), "anthropic/claude"), None);
        assert_eq!(Kept::default().sealed(), None);
    }
}
