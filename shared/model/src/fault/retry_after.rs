//! Retry waits requested by providers, in all known forms.

use std::time::Duration;

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use serde_json::Value;

/// Maximum accepted wait; some providers request longer waits.
const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);
/// Words before a wait in a message, in lower case: OpenAI, Groq, Azure, Gemini, Together, Kimi.
const ANNOUNCEMENTS: [&str; 6] =
    ["try again in ", "retry in ", "retry after ", "try again after ", "wait for ", "please wait "];

/// Finds the wait in a response's headers, else in the body or the message.
pub(super) fn find_wait(headers: &HeaderMap, json: &Value, message: &str) -> Option<Duration> {
    find_in_headers(headers)
        .or_else(|| find_retry_delay(json))
        .or_else(|| find_in_message(message))
        .map(|wait| wait.min(MAX_WAIT))
}

/// Reads `retry-after-ms`, or `Retry-After` as a number of seconds, a duration or a date. A date is compared
/// with the response's own `Date`, so our clock is not used.
fn find_in_headers(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(parse_number) {
        return Duration::try_from_secs_f64(ms / 1000.0).ok();
    }
    let after = text(RETRY_AFTER.as_str())?;
    if let Some(seconds) = parse_number(after) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    if let Some(wait) = parse_duration(after) {
        return Some(wait);
    }
    let date = httpdate::parse_http_date(text(DATE.as_str())?).ok()?;
    httpdate::parse_http_date(after).ok()?.duration_since(date).ok()
}

/// Finds `retryDelay` of Google's RetryInfo, at any depth of the error.
fn find_retry_delay(json: &Value) -> Option<Duration> {
    match json {
        Value::Object(fields) => fields
            .get("retryDelay")
            .and_then(Value::as_str)
            .and_then(parse_duration)
            .or_else(|| fields.values().find_map(find_retry_delay)),
        Value::Array(items) => items.iter().find_map(find_retry_delay),
        _ => None,
    }
}

/// Finds a wait after any of the usual phrases.
pub(super) fn find_in_message(message: &str) -> Option<Duration> {
    let message = message.to_lowercase();
    ANNOUNCEMENTS.iter().find_map(|words| {
        let (_, wait) = message.split_once(words)?;
        parse_duration(wait)
    })
}

fn parse_number(text: &str) -> Option<f64> {
    let number: f64 = text.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

/// Parses a duration at the start of a text: `6.2s`, `250ms`, `7m12.345s`, `26 seconds`, `1 minute`.
fn parse_duration(text: &str) -> Option<Duration> {
    let mut total = None;
    let mut rest = text.trim_start();
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, behind) = rest.split_at(digits);
        let Some(number) = parse_number(number) else { return total };
        let behind = behind.trim_start();
        let letters = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(letters);
        let seconds = match unit {
            "ms" | "millisecond" | "milliseconds" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3600.0,
            _ => return total,
        };
        let part = Duration::try_from_secs_f64(number * seconds).ok()?;
        total = Some(total.unwrap_or(Duration::ZERO).saturating_add(part));
        rest = behind.trim_start();
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};
    use serde_json::json;

    use super::*;

    fn wait_in(headers: &[(&'static str, &'static str)]) -> Option<Duration> {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        find_wait(&headers, &Value::Null, "")
    }

    #[test]
    fn headers_name_seconds_milliseconds_durations_and_dates() {
        let ms = |ms| Some(Duration::from_millis(ms));
        for (value, wait) in [
            ("7", ms(7_000)),
            ("0.5", ms(500)),
            ("2s", ms(2_000)),
            ("250ms", ms(250)),
            ("1m30s", ms(90_000)),
            ("99999999", Some(MAX_WAIT)),
        ] {
            assert_eq!(wait_in(&[("retry-after", value)]), wait, "{value}");
        }
        assert_eq!(wait_in(&[("retry-after-ms", "250"), ("retry-after", "9")]), ms(250));
        assert_eq!(
            wait_in(&[
                ("date", "Wed, 21 Oct 2015 07:27:30 GMT"),
                ("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"),
            ]),
            ms(30_000)
        );
        assert_eq!(
            wait_in(&[
                ("date", "Thu, 29 Feb 2024 23:59:59 GMT"),
                ("retry-after", "Fri, 01 Mar 2024 00:00:01 GMT"),
            ]),
            ms(2_000)
        );
    }

    #[test]
    fn unreadable_headers_ask_for_no_wait() {
        for value in ["soon", "-1", "NaN", "inf", "", "Wed, 21 Okt 2015 07:28:00 GMT", "3 weeks"] {
            let headers = [("date", "Wed, 21 Oct 2015 07:27:30 GMT"), ("retry-after", value)];
            assert_eq!(wait_in(&headers), None, "{value}");
        }
        // A date that is over, and one without anything to measure it by.
        let date = "Wed, 21 Oct 2015 07:28:00 GMT";
        let later = "Wed, 21 Oct 2015 07:28:01 GMT";
        assert_eq!(wait_in(&[("date", later), ("retry-after", date)]), None);
        assert_eq!(wait_in(&[("retry-after", date)]), None);
    }

    /// Messages as providers write them.
    #[test]
    fn messages_and_bodies_name_waits() {
        let none = HeaderMap::new();
        for (message, ms) in [
            (
                "Rate limit reached for gpt-4o. Limit 30000, Used 29000. Please try again in 6.2s. Visit …",
                Some(6_200),
            ),
            ("Please try again in 20ms.", Some(20)),
            (
                "Rate limit reached … Please try again in 7m12.345s. Need more tokens?",
                Some(432_345),
            ),
            (
                "Requests to the ChatCompletions_Create Operation … Please retry after 26 seconds.",
                Some(26_000),
            ),
            ("You exceeded your current quota … Please retry in 34.074824224s.", Some(34_074)),
            ("Your account … rate limited, please wait 1 minute and try again", Some(60_000)),
            ("Please try again later.", None),
            ("try again in a moment", None),
            ("", None),
        ] {
            let wait = find_wait(&none, &Value::Null, message);
            assert_eq!(wait.map(|wait| wait.as_millis()), ms, "{message}");
        }
        let gemini = json!({"error": {"code": 429, "details": [
            {"@type": "type.googleapis.com/google.rpc.QuotaFailure"},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"},
        ]}});
        assert_eq!(find_wait(&none, &gemini, ""), Some(Duration::from_millis(34_500)));
    }
}
