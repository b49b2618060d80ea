//! What links say, and how they are known to be ours.
//!
//! A token is a JWT (RFC 7519) signed with HMAC-SHA256. Its `aud` says what it is good for, so that a link
//! to a file answers nothing. Nothing of it is secret but the signature; whoever has a token may do what
//! it grants.

use djinn_core::id::{FileName, HumanRequestId, RunId, TenantId, UserId};
use djinn_runtime::port::file_url::Folder;
use djinn_runtime::port::secret::Secret;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The least bytes of a key: as many as the HMAC has.
pub const MIN_KEY: usize = 32;

/// The most keys at a time: the one that signs, and earlier ones.
const MAX_KEYS: usize = 8;

/// The most letters of a token: the longest ids and names there are, and some.
const MAX_TOKEN: usize = 2_048;

/// What a token is signed with. Those of others count for nothing, whatever a token says of itself.
const ALGORITHM: Algorithm = Algorithm::HS256;

/// What the tokens of one kind of link grant.
pub trait LinkGrant: Serialize + DeserializeOwned {
    /// The `aud` of these tokens, which no other kind has.
    const AUDIENCE: &'static str;

    /// When the link ends, Unix milliseconds.
    fn expires_at_ms(&self) -> i64;
}

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

/// What a link to a file lets its holder do: read one content of it until some moment, whatever is
/// written under its name later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileGrant {
    /// The session's files among all. Whoever has the link learns of nobody whose session it is, and not
    /// what they call it.
    #[serde(flatten, with = "folder")]
    pub folder: Folder,
    /// Its name, as it stands in the link too.
    pub name: FileName,
    /// Where its bytes lie among the session's, which ends with the hash of their content.
    pub object: String,
    /// When the link ends, Unix milliseconds; a token counts whole seconds.
    #[serde(rename = "exp", with = "seconds")]
    pub expires_at_ms: i64,
}

impl LinkGrant for AnswerGrant {
    const AUDIENCE: &'static str = "answer";

    fn expires_at_ms(&self) -> i64 {
        self.expires_at_ms
    }
}

impl LinkGrant for FileGrant {
    const AUDIENCE: &'static str = "file";

    fn expires_at_ms(&self) -> i64 {
        self.expires_at_ms
    }
}

/// All that a token says.
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
    pub fn sign<G: LinkGrant>(&self, grant: &G) -> Option<String> {
        let key = EncodingKey::from_secret(self.0.first()?.reveal().as_bytes());
        let claims = Claims { aud: G::AUDIENCE.to_owned(), grant };
        jsonwebtoken::encode(&Header::new(ALGORITHM), &claims, &key).ok()
    }

    /// What a token grants at this moment.
    ///
    /// # Errors
    /// [`BadLink`].
    pub fn verify<G: LinkGrant>(&self, token: &str, now_ms: i64) -> Result<G, BadLink> {
        let grant: G = self.decode_grant(token).ok_or(BadLink::NotOurs)?;
        if now_ms < grant.expires_at_ms() { Ok(grant) } else { Err(BadLink::Expired) }
    }

    fn decode_grant<G: LinkGrant>(&self, token: &str) -> Option<G> {
        is_well_formed(token).then_some(())?;
        let mut validation = Validation::new(ALGORITHM);
        validation.set_required_spec_claims(&["exp", "aud", "sub"]);
        validation.set_audience(&[G::AUDIENCE]);
        // By our own clock, which tests can move; see `verify`.
        validation.validate_exp = false;
        let claims = self.0.iter().find_map(|key| {
            let key = DecodingKey::from_secret(key.reveal().as_bytes());
            jsonwebtoken::decode::<Claims<G>>(token, &key, &validation).ok()
        });
        Some(claims?.claims.grant)
    }
}

/// Whether a text could be a token at all, which needs no key.
pub(crate) fn is_well_formed(token: &str) -> bool {
    let signed = || jsonwebtoken::decode_header(token).is_ok_and(|header| header.alg == ALGORITHM);
    token.len() <= MAX_TOKEN && signed()
}

/// A folder as the claims of a JWT, whose subject is the owner.
mod folder {
    use djinn_core::id::TenantId;
    use djinn_runtime::port::file_url::{Folder, NameHash};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Claims {
        tenant: TenantId,
        sub: NameHash,
        session: NameHash,
    }

    pub(super) fn serialize<S: Serializer>(
        folder: &Folder,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let Folder { tenant, owner, session } = folder.clone();
        Claims { tenant, sub: owner, session }.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Folder, D::Error> {
        let Claims { tenant, sub: owner, session } = Claims::deserialize(deserializer)?;
        Ok(Folder { tenant, owner, session })
    }
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
