//! Errors of requests: a sentence for the model, and a code.

use thiserror::Error;

use crate::address::AddressRange;
use crate::url_rules::MAX_URL_BYTES;

/// The reason for a missing response. Each is a sentence without resolved addresses.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EgressError {
    /// The URL, or a redirect's URL, is not allowed. No request was sent there.
    #[error("{url} is not opened: {why}")]
    Address {
        /// The URL, shortened for display.
        url: String,
        /// The problem with the URL.
        why: AddressProblem,
    },
    /// The caller's headers cannot be sent.
    #[error("the request cannot be sent: {why}")]
    InvalidRequest {
        /// The problem with the headers, without their values.
        why: String,
    },
    /// The server violates HTTP, or the announced and the sent data differ.
    #[error("{host} does not answer as HTTP has it: {why}")]
    Protocol {
        /// The host of the URL.
        host: String,
        /// The problem with the response.
        why: String,
    },
    /// The body exceeds the limit, or was interrupted, and a part is useless.
    #[error("what {host} sent is not whole after {bytes} bytes")]
    TooLarge {
        /// The host of the URL.
        host: String,
        /// The number of bytes received.
        bytes: usize,
    },
    /// There are more redirects than are followed.
    #[error("{url} leads on and on: after {redirects} redirects there was another")]
    TooManyRedirects {
        /// The first URL, shortened.
        url: String,
        /// The number of redirects followed.
        redirects: usize,
    },
    /// The time was over before the response was there.
    #[error("{host} did not answer in time")]
    TooSlow {
        /// The host of the URL.
        host: String,
    },
    /// The host does not exist, rejects connections, or has an invalid certificate.
    #[error("{host} cannot be reached: {why}")]
    Unreachable {
        /// The host of the URL.
        host: String,
        /// The network's error message.
        why: String,
    },
}

impl EgressError {
    /// Returns the error's stable code, for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Address { .. } => "address_refused",
            Self::InvalidRequest { .. } => "invalid_request",
            Self::Protocol { .. } => "protocol",
            Self::TooLarge { .. } => "too_large",
            Self::TooManyRedirects { .. } => "too_many_redirects",
            Self::TooSlow { .. } => "too_slow",
            Self::Unreachable { .. } => "unreachable",
        }
    }
}

/// A problem with a URL or its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum AddressProblem {
    /// A redirect to another origin asks for the body to be sent once more.
    #[error("it would be sent what was meant for another site")]
    BodyElsewhere,
    /// A line break or another invisible character.
    #[error("it has a control character in it")]
    ControlCharacter,
    /// The host is a non-public address.
    #[error("it names {0}")]
    Literal(AddressRange),
    /// The host is a name of a local network.
    #[error("it names a host of a local network")]
    LocalName,
    /// The text is not a valid URL.
    #[error("it is not a URL")]
    NotAUrl,
    /// The port is not allowed by the settings.
    #[error("port {0} is not among those that are allowed")]
    Port(u16),
    /// The name resolves only to non-public addresses.
    #[error("its name leads to {0}")]
    ResolvesTo(AddressRange),
    /// The address of Lambda's Runtime API, which controls the function.
    #[error("it names the Runtime API of this function")]
    RuntimeApi,
    /// Neither http nor https.
    #[error("only http and https are opened")]
    Scheme,
    /// More than a URL may have.
    #[error("it is longer than {MAX_URL_BYTES} bytes")]
    TooLong,
    /// A name or password before the host.
    #[error("it has a user name or a password in it")]
    UserInfo,
}
