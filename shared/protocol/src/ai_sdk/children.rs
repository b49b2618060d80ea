//! Children as data parts, each replaced as a whole.

use std::collections::BTreeMap;

use djinn_core::id::Path;
use djinn_core::status::RunStatus;
use djinn_text::truncate::truncate_text;
use serde_json::{Value, json};

use super::parts::ResponseParts;

/// Maximum bytes of the newest text of a child.
const MAX_TEXT: usize = 2_048;

/// The children at work.
#[derive(Default)]
pub(super) struct Children(BTreeMap<Path, Child>);

struct Child {
    description: String,
    agent: String,
    text: String,
}

impl Children {
    pub(super) fn start(
        &mut self,
        path: Path,
        description: &str,
        agent: &str,
        parts: &mut ResponseParts,
    ) {
        let (description, agent) = (description.to_owned(), agent.to_owned());
        let child = Child { description, agent, text: String::new() };
        parts.add(child.chunk(&path, RunStatus::Running));
        self.0.insert(path, child);
    }

    /// Shows the newest text of a child.
    pub(super) fn write(&mut self, path: &Path, text: &str, parts: &mut ResponseParts) {
        if let Some(child) = self.0.get_mut(path).filter(|_| !text.is_empty()) {
            child.text = truncate_text(text, MAX_TEXT);
            parts.add(child.chunk(path, RunStatus::Running));
        }
    }

    /// Shows the end of a child. The children below it ended with it.
    pub(super) fn end(
        &mut self,
        path: &Path,
        status: RunStatus,
        text: &str,
        parts: &mut ResponseParts,
    ) {
        if let Some(mut child) = self.0.remove(path) {
            child.text = truncate_text(text, MAX_TEXT);
            parts.add(child.chunk(path, status));
        }
        self.0.retain(|below, _| !below.is_within(path));
    }

    pub(super) fn send_running(&self, parts: &mut ResponseParts) {
        for (path, child) in &self.0 {
            parts.add(child.chunk(path, RunStatus::Running));
        }
    }
}

impl Child {
    fn chunk(&self, path: &Path, status: RunStatus) -> Value {
        let Self { description, agent, text } = self;
        let data =
            json!({"description": description, "agent": agent, "status": status, "text": text});
        json!({"type": "data-child", "id": path.to_string(), "data": data})
    }
}
