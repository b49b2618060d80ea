//! The sets of tools that the records of a journal hold. Each stands in the first record that offered it;
//! those after it name it by its hash.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::input::Input;
use crate::tool::{OfferedTool, ToolSetHash};

/// The sets that a later record need not repeat.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ToolSets(BTreeMap<ToolSetHash, Arc<[OfferedTool]>>);

impl ToolSets {
    /// Whether a record of this journal holds the set.
    pub(super) fn contains(&self, hash: &ToolSetHash) -> bool {
        self.0.contains_key(hash)
    }

    /// The input with the tools that it names, as they were in its turn. One that names a set which no
    /// record holds offers nothing.
    pub(super) fn restore_tools<'i>(&self, input: &'i Input) -> Cow<'i, Input> {
        let Input::ModelReplied(replied) = input else { return Cow::Borrowed(input) };
        let Some(named) = &replied.tool_set else { return Cow::Borrowed(input) };
        let tools = match replied.offered.as_slice() {
            [] => self.0.get(&named.hash).map_or(&[][..], |tools| tools),
            own => own,
        };
        let mut replied = replied.clone();
        replied.offered = named.with_estimates(tools);
        Cow::Owned(Input::ModelReplied(replied))
    }

    /// The tools of all sets; those of one name may differ from turn to turn.
    pub(super) fn list_tools(&self) -> impl Iterator<Item = &OfferedTool> {
        self.0.values().flat_map(|tools| tools.iter())
    }

    /// Keeps the set that an input brings.
    pub(super) fn add_set_of(&mut self, input: &Input) {
        let Input::ModelReplied(replied) = input else { return };
        if let Some(named) = replied.tool_set.as_ref().filter(|_| !replied.offered.is_empty()) {
            self.0.insert(named.hash.clone(), replied.offered.as_slice().into());
        }
    }
}
