//! Performing what a run owes: one module for each kind of effect.

pub mod child;
pub mod deliver;
pub mod model;
pub mod plan;
pub mod tool;
