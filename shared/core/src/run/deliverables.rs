//! The files that a run hands over with its answer.

use super::Run;
use crate::file::ProductFile;
use crate::id::FileName;

impl Run {
    /// The files that a summary lists, in its order, as in `growth.md、growth.csv`. Without a match, every
    /// file that a user would be offered, newest first.
    pub(super) fn files_listed_in(&self, names: &str) -> Vec<ProductFile> {
        let offered = self.produced.deliverable();
        let mut files: Vec<ProductFile> = Vec::new();
        for name in names.split(['、', ',', '，', '\n', '$']).filter(|name| !name.trim().is_empty())
        {
            let named = offered.iter().find(|file| name.contains(file.name.as_str()));
            files.extend(named.filter(|file| !files.contains(file)).cloned());
        }
        if files.is_empty() { offered } else { files }
    }

    /// The files the run wrote that a text names, newest first. Without any, every file that a user would
    /// be offered.
    pub(super) fn files_named_in(&self, text: &str) -> Vec<ProductFile> {
        let offered = self.produced.deliverable();
        let known: Vec<&FileName> = self.files.all().iter().map(|file| &file.name).collect();
        let named = names_in(text, known);
        let files: Vec<ProductFile> =
            offered.iter().filter(|file| named.contains(&&file.name)).cloned().collect();
        if files.is_empty() { offered } else { files }
    }
}

/// Which of these names a text holds. Where one is a part of another, as `a.md` of `data.md`, the longer
/// one counts.
fn names_in<'a>(text: &str, mut names: Vec<&'a FileName>) -> Vec<&'a FileName> {
    names.sort_by_key(|name| std::cmp::Reverse(name.as_str().len()));
    let mut taken: Vec<std::ops::Range<usize>> = Vec::new();
    let mut found = Vec::new();
    for name in names {
        let places = text.match_indices(name.as_str()).map(|(at, part)| at..at + part.len());
        let is_free = |place: &std::ops::Range<usize>| {
            let apart = |other: &std::ops::Range<usize>| {
                place.end <= other.start || other.end <= place.start
            };
            taken.iter().all(apart) && stands_alone(text, place)
        };
        let places: Vec<_> = places.filter(is_free).collect();
        if !places.is_empty() {
            found.push(name);
        }
        taken.extend(places);
    }
    found
}

/// Whether what stands around a name belongs to no longer one. Chinese is written without spaces.
fn stands_alone(text: &str, place: &std::ops::Range<usize>) -> bool {
    let goes_on = |next: Option<char>| {
        next.is_some_and(|next| next.is_ascii_alphanumeric() || next == '-' || next == '_')
    };
    let before = text.get(..place.start).and_then(|before| before.chars().next_back());
    let after = text.get(place.end..).and_then(|after| after.chars().next());
    !goes_on(before) && !goes_on(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_whole_in_any_language() {
        let names = ["a.md", "data.md", "增长.md", "growth report.csv"];
        let names: Vec<FileName> = names.map(|name| FileName::new(name).unwrap()).into();
        for (text, wanted) in [
            ("It is in a.md.", vec!["a.md"]),
            ("See `data.md`, please.", vec!["data.md"]),
            ("See data.md and [a](a.md).", vec!["data.md", "a.md"]),
            ("表格写入增长.md，请查看。", vec!["增长.md"]),
            ("growth report.csv", vec!["growth report.csv"]),
            ("beta.md, a.mdx and ra.md-old", vec![]),
            ("No file.", vec![]),
        ] {
            let mut found: Vec<_> =
                names_in(text, names.iter().collect()).iter().map(|name| name.as_str()).collect();
            found.sort_unstable();
            let mut wanted = wanted;
            wanted.sort_unstable();
            assert_eq!(found, wanted, "{text}");
        }
    }
}
