//! Budgets of runs, and the estimated cost of calls.

pub mod budget;
pub mod estimate;
