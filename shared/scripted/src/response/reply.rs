//! What a model says in one reply, whatever the protocol.

/// Characters of a text or of a call's arguments in one chunk, unless a script says otherwise.
const DELTA_CHARS: usize = 12;

/// What a model says in one reply.
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
    /// As sent, so not necessarily JSON.
    pub(crate) arguments: String,
    /// Whether the request must offer the tool.
    pub(crate) must_be_offered: bool,
}

/// Tokens as OpenAI counts them: `input` includes `cached`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReportedUsage {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cached: u64,
}

#[derive(Debug, Clone)]
pub(crate) enum ScriptedFinish {
    /// `tool_calls` after calls, else `stop`.
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
    /// Bytes of what is said or sent as arguments.
    pub(crate) fn byte_len(&self) -> usize {
        match self {
            Self::Reasoning(text) | Self::Text(ScriptedText::Whole(text)) => text.len(),
            Self::Text(ScriptedText::Deltas(deltas)) => deltas.iter().map(String::len).sum(),
            Self::Call(call) => call.arguments.len(),
        }
    }
}

impl ScriptedReply {
    /// The deltas of a text.
    pub(crate) fn text_deltas(&self, text: &ScriptedText) -> Vec<String> {
        match text {
            ScriptedText::Whole(whole) => self.split_text(whole),
            ScriptedText::Deltas(deltas) => deltas.clone(),
        }
    }

    /// A text in pieces of the chosen length.
    pub(crate) fn split_text(&self, text: &str) -> Vec<String> {
        let characters: Vec<char> = text.chars().collect();
        characters.chunks(self.delta_chars).map(|piece| piece.iter().collect()).collect()
    }

    /// Whether it calls a tool.
    pub(crate) fn has_calls(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, ReplyPart::Call(_)))
    }

    /// Why it finishes, in OpenAI's words.
    pub(crate) fn finish_reason(&self) -> Option<&str> {
        match &self.finish {
            ScriptedFinish::Natural if self.has_calls() => Some("tool_calls"),
            ScriptedFinish::Natural => Some("stop"),
            ScriptedFinish::Reason(reason) => Some(reason),
            ScriptedFinish::Missing => None,
        }
    }
}
