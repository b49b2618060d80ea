//! What tools did to the world, by their own word, and what a history says that they did.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use djinn_core::id::RunId;
use serde_json::Value;

use crate::client::Seen;

/// The file that tools write into.
pub(super) struct Ledger(PathBuf);

impl Ledger {
    /// With nothing in it.
    pub(super) fn empty(path: PathBuf) -> Self {
        std::fs::write(&path, "").unwrap();
        Self(path)
    }

    /// What was done for a run.
    pub(super) fn of(&self, run: &RunId) -> Marks {
        let text = std::fs::read_to_string(&self.0).unwrap();
        let mut marks = Marks::default();
        for line in text.lines() {
            let (tool, key) = line.split_once(' ').unwrap();
            if let Some(call) = key.strip_prefix(&format!("{run}.")) {
                *marks.0.entry((tool.to_owned(), call.to_owned())).or_default() += 1;
            }
        }
        marks
    }
}

/// How often each call was done, by its tool and id.
#[derive(Debug, Default)]
pub(super) struct Marks(BTreeMap<(String, String), usize>);

impl Marks {
    /// Checks them against a history, and returns the ids of the entries that call an outcome
    /// uncertain: nothing else is lost, and nothing is done that was not asked for, or again.
    #[track_caller]
    pub(super) fn check(&self, seen: &Seen) -> BTreeSet<String> {
        let entries = |kind: &'static str| {
            seen.state.entries.iter().filter(move |entry| entry["type"] == kind)
        };
        let mut uncertain = BTreeSet::new();
        let mut asked = BTreeSet::new();
        // An agent does nothing itself: what its run does is there.
        let is_tool = |entry: &&Value| entry["tool"] != "chief" && entry["tool"] != "keeper";
        let visible = |entry: &&Value| entry["visible"] == true;
        for entry in entries("call.requested").filter(visible).filter(is_tool) {
            let (tool, call) = (text(&entry["tool"]), text(&entry["id"]));
            let result = format!("{call}.result");
            let outcomes: Vec<_> =
                entries("call.completed").filter(|entry| entry["id"] == *result).collect();
            let [completed] = outcomes[..] else { panic!("{call} has {} results", outcomes.len()) };
            let is_uncertain = completed["result"]["reason"] == "uncertain";
            let done = self.count(&tool, &call);
            match (tool.as_str(), is_uncertain) {
                ("read" | "put", false) => assert!(done >= 1, "lost: {tool} {call}"),
                ("post", false) => assert_eq!(done, 1, "lost or doubled: {tool} {call}"),
                ("post", true) => assert!(done <= 1, "doubled: {tool} {call}"),
                other => panic!("{call} is {other:?}"),
            }
            if is_uncertain {
                uncertain.insert(result);
            }
            asked.insert((tool, call));
        }
        let unasked: Vec<_> = self.0.keys().filter(|mark| !asked.contains(*mark)).collect();
        assert!(unasked.is_empty(), "nobody asked for {unasked:?}");
        assert!(asked.len() >= 5, "it called {asked:?}: {:#?}", seen.state.entries);
        uncertain
    }

    /// How many calls were done more than once.
    pub(super) fn repeated(&self) -> usize {
        self.0.values().filter(|count| **count > 1).count()
    }

    /// How often a call was done.
    pub(super) fn count(&self, tool: &str, call: &str) -> usize {
        self.0.get(&(tool.to_owned(), call.to_owned())).copied().unwrap_or_default()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
