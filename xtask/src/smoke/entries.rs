//! The kept events of a stream that was cut and resumed.

use std::fmt;

/// A kept event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StreamEntry {
    /// The event's name within its run.
    pub(super) name: String,
    /// The position of the stream in the run.
    pub(super) cursor: Option<String>,
}

/// A fault of a resumed stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ResumeFault {
    Lost(Vec<String>),
    Repeated(Vec<String>),
    Unordered,
}

impl fmt::Display for ResumeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(names) => write!(f, "lost {}", names.join(", ")),
            Self::Repeated(names) => write!(f, "sent {} twice", names.join(", ")),
            Self::Unordered => f.write_str("changed the order of the events"),
        }
    }
}

/// Compares the events before and after a cut at `cursor` with the whole stream.
///
/// The event that first has the cursor completes a record. Later events with the same cursor belong to an
/// incomplete record, which the server sends again as a whole.
pub(super) fn find_fault(
    whole: &[StreamEntry],
    before: &[StreamEntry],
    after: &[StreamEntry],
    cursor: Option<&str>,
) -> Option<ResumeFault> {
    let complete = whole
        .iter()
        .position(|entry| entry.cursor.is_some() && entry.cursor.as_deref() == cursor)
        .map_or(0, |position| position + 1);
    let may_come_again = |entry: &&StreamEntry| {
        let position = whole.iter().position(|other| other.name == entry.name);
        position.is_none_or(|position| position >= complete)
    };
    let is_known = |entries: &[StreamEntry], name: &str| entries.iter().any(|it| it.name == name);
    let mut merged: Vec<&str> = before.iter().map(|entry| entry.name.as_str()).collect();
    let mut repeated = Vec::new();
    for (position, entry) in after.iter().enumerate() {
        let came_after = is_known(after.get(..position).unwrap_or_default(), &entry.name);
        if came_after || !may_come_again(&entry) {
            repeated.push(entry.name.clone());
        } else if !merged.contains(&entry.name.as_str()) {
            merged.push(&entry.name);
        }
    }
    let lost = whole.iter().filter(|entry| !merged.contains(&entry.name.as_str()));
    let lost: Vec<_> = lost.map(|entry| entry.name.clone()).collect();
    if !lost.is_empty() {
        Some(ResumeFault::Lost(lost))
    } else if !repeated.is_empty() {
        Some(ResumeFault::Repeated(repeated))
    } else if !merged.into_iter().eq(whole.iter().map(|entry| entry.name.as_str())) {
        Some(ResumeFault::Unordered)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str) -> Vec<StreamEntry> {
        let entry = |pair: &str| {
            let (name, cursor) = pair.split_once(':').unwrap();
            StreamEntry { name: name.to_owned(), cursor: Some(cursor.to_owned()) }
        };
        text.split_whitespace().map(entry).collect()
    }

    /// Record 1 holds `a` and `b`: only `b` completes the record.
    const WHOLE: &str = "start:0 a:0 b:1 end:2";

    fn fault(before: &str, after: &str, cursor: &str) -> Option<String> {
        let whole = entries(WHOLE);
        let fault = find_fault(&whole, &entries(before), &entries(after), Some(cursor));
        fault.map(|fault| fault.to_string())
    }

    #[test]
    fn an_incomplete_record_may_come_again() {
        assert_eq!(fault("start:0", "a:0 b:1 end:2", "0"), None);
        assert_eq!(fault("start:0 a:0", "a:0 b:1 end:2", "0"), None);
        assert_eq!(fault("start:0 a:0 b:1", "end:2", "1"), None);
    }

    #[test]
    fn lost_and_repeated_events_are_named() {
        for (before, after, cursor, expected) in [
            ("start:0", "end:2", "0", "lost a, b"),
            ("start:0 a:0", "b:1", "0", "lost end"),
            ("start:0 a:0", "start:0 a:0 b:1 end:2", "0", "sent start twice"),
            ("start:0 a:0 b:1", "a:0 b:1 end:2", "1", "sent a, b twice"),
            ("start:0", "a:0 b:1 b:1 end:2", "0", "sent b twice"),
            ("start:0", "b:1 a:0 end:2", "0", "changed the order of the events"),
            ("start:0 a:0 b:1", "", "1", "lost end"),
        ] {
            assert_eq!(
                fault(before, after, cursor).as_deref(),
                Some(expected),
                "{before} | {after}"
            );
        }
    }
}
