//! A program's terminal output as lines of characters with style and time.

use std::time::Duration;

use anyhow::{Context as _, Result};

/// Maximum pause in the recording; longer pauses are shortened.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// Columns between tab stops.
const TAB: usize = 8;

/// A piece of output printed at once.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OutputPiece {
    /// The time since the program's start.
    pub(super) at: Duration,
    pub(super) bytes: Vec<u8>,
}

/// The style of a character.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CellStyle {
    pub(super) bold: bool,
    pub(super) dim: bool,
    /// One of the terminal's eight colours.
    pub(super) colour: Option<u8>,
}

/// A character with its time of printing, after shortening pauses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cell {
    pub(super) character: char,
    pub(super) style: CellStyle,
    pub(super) at: Duration,
}

/// Returns the lines of the output, preceded by the command.
///
/// # Errors
/// Returns an error if the output is not text.
pub(super) fn read_lines(command: &str, pieces: &[OutputPiece]) -> Result<Vec<Vec<Cell>>> {
    let mut bytes = command.as_bytes().to_vec();
    let mut starts = vec![(0, Duration::ZERO)];
    let mut before = Duration::ZERO;
    let mut at = Duration::ZERO;
    for piece in pieces {
        at += piece.at.saturating_sub(before).min(MAX_PAUSE);
        before = piece.at;
        starts.push((bytes.len(), at));
        bytes.extend_from_slice(&piece.bytes);
    }
    let text = String::from_utf8(bytes).context("what was printed is no text")?;
    let mut lines = TerminalLines::default();
    for (offset, character) in text.char_indices() {
        let piece = starts.partition_point(|(begin, _)| *begin <= offset);
        lines.at = starts.get(piece.saturating_sub(1)).map(|(_, at)| *at).unwrap_or_default();
        lines.add_character(character);
    }
    Ok(lines.finish())
}

/// A terminal for output that only appends.
#[derive(Default)]
struct TerminalLines {
    lines: Vec<Vec<Cell>>,
    open: Vec<Cell>,
    style: CellStyle,
    at: Duration,
    /// The incomplete escape sequence, if any.
    sequence: Option<String>,
}

impl TerminalLines {
    fn add_character(&mut self, character: char) {
        if let Some(mut sequence) = self.sequence.take() {
            sequence.push(character);
            let is_open = sequence == "[" || !('@'..='~').contains(&character);
            if is_open {
                self.sequence = Some(sequence);
            } else {
                self.apply_sequence(&sequence);
            }
            return;
        }
        match character {
            '\u{1b}' => self.sequence = Some(String::new()),
            '\n' => self.lines.push(std::mem::take(&mut self.open)),
            '\t' => (0..TAB - self.open.len() % TAB).for_each(|_| self.push_cell(' ')),
            character if character.is_control() => {}
            character => self.push_cell(character),
        }
    }

    fn push_cell(&mut self, character: char) {
        self.open.push(Cell { character, style: self.style, at: self.at });
    }

    /// Applies an escape sequence for the style.
    fn apply_sequence(&mut self, sequence: &str) {
        let Some(codes) = sequence.strip_prefix('[').and_then(|rest| rest.strip_suffix('m')) else {
            return;
        };
        for code in codes.split(';') {
            match code.parse::<u8>().unwrap_or_default() {
                0 => self.style = CellStyle::default(),
                1 => self.style.bold = true,
                2 => self.style.dim = true,
                22 => (self.style.bold, self.style.dim) = (false, false),
                39 => self.style.colour = None,
                code @ 30..=37 => self.style.colour = Some(code - 30),
                code @ 90..=97 => self.style.colour = Some(code - 90),
                _ => {}
            }
        }
    }

    fn finish(mut self) -> Vec<Vec<Cell>> {
        if !self.open.is_empty() {
            self.lines.push(self.open);
        }
        self.lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(at_ms: u64, bytes: &[u8]) -> OutputPiece {
        OutputPiece { at: Duration::from_millis(at_ms), bytes: bytes.to_vec() }
    }

    fn texts(lines: &[Vec<Cell>]) -> Vec<String> {
        lines.iter().map(|line| line.iter().map(|cell| cell.character).collect()).collect()
    }

    #[test]
    fn characters_and_sequences_may_be_torn_between_pieces() {
        let pieces = [
            piece(100, b"plain \x1b[1"),
            piece(200, b"mbold\x1b[0m \xe2\x9c"),
            piece(300, b"\x93\r\n\x1b[2;31mdim\x1b[22;39m\x1b[2J\tend"),
        ];
        let lines = read_lines("$ ask\n", &pieces).unwrap();
        assert_eq!(texts(&lines), ["$ ask", "plain bold ✓", "dim     end"]);
        let cell = |line: usize, at: usize| lines[line][at];
        assert_eq!(cell(1, 0).style, CellStyle::default());
        assert_eq!(cell(1, 6).style, CellStyle { bold: true, ..CellStyle::default() });
        assert_eq!(cell(1, 11).style, CellStyle::default());
        let red = CellStyle { bold: false, dim: true, colour: Some(1) };
        assert_eq!((cell(2, 0).style, cell(2, 8).style), (red, CellStyle::default()));
        // A character is there with its first byte.
        assert_eq!(cell(1, 11).at, Duration::from_millis(200));
    }

    #[test]
    fn a_long_pause_is_cut_and_what_follows_comes_earlier() {
        let pieces = [piece(9_000, b"a"), piece(9_400, b"b"), piece(20_000, b"c")];
        let lines = read_lines("$\n", &pieces).unwrap();
        let times: Vec<_> = lines.iter().flatten().map(|cell| cell.at.as_millis()).collect();
        assert_eq!(times, [0, 1_000, 1_400, 2_400]);
    }

    #[test]
    fn what_is_no_text_is_refused() {
        assert!(read_lines("$\n", &[piece(0, b"\xff")]).is_err());
    }
}
