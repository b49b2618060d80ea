//! The compaction call: one message with the transcript of older turns.

use super::window::{ContextTooLong, FittedParts, RequestPart, fit_parts};
use djinn_core::conversation::CompactionRange;
use djinn_core::run::Run;
use djinn_text::shorten::{find_cut_level, shorten_text};
use serde_json::json;

use super::transcript::{TranscriptEntry, history_entries, item_entries};
use super::{RequestBody, append_notes};
use crate::port::model::Message;
use crate::prompt::{self, Prompts};

/// The maximum characters of the transcript, so that the surrounding text fits the prompt's cap.
const MAX_TRANSCRIPT: u64 = 1_000_000;
/// The maximum tokens of an entry's heading and of the text between its two ends.
const ENTRY_OVERHEAD: u64 = 100;

/// Renders the compaction request, without a system prompt. Entries too long for the window are shortened to
/// a common length.
pub(super) fn render_compaction(
    prompts: &Prompts,
    run: &Run,
    limit: u64,
    count: impl Fn(&str) -> u64,
) -> Result<RequestBody, ContextTooLong> {
    let part = run.compaction_range().unwrap_or_default();
    let conversation = run.conversation();
    let language = run.spec().settings.language;
    let history = conversation.history.get(..part.exchanges).unwrap_or_default();
    let items = conversation.items.get(..part.items).unwrap_or_default();
    let history = history_entries(history, &run.spec().user);
    let mut entries: Vec<TranscriptEntry> =
        history.chain(item_entries(prompts, language, items, true)).collect();
    let characters = |text: &str| text.chars().count() as u64;
    shorten_evenly(prompts, run, &mut entries, MAX_TRANSCRIPT, &characters);
    let frame = render_message(prompts, run, part, &[]);
    shorten_evenly(prompts, run, &mut entries, limit.saturating_sub(count(&frame)), &count);

    let mut entries: Vec<TranscriptEntry> =
        entries.into_iter().map(|entry| entry.into_framed(prompts)).collect();
    let mut pieces =
        vec![RequestPart { label: "compact", texts: vec![&frame], image_tokens: 0, pinned: true }];
    pieces.extend(entries.iter().map(|entry| RequestPart {
        label: "history",
        texts: vec![&entry.role, &entry.text],
        image_tokens: 0,
        pinned: false,
    }));
    let FittedParts { kept, dropped, tokens } = fit_parts(&pieces, limit, count)?;
    let mut keep_flags = kept.into_iter().skip(1);
    entries.retain(|_| keep_flags.next().unwrap_or(false));
    let messages = vec![Message::User(render_message(prompts, run, part, &entries))];
    Ok(RequestBody { system: String::new(), messages, dropped, tokens })
}

/// Shortens the longest entries until all together fit `room`.
fn shorten_evenly(
    prompts: &Prompts,
    run: &Run,
    entries: &mut [TranscriptEntry],
    room: u64,
    count: &impl Fn(&str) -> u64,
) {
    let bytes: u64 = entries.iter().map(|entry| entry.text.len() as u64 + ENTRY_OVERHEAD).sum();
    if bytes <= room {
        return;
    }
    let sizes: Vec<u64> = entries.iter().map(|entry| count(&entry.text) + ENTRY_OVERHEAD).collect();
    let most = find_cut_level(&sizes, room).saturating_sub(ENTRY_OVERHEAD);
    for entry in entries {
        if let Some(short) = shorten_text(&entry.text, most, count) {
            let values = json!({"head": short.head, "tail": short.tail, "file": "",
                "left_out": short.omitted, "characters": short.characters});
            let language = run.spec().settings.language;
            entry.text = prompts.render(language, prompt::OUTCOME_SHORTENED, values);
        }
    }
}

fn render_message(
    prompts: &Prompts,
    run: &Run,
    part: CompactionRange,
    history: &[TranscriptEntry],
) -> String {
    let conversation = run.conversation();
    let earlier = conversation.compacted.as_ref().map_or("", |compacted| &compacted.text);
    let values = json!({"query": conversation.question, "earlier": earlier, "history": history,
        "files": conversation.files_in_range(part)});
    let text = prompts.render(run.spec().settings.language, prompt::COMPACT_REQUEST, values);
    append_notes(prompts, run, text)
}
