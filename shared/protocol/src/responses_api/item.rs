//! The items of a response, reasoning and texts, with the events of each.

use djinn_text::citations::list_sources;
use serde_json::{Value, json};

use super::writer::{EventWriter, NamedEvent};
use crate::preview::TextKind;

/// The events of an item that a client has received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum ItemStage {
    #[default]
    Absent,
    /// The item, without content.
    Added,
    /// The item's only part, and possibly text.
    Open,
    TextDone,
    PartDone,
    Done,
}

/// The extent of an item on a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ItemProgress {
    pub(super) stage: ItemStage,
    /// The bytes of text.
    pub(super) len: usize,
}

impl ItemProgress {
    /// Returns true for an item without its last event.
    pub(super) fn is_open(self) -> bool {
        self.stage > ItemStage::Absent && self.stage < ItemStage::Done
    }
}

/// The numbers that [`ResponseItem::write_rest`] uses.
pub(super) const EVENTS_PER_ITEM: u64 = 6;

/// An item with one part.
pub(super) struct ResponseItem {
    pub(super) kind: TextKind,
    /// The place among the items of the response. Places may be unused.
    index: u64,
    id: String,
}

impl ResponseItem {
    /// Creates an item whose id begins with the kind and contains `run`, the digits of the run's id.
    pub(super) fn new(kind: TextKind, run: &str, index: u64) -> Self {
        let begin = match kind {
            TextKind::Text => "msg",
            TextKind::Reasoning => "rs",
        };
        Self { kind, index, id: format!("{begin}_{run}_{index}") }
    }

    /// Writes the events of the item that the client has not received, with the rest of the text.
    pub(super) fn write_rest(&self, from: ItemProgress, text: &str, writer: &mut EventWriter) {
        let ItemProgress { stage, len } = from;
        let rest = text.get(len..).unwrap_or_default();
        writer.write_if(stage < ItemStage::Added, || self.added());
        writer.write_if(stage < ItemStage::Open, || self.part_added());
        writer.write_if(stage < ItemStage::TextDone && !rest.is_empty(), || self.delta(rest));
        self.write_closing(stage, text, writer);
    }

    /// Writes the events that close the item.
    pub(super) fn write_closing(&self, stage: ItemStage, text: &str, writer: &mut EventWriter) {
        writer.write_if(stage < ItemStage::TextDone, || self.text_done(text));
        writer.write_if(stage < ItemStage::PartDone, || self.part_done(text));
        writer.write_if(stage < ItemStage::Done, || self.done(&self.to_json(text, "completed")));
    }

    /// Returns the complete item with this text.
    pub(super) fn to_json(&self, text: &str, status: &str) -> Value {
        self.with_content(&[self.part(text)], status)
    }

    fn with_content(&self, parts: &[Value], status: &str) -> Value {
        let id = &self.id;
        match self.kind {
            TextKind::Text => json!({
                "id": id, "type": "message", "role": "assistant", "status": status, "content": parts,
            }),
            TextKind::Reasoning => {
                json!({"id": id, "type": "reasoning", "status": status, "summary": parts})
            }
        }
    }

    fn part(&self, text: &str) -> Value {
        match self.kind {
            TextKind::Text => {
                json!({"type": "output_text", "text": text, "annotations": list_citations(text)})
            }
            TextKind::Reasoning => json!({"type": "summary_text", "text": text}),
        }
    }

    pub(super) fn added(&self) -> NamedEvent {
        let item = self.with_content(&[], "in_progress");
        ("response.output_item.added", json!({"output_index": self.index, "item": item}))
    }

    pub(super) fn part_added(&self) -> NamedEvent {
        match self.kind {
            TextKind::Text => {
                ("response.content_part.added", self.part_fields("part", &self.part("")))
            }
            TextKind::Reasoning => {
                ("response.reasoning_summary_part.added", self.part_fields("part", &self.part("")))
            }
        }
    }

    pub(super) fn delta(&self, text: &str) -> NamedEvent {
        let name = match self.kind {
            TextKind::Text => "response.output_text.delta",
            TextKind::Reasoning => "response.reasoning_summary_text.delta",
        };
        (name, self.text_fields("delta", text))
    }

    fn text_done(&self, text: &str) -> NamedEvent {
        let name = match self.kind {
            TextKind::Text => "response.output_text.done",
            TextKind::Reasoning => "response.reasoning_summary_text.done",
        };
        (name, self.text_fields("text", text))
    }

    fn part_done(&self, text: &str) -> NamedEvent {
        let name = match self.kind {
            TextKind::Text => "response.content_part.done",
            TextKind::Reasoning => "response.reasoning_summary_part.done",
        };
        (name, self.part_fields("part", &self.part(text)))
    }

    /// Returns the last event of the item.
    pub(super) fn done(&self, item: &Value) -> NamedEvent {
        ("response.output_item.done", json!({"output_index": self.index, "item": item}))
    }

    fn text_fields(&self, name: &str, text: &str) -> Value {
        let mut fields = self.part_fields(name, &json!(text));
        if let (TextKind::Text, Some(fields)) = (self.kind, fields.as_object_mut()) {
            fields.insert("logprobs".to_owned(), json!([]));
        }
        fields
    }

    /// Returns the fields of an event about the item's part.
    fn part_fields(&self, name: &str, value: &Value) -> Value {
        let index = match self.kind {
            TextKind::Text => "content_index",
            TextKind::Reasoning => "summary_index",
        };
        json!({"item_id": self.id, "output_index": self.index, index: 0, name: value})
    }
}

/// Returns the sources that a text cites, each at the first place that cites it, in characters.
fn list_citations(text: &str) -> Vec<Value> {
    let sources = list_sources(text).into_iter();
    let citations = sources.filter_map(|source| {
        let mark = format!("[{}]", source.number);
        let (before, _) = text.split_once(&mark)?;
        let start = before.chars().count();
        Some(json!({
            "type": "url_citation", "start_index": start, "end_index": start + mark.chars().count(),
            "title": source.title, "url": source.url,
        }))
    });
    citations.collect()
}
