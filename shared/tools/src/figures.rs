//! Figures in a text, and the numbers in results that support them.

mod notation;
mod scale;

use std::iter;

use self::notation::{DecimalSign, NumberValue, WrittenNumber};
use self::scale::read_scale;
use crate::citation::markdown::{read_code_span, split_code};

/// Characters before the first word of a line: markers of lists, quotations, headings and cells, and of bold text.
const LINE_MARKERS: [char; 8] = [' ', '\t', '>', '-', '*', '+', '#', '|'];

/// Endings of ordinal numbers, which count places and are no figures.
const ORDINAL_ENDINGS: [&str; 4] = ["st", "nd", "rd", "th"];

const MINUS_SIGNS: [char; 3] = ['-', '−', '－'];
const CURRENCY_SIGNS: [char; 5] = ['$', '€', '£', '¥', '￥'];

/// A figure in a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WrittenFigure {
    /// The figure as written, with its sign, and its scale or percent sign.
    pub(crate) text: String,
    /// The numbers that the figure may stand for; those of one reading belong together.
    readings: Vec<Vec<NumberValue>>,
    scale: f64,
    is_percent: bool,
    is_negative: bool,
}

/// The numbers that support figures.
#[derive(Debug, Default)]
pub(crate) struct KnownNumbers(Vec<f64>);

/// A figure of a text whose notation may be open.
struct FoundFigure<'a> {
    text: &'a str,
    number: WrittenNumber<'a>,
    scale: f64,
    is_percent: bool,
    is_negative: bool,
}

/// Returns the figures of a text in order, each once. Code, targets of links, numbers of lists and headings, ordinal
/// numbers, and digits within words and names are not figures. A figure such as `1.234` is read in the notation of
/// the others, and in both notations if they leave it open.
pub(crate) fn list_figures(text: &str) -> Vec<WrittenFigure> {
    let text: String = text.chars().map(to_ascii_digit).collect();
    let prose = split_code(&text).into_iter().filter(|(is_code, _)| !is_code);
    let figures: Vec<FoundFigure<'_>> = prose.flat_map(|(_, part)| find_figures(part)).collect();
    let signs = figures
        .iter()
        .filter_map(|figure| figure.number.find_notation(figure.is_percent || figure.scale > 1.0));
    let mut signs: Vec<DecimalSign> = signs.collect();
    signs.dedup();
    let notation = if let [sign] = signs.as_slice() { Some(*sign) } else { None };
    let mut listed: Vec<WrittenFigure> = Vec::new();
    for FoundFigure { text, number, scale, is_percent, is_negative } in figures {
        if listed.iter().all(|figure| figure.text != text) {
            let readings = number.list_readings(notation);
            let text = text.to_owned();
            listed.push(WrittenFigure { text, readings, scale, is_percent, is_negative });
        }
    }
    listed
}

/// Returns the figures of a text without code.
fn find_figures(text: &str) -> Vec<FoundFigure<'_>> {
    let mut figures = Vec::new();
    let mut before = '\n';
    let mut rest = text;
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
        figures.extend(figure);
    }
    figures
}

impl WrittenFigure {
    /// Returns whether `supports(least, most)` finds a number for each value of a reading.
    fn is_supported(&self, supports: impl Fn(f64, f64) -> bool) -> bool {
        let has_number = |value: f64, tolerance: f64| {
            let tolerance = tolerance + value * 1e-9;
            supports(-value - tolerance, -value + tolerance)
                || (!self.is_negative && supports(value - tolerance, value + tolerance))
        };
        let has_value = |number: &NumberValue| {
            let value = number.value * self.scale;
            let tolerance = 0.5 * 10_f64.powi(-number.decimals) * self.scale;
            has_number(value, tolerance)
                || (self.is_percent && has_number(value / 100.0, tolerance / 100.0))
        };
        self.readings.iter().any(|numbers| numbers.iter().all(has_value))
    }
}

impl KnownNumbers {
    /// Adds each number of a query.
    pub(crate) fn add_sql(&mut self, sql: &str) {
        for part in sql.split(',') {
            self.add_text(part);
        }
    }

    /// Adds each number of a text, such as a date, in every notation.
    pub(crate) fn add_text(&mut self, text: &str) {
        if let Ok(number) = text.trim().parse::<f64>() {
            self.0.extend(Some(number).filter(|number| number.is_finite()));
            return;
        }
        let mut rest = text;
        while let Some(at) = rest.find(|character: char| character.is_ascii_digit()) {
            let (before, digits) = rest.split_at(at);
            let Some(number) = WrittenNumber::read(digits) else { return };
            // A sign, not a dash within a date.
            let is_negative = before.strip_suffix(MINUS_SIGNS).is_some_and(|prefix| {
                let is_start = prefix.is_empty() && rest.len() == text.len();
                is_start || prefix.ends_with(|last: char| !last.is_alphanumeric())
            });
            let factor = if is_negative { -1.0 } else { 1.0 };
            let values = number.list_readings(None).into_iter().flatten();
            self.0.extend(values.map(|number| factor * number.value));
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
        let supports = |least: f64, most: f64| {
            let first = self.0.partition_point(|number| *number < least);
            self.0.get(first).is_some_and(|number| *number <= most)
        };
        figures.into_iter().filter(|figure| !figure.is_supported(supports)).collect()
    }
}

/// Reads the next piece of a line: a figure, a word, code, the target of a link, or one character. Returns the rest.
fn read_piece(before: char, character: char, rest: &str) -> (Option<FoundFigure<'_>>, &str) {
    let after_char = rest.get(character.len_utf8()..).unwrap_or_default();
    let skip = |piece: &str| rest.get(piece.len()..).unwrap_or_default();
    match character {
        '`' => (None, read_code_span(rest).map_or(after_char, skip)),
        '(' if before == ']' => (None, rest.split_once(')').map_or(after_char, |(_, after)| after)),
        'a'..='z' | 'A'..='Z' | '_' => (None, skip_word(rest)),
        '0'..='9' if before == '第' => (None, skip_word(rest)),
        '0'..='9' => read_figure(rest, rest, false),
        // A sign, not a dash between two numbers or months.
        _ if MINUS_SIGNS.contains(&character) && !before.is_alphanumeric() && before != '%' => {
            read_figure(rest, after_char.trim_start_matches(CURRENCY_SIGNS), true)
        }
        _ => (None, after_char),
    }
}

/// Reads the figure at the start of `rest`, whose first digit is the first character of `digits`.
fn read_figure<'a>(
    rest: &'a str,
    digits: &'a str,
    is_negative: bool,
) -> (Option<FoundFigure<'a>>, &'a str) {
    let Some(number) = WrittenNumber::read(digits) else { return (None, digits) };
    if has_ordinal_ending(number.after) {
        return (None, skip_word(number.after));
    }
    let (scale, is_percent, after) = read_scale(number.after);
    let text = rest.get(..rest.len() - after.len()).unwrap_or_default();
    (Some(FoundFigure { text, number, scale, is_percent, is_negative }), after)
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
    let marker = line.get(..line.len() - words.len()).unwrap_or_default();
    if marker.ends_with('-') && words.starts_with(|next: char| next.is_ascii_digit()) {
        return line.get(marker.len() - 1..).unwrap_or_default();
    }
    let is_heading = line.trim_start().starts_with('#');
    let rest =
        words.trim_start_matches(|character: char| character.is_ascii_digit() || character == '.');
    let number = words.get(..words.len() - rest.len()).unwrap_or_default();
    let is_item = number.ends_with('.') || rest.starts_with([')', '、', '．']);
    let is_section = is_heading && rest.starts_with(' ');
    if number.is_empty() || !(is_item || is_section) { words } else { rest }
}

/// Returns the ASCII form of a full-width digit.
fn to_ascii_digit(character: char) -> char {
    let digit = u32::from(character).checked_sub(u32::from('０')).filter(|digit| *digit < 10);
    digit.and_then(|digit| char::from_digit(digit, 10)).unwrap_or(character)
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
            ("| East | 3,200 |\n|---|---|\n| 12 | -4.5 |", &["3,200", "12", "-4.5"]),
            ("`sum(1)` is 2 [q13], [q4].\n```sql\nSELECT 5\n```\n6", &["2", "6"]),
            ("See [the 7 rows](https://a.test/8), chart-9.png, Q3, CO2, x86 and the 3rd.", &["7"]),
            ("On 2024-03-05, 10,20 and 5, 5 again.", &["2024", "03", "05", "10,20", "5"]),
            ("$3M, €4bn, 1,234,567 and 99,9999", &["3M", "4bn", "1,234,567", "99,9999"]),
            (
                "1.234,56 €, 12,5 %, 1 234 567,8 und 1'234.",
                &["1.234,56", "12,5 %", "1 234 567,8", "1'234"],
            ),
            (
                "3.2 万, 1.5 亿元, ５.０万 and 2,1 Mio. in 2024 100 times",
                &["3.2 万", "1.5 亿", "5.0万", "2,1 Mio", "2024", "100"],
            ),
            (
                "-5, −6, (7), -$8, 9-10 and 11%-12%\n-13",
                &["-5", "−6", "7", "-$8", "9", "10", "11%", "12%", "-13"],
            ),
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
    fn a_figure_is_supported_in_any_notation_of_its_number() {
        let csv = "total,share,change,day,text\n1234.56,0.125,-5,2024-03-05,\"1.750,5 EUR\"\n\
                   32000,12.5,7,2024-03-06,-8 %\n150000000,1.234,1234567,2024-12-31,x\n";
        for (text, unsupported) in [
            ("1.234,56 und 1 234,56, 1\u{202f}234,56 oder 1'234,56", &[][..]),
            ("1,234.56, 1,234.6, 1 234.6 and 1,235", &[]),
            ("12,5 % und 12,5 oder 0,125", &[]),
            ("3.2 万, 1.5 亿, 1,5 亿, 0.15 billion und 150 Mio.", &[]),
            ("-5, (5), −5, 5, -8%, 8 %", &[]),
            ("1.234.567 und 1.234,567 Tsd", &[]),
            ("am 05.03.2024, 1.750,50 EUR", &[]),
            // One that leaves its notation open counts in both.
            ("1.234 and 1,234", &[]),
            ("1.750", &[]),
            // Others in the text decide.
            ("1.234,56 in all, on average 1.234", &["1.234"]),
            ("12.5% in all, on average 1,234", &["1,234"]),
            // Each is off.
            ("1.243,56, 1 234,65 und 13,5 %", &["1.243,56", "1 234,65", "13,5 %"]),
            ("3.3 万, 1.6 亿 and 32 万", &["3.3 万", "1.6 亿", "32 万"]),
            ("-7, +7, -$12.5, −0.125 and 8", &["-7", "-$12.5", "−0.125"]),
            ("2024,5 and 7,5", &["2024,5", "7,5"]),
            ("2024,2024 and 7,12.5", &[]),
            ("31.11.2024", &["31.11.2024"]),
            ("１２.５％ and ９９", &["99"]),
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
        numbers.add_sql("SELECT a FROM t WHERE d >= DATE '2024-01-01' AND a IN (3,444) LIMIT 10");
        let figures = list_figures("The top 10 of 2024, not of 2025; of 444, not of 3,444.");
        assert_eq!(texts(&numbers.find_unsupported(figures)), ["2025", "3,444"]);
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
