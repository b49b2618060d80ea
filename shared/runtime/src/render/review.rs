//! The judgement of an answer in prompts.

use djinn_core::conversation::ReviewNote;
use djinn_core::language::Language;
use serde_json::json;

use super::tool_result::Framing;
use crate::prompt::{self, Prompts};

/// Renders the judgement of an answer for the agent that writes the next answer.
pub(super) fn review_text(
    prompts: &Prompts,
    language: Language,
    note: &ReviewNote,
    frames: Framing,
) -> String {
    let ReviewNote { answer, problems, missing } = note;
    let bare = frames == Framing::Enclosing;
    let answer = answer.as_deref().unwrap_or_default();
    let values = json!({"answer": answer, "problems": problems, "missing": missing, "bare": bare});
    prompts.render(language, prompt::NOTE_REVIEW, values)
}
