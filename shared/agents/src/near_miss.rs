//! Suggestions for misspelled names.

/// Maximum edits between a name and the suggested name.
const MAX_EDITS: usize = 2;

/// Maximum characters of a compared name, because the cost is the product of both lengths. No known name is
/// longer.
const MAX_NAME: usize = 80;

/// Returns the nearest known name, at most two edits away, ignoring case.
#[must_use]
pub fn find_near_miss<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let name = plain_name(name)?;
    let distances = candidates.into_iter().filter_map(|candidate| {
        Some((strsim::osa_distance(&name, &plain_name(candidate)?), candidate))
    });
    let (distance, closest) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= MAX_EDITS && distance < name.len()).then_some(closest)
}

fn plain_name(name: &str) -> Option<String> {
    (name.len() <= MAX_NAME).then(|| name.to_lowercase().replace('-', "_"))
}
