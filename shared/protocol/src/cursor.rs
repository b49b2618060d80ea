//! The SSE id: where a client is in a run's journal.

use std::fmt;

use djinn_core::id::RunId;

/// The newest record of a run sent in full to a client. Written `<run id>:<record>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// The run of the record.
    pub run: RunId,
    /// The number of the record, as the journal counts.
    pub record: u64,
}

impl Cursor {
    /// Parses a `Last-Event-ID`; `None` for any text that is not a cursor.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (run, record) = text.trim().rsplit_once(':')?;
        let canonical = record == "0" || !record.starts_with(['0', '+']);
        let record = record.parse().ok().filter(|_| canonical)?;
        Some(Self { run: RunId::new(run).ok()?, record })
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.run, self.record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_what_it_wrote_and_nothing_else() {
        let text = "run_0123456789abcdef0123456789abcdef:17";
        assert_eq!(Cursor::parse(text).unwrap().to_string(), text);
        for bad in [
            "",
            "17",
            "run_0123456789abcdef0123456789abcdef",
            "run_0123456789abcdef0123456789abcdef:",
            "run_0123456789abcdef0123456789abcdef:-1",
            "run_0123456789abcdef0123456789abcdef:+1",
            "run_0123456789abcdef0123456789abcdef:01",
            "run_0123456789abcdef0123456789abcdef:99999999999999999999",
            "run_x:1",
        ] {
            assert_eq!(Cursor::parse(bad), None, "{bad}");
        }
    }
}
