//! A run in the terminal: thoughts as they are written, tool calls with their progress, the answer.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _, stdout};
use std::time::Instant;

use serde_json::Value;

use super::client::Event;
use super::json::{number, text};

/// What is on the screen.
pub(super) struct Screen {
    colours: bool,
    /// How much of each message is shown, in bytes, and of which attempt.
    shown: BTreeMap<String, (u64, usize)>,
    calls: BTreeMap<String, (String, Instant)>,
    at_line_start: bool,
    /// The text of the last message.
    said: String,
}

const DIM: &str = "\x1b[2m";
const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

impl Screen {
    pub(super) fn new() -> Self {
        let colours = stdout().is_terminal();
        Self {
            colours,
            shown: BTreeMap::new(),
            calls: BTreeMap::new(),
            at_line_start: true,
            said: String::new(),
        }
    }

    /// Shows an event.
    pub(super) fn show(&mut self, event: &Event) {
        let data = &event.data;
        match event.name.as_str() {
            "preview" => self.preview(data),
            "message.completed" => self.message(data),
            "item.reset" => self.line(&format!("(broken off: {}; starting over)", failure(data))),
            "run.resumed" => self.line("(the process that worked on this died; another goes on)"),
            "call.requested" => self.requested(data),
            "call.completed" => self.completed(data),
            "file.added" => self.line(&format!("+ {}", text(data, "/file/name"))),
            _ => {}
        }
    }

    /// A line of its own.
    pub(super) fn line(&mut self, line: &str) {
        self.new_line();
        self.write(line);
        self.new_line();
    }

    /// The answer, unless it is the last thing that was said.
    pub(super) fn answer(&mut self, answer: &str) {
        if answer.trim() != self.said.trim() {
            self.new_line();
            self.write_in(Some(BOLD), answer);
            self.new_line();
        }
    }

    fn preview(&mut self, data: &Value) {
        let kind = text(data, "/kind");
        let key = format!("{}/{kind}", text(data, "/message"));
        let attempt = number(data, "/attempt");
        let offset = usize::try_from(number(data, "/offset")).unwrap_or(0);
        let piece = text(data, "/text");
        let (known_attempt, shown) = self.shown.get(&key).copied().unwrap_or_default();
        let shown = if attempt > known_attempt { 0 } else { shown };
        if attempt < known_attempt || offset > shown {
            return;
        }
        if shown == 0 {
            self.new_line();
        }
        let added = piece.get(shown - offset..).unwrap_or_default();
        self.write_in((kind == "reasoning").then_some(DIM), added);
        self.shown.insert(key, (attempt, shown + added.len()));
    }

    /// The whole text; what was not shown as it was written is shown now.
    fn message(&mut self, data: &Value) {
        let key = format!("{}/text", text(data, "/message"));
        let whole = text(data, "/text");
        let (_, shown) = self.shown.remove(&key).unwrap_or_default();
        self.write(whole.get(shown..).unwrap_or_default());
        self.new_line();
        whole.clone_into(&mut self.said);
    }

    fn requested(&mut self, data: &Value) {
        let about = ["/arguments/command", "/arguments/filename", "/arguments/query"];
        let about = about.map(|pointer| text(data, pointer));
        let title = format!("{} {}", text(data, "/tool"), about.join(" ").trim());
        self.line(&format!("  … {title}"));
        self.calls.insert(text(data, "/call").to_owned(), (title, Instant::now()));
    }

    fn completed(&mut self, data: &Value) {
        let Some((title, since)) = self.calls.remove(text(data, "/call")) else { return };
        let took = since.elapsed().as_secs_f64();
        let line = match text(data, "/outcome/is") {
            "done" => format!("  ✓ {title} ({took:.1} s)"),
            _ => format!(
                "  ✗ {title}: {} {}",
                text(data, "/outcome/reason"),
                text(data, "/outcome/detail")
            ),
        };
        self.line(&line);
    }

    fn new_line(&mut self) {
        if !self.at_line_start {
            self.write("\n");
        }
    }

    fn write(&mut self, text: &str) {
        self.write_in(None, text);
    }

    fn write_in(&mut self, style: Option<&str>, text: &str) {
        let text = printable(text);
        let Some(last) = text.chars().next_back() else { return };
        self.at_line_start = last == '\n';
        let text = match style.filter(|_| self.colours) {
            Some(style) => format!("{style}{text}{PLAIN}"),
            None => text,
        };
        let mut out = stdout().lock();
        // A closed terminal is no reason to stop the run.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

/// A text without the control characters by which models, tools and files could command a terminal.
pub(super) fn printable(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect()
}

fn failure(data: &Value) -> &str {
    text(data, "/failure/detail")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_command_the_terminal() {
        let text = "a\tb\r\n\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{7f}界 é";
        assert_eq!(printable(text), "a\tb\n]0;owned[2J31m界 é");
    }
}
