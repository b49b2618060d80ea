//! Formats durations.

use std::time::Duration;

/// `0.3 s`, `12.0 s` or `3 min 5 s`.
pub(crate) fn format_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds / 60 {
        0 => format!("{:.1} s", duration.as_secs_f64()),
        minutes => format!("{minutes} min {} s", seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_are_told_apart_from_seconds() {
        let words = |ms| format_duration(Duration::from_millis(ms));
        assert_eq!((words(340), words(12_000)), ("0.3 s".into(), "12.0 s".into()));
        assert_eq!((words(60_000), words(185_900)), ("1 min 0 s".into(), "3 min 5 s".into()));
    }
}
