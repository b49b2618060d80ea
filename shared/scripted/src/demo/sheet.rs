//! A CSV file with the columns region, year and sales.

use std::collections::BTreeSet;

const COLUMNS: [&str; 3] = ["region", "year", "sales"];

/// The readable rows, and the unreadable lines.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Sheet {
    pub(super) rows: Vec<Row>,
    /// The numbers of lines, from 1, without a region, a year and a number.
    pub(super) unreadable: Vec<usize>,
    /// The numbers of lines that repeat the region and year of an earlier line.
    pub(super) repeated: Vec<usize>,
}

#[derive(Debug, PartialEq)]
pub(super) struct Row {
    pub(super) region: String,
    pub(super) year: i64,
    pub(super) sales: f64,
    /// The sales as written in the file, with thousands separators.
    pub(super) sales_text: String,
}

/// The reason why a file is unusable.
#[derive(Debug, PartialEq)]
pub(super) enum SheetError {
    /// These columns are missing.
    Columns(Vec<&'static str>),
    /// No row can be read.
    Rows,
}

impl Sheet {
    pub(super) fn parse(text: &str) -> Result<Self, SheetError> {
        let text = text.trim_start_matches('\u{feff}');
        let first_line = text.lines().next().unwrap_or_default();
        let count = |separator: &char| first_line.matches(*separator).count();
        let separator = [';', '\t', ','].into_iter().max_by_key(count).unwrap_or(',');
        let mut records = split_records(text, separator).into_iter();
        let header = records.next().map(|(_, cells)| cells).unwrap_or_default();
        let place = |column: &str| header.iter().position(|cell| cell.to_lowercase() == column);
        let [Some(region), Some(year), Some(sales)] = COLUMNS.map(place) else {
            let missing = COLUMNS.into_iter().filter(|column| place(column).is_none());
            return Err(SheetError::Columns(missing.collect()));
        };
        let mut sheet = Self::default();
        let mut row_keys = BTreeSet::new();
        for (line, cells) in records {
            let cell = |index: usize| cells.get(index).map_or("", String::as_str);
            // For example with unquoted thousands separators.
            let too_many = cells.iter().skip(header.len()).any(|cell| !cell.is_empty());
            match Row::parse(cell(region), cell(year), cell(sales)).filter(|_| !too_many) {
                None => sheet.unreadable.push(line),
                Some(row) if !row_keys.insert((row.region.clone(), row.year)) => {
                    sheet.repeated.push(line);
                }
                Some(row) => sheet.rows.push(row),
            }
        }
        if sheet.rows.is_empty() {
            return Err(SheetError::Rows);
        }
        Ok(sheet)
    }
}

impl Row {
    fn parse(region: &str, year: &str, sales: &str) -> Option<Self> {
        Some(Self {
            region: (!region.is_empty()).then(|| region.to_owned())?,
            year: year.parse().ok()?,
            sales: parse_number(sales)?,
            sales_text: separate_thousands(sales),
        })
    }
}

/// Adds commas to a number without separators.
fn separate_thousands(number: &str) -> String {
    let digits = number.trim_start_matches('-');
    let length = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let is_plain =
        digits.get(length..).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    if !is_plain {
        return number.to_owned();
    }
    let sign = number.len() - digits.len();
    let comma =
        |at: usize| at > sign && at < sign + length && (sign + length - at).is_multiple_of(3);
    number
        .char_indices()
        .flat_map(|(at, c)| comma(at).then_some(',').into_iter().chain([c]))
        .collect()
}

/// Parses a number, with or without thousands separators. Another comma may be a decimal one, and is an
/// error.
fn parse_number(text: &str) -> Option<f64> {
    let separators = [',', ' ', '_'];
    let mut groups = text.split('.').next()?.split(separators).skip(1);
    let is_grouped = groups.all(|group| group.len() == 3);
    let number: f64 = text.replace(separators, "").parse().ok()?;
    (is_grouped && number.is_finite()).then_some(number)
}

/// Returns all records that are not empty, with the number of their first line. Cells are trimmed. Quotes
/// follow RFC 4180.
fn split_records(text: &str, separator: char) -> Vec<(usize, Vec<String>)> {
    let mut records = Vec::new();
    let mut cells = vec![String::new()];
    let mut line = 1;
    let mut start = 1;
    let mut is_quoted = false;
    let mut characters = text.chars().chain(['\n']).peekable();
    while let Some(character) = characters.next() {
        line += usize::from(character == '\n');
        let Some(cell) = cells.last_mut() else { break };
        match character {
            '"' if is_quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cell.push('"');
            }
            '"' if is_quoted || cell.trim().is_empty() => is_quoted = !is_quoted,
            '\n' if !is_quoted => {
                let record: Vec<String> = cells.iter().map(|cell| cell.trim().to_owned()).collect();
                if record.iter().any(|cell| !cell.is_empty()) {
                    records.push((start, record));
                }
                cells = vec![String::new()];
                start = line;
            }
            character if character == separator && !is_quoted => cells.push(String::new()),
            character => cell.push(character),
        }
    }
    if is_quoted {
        // An unclosed quote contains the rest: an unreadable line.
        records.push((start, vec!["\"".to_owned()]));
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(region: &str, year: i64, sales: f64, written: &str) -> Row {
        Row { region: region.to_owned(), year, sales, sales_text: written.to_owned() }
    }

    #[test]
    fn columns_are_found_in_any_order_and_case() {
        let text = "\u{feff}Note;SALES;Region;Year\r\n;1 200;North;2021\r\n\r\nok;0.5;South;2022";
        let sheet = Sheet::parse(text).unwrap();
        let rows = [row("North", 2021, 1200.0, "1 200"), row("South", 2022, 0.5, "0.5")];
        assert_eq!(sheet.rows, rows);
    }

    #[test]
    fn only_thousands_are_separated() {
        assert_eq!(parse_number("-1,284,000.25"), Some(-1_284_000.25));
        assert_eq!(parse_number("0,5"), None);
        assert_eq!(parse_number("1,2345"), None);
        assert_eq!(parse_number("EUR 5"), None);
        assert_eq!(parse_number("NaN"), None);
    }

    #[test]
    fn thousands_are_separated_for_readers() {
        for (written, shown) in [
            ("1284000", "1,284,000"),
            ("-12345.6789", "-12,345.6789"),
            ("999", "999"),
            ("1 200", "1 200"),
            ("1e6", "1e6"),
        ] {
            assert_eq!(separate_thousands(written), shown);
        }
    }

    #[test]
    fn quoted_cells_hold_separators_quotes_and_line_breaks() {
        let text = "region,year,sales\n\"North, \"\"old\"\"\",2021,\"1,200\"\n\"a\nb\",2021,2\n,,x";
        let sheet = Sheet::parse(text).unwrap();
        assert_eq!(sheet.rows[0], row("North, \"old\"", 2021, 1200.0, "1,200"));
        assert_eq!(sheet.rows[1].region, "a\nb");
        assert_eq!(sheet.unreadable, [5]);
    }

    #[test]
    fn bad_lines_are_listed_and_not_guessed() {
        let text =
            "region,year,sales\nNorth,2021,1\nNorth,2021,2\nNorth,now,3\nNorth,2022\nx,1,inf";
        let sheet = Sheet::parse(text).unwrap();
        assert_eq!(sheet.rows.len(), 1);
        assert_eq!((sheet.repeated, sheet.unreadable), (vec![3], vec![4, 5, 6]));
    }

    #[test]
    fn what_breaks_a_line_is_not_read_as_less() {
        let text = "region,year,sales\nNorth,2021,1,284\nSouth,2021,2,\nWest,2021,\"3\nEast,2021,4";
        let sheet = Sheet::parse(text).unwrap();
        assert_eq!(sheet.rows, [row("South", 2021, 2.0, "2")]);
        assert_eq!(sheet.unreadable, [2, 4]);
    }

    #[test]
    fn a_file_without_the_columns_or_rows_is_unusable() {
        assert_eq!(
            Sheet::parse("region,month,sum\nNorth,5,1"),
            Err(SheetError::Columns(vec!["year", "sales"]))
        );
        assert_eq!(Sheet::parse(""), Err(SheetError::Columns(COLUMNS.to_vec())));
        assert_eq!(Sheet::parse("region,year,sales\n"), Err(SheetError::Rows));
    }
}
