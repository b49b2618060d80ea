//! The grants of links, and the keys that sign them.
//!
//! The token of a link for an answer is a JWT (RFC 7519), signed with HMAC-SHA256. The token of a link to a file is
//! binary, so that it is short (`file.rs`). Neither passes for the other. Nothing of a token is secret but the
//! signature; whoever has a token may do what it grants.

mod file;

use djinn_core::id::{HumanRequestId, RunId, TenantId, UserId};
use djinn_runtime::port::secret::Secret;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};

pub use file::FileGrant;
pub(crate) use file::is_file_token;

/// The least bytes of a key: as many as the HMAC has.
pub const MIN_KEY: usize = 32;

/// The most keys at a time: the one that signs, and earlier ones.
const MAX_KEYS: usize = 8;

/// The most letters of a JWT: the longest ids there are, and some.
const MAX_TOKEN: usize = 2_048;

/// What a JWT is signed with. Those of others count for nothing, whatever a token says of itself.
const ALGORITHM: Algorithm = Algorithm::HS256;

/// The `aud` of the tokens that grant an answer.
const AUDIENCE: &str = "answer";

/// What a link lets its holder do: answer one thing that one run asks, in the name of its user, once
/// and until some moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerGrant {
    /// Whose run it is.
    pub tenant: TenantId,
    /// In whose name is answered.
    #[serde(rename = "sub")]
    pub user: UserId,
    /// The run that asks.
    pub run: RunId,
    /// The id names the one request of the run that the link answers.
    pub human_request: HumanRequestId,
    /// The digest of what it asks, 64 hexadecimal digits: an answer about anything else is stale.
    pub digest: String,
    /// When the link ends, Unix milliseconds; a token counts whole seconds.
    #[serde(rename = "exp", with = "seconds")]
    pub expires_at_ms: i64,
}

/// All that a JWT says.
#[derive(Serialize, Deserialize)]
struct Claims<G> {
    aud: String,
    #[serde(flatten)]
    grant: G,
}

/// Why a token lets nobody do anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadLink {
    /// It is none of this deployment's, or one for something else.
    NotOurs,
    /// It is, and its time is over.
    Expired,
}

/// The keys of a deployment's links: the first signs, all of them verify.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkKeys(Vec<Secret>);

impl LinkKeys {
    /// Reads keys with commas between them.
    ///
    /// # Errors
    /// What is wrong, which never repeats a key.
    pub fn parse(text: &str) -> Result<Self, String> {
        let keys: Vec<Secret> = text.split(',').map(Secret::new).collect();
        let is_long = |key: &Secret| key.reveal().len() >= MIN_KEY;
        match keys.iter().all(is_long) && keys.len() <= MAX_KEYS {
            true => Ok(Self(keys)),
            false => {
                let lengths: Vec<_> =
                    keys.iter().map(|key| format!("{} bytes", key.reveal().len())).collect();
                Err(lengths.join(", "))
            }
        }
    }

    /// The token of a grant, which is the same for the same grant; `None` if it cannot be written.
    #[must_use]
    pub fn sign_answer(&self, grant: &AnswerGrant) -> Option<String> {
        let key = EncodingKey::from_secret(self.0.first()?.reveal().as_bytes());
        let claims = Claims { aud: AUDIENCE.to_owned(), grant };
        jsonwebtoken::encode(&Header::new(ALGORITHM), &claims, &key).ok()
    }

    /// Returns the grant of a token that is valid at this moment.
    ///
    /// # Errors
    /// [`BadLink`].
    pub fn verify_answer(&self, token: &str, now_ms: i64) -> Result<AnswerGrant, BadLink> {
        let grant = self.decode_answer(token).ok_or(BadLink::NotOurs)?;
        if now_ms < grant.expires_at_ms { Ok(grant) } else { Err(BadLink::Expired) }
    }

    fn decode_answer(&self, token: &str) -> Option<AnswerGrant> {
        is_answer_token(token).then_some(())?;
        let mut validation = Validation::new(ALGORITHM);
        validation.set_required_spec_claims(&["exp", "aud", "sub"]);
        validation.set_audience(&[AUDIENCE]);
        // By our own clock, which tests can move; see `verify_answer`.
        validation.validate_exp = false;
        let claims = self.0.iter().find_map(|key| {
            let key = DecodingKey::from_secret(key.reveal().as_bytes());
            jsonwebtoken::decode::<Claims<AnswerGrant>>(token, &key, &validation).ok()
        });
        Some(claims?.claims.grant)
    }
}

/// Checks the form of a token of a link for an answer, without a key.
pub(crate) fn is_answer_token(token: &str) -> bool {
    let signed = || jsonwebtoken::decode_header(token).is_ok_and(|header| header.alg == ALGORITHM);
    token.len() <= MAX_TOKEN && signed()
}

/// Times as JWT writes them: in seconds. They are rounded down, so that nothing lasts longer.
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
