//! Conversations as text, with a line for each text, call and result.

use super::{MessageRole, RecordedMessage};

/// The maximum characters of a transcript's line after its number.
const LINE_CHARS: usize = 120;

/// Returns one line per text, call and result, uncut.
pub(crate) fn entry_lines(messages: &[RecordedMessage]) -> Vec<String> {
    let mut lines = Vec::new();
    for message in messages {
        let speaker = match message.role {
            MessageRole::User => "user",
            MessageRole::Assistant => "assistant",
            MessageRole::Tool => "tool",
        };
        let results = message.results.iter();
        lines.extend(results.map(|result| format!("result {} {}", result.tool, result.text)));
        lines.extend(speaker_line("reasoning", &message.reasoning));
        lines.extend(speaker_line(speaker, &message.text));
        let calls = message.calls.iter();
        lines.extend(calls.map(|call| format!("call {} {}", call.tool, call.arguments)));
    }
    lines
}

/// Returns the instructions and all entries as numbered lines.
pub(crate) fn number_lines(system: &str, messages: &[RecordedMessage]) -> String {
    let system = speaker_line("system", system);
    let lines = system.into_iter().chain(entry_lines(messages));
    let entries = lines.enumerate().map(|(number, line)| {
        let line = line.replace('\n', "⏎");
        match line.char_indices().nth(LINE_CHARS) {
            Some((end, _)) => format!("{number:02} {}…\n", line.get(..end).unwrap_or_default()),
            None => format!("{number:02} {line}\n"),
        }
    });
    entries.collect()
}

fn speaker_line(speaker: &str, text: &str) -> Option<String> {
    (!text.is_empty()).then(|| format!("{speaker} {text}"))
}
