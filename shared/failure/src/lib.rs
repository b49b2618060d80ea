//! Failures: a code that clients may branch on, with the facts of the case.

pub mod error_code;
