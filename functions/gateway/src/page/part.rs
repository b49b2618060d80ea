//! Parts of texts, counted in characters.

/// A part of a text, with the text's total length and the next offset.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TextPart {
    pub text: String,
    pub total_chars: u64,
    pub next_offset: Option<u64>,
}

/// Returns up to `limit` characters from `offset` on.
pub(crate) fn cut_part(text: &str, offset: u64, limit: u64) -> TextPart {
    let total_chars = text.chars().count() as u64;
    let offset = offset.min(total_chars);
    let end = offset.saturating_add(limit).min(total_chars);
    let part = text.get(byte_at(text, offset)..byte_at(text, end)).unwrap_or_default();
    let next_offset = (end < total_chars).then_some(end);
    TextPart { text: part.to_owned(), total_chars, next_offset }
}

fn byte_at(text: &str, characters: u64) -> usize {
    let characters = usize::try_from(characters).unwrap_or(usize::MAX);
    text.char_indices().nth(characters).map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_one_another_to_the_end() {
        let part = |offset, limit| {
            let part = cut_part("热泵warm", offset, limit);
            assert_eq!(part.total_chars, 6);
            (part.text, part.next_offset)
        };
        assert_eq!(part(0, 3), ("热泵w".to_owned(), Some(3)));
        assert_eq!(part(3, 3), ("arm".to_owned(), None));
        assert_eq!(part(1, u64::MAX), ("泵warm".to_owned(), None));
        assert_eq!(part(9, 3), (String::new(), None));
        assert_eq!(part(0, 0), (String::new(), Some(0)));
    }
}
