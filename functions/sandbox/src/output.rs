//! The output of a job: the beginning and the end.

use std::collections::VecDeque;

use djinn_runtime::port::sandbox::JobOutput;

/// Bytes kept from the beginning, and from the end.
const HALF: usize = 32 * 1024;

/// Collects output piece by piece.
#[derive(Default)]
pub(crate) struct OutputCollector {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    omitted: u64,
}

impl OutputCollector {
    /// Adds the next piece of the output.
    pub(crate) fn add(&mut self, piece: &[u8]) {
        let (beginning, rest) = piece.split_at(piece.len().min(HALF - self.head.len()));
        self.head.extend(beginning);
        self.tail.extend(rest);
        let surplus = self.tail.len().saturating_sub(HALF);
        self.tail.drain(..surplus);
        self.omitted += surplus as u64;
    }

    /// Returns the whole output as `head` if nothing was omitted, else both ends.
    pub(crate) fn finish(self) -> JobOutput {
        let Self { mut head, tail, omitted } = self;
        let tail: Vec<u8> = tail.into();
        if omitted == 0 {
            head.extend(tail);
            let head = String::from_utf8_lossy(&head).into_owned();
            return JobOutput { head, omitted, tail: String::new() };
        }
        // A character cut in half is left out.
        let head = String::from_utf8_lossy(&head).trim_end_matches('\u{fffd}').to_owned();
        let tail = String::from_utf8_lossy(&tail).trim_start_matches('\u{fffd}').to_owned();
        JobOutput { head, omitted, tail }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn collect(pieces: &[&[u8]]) -> JobOutput {
        let mut collector = OutputCollector::default();
        pieces.iter().for_each(|piece| collector.add(piece));
        collector.finish()
    }

    #[test]
    fn short_output_is_whole_and_long_output_keeps_both_ends() {
        assert_eq!(collect(&[b"one ", b"two"]).head, "one two");
        let bad = collect(&[b"\xff!"]);
        assert_eq!((bad.head.as_str(), bad.omitted), ("\u{fffd}!", 0));
        let long = collect(&["é".repeat(HALF).as_bytes(), b"end"]);
        assert_eq!((long.head.len(), long.omitted), (HALF, 3));
        assert!(long.tail.starts_with('é') && long.tail.ends_with("end"), "{}", long.tail.len());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn pieces_make_no_difference(sizes in prop::collection::vec(0..30_000_usize, 0..8)) {
            let text: Vec<u8> = (0..sizes.iter().sum()).map(|nth: usize| b'a' + (nth % 26) as u8).collect();
            let mut rest = text.as_slice();
            let mut collector = OutputCollector::default();
            for size in sizes {
                let (piece, others) = rest.split_at(size);
                collector.add(piece);
                rest = others;
            }
            prop_assert_eq!(collector.finish(), collect(&[&text]));
        }
    }
}
