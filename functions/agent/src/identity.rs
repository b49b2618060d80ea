//! The identity of callers. Tenant and user come from the verified caller and never from a request.
//!
//! `middleware::require_caller` precedes every route except the health check and the targets of links. The
//! middleware asks an [`Authenticator`] for the caller, and adds a [`Caller`] to the request or rejects the
//! request. Routes have no other source of a caller. A signed link to a file needs no caller.

mod api_key;
mod auth;
mod credentials;
mod keys;
mod signed;
mod token;

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::Extensions;
use axum::http::request::Parts;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{TenantId, UserId};
use djinn_model::Http;
use djinn_runtime::port::UserKey;
use djinn_runtime::port::secret::{Secret, Secrets};
use djinn_text::near_miss::find_near_miss;

use crate::api_error::ApiError;

pub use api_key::{BadKeyHash, KEY_BYTES, KeyHash, KeyHolder, format_key};
pub use auth::{Auth, IamUser, KeyList};
pub(crate) use credentials::Credentials;
use keys::ApiKeys;
pub use token::TokenSettings;
use token::{HttpEndpoint, TokenVerifier};

/// The tenant and user of a request, as verified by an [`Authenticator`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) tenant: TenantId,
    pub(crate) user: UserId,
}

impl Caller {
    /// Returns the caller's key in stores.
    pub(crate) fn user_key(&self) -> UserKey {
        UserKey { tenant: self.tenant.clone(), user: self.user.clone() }
    }

    /// Returns the caller added by `middleware::require_caller`.
    pub(crate) fn of(extensions: &Extensions) -> Result<Self, Failure> {
        extensions.get::<Self>().cloned().ok_or_else(|| ErrorCode::NoIdentity.into())
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Ok(Self::of(&parts.extensions)?)
    }
}

/// The users of a deployment with API keys. Without keys, a deployment does not know its users.
#[derive(Clone)]
pub(crate) struct KnownUsers(Arc<Vec<KeyHolder>>);

impl KnownUsers {
    /// Returns true if a key names this user of the tenant.
    pub(crate) fn contains(&self, tenant: &TenantId, user: &UserId) -> bool {
        self.of_tenant(tenant).any(|known| known == user)
    }

    /// Returns the nearest name of another user in the caller's tenant. Names of other tenants never appear.
    pub(crate) fn find_near_miss(&self, caller: &Caller, name: &UserId) -> Option<&str> {
        let others = self.of_tenant(&caller.tenant).filter(|user| **user != caller.user);
        find_near_miss(name.as_str(), others.map(UserId::as_str))
    }

    fn of_tenant(&self, tenant: &TenantId) -> impl Iterator<Item = &UserId> {
        self.0.iter().filter(move |holder| holder.tenant == *tenant).map(|holder| &holder.user)
    }
}

/// The method of identifying callers, with the needed state.
pub(crate) enum Authenticator<S> {
    Signed(IamUser),
    Keys(ApiKeys<S>),
    Tokens(TokenVerifier<HttpEndpoint>),
    /// On a laptop, all callers are the same user. The exception is an event with a signer, as in
    /// `infra/events`.
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

    /// Returns the users that the deployment knows; `None` unless callers have API keys.
    pub(crate) async fn known_users(&self, now_ms: i64) -> Option<KnownUsers> {
        match self {
            Self::Keys(keys) => keys.holders(now_ms).await.map(KnownUsers),
            Self::Signed(_) | Self::Tokens(_) | Self::Open => None,
        }
    }

    /// Returns the caller of a request with these credentials and extensions.
    pub(crate) async fn authenticate(
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
            Self::Open => match signed::signed_caller(extensions, IamUser::default()) {
                Some(caller) => Ok(caller),
                // The only user of a laptop.
                None => {
                    let tenant = TenantId::new("local").map_err(|_| ErrorCode::Internal)?;
                    let user = UserId::new("you").map_err(|_| ErrorCode::Internal)?;
                    Ok(Caller { tenant, user })
                }
            },
        }
    }
}

/// Returns true if the request is an event with a caller verified by AWS.
pub(crate) fn is_signed(extensions: &Extensions) -> bool {
    signed::signed_caller(extensions, IamUser::default()).is_some()
}
