//! The call that names a child's digital employees: one message about the child and its tools.

use super::window::{ContextTooLong, FittedParts, RequestPart, fit_parts};
use djinn_core::run::Run;
use djinn_core::tool::ToolSpec;
use serde_json::json;

use super::{RequestBody, to_listed_tools};
use crate::port::model::Message;
use crate::prompt::{self, Prompts};

/// The maximum characters of the question, and of the child: the beginning is enough to name a role.
const MAX_WORDS: usize = 2_000;

/// Renders the request, without a system prompt.
pub(super) fn render_employees(
    prompts: &Prompts,
    run: &Run,
    tools: &[ToolSpec],
    limit: u64,
    count: impl Fn(&str) -> u64,
) -> Result<RequestBody, ContextTooLong> {
    let spec = run.spec();
    let words = spec.child.as_ref().map_or("", |child| &child.description);
    let values = json!({"query": prompt::truncate_text(&spec.question, MAX_WORDS),
        "words": prompt::truncate_text(words, MAX_WORDS), "tools": to_listed_tools(tools, false)});
    let text = prompts.render(spec.settings.language, prompt::TASK_EMPLOYEES, values);
    let piece =
        RequestPart { label: "employees", texts: vec![&text], image_tokens: 0, pinned: true };
    let FittedParts { dropped, tokens, .. } = fit_parts(&[piece], limit, count)?;
    let messages = vec![Message::User(text)];
    Ok(RequestBody { system: String::new(), messages, dropped, tokens })
}
