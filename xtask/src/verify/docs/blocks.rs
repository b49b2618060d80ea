//! The fenced blocks of a Markdown file.

/// A fenced block.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FencedBlock {
    /// The line of the opening fence, from 1.
    pub(super) line: usize,
    /// The first word after the opening fence.
    pub(super) language: String,
    /// The lines, without the indentation of the fence.
    pub(super) lines: Vec<String>,
}

impl FencedBlock {
    /// The joined text of all lines.
    pub(super) fn text(&self) -> String {
        self.lines.join("\n")
    }
}

/// Returns all fenced blocks, including an unclosed block.
pub(super) fn fenced_blocks(text: &str) -> Vec<FencedBlock> {
    let mut blocks: Vec<FencedBlock> = Vec::new();
    let mut open: Option<(&str, usize)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let content = line.trim_start();
        let fence = fence_of(content);
        match (open, fence) {
            (Some((signs, _)), Some((closing, ""))) if closing.starts_with(signs) => open = None,
            (Some((_, indent)), _) => {
                let spaces = (line.len() - content.len()).min(indent);
                let content_line = line.get(spaces..).unwrap_or_default().to_owned();
                if let Some(block) = blocks.last_mut() {
                    block.lines.push(content_line);
                }
            }
            (None, Some((signs, words))) => {
                open = Some((signs, line.len() - content.len()));
                let language = words.split_whitespace().next().unwrap_or_default().to_owned();
                blocks.push(FencedBlock { line: number, language, lines: Vec::new() });
            }
            (None, None) => {}
        }
    }
    blocks
}

/// Returns the characters of a fence, and the words after the fence.
fn fence_of(line: &str) -> Option<(&str, &str)> {
    let sign = line.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let words = line.trim_start_matches(sign);
    let signs = line.get(..line.len() - words.len())?;
    (signs.len() >= 3 && !words.contains('`')).then(|| (signs, words.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_with_their_lines() {
        for (text, blocks) in [
            ("a\n```sh\nb\n\nc\n```\nd", &[(2, "sh", "b\n\nc")][..]),
            ("```\na\n```\n~~~console title\n```\n~~~", &[(1, "", "a"), (4, "console", "```")]),
            ("````md\n```sh\n```\n````", &[(1, "md", "```sh\n```")]),
            ("- a\n  ```sh\n  b \\\n    c\n d\n  ```", &[(2, "sh", "b \\\n  c\nd")]),
            ("```sh\nnever closed", &[(1, "sh", "never closed")]),
            ("no ``` fence, ```nor``` here", &[]),
        ] {
            let found = fenced_blocks(text);
            let found: Vec<_> = found
                .iter()
                .map(|block| (block.line, block.language.clone(), block.text()))
                .collect();
            let wanted: Vec<_> = blocks
                .iter()
                .map(|(line, language, text)| (*line, (*language).to_owned(), (*text).to_owned()))
                .collect();
            assert_eq!(found, wanted, "{text}");
        }
    }
}
