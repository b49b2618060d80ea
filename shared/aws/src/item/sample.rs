//! Keys for the items' tests.

use djinn_core::id::{RunId, SessionId, ShareHandle, TenantId, UserId};
use djinn_core::session::SharedSession;
use djinn_runtime::port::{RunKey, SessionKey, UserKey};

pub(crate) fn tenant() -> TenantId {
    TenantId::new("t").unwrap()
}

pub(crate) fn run() -> RunKey {
    RunKey::new(tenant(), run_id())
}

pub(crate) fn run_id() -> RunId {
    RunId::new(format!("run_{}", "0".repeat(32))).unwrap()
}

pub(crate) fn session() -> SessionKey {
    user_key().session_key(&SessionId::new("s").unwrap())
}

pub(crate) fn shared_session() -> SharedSession {
    let handle = ShareHandle::new(format!("shr_{}", "1".repeat(32))).unwrap();
    SharedSession { owner: UserId::new("owner").unwrap(), handle }
}

pub(crate) fn user_key() -> UserKey {
    UserKey { tenant: tenant(), user: user() }
}

pub(crate) fn user() -> UserId {
    UserId::new("arn:aws:iam::1:user/a").unwrap()
}
