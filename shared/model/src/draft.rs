//! A reply while it is being written.

mod calls;
mod counted;
mod think;
mod thoughts;

use djinn_core::budget::Usage;
use djinn_core::conversation::Reasoning;
use djinn_core::input::{Finish, Reply};
use djinn_core::preview::TextKind;
use djinn_runtime::port::model::Delta;

use crate::fault::Fault;
use crate::names::Names;
use crate::settings::FunctionCallType;
use crate::struct_parse::Fences;
pub(crate) use calls::{CallPiece, Calls, json_text};
pub(crate) use counted::Counted;
use think::Think;
pub(crate) use think::begun;
pub(crate) use thoughts::{Block, Kept};

/// Who is told of every piece as it arrives.
pub(crate) type Listener<'a> = &'a mut (dyn FnMut(Delta<'_>) + Send);

/// What is known of a reply so far. Frame readers fill it; [`Draft::close`] makes the reply of it.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) calls: Calls,
    pub(crate) counted: Counted,
    pub(crate) kept: Kept,
    /// Why it ended, once the provider has said so.
    pub(crate) finish: Option<Finish>,
    /// Whether the provider has said its last word.
    pub(crate) ended: bool,
    /// Whether a piece could not be read: what follows may lack words in the middle.
    pub(crate) torn: bool,
    /// An error that the provider reported in the stream.
    pub(crate) fault: Option<Fault>,
    content: String,
    think: Think,
    fences: Option<Fences>,
    told: Told,
}

#[derive(Debug, Default)]
struct Told {
    text: String,
    reasoning: String,
}

impl Draft {
    pub(crate) fn new(by: String, how: FunctionCallType) -> Self {
        Self {
            calls: Calls::default(),
            counted: Counted::default(),
            kept: Kept { by, ..Kept::default() },
            finish: None,
            ended: false,
            torn: false,
            fault: None,
            content: String::new(),
            think: Think::default(),
            fences: match how {
                FunctionCallType::FunctionCall => None,
                FunctionCallType::StructParse => Some(Fences::default()),
            },
            told: Told::default(),
        }
    }

    /// Adds to the answer.
    pub(crate) fn say(&mut self, piece: &str, out: Listener<'_>) {
        self.content.push_str(piece);
        let (fences, told) = (&mut self.fences, &mut self.told);
        self.think.push(piece, &mut |kind, text| {
            told.pass(fences.as_mut(), kind, text, out);
        });
    }

    /// Takes the whole answer so far, from providers that repeat it: only what is new is added.
    pub(crate) fn say_all(&mut self, whole: &str, out: Listener<'_>) {
        if let Some(rest) = whole.strip_prefix(self.content.as_str()) {
            let rest = rest.to_owned();
            self.say(&rest, out);
        }
    }

    /// Adds to the thoughts.
    pub(crate) fn think(&mut self, piece: &str, out: Listener<'_>) {
        self.told.tell(TextKind::Reasoning, piece, out);
    }

    /// As [`Draft::say_all`], for the thoughts.
    pub(crate) fn think_all(&mut self, whole: &str, out: Listener<'_>) {
        if let Some(rest) = whole.strip_prefix(self.told.reasoning.as_str()) {
            let rest = rest.to_owned();
            self.think(&rest, out);
        }
    }

    /// Whether the provider has said anything at all.
    pub(crate) fn is_blank(&self) -> bool {
        self.content.is_empty()
            && self.told.reasoning.is_empty()
            && self.calls.is_empty()
            && self.finish.is_none()
            && !self.ended
    }

    /// Whether the reply is whole: the provider gave a reason for its end, or ended it in so many
    /// words.
    pub(crate) fn is_whole(&self) -> bool {
        self.fault.is_none() && !self.torn && (self.finish.is_some() || self.ended)
    }

    /// The reply; tells what was still held back.
    pub(crate) fn close(mut self, names: &Names, took_ms: u64, out: Listener<'_>) -> Reply {
        let finish = self.finish.unwrap_or_default();
        let cut = finish != Finish::Done;
        let (fences, told) = (&mut self.fences, &mut self.told);
        self.think.close(&mut |kind, text| {
            told.pass(fences.as_mut(), kind, text, out);
        });
        let mut calls = self.calls.finish(names, cut);
        if let Some(fences) = self.fences {
            let told = &mut self.told;
            calls.extend(fences.close(cut, &mut |text| told.tell(TextKind::Text, text, out)));
        }
        let signature = self.kept.sealed();
        let has_thoughts = !self.told.reasoning.is_empty() || signature.is_some();
        let reasoning = has_thoughts.then_some(Reasoning {
            text: self.told.reasoning,
            signature,
            written: None,
        });
        Reply { text: self.told.text, reasoning, calls, finish, usage: self.counted.usage(took_ms) }
    }

    /// What it has cost so far.
    pub(crate) fn usage(&self, took_ms: u64) -> Usage {
        self.counted.usage(took_ms)
    }
}

impl Told {
    fn pass(&mut self, fences: Option<&mut Fences>, kind: TextKind, text: &str, out: Listener<'_>) {
        match (fences, kind) {
            (Some(fences), TextKind::Text) => {
                fences.push(text, &mut |text| self.tell(TextKind::Text, text, out));
            }
            (None, TextKind::Text) | (_, TextKind::Reasoning) => self.tell(kind, text, out),
        }
    }

    fn tell(&mut self, kind: TextKind, text: &str, out: Listener<'_>) {
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
