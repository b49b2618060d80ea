//! What is fetched in the world: one HTTP client that reaches public addresses only.
//!
//! Models choose what is fetched, and what they choose is written by anybody. So the parsed host decides
//! (`url_rules.rs`), a resolver of our own leaves public addresses alone to connect to (`resolver.rs`), every
//! redirect is looked at like a first URL (`redirect.rs`), and all that a server can draw out has a bound:
//! bytes as they are decoded (`body.rs`), time, hops and connections at once (`places.rs`).

mod address;
mod body;
mod client;
mod error;
mod message;
mod places;
mod redirect;
mod resolver;
mod settings;
mod url_rules;

pub use address::{AddressRange, find_range, is_public};
pub use client::Egress;
pub use error::{AddressProblem, EgressError};
pub use message::{EgressRequest, EgressResponse, HttpMethod, MAX_BODY_BYTES};
pub use resolver::{Lookup, PublicResolver, SystemLookup};
pub use settings::{EgressLimits, EgressSettings, SettingsError};
pub use url::Url;
pub use url_rules::MAX_URL_BYTES;
