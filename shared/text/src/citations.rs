//! Citations of a text with a final list of sources.

use std::collections::BTreeMap;

/// The sign of a block of code.
const FENCES: [&str; 2] = ["```", "~~~"];

/// Separators between the numbers of a citation.
const SEPARATORS: [char; 5] = [',', '，', '、', ';', '；'];

/// A source in the list at the end of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CitedSource<'a> {
    /// The number of the source in citations.
    pub number: u32,
    /// The title without Markdown's escapes; may be empty.
    pub title: String,
    /// The URL, `http` or `https`.
    pub url: &'a str,
}

/// Returns the sources in the list at the end of a text, by number. Addresses that are no web pages are left out.
#[must_use]
pub fn list_sources(text: &str) -> Vec<CitedSource<'_>> {
    let Some((_, list)) = split_list(text) else { return Vec::new() };
    let sources = read_sources(list).into_iter();
    let pages = sources.filter(|(_, (_, url))| is_page(url));
    pages
        .map(|(number, (title, url))| CitedSource { number, title: unescape(title), url })
        .collect()
}

/// Splits a text at its last heading, below which the sources are.
fn split_list(text: &str) -> Option<(&str, &str)> {
    text.rfind("\n## ").map(|heading| text.split_at(heading))
}

/// Returns titles and addresses by number: `- [3] [title](address)`.
fn read_sources(list: &str) -> BTreeMap<u32, (&str, &str)> {
    let sources = list.lines().filter_map(|line| {
        let (number, link) = line.strip_prefix("- [")?.split_once("] [")?;
        let (title, address) = link.trim_end().strip_suffix(')')?.rsplit_once("](")?;
        Some((number.parse().ok()?, (title, address)))
    });
    sources.collect()
}

fn is_page(url: &str) -> bool {
    let schemes = ["https://", "http://"];
    let has_scheme = |scheme: &&str| {
        url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    schemes.iter().any(has_scheme) && !url.contains(|c: char| c.is_whitespace() || c.is_control())
}

/// Removes the backslash before each escaped character.
fn unescape(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let escaped = characters.next_if(|next| character == '\\' && next.is_ascii_punctuation());
        output.push(escaped.unwrap_or(character));
    }
    output
}

/// Converts the citations of a text (`[3]`, `[1, 2]`) into links. The numbers must be in a list of sources
/// below the last heading: `- [3] [title](address)`. Code and existing links are unchanged.
#[must_use]
pub fn link_citations(text: &str) -> String {
    let Some((prose, list)) = split_list(text) else { return text.to_owned() };
    let sources = read_sources(list).into_iter();
    let sources: BTreeMap<u32, &str> = sources.map(|(number, (_, url))| (number, url)).collect();
    if sources.is_empty() {
        return text.to_owned();
    }
    let mut output = String::with_capacity(text.len() * 2);
    let mut fence: Option<&str> = None;
    for line in prose.split_inclusive('\n') {
        let start = line.trim_start();
        let mark = FENCES.into_iter().find(|mark| start.starts_with(mark));
        if fence.is_none() && mark.is_none() {
            link_line(line, &sources, &mut output);
            continue;
        }
        output.push_str(line);
        fence = match fence {
            None => mark,
            Some(open) if start.starts_with(open) => None,
            Some(open) => Some(open),
        };
    }
    output.push_str(list);
    output
}

fn link_line(line: &str, sources: &BTreeMap<u32, &str>, output: &mut String) {
    let mut rest = line;
    while let Some(at) = rest.find(['[', '`']) {
        let (before, mark) = rest.split_at(at);
        output.push_str(before);
        let is_plain = !output.ends_with(['\\', '!', '[']);
        let links = is_plain.then(|| read_citation(mark, sources)).flatten();
        rest = if let Some((links, after)) = links {
            output.push_str(&links);
            after
        } else {
            let (piece, after) = mark.split_at(code_span_len(mark).unwrap_or(1));
            output.push_str(piece);
            after
        };
    }
    output.push_str(rest);
}

/// Returns the links of a citation at the start of a text, and the rest. A bracket before an address or a
/// definition is not a citation.
fn read_citation<'a>(text: &'a str, sources: &BTreeMap<u32, &str>) -> Option<(String, &'a str)> {
    let (inside, after) = text.strip_prefix('[')?.split_once(']')?;
    if after.starts_with(['(', ':']) {
        return None;
    }
    let links = inside.split(SEPARATORS).map(|number| {
        let number: u32 = number.trim().parse().ok()?;
        Some(format!("[[{number}]]({})", sources.get(&number)?))
    });
    Some((links.collect::<Option<String>>()?, after))
}

/// Returns the length in bytes of a code span at the start of a text.
fn code_span_len(text: &str) -> Option<usize> {
    let ticks = text.len() - text.trim_start_matches('`').len();
    let (mark, rest) = text.split_at(ticks);
    let end = rest.find(mark).filter(|_| ticks > 0)?;
    Some(ticks + end + ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str =
        "\n\n## Sources\n\n- [1] [Heat](https://a.test/1)\n- [4] [\\[x\\] y](https://b.test/%28)";

    #[test]
    fn citations_of_listed_sources_are_links() {
        let one = "[[1]](https://a.test/1)";
        let four = "[[4]](https://b.test/%28)";
        for (prose, linked) in [
            ("It is 4 [1].", format!("It is 4 {one}.")),
            ("It is [1][4], or [1, 4].", format!("It is {one}{four}, or {one}{four}.")),
            ("金价[1]。", format!("金价{one}。")),
            ("a [2] b [x] c [ d", "a [2] b [x] c [ d".to_owned()),
            (
                "[1](https://c.test) ![1] \\[1] [[1]](u)",
                "[1](https://c.test) ![1] \\[1] [[1]](u)".to_owned(),
            ),
            ("`x[1]` ``y`[1]`` [1]", format!("`x[1]` ``y`[1]`` {one}")),
            (
                "a [1]\n```\nb[1]\n~~~\nc[1]\n```\nd [4]",
                format!("a {one}\n```\nb[1]\n~~~\nc[1]\n```\nd {four}"),
            ),
            ("open ` and [1]", format!("open ` and {one}")),
        ] {
            assert_eq!(link_citations(&format!("{prose}{LIST}")), format!("{linked}{LIST}"));
        }
    }

    #[test]
    fn text_without_a_list_of_sources_stays() {
        for text in
            ["It is 4 [1].", "It is 4 [1].\n\n## Sources\n\n[1] https://a.test", "", "[1]\n## 界"]
        {
            assert_eq!(link_citations(text), text);
        }
    }
    #[test]
    fn sources_are_pages_with_titles_as_written() {
        let source = |number, title: &str, url: &'static str| (number, title.to_owned(), url);
        for (list, sources) in [
            ("- [1] [Heat](https://a.test/1)", vec![source(1, "Heat", "https://a.test/1")]),
            (
                "- [4] [\\[x\\] y\\\\](https://b.test/%28)",
                vec![source(4, "[x] y\\", "https://b.test/%28")],
            ),
            (
                "- [2] [B](http://b.test)\r\n- [1] [](HTTPS://a.test)\r\n\r\n*A note.*",
                vec![source(1, "", "HTTPS://a.test"), source(2, "B", "http://b.test")],
            ),
            ("- [1] [a](javascript:alert) [b](https://x.test/a b)", vec![]),
            ("- [1] [a](data:text/html,x)\n- [x] [b](https://b.test)\n[2] https://c.test", vec![]),
            ("- [1] [a](é)\n- [99999999999] [b](https://b.test)", vec![]),
            (
                "- [1] [a](https://a.test)\n- [1] [b](https://b.test)",
                vec![source(1, "b", "https://b.test")],
            ),
        ] {
            let text = format!("It is [1].\n\n## Sources\n\n{list}");
            let found = list_sources(&text);
            let found: Vec<_> =
                found.into_iter().map(|found| (found.number, found.title, found.url)).collect();
            assert_eq!(found, sources, "{list}");
        }
        let above = "- [1] [a](https://a.test)\n\n## Other";
        for text in ["", "[1]", "- [1] [a](https://a.test)", above] {
            assert_eq!(list_sources(text), [], "{text}");
        }
    }
}
