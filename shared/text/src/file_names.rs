//! Names of text files in the text of users and models.

/// Pairs of quotation marks; a quoted name may contain any other characters.
const QUOTES: [(char, char); 6] =
    [('`', '`'), ('"', '"'), ('“', '”'), ('「', '」'), ('《', '》'), ('\'', '\'')];

/// The extensions of text files that a model can write.
const TEXT_ENDINGS: [&str; 14] = [
    "md", "markdown", "txt", "html", "htm", "csv", "tsv", "json", "xml", "yaml", "yml", "svg",
    "tex", "rst",
];

/// Returns the names of text files in a text, in order: words like `report.md` in Latin letters, or any words
/// in quotation marks.
#[must_use]
pub fn find_text_files(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (part, next) = split_name(first, rest);
        if is_file_name(part) {
            names.push(part);
        }
        rest = next;
    }
    names
}

/// Returns the next possible name, and the rest of the text.
fn split_name(first: char, text: &str) -> (&str, &str) {
    let after = text.get(first.len_utf8()..).unwrap_or_default();
    let close = QUOTES.iter().find(|(open, _)| *open == first).map(|(_, close)| *close);
    if let Some((name, next)) = close.and_then(|close| after.split_once(close))
        && is_file_name(name)
    {
        return (name, next);
    }
    if !is_name_character(first) {
        return ("", after);
    }
    let end = text.find(|next| !is_name_character(next)).unwrap_or(text.len());
    let (name, next) = text.split_at(end);
    (name.trim_end_matches('.'), next)
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | '_')
}

fn is_file_name(part: &str) -> bool {
    let is_text = part.rsplit_once('.').is_some_and(|(stem, ending)| {
        stem.chars().any(char::is_alphanumeric)
            && TEXT_ENDINGS.iter().any(|extension| ending.eq_ignore_ascii_case(extension))
    });
    is_text && !part.contains(['/', '\\', '\n', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_in_latin_letters_or_between_quotation_marks() {
        for (text, names) in [
            (
                "Compare sales.csv and costs_2.csv in report.md.",
                vec!["sales.csv", "costs_2.csv", "report.md"],
            ),
            ("把 sales.csv 写入comparison.md，谢谢", vec!["sales.csv", "comparison.md"]),
            ("写入《各地区 对比.md》", vec!["各地区 对比.md"]),
            ("`my report.html` for the board", vec!["my report.html"]),
            ("It grew by 3.5 to 4.0, e.g. i.e. etc. …", vec![]),
            ("https://example.com/a.MD is no file of ours", vec!["a.MD"]),
            ("nothing. at all", vec![]),
            ("an open \" quote, a.txt", vec!["a.txt"]),
            ("", vec![]),
        ] {
            assert_eq!(find_text_files(text), names, "{text}");
        }
    }
}
