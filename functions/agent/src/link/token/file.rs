//! The tokens of file links.
//!
//! A token is base64url without padding: a payload, and the first 16 bytes of an HMAC-SHA256 (RFC 4868). The
//! HMAC also covers the file's name, which is already in the path of the link.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use djinn_core::id::{FileName, TenantId, encode_hex};
use djinn_runtime::port::file_url::{Folder, NameHash};
use djinn_runtime::port::secret::Secret;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use super::{BadLink, LinkKeys};
use crate::link::MAX_LABEL;

/// The prefix of every signed text. The signed part of a JWT has no spaces, so a signature of one kind is
/// never valid for the other.
const PURPOSE: &str = "djinn file link v1";

/// Bytes of a signature.
const TAG: usize = 16;

/// Minimum size of a payload in bytes. A shorter payload ends with zeros, so each token is longer than a
/// label.
const MIN_PAYLOAD: usize = MAX_LABEL / 4 * 3 + 1 - TAG;

/// Kinds of objects. A payload begins with an index into this list: new kinds are added at the end.
const KINDS: [&str; 2] = ["files/", "uploads/"];

/// Hexadecimal digits of a 128-bit hash, and of half a SHA-256.
const HASH_DIGITS: usize = 32;

/// The grant of a file link: reading one content until the expiry, even if the file's name gets other content
/// later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileGrant {
    /// The folder of the session. The folder consists of hashes, so a holder of the link learns neither the
    /// session's owner nor the session's name.
    pub folder: Folder,
    /// The file's name, from the path of the link; not in the token.
    pub name: FileName,
    /// The object in the folder: `files/` or `uploads/` and 64 hexadecimal digits.
    pub object: String,
    /// The link's expiry, Unix milliseconds; a token counts whole seconds.
    pub expires_at_ms: i64,
}

impl LinkKeys {
    /// Returns the token of a grant, always the same for the same grant; `None` for an object of another
    /// form.
    #[must_use]
    pub fn sign_file(&self, grant: &FileGrant) -> Option<String> {
        let mut token = grant.encode()?;
        let mac = mac_of(self.0.first()?, &token, &grant.name)?.finalize().into_bytes();
        token.extend(mac.iter().take(TAG));
        Some(URL_SAFE_NO_PAD.encode(token))
    }

    /// Returns the grant of a currently valid token in a link to a file of this name.
    ///
    /// # Errors
    /// Returns [`BadLink`] if the token is invalid or has expired.
    pub fn verify_file(&self, token: &str, name: &str, now_ms: i64) -> Result<FileGrant, BadLink> {
        let (payload, tag) = split_token(token).ok_or(BadLink::NotOurs)?;
        let grant = FileGrant::decode(&payload, name).ok_or(BadLink::NotOurs)?;
        // The comparison takes constant time for each key, so no byte of a tag can be guessed alone.
        let is_signed_by = |key: &Secret| {
            mac_of(key, &payload, &grant.name)
                .is_some_and(|mac| mac.verify_truncated_left(&tag).is_ok())
        };
        if !self.0.iter().any(is_signed_by) {
            Err(BadLink::NotOurs)
        } else if now_ms < grant.expires_at_ms {
            Ok(grant)
        } else {
            Err(BadLink::Expired)
        }
    }
}

/// Returns true if a token has the form of a file link's token for this name, without checking the key.
pub(crate) fn is_file_token(token: &str, name: &str) -> bool {
    split_token(token).is_some_and(|(payload, _)| FileGrant::decode(&payload, name).is_some())
}

/// Splits a token into payload and signature.
fn split_token(token: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut payload = URL_SAFE_NO_PAD.decode(token).ok()?;
    let tag = payload.split_off(payload.len().checked_sub(TAG)?);
    Some((payload, tag))
}

/// The name is signed by a hash of fixed length, so no letter of the name counts as part of the tenant.
fn mac_of(key: &Secret, payload: &[u8], name: &FileName) -> Option<Hmac<Sha256>> {
    let mac = Hmac::<Sha256>::new_from_slice(key.reveal().as_bytes()).ok()?;
    let name = Sha256::digest(name.as_str());
    Some(mac.chain_update(PURPOSE).chain_update(name).chain_update(payload))
}

impl FileGrant {
    /// The kind of the object (1 byte), the hashes of owner and session (16 each), the hash of the object (32), the
    /// expiry in seconds (4), the tenant, and zeros. Numbers are big-endian.
    fn encode(&self) -> Option<Vec<u8>> {
        let (kind, object) = (0..)
            .zip(KINDS)
            .find_map(|(kind, prefix)| Some((kind, self.object.strip_prefix(prefix)?)))?;
        let (object_start, object_end) = object.split_at_checked(HASH_DIGITS)?;
        let Folder { tenant, owner, session } = &self.folder;
        let mut payload = vec![kind];
        for digits in [owner.as_str(), session.as_str(), object_start, object_end] {
            let hash = u128::from_str_radix(digits, 16).ok()?;
            let is_lowercase = format!("{hash:0HASH_DIGITS$x}") == digits;
            payload.extend(is_lowercase.then_some(hash)?.to_be_bytes());
        }
        // Rounded down, so no link lasts longer.
        let expires_at_s = self.expires_at_ms.div_euclid(1_000).clamp(0, u32::MAX.into());
        payload.extend(u32::try_from(expires_at_s).ok()?.to_be_bytes());
        payload.extend(tenant.as_str().as_bytes());
        payload.resize(payload.len().max(MIN_PAYLOAD), 0);
        Some(payload)
    }

    fn decode(payload: &[u8], name: &str) -> Option<Self> {
        let (kind, rest) = payload.split_first()?;
        let (hashes, rest) = rest.split_first_chunk::<64>()?;
        let (expires_at_s, tenant) = rest.split_first_chunk()?;
        let tenant = std::str::from_utf8(tenant).ok()?.trim_end_matches('\0');
        let digits = encode_hex(hashes);
        let (owner, digits) = digits.split_at_checked(HASH_DIGITS)?;
        let (session, object) = digits.split_at_checked(HASH_DIGITS)?;
        Some(Self {
            folder: Folder {
                tenant: TenantId::new(tenant).ok()?,
                owner: NameHash::try_from(owner.to_owned()).ok()?,
                session: NameHash::try_from(session.to_owned()).ok()?,
            },
            name: FileName::new(name).ok()?,
            object: format!("{}{object}", KINDS.get(usize::from(*kind))?),
            expires_at_ms: i64::from(u32::from_be_bytes(*expires_at_s)) * 1_000,
        })
    }
}

#[cfg(test)]
mod tests;
