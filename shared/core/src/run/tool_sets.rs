//! The tool sets in the records of a journal. The first record that offers a set holds the tools; later
//! records name the set by its hash.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::input::Input;
use crate::tool::{OfferedTool, ToolSetHash};

/// The tool sets that a later record need not repeat.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ToolSets(BTreeMap<ToolSetHash, Arc<[OfferedTool]>>);

impl ToolSets {
    /// Returns true if a record of this journal holds the set.
    pub(super) fn contains(&self, hash: &ToolSetHash) -> bool {
        self.0.contains_key(hash)
    }

    /// Returns the input with its tools restored, with the estimates of its turn. If no record holds the set,
    /// the result has no tools.
    pub(super) fn restore_tools<'i>(&self, input: &'i Input) -> Cow<'i, Input> {
        let Input::ModelReplied(replied) = input else { return Cow::Borrowed(input) };
        let Some(tool_set) = &replied.tool_set else { return Cow::Borrowed(input) };
        let tools = match replied.offered.as_slice() {
            [] => self.0.get(&tool_set.hash).map_or(&[][..], |tools| tools),
            own => own,
        };
        let mut replied = replied.clone();
        replied.offered = tool_set.with_estimates(tools);
        Cow::Owned(Input::ModelReplied(replied))
    }

    /// Returns the tools of all sets. Tools with the same name may differ between turns.
    pub(super) fn list_tools(&self) -> impl Iterator<Item = &OfferedTool> {
        self.0.values().flat_map(|tools| tools.iter())
    }

    /// Stores the tool set of an input.
    pub(super) fn add_set_of(&mut self, input: &Input) {
        let Input::ModelReplied(replied) = input else { return };
        if let Some(tool_set) = replied.tool_set.as_ref().filter(|_| !replied.offered.is_empty()) {
            self.0.insert(tool_set.hash.clone(), replied.offered.as_slice().into());
        }
    }
}
