//! Who asks. Tenant and user come from the verified caller and never from a request.
//!
//! [`admitted`] stands before every route but the health check and what links lead to: it finds out
//! who the caller is and leaves a [`Caller`] behind, or refuses. Routes can get one from nowhere else. A
//! signed link to a file passes without one.

mod auth;
mod credentials;
mod keys;
mod signed;
mod token;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Extensions, Request};
use axum::middleware::Next;
use axum::response::Response;
use djinn_core::code::{ErrorCode, Failure};
use djinn_core::id::{TenantId, UserId};
use djinn_model::Http;
use djinn_runtime::port::Ports;
use djinn_runtime::port::catalog::UserKey;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::secret::{Secret, Secrets};

use crate::Shared;
use crate::link::{Links, opens_file};
use crate::refusal::Refusal;

pub use auth::{Auth, IamUser, KeyList};
use credentials::Credentials;
use keys::Keys;
pub use token::TokenSettings;
use token::{HttpEndpoint, Tokens};

/// A verified caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) tenant: TenantId,
    pub(crate) user: UserId,
}

impl Caller {
    /// The caller as stores know users.
    pub(crate) fn key(&self) -> UserKey {
        UserKey { tenant: self.tenant.clone(), user: self.user.clone() }
    }

    /// The caller that [`admitted`] let in.
    pub(crate) fn of(extensions: &Extensions) -> Result<Self, Failure> {
        extensions.get::<Self>().cloned().ok_or_else(|| ErrorCode::NoIdentity.into())
    }
}

/// How callers are told apart, with what that needs.
pub(crate) enum Gate<S> {
    Signed(IamUser),
    Keys(Keys<S>),
    Tokens(Tokens<HttpEndpoint>),
    /// On a laptop: everybody is the same user, but for whom an event names as its signer, as those of
    /// `infra/events` do.
    Open,
}

impl<S: Secrets> Gate<S> {
    pub(crate) fn new(auth: &Auth, secrets: S, http: Http) -> Self {
        match auth {
            Auth::Iam(user) => Self::Signed(*user),
            Auth::Key(list) => Self::Keys(Keys::new(list, secrets)),
            Auth::Jwt(settings) => {
                let endpoint = HttpEndpoint::new(settings.keys_url.clone(), http);
                Self::Tokens(Tokens::new(settings.clone(), endpoint))
            }
            Auth::None => Self::Open,
        }
    }

    async fn caller(
        &self,
        credentials: Credentials,
        extensions: &Extensions,
        now_ms: i64,
    ) -> Result<Caller, Refusal> {
        match self {
            Self::Signed(user) => {
                Ok(signed::caller(extensions, *user).ok_or(ErrorCode::NoIdentity)?)
            }
            Self::Keys(keys) => {
                let key = credentials.key()?;
                Ok(keys.caller(key.as_ref().map(Secret::reveal), now_ms).await?)
            }
            Self::Tokens(tokens) => {
                let token = credentials.token()?;
                Ok(tokens.caller(token.as_ref().map(Secret::reveal), now_ms).await?)
            }
            Self::Open => {
                let signed = signed::caller(extensions, IamUser::default());
                signed.map_or_else(|| Ok(you()?), Ok)
            }
        }
    }
}

/// Whether a request is an event whose caller AWS has verified.
pub(crate) fn is_signed(extensions: &Extensions) -> bool {
    signed::caller(extensions, IamUser::default()).is_some()
}

/// The one user of a laptop.
fn you() -> Result<Caller, Failure> {
    let known = TenantId::new("local").and_then(|tenant| Ok((tenant, UserId::new("you")?)));
    let (tenant, user) = known.map_err(|_| ErrorCode::Internal)?;
    Ok(Caller { tenant, user })
}

/// Lets a request through with its [`Caller`] and without its key or token, or answers it.
pub(crate) async fn admitted<P: Ports, S: Secrets + 'static>(
    State((agent, gate)): State<(Shared<P>, Arc<Gate<S>>)>,
    request: Request<Body>,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let credentials = Credentials::taken_from(&mut parts.headers);
    if Links::of(&parts).is_some() && opens_file(parts.uri.path()) {
        return next.run(Request::from_parts(parts, body)).await;
    }
    let now_ms = agent.ports.clock().now_ms();
    match gate.caller(credentials, &parts.extensions, now_ms).await {
        Ok(caller) => {
            parts.extensions.insert(caller);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(refusal) => refusal.json(agent.settings.run.language),
    }
}
