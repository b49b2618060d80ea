//! Keys of a session's objects.

use djinn_runtime::port::StoreError;
use djinn_runtime::port::file_url::Folder;

use super::{IN_TRANSIT, UPLOADED, WRITTEN};
use crate::key::tenant_prefix;

/// The kinds of a session's objects.
const KINDS: [&str; 3] = [WRITTEN, UPLOADED, IN_TRANSIT];

/// Returns an object's key in the bucket: `tenants/<tenant>/files/<owner>/<session>/<sha256>`, or `uploads`
/// or `sandbox`. A `ProductFile` names its object without tenant and session, so that no file can refer to
/// another session's object.
pub(crate) fn object_key(folder: &Folder, object: &str) -> Result<String, StoreError> {
    let kind = KINDS.into_iter().find(|kind| object.starts_with(kind));
    let name = kind.and_then(|kind| object.strip_prefix(kind));
    match (kind, name) {
        (Some(kind), Some(name)) if is_sha256(name) => {
            Ok(format!("{}{name}", kind_prefix(folder, kind)))
        }
        _ => Err(StoreError::Unreadable(format!("`{object}` names no object"))),
    }
}

/// Returns the prefixes of all objects of a folder.
pub(crate) fn all_prefixes(folder: &Folder) -> [String; 3] {
    KINDS.map(|kind| kind_prefix(folder, kind))
}

/// Returns the prefix of a folder's objects of one kind.
pub(super) fn kind_prefix(folder: &Folder, kind: &str) -> String {
    let Folder { tenant, owner, session } = folder;
    format!("{}{kind}{}/{}/", tenant_prefix(tenant), owner.as_str(), session.as_str())
}

fn is_sha256(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::sample;
    use djinn_core::id::{SessionId, UserId, sha256_hex};
    use djinn_runtime::port::SessionKey;

    #[test]
    fn an_objects_key_stays_within_its_tenant_and_session() {
        let hash = sha256_hex(b"x");
        let own = Folder::from(&sample::session());
        let key = object_key(&own, &format!("files/{hash}")).unwrap();
        assert!(key.starts_with("tenants/t/files/") && key.ends_with(&format!("/{hash}")), "{key}");
        let of_other = SessionKey { owner: UserId::new("b").unwrap(), ..sample::session() };
        let other = object_key(&Folder::from(&of_other), &format!("files/{hash}")).unwrap();
        assert_ne!(other, key);
        let dots = SessionKey { session: SessionId::new("..").unwrap(), ..sample::session() };
        let other = object_key(&Folder::from(&dots), &format!("uploads/{hash}")).unwrap();
        assert!(other.starts_with("tenants/t/uploads/") && !other.contains(".."), "{other}");
        for bad in
            ["", "files/", "files/../x", "tenants/t/files/s/x", "runs/x", &format!("x/{hash}")]
        {
            assert!(object_key(&own, bad).is_err(), "{bad}");
        }
    }
}
