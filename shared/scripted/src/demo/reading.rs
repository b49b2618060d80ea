//! The progress of reading a file: our prompts `tool/file_read` in both languages.

use serde_json::Value;

use super::FILE_TOOL;
use crate::request::RecordedRequest;

/// The maximum number of characters a prompt may trim off the end of a part.
const MAX_TRIMMED: usize = 8;

#[derive(Debug, PartialEq)]
pub(super) enum FileReading {
    Unread,
    /// More text follows from this character on.
    Partial {
        next: u64,
    },
    Complete(String),
    /// A part was too short, or did not continue.
    Incomplete,
    /// The error text of the tool.
    Failed(String),
}

impl FileReading {
    /// Returns the result of the run's reads of a file.
    pub(super) fn of(file: &str, request: &RecordedRequest) -> Self {
        let mut reading = Self::Unread;
        let mut text = String::new();
        let mut end = 0;
        for (call, result) in request.answered_calls() {
            let is = |key, value: &str| call.arguments.get(key).is_some_and(|it| it == value);
            if call.tool != FILE_TOOL || !is("command", "get") || !is("filename", file) {
                continue;
            }
            let Some(part) = FilePart::parse(&result.text) else {
                reading = Self::Failed(super::problem_text(&result.text).to_owned());
                continue;
            };
            let offset = call.arguments.get("offset").and_then(Value::as_u64);
            if offset.unwrap_or_default() != end {
                continue;
            }
            let Some(whole) = part.complete_text(end, &text) else {
                return Self::Incomplete;
            };
            text += &whole;
            end = part.end;
            reading = match part.next {
                None if end == part.total => Self::Complete(String::new()),
                Some(next) if next == end && !whole.is_empty() => Self::Partial { next },
                // Another read would repeat the same part forever, or return nothing.
                None | Some(_) => return Self::Incomplete,
            };
        }
        match reading {
            Self::Complete(_) => Self::Complete(text),
            Self::Failed(_) | Self::Incomplete | Self::Partial { .. } | Self::Unread => reading,
        }
    }
}

/// A part of a file: `sales.csv, characters 0 to 900 of 2000; the next part starts at offset 900. …`, an
/// empty line, the text.
struct FilePart<'a> {
    text: &'a str,
    end: u64,
    total: u64,
    next: Option<u64>,
}

impl<'a> FilePart<'a> {
    fn parse(result: &'a str) -> Option<Self> {
        let (header, text) = result.split_once("\n\n").unwrap_or((result, ""));
        let marks = [", characters ", "，第 "];
        let (_, numbers) = marks.iter().find_map(|mark| header.rsplit_once(mark))?;
        let mut numbers =
            numbers.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok());
        let _start = numbers.next()?;
        let end = numbers.next()?;
        let total = numbers.next()?;
        let next = numbers.next();
        Some(Self { text, end, total, next })
    }

    /// Returns the text of the part, which follows `earlier_text` up to `start`. A prompt trims a line break
    /// after a whole line, otherwise a space. `None` if more text is missing.
    fn complete_text(&self, start: u64, earlier_text: &str) -> Option<String> {
        let length = usize::try_from(self.end.checked_sub(start)?).ok()?;
        let mut text: String = self.text.chars().take(length).collect();
        let missing = length - text.chars().count();
        let file = format!("{earlier_text}{text}");
        let cells = |line: Option<&str>| line.unwrap_or_default().matches([',', ';', '\t']).count();
        let is_whole_line = cells(file.lines().next_back()) >= cells(file.lines().next());
        let gap_character = if is_whole_line { '\n' } else { ' ' };
        text.extend(std::iter::repeat_n(gap_character, missing));
        (missing <= MAX_TRIMMED).then_some(text)
    }
}
