//! Sequence numbers of events. A number names a place in the run's journal, so a client needs nothing else to resume.
//!
//! A record has 2³³ numbers. In rising order they belong to the events that open or close a response before the
//! record, to the model's reasoning and then its text before the record, and to the events of the record. A piece of
//! text is numbered by its end, so a piece and its parts have the same numbers on every connection. A message that
//! starts over does so after another record. Therefore the attempt is no part of the number, and any number of attempts
//! is possible.

/// The exclusive maximum: JSON clients read larger numbers inexactly.
const MAX_NUMBER: u64 = 1 << 53;

/// The numbers of one record.
const PER_RECORD: u64 = 1 << 33;

/// The first number of each group, within the numbers of a record.
const LATE_START: u64 = 1 << 28;
const REASONING: u64 = 1 << 30;
const TEXT: u64 = 1 << 31;
const RECORD: u64 = 1 << 32;

/// The events before the first piece of reasoning: the item and its part.
const REASONING_OPENING: u64 = 2;

/// The events that close the reasoning at the first piece of text.
const REASONING_CLOSING: u64 = 3;

/// The events before the first piece of text: those that close the reasoning, and the item and its part.
const TEXT_OPENING: u64 = REASONING_CLOSING + 2;

/// The sequence number of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SequenceNumber(u64);

/// The last event that a client has received of the text before a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextPlace {
    /// No event.
    None,
    /// The item of the reasoning.
    ReasoningItem,
    /// The reasoning, up to this byte.
    Reasoning(usize),
    /// This many of the events that close the reasoning.
    ReasoningClosing(u64),
    /// The item of the text.
    TextItem,
    /// The text, up to this byte.
    Text(usize),
}

impl SequenceNumber {
    /// The maximum number of records of a run whose numbers clients read exactly.
    pub const MAX_RECORDS: u64 = MAX_NUMBER / PER_RECORD;

    /// Parses a decimal number; `None` for any other text, and for a number that no event has.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_decimal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| is_decimal)?;
        (number < MAX_NUMBER).then_some(Self(number))
    }

    /// Returns the newest record that a client with this event has received in full; `None` before the first.
    #[must_use]
    pub fn last_complete_record(self) -> Option<u64> {
        self.record().checked_sub(1)
    }

    /// Returns the number of the record at or before which the event is.
    pub(super) fn record(self) -> u64 {
        self.0 / PER_RECORD
    }

    pub(super) fn value(self) -> u64 {
        self.0
    }

    pub(super) fn plus(self, count: u64) -> Self {
        Self(self.0.saturating_add(count))
    }

    /// Returns the first number of a response's end before this record.
    pub(super) fn end_before(record: u64) -> Self {
        Self(record.saturating_mul(PER_RECORD))
    }

    /// Returns the first number of a response that begins before this record.
    pub(super) fn start_before(record: u64) -> Self {
        Self::within(record, LATE_START)
    }

    /// Returns the first number of the events that open the reasoning before this record.
    pub(super) fn reasoning_opening(record: u64) -> Self {
        Self::within(record, REASONING)
    }

    /// Returns the number of a piece of reasoning before this record, by the piece's end.
    pub(super) fn reasoning(record: u64, end: usize) -> Self {
        Self::within(record, REASONING + REASONING_OPENING + to_u64(end))
    }

    /// Returns the first number of the events that close the reasoning before this record.
    pub(super) fn reasoning_closing(record: u64) -> Self {
        Self::within(record, TEXT)
    }

    /// Returns the first number of the events that open the text before this record.
    pub(super) fn text_opening(record: u64) -> Self {
        Self::within(record, TEXT + REASONING_CLOSING)
    }

    /// Returns the number of a piece of text before this record, by the piece's end.
    pub(super) fn text(record: u64, end: usize) -> Self {
        Self::within(record, TEXT + TEXT_OPENING + to_u64(end))
    }

    /// Returns the first number of the events of this record.
    pub(super) fn of_record(record: u64) -> Self {
        Self::within(record, RECORD)
    }

    /// Returns the place in the text before the record. An event of the record itself is in no such text.
    pub(super) fn text_place(self) -> TextPlace {
        let offset = self.0 % PER_RECORD;
        let end = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        if offset == REASONING {
            TextPlace::ReasoningItem
        } else if (REASONING..TEXT).contains(&offset) {
            TextPlace::Reasoning(end((offset - REASONING).saturating_sub(REASONING_OPENING)))
        } else if (TEXT..TEXT + REASONING_CLOSING).contains(&offset) {
            TextPlace::ReasoningClosing(offset - TEXT + 1)
        } else if offset == TEXT + REASONING_CLOSING {
            TextPlace::TextItem
        } else if (TEXT..RECORD).contains(&offset) {
            TextPlace::Text(end((offset - TEXT).saturating_sub(TEXT_OPENING)))
        } else {
            TextPlace::None
        }
    }

    fn within(record: u64, offset: u64) -> Self {
        Self(record.saturating_mul(PER_RECORD).saturating_add(offset))
    }
}

fn to_u64(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
