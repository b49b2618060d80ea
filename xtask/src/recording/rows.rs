//! Breaks lines into rows of the picture's width.

use super::output::Cell;

/// Characters per row.
pub(super) const COLUMNS: usize = 90;

/// Maximum length of an uncut word, in characters; longer words are signed links.
const LONGEST_WORD: usize = 72;

/// Length of longer words after cutting, in characters.
const CUT_WORD: usize = 48;

/// Breaks lines into rows between words; longer words are cut.
pub(super) fn break_lines(lines: Vec<Vec<Cell>>) -> Vec<Vec<Cell>> {
    let rows = lines.into_iter().flat_map(|line| {
        let words = line
            .chunk_by(|one, next| one.character.is_whitespace() == next.character.is_whitespace());
        let cut = words.map(|word| match word.get(CUT_WORD) {
            Some(last) if word.len() > LONGEST_WORD && !last.character.is_whitespace() => {
                let more = Cell { character: '…', ..*last };
                word.iter().take(CUT_WORD).copied().chain([more]).collect()
            }
            _ => word.to_vec(),
        });
        break_line(&cut.collect::<Vec<_>>().concat())
    });
    rows.collect()
}

fn break_line(line: &[Cell]) -> Vec<Vec<Cell>> {
    let mut rows = Vec::new();
    let mut rest = line;
    // Compared with a row plus 1: the space at the break need not fit.
    while let Some(begin) = rest.get(..=COLUMNS) {
        let space = begin.iter().rposition(|cell| cell.character == ' ');
        // Without a space in the second half, the word is split.
        let at = space.filter(|at| *at > COLUMNS / 2);
        let (row, behind) = rest.split_at(at.unwrap_or(COLUMNS));
        rows.push(row.to_vec());
        rest = behind.get(usize::from(at.is_some())..).unwrap_or_default();
    }
    rows.push(rest.to_vec());
    rows
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::output::{OutputPiece, read_lines};
    use super::*;

    fn broken(text: &str) -> Vec<String> {
        let piece = OutputPiece { at: Duration::ZERO, bytes: text.as_bytes().to_vec() };
        let rows = break_lines(read_lines("", &[piece]).unwrap());
        rows.iter().map(|row| row.iter().map(|cell| cell.character).collect()).collect()
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(broken("one\n\ntwo"), ["one", "", "two"]);
        let line = format!("{} {} three", "a".repeat(50), "b".repeat(39));
        assert_eq!(broken(&line), [line.trim_end_matches(" three"), "three"]);
        let words = "cc ".repeat(30);
        assert_eq!(broken(&words), [words]);
        let long = "d e".repeat(20) + &"f".repeat(60);
        assert_eq!(broken(&long), [&long[..58], &long[59..]]);
    }

    #[test]
    fn a_word_that_is_a_signed_link_is_cut() {
        let link = format!("  http://127.0.0.1:9000/{} (opens)", "x".repeat(500));
        let rows = broken(&link);
        assert_eq!(rows.len(), 1);
        assert!(
            rows[0].starts_with("  http://127.0.0.1:9000/xx") && rows[0].ends_with("x… (opens)")
        );
        assert_eq!(broken(&" ".repeat(80)), [" ".repeat(80)]);
    }
}
