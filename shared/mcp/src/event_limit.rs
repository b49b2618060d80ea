//! The limit on an event of a stream, counted before the event is parsed.

/// Counts the bytes of each event.
#[derive(Debug)]
pub(crate) struct EventLimit {
    max_bytes: usize,
    event_bytes: usize,
    line_bytes: usize,
    ends_with_cr: bool,
}

impl EventLimit {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, event_bytes: 0, line_bytes: 0, ends_with_cr: false }
    }

    /// Counts the next bytes of the stream. Returns false if an event exceeds the limit.
    pub(crate) fn accept(&mut self, bytes: &[u8]) -> bool {
        for &byte in bytes {
            let is_second_half = byte == b'\n' && self.ends_with_cr;
            self.ends_with_cr = byte == b'\r';
            match byte {
                _ if is_second_half => {}
                b'\r' | b'\n' => {
                    // An empty line ends the event.
                    if self.line_bytes == 0 {
                        self.event_bytes = 0;
                    }
                    self.line_bytes = 0;
                }
                _ => {
                    self.line_bytes += 1;
                    self.event_bytes += 1;
                    if self.event_bytes > self.max_bytes {
                        return false;
                    }
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_ends_with_an_empty_line() {
        for (text, is_accepted) in [
            ("data: 12\n\ndata: 12\n\n", true),
            ("data: 12\r\n\r\ndata: 12\r\n\r\n", true),
            ("data: 12\r\rdata: 12\r\r", true),
            ("data: 1\ndata: 2\n\n", false),
            ("data: 1\r\ndata: 2\r\n\r\n", false),
            (": 3456789", false),
            (": 34567\n\n: 34567", true),
        ] {
            let mut limit = EventLimit::new(8);
            assert_eq!(limit.accept(text.as_bytes()), is_accepted, "{text:?}");
            let mut limit = EventLimit::new(8);
            let accepted = text.as_bytes().chunks(1).all(|piece| limit.accept(piece));
            assert_eq!(accepted, is_accepted, "{text:?}, byte by byte");
        }
    }
}
