//! In-memory ports, manual clocks, fault injection, contract tests, and a simulator of AWS Lambda. For tests
//! only.

pub mod chaos;
pub mod clock;
pub mod contract;
pub mod fuzz;
pub mod lambdasim;
pub mod ledger;
pub mod memory;
pub mod point;
pub mod sim;
pub mod story;
pub mod versioned;
