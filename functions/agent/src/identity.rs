//! Who asks. Tenant and user come from the verified caller and never from a request.
//!
//! [`require_caller`] stands before every route but the health check and what links lead to: it finds out
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
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{TenantId, UserId};
use djinn_model::Http;
use djinn_runtime::port::catalog::UserKey;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::secret::{Secret, Secrets};
use djinn_runtime::world::Ports;

use crate::SharedAgent;
use crate::api_error::ApiError;
use crate::link::{SignedLinks, is_file_link};

pub use auth::{Auth, IamUser, KeyList};
use credentials::Credentials;
use keys::ApiKeys;
pub use token::TokenSettings;
use token::{HttpEndpoint, TokenVerifier};

/// A caller is the tenant and the user that [`Authenticator`] takes a request to come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) tenant: TenantId,
    pub(crate) user: UserId,
}

impl Caller {
    /// The caller as stores know users.
    pub(crate) fn user_key(&self) -> UserKey {
        UserKey { tenant: self.tenant.clone(), user: self.user.clone() }
    }

    /// The caller that [`require_caller`] let in.
    pub(crate) fn of(extensions: &Extensions) -> Result<Self, Failure> {
        extensions.get::<Self>().cloned().ok_or_else(|| ErrorCode::NoIdentity.into())
    }
}

/// How callers are told apart, with what that needs.
pub(crate) enum Authenticator<S> {
    Signed(IamUser),
    Keys(ApiKeys<S>),
    Tokens(TokenVerifier<HttpEndpoint>),
    /// On a laptop: everybody is the same user, but for whom an event names as its signer, as those of
    /// `infra/events` do.
    Open,
}

impl<S: Secrets> Authenticator<S> {
    pub(crate) fn new(auth: &Auth, secrets: S, http: Http) -> Self {
        match auth {
            Auth::Iam(user) => Self::Signed(*user),
            Auth::Key(list) => Self::Keys(ApiKeys::new(list, secrets)),
            Auth::Jwt(settings) => {
                let endpoint = HttpEndpoint::new(settings.keys_url.clone(), http);
                Self::Tokens(TokenVerifier::new(settings.clone(), endpoint))
            }
            Auth::None => Self::Open,
        }
    }

    async fn authenticate(
        &self,
        credentials: Credentials,
        extensions: &Extensions,
        now_ms: i64,
    ) -> Result<Caller, ApiError> {
        match self {
            Self::Signed(user) => {
                Ok(signed::signed_caller(extensions, *user).ok_or(ErrorCode::NoIdentity)?)
            }
            Self::Keys(keys) => {
                let key = credentials.key()?;
                Ok(keys.authenticate(key.as_ref().map(Secret::reveal), now_ms).await?)
            }
            Self::Tokens(tokens) => {
                let token = credentials.token()?;
                Ok(tokens.authenticate(token.as_ref().map(Secret::reveal), now_ms).await?)
            }
            Self::Open => {
                let signed = signed::signed_caller(extensions, IamUser::default());
                signed.map_or_else(|| Ok(local_caller()?), Ok)
            }
        }
    }
}

/// Whether a request is an event whose caller AWS has verified.
pub(crate) fn is_signed(extensions: &Extensions) -> bool {
    signed::signed_caller(extensions, IamUser::default()).is_some()
}

/// The one user of a laptop.
fn local_caller() -> Result<Caller, Failure> {
    let known = TenantId::new("local").and_then(|tenant| Ok((tenant, UserId::new("you")?)));
    let (tenant, user) = known.map_err(|_| ErrorCode::Internal)?;
    Ok(Caller { tenant, user })
}

/// Lets a request through with its [`Caller`] and without its key or token, or answers it.
pub(crate) async fn require_caller<P: Ports, S: Secrets + 'static>(
    State((agent, gate)): State<(SharedAgent<P>, Arc<Authenticator<S>>)>,
    request: Request<Body>,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let credentials = Credentials::take_from(&mut parts.headers);
    if SignedLinks::of(&parts).is_some() && is_file_link(parts.uri.path()) {
        return next.run(Request::from_parts(parts, body)).await;
    }
    let now_ms = agent.ports.clock().now_ms();
    match gate.authenticate(credentials, &parts.extensions, now_ms).await {
        Ok(caller) => {
            parts.extensions.insert(caller);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(refusal) => refusal.to_json_response(agent.settings.run.language),
    }
}
