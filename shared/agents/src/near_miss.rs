//! Suggestions for misspelled names.

/// Maximum edits between a name and the suggested name.
const MAX_EDITS: usize = 2;

/// Maximum characters of a compared name, because the cost is the product of both lengths. No known name is
/// longer.
const MAX_NAME: usize = 80;

/// Returns the nearest known name, at most two edits away, ignoring case.
#[must_use]
pub fn find_near_miss<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = plain_name(name)?;
    let distances = known
        .into_iter()
        .filter_map(|known| Some((strsim::osa_distance(&name, &plain_name(known)?), known)));
    let (distance, known) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= MAX_EDITS && distance < name.len()).then_some(known)
}

fn plain_name(name: &str) -> Option<String> {
    (name.len() <= MAX_NAME).then(|| name.to_lowercase().replace('-', "_"))
}
