//! Content safety over HTTP.

mod checker;
mod deny;
mod frame;
mod masking;
