//! The closing call: one message that holds the record of the work.

use djinn_core::context::{Fitted, Piece, TooLong, fit};
use djinn_core::run::Run;
use serde_json::json;

use super::group::earlier_text;
use super::outcome::Frames;
use super::record::{Entry, characters, of_items};
use super::{Said, listed, with_notes};
use crate::port::model::Message;
use crate::prompt::{self, Prompts};

/// Characters of one entry of the record (the original's `message_size_limit`).
const MAX_ENTRY: usize = 1_500;
/// Characters of what was summed up before.
const MAX_EARLIER: usize = 10_000;

/// The system prompt (none) and the message of the summary call, the oldest entries left out where
/// they do not fit.
pub(super) fn said(
    prompts: &Prompts,
    run: &Run,
    limit: u64,
    count: impl Fn(&str) -> u64,
) -> Result<Said, TooLong> {
    let mut entries = entries(prompts, run, limit);
    let frame = render(prompts, run, &[]);
    let cap = prompt::REACT_SUMMARY.max_chars.saturating_sub(frame.chars().count()) as u64;
    let mut pieces = vec![Piece { label: "summary", texts: vec![&frame], pinned: true }];
    let earlier = usize::from(run.conversation().compacted.is_some());
    pieces.extend(entries.iter().enumerate().map(|(place, entry)| Piece {
        label: "history",
        texts: vec![&entry.role, &entry.text],
        pinned: place < earlier,
    }));
    let Fitted { kept, dropped, tokens } = fit(&pieces, limit, count)?;
    let mut kept = kept.into_iter().skip(1);
    entries.retain(|_| kept.next().unwrap_or(false));
    while characters(&entries) > cap && entries.len() > earlier {
        entries.remove(earlier);
    }
    let messages = vec![Message::User(render(prompts, run, &entries))];
    Ok(Said { system: String::new(), messages, dropped, tokens })
}

fn render(prompts: &Prompts, run: &Run, history: &[Entry]) -> String {
    let asked = run.asked();
    let files: Vec<_> =
        run.produced().all().iter().filter(|file| !file.internal).cloned().collect();
    let text = prompts.render(
        asked.settings.language,
        prompt::REACT_SUMMARY,
        json!({"query": asked.question, "history": history, "files": listed(&files)}),
    );
    with_notes(prompts, run, text)
}

/// What was summed up, if anything was, and then what followed.
fn entries(prompts: &Prompts, run: &Run, limit: u64) -> Vec<Entry> {
    let (conversation, language) = (run.conversation(), run.asked().settings.language);
    let most = usize::try_from(limit).unwrap_or(usize::MAX).min(MAX_EARLIER);
    let earlier = conversation.compacted.iter().map(|compacted| {
        let text = earlier_text(prompts, language, compacted, Frames::Around);
        Entry::new("assistant", &prompt::cut(&text, most))
    });
    let items = of_items(prompts, language, &conversation.items, false).into_iter();
    let items =
        items.map(|Entry { role, text }| Entry { role, text: prompt::cut(&text, MAX_ENTRY) });
    earlier.chain(items).map(|entry| entry.framed(prompts)).collect()
}
