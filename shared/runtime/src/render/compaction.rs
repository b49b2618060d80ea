//! The call that sums up older turns: one message that holds their record.

use djinn_core::context::{Fitted, Piece, TooLong, fit, level, shorten};
use djinn_core::conversation::Part;
use djinn_core::run::Run;
use serde_json::json;

use super::record::{Entry, of_history, of_items};
use super::{Said, with_notes};
use crate::port::model::Message;
use crate::prompt::{self, Prompts};

/// Characters of the record, so that the words around it have their place under the prompt's cap.
const MAX_RECORD: u64 = 1_000_000;
/// Tokens of an entry's heading and of the words between its two ends, rounded up.
const AROUND: u64 = 100;

/// The system prompt (none) and the message. Entries that are too long for the window are shortened,
/// all to the same length.
pub(super) fn said(
    prompts: &Prompts,
    run: &Run,
    limit: u64,
    count: impl Fn(&str) -> u64,
) -> Result<Said, TooLong> {
    let part = run.compacting().unwrap_or_default();
    let (conversation, language) = (run.conversation(), run.asked().settings.language);
    let history = conversation.history.get(..part.exchanges).unwrap_or_default();
    let items = conversation.items.get(..part.items).unwrap_or_default();
    let history = of_history(history, &run.asked().user);
    let mut entries: Vec<Entry> = history.chain(of_items(prompts, language, items, true)).collect();
    let characters = |text: &str| text.chars().count() as u64;
    level_out(prompts, run, &mut entries, MAX_RECORD, &characters);
    let frame = render(prompts, run, part, &[]);
    level_out(prompts, run, &mut entries, limit.saturating_sub(count(&frame)), &count);

    let mut entries: Vec<Entry> = entries.into_iter().map(|entry| entry.framed(prompts)).collect();
    let mut pieces = vec![Piece { label: "compact", texts: vec![&frame], pinned: true }];
    pieces.extend(entries.iter().map(|entry| Piece {
        label: "history",
        texts: vec![&entry.role, &entry.text],
        pinned: false,
    }));
    let Fitted { kept, dropped, tokens } = fit(&pieces, limit, count)?;
    let mut kept = kept.into_iter().skip(1);
    entries.retain(|_| kept.next().unwrap_or(false));
    let messages = vec![Message::User(render(prompts, run, part, &entries))];
    Ok(Said { system: String::new(), messages, dropped, tokens })
}

/// Shortens the longest entries until all take up at most `room`.
fn level_out(
    prompts: &Prompts,
    run: &Run,
    entries: &mut [Entry],
    room: u64,
    count: &impl Fn(&str) -> u64,
) {
    let bytes: u64 = entries.iter().map(|entry| entry.text.len() as u64 + AROUND).sum();
    if bytes <= room {
        return;
    }
    let sizes: Vec<u64> = entries.iter().map(|entry| count(&entry.text) + AROUND).collect();
    let most = level(&sizes, room).saturating_sub(AROUND);
    for entry in entries {
        if let Some(short) = shorten(&entry.text, most, count) {
            let values = json!({"head": short.head, "tail": short.tail, "file": "",
                "left_out": short.left_out, "characters": short.characters});
            let language = run.asked().settings.language;
            entry.text = prompts.render(language, prompt::OUTCOME_SHORTENED, values);
        }
    }
}

fn render(prompts: &Prompts, run: &Run, part: Part, history: &[Entry]) -> String {
    let conversation = run.conversation();
    let earlier = conversation.compacted.as_ref().map_or("", |compacted| &compacted.text);
    let values = json!({"query": conversation.question, "earlier": earlier, "history": history,
        "files": conversation.files_of(part)});
    let text = prompts.render(run.asked().settings.language, prompt::COMPACT_REQUEST, values);
    with_notes(prompts, run, text)
}
