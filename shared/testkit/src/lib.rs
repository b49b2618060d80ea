//! In-memory ports, manual clocks, fault injection and contract tests. For tests only.

pub mod chaos;
pub mod clock;
pub mod contract;
pub mod ledger;
pub mod memory;
pub mod point;
pub mod sim;
pub mod story;
