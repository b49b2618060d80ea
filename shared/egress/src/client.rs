//! The client: follows redirects up to a response, within the limits.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
};
use reqwest::{Client, Method, Response, redirect, retry};

use crate::body::{ContentCoding, DecodedBody, RawBody};
use crate::error::{AddressProblem, EgressError};
use crate::message::{EgressRequest, EgressResponse, HttpMethod};
use crate::places::Places;
use crate::redirect::Hop;
use crate::resolver::{Lookup, NoPublicAddress, PublicResolver, SystemLookup};
use crate::settings::{EgressLimits, EgressSettings};
use crate::stream::EgressStream;
use crate::url_rules::{refuse_url, shorten_url};

/// Idle lifetime of a connection. Short, so that a function resumed after a freeze finds few broken
/// connections.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// The response headers in use.
const RESPONSE_HEADERS: [&str; 9] = [
    "cache-control",
    "content-disposition",
    "content-language",
    "content-type",
    "etag",
    "last-modified",
    "location",
    "retry-after",
    "x-robots-tag",
];

/// Maximum bytes of a kept header value.
const MAX_HEADER_BYTES: usize = 4096;

/// A client for public addresses only. Clones share connections and limits.
#[derive(Clone)]
pub struct Egress {
    client: Client,
    settings: Arc<EgressSettings>,
    places: Arc<Places>,
}

impl Egress {
    /// Creates a client with the operating system's name resolution.
    ///
    /// # Errors
    /// Returns [`EgressError::Unreachable`] if TLS is unavailable. A retry does not help.
    pub fn new(settings: EgressSettings) -> Result<Self, EgressError> {
        Self::with_lookup(settings, Arc::new(SystemLookup))
    }

    /// Creates a client with another source of addresses; non-public addresses are ignored.
    ///
    /// # Errors
    /// Returns the errors of [`Egress::new`].
    pub fn with_lookup(
        settings: EgressSettings,
        lookup: Arc<dyn Lookup>,
    ) -> Result<Self, EgressError> {
        let limits = settings.limits();
        let client = Client::builder()
            .connect_timeout(limits.connect_time)
            .dns_resolver(PublicResolver::new(lookup))
            .http1_only()
            .no_brotli()
            .no_deflate()
            .no_gzip()
            .no_proxy()
            .no_zstd()
            .pool_idle_timeout(POOL_IDLE_TIMEOUT)
            .pool_max_idle_per_host(limits.per_host)
            .redirect(redirect::Policy::none())
            .referer(false)
            .retry(retry::never())
            .tcp_nodelay(true)
            .build()
            .map_err(|error| describe_failure(&error, "the network"))?;
        let places = Arc::new(Places::new(limits.at_once, limits.per_host));
        Ok(Self { client, settings: Arc::new(settings), places })
    }

    /// Returns a client with the same targets and connections, and with limits and places of its own. The
    /// timeout of a connection stays.
    #[must_use]
    pub fn with_limits(&self, limits: EgressLimits) -> Self {
        let places = Arc::new(Places::new(limits.at_once, limits.per_host));
        let settings = Arc::new((*self.settings).clone().with_limits(limits));
        Self { client: self.client.clone(), settings, places }
    }

    /// Returns the settings of allowed targets and limits.
    #[must_use]
    pub fn settings(&self) -> &EgressSettings {
        &self.settings
    }

    /// Sends a request and follows redirects. Returns the response with any status.
    ///
    /// # Errors
    /// Returns [`EgressError`] if there is no response within the limits.
    pub async fn send(&self, request: EgressRequest) -> Result<EgressResponse, EgressError> {
        let max_bytes = request.max_bytes.min(self.settings.limits().body_bytes);
        let accepts_redirects = request.accept_redirects && request.keys.is_empty();
        let most_time = self.settings.limits().total_time;
        let time_limit = request.time_limit.map_or(most_time, |limit| limit.min(most_time));
        let first = Hop::new(&self.settings, request)?;
        let host = first.host().to_owned();
        let work = self.follow_hops(first, accepts_redirects, max_bytes);
        match tokio::time::timeout(time_limit, work).await {
            Ok(outcome) => outcome,
            Err(_) => Err(EgressError::TooSlow { host }),
        }
    }

    /// Sends a request and returns as soon as the head of the response is there, with any status. The first
    /// redirect is the response. The request's timeout ends with the head; see [`EgressStream::next_chunk`].
    ///
    /// # Errors
    /// Returns [`EgressError`] if there is no head within the limits, or if the body is compressed.
    pub async fn open(&self, request: EgressRequest) -> Result<EgressStream, EgressError> {
        let limits = self.settings.limits();
        let max_bytes = request.max_bytes.min(limits.body_bytes);
        let time_limit = request.time_limit.unwrap_or(limits.total_time).min(limits.total_time);
        let mut hop = Hop::new(&self.settings, request)?;
        hop.headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let host = hop.host().to_owned();
        let head = async {
            let place = self.places.take_place(hop.host()).await;
            Ok::<_, EgressError>((place, self.send_hop(&hop).await?))
        };
        let result = tokio::time::timeout(time_limit, head).await;
        let (place, response) =
            result.map_err(|_| EgressError::TooSlow { host: host.clone() })??;
        EgressStream::new(response, host, max_bytes, place)
    }

    async fn follow_hops(
        &self,
        first: Hop,
        accepts_redirects: bool,
        max_bytes: u64,
    ) -> Result<EgressResponse, EgressError> {
        let redirects = self.settings.limits().redirects;
        let url = shorten_url(first.url.as_str());
        let mut hop = first;
        for _ in 0..=redirects {
            let _place = self.places.take_place(hop.host()).await;
            let response = self.send_hop(&hop).await?;
            let status = response.status().as_u16();
            let headers = response.headers();
            let next = if accepts_redirects {
                hop.follow_response(&self.settings, status, headers)?
            } else {
                None
            };
            match next {
                Some(next) => hop = next,
                None => return read_response(&hop, response, max_bytes).await,
            }
        }
        Err(EgressError::TooManyRedirects { url, redirects })
    }

    async fn send_hop(&self, hop: &Hop) -> Result<Response, EgressError> {
        let method = match hop.method {
            HttpMethod::Get => Method::GET,
            HttpMethod::Post => Method::POST,
            HttpMethod::Put => Method::PUT,
            HttpMethod::Patch => Method::PATCH,
            HttpMethod::Delete => Method::DELETE,
        };
        let mut request = self.client.request(method, hop.url.clone()).headers(hop.headers.clone());
        if let Some(body) = &hop.body {
            request = request.body(body.clone());
        }
        request.send().await.map_err(|error| match find_refusal(&error) {
            Some(NoPublicAddress(range)) => {
                refuse_url(hop.url.as_str(), AddressProblem::ResolvesTo(range))
            }
            None => describe_failure(&error, hop.host()),
        })
    }
}

impl fmt::Debug for Egress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Egress").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Reads the body up to its limit, closes the connection if more follows, and decodes the bytes read.
async fn read_response(
    hop: &Hop,
    mut response: Response,
    max_bytes: u64,
) -> Result<EgressResponse, EgressError> {
    let status = response.status().as_u16();
    let headers = RESPONSE_HEADERS.iter().filter_map(|name| {
        let value = find_text(response.headers(), &HeaderName::from_static(name))?;
        Some(((*name).to_owned(), value))
    });
    let headers: Vec<_> = headers.collect();
    let refuse = |why: String| EgressError::Protocol { host: hop.host().to_owned(), why };
    let encoding = find_text(response.headers(), &CONTENT_ENCODING);
    let coding = ContentCoding::parse(encoding.as_deref())
        .ok_or_else(|| refuse("the page is encoded in a way that nobody asked for".into()))?;
    let mut body = RawBody::new(usize::try_from(max_bytes).unwrap_or(usize::MAX));
    let mut is_complete = true;
    loop {
        match response.chunk().await {
            Ok(Some(piece)) if body.append_piece(&piece) => {}
            Ok(_) => break,
            Err(error) if body.is_empty() => return Err(describe_failure(&error, hop.host())),
            Err(_) => {
                is_complete = false;
                break;
            }
        }
    }
    let result = body.decode(coding).await;
    let DecodedBody { bytes: body, is_whole } =
        result.map_err(|error| refuse(error.to_string()))?;
    let content_type = find_text(response.headers(), &CONTENT_TYPE);
    let is_cut = !(is_whole && is_complete);
    Ok(EgressResponse { url: hop.url.clone(), status, content_type, headers, body, is_cut })
}

/// Returns a header as text, unless longer than the maximum.
pub(crate) fn find_text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let value = headers.get(name).filter(|value| value.len() <= MAX_HEADER_BYTES)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// Returns the rejection of a name by our resolver, if any.
fn find_refusal(error: &reqwest::Error) -> Option<NoPublicAddress> {
    let refusal = causes(error).find_map(|cause| cause.downcast_ref::<NoPublicAddress>());
    refusal.copied()
}

pub(crate) fn describe_failure(error: &reqwest::Error, host: &str) -> EgressError {
    let host = host.to_owned();
    let deepest = causes(error).last().map_or_else(|| error.to_string(), ToString::to_string);
    let why = shorten_url(&deepest);
    match error {
        error if error.is_timeout() => EgressError::TooSlow { host },
        error if error.is_connect() || error.is_builder() => EgressError::Unreachable { host, why },
        _ => EgressError::Protocol { host, why },
    }
}

/// Returns the chain of an error's causes, nearest first.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(error.source(), |&cause| cause.source())
}
