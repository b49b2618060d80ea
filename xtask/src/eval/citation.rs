//! Finds the site's pages cited by an answer.

use std::collections::BTreeSet;

/// The cited addresses, by existence on the site.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Citations {
    /// Paths of existing pages of the site.
    pub(super) pages: BTreeSet<String>,
    /// Addresses outside the site's pages.
    pub(super) strangers: BTreeSet<String>,
}

/// Characters after an address in Markdown, HTML and Chinese texts.
const ENDS: [char; 18] = [
    ')', '>', '<', ']', '"', '\'', '`', '|', '\\', '，', '。', '；', '、', '）', '》', '”', '】',
    '！',
];

/// Returns the addresses cited in a text. A numbered source counts only if another line cites the number.
pub(super) fn find_citations(text: &str, pages: &BTreeSet<String>) -> Citations {
    let mut citations = Citations::default();
    for (place, line) in text.lines().enumerate() {
        let number = source_number(line);
        let is_used = number.is_none_or(|number| {
            let others = text.lines().enumerate().filter(|(other, _)| *other != place);
            others.into_iter().any(|(_, line)| names_number(line, number))
        });
        if !is_used {
            continue;
        }
        for url in find_urls(line) {
            let after_host = url.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
            let page = after_host.and_then(|(_, path)| path.split(['?', '#']).next());
            match page.filter(|page| pages.contains(*page)) {
                Some(page) => citations.pages.insert(page.to_owned()),
                None => citations.strangers.insert(url.to_owned()),
            };
        }
    }
    citations
}

/// Returns the number of a listed source: `[3] Title`, `- [3] Title`, `3. [Title](…)`.
fn source_number(line: &str) -> Option<u32> {
    let line = line.trim_start_matches(|sign: char| sign.is_whitespace() || "-*>".contains(sign));
    match line.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.0.parse().ok(),
        None => line.split_once(". ")?.0.parse().ok(),
    }
}

/// Returns true if a line cites the number, as in `[3]` or `[1, 3]`.
fn names_number(line: &str, number: u32) -> bool {
    let brackets = line.split('[').skip(1).filter_map(|rest| rest.split_once(']'));
    let numbers = brackets.flat_map(|(inner, _)| inner.split([',', '，', '、']));
    numbers.into_iter().any(|word| word.trim().parse() == Ok(number))
}

fn find_urls(line: &str) -> impl Iterator<Item = &str> {
    let starts = line.match_indices("http").map(|(at, _)| at);
    let rests = starts.filter_map(|at| line.get(at..));
    let is_url = |rest: &&str| rest.starts_with("http://") || rest.starts_with("https://");
    rests.filter(is_url).filter_map(|rest| {
        let end = rest.find(|sign: char| sign.is_whitespace() || ENDS.contains(&sign));
        rest.get(..end.unwrap_or(rest.len()))
            .map(|url| url.trim_end_matches(['.', ',', ';', ':', '!', '?']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_cited_where_its_number_or_its_address_stands_in_the_text() {
        let pages = BTreeSet::from(["a.html".to_owned(), "b.html".to_owned()]);
        let site = "http://127.0.0.1:4000";
        for (text, cited, strangers) in [
            (format!("As [A]({site}/a.html) says."), &["a.html"][..], &[][..]),
            (
                format!("It is 3 [1].\n\n[1] A: {site}/a.html\n[2] B: {site}/b.html"),
                &["a.html"],
                &[],
            ),
            (
                format!("It is 3 [1, 2].\n\n- [1] {site}/a.html\n- [2] {site}/b.html."),
                &["a.html", "b.html"],
                &[],
            ),
            (
                format!("3 [1]，4 [2]。\n1. [A]({site}/a.html)\n2. [B](<{site}/b.html#x>)"),
                &["a.html", "b.html"],
                &[],
            ),
            (format!("见{site}/a.html。"), &["a.html"], &[]),
            (format!("[1] {site}/a.html"), &[], &[]),
            (format!("<a href=\"{site}/b.html?q=1\">B</a>"), &["b.html"], &[]),
            (
                format!("{site}/c.html, http://x.invalid"),
                &[],
                &["http://127.0.0.1:4000/c.html", "http://x.invalid"],
            ),
            ("No address: http, https:/a.html".to_owned(), &[], &[]),
        ] {
            let found = find_citations(&text, &pages);
            assert_eq!(
                found.pages.iter().collect::<Vec<_>>(),
                cited.iter().collect::<Vec<_>>(),
                "{text}"
            );
            assert_eq!(
                found.strangers.iter().collect::<Vec<_>>(),
                strangers.iter().collect::<Vec<_>>(),
                "{text}"
            );
        }
    }
}
