//! Performing due effects: one module for each kind of effect. Children are driven by the driver instead.

pub(crate) mod answer;
pub mod deliver;
pub mod model;
pub mod plan;
pub mod tool;
