//! What a link says, and how it is known to be ours.
//!
//! A token is base64 for URLs, without padding, of a version, the grant and an HMAC-SHA256 of both.
//! Nothing of it is secret but that HMAC; whoever has a token may answer what it names.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use djinn_core::id::{FeedbackId, RunId, TenantId, UserId, hex};
use djinn_runtime::port::secret::Secret;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The least bytes of a key: as many as the HMAC has.
pub const MIN_KEY: usize = 32;

/// The most keys at a time: the one that signs, and earlier ones.
const MAX_KEYS: usize = 8;

/// The most letters of a token: the longest ids there are, and some.
const MAX_TOKEN: usize = 1_024;

/// Of the layout below; another has another.
const VERSION: u8 = 1;

/// Stands before what is signed, so that the key is good for links alone.
const PURPOSE: &[u8] = b"djinn feedback link\0";

const MAC: usize = 32;
const RUN: usize = 16;
const DIGEST: usize = 32;

/// What a link lets its holder do: answer one thing that one run asks, in the name of its user, once
/// and until some moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Whose run it is.
    pub tenant: TenantId,
    /// In whose name is answered.
    pub user: UserId,
    /// The run that asks.
    pub run: RunId,
    /// What it asks.
    pub feedback: FeedbackId,
    /// The digest of what it asks, 64 hexadecimal digits: an answer about anything else is stale.
    pub digest: String,
    /// When the link ends, Unix milliseconds.
    pub expires_at_ms: i64,
}

/// Why a token lets nobody do anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadLink {
    /// It is none of this deployment's.
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
    pub fn read(text: &str) -> Result<Self, String> {
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

    /// The token of a grant; `None` for a digest that is none.
    #[must_use]
    pub fn sign(&self, grant: &Grant) -> Option<String> {
        let mut bytes = grant.bytes()?;
        let mac = mac(self.0.first()?, &bytes)?.finalize().into_bytes();
        bytes.extend_from_slice(&mac);
        Some(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// What a token grants at this moment.
    ///
    /// # Errors
    /// [`BadLink`].
    pub fn verify(&self, token: &str, now_ms: i64) -> Result<Grant, BadLink> {
        let grant = self.authentic(token).ok_or(BadLink::NotOurs)?;
        if now_ms < grant.expires_at_ms { Ok(grant) } else { Err(BadLink::Expired) }
    }

    fn authentic(&self, token: &str) -> Option<Grant> {
        let bytes = decoded(token)?;
        let (signed, tag) = bytes.split_at_checked(bytes.len().checked_sub(MAC)?)?;
        // In constant time for each key, so that no byte of a tag can be found out by itself.
        let is_of =
            |key: &Secret| mac(key, signed).is_some_and(|mac| mac.verify_slice(tag).is_ok());
        self.0.iter().any(is_of).then(|| Grant::of(signed)).flatten()
    }
}

/// Whether a text could be a token at all, which needs no key.
pub(crate) fn has_form(token: &str) -> bool {
    decoded(token).is_some()
}

fn decoded(token: &str) -> Option<Vec<u8>> {
    let bytes = (token.len() <= MAX_TOKEN).then(|| URL_SAFE_NO_PAD.decode(token).ok())??;
    (bytes.first() == Some(&VERSION)).then_some(bytes)
}

fn mac(key: &Secret, signed: &[u8]) -> Option<Hmac<Sha256>> {
    let mac = Hmac::<Sha256>::new_from_slice(key.reveal().as_bytes()).ok()?;
    Some(mac.chain_update(PURPOSE).chain_update(signed))
}

impl Grant {
    /// Version, expiry (8 bytes), run (16), digest (32), then tenant, user and feedback, each after its
    /// length in two bytes. Numbers are big-endian.
    fn bytes(&self) -> Option<Vec<u8>> {
        let mut bytes = vec![VERSION];
        bytes.extend(self.expires_at_ms.to_be_bytes());
        bytes.extend(unhex::<RUN>(self.run.as_str().strip_prefix("run_")?)?);
        bytes.extend(unhex::<DIGEST>(&self.digest)?);
        for text in [self.tenant.as_str(), self.user.as_str(), self.feedback.as_str()] {
            bytes.extend(u16::try_from(text.len()).ok()?.to_be_bytes());
            bytes.extend(text.as_bytes());
        }
        Some(bytes)
    }

    fn of(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(&[VERSION])?;
        let expires_at_ms = i64::from_be_bytes(*taken(&mut rest)?);
        let run = format!("run_{}", hex(taken::<RUN>(&mut rest)?));
        let digest = hex(taken::<DIGEST>(&mut rest)?);
        let [tenant, user, feedback] =
            [text(&mut rest)?, text(&mut rest)?, text(&mut rest)?].map(str::to_owned);
        rest.is_empty().then_some(())?;
        Some(Self {
            tenant: TenantId::new(tenant).ok()?,
            user: UserId::new(user).ok()?,
            run: RunId::new(run).ok()?,
            feedback: FeedbackId::new(feedback).ok()?,
            digest,
            expires_at_ms,
        })
    }
}

fn taken<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (first, others) = rest.split_first_chunk::<N>()?;
    *rest = others;
    Some(first)
}

fn text<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let length = u16::from_be_bytes(*taken(rest)?);
    let (first, others) = rest.split_at_checked(length.into())?;
    *rest = others;
    std::str::from_utf8(first).ok()
}

/// Lower-case hexadecimal digits as bytes.
fn unhex<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, []) = digits.as_bytes().as_chunks::<2>() else { return None };
    let bytes: Option<Vec<u8>> =
        pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect();
    bytes?.try_into().ok()
}

#[cfg(test)]
mod tests;
