//! The call that names a task's digital employees: one message about the task and its tools.

use djinn_core::context::{Fitted, Piece, TooLong, fit};
use djinn_core::run::Run;
use djinn_core::tool::ToolSpec;
use serde_json::json;

use super::{Said, listed_tools};
use crate::port::model::Message;
use crate::prompt::{self, Prompts};

/// Characters of the question, and of the task: what a role is named after stands at the beginning.
const MAX_WORDS: usize = 2_000;

/// The system prompt (none) and the message.
pub(super) fn said(
    prompts: &Prompts,
    run: &Run,
    tools: &[ToolSpec],
    limit: u64,
    count: impl Fn(&str) -> u64,
) -> Result<Said, TooLong> {
    let asked = run.asked();
    let words = asked.task.as_ref().map_or("", |task| &task.words);
    let values = json!({"query": prompt::cut(&asked.question, MAX_WORDS),
        "words": prompt::cut(words, MAX_WORDS), "tools": listed_tools(tools)});
    let text = prompts.render(asked.settings.language, prompt::TASK_EMPLOYEES, values);
    let piece = Piece { label: "employees", texts: vec![&text], pinned: true };
    let Fitted { dropped, tokens, .. } = fit(&[piece], limit, count)?;
    let messages = vec![Message::User(text)];
    Ok(Said { system: String::new(), messages, dropped, tokens })
}
