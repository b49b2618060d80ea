//! Citations of a text with a final list of sources, converted to links.

use std::collections::BTreeMap;

/// The sign of a block of code.
const FENCES: [&str; 2] = ["```", "~~~"];

/// Separators between the numbers of a citation.
const SEPARATORS: [char; 5] = [',', '，', '、', ';', '；'];

/// Converts the citations of a text (`[3]`, `[1, 2]`) into links. The numbers must be in a list of sources
/// below the last heading: `- [3] [title](address)`. Code and existing links are unchanged.
#[must_use]
pub fn link_citations(text: &str) -> String {
    let Some(heading) = text.rfind("\n## ") else { return text.to_owned() };
    let (prose, list) = text.split_at(heading);
    let sources = list.lines().filter_map(|line| {
        let (number, link) = line.strip_prefix("- [")?.split_once("] [")?;
        let (_, address) = link.trim_end().strip_suffix(')')?.rsplit_once("](")?;
        Some((number.parse().ok()?, address))
    });
    let sources: BTreeMap<u32, &str> = sources.collect();
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
}
