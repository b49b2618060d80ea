//! Conversations as text.

use super::{Message, Role};

/// Characters of a transcript's line after its number.
const LINE_CHARS: usize = 120;

/// What was said, one entry per text, call and result, uncut.
pub(crate) fn lines(messages: &[Message]) -> Vec<String> {
    messages.iter().flat_map(message_lines).collect()
}

/// The instructions and what was said, numbered, a line each.
pub(crate) fn numbered(system: &str, messages: &[Message]) -> String {
    let system = line("system", system);
    let lines = system.into_iter().chain(lines(messages));
    let numbered = lines.enumerate().map(|(number, line)| {
        let line = cut(&line.replace('\n', "⏎"));
        format!("{number:02} {line}\n")
    });
    numbered.collect()
}

fn message_lines(message: &Message) -> Vec<String> {
    let speaker = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let results =
        message.results.iter().map(|result| format!("result {} {}", result.tool, result.text));
    let calls = message.calls.iter().map(|call| format!("call {} {}", call.tool, call.arguments));
    results
        .chain(line("reasoning", &message.reasoning))
        .chain(line(speaker, &message.text))
        .chain(calls)
        .collect()
}

fn line(speaker: &str, text: &str) -> Option<String> {
    (!text.is_empty()).then(|| format!("{speaker} {text}"))
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}
