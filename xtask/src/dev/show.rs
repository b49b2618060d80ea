//! A run in the terminal: thoughts as they are written, tool calls with their progress, the answer.
//!
//! Tasks that are at work at the same time have a lane each: whole lines, marked with their task.

mod repeat;

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write, stdout};
use std::time::Instant;

use serde_json::Value;

use super::client::Event;
use super::json::{list, number, text};
use repeat::Repeat;

/// What is on the screen.
pub(super) struct Screen {
    out: Box<dyn Write + Send>,
    colours: bool,
    /// How much of each message is shown, in bytes, and of which attempt.
    shown: BTreeMap<String, (u64, usize)>,
    /// What a task has said of a line that has not ended.
    unfinished: BTreeMap<String, String>,
    calls: BTreeMap<String, (String, Instant)>,
    /// The words of the plan that was shown last.
    plan: Vec<String>,
    at_line_start: bool,
    /// The text of the last message outside tasks, and of the one that is being written.
    said: Repeat,
}

const DIM: &str = "\x1b[2m";
const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

impl Screen {
    pub(super) fn new() -> Self {
        Self::on(Box::new(stdout()), stdout().is_terminal())
    }

    fn on(out: Box<dyn Write + Send>, colours: bool) -> Self {
        Self {
            out,
            colours,
            shown: BTreeMap::new(),
            unfinished: BTreeMap::new(),
            plan: Vec::new(),
            calls: BTreeMap::new(),
            at_line_start: true,
            said: Repeat::default(),
        }
    }

    /// Shows an event.
    pub(super) fn show(&mut self, event: &Event) {
        let data = &event.data;
        match event.name.as_str() {
            "preview" => self.preview(data),
            "message.completed" => self.message(data),
            "item.reset" => {
                let text = key(data, "text");
                self.forget(|key| key == text);
                self.lane_line(data, &format!("(broken off: {}; starting over)", failure(data)));
            }
            "model.changed" => {
                let (from, to) = (text(data, "/from"), text(data, "/to"));
                let why = failure(data);
                self.lane_line(data, &format!("({to} answers in place of {from}: {why})"));
            }
            "run.resumed" => {
                let lane = format!("{}/", text(data, "/within"));
                self.forget(|key| key.starts_with(&lane));
                self.lane_line(data, "(the process that worked on this died; another goes on)");
            }
            "call.requested" => self.requested(data),
            "call.completed" => self.completed(data),
            "plan.changed" => self.planned(data),
            "task.started" => self.task_line(data, "▶", text(data, "/words")),
            "task.ended" => self.task_ended(data),
            "feedback.answered" => {
                let by = text(data, "/by");
                let by = if by.is_empty() { "nobody answered in time" } else { by };
                self.line(&format!("= {} ({by})", text(data, "/answer")));
            }
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

    /// A question to whoever is at the keyboard, on a line that goes on with the answer.
    pub(super) fn prompt(&mut self, question: &str) {
        self.new_line();
        self.write_in(Some(BOLD), &format!("{question} "));
        // What is typed ends the line.
        self.at_line_start = true;
    }

    /// The answer, unless it is the last thing that was said.
    pub(super) fn answer(&mut self, answer: &str) {
        if !self.said.is(answer) {
            self.new_line();
            self.write_in(Some(BOLD), answer);
            self.new_line();
        }
    }

    fn preview(&mut self, data: &Value) {
        let kind = text(data, "/kind");
        let key = key(data, kind);
        let attempt = number(data, "/attempt");
        let offset = usize::try_from(number(data, "/offset")).unwrap_or(0);
        let piece = text(data, "/text");
        let (known_attempt, shown) = self.shown.get(&key).copied().unwrap_or_default();
        let mut shown = shown;
        if attempt > known_attempt {
            self.unfinished.remove(&key);
            shown = 0;
        }
        if attempt < known_attempt || offset > shown {
            return;
        }
        let added = piece.get(shown - offset..).unwrap_or_default();
        self.shown.insert(key.clone(), (attempt, shown + added.len()));
        match text(data, "/within") {
            "" => {
                if shown == 0 {
                    self.new_line();
                }
                match kind {
                    "reasoning" => self.write_in(Some(DIM), added),
                    _ => self.say(shown == 0, added),
                }
            }
            // Two tasks that think aloud would take each other's lines apart.
            _ if kind == "reasoning" => {}
            task => self.say_in_lane(task, &key, added),
        }
    }

    /// The whole text; what was not shown as it was written is shown now.
    fn message(&mut self, data: &Value) {
        let key = key(data, "text");
        let whole = text(data, "/text");
        let (_, shown) = self.shown.remove(&key).unwrap_or_default();
        let rest = whole.get(shown..).unwrap_or_default();
        match text(data, "/within") {
            "" => {
                self.say(shown == 0, rest);
                let left = self.said.end(whole);
                self.write(&left);
                self.new_line();
            }
            task => {
                self.say_in_lane(task, &key, &format!("{rest}\n"));
                self.unfinished.remove(&key);
            }
        }
    }

    /// Shows what joins a text outside tasks, unless it says again what was said last.
    fn say(&mut self, begins: bool, added: &str) {
        if begins {
            self.said.begin();
        }
        let new = self.said.add(added);
        self.write(&new);
    }

    /// Shows the lines that are whole.
    fn say_in_lane(&mut self, task: &str, key: &str, added: &str) {
        let mut said = self.unfinished.remove(key).unwrap_or_default();
        said.push_str(added);
        while let Some((line, rest)) = said.split_once('\n') {
            if !line.trim().is_empty() {
                self.line(&format!("{task} │ {line}"));
            }
            said = rest.to_owned();
        }
        self.unfinished.insert(key.to_owned(), said);
    }

    /// What was said of these messages is void: they start over.
    fn forget(&mut self, is_void: impl Fn(&str) -> bool) {
        self.shown.retain(|key, _| !is_void(key));
        self.unfinished.retain(|key, _| !is_void(key));
    }

    /// A line of its own, in the lane of the task it belongs to.
    fn lane_line(&mut self, data: &Value, line: &str) {
        match text(data, "/within") {
            "" => self.line(line),
            task => self.line(&format!("{task} │ {line}")),
        }
    }

    fn requested(&mut self, data: &Value) {
        // The plan itself is shown, and so is what is asked.
        if ["planning", "ask_user"].contains(&text(data, "/tool")) {
            return;
        }
        let about = ["/arguments/command", "/arguments/filename", "/arguments/query"];
        let about = about.map(|pointer| text(data, pointer));
        let title = format!("{} {}", text(data, "/tool"), about.join(" ").trim());
        self.lane_line(data, &format!("  … {title}"));
        self.calls.insert(call(data), (title, Instant::now()));
    }

    fn completed(&mut self, data: &Value) {
        let Some((title, since)) = self.calls.remove(&call(data)) else { return };
        let took = since.elapsed().as_secs_f64();
        let line = match text(data, "/outcome/is") {
            "done" => format!("  ✓ {title} ({took:.1} s)"),
            _ => format!(
                "  ✗ {title}: {} {}",
                text(data, "/outcome/reason"),
                text(data, "/outcome/detail")
            ),
        };
        self.lane_line(data, &line);
    }

    /// The plan, when its steps are others than before: what becomes of them shows below.
    fn planned(&mut self, data: &Value) {
        let steps: Vec<&Value> = list(data, "/plan/steps").collect();
        let words: Vec<String> = steps.iter().map(|step| words(step)).collect();
        if words == self.plan {
            return;
        }
        self.line(&format!("\nplan: {}", text(data, "/plan/title")));
        for (step, words) in steps.iter().zip(&words) {
            let mark = match text(step, "/status") {
                "completed" => "✓",
                "in_progress" => "▶",
                "blocked" => "✗",
                "skipped" => "–",
                _ => "·",
            };
            self.line(&format!("  {mark} s{} {words}", number(step, "/id")));
        }
        self.write("\n");
        self.plan = words;
    }

    fn task_ended(&mut self, data: &Value) {
        match text(data, "/status") {
            "finished" => self.task_line(data, "✓", "done"),
            _ => self.task_line(data, "✗", text(data, "/text")),
        }
        for file in list(data, "/files") {
            self.task_line(data, "│", &format!("+ {}", text(file, "/name")));
        }
    }

    fn task_line(&mut self, data: &Value, mark: &str, line: &str) {
        self.line(&format!("{} {mark} {line}", text(data, "/task")));
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
        // A closed terminal is no reason to stop the run.
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }
}

/// A text without the control characters by which models, tools and files could command a terminal.
pub(super) fn printable(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect()
}

/// A message's text of one kind; tasks count their messages by themselves.
fn key(data: &Value, kind: &str) -> String {
    format!("{}/{}/{kind}", text(data, "/within"), text(data, "/message"))
}

fn call(data: &Value) -> String {
    format!("{}/{}", text(data, "/within"), text(data, "/call"))
}

fn words(step: &Value) -> String {
    match text(step, "/stage") {
        "" => text(step, "/details").to_owned(),
        stage => format!("{stage}: {}", text(step, "/details")),
    }
}

fn failure(data: &Value) -> &str {
    text(data, "/failure/detail")
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::json;

    use super::*;

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn event(name: &str, data: Value) -> Event {
        Event { id: None, name: name.to_owned(), data }
    }

    #[test]
    fn tasks_at_work_at_once_do_not_take_each_others_lines_apart() {
        let out = Shared::default();
        let mut screen = Screen::on(Box::new(out.clone()), false);
        let piece = |task: &str, offset: usize, piece: &str| {
            event(
                "preview",
                json!({
                    "within": task, "message": "t1", "attempt": 1, "kind": "text", "offset": offset,
                    "text": piece,
                }),
            )
        };
        let whole = |task: &str, text: &str| {
            event("message.completed", json!({"within": task, "message": "t1", "text": text}))
        };
        let plan = json!({"plan": {"title": "Prices", "steps": [
            {"id": 1, "stage": "Gold", "details": "look", "status": "in_progress"},
            {"id": 2, "stage": "", "details": "silver", "status": "not_started"},
        ]}});
        let started = json!({"task": "s1.1", "words": "Gold: look"});
        let ended = json!({"task": "s1.1", "status": "finished", "files": [{"name": "gold.md"}]});
        for event in [
            event("plan.changed", plan.clone()),
            event("plan.changed", plan),
            event("task.started", started),
            piece("s1.1", 0, "Gold is"),
            piece("s2.1", 0, "Silver\nis "),
            piece("s1.1", 7, " dear."),
            whole("s1.1", "Gold is dear."),
            whole("s2.1", "Silver\nis cheap."),
            event("task.ended", ended),
        ] {
            screen.show(&event);
        }
        let text = String::from_utf8(out.0.lock().unwrap().clone()).unwrap();
        let lines = "\nplan: Prices\n  ▶ s1 Gold: look\n  · s2 silver\n\n\
                     s1.1 ▶ Gold: look\n\
                     s2.1 │ Silver\n\
                     s1.1 │ Gold is dear.\n\
                     s2.1 │ is cheap.\n\
                     s1.1 ✓ done\n\
                     s1.1 │ + gold.md\n";
        assert_eq!(text, lines);
    }

    #[test]
    fn an_answer_that_a_summary_says_again_is_shown_once() {
        let out = Shared::default();
        let mut screen = Screen::on(Box::new(out.clone()), false);
        let piece = |message: &str, offset: usize, piece: &str| {
            event(
                "preview",
                json!({
                    "message": message, "attempt": 1, "kind": "text", "offset": offset, "text": piece,
                }),
            )
        };
        let whole = |message: &str, text: &str| {
            event("message.completed", json!({"message": message, "text": text}))
        };
        for event in [
            piece("t1", 0, "I look."),
            whole("t1", "I look."),
            piece("t2", 0, "Gold is"),
            whole("t2", "Gold is dear."),
            piece("summary", 0, "Gold"),
            piece("summary", 4, " is dear."),
            whole("summary", "Gold is dear."),
        ] {
            screen.show(&event);
        }
        screen.answer("Gold is dear.");
        let text = String::from_utf8(out.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text, "I look.\nGold is dear.\n");
    }

    #[test]
    fn a_text_that_starts_over_in_a_lane_is_shown_once() {
        let out = Shared::default();
        let mut screen = Screen::on(Box::new(out.clone()), false);
        let piece = |attempt: u64, piece: &str| {
            event(
                "preview",
                json!({
                    "within": "s1.1", "message": "t1", "attempt": attempt, "kind": "text",
                    "offset": 0, "text": piece,
                }),
            )
        };
        let whole = json!({"within": "s1.1", "message": "t1", "text": "Gold is dear."});
        for event in [
            piece(1, "Gold is"),
            event("run.resumed", json!({"within": "s1.1", "epoch": 2})),
            // Late, from the live log.
            piece(1, "Gold"),
            piece(2, "Gold is dear"),
            event("message.completed", whole),
        ] {
            screen.show(&event);
        }
        let text = String::from_utf8(out.0.lock().unwrap().clone()).unwrap();
        let died = "s1.1 │ (the process that worked on this died; another goes on)\n";
        assert_eq!(text, format!("{died}s1.1 │ Gold is dear.\n"));
    }

    #[test]
    fn a_text_cannot_command_the_terminal() {
        let text = "a\tb\r\n\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{7f}界 é";
        assert_eq!(printable(text), "a\tb\n]0;owned[2J31m界 é");
    }
}
