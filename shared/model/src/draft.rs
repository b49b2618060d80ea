//! A reply while it is being written.

mod calls;
mod reasoning_state;
mod think_splitter;
mod token_counts;

use djinn_core::budget::Usage;
use djinn_core::conversation::Reasoning;
use djinn_core::input::{FinishReason, Reply};
use djinn_core::tool::ToolSpec;
use djinn_runtime::port::model::{Delta, TextKind};

use crate::fault::ModelFault;
use crate::settings::FunctionCallType;
use crate::struct_parse::FenceScanner;
use crate::text_calls::TextCallScanner;
use crate::tool_names::ToolNames;
pub(crate) use calls::{CallAssembler, CallPiece, to_json_text};
pub(crate) use reasoning_state::{ReasoningBlock, ReasoningState};
use think_splitter::ThinkSplitter;
pub(crate) use think_splitter::partial_mark_len;
pub(crate) use token_counts::TokenCounts;

/// Who is told of every piece as it arrives.
pub(crate) type DeltaSink<'a> = &'a mut (dyn FnMut(Delta<'_>) + Send);

/// What is known of a reply so far. Frame readers fill it; [`Draft::into_reply`] makes the reply of it.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) calls: CallAssembler,
    pub(crate) token_counts: TokenCounts,
    pub(crate) reasoning_state: ReasoningState,
    /// Why it ended, once the provider has said so.
    pub(crate) finish: Option<FinishReason>,
    /// Whether the provider has said its last word.
    pub(crate) ended: bool,
    /// Whether a piece could not be read: what follows may lack words in the middle.
    pub(crate) incomplete: bool,
    /// An error that the provider reported in the stream.
    pub(crate) fault: Option<ModelFault>,
    content: String,
    splitter: ThinkSplitter,
    scanner: TextScanner,
    emitted: EmittedText,
}

/// What takes calls out of the text.
#[derive(Debug)]
enum TextScanner {
    Fences(FenceScanner),
    Marks(TextCallScanner),
}

#[derive(Debug, Default)]
struct EmittedText {
    text: String,
    reasoning: String,
}

impl Draft {
    pub(crate) fn new(by: String, how: FunctionCallType) -> Self {
        Self {
            calls: CallAssembler::default(),
            token_counts: TokenCounts::default(),
            reasoning_state: ReasoningState { model_id: by, ..ReasoningState::default() },
            finish: None,
            ended: false,
            incomplete: false,
            fault: None,
            content: String::new(),
            splitter: ThinkSplitter::default(),
            scanner: match how {
                FunctionCallType::FunctionCall => TextScanner::Marks(TextCallScanner::default()),
                FunctionCallType::StructParse => TextScanner::Fences(FenceScanner::default()),
            },
            emitted: EmittedText::default(),
        }
    }

    /// Adds to the answer.
    pub(crate) fn append_text(&mut self, piece: &str, out: DeltaSink<'_>) {
        self.content.push_str(piece);
        let (scanner, told) = (&mut self.scanner, &mut self.emitted);
        self.splitter.push(piece, &mut |kind, text| told.route_text(scanner, kind, text, out));
    }

    /// Takes the whole answer so far, from providers that repeat it: only what is new is added.
    pub(crate) fn sync_text(&mut self, whole: &str, out: DeltaSink<'_>) {
        if let Some(rest) = whole.strip_prefix(self.content.as_str()) {
            let rest = rest.to_owned();
            self.append_text(&rest, out);
        }
    }

    /// Adds to the thoughts.
    pub(crate) fn append_reasoning(&mut self, piece: &str, out: DeltaSink<'_>) {
        self.emitted.emit_delta(TextKind::Reasoning, piece, out);
    }

    /// As [`Draft::sync_text`], for the thoughts.
    pub(crate) fn sync_reasoning(&mut self, whole: &str, out: DeltaSink<'_>) {
        if let Some(rest) = whole.strip_prefix(self.emitted.reasoning.as_str()) {
            let rest = rest.to_owned();
            self.append_reasoning(&rest, out);
        }
    }

    /// Whether the provider has said anything at all.
    pub(crate) fn is_blank(&self) -> bool {
        self.content.is_empty()
            && self.emitted.reasoning.is_empty()
            && self.calls.is_empty()
            && self.finish.is_none()
            && !self.ended
    }

    /// Whether the reply is whole: the provider gave a reason for its end, or ended it in so many
    /// words.
    pub(crate) fn is_complete(&self) -> bool {
        self.fault.is_none() && !self.incomplete && (self.finish.is_some() || self.ended)
    }

    /// The reply; tells what was still held back.
    pub(crate) fn into_reply(
        mut self,
        (tools, names): (&[ToolSpec], &ToolNames),
        took_ms: u64,
        out: DeltaSink<'_>,
    ) -> Reply {
        let finish = self.finish.unwrap_or_default();
        let cut = finish != FinishReason::Done;
        let (scanner, told) = (&mut self.scanner, &mut self.emitted);
        self.splitter.flush_rest(&mut |kind, text| told.route_text(scanner, kind, text, out));
        let mut calls = self.calls.into_calls(names, cut);
        let emit = &mut |text: &str| told.emit_delta(TextKind::Text, text, out);
        calls.extend(match self.scanner {
            TextScanner::Fences(fences) => fences.into_calls(cut, emit),
            // Whoever uses the interface writes nothing else.
            TextScanner::Marks(marks) => {
                let tools = if calls.is_empty() { tools } else { &[] };
                marks.into_calls(tools, names, emit)
            }
        });
        let signature = self.reasoning_state.to_signature();
        let has_thoughts = !self.emitted.reasoning.is_empty() || signature.is_some();
        let reasoning = has_thoughts.then_some(Reasoning {
            text: self.emitted.reasoning,
            signature,
            original: None,
        });
        Reply {
            text: self.emitted.text,
            reasoning,
            calls,
            finish,
            usage: self.token_counts.usage(took_ms),
        }
    }

    /// What it has cost so far.
    pub(crate) fn usage(&self, took_ms: u64) -> Usage {
        self.token_counts.usage(took_ms)
    }
}

impl EmittedText {
    fn route_text(
        &mut self,
        scanner: &mut TextScanner,
        kind: TextKind,
        text: &str,
        out: DeltaSink<'_>,
    ) {
        let emit = &mut |text: &str| self.emit_delta(kind, text, out);
        match (kind, scanner) {
            (TextKind::Reasoning, _) => emit(text),
            (TextKind::Text, TextScanner::Fences(fences)) => fences.push(text, emit),
            (TextKind::Text, TextScanner::Marks(marks)) => marks.push(text, emit),
        }
    }

    fn emit_delta(&mut self, kind: TextKind, text: &str, out: DeltaSink<'_>) {
        if text.is_empty() {
            return;
        }
        match kind {
            TextKind::Text => self.text.push_str(text),
            TextKind::Reasoning => self.reasoning.push_str(text),
        }
        out(Delta { kind, text });
    }
}
