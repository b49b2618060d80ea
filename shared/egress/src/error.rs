//! Why something was not fetched: a sentence that a model can be told, and a code.

use thiserror::Error;

use crate::address::AddressRange;
use crate::url_rules::MAX_URL_BYTES;

/// Why there is no response. Each is a sentence, and names no address that a name was resolved to.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EgressError {
    /// The URL, or one that it leads to, is not one that may be opened. Nothing was sent there.
    #[error("{url} is not opened: {why}")]
    Address {
        /// The URL as errors show it: shortened.
        url: String,
        /// What is wrong with it.
        why: AddressProblem,
    },
    /// The caller's headers cannot be sent.
    #[error("the request cannot be sent: {why}")]
    InvalidRequest {
        /// What is wrong with them, without their values.
        why: String,
    },
    /// The server does not speak HTTP as it should, or says one thing and sends another.
    #[error("{host} does not answer as HTTP has it: {why}")]
    Protocol {
        /// The host of the URL.
        host: String,
        /// What is wrong with the answer.
        why: String,
    },
    /// The body is larger than it may be, or broke off, and a part of it is of no use.
    #[error("what {host} sent is not whole after {bytes} bytes")]
    TooLarge {
        /// The host of the URL.
        host: String,
        /// How many of it came.
        bytes: usize,
    },
    /// There are more redirects than are followed.
    #[error("{url} leads on and on: after {redirects} redirects there was another")]
    TooManyRedirects {
        /// The URL at which it began, shortened.
        url: String,
        /// How many were followed.
        redirects: usize,
    },
    /// The time was over before the response was there.
    #[error("{host} did not answer in time")]
    TooSlow {
        /// The host of the URL.
        host: String,
    },
    /// There is no such host, it takes no connection, or its certificate is not good.
    #[error("{host} cannot be reached: {why}")]
    Unreachable {
        /// The host of the URL.
        host: String,
        /// What the network says.
        why: String,
    },
}

impl EgressError {
    /// The same for programs, which never changes.
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

/// What is wrong with a URL or with where it leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum AddressProblem {
    /// A redirect to another origin asks for the body to be sent once more.
    #[error("it would be sent what was meant for another site")]
    BodyElsewhere,
    /// A line break or another character that nobody sees.
    #[error("it has a control character in it")]
    ControlCharacter,
    /// The host is an address that is not public.
    #[error("it names {0}")]
    Literal(AddressRange),
    /// The host is a name of a local network.
    #[error("it names a host of a local network")]
    LocalName,
    /// No URL, however it is read.
    #[error("it is not a URL")]
    NotAUrl,
    /// A port that nobody named in the settings.
    #[error("port {0} is not among those that are allowed")]
    Port(u16),
    /// The name has no address that is public.
    #[error("its name leads to {0}")]
    ResolvesTo(AddressRange),
    /// Lambda's Runtime API, through which a function is told what to do.
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
