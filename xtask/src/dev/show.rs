//! Shows a run in the terminal: thoughts while written, tool calls with progress, the answer.
//!
//! Parallel tasks have a lane each: whole lines, prefixed with the task.

mod repeat;
mod result;
mod verdict;

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Instant;

use djinn_core::error_code::Failure;
use djinn_core::language::Language;
use serde::Deserialize as _;
use serde_json::Value;

use super::advice::{Adviser, RunFailure};
use super::client::StreamEvent;
use super::json::{list_at, number_at, text_at};
use repeat::RepeatFilter;

/// The state of the screen.
pub(super) struct Screen {
    out: Box<dyn Write + Send>,
    colours: bool,
    /// The attempt of each message, and the number of bytes shown.
    shown_bytes: BTreeMap<String, (u64, usize)>,
    /// The unfinished line of each task.
    unfinished: BTreeMap<String, String>,
    calls: BTreeMap<String, (String, Instant)>,
    /// The step labels of the last plan shown.
    plan: Vec<String>,
    at_line_start: bool,
    /// The text of the last message outside tasks, and of the current message.
    last_text: RepeatFilter,
    /// The text of the last result whose rows were shown outside tasks.
    shown_result: String,
    adviser: Adviser,
}

const DIM: &str = "\x1b[2m";
const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

impl Screen {
    pub(super) fn new(out: Box<dyn Write + Send>, colours: bool) -> Self {
        Self {
            out,
            colours,
            shown_bytes: BTreeMap::new(),
            unfinished: BTreeMap::new(),
            plan: Vec::new(),
            calls: BTreeMap::new(),
            at_line_start: true,
            last_text: RepeatFilter::default(),
            shown_result: String::new(),
            adviser: Adviser::default(),
        }
    }

    /// Prints an event according to its name.
    pub(super) fn show_event(&mut self, event: &StreamEvent) {
        let data = &event.data;
        // The text of a reviewer follows as its judgement.
        let is_of_review = text_at(data, "/path").starts_with("review.");
        match event.name.as_str() {
            "preview" | "message.completed" if is_of_review => {}
            "run.started" => {
                let warnings = list_at(data, "/warnings").filter_map(Value::as_str);
                warnings.for_each(|warning| self.print_line(&format!("! {warning}")));
            }
            "preview" => self.show_preview(data),
            "message.completed" => self.show_message(data),
            "message.reset" if text_at(data, "/reason") == "review" => {
                self.print_lane_line(data, "(not accepted; another answer follows)");
            }
            "review.completed" => self.show_review(data),
            "message.reset" => {
                let text = message_key(data, "text");
                self.drop_messages(|key| key == text);
                self.print_lane_line(
                    data,
                    &format!("(interrupted: {}; starting over)", failure_detail(data)),
                );
            }
            "model.changed" => {
                let from = text_at(data, "/from");
                let to = text_at(data, "/to");
                let why = failure_detail(data);
                self.print_lane_line(data, &format!("({to} answers in place of {from}: {why})"));
            }
            "agent.changed" => {
                let title = text_at(data, "/title");
                let agent = if title.is_empty() { text_at(data, "/agent") } else { title };
                self.print_lane_line(data, &format!("({agent} takes over)"));
            }
            "verdict.given" => self.show_verdict(data),
            "model.delayed" => {
                let wait_ms =
                    number_at(data, "/until_ms").saturating_sub(number_at(data, "/at_ms"));
                let seconds = wait_ms.div_ceil(1_000);
                let why = failure_detail(data);
                self.print_lane_line(data, &format!("({why}; retrying in {seconds} s)"));
                if let Some(failure) = data.get("failure") {
                    self.advise_on(&RunFailure::new(failure, failure_text(failure)));
                }
            }
            "run.resumed" => {
                let lane = format!("{}/", text_at(data, "/path"));
                self.drop_messages(|key| key.starts_with(&lane));
                self.print_lane_line(
                    data,
                    "(the process that worked on this crashed; another one continues)",
                );
            }
            "call.requested" => self.show_call(data),
            "progress" => self.show_progress(data),
            "call.completed" => self.show_result(data),
            "plan.changed" => self.show_plan(data),
            "child.started" => self.show_child_start(data),
            "child.ended" => self.show_child_end(data),
            "human.resolved" => {
                let by = text_at(data, "/by");
                let by = if by.is_empty() { "no one responded in time" } else { by };
                self.print_line(&format!("= {} ({by})", text_at(data, "/response")));
            }
            "file.added" => self.print_line(&format!("+ {}", text_at(data, "/file/name"))),
            _ => {}
        }
    }

    /// Prints the judgement of an answer, and the problems of the answer.
    fn show_review(&mut self, data: &Value) {
        let is_accepted = data.get("accepted").and_then(Value::as_bool).unwrap_or_default();
        let verdict = match data.get("failure") {
            Some(_) => format!("not judged: {}", failure_detail(data)),
            None if is_accepted => "accepted".to_owned(),
            None => "not accepted".to_owned(),
        };
        let round = number_at(data, "/round");
        self.print_lane_line(data, &format!("(review {round}: {verdict})"));
        let entries = ["/problems", "/missing"].into_iter().flat_map(|at| list_at(data, at));
        let lines: Vec<_> =
            entries.filter_map(Value::as_str).map(|text| format!("  - {text}")).collect();
        lines.iter().for_each(|line| self.print_lane_line(data, line));
    }

    /// Prints a separate line.
    pub(super) fn print_line(&mut self, line: &str) {
        self.start_line();
        self.write(line);
        self.start_line();
    }

    /// Prints advice for a failure, the first time the run waits for the failure.
    pub(super) fn advise_on(&mut self, failure: &RunFailure) {
        if let Some(advice) = self.adviser.advise_on_failure(failure) {
            self.print_line(&advice);
        }
    }

    /// Prompts the user for input on the same line.
    pub(super) fn prompt(&mut self, question: &str) {
        self.start_line();
        self.write_styled(Some(BOLD), &format!("{question} "));
        // The user's input ends the line.
        self.at_line_start = true;
    }

    /// Shows the answer, unless the answer repeats the last text or the rows shown.
    pub(super) fn show_answer(&mut self, answer: &str) {
        if !self.last_text.is_repeat(answer) && self.shown_result.trim() != answer.trim() {
            self.start_line();
            self.write_styled(Some(BOLD), answer);
            self.start_line();
        }
    }

    fn show_preview(&mut self, data: &Value) {
        let kind = text_at(data, "/kind");
        let key = message_key(data, kind);
        let attempt = number_at(data, "/attempt");
        let offset = usize::try_from(number_at(data, "/offset")).unwrap_or(0);
        let piece = text_at(data, "/text");
        let (known_attempt, shown_len) = self.shown_bytes.get(&key).copied().unwrap_or_default();
        let mut shown_len = shown_len;
        if attempt > known_attempt {
            self.unfinished.remove(&key);
            shown_len = 0;
        }
        if attempt < known_attempt || offset > shown_len {
            return;
        }
        let addition = piece.get(shown_len - offset..).unwrap_or_default();
        self.shown_bytes.insert(key.clone(), (attempt, shown_len + addition.len()));
        match text_at(data, "/path") {
            "" => {
                if shown_len == 0 {
                    self.start_line();
                }
                match kind {
                    "reasoning" => self.write_styled(Some(DIM), addition),
                    _ => self.print_text(shown_len == 0, addition),
                }
            }
            // The lines of two parallel thoughts would interrupt each other.
            _ if kind == "reasoning" => {}
            task => self.print_in_lane(task, &key, addition),
        }
    }

    /// Shows a complete message, except for the part already shown.
    fn show_message(&mut self, data: &Value) {
        let key = message_key(data, "text");
        let whole = text_at(data, "/text");
        let (_, shown_len) = self.shown_bytes.remove(&key).unwrap_or_default();
        let rest = whole.get(shown_len..).unwrap_or_default();
        match text_at(data, "/path") {
            "" => {
                self.print_text(shown_len == 0, rest);
                let tail = self.last_text.end_text(whole);
                self.write(&tail);
                self.start_line();
            }
            task => {
                self.print_in_lane(task, &key, &format!("{rest}\n"));
                self.unfinished.remove(&key);
            }
        }
    }

    /// Shows an addition to a text outside tasks, unless the addition repeats the last text.
    fn print_text(&mut self, is_first: bool, addition: &str) {
        if is_first {
            self.last_text.begin_text();
        }
        let new = self.last_text.add_piece(addition);
        self.write(&new);
    }

    /// Shows the complete lines.
    fn print_in_lane(&mut self, task: &str, key: &str, addition: &str) {
        let mut text = self.unfinished.remove(key).unwrap_or_default();
        text.push_str(addition);
        while let Some((line, rest)) = text.split_once('\n') {
            if !line.trim().is_empty() {
                self.print_line(&format!("{task} │ {line}"));
            }
            text = rest.to_owned();
        }
        self.unfinished.insert(key.to_owned(), text);
    }

    /// Drops the state of void messages, which start over.
    fn drop_messages(&mut self, is_void: impl Fn(&str) -> bool) {
        self.shown_bytes.retain(|key, _| !is_void(key));
        self.unfinished.retain(|key, _| !is_void(key));
    }

    /// Prints a separate line in the task's lane.
    fn print_lane_line(&mut self, data: &Value, line: &str) {
        match text_at(data, "/path") {
            "" => self.print_line(line),
            task => self.print_line(&format!("{task} │ {line}")),
        }
    }

    fn show_call(&mut self, data: &Value) {
        // The plan and the human requests are shown elsewhere.
        if ["planning", "ask_user"].contains(&text_at(data, "/tool")) {
            return;
        }
        let about = ["/arguments/command", "/arguments/filename", "/arguments/query"];
        let about = about.map(|pointer| text_at(data, pointer));
        let title = format!("{} {}", text_at(data, "/tool"), about.join(" ").trim());
        self.print_lane_line(data, &format!("  … {title}"));
        for line in text_at(data, "/arguments/code").lines() {
            self.print_lane_line(data, &format!("    {line}"));
        }
        self.calls.insert(call_key(data), (title, Instant::now()));
    }

    /// Shows the last line of a call's progress.
    fn show_progress(&mut self, data: &Value) {
        let newest = text_at(data, "/text").trim_end().rsplit('\n').next().unwrap_or_default();
        if self.calls.contains_key(&call_key(data)) && !newest.is_empty() {
            self.print_lane_line(data, &format!("    {newest}"));
        }
    }

    /// Shows the plan if the steps have changed; changes of status are shown elsewhere.
    fn show_plan(&mut self, data: &Value) {
        let steps: Vec<&Value> = list_at(data, "/plan/steps").collect();
        let words = steps.iter().map(|step| match text_at(step, "/stage") {
            "" => text_at(step, "/details").to_owned(),
            stage => format!("{stage}: {}", text_at(step, "/details")),
        });
        let words: Vec<String> = words.collect();
        if words == self.plan {
            return;
        }
        self.print_line(&format!("\nplan: {}", text_at(data, "/plan/title")));
        for (step, words) in steps.iter().zip(&words) {
            let mark = match text_at(step, "/status") {
                "completed" => "✓",
                "in_progress" => "▶",
                "blocked" => "✗",
                "skipped" => "–",
                _ => "·",
            };
            self.print_line(&format!("  {mark} {} {words}", text_at(step, "/id")));
        }
        self.write("\n");
        self.plan = words;
    }

    fn show_child_end(&mut self, data: &Value) {
        match text_at(data, "/status") {
            "finished" => self.print_child_line(data, "✓", "done"),
            status => {
                let why = data.get("failure").map(failure_text);
                self.print_child_line(data, "✗", why.as_deref().unwrap_or(status));
            }
        }
        for file in list_at(data, "/files") {
            self.print_child_line(data, "│", &format!("+ {}", text_at(file, "/name")));
        }
    }

    fn show_child_start(&mut self, data: &Value) {
        let by = match text_at(data, "/agent") {
            "" => String::new(),
            agent => format!(" ({agent})"),
        };
        self.print_child_line(data, "▶", &(text_at(data, "/description").to_owned() + &by));
    }

    fn print_child_line(&mut self, data: &Value, mark: &str, line: &str) {
        self.print_line(&format!("{} {mark} {line}", text_at(data, "/child")));
    }

    fn start_line(&mut self) {
        if !self.at_line_start {
            self.write("\n");
        }
    }

    fn write(&mut self, text: &str) {
        self.write_styled(None, text);
    }

    fn write_styled(&mut self, style: Option<&str>, text: &str) {
        let text = to_printable(text);
        let Some(last) = text.chars().next_back() else { return };
        self.at_line_start = last == '\n';
        let text = match style.filter(|_| self.colours) {
            Some(style) => format!("{style}{text}{PLAIN}"),
            None => text,
        };
        // A closed terminal does not stop the run.
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }
}

/// Returns the reason for a failed run or task, in the server's words.
pub(crate) fn failure_text(failure: &Value) -> String {
    Failure::deserialize(failure)
        .map_or_else(|_| "it failed".to_owned(), |f| to_printable(&f.sentence(Language::En)))
}

/// Removes control characters, with which models, tools and files could control a terminal.
pub(super) fn to_printable(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect()
}

/// Returns the key of a message's text of one kind. Tasks number messages separately.
fn message_key(data: &Value, kind: &str) -> String {
    format!("{}/{}/{kind}", text_at(data, "/path"), text_at(data, "/message"))
}

fn call_key(data: &Value) -> String {
    format!("{}/{}", text_at(data, "/path"), text_at(data, "/call"))
}

fn failure_detail(data: &Value) -> &str {
    text_at(data, "/failure/detail")
}

#[cfg(test)]
mod tests;
