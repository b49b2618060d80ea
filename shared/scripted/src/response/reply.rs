//! The content of one reply, in any protocol.

/// The default characters of a text or of a call's arguments in one chunk.
const DELTA_CHARS: usize = 12;

/// The content of one reply.
#[derive(Debug, Clone)]
pub(crate) struct ScriptedReply {
    pub(crate) parts: Vec<ReplyPart>,
    pub(crate) usage: Option<ReportedUsage>,
    pub(crate) finish: ScriptedFinish,
    pub(crate) done: bool,
    pub(crate) delta_chars: usize,
}

#[derive(Debug, Clone)]
pub(crate) enum ReplyPart {
    Reasoning(String),
    Text(ScriptedText),
    Call(ScriptedCall),
}

#[derive(Debug, Clone)]
pub(crate) enum ScriptedText {
    Whole(String),
    Deltas(Vec<String>),
}

#[derive(Debug, Clone)]
pub(crate) struct ScriptedCall {
    pub(crate) tool: String,
    /// The arguments as sent, not necessarily JSON.
    pub(crate) arguments: String,
    /// True if the request must offer the tool.
    pub(crate) must_be_offered: bool,
}

/// Tokens as counted by OpenAI: `input` includes `cached`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReportedUsage {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cached: u64,
}

#[derive(Debug, Clone)]
pub(crate) enum ScriptedFinish {
    /// `tool_calls` after calls, otherwise `stop`.
    Natural,
    Reason(String),
    Missing,
}

impl Default for ScriptedReply {
    fn default() -> Self {
        Self {
            parts: Vec::new(),
            usage: Some(ReportedUsage { input: 100, output: 20, cached: 0 }),
            finish: ScriptedFinish::Natural,
            done: true,
            delta_chars: DELTA_CHARS,
        }
    }
}

impl ReplyPart {
    /// Returns the bytes of the text or the arguments.
    pub(crate) fn byte_len(&self) -> usize {
        match self {
            Self::Reasoning(text) | Self::Text(ScriptedText::Whole(text)) => text.len(),
            Self::Text(ScriptedText::Deltas(deltas)) => deltas.iter().map(String::len).sum(),
            Self::Call(call) => call.arguments.len(),
        }
    }
}

impl ScriptedReply {
    /// Returns the deltas of a text.
    pub(crate) fn text_deltas(&self, text: &ScriptedText) -> Vec<String> {
        match text {
            ScriptedText::Whole(whole) => self.split_text(whole),
            ScriptedText::Deltas(deltas) => deltas.clone(),
        }
    }

    /// Splits a text into pieces of the configured length.
    pub(crate) fn split_text(&self, text: &str) -> Vec<String> {
        let characters: Vec<char> = text.chars().collect();
        characters.chunks(self.delta_chars).map(|piece| piece.iter().collect()).collect()
    }

    /// Returns true if the reply has a call.
    pub(crate) fn has_calls(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, ReplyPart::Call(_)))
    }

    /// Returns the finish reason, in OpenAI's words.
    pub(crate) fn finish_reason(&self) -> Option<&str> {
        match &self.finish {
            ScriptedFinish::Natural if self.has_calls() => Some("tool_calls"),
            ScriptedFinish::Natural => Some("stop"),
            ScriptedFinish::Reason(reason) => Some(reason),
            ScriptedFinish::Missing => None,
        }
    }
}
