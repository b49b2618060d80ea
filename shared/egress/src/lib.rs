//! The HTTP client for the Internet, limited to public addresses.
//!
//! Models choose the targets, under the influence of untrusted text. So the parsed host decides
//! (`url_rules.rs`), and our own resolver returns only public addresses (`resolver.rs`). Every redirect is
//! checked like a first URL (`redirect.rs`). All resources have a limit: decoded bytes (`body.rs`, `stream.rs`), time,
//! hops and concurrent connections (`places.rs`).

mod address;
mod body;
mod client;
mod error;
mod message;
mod places;
mod redirect;
mod resolver;
mod settings;
mod stream;
mod url_rules;

pub use address::{AddressRange, find_range, is_public};
pub use client::Egress;
pub use error::{AddressProblem, EgressError};
pub use message::{EgressRequest, EgressResponse, HttpMethod, MAX_BODY_BYTES};
pub use resolver::{Lookup, PublicResolver, SystemLookup};
pub use settings::{EgressLimits, EgressSettings, SettingsError};
pub use stream::EgressStream;
pub use url::Url;
pub use url_rules::MAX_URL_BYTES;
