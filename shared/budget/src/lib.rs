//! What runs may use up, and what calls may cost.

pub mod budget;
pub mod estimate;
