//! Texts for users, in their languages. The texts are in `messages/en.toml` and `messages/zh.toml`; the code
//! uses their keys.

mod catalog;
mod failure;
pub mod language;
mod wording;

pub use catalog::{find_text, keys};
pub use failure::{find_error_template, write_error_sentence};
pub use wording::Wording;
