//! The lines of a Markdown file, each told by what it is.

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    Blank,
    /// Within a fence, or before the document as its front matter.
    Code,
    /// What opens or closes a block of code.
    Fence,
    /// `[label]: target`, which nobody reads.
    Definition,
    Heading,
    /// Tags, and pictures by themselves.
    Html,
    /// The first line of an item of a list.
    Item,
    Row,
    /// What stands between the head of a table and its rows, or from edge to edge.
    Rule,
    Text,
}

/// One line of a document.
pub(super) struct Line {
    /// Its number, from 1.
    pub(super) number: usize,
    pub(super) text: String,
    pub(super) kind: LineKind,
}

/// A Markdown file, by its path from the workspace's root.
pub(super) struct Document {
    pub(super) path: String,
    pub(super) lines: Vec<Line>,
}

impl Document {
    pub(super) fn parse(path: &str, text: &str) -> Self {
        let mut fence: Option<&str> = None;
        let mut is_front = text.starts_with("---\n");
        let mut lines = Vec::new();
        for (number, text) in (1..).zip(text.lines()) {
            let trimmed = text.trim();
            let kind = match fence {
                _ if is_front => LineKind::Code,
                Some(open) if trimmed.starts_with(open) && is_fence(trimmed) => LineKind::Fence,
                Some(_) => LineKind::Code,
                None if fence_of(trimmed).is_some() => LineKind::Fence,
                None => kind_of(trimmed),
            };
            is_front &= number == 1 || trimmed != "---";
            if kind == LineKind::Fence {
                fence = match fence {
                    Some(_) => None,
                    None => fence_of(trimmed),
                };
            }
            lines.push(Line { number, text: text.to_owned(), kind });
        }
        Self { path: path.to_owned(), lines }
    }

    /// The lines that are read as text, and not as code.
    pub(super) fn read_lines(&self) -> impl Iterator<Item = &Line> {
        let is_read = |line: &&Line| {
            !matches!(line.kind, LineKind::Code | LineKind::Fence | LineKind::Definition)
        };
        self.lines.iter().filter(is_read)
    }
}

/// The signs that open a fence here.
fn fence_of(line: &str) -> Option<&str> {
    let sign = line.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let signs = &line[..line.len() - line.trim_start_matches(sign).len()];
    (signs.len() >= 3 && !line[signs.len()..].contains('`')).then_some(signs)
}

/// Whether a line has nothing but the signs of a fence, as those that close one.
fn is_fence(line: &str) -> bool {
    fence_of(line).is_some_and(|signs| signs.len() == line.len())
}

fn kind_of(line: &str) -> LineKind {
    let is_rule = |line: &str| line.len() >= 3 && line.chars().all(|c| "-*|: ".contains(c));
    match line {
        "" => LineKind::Blank,
        line if is_rule(line) => LineKind::Rule,
        line if line.starts_with('|') => LineKind::Row,
        line if line.starts_with('#') => LineKind::Heading,
        line if definition(line).is_some() => LineKind::Definition,
        line if ["<", "![", "[!["].iter().any(|start| line.starts_with(start)) => LineKind::Html,
        line if item_body(line).is_some() => LineKind::Item,
        _ => LineKind::Text,
    }
}

/// The label and the target of `[label]: target`.
pub(super) fn definition(line: &str) -> Option<(&str, &str)> {
    let (label, target) = line.trim().strip_prefix('[')?.split_once("]:")?;
    let is_one = !label.is_empty() && !label.contains([']', '[']) && !target.trim().is_empty();
    is_one.then(|| (label, target.trim()))
}

/// What stands behind the bullet or the number of an item.
pub(super) fn item_body(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let bullet = if number.len() < line.len() {
        number.strip_prefix(['.', ')'])
    } else {
        line.strip_prefix(['-', '*', '+'])
    };
    bullet.filter(|rest| rest.starts_with(' ')).map(str::trim)
}

/// The code spans of a line, without their backticks.
pub(super) fn code_spans(text: &str) -> Vec<&str> {
    split_code(text).into_iter().filter_map(Piece::code).collect()
}

/// A line with a word in the place of each code span.
pub(super) fn without_code(text: &str) -> String {
    let word = |piece: Piece<'_>| match piece {
        Piece::Code(_) => "`code`".to_owned(),
        Piece::Text(text) => text.to_owned(),
    };
    split_code(text).into_iter().map(word).collect()
}

/// What a line is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Code(&'a str),
    Text(&'a str),
}

impl<'a> Piece<'a> {
    fn code(self) -> Option<&'a str> {
        match self {
            Piece::Code(code) => Some(code),
            Piece::Text(_) => None,
        }
    }
}

/// The pieces of a line in their order. Backticks that nothing closes are text.
pub(super) fn split_code(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(found) = text[at..].find('`') {
        let open = at + found;
        let inner = text.len() - text[open..].trim_start_matches('`').len();
        let ticks = &text[open..inner];
        let Some(close) = find_ticks(&text[inner..], ticks) else {
            at = inner;
            continue;
        };
        pieces.push(Piece::Text(&text[start..open]));
        pieces.push(Piece::Code(text[inner..inner + close].trim()));
        start = inner + close + ticks.len();
        at = start;
    }
    pieces.push(Piece::Text(&text[start..]));
    pieces.retain(|piece| *piece != Piece::Text(""));
    pieces
}

/// Where exactly so many backticks stand.
fn find_ticks(text: &str, ticks: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let open = at + text[at..].find('`')?;
        let end = text.len() - text[open..].trim_start_matches('`').len();
        if end - open == ticks.len() {
            return Some(open);
        }
        at = end;
    }
}

#[test]
fn lines_are_told_by_what_they_are() {
    use LineKind::{Blank, Code, Definition, Fence, Heading, Html, Item, Row, Rule, Text};
    for (text, kinds) in [
        ("# A\n\nB.\n", &[Heading, Blank, Text][..]),
        ("```sh\n# A\n~~~\n```\nB.", &[Fence, Code, Code, Fence, Text]),
        ("````\n```\n````", &[Fence, Code, Fence]),
        ("- A\n  ```\n  B\n  ```", &[Item, Fence, Code, Fence]),
        ("---\nname: a\n---\nB.", &[Code, Code, Code, Text]),
        ("| A |\n|---|\n| B |\n---", &[Row, Rule, Row, Rule]),
        ("* A\n10. B\n  C\n-D\n*E* F", &[Item, Item, Text, Text, Text]),
        ("[a]: b.md\n[a][b]: c\n[]: d", &[Definition, Text, Text]),
        ("<p>\n![a](b.svg)\n[![a](b)](c)", &[Html, Html, Html]),
        ("```a``` is code", &[Text]),
    ] {
        let document = Document::parse("a.md", text);
        let found: Vec<_> = document.lines.iter().map(|line| line.kind).collect();
        assert_eq!(found, kinds, "{text}");
    }
}

#[test]
fn code_is_told_from_text() {
    use Piece::{Code, Text};
    for (text, pieces) in [
        ("a", &[Text("a")][..]),
        ("a `b` c", &[Text("a "), Code("b"), Text(" c")]),
        ("``a`b`` `c`", &[Code("a`b"), Text(" "), Code("c")]),
        ("an open ` and `` too", &[Text("an open ` and `` too")]),
        ("", &[]),
    ] {
        assert_eq!(split_code(text), pieces, "{text}");
    }
    assert_eq!(without_code("`a.b` is"), "`code` is");
}
