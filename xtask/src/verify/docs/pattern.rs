//! Matches expected output. `…` matches any text, and a line with only `…` matches any lines.

/// The placeholder for any text.
const ANYTHING: &str = "…";

/// Returns true if the whole output matches. Spaces at line ends and empty lines at the end are ignored.
pub(super) fn matches_all(patterns: &[String], printed: &str) -> bool {
    let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    match_lines(&without_end(patterns), &without_end(printed.lines().collect()))
}

/// Returns true if the beginning of the output matches.
pub(super) fn matches_beginning(patterns: &[String], printed: &str) -> bool {
    let patterns = patterns.iter().map(String::as_str).chain([ANYTHING]).collect();
    match_lines(&without_end(patterns), &without_end(printed.lines().collect()))
}

fn without_end(lines: Vec<&str>) -> Vec<&str> {
    let mut lines: Vec<_> = lines.into_iter().map(str::trim_end).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines
}

fn match_lines(expected: &[&str], printed: &[&str]) -> bool {
    // The possible start of each expected line. A set of positions suffices, regardless of the number of ways
    // to a position.
    let mut places = vec![false; printed.len() + 1];
    if let Some(first) = places.first_mut() {
        *first = true;
    }
    for line in expected {
        let is_any = *line == ANYTHING;
        let mut next = vec![false; places.len()];
        let mut is_reached = false;
        for (at, here) in places.iter().enumerate() {
            is_reached |= *here;
            let fits = printed.get(at).is_some_and(|printed| match_line(line, printed));
            if let Some(place) = next.get_mut(at).filter(|_| is_any && is_reached) {
                *place = true;
            }
            if let Some(place) = next.get_mut(at + 1).filter(|_| !is_any && *here && fits) {
                *place = true;
            }
        }
        places = next;
    }
    places.last() == Some(&true)
}

fn match_line(expected: &str, printed: &str) -> bool {
    let Some((start, rest)) = expected.split_once(ANYTHING) else { return expected == printed };
    let Some(mut remainder) = printed.strip_prefix(start) else { return false };
    let mut pieces: Vec<&str> = rest.split(ANYTHING).collect();
    let end = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some((_, behind)) = remainder.split_once(piece) else { return false };
        remainder = behind;
    }
    remainder.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn what_is_left_open_may_be_anything() {
        for (expected, printed) in [
            ("a\nb", "a\nb\n"),
            ("a", "a  \n\n"),
            ("", ""),
            ("…", ""),
            ("…", "a\nb"),
            ("a\n…\nd", "a\nd"),
            ("a\n…\nd", "a\nb\nd\nc\nd"),
            ("…\nb\n…", "a\nb"),
            ("…\n…\nb", "b"),
            ("took … s", "took 1.5 s"),
            ("… and …, … end", "one and two, three end"),
            ("a…", "a"),
            ("a\n\nb", "a\n\nb"),
        ] {
            assert!(matches_all(&lines(expected), printed), "{expected} / {printed}");
        }
    }

    #[test]
    fn what_is_shown_has_to_be_printed() {
        for (expected, printed) in [
            ("a", ""),
            ("", "a"),
            ("a", "a\nb"),
            ("a\nb", "a"),
            ("a\n…\nd", "a\nd\nc"),
            ("…\nb", "b\na"),
            ("took … s", "took 1.5 ms, "),
            ("aa…aa", "aaa"),
            ("…b…", "a"),
            ("a\n\nb", "a\nb"),
        ] {
            assert!(!matches_all(&lines(expected), printed), "{expected} / {printed}");
        }
    }

    #[test]
    fn a_beginning_is_enough_of_what_goes_on() {
        assert!(matches_beginning(&lines("a\n…\nc"), "a\nb\nc\nd"));
        assert!(matches_beginning(&lines("a"), "a"));
        assert!(matches_beginning(&[], "a"));
        assert!(!matches_beginning(&lines("a\n…\nc"), "a\nb"));
    }
}
