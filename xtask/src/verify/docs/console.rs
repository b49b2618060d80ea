//! Parses the commands of a `console` block, each with its output.

use anyhow::{Result, bail};

use super::blocks::FencedBlock;

/// The prefix of a command.
const PROMPT: &str = "$ ";

/// A command of a block.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ConsoleCommand {
    /// The command's line in the document, from 1.
    pub(super) line: usize,
    /// The text for the shell, including continued lines.
    pub(super) text: String,
    /// The expected output lines, with `…` as placeholders.
    pub(super) expected: Vec<String>,
}

impl ConsoleCommand {
    /// Returns true if the command is `cargo dev` itself, a server that does not end.
    pub(super) fn is_server(&self) -> bool {
        let is_variable = |word: &&str| {
            word.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            })
        };
        let mut words = self.text.split_whitespace().skip_while(is_variable);
        let is_dev = words.next() == Some("cargo") && words.next() == Some("dev");
        let next = words.next();
        // Options and comments do not make another command.
        is_dev && next.is_none_or(|word| word.starts_with(['-', '#']) && word != "--help")
    }
}

/// Returns the commands of a block.
///
/// # Errors
/// Returns an error if the block does not begin with a command.
pub(super) fn parse_commands(block: &FencedBlock) -> Result<Vec<ConsoleCommand>> {
    let mut commands: Vec<ConsoleCommand> = Vec::new();
    let mut is_continued = false;
    for (line, text) in (block.line + 1..).zip(&block.lines) {
        match (text.strip_prefix(PROMPT), commands.last_mut()) {
            (_, Some(command)) if is_continued => {
                command.text.push('\n');
                command.text.push_str(text);
            }
            (Some(text), _) => {
                let text = text.to_owned();
                commands.push(ConsoleCommand { line, text, expected: Vec::new() });
            }
            (None, Some(command)) => {
                command.expected.push(text.clone());
                continue;
            }
            (None, None) => bail!("line {line}: this is not the output of any command"),
        }
        is_continued = text.ends_with('\\');
    }
    Ok(commands)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<ConsoleCommand>> {
        let lines = text.lines().map(str::to_owned).collect();
        parse_commands(&FencedBlock { line: 10, language: "console".to_owned(), lines })
    }

    #[test]
    fn commands_have_their_output() {
        for (text, commands) in [
            ("$ a", &[(11, "a", &[][..])][..]),
            ("$ a\nb\n\n…\n$ c", &[(11, "a", &["b", "", "…"]), (15, "c", &[])]),
            ("$ a \\\n    b \\\n$ c\nd", &[(11, "a \\\n    b \\\n$ c", &["d"])]),
            ("$ a\nends with \\\n$ b", &[(11, "a", &["ends with \\"]), (13, "b", &[])]),
            ("", &[]),
        ] {
            let found = parse(text).unwrap();
            let command = |(line, text, expected): &(usize, &str, &[&str])| ConsoleCommand {
                line: *line,
                text: (*text).to_owned(),
                expected: expected.iter().map(|line| (*line).to_owned()).collect(),
            };
            assert_eq!(found, commands.iter().map(command).collect::<Vec<_>>(), "{text}");
        }
        let error = parse("a\n$ b").unwrap_err().to_string();
        assert_eq!(error, "line 11: this is not the output of any command");
    }

    #[test]
    fn the_server_is_told_from_what_asks_it() {
        let is_server = |text: &str| parse(&format!("$ {text}")).unwrap()[0].is_server();
        for text in ["cargo dev", "cargo dev  # serves", "cargo dev --port 9001", "A=b cargo dev"] {
            assert!(is_server(text), "{text}");
        }
        for text in
            ["cargo dev ask \"a\"", "cargo dev watch", "cargo dev --help", "cargo xtask dev"]
        {
            assert!(!is_server(text), "{text}");
        }
    }
}
