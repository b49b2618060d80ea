//! The summary call: one message with the transcript of the work.

use super::window::{ContextTooLong, FittedParts, RequestPart, fit_parts};
use djinn_core::conversation::ConversationItem;
use djinn_core::run::Run;
use serde_json::json;

use super::group::earlier_text;
use super::review::review_text;
use super::tool_result::Framing;
use super::transcript::{TranscriptEntry, count_characters, item_entries};
use super::{RequestBody, append_notes, to_listed_files};
use crate::port::model::Message;
use crate::prompt::{self, Prompts};

/// The maximum characters of one entry, as in the original (`message_size_limit`).
const MAX_ENTRY: usize = 1_500;
/// The maximum characters of the compaction.
const MAX_EARLIER: usize = 10_000;

/// Renders the summary request, without a system prompt. The oldest entries are dropped if they do not fit.
pub(super) fn render_summary(
    prompts: &Prompts,
    run: &Run,
    limit: u64,
    count: impl Fn(&str) -> u64,
) -> Result<RequestBody, ContextTooLong> {
    let mut entries = summary_entries(prompts, run, limit);
    let frame = render_message(prompts, run, &[]);
    let cap = prompt::REACT_SUMMARY.max_chars.saturating_sub(frame.chars().count()) as u64;
    let mut pieces =
        vec![RequestPart { label: "summary", texts: vec![&frame], image_tokens: 0, pinned: true }];
    let earlier = usize::from(run.conversation().compacted.is_some());
    pieces.extend(entries.iter().enumerate().map(|(place, entry)| RequestPart {
        label: "history",
        texts: vec![&entry.role, &entry.text],
        image_tokens: 0,
        pinned: place < earlier,
    }));
    let FittedParts { kept, dropped, tokens } = fit_parts(&pieces, limit, count)?;
    let mut keep_flags = kept.into_iter().skip(1);
    entries.retain(|_| keep_flags.next().unwrap_or(false));
    while count_characters(&entries) > cap && entries.len() > earlier {
        entries.remove(earlier);
    }
    let messages = vec![Message::User(render_message(prompts, run, &entries))];
    Ok(RequestBody { system: String::new(), messages, dropped, tokens })
}

fn render_message(prompts: &Prompts, run: &Run, history: &[TranscriptEntry]) -> String {
    let spec = run.spec();
    let files: Vec<_> =
        run.produced_files().all().iter().filter(|file| !file.internal).cloned().collect();
    let text = prompts.render(
        spec.settings.language,
        prompt::REACT_SUMMARY,
        json!({
            "query": spec.question,
            "history": history,
            "files": to_listed_files(&files),
            "review": newest_review(prompts, run),
        }),
    );
    append_notes(prompts, run, text)
}

/// Returns the newest judgement of an answer, or an empty text.
fn newest_review(prompts: &Prompts, run: &Run) -> String {
    let language = run.spec().settings.language;
    let newest = run.conversation().items.iter().rev().find_map(|item| match item {
        ConversationItem::Review(note) => Some(note),
        _ => None,
    });
    newest.map(|note| review_text(prompts, language, note, Framing::Each)).unwrap_or_default()
}

/// Returns the compaction, if there is one, and the entries after it.
fn summary_entries(prompts: &Prompts, run: &Run, limit: u64) -> Vec<TranscriptEntry> {
    let conversation = run.conversation();
    let language = run.spec().settings.language;
    let most = usize::try_from(limit).unwrap_or(usize::MAX).min(MAX_EARLIER);
    let earlier = conversation.compacted.iter().map(|compacted| {
        let text = earlier_text(prompts, language, compacted, Framing::Enclosing);
        TranscriptEntry::new("assistant", &prompt::truncate_text(&text, most))
    });
    let items = item_entries(prompts, language, &conversation.items, false).into_iter();
    let items = items.map(|TranscriptEntry { role, text }| TranscriptEntry {
        role,
        text: prompt::truncate_text(&text, MAX_ENTRY),
    });
    earlier.chain(items).map(|entry| entry.into_framed(prompts)).collect()
}
