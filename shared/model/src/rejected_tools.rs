//! Tools whose definitions a provider rejects, so that one of them does not fail every request.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use djinn_core::effect::ToolChoice;
use djinn_core::id::sha256_hex;
use djinn_core::tool::ToolSpec;
use djinn_runtime::port::model::ModelRequest;

/// Maximum tools that are left out of one call after rejections.
pub(crate) const MAX_REJECTED: usize = 8;

/// Definitions by the models' names in the settings. A changed definition is offered again.
#[derive(Debug, Default)]
pub(crate) struct RejectedTools(Mutex<BTreeSet<(String, String)>>);

impl RejectedTools {
    /// Returns the request without the tools that the model rejected, or `None` if it has none of them.
    pub(crate) fn without_known(
        &self,
        model: &str,
        request: &ModelRequest,
    ) -> Option<ModelRequest> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_empty() {
            return None;
        }
        let is_rejected =
            |tool: &ToolSpec| known.contains(&(model.to_owned(), definition_hash(tool)));
        let names: Vec<&str> = request
            .tools
            .iter()
            .filter(|tool| is_rejected(tool))
            .map(|tool| tool.name.as_str())
            .collect();
        let mut rest: Option<ModelRequest> = None;
        for name in names {
            rest = without_tool(rest.as_ref().unwrap_or(request), name).or(rest);
        }
        rest
    }

    /// Stores a tool that the model rejects, after a call without the tool succeeded.
    pub(crate) fn remember(&self, model: &str, tool: &ToolSpec) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert((model.to_owned(), definition_hash(tool)));
    }
}

/// Returns the request without a tool, or `None` if the model must call the tool or would have none left to call.
pub(crate) fn without_tool(request: &ModelRequest, name: &str) -> Option<ModelRequest> {
    let is_needed = match &request.tool_choice {
        ToolChoice::Named(needed) => needed == name,
        ToolChoice::Required => request.tools.len() < 2,
        ToolChoice::Auto | ToolChoice::None => false,
    };
    if is_needed || request.tools.iter().all(|tool| tool.name != name) {
        return None;
    }
    let mut rest = request.clone();
    rest.tools.retain(|tool| tool.name != name);
    Some(rest)
}

fn definition_hash(tool: &ToolSpec) -> String {
    sha256_hex(format!("{}\n{}\n{}", tool.name, tool.description, tool.schema).as_bytes())
}
