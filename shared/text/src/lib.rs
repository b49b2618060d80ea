//! What is done to texts before somebody reads them, and nothing else: no I/O, no clock, no chance, no
//! async. What a run is stands above, in `djinn-core`.

pub mod citations;
pub mod deliverables;
pub mod deny;
pub mod file_names;
pub mod fold;
pub mod images;
pub mod masking;
pub mod shorten;
pub mod tokens;
pub mod truncate;
pub mod urls;
