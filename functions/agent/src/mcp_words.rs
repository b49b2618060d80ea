//! Words about runs for the models that call the tools of the MCP server.

use djinn_core::id::RunId;
use djinn_core::language::Language;
use djinn_protocol::mcp::{McpOutcome, McpWords};
use djinn_runtime::prompt::{MCP_STATE, Prompts};
use djinn_runtime::world::Ports;
use serde_json::{Value, json};

use crate::agent::SharedAgent;

/// Returns what a model can do while this run keeps the session busy.
pub(crate) fn describe_busy(prompts: &Prompts, run: &RunId, language: Language) -> String {
    let context = json!({"run": run, "status": "busy", "requests": [], "failure": ""});
    prompts.render(language, MCP_STATE, context)
}

/// Returns the words about runs for models that call the tools.
pub(crate) fn describe_state<P: Ports>(agent: &SharedAgent<P>) -> McpWords {
    let ports = agent.ports.clone();
    McpWords::new(move |outcome: &McpOutcome, language: Language| {
        let requests = outcome.requests.iter().map(|request| {
            let link = request.link.as_deref().unwrap_or_default();
            json!({"text": request.text, "may_say": request.may_say, "link": link})
        });
        let requests: Vec<Value> = requests.collect();
        let context = json!({
            "run": outcome.run, "status": outcome.status, "requests": requests,
            "failure": outcome.failure.as_deref().unwrap_or_default(),
        });
        ports.prompts().render(language, MCP_STATE, context)
    })
}
