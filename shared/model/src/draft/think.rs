//! Thoughts that a model writes into its answer, `<think>…</think>`, kept apart from it.

use djinn_core::preview::TextKind;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Splits an answer as it arrives. Only a block that opens the answer is a thought: later on the
/// tag may well be what the answer is about. What may still become a tag is held back, so nothing
/// is ever taken back.
#[derive(Debug, Default)]
pub(super) struct Think {
    stage: Stage,
    held: String,
}

#[derive(Debug, Default, PartialEq)]
enum Stage {
    /// Nothing but white space so far.
    #[default]
    Start,
    /// Within the block.
    Inside,
    /// Behind the block, where white space still belongs to it.
    Behind,
    /// The answer.
    Answer,
}

impl Think {
    /// Takes the next piece and tells what is certain by now.
    pub(super) fn push(&mut self, piece: &str, tell: &mut dyn FnMut(TextKind, &str)) {
        self.held.push_str(piece);
        loop {
            let before = self.held.len();
            match self.stage {
                Stage::Start => self.start(),
                Stage::Inside => self.inside(tell),
                Stage::Behind => self.behind(),
                Stage::Answer => {
                    let held = std::mem::take(&mut self.held);
                    say(TextKind::Text, &held, tell);
                    return;
                }
            }
            if self.held.len() == before && self.stage != Stage::Answer {
                return;
            }
        }
    }

    /// Tells what was held back: the answer is over.
    pub(super) fn close(&mut self, tell: &mut dyn FnMut(TextKind, &str)) {
        let held = std::mem::take(&mut self.held);
        match self.stage {
            Stage::Inside => say(TextKind::Reasoning, &held, tell),
            Stage::Start | Stage::Answer => say(TextKind::Text, &held, tell),
            Stage::Behind => {}
        }
        self.stage = Stage::Answer;
    }

    fn start(&mut self) {
        let written = self.held.trim_start();
        if let Some(rest) = written.strip_prefix(OPEN) {
            self.held = rest.to_owned();
            self.stage = Stage::Inside;
        } else if !OPEN.starts_with(written) {
            self.stage = Stage::Answer;
        }
    }

    fn inside(&mut self, tell: &mut dyn FnMut(TextKind, &str)) {
        if let Some((thought, rest)) = self.held.split_once(CLOSE) {
            say(TextKind::Reasoning, thought, tell);
            self.held = rest.to_owned();
            self.stage = Stage::Behind;
            return;
        }
        let certain = self.held.len() - begun(&self.held, CLOSE);
        let held = self.held.split_off(certain);
        say(TextKind::Reasoning, &self.held, tell);
        self.held = held;
    }

    fn behind(&mut self) {
        self.held = self.held.trim_start().to_owned();
        if !self.held.is_empty() {
            self.stage = Stage::Answer;
        }
    }
}

/// How many bytes at the end of a text may be the beginning of a mark.
pub(crate) fn begun(text: &str, mark: &str) -> usize {
    mark.char_indices()
        .map(|(index, _)| index)
        .rev()
        .find(|length| mark.get(..*length).is_some_and(|start| text.ends_with(start)))
        .unwrap_or(0)
}

fn say(kind: TextKind, text: &str, tell: &mut dyn FnMut(TextKind, &str)) {
    if !text.is_empty() {
        tell(kind, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(pieces: &[&str]) -> (String, String) {
        let mut think = Think::default();
        let (mut text, mut thoughts) = (String::new(), String::new());
        let mut tell = |kind, piece: &str| match kind {
            TextKind::Text => text.push_str(piece),
            TextKind::Reasoning => thoughts.push_str(piece),
        };
        for piece in pieces {
            think.push(piece, &mut tell);
        }
        think.close(&mut tell);
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
        assert_eq!(begun("ab</th", "</think>"), 4);
        assert_eq!(begun("ab", "</think>"), 0);
        assert_eq!(begun("<<", "<think>"), 1);
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
