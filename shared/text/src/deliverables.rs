//! The files of an answer: their names in the texts of models.

/// The mark between a summary's text and its list of files.
const FILE_LIST_MARK: &str = "$$$";

/// Between two names of a list.
const SEPARATORS: [char; 5] = ['、', ',', '，', '\n', '$'];

/// Maximum bytes of a name in a list, and of extra text beside known names.
const MAX_LISTED: usize = 300;
const MAX_EXTRA_TEXT: usize = 24;

/// The names of a run's files, used to separate a summary's final list of files from its text.
#[derive(Debug, Clone, Default)]
pub struct Deliverables(Vec<String>);

impl Deliverables {
    /// Creates the deliverables from the files' names.
    #[must_use]
    pub fn of(names: Vec<String>) -> Self {
        Self(names)
    }

    /// Splits a summary into the text and the list of files. A mark without a list is part of the text: `Nobu
    /// ($$$) is best`.
    #[must_use]
    pub fn split_summary<'a>(&self, summary: &'a str) -> (&'a str, &'a str) {
        let parts = self.split_parts(summary);
        let list_parts = parts.iter().rev().take_while(|(_, part)| self.is_list_part(part));
        let listed_from = list_parts.last().map_or(summary.len(), |(at, _)| *at);
        let mark =
            summary.match_indices(FILE_LIST_MARK).find(|(at, mark)| at + mark.len() >= listed_from);
        match mark {
            Some((at, mark)) => {
                let (text, list) = summary.split_at(at);
                (text, list.strip_prefix(mark).unwrap_or_default())
            }
            None => (summary, ""),
        }
    }

    /// Splits a text at separators, with each part's position; separators within a file's name are ignored.
    fn split_parts<'a>(&self, text: &'a str) -> Vec<(usize, &'a str)> {
        let names = self.0.iter().filter(|name| name.contains(SEPARATORS));
        let places = names.flat_map(|name| text.match_indices(name.as_str()));
        let places: Vec<_> = places.map(|(at, name)| at..at + name.len()).collect();
        let is_between = |(at, _): &(usize, &str)| !places.iter().any(|place| place.contains(at));
        let mut parts = Vec::new();
        let mut start = 0;
        for (at, separator) in text.match_indices(SEPARATORS).filter(is_between) {
            parts.push((start, text.get(start..at).unwrap_or_default()));
            start = at + separator.len();
        }
        parts.push((start, text.get(start..).unwrap_or_default()));
        parts
    }

    /// Returns the start of a partial file name at the end of the text, for names with separators.
    fn begun_name(&self, text: &str) -> usize {
        let names = self.0.iter().filter(|name| name.contains(SEPARATORS));
        let partial_names = names.flat_map(|name| {
            let beginnings = name.char_indices().filter_map(|(at, _)| name.get(..at));
            beginnings.filter(|part| part.contains(SEPARATORS) && text.ends_with(part))
        });
        text.len() - partial_names.map(str::len).max().unwrap_or_default()
    }

    /// Returns the names of a list, each as written and without decoration.
    #[must_use]
    pub fn split_list<'a>(&self, list: &'a str) -> Vec<(&'a str, &'a str)> {
        let parts = self.split_parts(list).into_iter().map(|(_, part)| part);
        let parts = parts.filter(|part| !part.trim().is_empty());
        parts.map(|part| (part, strip_decoration(part))).collect()
    }

    /// Returns the length of the readable part of an incomplete summary: text after a mark that may be a list
    /// is held back.
    #[must_use]
    pub fn readable_len(&self, summary: &str) -> usize {
        let marks = summary.match_indices(FILE_LIST_MARK);
        let list_mark = marks.map(|(at, mark)| (at, at + mark.len())).find(|(_, end)| {
            let list_text = summary.get(*end..).unwrap_or_default();
            let (whole, partial_name) = list_text.split_at(self.begun_name(list_text));
            let mut parts = self.split_parts(whole).into_iter().rev();
            let (_, last) = parts.next().unwrap_or_default();
            last.len() + partial_name.len() <= MAX_LISTED
                && parts.all(|(_, part)| self.is_list_part(part))
        });
        // The last characters may be the beginning of a mark.
        list_mark.map_or_else(|| summary.trim_end_matches('$').len(), |(at, _)| at)
    }

    /// Returns true if a part is empty or names a file: a known name, possibly with a few letters, or a
    /// single word with an extension.
    fn is_list_part(&self, part: &str) -> bool {
        let name = strip_decoration(part);
        if part.trim().is_empty() || self.0.iter().any(|file| file == name) {
            return true;
        }
        if part.len() > MAX_LISTED || part.trim_start().starts_with([')', '）', ']', '】']) {
            return false;
        }
        let has_extension = name.rsplit_once('.').is_some_and(|(stem, extension)| {
            let is_word = extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
                && extension.bytes().any(|byte| byte.is_ascii_alphabetic());
            !stem.is_empty() && (1..=8).contains(&extension.len()) && is_word
        });
        let is_word = !name.contains(char::is_whitespace) && has_extension;
        let names = find_names(part, self.0.iter().map(String::as_str).collect());
        let name_bytes: usize = names.iter().map(|name| name.len()).sum();
        is_word || (!names.is_empty() && part.trim().len() <= name_bytes + MAX_EXTRA_TEXT)
    }
}

/// Returns a name without the decoration added by models.
fn strip_decoration(part: &str) -> &str {
    let around =
        ['`', '"', '\'', '*', '-', '•', '.', '。', ';', '；', '《', '》', '“', '”', '[', ']'];
    part.trim_matches(|c: char| c.is_whitespace() || around.contains(&c))
}

/// Returns the names within a text. If a name is a part of another, as `a.md` of `data.md`, the longer name
/// counts.
#[must_use]
pub fn find_names<'a>(text: &str, mut names: Vec<&'a str>) -> Vec<&'a str> {
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    let mut used_ranges: Vec<std::ops::Range<usize>> = Vec::new();
    let mut matches = Vec::new();
    for name in names {
        let places = text.match_indices(name).map(|(at, part)| at..at + part.len());
        let is_free = |place: &std::ops::Range<usize>| {
            let apart = |other: &std::ops::Range<usize>| {
                place.end <= other.start || other.end <= place.start
            };
            used_ranges.iter().all(apart) && is_whole_name(text, place)
        };
        let places: Vec<_> = places.filter(is_free).collect();
        if !places.is_empty() {
            matches.push(name);
        }
        used_ranges.extend(places);
    }
    matches
}

/// Returns true if the characters around a name are not part of a longer name. Chinese is written without
/// spaces.
fn is_whole_name(text: &str, place: &std::ops::Range<usize>) -> bool {
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

    fn deliverables(names: &[&str]) -> Deliverables {
        Deliverables::of(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn only_a_list_of_files_ends_a_summary() {
        let known = deliverables(&[
            "growth.md",
            "growth report.csv",
            "增长.md",
            "prices, wages and rents.md",
        ]);
        for (summary, text, list) in [
            ("North.$$$growth.md", "North.", "growth.md"),
            (
                "North.$$$ `growth.md`、growth report.csv",
                "North.",
                " `growth.md`、growth report.csv",
            ),
            ("North.\n$$$\n- growth.md\n- 增长.md\n", "North.\n", "\n- growth.md\n- 增长.md\n"),
            ("North.$$$Files: growth.md", "North.", "Files: growth.md"),
            ("North.$$$", "North.", ""),
            ("North.$$$growth.md$$$", "North.", "growth.md$$$"),
            ("North.$$$unknown.md", "North.", "unknown.md"),
            ("Nobu ($$$) is best", "Nobu ($$$) is best", ""),
            ("Nobu ($$$) is best: see growth.md", "Nobu ($$$) is best: see growth.md", ""),
            (
                "Nobu ($$$) is best, Ono ($$) is good.$$$growth.md",
                "Nobu ($$$) is best, Ono ($$) is good.",
                "growth.md",
            ),
            ("From $$$ to $$$$.$$$growth.md", "From $$$ to $$$$.", "growth.md"),
            ("No mark: growth.md", "No mark: growth.md", ""),
            (
                "North.$$$growth.md, prices, wages and rents.md",
                "North.",
                "growth.md, prices, wages and rents.md",
            ),
        ] {
            assert_eq!(known.split_summary(summary), (text, list), "{summary}");
            // What is shown before the end is the beginning of that, and all but the end is in time.
            for (at, _) in summary.char_indices() {
                let readable = known.readable_len(&summary[..at]);
                assert!(readable <= text.len(), "{summary} to {at}");
            }
        }
        let text = "Nobu ($$$) is best, ";
        assert_eq!(known.readable_len(text), text.len());
        assert_eq!(known.readable_len("Nobu ($$$) is best"), "Nobu (".len());
        let long = format!("Nobu ($$${}", "x".repeat(MAX_LISTED + 1));
        assert_eq!(known.readable_len(&long), long.len());
    }

    #[test]
    fn a_name_with_a_comma_is_one_name_of_a_list() {
        let known = deliverables(&["prices, wages.md", "growth.md"]);
        let names =
            |list| known.split_list(list).into_iter().map(|(_, name)| name).collect::<Vec<_>>();
        assert_eq!(
            names("`prices, wages.md`、growth.md,other.md"),
            ["prices, wages.md", "growth.md", "other.md"]
        );
    }

    #[test]
    fn names_are_found_whole_in_any_language() {
        let names = ["a.md", "data.md", "增长.md", "growth report.csv"];
        for (text, wanted) in [
            ("It is in a.md.", vec!["a.md"]),
            ("See `data.md`, please.", vec!["data.md"]),
            ("See data.md and [a](a.md).", vec!["data.md", "a.md"]),
            ("表格写入增长.md，请查看。", vec!["增长.md"]),
            ("growth report.csv", vec!["growth report.csv"]),
            ("beta.md, a.mdx and ra.md-old", vec![]),
            ("No file.", vec![]),
        ] {
            let mut found = find_names(text, names.to_vec());
            found.sort_unstable();
            let mut wanted = wanted;
            wanted.sort_unstable();
            assert_eq!(found, wanted, "{text}");
        }
    }
}
