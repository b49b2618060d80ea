//! Processing of texts before display: no I/O, no clock, no randomness, no async. Types of runs are above, in
//! `djinn-core`.

pub mod citations;
pub mod deliverables;
pub mod deny;
pub mod file_names;
pub mod fold;
pub mod images;
pub mod masking;
pub mod near_miss;
pub mod shorten;
pub mod tokens;
pub mod truncate;
pub mod urls;
