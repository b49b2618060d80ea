//! Where a session's objects lie.

use djinn_core::id::{BadId, TenantId};
use djinn_runtime::port::{SessionKey, StoreError};
use serde::{Deserialize, Serialize};

use super::{UPLOADED, WRITTEN};
use crate::key::{short_hash, user_hash};

/// Letters of a hash.
const LETTERS: usize = 32;

/// The hash that stands for a name where the name itself is not to be read: 32 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NameHash(String);

impl TryFrom<String> for NameHash {
    type Error = BadId;

    fn try_from(text: String) -> Result<Self, BadId> {
        let is_hash = text.len() == LETTERS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hash {
            Ok(Self(text))
        } else {
            Err(BadId { what: "hash", rule: "32 hexadecimal digits" })
        }
    }
}

impl From<NameHash> for String {
    fn from(hash: NameHash) -> Self {
        hash.0
    }
}

/// The part of the bucket that holds a session's files. It says whose they are to nobody who does not know
/// it: a label may be `..` besides, and too long for the names of the local store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// The tenant is the first part of every key in the folder, and is not hashed.
    pub tenant: TenantId,
    /// The hash of the session's owner.
    pub owner: NameHash,
    /// The hash of its label.
    pub session: NameHash,
}

impl From<&SessionKey> for Folder {
    fn from(session: &SessionKey) -> Self {
        let SessionKey { tenant, owner, session } = session;
        Self {
            tenant: tenant.clone(),
            owner: NameHash(user_hash(owner)),
            session: NameHash(short_hash(session.as_str())),
        }
    }
}

impl Folder {
    /// The key of an object in the bucket: `<tenant>/files/<owner>/<session>/<sha256>`, or `uploads`. A
    /// `ProductFile` names its object without tenant and session, so that none can point into another's.
    pub(crate) fn object_key(&self, object: &str) -> Result<String, StoreError> {
        let kind = [WRITTEN, UPLOADED].into_iter().find(|kind| object.starts_with(kind));
        let name = kind.and_then(|kind| object.strip_prefix(kind));
        match (kind, name) {
            (Some(kind), Some(name)) if is_sha256(name) => {
                Ok(format!("{}{name}", self.kind_prefix(kind)))
            }
            _ => Err(StoreError::Unreadable(format!("`{object}` names no object"))),
        }
    }

    /// Where all its objects lie.
    pub(crate) fn all_prefixes(&self) -> [String; 2] {
        [WRITTEN, UPLOADED].map(|kind| self.kind_prefix(kind))
    }

    /// Where those of one kind lie.
    pub(super) fn kind_prefix(&self, kind: &str) -> String {
        format!("{}/{kind}{}/{}/", self.tenant, self.owner.0, self.session.0)
    }
}

fn is_sha256(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::sample;
    use djinn_core::id::{SessionId, UserId, sha256_hex};

    #[test]
    fn an_objects_key_stays_within_its_tenant_and_session() {
        let hash = sha256_hex(b"x");
        let own = Folder::from(&sample::session());
        let key = own.object_key(&format!("files/{hash}")).unwrap();
        assert!(key.starts_with("t/files/") && key.ends_with(&format!("/{hash}")), "{key}");
        let of_other = SessionKey { owner: UserId::new("b").unwrap(), ..sample::session() };
        let other = Folder::from(&of_other).object_key(&format!("files/{hash}")).unwrap();
        assert_ne!(other, key);
        let dots = SessionKey { session: SessionId::new("..").unwrap(), ..sample::session() };
        let other = Folder::from(&dots).object_key(&format!("uploads/{hash}")).unwrap();
        assert!(other.starts_with("t/uploads/") && !other.contains(".."), "{other}");
        for bad in ["", "files/", "files/../x", "t/files/s/x", "runs/x", &format!("x/{hash}")] {
            assert!(own.object_key(bad).is_err(), "{bad}");
        }
        for bad in ["", "..", "../../x", &"g".repeat(32), &hash] {
            assert!(NameHash::try_from(bad.to_owned()).is_err(), "{bad}");
        }
        assert_eq!(NameHash::try_from(String::from(own.owner.clone())), Ok(own.owner));
    }
}
