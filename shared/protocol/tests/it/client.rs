//! Clients as the protocols' own front ends keep their state, to compare what they end up with.

use std::collections::BTreeMap;

use serde_json::Value;

/// One frame as it arrives: its id, its event name, its data.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Received {
    pub(crate) id: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) data: String,
}

/// Reads the frames of a stream; comments carry nothing.
pub(crate) fn received(stream: &str) -> Vec<Received> {
    stream
        .split("\n\n")
        .filter(|frame| frame.contains("data:"))
        .map(|frame| {
            let field = |name: &str| {
                frame.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
            };
            Received { id: field("id: "), event: field("event: "), data: field("data:").unwrap() }
        })
        .collect()
}

/// The state of JoyAgent's UI: the items of its task list, as `utils/chat.ts` builds them.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct UiState {
    pub(crate) items: Vec<(String, String, Value)>,
    pub(crate) plan: Value,
    pub(crate) finished: bool,
}

impl UiState {
    /// With its items by their ids: between tasks, order means nothing.
    pub(crate) fn by_id(mut self) -> Self {
        self.items.sort_by(|a, b| a.0.cmp(&b.0));
        self
    }

    pub(crate) fn take(&mut self, frame: &Received) {
        let envelope: Value = serde_json::from_str(&frame.data).unwrap();
        if envelope["packageType"] == "heartbeat" {
            return;
        }
        self.finished |= envelope["finished"] == true;
        let data = &envelope["resultMap"]["eventData"];
        if data["messageType"] == "plan" {
            // The first one comes bare.
            self.plan = data["resultMap"].clone();
            return;
        }
        assert_eq!(data["messageId"], data["resultMap"]["messageId"]);
        self.raw(&data["resultMap"]);
    }

    /// The raw protocol's events are the ones the UI's envelopes carry.
    pub(crate) fn raw(&mut self, event: &Value) {
        assert!(event["messageTime"].is_string(), "the UI breaks on a number");
        assert!(event["resultMap"].is_object(), "the UI breaks without it");
        let id = event["messageId"].as_str().unwrap().to_owned();
        let kind = event["messageType"].as_str().unwrap().to_owned();
        if kind == "plan" {
            self.plan = event["plan"].clone();
            return;
        }
        let Some(text) =
            ["toolThought", "planThought"].iter().find_map(|name| event[name].as_str())
        else {
            // A record that was cut off in its middle comes again: its items keep their ids.
            self.items.retain(|(known, _, _)| *known != id);
            self.items.push((id, kind, event.clone()));
            return;
        };
        let known = self.items.iter_mut().find(|(known, _, _)| *known == id);
        match known {
            Some((_, _, thought)) if event["isFinal"] == true => *thought = text.into(),
            Some((_, _, thought)) => {
                *thought = format!("{}{text}", thought.as_str().unwrap()).into();
            }
            None => self.items.push((id, kind, text.into())),
        }
    }
}

/// The state of a native client: entries, and the text of messages being written.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct NativeState {
    pub(crate) entries: Vec<Value>,
    pub(crate) open: BTreeMap<String, (u64, String)>,
}

impl NativeState {
    /// With its entries by their ids: between tasks, order means nothing.
    pub(crate) fn by_id(mut self) -> Self {
        self.entries.sort_by_key(|entry| entry["id"].as_str().unwrap_or_default().to_owned());
        self
    }

    pub(crate) fn take(&mut self, frame: &Received) {
        let value: Value = serde_json::from_str(&frame.data).unwrap();
        match frame.event.as_deref().unwrap() {
            "preview" => {
                let message = key(&value);
                let attempt = value["attempt"].as_u64().unwrap();
                let (known_attempt, text) = self.open.entry(message).or_default();
                if attempt > *known_attempt {
                    (*known_attempt, *text) = (attempt, String::new());
                }
                let offset = usize::try_from(value["offset"].as_u64().unwrap()).unwrap();
                if attempt == *known_attempt && offset <= text.len() {
                    let piece = value["text"].as_str().unwrap();
                    text.push_str(piece.get(text.len() - offset..).unwrap_or_default());
                }
            }
            // Shown while it comes, and kept nowhere.
            "progress" => {}
            event => {
                match event {
                    "message.completed" | "message.reset" => {
                        self.open.remove(&key(&value));
                    }
                    "run.ended" => self.open.clear(),
                    // Its task's texts start over; those of others go on.
                    "run.resumed" => {
                        let task = value["path"].as_str();
                        self.open.retain(|key, _| key.rsplit_once('.').map(|it| it.0) != task);
                    }
                    _ => {}
                }
                // A record that was cut off in its middle comes again: its entries keep their ids.
                if !self.entries.iter().any(|entry| entry["id"] == value["id"]) {
                    self.entries.push(value);
                }
            }
        }
    }
}

/// A message of a run or of one of its tasks: both count from `t1`.
fn key(value: &Value) -> String {
    let message = value["message"].as_str().unwrap();
    match value["path"].as_str() {
        Some(task) => format!("{task}.{message}"),
        None => message.to_owned(),
    }
}
