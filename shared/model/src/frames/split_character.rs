//! Characters split by a provider over two frames.

/// The start of an escape, `\ud83d`, and its length in bytes.
const ESCAPE: &str = "\\u";
const ESCAPE_BYTES: usize = 6;

/// The first half of a character, waiting for the second half.
#[derive(Debug, Default)]
pub(super) struct SplitCharacter {
    first_half: Option<String>,
}

impl SplitCharacter {
    /// Moves the half at the end of a JSON text to the text with the other half. Returns the new frame, or
    /// `None` for a frame without halves.
    pub(super) fn join_halves(&mut self, frame: &str) -> Option<String> {
        let mut output = frame.to_owned();
        let mut has_changed = false;
        let second = find_half(
            frame,
            |half| half.starts_with(['c', 'd', 'e', 'f']),
            |before, _| before.ends_with('"'),
        );
        if let Some(at) = second
            && let Some(first) = self.first_half.take()
        {
            output.insert_str(at, &first);
            has_changed = true;
        }
        let first = find_half(
            &output,
            |half| half.starts_with(['8', '9', 'a', 'b']),
            |_, behind| behind.starts_with('"'),
        );
        if let Some(at) = first {
            let behind = output.split_off(at + ESCAPE_BYTES);
            self.first_half = Some(output.split_off(at));
            output.push_str(&behind);
            has_changed = true;
        }
        has_changed.then_some(output)
    }
}

/// Returns the position of an escaped half, tested by the digits after `d` and by the text before and after.
fn find_half(
    frame: &str,
    is_half: impl Fn(&str) -> bool,
    stands: impl Fn(&str, &str) -> bool,
) -> Option<usize> {
    frame.match_indices(ESCAPE).map(|(at, _)| at).find(|at| {
        let (Some(before), Some(digits)) = (frame.get(..*at), frame.get(at + 2..at + ESCAPE_BYTES))
        else {
            return false;
        };
        let is_escaped = before.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
        let digits = digits.to_ascii_lowercase();
        let half = digits.strip_prefix('d').is_some_and(&is_half);
        half && !is_escaped && stands(before, frame.get(at + ESCAPE_BYTES..).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_two_frames_are_one_character() {
        let mut split = SplitCharacter::default();
        let first = split.join_halves(r#"{"content":"Hi \ud83d"}"#);
        assert_eq!(first.as_deref(), Some(r#"{"content":"Hi "}"#));
        let second = split.join_halves(r#"{"content":"\ude00!"}"#);
        assert_eq!(second.as_deref(), Some(r#"{"content":"\ud83d\ude00!"}"#));
        for whole in
            [r#"{"content":"\ud83d\ude00"}"#, r#"{"a":"\\ud83d"}"#, r#"{"a":"\u4e2d"}"#, "{"]
        {
            assert_eq!(split.join_halves(whole), None, "{whole}");
        }
        // A half without the other stays away, and one that nobody began is read as it comes.
        assert_eq!(split.join_halves(r#"{"content":"\ude00"}"#), None);
    }
}
