//! Figures in a text, and the numbers in results that support them.

use std::iter;

use crate::citation::markdown::{read_code_span, split_code};

/// Characters before the first word of a line: markers of lists, quotations, headings and cells, and of bold text.
const LINE_MARKERS: [char; 8] = [' ', '\t', '>', '-', '*', '+', '#', '|'];

/// Words behind a number that multiply it, the longer of two with the same beginning first.
const SCALES: [(&str, f64); 13] = [
    ("thousand", 1e3),
    ("million", 1e6),
    ("billion", 1e9),
    ("trillion", 1e12),
    ("万亿", 1e12),
    ("千万", 1e7),
    ("百万", 1e6),
    ("十亿", 1e9),
    ("千", 1e3),
    ("万", 1e4),
    ("亿", 1e8),
    ("bn", 1e9),
    ("mn", 1e6),
];

/// Letters that multiply a number directly before them.
const SCALE_LETTERS: [(char, f64); 4] = [('k', 1e3), ('K', 1e3), ('M', 1e6), ('B', 1e9)];

/// Endings of ordinal numbers, which count places and are no figures.
const ORDINAL_ENDINGS: [&str; 4] = ["st", "nd", "rd", "th"];

/// A figure in a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WrittenFigure {
    /// The figure as written, with its scale or percent sign.
    pub(crate) text: String,
    value: f64,
    /// Half a unit of the last written digit.
    tolerance: f64,
    is_percent: bool,
}

/// The numbers that support figures.
#[derive(Debug, Default)]
pub(crate) struct KnownNumbers(Vec<f64>);

/// A number at the start of a text.
struct ParsedNumber<'a> {
    value: f64,
    decimals: i32,
    after: &'a str,
}

/// Returns the figures of a text in order, each once. Code, targets of links, numbers of lists and headings, ordinal
/// numbers, and digits within words and names are not figures.
pub(crate) fn list_figures(text: &str) -> Vec<WrittenFigure> {
    let mut figures: Vec<WrittenFigure> = Vec::new();
    let prose = split_code(text).into_iter().filter(|(is_code, _)| !is_code);
    for (_, part) in prose {
        let mut before = '\n';
        let mut rest = part;
        while let Some(character) = rest.chars().next() {
            if before == '\n' {
                let skipped = skip_line_number(rest);
                before = rest.get(..rest.len() - skipped.len()).and_then(last_char).unwrap_or(' ');
                rest = skipped;
                continue;
            }
            let (figure, after) = read_piece(before, character, rest);
            before = rest.get(..rest.len() - after.len()).and_then(last_char).unwrap_or(character);
            rest = after;
            figures.extend(figure.filter(|new| figures.iter().all(|old| old.text != new.text)));
        }
    }
    figures
}

impl KnownNumbers {
    /// Adds each number of a text, such as a query or a date.
    pub(crate) fn add_text(&mut self, text: &str) {
        if let Ok(number) = text.trim().parse::<f64>() {
            self.0.extend(Some(number.abs()).filter(|number| number.is_finite()));
            return;
        }
        let mut rest = text;
        while let Some(at) = rest.find(|character: char| character.is_ascii_digit()) {
            let digits = rest.get(at..).unwrap_or_default();
            let Some(number) = read_number(digits) else { return };
            self.0.push(number.value);
            rest = number.after;
        }
    }

    /// Adds each cell of a CSV text, and the number of its rows below the header.
    pub(crate) fn add_csv(&mut self, csv: &str) {
        let mut is_quoted = false;
        let mut cell = String::new();
        let mut rows: i32 = -1;
        for character in csv.chars().chain(iter::once('\n')) {
            match character {
                '"' => is_quoted = !is_quoted,
                ',' | '\n' if !is_quoted => {
                    self.add_text(&cell);
                    cell.clear();
                    rows = rows.saturating_add(i32::from(character == '\n'));
                }
                _ => cell.push(character),
            }
        }
        // A final line break ends no further row.
        self.0.push(f64::from(rows - i32::from(csv.ends_with('\n'))).max(0.0));
    }

    /// Returns the figures that no number supports. A figure may be rounded, have no sign, or give a share as a
    /// percentage.
    pub(crate) fn find_unsupported(mut self, figures: Vec<WrittenFigure>) -> Vec<WrittenFigure> {
        self.0.sort_by(f64::total_cmp);
        let supports = |value: f64, tolerance: f64| {
            let tolerance = tolerance + value.abs() * 1e-9;
            let first = self.0.partition_point(|number| *number < value - tolerance);
            self.0.get(first).is_some_and(|number| *number <= value + tolerance)
        };
        let is_unsupported = |figure: &WrittenFigure| {
            let WrittenFigure { value, tolerance, is_percent, .. } = figure;
            let is_share = *is_percent && supports(value / 100.0, tolerance / 100.0);
            !is_share && !supports(*value, *tolerance)
        };
        figures.into_iter().filter(is_unsupported).collect()
    }
}

/// Reads the next piece of a line: a figure, a word, code, the target of a link, or one character. Returns the rest.
fn read_piece(before: char, character: char, rest: &str) -> (Option<WrittenFigure>, &str) {
    let after_char = rest.get(character.len_utf8()..).unwrap_or_default();
    let skip = |piece: &str| rest.get(piece.len()..).unwrap_or_default();
    match character {
        '`' => (None, read_code_span(rest).map_or(after_char, skip)),
        '(' if before == ']' => (None, rest.split_once(')').map_or(after_char, |(_, after)| after)),
        'a'..='z' | 'A'..='Z' | '_' => (None, skip_word(rest)),
        '0'..='9' => {
            let Some(number) = read_number(rest) else { return (None, after_char) };
            if before == '第' || has_ordinal_ending(number.after) {
                return (None, skip_word(number.after));
            }
            let (scale, is_percent, after) = read_scale(number.after);
            let text = rest.get(..rest.len() - after.len()).unwrap_or_default().to_owned();
            let figure = WrittenFigure {
                text,
                value: number.value * scale,
                tolerance: 0.5 * 10_f64.powi(-number.decimals) * scale,
                is_percent,
            };
            (Some(figure), after)
        }
        _ => (None, after_char),
    }
}

/// Reads the number at the start of a text, with commas between groups of three digits.
fn read_number(text: &str) -> Option<ParsedNumber<'_>> {
    let mut rest = skip_digits(text);
    let mut digits = text.get(..text.len() - rest.len())?.to_owned();
    while let Some(group) = rest.strip_prefix(',') {
        let after = skip_digits(group);
        let is_group = group.len() - after.len() == 3 && digits.len() <= 15;
        if !is_group || digits.starts_with('0') {
            break;
        }
        digits.push_str(group.get(..3)?);
        rest = after;
    }
    let fraction = rest.strip_prefix('.').unwrap_or_default();
    let after_fraction = skip_digits(fraction);
    let decimals = fraction.len() - after_fraction.len();
    if decimals > 0 {
        digits.push('.');
        digits.push_str(fraction.get(..decimals)?);
        rest = after_fraction;
    }
    let value = digits.parse().ok()?;
    Some(ParsedNumber { value, decimals: i32::try_from(decimals).ok()?, after: rest })
}

/// Reads what follows a number: a factor, and whether the number is a percentage. Returns the rest.
fn read_scale(text: &str) -> (f64, bool, &str) {
    let spaced = text.strip_prefix([' ', '\u{a0}', '\u{202f}']).unwrap_or(text);
    if let Some(after) = spaced.strip_prefix(['%', '％']) {
        return (1.0, true, after);
    }
    let is_end = |after: &str| !after.starts_with(|next: char| next.is_ascii_alphanumeric());
    for (letter, scale) in SCALE_LETTERS {
        if let Some(after) = text.strip_prefix(letter).filter(|after| is_end(after)) {
            return (scale, false, after);
        }
    }
    for (word, scale) in SCALES {
        let is_word = |after: &&str| !word.is_ascii() || is_end(after);
        if let Some(after) = spaced.strip_prefix(word).filter(is_word) {
            return (scale, false, after);
        }
    }
    (1.0, false, text)
}

/// Returns a text without the word or name at its start, such as `Q3`, `CO2` or `query-1.csv`.
fn skip_word(text: &str) -> &str {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let mut rest = text.trim_start_matches(is_part);
    while let Some(part) =
        rest.strip_prefix(['-', '.', '/']).filter(|part| part.starts_with(is_part))
    {
        rest = part.trim_start_matches(is_part);
    }
    rest
}

/// Returns a line without its markers, and without the number of a list item or heading.
fn skip_line_number(line: &str) -> &str {
    let words = line.trim_start_matches(LINE_MARKERS);
    let is_heading = line.trim_start().starts_with('#');
    let rest =
        words.trim_start_matches(|character: char| character.is_ascii_digit() || character == '.');
    let number = words.get(..words.len() - rest.len()).unwrap_or_default();
    let is_item = number.ends_with('.') || rest.starts_with([')', '、', '．']);
    let is_section = is_heading && rest.starts_with(' ');
    if number.is_empty() || !(is_item || is_section) { words } else { rest }
}

fn skip_digits(text: &str) -> &str {
    text.trim_start_matches(|character: char| character.is_ascii_digit())
}

fn has_ordinal_ending(text: &str) -> bool {
    let is_end = |after: &str| !after.starts_with(|next: char| next.is_ascii_alphanumeric());
    ORDINAL_ENDINGS.iter().any(|ending| text.strip_prefix(ending).is_some_and(is_end))
}

fn last_char(text: &str) -> Option<char> {
    text.chars().next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(figures: &[WrittenFigure]) -> Vec<&str> {
        figures.iter().map(|figure| figure.text.as_str()).collect()
    }

    #[test]
    fn figures_are_numbers_of_the_prose() {
        for (text, figures) in [
            ("Sales were 1,234.50 in 2024, 12% more.", &["1,234.50", "2024", "12%"][..]),
            ("East sold 3.2 million, West 45k and North 7 kg.", &["3.2 million", "45k", "7"]),
            ("销售额为 320.5万元，占 12.5％，第3季度最高。", &["320.5万", "12.5％"]),
            ("1. East: 5\n2) West: 6\n3、北：7\n- 8 items", &["5", "6", "7", "8"]),
            ("## 2.1 Sales of 9\n# 3 Costs\n**4. Ends:** 10", &["9", "10"]),
            ("| East | 3,200 |\n|---|---|\n| 12 | -4.5 |", &["3,200", "12", "4.5"]),
            ("`sum(1)` is 2 [q13], [q4].\n```sql\nSELECT 5\n```\n6", &["2", "6"]),
            ("See [the 7 rows](https://a.test/8), chart-9.png, Q3, CO2, x86 and the 3rd.", &["7"]),
            ("On 2024-03-05, 10,20 and 5, 5 again.", &["2024", "03", "05", "10", "20", "5"]),
            ("$3M, €4bn, 1,234,567 and 99,9999", &["3M", "4bn", "1,234,567", "99", "9999"]),
            ("No figures.", &[]),
            ("", &[]),
        ] {
            assert_eq!(texts(&list_figures(text)), figures, "{text}");
        }
    }

    #[test]
    fn a_figure_is_supported_by_a_number_that_it_rounds() {
        let csv = "region,\"total, EUR\",share,day\nEast,3200.75,0.4531,2024-03-05\n\
                   \"West \"\"2\"\"\",-1234567,0.5469,2024-04-01\n";
        for (text, unsupported) in [
            ("3200.75, 3,200.8, 3,201 and 3.2k", &[][..]),
            ("3,200 and 3.3k", &["3,200", "3.3k"]),
            ("1.2 million, 1,234,567, 123.5万 and 123万", &[]),
            ("1.3 million and 124万", &["1.3 million", "124万"]),
            ("45%, 45.3 %, 45.31% and 0.45", &[]),
            ("46% and 45.4%", &["46%", "45.4%"]),
            ("In March 2024, 2024年4月1日, of 2 rows", &[]),
            ("2023, 7 rows", &["2023", "7"]),
        ] {
            let mut numbers = KnownNumbers::default();
            numbers.add_csv(csv);
            let found = numbers.find_unsupported(list_figures(text));
            assert_eq!(texts(&found), unsupported, "{text}");
        }
    }

    #[test]
    fn numbers_of_a_query_support_figures() {
        let mut numbers = KnownNumbers::default();
        numbers.add_text("SELECT a FROM t WHERE d >= DATE '2024-01-01' ORDER BY 1 LIMIT 10");
        let found = numbers.find_unsupported(list_figures("The top 10 of 2024, not of 2025"));
        assert_eq!(texts(&found), ["2025"]);
    }

    #[test]
    fn rows_are_counted_without_the_header() {
        for (csv, rows) in [("", 0.0), ("a\n", 0.0), ("a\n1\n2\n", 2.0), ("a\n\"x\ny\"", 1.0)] {
            let mut numbers = KnownNumbers::default();
            numbers.add_csv(csv);
            assert_eq!(numbers.0.last(), Some(&rows), "{csv:?}");
        }
    }
}
