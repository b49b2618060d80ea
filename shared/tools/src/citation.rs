//! Citations in a text: `[3]` names the third page read, `[q3]` the third query.

pub(crate) mod markdown;

use std::collections::BTreeSet;

use markdown::{
    Destination, is_line_start, read_code_span, read_definition, read_link, split_code,
};

/// A text with valid citations only.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CitedText {
    prefix: &'static str,
    /// The text without invalid citations.
    pub(crate) text: String,
    /// The cited numbers.
    pub(crate) cited: BTreeSet<usize>,
    /// The removed numbers.
    pub(crate) dropped: BTreeSet<usize>,
}

/// A citation as written by a model.
struct Citation<'a> {
    citation_text: &'a str,
    numbers: Vec<usize>,
    /// The text after the citation.
    after: &'a str,
}

/// Headings of a list of sources, sometimes written by models against instructions.
const SOURCE_HEADINGS: [&str; 10] = [
    "sources",
    "references",
    "bibliography",
    "citations",
    "来源",
    "参考资料",
    "参考文献",
    "引用来源",
    "queries",
    "查询",
];

/// Separators between the numbers of a citation.
const SEPARATORS: [char; 5] = [',', '，', '、', ';', '；'];

/// Separators between the first and the last number of a range.
const DASHES: [char; 5] = ['-', '–', '—', '~', '～'];

/// Maximum last number of a range; greater numbers are years.
const MAX_RANGE: usize = 999;

/// Removes citations of sources beyond the first `sources`, and a final list of sources, because our list
/// replaces any other. `[1, 2]`, `[1-3]` and `【1】` are citations too, and unchanged if all their sources exist.
/// Each number follows `prefix`, which may be empty. Footnotes and code are not citations. A citation's own link is
/// removed.
pub(crate) fn check_citations(text: &str, prefix: &'static str, sources: usize) -> CitedText {
    let mut cited_text = CitedText {
        prefix,
        text: String::with_capacity(text.len()),
        cited: BTreeSet::new(),
        dropped: BTreeSet::new(),
    };
    for (is_code, part) in split_code(strip_source_list(text)) {
        if is_code {
            cited_text.text.push_str(part);
        } else {
            cited_text.add_prose(part, sources);
        }
    }
    cited_text.text.truncate(cited_text.text.trim_end().len());
    cited_text
}

impl CitedText {
    fn add_prose(&mut self, prose: &str, sources: usize) {
        let mut rest = prose;
        while let Some(at) = rest.find(['[', '【', '`']) {
            let (before, mark) = rest.split_at(at);
            self.text.push_str(before);
            rest = match read_citation(mark, self.prefix) {
                Some(citation) => self.add_citation(citation, sources),
                // Code, or a mark that starts no citation, is copied.
                None => {
                    let is_escaped = before.ends_with('\\');
                    let code = if is_escaped { None } else { read_code_span(mark) };
                    let first = mark.chars().next().map_or(0, char::len_utf8);
                    let (head, after) = mark.split_at(code.map_or(first, str::len));
                    self.text.push_str(head);
                    after
                }
            };
        }
        self.text.push_str(rest);
    }

    /// Copies the valid part of a citation, and drops a link definition's line. Returns the rest.
    fn add_citation<'a>(&mut self, citation: Citation<'a>, sources: usize) -> &'a str {
        let Citation { citation_text, numbers, after } = citation;
        let definition = after.strip_prefix(':').filter(|_| is_line_start(&self.text));
        let definition = definition.and_then(read_definition);
        if let Some((Destination::Address, after)) = definition {
            self.text.truncate(self.text.rfind('\n').map_or(0, |at| at + 1));
            return after;
        }
        let (valid_numbers, unknown): (Vec<usize>, Vec<usize>) =
            numbers.into_iter().partition(|number| (1..=sources).contains(number));
        if unknown.is_empty() {
            self.text.push_str(citation_text);
        } else if valid_numbers.is_empty() {
            self.text.truncate(self.text.trim_end_matches(' ').len());
        } else {
            let citations = valid_numbers.iter().map(|number| format!("[{}{number}]", self.prefix));
            self.text.extend(citations);
        }
        self.cited.extend(valid_numbers);
        self.dropped.extend(unknown);
        if definition.is_some() {
            self.text.push(' ');
        }
        self.remove_link(after)
    }

    /// Prevents the text after a citation from forming a link. Returns the rest.
    fn remove_link<'a>(&mut self, after: &'a str) -> &'a str {
        let bracket_rest = after.strip_prefix(']').filter(|rest| rest.starts_with(['(', '[']));
        if bracket_rest.is_some() {
            self.text.push(']');
        }
        let after = bracket_rest.unwrap_or(after);
        if let Some((Destination::Address, rest)) = after.strip_prefix('(').and_then(read_link) {
            return rest;
        }
        let is_label = after.starts_with('[') && read_citation(after, self.prefix).is_none();
        if is_label || after.starts_with('(') {
            self.text.push(' ');
        }
        after
    }
}

/// Reads the citation at the start of a text.
fn read_citation<'a>(text: &'a str, prefix: &str) -> Option<Citation<'a>> {
    // Some models repeat the citation in brackets.
    let inner_bracket = text.strip_prefix('[').filter(|inner| inner.starts_with('['));
    if let Some(citation) = inner_bracket.and_then(|inner| read_citation(inner, prefix)) {
        let after = citation.after.strip_prefix(']')?;
        let (citation_text, after) = text.split_at(text.len() - after.len());
        return Some(Citation { citation_text, after, ..citation });
    }
    let (inner, end) = match text.strip_prefix('[') {
        Some(inner) => (inner, ']'),
        None => (text.strip_prefix('【')?, '】'),
    };
    let is_inside = |character: char| {
        let is_mark = SEPARATORS.contains(&character) || DASHES.contains(&character);
        let is_prefix = prefix.contains(character);
        is_mark || is_prefix || character.is_ascii_digit() || character.is_whitespace()
    };
    let (inner, after) = inner.split_at(inner.find(|character| !is_inside(character))?);
    let after = after.strip_prefix(end)?;
    let (citation_text, after) = text.split_at(text.len() - after.len());
    Some(Citation { citation_text, numbers: read_numbers(inner, prefix)?, after })
}

/// Returns the numbers of a citation, with ranges expanded.
fn read_numbers(inner: &str, prefix: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    let read_number = |text: &str| text.trim().strip_prefix(prefix)?.trim().parse::<usize>().ok();
    for part in inner.split(SEPARATORS) {
        let Some((first, last)) = part.split_once(DASHES) else {
            numbers.push(read_number(part)?);
            continue;
        };
        let first = read_number(first)?;
        let last = read_number(last)?;
        let is_range = 1 <= first && first <= last && last <= MAX_RANGE;
        numbers.extend(is_range.then_some(first..=last)?);
    }
    Some(numbers)
}

/// Returns the text without a final list of sources. A heading with other text below, or without text above,
/// is part of the answer.
fn strip_source_list(text: &str) -> &str {
    // A list item, an empty line, or a line that starts with a citation or a URL.
    let is_source = |line: &str| {
        let line = line.trim();
        let rest = line.trim_start_matches(|character: char| character.is_ascii_digit());
        let is_numbered = rest.len() < line.len() && rest.starts_with(['.', ')', '、', '．']);
        let is_rule = line.chars().all(|character| ['-', '*', '_'].contains(&character));
        let prefixes = ["- ", "* ", "+ ", "• ", "[", "【", "http://", "https://", "<http"];
        is_numbered || is_rule || prefixes.iter().any(|prefix| line.starts_with(prefix))
    };
    let mut end = text.len();
    for line in text.split_inclusive('\n').rev() {
        end -= line.len();
        let words = line.trim().trim_matches(['#', '*', ' ', ':', '：']).to_lowercase();
        if SOURCE_HEADINGS.contains(&words.as_str()) {
            let answer = text.get(..end).unwrap_or(text);
            return if answer.trim().is_empty() { text } else { answer };
        }
        if !is_source(line) {
            return text;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks texts with two sources: what becomes of each, and the numbers that are cited and dropped.
    fn check_all(cases: &[(&str, &str, &[usize], &[usize])]) {
        for (text, checked, cited, dropped) in cases {
            let found = check_citations(text, "", 2);
            assert_eq!(found.text, *checked, "{text}");
            let numbers = |of: BTreeSet<usize>| of.into_iter().collect::<Vec<_>>();
            assert_eq!(numbers(found.cited), *cited, "{text}");
            assert_eq!(numbers(found.dropped), *dropped, "{text}");
        }
    }

    #[test]
    fn what_leads_nowhere_is_taken_out_and_the_rest_is_left_as_it_was_written() {
        check_all(&[
            ("It is 4 [1].", "It is 4 [1].", &[1], &[]),
            ("It is 4 [7].", "It is 4.", &[], &[7]),
            ("It is 4 [1, 2].", "It is 4 [1, 2].", &[1, 2], &[]),
            ("It is 4 [1, 7][2].", "It is 4 [1][2].", &[1, 2], &[7]),
            ("It is 4 [1; 9].", "It is 4 [1].", &[1], &[9]),
            ("It is 4 [1-2].", "It is 4 [1-2].", &[1, 2], &[]),
            ("It is 4 [1–3].", "It is 4 [1][2].", &[1, 2], &[3]),
            ("为 4【1】【9】。", "为 4【1】。", &[1], &[9]),
            ("of [2020-2024], [0-1] and [note]", "of [2020-2024], [0-1] and [note]", &[], &[]),
            ("[0] and a[i] and [", " and a[i] and [", &[], &[0]),
            ("[99999999999999999999999]", "[99999999999999999999999]", &[], &[]),
        ]);
    }

    #[test]
    fn citations_of_queries_have_their_prefix() {
        for (text, checked, cited, dropped) in [
            ("It is 4 [q1].", "It is 4 [q1].", &[1][..], &[][..]),
            ("It is 4 [q1, q7]【q2】.", "It is 4 [q1]【q2】.", &[1, 2], &[7]),
            ("It is 4 [q1-q2] [q9].", "It is 4 [q1-q2].", &[1, 2], &[9]),
            ("It is 4 [q2](https://evil.test).", "It is 4 [q2].", &[2], &[]),
            ("It is 4 [1], [2q], [qq1] and [Q].", "It is 4 [1], [2q], [qq1] and [Q].", &[], &[]),
            ("`[q9]` is 4 [q1].\n\n## Queries\n\n- [q1] Sum", "`[q9]` is 4 [q1].", &[1], &[]),
        ] {
            let found = check_citations(text, "q", 2);
            assert_eq!(found.text, checked, "{text}");
            let numbers = |of: BTreeSet<usize>| of.into_iter().collect::<Vec<_>>();
            assert_eq!(
                (numbers(found.cited), numbers(found.dropped)),
                (cited.to_vec(), dropped.to_vec())
            );
        }
    }

    #[test]
    fn code_is_left_alone_and_nothing_else_is() {
        check_all(&[
            ("```\nx[9]\n```\n[2]", "```\nx[9]\n```\n[2]", &[2], &[]),
            ("~~~~\n~~~\nx[9]\n~~~~\n4 [9].", "~~~~\n~~~\nx[9]\n~~~~\n4.", &[], &[9]),
            ("1. ```py\n   x[9]\n   ```\n4 [9].", "1. ```py\n   x[9]\n   ```\n4.", &[], &[9]),
            ("```\nx[9]", "```\nx[9]", &[], &[]),
            ("```a``` is code. It is 4 [9].", "```a``` is code. It is 4.", &[], &[9]),
            ("`x[9]`, ``a`[9]`` and 4 [9].", "`x[9]`, ``a`[9]`` and 4.", &[], &[9]),
            ("A ` and 4 [9].\n\nA `.", "A ` and 4.\n\nA `.", &[], &[9]),
            (r"A \` and 4 [9].`", r"A \` and 4.`", &[], &[9]),
        ]);
    }

    #[test]
    fn no_citation_leads_where_the_model_says() {
        check_all(&[
            ("4 [1].\n\n[1]: https://evil.test/", "4 [1].", &[1], &[]),
            ("[1]:\nhttps://evil.test\n4 [1].", "4 [1].", &[1], &[]),
            ("> - [ 1 ]: <https://evil.test> 't'\n4 [ 1 ].", "4 [ 1 ].", &[1], &[]),
            ("[\n1]: //evil.test\n4 [1].", "4 [1].", &[1], &[]),
            ("[1, 2]: /evil\n4 [1, 2].", "4 [1, 2].", &[1, 2], &[]),
            ("[1]: 42%", "[1] : 42%", &[1], &[]),
            ("[1]: the pump.", "[1]: the pump.", &[1], &[]),
            ("See [1]: https://a.test", "See [1]: https://a.test", &[1], &[]),
            ("4 [1](https://evil.test).", "4 [1].", &[1], &[]),
            ("4 [9](https://evil.test).", "4.", &[], &[9]),
            ("4 [1](\nhttps://evil.test/(a) \"t\").", "4 [1].", &[1], &[]),
            ("4 [[1]](https://evil.test).", "4 [[1]].", &[1], &[]),
            ("4 [see [1]](https://evil.test).", "4 [see [1]].", &[1], &[]),
            ("4 [1](IEA), 5 [2](as of 2024).", "4 [1] (IEA), 5 [2] (as of 2024).", &[1, 2], &[]),
            ("4 [1][evil].", "4 [1] [evil].", &[1], &[]),
            ("4 [1](", "4 [1] (", &[1], &[]),
            ("[heat](https://a.test)[1]", "[heat](https://a.test)[1]", &[1], &[]),
        ]);
    }

    #[test]
    fn a_list_of_sources_of_the_models_own_is_taken_out() {
        for (text, stripped) in [
            ("It is 4 [1].\n\n## Sources\n\n[1] https://a.b\n", "It is 4 [1]."),
            ("It is 4 [1].\n\n**参考资料：**\n1. a", "It is 4 [1]."),
            ("It is 4 [1].\n\nSources:\n", "It is 4 [1]."),
            ("It is 4 [1].\n\nReferences:\n---\n- a\n  * https://a.b\nhttps://b.c", "It is 4 [1]."),
        ] {
            assert_eq!(check_citations(text, "", 2).text, stripped, "{text}");
        }
        for text in [
            "# Sources\n\nOf heat.\n\n# More\n\nOf cold [1].",
            "There are two.\n\nSources:\n- air [1]\n- ground [2]\n\nSo choose air [1].",
            "There are two.\n\n来源\n- air [1]\n\n**So choose air.**",
            "Sources:\n- air [1]\n- ground [2]",
            "The sources of heat.",
        ] {
            assert_eq!(check_citations(text, "", 2).text, text);
        }
    }
}
