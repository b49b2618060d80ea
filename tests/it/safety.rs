//! Content safety over HTTP.

mod checker;
mod deny;
mod frame;
mod images;
mod inject;
mod masking;
mod texts;
