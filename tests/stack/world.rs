//! The client of the HTTP stories, and pages of a site on this machine.

#[path = "../it/world/client.rs"]
mod client;
#[path = "../it/world/contract.rs"]
mod contract;
#[path = "../../shared/protocol/tests/it/client.rs"]
mod fold;
#[path = "../it/world/plan.rs"]
mod plan;
#[path = "../it/world/site.rs"]
mod site;
#[path = "../it/world/stream.rs"]
mod stream;

pub(crate) use client::{Answer, Client, Protocol, Question};
pub(crate) use fold::Received;
pub(crate) use plan::{planner, summary, task};
pub(crate) use site::Site;
pub(crate) use stream::{Frame, Stream};

/// The deployed functions hand over only if they must.
fn always_hands_over() -> bool {
    false
}
