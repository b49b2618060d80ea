//! Content safety over HTTP.

mod checker;
mod deny;
mod frame;
mod inject;
mod masking;
mod texts;
