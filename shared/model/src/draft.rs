//! A reply in progress.

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

/// The receiver of every piece on arrival.
pub(crate) type DeltaSink<'a> = &'a mut (dyn FnMut(Delta<'_>) + Send);

/// The known part of a reply. Frame readers fill the draft; [`Draft::into_reply`] creates the reply.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) calls: CallAssembler,
    pub(crate) token_counts: TokenCounts,
    pub(crate) reasoning_state: ReasoningState,
    /// The finish reason, once received.
    pub(crate) finish: Option<FinishReason>,
    /// True once the provider has marked the end of the stream.
    pub(crate) ended: bool,
    /// True if a piece was unreadable, so later text may have gaps.
    pub(crate) incomplete: bool,
    /// An error reported by the provider in the stream.
    pub(crate) fault: Option<ModelFault>,
    content: String,
    splitter: ThinkSplitter,
    scanner: TextScanner,
    emitted: EmittedText,
}

/// The scanner for calls within the text.
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
        let scanner = &mut self.scanner;
        let emitted = &mut self.emitted;
        self.splitter.push(piece, &mut |kind, text| emitted.route_text(scanner, kind, text, out));
    }

    /// Takes the whole answer so far, from providers with cumulative pieces, and adds only the new part.
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

    /// Adds new thoughts, in the same way as [`Draft::sync_text`].
    pub(crate) fn sync_reasoning(&mut self, whole: &str, out: DeltaSink<'_>) {
        if let Some(rest) = whole.strip_prefix(self.emitted.reasoning.as_str()) {
            let rest = rest.to_owned();
            self.append_reasoning(&rest, out);
        }
    }

    /// Returns true if the provider has sent no content.
    pub(crate) fn is_blank(&self) -> bool {
        self.content.is_empty()
            && self.emitted.reasoning.is_empty()
            && self.calls.is_empty()
            && self.finish.is_none()
            && !self.ended
    }

    /// Returns true if the reply is complete: the provider sent a finish reason or an explicit end.
    pub(crate) fn is_complete(&self) -> bool {
        self.fault.is_none() && !self.incomplete && (self.finish.is_some() || self.ended)
    }

    /// Creates the reply and sends all text still held back.
    pub(crate) fn into_reply(
        mut self,
        (tools, names): (&[ToolSpec], &ToolNames),
        took_ms: u64,
        out: DeltaSink<'_>,
    ) -> Reply {
        let finish = self.finish.unwrap_or_default();
        let cut = finish != FinishReason::Done;
        let scanner = &mut self.scanner;
        let emitted = &mut self.emitted;
        self.splitter.flush_rest(&mut |kind, text| emitted.route_text(scanner, kind, text, out));
        let mut calls = self.calls.into_calls(names, cut);
        let emit = &mut |text: &str| emitted.emit_delta(TextKind::Text, text, out);
        calls.extend(match self.scanner {
            TextScanner::Fences(fences) => fences.into_calls(cut, emit),
            // Models with native tool calls write no calls as text.
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

    /// Returns the usage so far.
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
