//! What a model says in one reply, whatever the protocol.

/// Characters of a text or of a call's arguments in one chunk, unless a script says otherwise.
const DELTA_CHARS: usize = 12;

/// What a model says in one reply.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) parts: Vec<Part>,
    pub(crate) usage: Option<Usage>,
    pub(crate) finish: Finish,
    pub(crate) done: bool,
    pub(crate) delta_chars: usize,
}

#[derive(Debug, Clone)]
pub(crate) enum Part {
    Reasoning(String),
    Text(Text),
    Call(ToolCall),
}

#[derive(Debug, Clone)]
pub(crate) enum Text {
    Whole(String),
    Deltas(Vec<String>),
}

#[derive(Debug, Clone)]
pub(crate) struct ToolCall {
    pub(crate) tool: String,
    /// As sent, so not necessarily JSON.
    pub(crate) arguments: String,
    /// Whether the request must offer the tool.
    pub(crate) offered: bool,
}

/// Tokens as OpenAI counts them: `input` includes `cached`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cached: u64,
}

#[derive(Debug, Clone)]
pub(crate) enum Finish {
    /// `tool_calls` after calls, else `stop`.
    Natural,
    Reason(String),
    Missing,
}

impl Default for Said {
    fn default() -> Self {
        Self {
            parts: Vec::new(),
            usage: Some(Usage { input: 100, output: 20, cached: 0 }),
            finish: Finish::Natural,
            done: true,
            delta_chars: DELTA_CHARS,
        }
    }
}

impl Part {
    /// Bytes of what is said or sent as arguments.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Reasoning(text) | Self::Text(Text::Whole(text)) => text.len(),
            Self::Text(Text::Deltas(deltas)) => deltas.iter().map(String::len).sum(),
            Self::Call(call) => call.arguments.len(),
        }
    }
}

impl Said {
    /// The deltas of a text.
    pub(crate) fn deltas_of(&self, text: &Text) -> Vec<String> {
        match text {
            Text::Whole(whole) => self.split(whole),
            Text::Deltas(deltas) => deltas.clone(),
        }
    }

    /// A text in pieces of the chosen length.
    pub(crate) fn split(&self, text: &str) -> Vec<String> {
        let characters: Vec<char> = text.chars().collect();
        characters.chunks(self.delta_chars).map(|piece| piece.iter().collect()).collect()
    }

    /// Whether it calls a tool.
    pub(crate) fn has_calls(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Call(_)))
    }

    /// Why it finishes, in OpenAI's words.
    pub(crate) fn finish_reason(&self) -> Option<&str> {
        match &self.finish {
            Finish::Natural if self.has_calls() => Some("tool_calls"),
            Finish::Natural => Some("stop"),
            Finish::Reason(reason) => Some(reason),
            Finish::Missing => None,
        }
    }
}
