//! Separates `<think>…</think>` thoughts from the answer around the tags.

use djinn_runtime::port::model::TextKind;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Splits an answer on arrival. Only a block at the start of the answer is a thought: a later tag may be the
/// answer's topic. Text that may become a tag is held back, so no sent text is ever retracted.
#[derive(Debug, Default)]
pub(super) struct ThinkSplitter {
    stage: ThinkStage,
    buffer: String,
}

#[derive(Debug, Default, PartialEq)]
enum ThinkStage {
    /// Nothing but white space so far.
    #[default]
    Start,
    /// The text is within the block and counts as reasoning.
    InThought,
    /// After the block; white space here still belongs to the thought.
    AfterThought,
    /// Within the answer; tags are plain text from now on.
    Answer,
}

impl ThinkSplitter {
    /// Takes the next piece and sends all text with a known kind.
    pub(super) fn push(&mut self, piece: &str, tell: &mut dyn FnMut(TextKind, &str)) {
        if self.stage == ThinkStage::Answer {
            // The buffer is empty in this stage.
            return emit_text(TextKind::Text, piece, tell);
        }
        self.buffer.push_str(piece);
        loop {
            let before = self.buffer.len();
            match self.stage {
                ThinkStage::Start => {
                    let start_text = self.buffer.trim_start();
                    if let Some(rest) = start_text.strip_prefix(OPEN) {
                        self.buffer = rest.to_owned();
                        self.stage = ThinkStage::InThought;
                    } else if !OPEN.starts_with(start_text) {
                        self.stage = ThinkStage::Answer;
                    }
                }
                ThinkStage::InThought => {
                    if let Some((thought, rest)) = self.buffer.split_once(CLOSE) {
                        emit_text(TextKind::Reasoning, thought, tell);
                        self.buffer = rest.to_owned();
                        self.stage = ThinkStage::AfterThought;
                    } else {
                        let certain = self.buffer.len() - partial_mark_len(&self.buffer, CLOSE);
                        let tail = self.buffer.split_off(certain);
                        emit_text(TextKind::Reasoning, &self.buffer, tell);
                        self.buffer = tail;
                    }
                }
                ThinkStage::AfterThought => {
                    self.buffer = self.buffer.trim_start().to_owned();
                    if !self.buffer.is_empty() {
                        self.stage = ThinkStage::Answer;
                    }
                }
                ThinkStage::Answer => {
                    let rest = std::mem::take(&mut self.buffer);
                    emit_text(TextKind::Text, &rest, tell);
                    return;
                }
            }
            if self.buffer.len() == before && self.stage != ThinkStage::Answer {
                return;
            }
        }
    }

    /// Sends the text held back, at the end of the answer.
    pub(super) fn flush_rest(&mut self, tell: &mut dyn FnMut(TextKind, &str)) {
        let rest = std::mem::take(&mut self.buffer);
        match self.stage {
            ThinkStage::InThought => emit_text(TextKind::Reasoning, &rest, tell),
            ThinkStage::Start | ThinkStage::Answer => emit_text(TextKind::Text, &rest, tell),
            ThinkStage::AfterThought => {}
        }
        self.stage = ThinkStage::Answer;
    }
}

/// Returns the number of bytes at the end of a text that may start a mark.
pub(crate) fn partial_mark_len(text: &str, mark: &str) -> usize {
    mark.char_indices()
        .map(|(index, _)| index)
        .rev()
        .find(|length| mark.get(..*length).is_some_and(|start| text.ends_with(start)))
        .unwrap_or(0)
}

fn emit_text(kind: TextKind, text: &str, tell: &mut dyn FnMut(TextKind, &str)) {
    if !text.is_empty() {
        tell(kind, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(pieces: &[&str]) -> (String, String) {
        let mut think = ThinkSplitter::default();
        let mut text = String::new();
        let mut thoughts = String::new();
        let mut tell = |kind, piece: &str| match kind {
            TextKind::Text => text.push_str(piece),
            TextKind::Reasoning => thoughts.push_str(piece),
        };
        for piece in pieces {
            think.push(piece, &mut tell);
        }
        think.flush_rest(&mut tell);
        (text, thoughts)
    }

    #[test]
    fn only_a_block_that_opens_the_answer_is_a_thought() {
        for (given, text, thoughts) in [
            ("<think>a < b</think>\n\nyes", "yes", "a < b"),
            ("\n <think>\nhm\n</think>yes", "yes", "\nhm\n"),
            ("the tag <think>x</think>", "the tag <think>x</think>", ""),
            ("  plain", "  plain", ""),
            ("<thin", "<thin", ""),
            ("<think>never closed </thi", "", "never closed </thi"),
            ("<think></think>", "", ""),
            ("", "", ""),
        ] {
            assert_eq!(split(&[given]), (text.to_owned(), thoughts.to_owned()), "{given}");
        }
    }

    #[test]
    fn the_beginning_of_a_mark_is_found_at_the_end_only() {
        assert_eq!(partial_mark_len("ab</th", "</think>"), 4);
        assert_eq!(partial_mark_len("ab", "</think>"), 0);
        assert_eq!(partial_mark_len("<<", "<think>"), 1);
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same(
            text in "(\n| |<think>|</think>|<th|a|界){0,12}",
            cuts in proptest::collection::vec(0usize..60, 0..8),
        ) {
            let mut at: Vec<usize> =
                cuts.into_iter().filter(|c| text.is_char_boundary(*c)).collect();
            at.extend([0, text.len()]);
            at.sort_unstable();
            let pieces: Vec<&str> = at.windows(2).map(|w| &text[w[0]..w[1]]).collect();
            prop_assert_eq!(split(&pieces), split(&[&text]));
        }
    }
}
