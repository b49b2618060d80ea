//! JoyAgent's page, as far as a test can see: what its reducers make of the events of one connection,
//! and what a user would then see of it.
//!
//! Its rules are the original's, with their gaps: a page shows one group of events where nothing is
//! planned, drops what comes before the `task` event of its group, names a chip after what it knows,
//! has one place for all thoughts about the plan, and never merges what is no text.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// A page with one question.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// Whether the question was asked with the switch for plans on.
    deep: bool,
    /// Whether the input is open again.
    pub(crate) unlocked: bool,
    /// What is thought about the plan.
    pub(crate) thought: String,
    /// The plan above the lanes.
    pub(crate) plan: Value,
    groups: Vec<(String, Vec<Value>)>,
    /// What the page cannot show, or breaks on.
    complaints: Vec<String>,
}

/// A lane of the page: what is under one task, or all of it where nothing is planned.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) chips: Vec<Chip>,
}

/// One thing in a lane.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chip {
    pub(crate) id: String,
    pub(crate) kind: String,
    /// What stands on it.
    pub(crate) text: String,
    /// The names of the files it leads to.
    pub(crate) files: Vec<String>,
    /// The text that opens beside the chat.
    pub(crate) panel: String,
}

/// Types of events that the page adds to as they come.
const TEXTS: [&str; 4] = ["html", "markdown", "ppt", "data_analysis"];

impl Page {
    pub(crate) fn new(deep: bool) -> Self {
        Self { deep, ..Self::default() }
    }

    /// The page after the envelopes of a stream of the UI's; `data` is what stands behind `data:`.
    pub(crate) fn of_ui<'a>(deep: bool, data: impl IntoIterator<Item = &'a str>) -> Self {
        let mut page = Self::new(deep);
        data.into_iter().for_each(|data| page.envelope(&serde_json::from_str(data).unwrap()));
        page
    }

    /// The same of the raw protocol, whose events do not say which lane they are in: their ids do.
    pub(crate) fn of_raw<'a>(deep: bool, data: impl IntoIterator<Item = &'a str>) -> Self {
        let mut page = Self::new(deep);
        for data in data.into_iter().filter(|data| *data != "heartbeat") {
            let event: Value = serde_json::from_str(data).unwrap();
            page.unlocked |= event["finish"] == true;
            let id = event["messageId"].as_str().unwrap();
            match event["messageType"].as_str().unwrap() {
                "plan" => page.plan = event["plan"].clone(),
                "plan_thought" => page.raw_plan_thought(&event),
                kind if kind.starts_with("human_feedback") || kind.starts_with("parameter_") => {}
                "hand_over" => {}
                _ => {
                    let lane = lane_of(id).unwrap_or_else(|| "run".to_owned());
                    page.task(&lane, id, &event);
                }
            }
        }
        page
    }

    /// The raw protocol tells thoughts about the plan apart; a page would not.
    fn raw_plan_thought(&mut self, event: &Value) {
        if event["isFinal"] == true {
            if !self.thought.is_empty() {
                self.thought.push_str("\n\n");
            }
            self.thought.push_str(event["planThought"].as_str().unwrap());
        }
    }

    fn envelope(&mut self, envelope: &Value) {
        if envelope["packageType"] == "heartbeat" {
            return;
        }
        let data = &envelope["resultMap"]["eventData"];
        if data.is_null() {
            return;
        }
        let event = &data["resultMap"];
        match data["messageType"].as_str().unwrap() {
            "plan" if data["taskId"].is_null() => self.plan = event.clone(),
            "plan_thought" => {
                let text = event["planThought"].as_str().unwrap();
                if event["isFinal"] == true {
                    text.clone_into(&mut self.thought);
                } else {
                    self.thought.push_str(text);
                }
            }
            "task" => {
                let (lane, id) = (data["taskId"].as_str().unwrap(), data["messageId"].as_str());
                if id != event["messageId"].as_str() {
                    self.complaints.push(format!("two ids of one event: {data}"));
                }
                self.task(lane, id.unwrap(), event);
            }
            // What it does not know it passes over.
            _ => {}
        }
        self.unlocked |= envelope["finished"] == true;
    }

    fn task(&mut self, lane: &str, id: &str, event: &Value) {
        let place = self.groups.iter().position(|(known, _)| known == lane);
        let place = place.unwrap_or_else(|| {
            self.groups.push((lane.to_owned(), Vec::new()));
            self.groups.len() - 1
        });
        let group = &mut self.groups[place].1;
        let kind = event["messageType"].as_str().unwrap();
        let known = group.iter_mut().find(|known| known["messageId"] == id);
        match (kind, known) {
            ("tool_thought", Some(known)) => {
                let text = event["toolThought"].as_str().unwrap_or_default();
                known["toolThought"] = if event["isFinal"] == true {
                    text.into()
                } else {
                    format!("{}{text}", known["toolThought"].as_str().unwrap()).into()
                };
                known["wasTakenBack"] = text.is_empty().into();
            }
            ("deep_search", Some(known)) => add_search(known, &event["resultMap"]),
            (kind, Some(known)) if TEXTS.contains(&kind) => add_text(known, &event["resultMap"]),
            _ => {
                self.complaints.extend(breaks(kind, event));
                group.push(event.clone());
            }
        }
    }

    /// The lanes as the page shows them.
    pub(crate) fn lanes(&self) -> Vec<Lane> {
        let shown = self.groups.iter().take(if self.deep { usize::MAX } else { 1 });
        shown.map(|(id, events)| self.lane(id, events)).collect()
    }

    fn lane(&self, id: &str, events: &[Value]) -> Lane {
        let mut lane = Lane { id: id.to_owned(), ..Lane::default() };
        let mut is_open = !self.deep;
        for event in events {
            let kind = event["messageType"].as_str().unwrap();
            if kind == "task" {
                is_open = true;
                lane.title = event["task"].as_str().unwrap_or_default().to_owned();
            } else if is_open && kind != "result" && !is_taken_back(event) {
                lane.chips.push(chip(event, kind));
            }
        }
        lane
    }

    /// What stands below the lanes: the newest result, and the names of its files.
    pub(crate) fn conclusion(&self) -> Option<Chip> {
        let events = self.groups.iter().flat_map(|(_, events)| events);
        let mut results = events.filter(|event| event["messageType"] == "result");
        results.next_back().map(|event| chip(event, "result"))
    }

    /// What is wrong with it; empty for a page as it should be.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = self.complaints.clone();
        if !self.deep && self.groups.len() > 1 {
            let lanes: Vec<_> = self.groups.iter().map(|(id, _)| id).collect();
            problems.push(format!("only the first of these groups is shown: {lanes:?}"));
        }
        let lanes = self.lanes();
        for (lane, (_, events)) in lanes.iter().zip(&self.groups) {
            let shown = lane.chips.iter().map(|chip| chip.id.as_str()).collect::<BTreeSet<_>>();
            for event in events {
                let (id, kind) = (event["messageId"].as_str().unwrap(), &event["messageType"]);
                let is_shown = shown.contains(id) || is_taken_back(event);
                if kind != "task" && kind != "result" && !is_shown {
                    problems.push(format!("{} never shows {id}", lane.id));
                }
                if lane_of(id).is_some_and(|own| own != lane.id) {
                    problems.push(format!("{id} is shown in {}", lane.id));
                }
            }
            if self.deep && lane.title.is_empty() && !lane.chips.is_empty() {
                problems.push(format!("{} has no title", lane.id));
            }
            problems.extend(problems_of(lane));
        }
        problems.extend(self.told_again());
        problems
    }

    /// What the conclusion says again, and what two lanes share that are none of each other's.
    fn told_again(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let ids: Vec<&str> = self
            .groups
            .iter()
            .flat_map(|(_, events)| events.iter().map(|event| event["messageId"].as_str().unwrap()))
            .collect();
        let mut times: BTreeMap<&str, usize> = BTreeMap::new();
        ids.iter().for_each(|id| *times.entry(id).or_default() += 1);
        for (id, times) in times.into_iter().filter(|(_, times)| *times > 1) {
            problems.push(format!("{id} is shown {times} times"));
        }
        let Some(conclusion) = self.conclusion() else { return problems };
        if conclusion.text.trim().is_empty() {
            problems.push("the result says nothing".to_owned());
        }
        let own: Vec<Chip> = if self.deep {
            Vec::new()
        } else {
            self.lanes().into_iter().flat_map(|lane| lane.chips).collect()
        };
        let own: Vec<Chip> = own.into_iter().filter(|chip| chip.kind == "tool_thought").collect();
        let newest = self.thought.rsplit("\n\n").take(1);
        let texts = own.iter().map(|chip| chip.text.as_str()).chain(newest);
        for text in texts.map(str::trim).filter(|text| text.len() > 3) {
            if conclusion.text.contains(text) {
                problems.push(format!("the result tells once more: {text}"));
            }
        }
        problems
    }

    /// A page that a user can read: all of it is there, and nothing twice.
    #[track_caller]
    pub(crate) fn check(&self) {
        let problems = self.problems();
        assert!(problems.is_empty(), "{problems:#?}\n{self:#?}");
    }

    /// The same at the end of a response, when the user can go on.
    #[track_caller]
    pub(crate) fn check_unlocked(&self) {
        self.check();
        assert!(self.unlocked, "its input stays locked: {self:#?}");
        let events = self.groups.iter().flat_map(|(_, events)| events);
        let spinning: Vec<_> = events.filter(|event| is_spinning(event)).collect();
        assert!(spinning.is_empty(), "these spin for ever: {spinning:#?}");
    }
}

/// Returns true if the page shows that there is more to come of an event.
fn is_spinning(event: &Value) -> bool {
    let payload = &event["resultMap"];
    let spins = match event["messageType"].as_str().unwrap() {
        "html" | "markdown" | "data_analysis" => true,
        // Of a search that has come to its findings, the page says so.
        "deep_search" => payload["messageType"] == "extend" || payload["messageType"] == "report",
        _ => false,
    };
    spins && payload["isFinal"] != true
}

/// Returns true if nothing is left of what an event showed: of a thought its empty box, of a document an empty panel,
/// of a search nothing, since the page has a chip for each of its queries.
fn is_taken_back(event: &Value) -> bool {
    let payload = &event["resultMap"];
    match event["messageType"].as_str().unwrap() {
        "tool_thought" => event["wasTakenBack"] == true,
        "html" | "markdown" | "ppt" => payload["wasTakenBack"] == true,
        "deep_search" => {
            payload["messageType"] != "report"
                && payload["searchResult"]["query"].as_array().is_some_and(Vec::is_empty)
        }
        _ => false,
    }
}

/// A search as the page adds to it: newer findings take the place of those before, and text is only added.
fn add_search(known: &mut Value, map: &Value) {
    let known = &mut known["resultMap"];
    for member in ["isFinal", "messageType"] {
        known[member] = map[member].clone();
    }
    for member in ["query", "docs"] {
        if map["searchResult"][member].as_array().is_some_and(|items| !items.is_empty()) {
            known["searchResult"][member] = map["searchResult"][member].clone();
        }
    }
    let more = map["answer"].as_str().unwrap_or_default();
    known["answer"] = format!("{}{more}", known["answer"].as_str().unwrap_or_default()).into();
}

fn problems_of(lane: &Lane) -> Vec<String> {
    let mut problems = Vec::new();
    for chip in &lane.chips {
        if chip.text.trim().is_empty() && chip.files.is_empty() {
            problems.push(format!("{} of {} says nothing", chip.id, lane.id));
        }
    }
    let is_text = |chip: &&Chip| ["tool_thought", "task_summary", "plan"].contains(&&*chip.kind);
    let texts: Vec<&Chip> = lane.chips.iter().filter(is_text).collect();
    for (nth, chip) in texts.iter().enumerate() {
        let again = texts.iter().enumerate().find(|(other, text)| {
            *other != nth && !chip.text.is_empty() && text.text.starts_with(&chip.text)
        });
        if let Some((_, again)) = again {
            problems.push(format!("{} tells {} again: {}", again.id, chip.id, chip.text));
        }
    }
    problems
}

/// A page's reducer of a text: what is final replaces it, anything else is added to it.
fn add_text(known: &mut Value, payload: &Value) {
    if payload["isFinal"] == true {
        known["resultMap"] = payload.clone();
        let has_file = payload["fileInfo"].as_array().is_some_and(|files| !files.is_empty());
        known["resultMap"]["wasTakenBack"] = (payload["data"] == "" && !has_file).into();
        return;
    }
    known["resultMap"]["isFinal"] = false.into();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let whole = text(&known["resultMap"]["data"]) + &text(&payload["data"]);
    known["resultMap"]["data"] = whole.into();
}

/// What of an event breaks the page, or is never shown.
fn breaks(kind: &str, event: &Value) -> Option<String> {
    let payload = &event["resultMap"];
    let is_whole = event["messageTime"].is_string()
        && payload.is_object()
        && match kind {
            "task_summary" => payload["fileList"].is_array(),
            "file" => payload["fileInfo"][0]["fileName"].is_string(),
            "plan" => event["plan"]["stepStatus"].is_array(),
            // It hides what code printed.
            "code" => payload["code"].is_string() && payload["codeOutput"].is_null(),
            _ => true,
        };
    let lists = ["fileInfo", "fileList"].map(|list| payload[list].as_array());
    let mut names = lists.into_iter().flatten().flatten().map(|file| &file["fileName"]);
    let has_deck = names.any(|name| name.as_str().is_some_and(|name| name.ends_with(".ppt")));
    if has_deck {
        return Some(format!("the page waits for ever for the deck of {event}"));
    }
    (!is_whole).then(|| format!("the page breaks on {event}"))
}

/// A chip as the page names it.
fn chip(event: &Value, kind: &str) -> Chip {
    let payload = &event["resultMap"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = ["fileInfo", "fileList"].iter().find_map(|name| payload[name].as_array());
    let files: Vec<String> =
        list.into_iter().flatten().map(|file| text(&file["fileName"])).collect();
    let named = match kind {
        "tool_thought" => text(&event["toolThought"]),
        "task_summary" => text(&payload["taskSummary"]),
        "result" => match text(&payload["taskSummary"]) {
            summary if summary.is_empty() => text(&event["result"]),
            summary => summary,
        },
        // The newest step that is done, whosever lane it is.
        "plan" => {
            let status = event["plan"]["stepStatus"].as_array().unwrap();
            let done = status.iter().rposition(|status| status == "completed");
            done.map(|done| text(&event["plan"]["steps"][done])).unwrap_or_default()
        }
        "tool_result" => text(&event["toolResult"]["toolName"]),
        "file" => format!("{} {}", text(&payload["command"]), files.join(" ")),
        "data_analysis" => text(&payload["task"]),
        "html" | "markdown" | "code" | "deep_search" => kind.to_owned(),
        // It says that a tool is called, and not which.
        _ => String::new(),
    };
    let id = event["messageId"].as_str().unwrap().to_owned();
    let panel = ["data", "answer", "code"].iter().find_map(|name| payload[name].as_str());
    let panel = panel.unwrap_or_default().to_owned();
    Chip { id, kind: kind.to_owned(), text: named, files, panel }
}

/// The lane that an id belongs to: of a task's events it begins with the task.
fn lane_of(id: &str) -> Option<String> {
    let (run, rest) = id.split_once('.')?;
    let mut parts = rest.split('.');
    let (step, attempt) = (parts.next()?, parts.next()?);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_task = step.strip_prefix('s').is_some_and(is_number) && is_number(attempt);
    is_task.then(|| format!("{run}.{step}.{attempt}"))
}
