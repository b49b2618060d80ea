//! The message being written: its events before the record that completes it, or makes it void.

use djinn_core::id::MessageId;
use serde_json::Value;

use super::item::{EVENTS_PER_ITEM, ItemProgress, ItemStage, ResponseItem};
use super::number::{SequenceNumber, TextPlace};
use super::writer::EventWriter;
use crate::preview::{OpenText, Preview, TextChange, TextKind};

/// The places of items that a message uses: its reasoning, its text, and the text in place of void text.
pub(super) const ITEMS_PER_MESSAGE: u64 = 3;

/// The place of the message's items.
#[derive(Clone, Copy)]
pub(super) struct MessagePlace<'a> {
    /// The digits of the run's id.
    pub(super) run: &'a str,
    /// The index of the first item.
    pub(super) index: u64,
    /// The next record.
    pub(super) record: u64,
}

impl MessagePlace<'_> {
    fn reasoning(self) -> ResponseItem {
        ResponseItem::new(TextKind::Reasoning, self.run, self.index)
    }

    fn text(self) -> ResponseItem {
        ResponseItem::new(TextKind::Text, self.run, self.index + 1)
    }

    fn replacement(self) -> ResponseItem {
        ResponseItem::new(TextKind::Text, self.run, self.index + 2)
    }
}

/// The message being written, if any.
#[derive(Debug, Default)]
pub(super) struct UnfinishedMessage {
    message: Option<MessageId>,
    /// The text as known here. A client that resumes may have more.
    known: OpenText,
    reasoning: ItemProgress,
    text: ItemProgress,
}

impl UnfinishedMessage {
    /// Creates the message of which a client has received this event last.
    pub(super) fn at(place: TextPlace) -> Self {
        let progress = |stage, len| ItemProgress { stage, len };
        let done = progress(ItemStage::Done, 0);
        let (reasoning, text) = match place {
            TextPlace::None => (ItemProgress::default(), ItemProgress::default()),
            TextPlace::ReasoningItem => (progress(ItemStage::Added, 0), ItemProgress::default()),
            TextPlace::Reasoning(end) => (progress(ItemStage::Open, end), ItemProgress::default()),
            TextPlace::ReasoningClosing(events) => {
                let stage = match events {
                    1 => ItemStage::TextDone,
                    2 => ItemStage::PartDone,
                    _ => ItemStage::Done,
                };
                (progress(stage, 0), ItemProgress::default())
            }
            TextPlace::TextItem => (done, progress(ItemStage::Added, 0)),
            TextPlace::Text(end) => (done, progress(ItemStage::Open, end)),
        };
        Self { reasoning, text, ..Self::default() }
    }

    /// Writes the part of a piece that the client does not have.
    pub(super) fn apply_preview(
        &mut self,
        preview: &Preview,
        place: MessagePlace<'_>,
        writer: &mut EventWriter,
    ) {
        let is_other = self.message.as_ref().is_some_and(|open| *open != preview.message)
            || (self.known.attempt() > 0 && self.known.attempt() < preview.attempt);
        if is_other && (self.reasoning.is_open() || self.text.is_open()) {
            // The record that makes the shown text void comes first.
            return;
        }
        if is_other {
            *self = Self::default();
        }
        self.message = Some(preview.message.clone());
        if self.known.apply_preview(preview) == TextChange::Nothing {
            return;
        }
        match preview.kind {
            TextKind::Reasoning => self.write_reasoning(place, writer),
            TextKind::Text => self.write_text(place, writer),
        }
    }

    /// Writes new reasoning, unless the text has begun.
    fn write_reasoning(&mut self, place: MessagePlace<'_>, writer: &mut EventWriter) {
        let ItemProgress { stage, len } = self.reasoning;
        let reasoning = self.known.text_of(TextKind::Reasoning);
        let rest = reasoning.get(len..).filter(|rest| !rest.is_empty());
        let has_text = self.text.stage > ItemStage::Absent;
        let Some(rest) = rest.filter(|_| stage <= ItemStage::Open && !has_text) else { return };
        let item = place.reasoning();
        writer.go_to(SequenceNumber::reasoning_opening(place.record));
        writer.write_if(stage < ItemStage::Added, || item.added());
        writer.write_if(stage < ItemStage::Open, || item.part_added());
        writer.go_to(SequenceNumber::reasoning(place.record, reasoning.len()));
        writer.write(|| item.delta(rest));
        self.reasoning = ItemProgress { stage: ItemStage::Open, len: reasoning.len() };
    }

    /// Writes new text, after the end of the reasoning.
    fn write_text(&mut self, place: MessagePlace<'_>, writer: &mut EventWriter) {
        let text = self.known.text_of(TextKind::Text);
        let rest = text.get(self.text.len..).filter(|rest| !rest.is_empty());
        let Some(rest) = rest else { return };
        if self.reasoning.is_open() {
            let reasoning = self.known.text_of(TextKind::Reasoning);
            let ItemProgress { stage, len } = self.reasoning;
            if stage != ItemStage::Open || reasoning.is_empty() || reasoning.len() < len {
                // The client has reasoning that is not known here: the record has the whole.
                return;
            }
            writer.go_to(SequenceNumber::reasoning_closing(place.record));
            let item = place.reasoning();
            item.write_closing(self.reasoning.stage, reasoning, writer);
        }
        self.reasoning.stage = ItemStage::Done;
        let stage = self.text.stage;
        let item = place.text();
        writer.go_to(SequenceNumber::text_opening(place.record));
        writer.write_if(stage < ItemStage::Added, || item.added());
        writer.write_if(stage < ItemStage::Open, || item.part_added());
        writer.go_to(SequenceNumber::text(place.record, text.len()));
        writer.write(|| item.delta(rest));
        self.text = ItemProgress { stage: ItemStage::Open, len: text.len() };
    }

    /// Writes the rest of the complete message, and returns its items. Text that differs from the shown text is an
    /// item of its own.
    pub(super) fn complete(
        &mut self,
        reasoning: &str,
        text: &str,
        place: MessagePlace<'_>,
        writer: &mut EventWriter,
    ) -> Vec<Value> {
        let open = std::mem::take(self);
        let mut items = Vec::new();
        let has_text = open.text.stage > ItemStage::Absent;
        let item = place.reasoning();
        let is_void = reasoning.is_empty() && open.reasoning.is_open();
        writer.write_if(is_void, || item.done(&open.void_item(&item)));
        if !reasoning.is_empty() {
            let progress = if has_text {
                ItemProgress { stage: ItemStage::Done, len: 0 }
            } else {
                open.reasoning
            };
            item.write_rest(progress, reasoning, writer);
            items.push(item.to_json(reasoning, "completed"));
        }
        let item = place.text();
        let is_same = text.starts_with(open.known.text_of(TextKind::Text))
            && text.is_char_boundary(open.text.len)
            && !text.is_empty();
        let is_replaced =
            has_text && !is_same || writer.resumes_within(EVENTS_PER_ITEM, 1 + EVENTS_PER_ITEM);
        let replacement = place.replacement();
        if is_replaced {
            writer.leave_out(EVENTS_PER_ITEM);
            writer.write(|| item.done(&open.void_item(&item)));
            if !text.is_empty() {
                replacement.write_rest(ItemProgress::default(), text, writer);
            }
        } else if text.is_empty() {
            writer.leave_out(2 * EVENTS_PER_ITEM + 1);
        } else {
            item.write_rest(open.text, text, writer);
            writer.leave_out(1 + EVENTS_PER_ITEM);
        }
        if !text.is_empty() {
            let item = if is_replaced { replacement } else { item };
            items.push(item.to_json(text, "completed"));
        }
        items
    }

    /// Ends the shown items as incomplete.
    pub(super) fn void(&mut self, place: MessagePlace<'_>, writer: &mut EventWriter) {
        let open = std::mem::take(self);
        let [reasoning, text] = [place.reasoning(), place.text()];
        writer.write_if(open.reasoning.is_open(), || reasoning.done(&open.void_item(&reasoning)));
        writer.write_if(open.text.is_open(), || text.done(&open.void_item(&text)));
    }

    fn void_item(&self, item: &ResponseItem) -> Value {
        item.to_json(self.known.text_of(item.kind), "incomplete")
    }
}
