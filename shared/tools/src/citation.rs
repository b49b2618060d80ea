//! Citations in a text: `[3]` names the third page that was read.

use std::collections::BTreeSet;

/// A text whose citations all lead somewhere.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CitedText {
    /// The text without what leads nowhere.
    pub(crate) text: String,
    /// The numbers that it cites.
    pub(crate) cited: BTreeSet<usize>,
    /// The numbers that were taken out.
    pub(crate) dropped: BTreeSet<usize>,
}

/// Headings of a list of sources that a model writes all the same.
const SOURCE_HEADINGS: [&str; 8] = [
    "sources",
    "references",
    "bibliography",
    "citations",
    "来源",
    "参考资料",
    "参考文献",
    "引用来源",
];

/// Takes the citations out that name no page among the first `sources`, and a list of sources at the end:
/// that is made of what was read. `[1, 2]` and `【1】` are citations, too; links, footnotes and code are not.
pub(crate) fn check_citations(text: &str, sources: usize) -> CitedText {
    let mut checked = CitedText {
        text: String::with_capacity(text.len()),
        cited: BTreeSet::new(),
        dropped: BTreeSet::new(),
    };
    let mut is_code = false;
    for line in strip_source_list(text).split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            checked.text.push_str(line);
        } else {
            checked.add_line(line, sources);
        }
    }
    checked.text.truncate(checked.text.trim_end().len());
    checked
}

impl CitedText {
    fn add_line(&mut self, line: &str, sources: usize) {
        let mut rest = line;
        while let Some(at) = rest.find(['[', '【']) {
            let (before, mark) = rest.split_at(at);
            let Some((numbers, after)) = read_citation(mark) else {
                let first = mark.chars().next().map_or(0, char::len_utf8);
                self.text.push_str(before);
                self.text.push_str(mark.get(..first).unwrap_or_default());
                rest = mark.get(first..).unwrap_or_default();
                continue;
            };
            let (known, unknown): (Vec<usize>, Vec<usize>) =
                numbers.into_iter().partition(|number| (1..=sources).contains(number));
            let before = if known.is_empty() { before.trim_end_matches(' ') } else { before };
            self.text.push_str(before);
            known.iter().for_each(|number| self.text.push_str(&format!("[{number}]")));
            self.cited.extend(known);
            self.dropped.extend(unknown);
            rest = after;
        }
        self.text.push_str(rest);
    }
}

/// The numbers of a citation at the beginning of a text, and what follows it.
fn read_citation(text: &str) -> Option<(Vec<usize>, &str)> {
    let (inner, after) = match text.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None => text.strip_prefix('【')?.split_once('】')?,
    };
    // `[1](address)` is a link, and `[1]:` says where one leads.
    if after.starts_with('(') || after.starts_with(':') {
        return None;
    }
    let numbers = inner.split([',', '，', '、']).map(|number| number.trim().parse().ok());
    Some((numbers.collect::<Option<Vec<usize>>>()?, after))
}

/// The text without a list of sources that ends it.
fn strip_source_list(text: &str) -> &str {
    let mut at = 0;
    let mut last = None;
    for line in text.split_inclusive('\n') {
        let words = line.trim().trim_matches(['#', '*', ' ', ':', '：']).to_lowercase();
        if SOURCE_HEADINGS.contains(&words.as_str()) {
            last = Some(at);
        } else if line.starts_with('#') {
            last = None;
        }
        at += line.len();
    }
    last.and_then(|at| text.get(..at)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_nowhere_is_taken_out() {
        for (text, checked, cited, dropped) in [
            ("It is 4 [1].", "It is 4 [1].", vec![1], vec![]),
            ("It is 4 [7].", "It is 4.", vec![], vec![7]),
            ("It is 4 [1, 7][2].", "It is 4 [1][2].", vec![1, 2], vec![7]),
            ("为 4【1】【9】。", "为 4[1]。", vec![1], vec![9]),
            (
                "See [1](https://a.b) and [note].",
                "See [1](https://a.b) and [note].",
                vec![],
                vec![],
            ),
            ("[0] and a[i] and [", " and a[i] and [", vec![], vec![0]),
            ("```\nx[9]\n```\n[2]", "```\nx[9]\n```\n[2]", vec![2], vec![]),
            ("[99999999999999999999999]", "[99999999999999999999999]", vec![], vec![]),
        ] {
            let found = check_citations(text, 2);
            assert_eq!(
                found.text.trim_start_matches(' '),
                checked.trim_start_matches(' '),
                "{text}"
            );
            let numbers = |of: BTreeSet<usize>| of.into_iter().collect::<Vec<_>>();
            assert_eq!((numbers(found.cited), numbers(found.dropped)), (cited, dropped), "{text}");
        }
    }

    #[test]
    fn a_list_of_sources_of_the_models_own_is_taken_out() {
        for (text, stripped) in [
            ("It is 4 [1].\n\n## Sources\n\n[1] https://a.b\n", "It is 4 [1]."),
            ("It is 4 [1].\n\n**参考资料：**\n1. a", "It is 4 [1]."),
            (
                "# Sources\n\nOf heat.\n\n# More\n\nOf cold [1].",
                "# Sources\n\nOf heat.\n\n# More\n\nOf cold [1].",
            ),
            ("The sources of heat.", "The sources of heat."),
        ] {
            assert_eq!(check_citations(text, 2).text, stripped, "{text}");
        }
    }
}
