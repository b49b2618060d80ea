//! A resolver that checks each address, so that connections only use checked addresses.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::address::{AddressRange, find_range, is_public};

/// Maximum number of addresses tried for a name.
const MAX_ADDRESSES: usize = 8;

/// Whoever is asked for the addresses of a name.
pub trait Lookup: Send + Sync {
    /// Returns all addresses of a name, public or not.
    fn lookup_addresses(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The lookup of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup_addresses(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let addresses = tokio::net::lookup_host((name, 0)).await?;
            Ok(addresses.map(|address| address.ip()).collect())
        })
    }
}

/// The error for a name without a public address, with the range of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the name leads to {0}")]
pub(crate) struct NoPublicAddress(pub(crate) AddressRange);

/// A resolver that returns only public addresses. A client resolves once for each connection, and connects to
/// no other address. Addresses in a URL are checked elsewhere.
#[derive(Clone)]
pub struct PublicResolver {
    lookup: Arc<dyn Lookup>,
}

impl PublicResolver {
    /// Creates a resolver that filters the addresses of `lookup`.
    #[must_use]
    pub fn new(lookup: Arc<dyn Lookup>) -> Self {
        Self { lookup }
    }
}

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let answer = self.lookup.lookup_addresses(name.as_str().to_owned());
        Box::pin(async move {
            let addresses = answer.await?;
            let private_range = addresses.iter().find_map(|address| find_range(*address));
            let public = addresses.into_iter().filter(|address| is_public(*address));
            // Ignored: the URL's port is used instead.
            let public = public.map(|address| SocketAddr::new(address, 0));
            let public: Vec<_> = public.take(MAX_ADDRESSES).collect();
            match private_range {
                _ if !public.is_empty() => Ok(Box::new(public.into_iter()) as Addrs),
                Some(range) => Err(NoPublicAddress(range).into()),
                None => Err(io::Error::from(io::ErrorKind::NotFound).into()),
            }
        })
    }
}
