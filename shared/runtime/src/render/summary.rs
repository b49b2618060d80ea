//! The closing call: one message that holds the record of the work.

use djinn_core::context::{Fitted, Piece, TooLong, fit};
use djinn_core::conversation::Item;
use djinn_core::input::Dropped;
use djinn_core::plan::PLANNING_TOOL;
use djinn_core::run::Run;
use serde::Serialize;
use serde_json::json;

use super::listed;
use super::outcome::outcome_text;
use crate::port::model::Message;
use crate::prompt::{self, Prompts};

/// Characters of one entry of the record (the original's `message_size_limit`).
const MAX_ENTRY: usize = 1_500;

#[derive(Debug, Serialize)]
struct Entry {
    role: String,
    text: String,
}

/// The system prompt (none) and the message of the summary call, the oldest entries left out where
/// they do not fit.
pub(super) fn messages(
    prompts: &Prompts,
    run: &Run,
    limit: u64,
    count: impl Fn(&str) -> u64,
) -> Result<(String, Vec<Message>, Option<Dropped>), TooLong> {
    let mut entries = entries(prompts, run);
    let mut pieces = vec![Piece { label: "summary", texts: vec![], pinned: true }];
    let frame = render(prompts, run, &[]);
    if let Some(piece) = pieces.first_mut() {
        piece.texts.push(&frame);
    }
    let cap = prompt::REACT_SUMMARY.max_chars.saturating_sub(frame.chars().count()) as u64;
    pieces.extend(entries.iter().map(|entry| Piece {
        label: "history",
        texts: vec![&entry.role, &entry.text],
        pinned: false,
    }));
    let Fitted { kept, dropped } = fit(&pieces, limit, count)?;
    let mut kept = kept.into_iter().skip(1);
    entries.retain(|_| kept.next().unwrap_or(false));
    while characters(&entries) > cap && !entries.is_empty() {
        entries.remove(0);
    }
    Ok((String::new(), vec![Message::User(render(prompts, run, &entries))], dropped))
}

fn render(prompts: &Prompts, run: &Run, history: &[Entry]) -> String {
    let asked = run.asked();
    let files: Vec<_> =
        run.produced().all().iter().filter(|file| !file.internal).cloned().collect();
    prompts.render(
        asked.settings.language,
        prompt::REACT_SUMMARY,
        json!({"query": asked.question, "history": history, "files": listed(&files)}),
    )
}

fn entries(prompts: &Prompts, run: &Run) -> Vec<Entry> {
    let language = run.asked().settings.language;
    let entry = |role: &str, text: &str| Entry {
        role: role.to_owned(),
        text: prompt::cut(text.trim(), MAX_ENTRY),
    };
    let mut entries = Vec::new();
    for item in &run.conversation().items {
        let turn = match item {
            Item::Turn(turn) => turn,
            Item::Round { reports, .. } => {
                entries.extend(reports.iter().map(|report| entry(&report.words, &report.text)));
                continue;
            }
            Item::Note(_) => continue,
        };
        if !turn.text.trim().is_empty() {
            entries.push(entry("assistant", &turn.text));
        }
        // The plan is no part of the work: what came of its steps is.
        for (call, outcome) in turn.calls.iter().filter(|(call, _)| call.tool != PLANNING_TOOL) {
            let text = outcome_text(prompts, language, call, outcome);
            entries.push(entry(&format!("tool {}", call.tool), &text));
        }
    }
    entries
}

/// What the record takes up in the prompt, headings included.
fn characters(entries: &[Entry]) -> u64 {
    entries
        .iter()
        .map(|entry| (entry.role.chars().count() + entry.text.chars().count() + 8) as u64)
        .sum()
}
