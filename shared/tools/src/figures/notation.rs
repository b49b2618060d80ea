//! Numbers as languages write them: `1,234.56`, `1.234,56`, `1 234,56`, `1'234.56`.

/// Spaces and apostrophes between groups of three digits, in any notation.
const GROUP_SIGNS: [char; 6] = [' ', '\u{a0}', '\u{2009}', '\u{202f}', '\'', '’'];

/// The character before the decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DecimalSign {
    Comma,
    Point,
}

/// The digits at the start of a text, with the characters that may join them to one number.
#[derive(Debug)]
pub(super) struct WrittenNumber<'a> {
    parts: Vec<&'a str>,
    separators: Vec<char>,
    text: &'a str,
    /// The text behind the digits.
    pub(super) after: &'a str,
}

/// A number without its sign.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NumberValue {
    pub(super) value: f64,
    pub(super) decimals: i32,
}

impl<'a> WrittenNumber<'a> {
    /// Reads the digits at the start of `text`, if it begins with a digit.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let (first, mut after) = split_digits(text);
        if first.is_empty() {
            return None;
        }
        let mut parts = vec![first];
        let mut separators = Vec::new();
        while let Some(separator) = after.chars().next() {
            let (part, rest) = split_digits(after.get(separator.len_utf8()..).unwrap_or_default());
            let joins = match separator {
                '.' | ',' => !part.is_empty(),
                _ if GROUP_SIGNS.contains(&separator) => {
                    part.len() == 3
                        && is_grouped(&parts)
                        && separators.iter().all(|sign| *sign == separator)
                }
                _ => false,
            };
            if !joins {
                break;
            }
            parts.push(part);
            separators.push(separator);
            after = rest;
        }
        let text = text.get(..text.len() - after.len())?;
        Some(Self { parts, separators, text, after })
    }

    /// Returns the only notation in which the digits are one number. `12,5` may be two numbers of a list, unless
    /// `has_unit` says that a unit follows.
    pub(super) fn find_notation(&self, has_unit: bool) -> Option<DecimalSign> {
        match (self.value(DecimalSign::Point), self.value(DecimalSign::Comma)) {
            (Some(_), None) => Some(DecimalSign::Point),
            (None, Some(_)) if has_unit || self.separators.len() > 1 => Some(DecimalSign::Comma),
            _ => None,
        }
    }

    /// Returns the possible numbers in `notation`, or in any notation. The numbers of one reading belong together.
    pub(super) fn list_readings(&self, notation: Option<DecimalSign>) -> Vec<Vec<NumberValue>> {
        let signs = match notation {
            Some(sign) => vec![sign],
            None => vec![DecimalSign::Point, DecimalSign::Comma],
        };
        let mut readings: Vec<Vec<NumberValue>> = Vec::new();
        for value in signs.into_iter().filter_map(|sign| self.value(sign)) {
            if !readings.contains(&vec![value]) {
                readings.push(vec![value]);
            }
        }
        // No decimals, but years: `2023,2024`.
        let is_list = self.separators == [','] && self.parts.iter().all(|part| part.len() > 3);
        if readings.is_empty() || is_list {
            readings.push(self.list_values());
        }
        readings
    }

    /// Returns the number in a notation, unless its digits are grouped in another way.
    fn value(&self, sign: DecimalSign) -> Option<NumberValue> {
        let (decimal, group) = match sign {
            DecimalSign::Comma => (',', '.'),
            DecimalSign::Point => ('.', ','),
        };
        let is_decimal = self.separators.last() == Some(&decimal);
        let (fraction, whole) =
            if is_decimal { self.parts.split_last()? } else { (&"", self.parts.as_slice()) };
        let groups = self.separators.get(..whole.len() - 1)?;
        let is_one_sign = groups.windows(2).all(|pair| pair.first() == pair.last());
        let is_group = |sign: &char| *sign == group || GROUP_SIGNS.contains(sign);
        if (whole.len() > 1 && !is_grouped(whole)) || !is_one_sign || !groups.iter().all(is_group) {
            return None;
        }
        parse_number(&whole.concat(), fraction)
    }

    /// Returns the numbers of a list or a date: `1,2.5` or `31.12.2024`.
    fn list_values(&self) -> Vec<NumberValue> {
        let items = self.text.split(',').flat_map(|item| {
            let digits: Vec<&str> =
                item.split(|character: char| !character.is_ascii_digit()).collect();
            match digits.as_slice() {
                [whole, fraction] if item.contains('.') => vec![parse_number(whole, fraction)],
                parts => parts.iter().map(|part| parse_number(part, "")).collect(),
            }
        });
        items.flatten().collect()
    }
}

/// Returns whether digits are groups of three, of which the first may be shorter.
fn is_grouped(parts: &[&str]) -> bool {
    let Some((first, others)) = parts.split_first() else { return false };
    first.len() <= 3 && !first.starts_with('0') && others.iter().all(|part| part.len() == 3)
}

fn parse_number(whole: &str, fraction: &str) -> Option<NumberValue> {
    let value: f64 = format!("{whole}.{fraction}").parse().ok()?;
    let decimals = i32::try_from(fraction.len()).ok()?;
    value.is_finite().then_some(NumberValue { value, decimals })
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}
