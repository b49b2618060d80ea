//! Performing what a run owes: one module for each kind of effect, but for
//! children: they are driven, and the driver stands above this.

pub(crate) mod answer;
pub mod deliver;
pub mod model;
pub mod plan;
pub mod tool;
