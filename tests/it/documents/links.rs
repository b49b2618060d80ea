//! Links that lead to a file and to a heading of it, and definitions that somebody uses.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Url;

use super::markdown::{Document, LineKind, Piece, definition, split_code};
use super::repository::Repository;
use super::sentences::closing;
use super::{complain, none};

/// What a line links to.
#[derive(Debug, PartialEq, Eq)]
enum Link {
    /// `[text](target)`, or the attribute of a tag.
    Inline(String),
    /// `[text][label]`, which has to be defined.
    Reference(String),
    /// `[label]`, which is a link only where it is defined.
    Shortcut(String),
}

/// What no link of these documents leads to.
pub(super) fn check(repository: &Repository) -> Vec<String> {
    let anchors: BTreeMap<&str, BTreeSet<String>> = repository
        .documents
        .iter()
        .map(|document| (document.path.as_str(), anchors_of(document)))
        .collect();
    let check = |document| DocumentLinks { repository, anchors: &anchors, document }.check();
    repository.documents.iter().flat_map(check).collect()
}

/// The links of one document among all.
struct DocumentLinks<'a> {
    repository: &'a Repository,
    anchors: &'a BTreeMap<&'a str, BTreeSet<String>>,
    document: &'a Document,
}

impl DocumentLinks<'_> {
    fn check(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut defined = BTreeMap::new();
        let lines = &self.document.lines;
        for line in lines.iter().filter(|line| line.kind == LineKind::Definition) {
            let (label, target) = definition(&line.text).unwrap();
            if defined.insert(label.to_lowercase(), line.number).is_some() {
                problems.push(complain(self.document, line.number, format!("[{label}] twice")));
            }
            problems.extend(self.follow(line.number, target));
        }
        let mut used = BTreeSet::new();
        for line in self.document.read_lines() {
            for link in links_of(&line.text) {
                match link {
                    Link::Inline(target) => problems.extend(self.follow(line.number, &target)),
                    Link::Reference(label) if !defined.contains_key(&label) => {
                        let what = format!("nothing defines [{label}]");
                        problems.push(complain(self.document, line.number, what));
                    }
                    Link::Reference(label) | Link::Shortcut(label) => drop(used.insert(label)),
                }
            }
        }
        let unused = defined.iter().filter(|(label, _)| !used.contains(*label));
        let unused = unused
            .map(|(label, line)| complain(self.document, *line, format!("nobody uses [{label}]")));
        problems.extend(unused);
        problems
    }

    /// What is wrong with a target.
    fn follow(&self, line: usize, target: &str) -> Option<String> {
        let target = target.split_whitespace().next().unwrap_or_default();
        let target = target.trim_start_matches('<').trim_end_matches('>');
        let problem = match target.split_once(':') {
            Some(("http" | "https" | "mailto", _)) => {
                Url::parse(target).err().map(|error| error.to_string())
            }
            _ => self.follow_path(target),
        };
        problem.map(|what| complain(self.document, line, format!("{target}: {what}")))
    }

    fn follow_path(&self, target: &str) -> Option<String> {
        let (path, anchor) = target.split_once('#').map_or((target, None), |(p, a)| (p, Some(a)));
        let from = self.document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let path = match path {
            "" => Some(self.document.path.clone()),
            path => join_path(from, path),
        };
        let Some(path) = path.filter(|path| path.is_empty() || self.has_path(path)) else {
            return Some("there is no such file".to_owned());
        };
        let anchor = anchor?;
        let known = self.anchors.get(path.as_str());
        (!known.is_some_and(|known| known.contains(anchor)))
            .then(|| format!("{path} has no heading #{anchor}"))
    }

    fn has_path(&self, path: &str) -> bool {
        self.repository.paths.contains(path)
    }
}

/// A path that is written in a folder, from the root. `None` if it leads out of it.
fn join_path(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    if path.starts_with('/') {
        return None;
    }
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The links of a line, in the order in which they end.
fn links_of(line: &str) -> Vec<Link> {
    let text: Vec<char> = without_brackets_in_code(line).chars().collect();
    let take = |from: usize, to: usize| text[from..to].iter().collect::<String>();
    let mut links = attributes(line);
    let mut open = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let sign = text[at];
        at += 1;
        match sign {
            '\\' => at += 1,
            '[' => open.push(at),
            ']' => {
                let Some(start) = open.pop() else { continue };
                let label = take(start, at - 1).to_lowercase();
                let next = text.get(at);
                let end = match next {
                    Some('(') => closing(&text, at, '(', ')'),
                    Some('[') => closing(&text, at, '[', ']'),
                    _ => None,
                };
                match (next, end) {
                    (Some('('), Some(end)) => links.push(Link::Inline(take(at + 1, end - 1))),
                    (Some('['), Some(end)) if end == at + 2 => links.push(Link::Reference(label)),
                    (Some('['), Some(end)) => {
                        links.push(Link::Reference(take(at + 1, end - 1).to_lowercase()));
                    }
                    _ => links.push(Link::Shortcut(label)),
                }
                at = end.unwrap_or(at);
            }
            _ => {}
        }
    }
    links
}

/// A line whose code cannot be taken for a link.
fn without_brackets_in_code(line: &str) -> String {
    let piece = |piece| match piece {
        Piece::Code(code) => format!("`{}`", code.replace(['[', ']', '(', ')', '\\'], "·")),
        Piece::Text(text) => text.to_owned(),
    };
    split_code(line).into_iter().map(piece).collect()
}

/// What the tags of a line lead to.
fn attributes(line: &str) -> Vec<Link> {
    let text = if line.trim_start().starts_with('<') { line } else { "" };
    let names = ["href=\"", "src=\""].into_iter();
    let values =
        names.flat_map(|name| text.split(name).skip(1)).filter_map(|rest| rest.split_once('"'));
    values.map(|(value, _)| Link::Inline(value.to_owned())).collect()
}

/// The names by which GitHub links to the headings of a document.
fn anchors_of(document: &Document) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let headings = document.lines.iter().filter(|line| line.kind == LineKind::Heading);
    for heading in headings {
        let slug = slug(heading.text.trim().trim_start_matches('#'));
        let again = (1..).map(|count| format!("{slug}-{count}"));
        let free = std::iter::once(slug.clone()).chain(again).find(|slug| !anchors.contains(slug));
        anchors.extend(free);
    }
    anchors
}

/// What GitHub makes of a heading: small letters, hyphens for spaces, and no other signs.
fn slug(heading: &str) -> String {
    let mut text = String::new();
    for piece in split_code(heading) {
        match piece {
            Piece::Code(code) => text.push_str(code),
            Piece::Text(words) => text.push_str(&super::sentences::spoken(words)),
        }
    }
    let kept = text.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn headings_have_githubs_anchors() {
    for (heading, anchor) in [
        (" In one paragraph", "in-one-paragraph"),
        (" `cargo dev`, and more", "cargo-dev-and-more"),
        (" What a run's `run_id` is (and isn't)", "what-a-runs-run_id-is-and-isnt"),
        (" A – B", "a--b"),
        (" See [the page](a.md)!", "see-the-page"),
        (" **Bold** 0.1.0", "bold-010"),
        (" 会话", "会话"),
    ] {
        assert_eq!(slug(heading), anchor, "{heading}");
    }
    let document = Document::parse("a.md", "# A\n## A\n## A\n```\n# B\n```\n");
    assert_eq!(anchors_of(&document), ["a", "a-1", "a-2"].map(str::to_owned).into());
}

#[test]
fn links_are_found_in_every_form() {
    let inline = |target: &str| Link::Inline(target.to_owned());
    let reference = |label: &str| Link::Reference(label.to_owned());
    let shortcut = |label: &str| Link::Shortcut(label.to_owned());
    for (line, links) in [
        ("[a](b.md) and ![c](d.svg)", vec![inline("b.md"), inline("d.svg")]),
        ("[a `b[0]`](c(d).md \"e\")", vec![inline("c(d).md \"e\"")]),
        ("[A][B] [C][] [D]", vec![reference("b"), reference("c"), shortcut("d")]),
        ("[![a](b.svg)](c.md)", vec![inline("b.svg"), inline("c.md")]),
        ("`[a](b)` \\[c] ]", vec![]),
        ("<a href=\"b.md\"><img src=\"c.svg\">", vec![inline("b.md"), inline("c.svg")]),
    ] {
        assert_eq!(links_of(line), links, "{line}");
    }
}

#[test]
fn a_link_that_leads_nowhere_is_noticed() {
    let check = |text: &str| {
        check(&Repository::of(&[("docs/a.md", text), ("b.md", "# B c\n"), ("docs/d.json", "")]))
    };
    for text in [
        "# A\n[b](../b.md#b-c), [a](#a), [d](d.json), [root](..).\n",
        "[b][x].\n\n[x]: ../b.md\n",
        "[X].\n\n[x]: https://example.org/a#b\n",
        "- [ ] no link, nor [this].\n",
        "```\n[b](nowhere.md)\n```\n",
    ] {
        none(check(text));
    }
    for (text, problem) in [
        ("[b](b.md).", "docs/a.md:1: b.md: there is no such file"),
        ("[b](../../b.md).", "no such file"),
        ("[b](/b.md).", "no such file"),
        ("[b](../b.md#c).", "../b.md#c: b.md has no heading #c"),
        ("[a](#b).", "docs/a.md has no heading #b"),
        ("[d](d.json#b).", "no heading"),
        ("[b][x].", "nothing defines [x]"),
        ("A.\n\n[x]: ../b.md", "docs/a.md:3: nobody uses [x]"),
        ("[x].\n\n[x]: c.md", "docs/a.md:3: c.md: there is no such file"),
        ("[x].\n\n[x]: ../b.md\n[X]: ../b.md", "[X] twice"),
        ("[b](https://).", "https://: empty host"),
    ] {
        let problems = check(text);
        assert!(
            matches!(&problems[..], [found] if found.contains(problem)),
            "{problem}: {problems:?}"
        );
    }
}
