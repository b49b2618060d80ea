//! The subset of Markdown for telling citations from code and links.

/// The target of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Destination {
    /// An address somewhere else.
    Address,
    /// An address in Markdown, but a word to a reader.
    Word,
}

/// Splits a text into prose and code blocks with fences; `true` marks code.
pub(crate) fn split_code(text: &str) -> Vec<(bool, &str)> {
    let mut parts = Vec::new();
    let mut part = 0;
    let mut at = 0;
    let mut open: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        match open {
            None => {
                open = read_fence(skip_markers(line));
                if open.is_some() {
                    parts.push((false, text.get(part..at).unwrap_or_default()));
                    part = at;
                }
            }
            Some(fence) => {
                let line = line.trim_start_matches([' ', '\t', '>']).trim_end();
                let is_closed = line.starts_with(fence) && read_fence(line) == Some(line);
                if is_closed {
                    parts.push((true, text.get(part..end).unwrap_or_default()));
                    (open, part) = (None, end);
                }
            }
        }
        at = end;
    }
    parts.push((open.is_some(), text.get(part..).unwrap_or_default()));
    parts
}

/// Returns the opening fence of a code block. Three or more marks in a line with inline code are not a fence.
fn read_fence(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|first| ['`', '~'].contains(first))?;
    let rest = line.trim_start_matches(mark);
    let fence = line.strip_suffix(rest)?;
    (fence.len() >= 3 && !(mark == '`' && rest.contains('`'))).then_some(fence)
}

/// Returns a line without the markers of lists and quotations.
fn skip_markers(line: &str) -> &str {
    let line = line.trim_start_matches(MARKERS);
    let rest = line.trim_start_matches(|character: char| character.is_ascii_digit());
    let after_number = rest.strip_prefix(['.', ')']).filter(|_| rest.len() < line.len());
    after_number.map_or(line, |rest| rest.trim_start_matches(MARKERS))
}

/// Characters of list and quotation markers.
const MARKERS: [char; 6] = [' ', '\t', '>', '-', '*', '+'];

/// Returns true if the next character is the first of its line, markers of lists and quotations aside.
pub(super) fn is_line_start(text: &str) -> bool {
    text.rsplit('\n').next().is_none_or(|line| skip_markers(line).is_empty())
}

/// Returns the inline code at the start of a text, with its marks.
pub(crate) fn read_code_span(text: &str) -> Option<&str> {
    let body = text.trim_start_matches('`');
    let marks = text.len() - body.len();
    let paragraph = body.split("\n\n").next().filter(|_| marks > 0)?;
    let mut rest = paragraph;
    while let Some(at) = rest.find('`') {
        let after = rest.get(at..)?.trim_start_matches('`');
        if rest.len() - at - after.len() == marks {
            return text.get(..marks + paragraph.len() - after.len());
        }
        rest = after;
    }
    None
}

/// Returns the target of a definition `[1]:` after the colon, and the text after its line.
pub(super) fn read_definition(text: &str) -> Option<(Destination, &str)> {
    let begin = text.trim_start_matches([' ', '\t']);
    let begin = begin.strip_prefix("\r\n").or(begin.strip_prefix('\n')).unwrap_or(begin);
    let (line, after) = begin.split_once('\n').unwrap_or((begin, ""));
    let destination = read_destination(line).filter(|_| !line.trim().is_empty())?;
    Some((destination, after))
}

/// Returns the target of a link after the parenthesis, and the text after the link.
pub(super) fn read_link(text: &str) -> Option<(Destination, &str)> {
    let paragraph = text.split("\n\n").next()?;
    let mut depth = 1;
    let (end, _) = paragraph.char_indices().find(|(_, character)| {
        depth += match character {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        depth == 0
    })?;
    let (inner, after) = text.split_at(end);
    Some((read_destination(inner)?, after.strip_prefix(')')?))
}

/// Returns the target if the text is an address with only an optional title after.
fn read_destination(text: &str) -> Option<Destination> {
    let text = text.trim();
    if text.is_empty() || text.starts_with('<') {
        return Some(Destination::Address);
    }
    let (word, title) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let title = title.trim_start();
    let is_whole = title.is_empty() || title.starts_with(['"', '\'', '(']);
    let is_address = word.starts_with('/') || word.contains("//");
    is_whole.then_some(if is_address { Destination::Address } else { Destination::Word })
}
