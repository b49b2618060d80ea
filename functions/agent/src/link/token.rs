//! The grants of links, and the keys for signing.
//!
//! The token of a response link is a JWT (RFC 7519), signed with HMAC-SHA256. The token of a file link is a
//! shorter binary format (`file.rs`). Neither token is valid in place of the other. Only the signature of a
//! token is secret, and anyone with the token can use the grant.

mod file;

use djinn_core::id::{HumanRequestId, RunId, TenantId, UserId};
use djinn_runtime::port::secret::Secret;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};

pub use file::FileGrant;
pub(crate) use file::is_file_token;

/// Minimum length of a key in bytes, equal to the HMAC's.
pub const MIN_KEY: usize = 32;

/// Maximum number of keys: the signing key and earlier keys.
const MAX_KEYS: usize = 8;

/// Maximum length of a JWT in characters: the longest ids and a margin.
const MAX_TOKEN: usize = 2_048;

/// The only accepted algorithm of a JWT, regardless of the token's header.
const ALGORITHM: Algorithm = Algorithm::HS256;

/// The `aud` of the tokens of response links.
const AUDIENCE: &str = "response";

/// The grant of a response link: one response to one human request of a run, in the user's name, until the
/// expiry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseGrant {
    /// The tenant of the run.
    pub tenant: TenantId,
    /// The user in whose name the response counts.
    #[serde(rename = "sub")]
    pub user: UserId,
    /// The run of the human request.
    pub run: RunId,
    /// The id of the human request.
    pub human_request: HumanRequestId,
    /// The digest of the request's subject, 64 hexadecimal digits. A response about another subject is stale.
    pub digest: String,
    /// The expiry of the link, Unix milliseconds; a token stores whole seconds.
    #[serde(rename = "exp", with = "seconds")]
    pub expires_at_ms: i64,
}

/// The claims of a JWT.
#[derive(Serialize, Deserialize)]
struct Claims<G> {
    aud: String,
    #[serde(flatten)]
    grant: G,
}

/// The reason a token is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadLink {
    /// The token is from another deployment or for another purpose.
    NotOurs,
    /// The token has expired.
    Expired,
}

/// The keys of a deployment's links. The first key signs, and all keys verify.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkKeys(Vec<Secret>);

impl LinkKeys {
    /// Parses comma-separated keys.
    ///
    /// # Errors
    /// Returns the problem, without repeating a key.
    pub fn parse(text: &str) -> Result<Self, String> {
        let keys: Vec<Secret> = text.split(',').map(Secret::new).collect();
        let is_long = |key: &Secret| key.reveal().len() >= MIN_KEY;
        if keys.iter().all(is_long) && keys.len() <= MAX_KEYS {
            Ok(Self(keys))
        } else {
            let lengths: Vec<_> =
                keys.iter().map(|key| format!("{} bytes", key.reveal().len())).collect();
            Err(lengths.join(", "))
        }
    }

    /// Returns the token of a grant, always the same for the same grant; `None` if the grant cannot be
    /// encoded.
    #[must_use]
    pub fn sign_response(&self, grant: &ResponseGrant) -> Option<String> {
        let key = EncodingKey::from_secret(self.0.first()?.reveal().as_bytes());
        let claims = Claims { aud: AUDIENCE.to_owned(), grant };
        jsonwebtoken::encode(&Header::new(ALGORITHM), &claims, &key).ok()
    }

    /// Returns the grant of a currently valid token.
    ///
    /// # Errors
    /// Returns [`BadLink`] if the token is invalid or has expired.
    pub fn verify_response(&self, token: &str, now_ms: i64) -> Result<ResponseGrant, BadLink> {
        if !is_response_token(token) {
            return Err(BadLink::NotOurs);
        }
        let mut validation = Validation::new(ALGORITHM);
        validation.set_required_spec_claims(&["exp", "aud", "sub"]);
        validation.set_audience(&[AUDIENCE]);
        // The expiry is checked below with Djinn's own clock, which tests can move.
        validation.validate_exp = false;
        let claims = self.0.iter().find_map(|key| {
            let key = DecodingKey::from_secret(key.reveal().as_bytes());
            jsonwebtoken::decode::<Claims<ResponseGrant>>(token, &key, &validation).ok()
        });
        let grant = claims.ok_or(BadLink::NotOurs)?.claims.grant;
        if now_ms < grant.expires_at_ms { Ok(grant) } else { Err(BadLink::Expired) }
    }
}

/// Returns true if a token has the form of a response link's token, without checking the key.
pub(crate) fn is_response_token(token: &str) -> bool {
    let is_signed =
        || jsonwebtoken::decode_header(token).is_ok_and(|header| header.alg == ALGORITHM);
    token.len() <= MAX_TOKEN && is_signed()
}

/// JWT times in seconds, rounded down, so no link lasts longer.
mod seconds {
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(ms: &i64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(ms.div_euclid(1_000))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        Ok(i64::deserialize(deserializer)?.saturating_mul(1_000))
    }
}

#[cfg(test)]
mod tests;
