//! The children at work with their newest texts, for protocols that show one object for each child.

use std::collections::BTreeMap;

use djinn_core::id::Path;
use djinn_core::status::RunStatus;
use djinn_text::truncate::truncate_text;
use serde_json::{Value, json};

/// Maximum bytes of the newest text of a child.
const MAX_TEXT: usize = 2_048;

/// The children at work, by path.
#[derive(Debug, Default)]
pub(crate) struct WorkingChildren(BTreeMap<Path, WorkingChild>);

#[derive(Debug)]
struct WorkingChild {
    description: String,
    agent: String,
    text: String,
}

impl WorkingChildren {
    /// Adds a child, and returns its object.
    pub(crate) fn start(&mut self, path: &Path, description: &str, agent: &str) -> Value {
        let child = WorkingChild {
            description: description.to_owned(),
            agent: agent.to_owned(),
            text: String::new(),
        };
        let object = child.to_json(RunStatus::Running);
        self.0.insert(path.clone(), child);
        object
    }

    /// Sets the newest text of a child. Returns the child's object, or `None` without a change.
    pub(crate) fn write(&mut self, path: &Path, text: &str) -> Option<Value> {
        let child = self.0.get_mut(path).filter(|_| !text.is_empty())?;
        child.text = truncate_text(text, MAX_TEXT);
        Some(child.to_json(RunStatus::Running))
    }

    /// Removes a child, and the children below it, which ended with it. Returns the child's last object.
    pub(crate) fn end(&mut self, path: &Path, status: RunStatus, text: &str) -> Option<Value> {
        let child = self.0.remove(path);
        self.0.retain(|below, _| !below.is_within(path));
        Some(WorkingChild { text: truncate_text(text, MAX_TEXT), ..child? }.to_json(status))
    }

    /// Returns the objects of all children at work.
    pub(crate) fn objects(&self) -> impl Iterator<Item = (&Path, Value)> {
        self.0.iter().map(|(path, child)| (path, child.to_json(RunStatus::Running)))
    }
}

impl WorkingChild {
    fn to_json(&self, status: RunStatus) -> Value {
        let Self { description, agent, text } = self;
        json!({"description": description, "agent": agent, "status": status, "text": text})
    }
}
