//! Numbers of bank cards within texts.

use super::digits::{DigitGroups, can_end_at};

/// Minimum digits of a card number.
const MIN_DIGITS: usize = 13;

/// Minimum digits of a group in a number with separators.
const MIN_GROUP: usize = 3;

/// The prefixes of each network's numbers (the first four digits), with the numbers of digits. Other numbers
/// are ignored: the check digit of times and order numbers is often valid by chance.
const NETWORKS: [(u32, u32, usize, usize); 10] = [
    // Mir, Mastercard.
    (2200, 2204, 16, 19),
    (2221, 2720, 16, 16),
    // Diners Club, American Express, JCB.
    (3000, 3099, 14, 19),
    (3400, 3499, 15, 15),
    (3528, 3589, 16, 19),
    (3600, 3999, 14, 19),
    // Visa; Mastercard and Maestro; UnionPay, Discover and Maestro; UnionPay and RuPay.
    (4000, 4999, 13, 19),
    (5000, 6999, 13, 19),
    (8100, 8299, 16, 19),
    // Older cards of Chinese banks.
    (9558, 9558, 16, 19),
];

/// Returns the end of the longest card number at this position.
pub(super) fn card_end(text: &str, at: usize, to: usize) -> Option<usize> {
    let groups = DigitGroups::parse_at(text, at, to);
    let is_whole = groups.groups.len() == 1;
    let mut length = 0;
    let mut longest = None;
    for (digits, end) in &groups.groups {
        length += digits;
        let number = groups.digits.get(..length)?;
        if !is_whole && *digits < MIN_GROUP && length < MIN_DIGITS + MIN_GROUP {
            break;
        }
        let beginning = number.iter().take(4).fold(0, |sum, digit| sum * 10 + u32::from(*digit));
        let is_given_out = NETWORKS.iter().any(|(first, last, fewest, most)| {
            (first..=last).contains(&&beginning) && (fewest..=most).contains(&&length)
        });
        let is_card = length >= MIN_DIGITS && is_given_out && is_luhn_valid(number);
        if is_card && can_end_at(text, *end) {
            longest = Some(*end);
        }
    }
    longest
}

/// Returns true if the last digit is the check digit of the others (Luhn; ISO/IEC 7812-1, annex B).
fn is_luhn_valid(number: &[u8]) -> bool {
    let sum: u32 = number
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| match (place % 2, u32::from(*digit)) {
            (0, digit) => digit,
            (_, digit) if digit > 4 => digit * 2 - 9,
            (_, digit) => digit * 2,
        })
        .sum();
    sum.is_multiple_of(10)
}
