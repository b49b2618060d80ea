//! Names that were probably meant.

/// The most edits between a name and the one that was meant.
const MAX_EDITS: usize = 2;

/// Names that are longer are none of ours; comparing takes the product of both lengths.
const MAX_NAME: usize = 80;

/// The name that was meant: the nearest one, at most two edits away, whatever its case.
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
