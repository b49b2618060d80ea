//! Performing what a run owes: one module for each kind of effect, but for
//! tasks: they are driven, and the driver stands above this.

pub mod deliver;
pub mod model;
pub mod plan;
pub mod tool;
