//! How long a provider asks to wait.

use std::time::Duration;

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// Months as HTTP dates name them.
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// `retry-after-ms`, or `Retry-After` as seconds or as a date. A date is measured against the
/// answer's own `Date`, so no clock of ours comes in.
pub(super) fn parse_headers(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(parse_number) {
        return Some(Duration::from_secs_f64(ms / 1000.0));
    }
    let after = text(RETRY_AFTER.as_str())?;
    if let Some(seconds) = parse_number(after) {
        return Some(Duration::from_secs_f64(seconds));
    }
    let wait = parse_http_date(after)?.checked_sub(parse_http_date(text(DATE.as_str())?)?)?;
    u64::try_from(wait).ok().map(Duration::from_secs)
}

/// A number of at most a day; providers have sent worse.
fn parse_number(text: &str) -> Option<f64> {
    let number: f64 = text.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number.min(24.0 * 60.0 * 60.0 * 1000.0))
}

/// Seconds since 1970 of `Wed, 21 Oct 2015 07:28:00 GMT` (RFC 9110, section 5.6.7; the two
/// obsolete forms are not read).
fn parse_http_date(text: &str) -> Option<i64> {
    let (_, date) = text.split_once(", ")?;
    let mut parts = date.split(' ');
    let day: i64 = parts.next()?.parse().ok()?;
    let month = parts.next()?;
    let month = (1..).zip(MONTHS).find(|(_, name)| *name == month)?.0;
    let year: i64 = parts.next()?.parse().ok()?;
    let mut time = parts.next()?.split(':');
    let mut seconds = 0;
    for _ in 0..3 {
        seconds = seconds * 60 + time.next()?.parse::<i64>().ok().filter(|n| *n < 61)?;
    }
    let is_valid = (1..=31).contains(&day) && (1970..10_000).contains(&year);
    is_valid.then(|| days_from_civil(year, month, day) * 24 * 60 * 60 + seconds)
}

/// Days since 1970-01-01 of a day in the Gregorian calendar, after Howard Hinnant's
/// `days_from_civil`.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderName, HeaderValue};

    fn asked_by(headers: &[(&'static str, &'static str)]) -> Option<Duration> {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        parse_headers(&headers)
    }

    #[test]
    fn seconds_milliseconds_and_dates_are_read() {
        let ms = |ms| Some(Duration::from_millis(ms));
        assert_eq!(asked_by(&[("retry-after", "7")]), ms(7_000));
        assert_eq!(asked_by(&[("retry-after", "0.5")]), ms(500));
        assert_eq!(asked_by(&[("retry-after-ms", "250"), ("retry-after", "9")]), ms(250));
        assert_eq!(
            asked_by(&[
                ("date", "Wed, 21 Oct 2015 07:27:30 GMT"),
                ("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"),
            ]),
            ms(30_000)
        );
        assert_eq!(
            asked_by(&[
                ("date", "Thu, 29 Feb 2024 23:59:59 GMT"),
                ("retry-after", "Fri, 01 Mar 2024 00:00:01 GMT"),
            ]),
            ms(2_000)
        );
    }

    #[test]
    fn what_cannot_be_read_asks_for_nothing() {
        for value in ["soon", "-1", "NaN", "inf", "", "Wed, 21 Okt 2015 07:28:00 GMT"] {
            assert_eq!(
                asked_by(&[("date", "Wed, 21 Oct 2015 07:27:30 GMT"), ("retry-after", value)]),
                None,
                "{value}"
            );
        }
        // A date that is over, and one without anything to measure it by.
        let date = "Wed, 21 Oct 2015 07:28:00 GMT";
        let later = "Wed, 21 Oct 2015 07:28:01 GMT";
        assert_eq!(asked_by(&[("date", later), ("retry-after", date)]), None);
        assert_eq!(asked_by(&[("retry-after", date)]), None);
    }

    #[test]
    fn the_epoch_is_day_zero() {
        assert_eq!(parse_http_date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
    }
}
