//! Suggestions for misspelled names.

/// Maximum bytes of a compared name, because the cost is the product of both lengths. No known name is longer.
const MAX_NAME: usize = 80;

/// Returns the nearest known name, with at most a third of its letters different. Case is ignored, and `-`
/// counts as `_`.
#[must_use]
pub fn find_near_miss<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let name = plain_name(name)?;
    let distances = candidates.into_iter().filter_map(|candidate| {
        Some((strsim::osa_distance(&name, &plain_name(candidate)?), candidate))
    });
    let (distance, nearest) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance * 3 <= nearest.len()).then_some(nearest)
}

fn plain_name(name: &str) -> Option<String> {
    (name.len() <= MAX_NAME).then(|| name.to_lowercase().replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_at_most_a_third_away() {
        let known = ["question", "session_id", "mode", "tools"];
        for (name, nearest) in [
            ("qestion", Some("question")),
            ("sessionId", Some("session_id")),
            ("session-id", Some("session_id")),
            ("Mode", Some("mode")),
            ("toosl", Some("tools")),
            ("toolset", None),
            ("prompt", None),
            ("role", None),
            ("q", None),
            ("", None),
            ("x".repeat(100_000).as_str(), None),
        ] {
            assert_eq!(find_near_miss(name, known), nearest, "{name}");
        }
        assert_eq!(find_near_miss("mode", []), None);
    }
}
