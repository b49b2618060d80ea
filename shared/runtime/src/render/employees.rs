//! The call that names a task's digital employees: one message about the task and its tools.

use djinn_core::context::{Fitted, Piece, TooLong, fit};
use djinn_core::run::Run;
use djinn_core::tool::ToolSpec;
use serde::Serialize;
use serde_json::json;

use super::{Said, one_line};
use crate::port::model::Message;
use crate::prompt::{self, Prompts};

/// Characters of the question, and of the task: what a role is named after stands at the beginning.
const MAX_WORDS: usize = 2_000;
/// Characters of a tool's description.
const MAX_DESCRIPTION: usize = 300;

/// A tool as the prompt lists it.
#[derive(Serialize)]
struct ListedTool<'a> {
    name: &'a str,
    description: String,
}

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
    let listed = tools.iter().map(|tool| ListedTool {
        name: &tool.name,
        description: prompt::cut(&one_line(&tool.description), MAX_DESCRIPTION),
    });
    let values = json!({"query": prompt::cut(&asked.question, MAX_WORDS),
        "words": prompt::cut(words, MAX_WORDS), "tools": listed.collect::<Vec<_>>()});
    let text = prompts.render(asked.settings.language, prompt::TASK_EMPLOYEES, values);
    let piece = Piece { label: "employees", texts: vec![&text], pinned: true };
    let Fitted { dropped, tokens, .. } = fit(&[piece], limit, count)?;
    let messages = vec![Message::User(text)];
    Ok(Said { system: String::new(), messages, dropped, tokens })
}
