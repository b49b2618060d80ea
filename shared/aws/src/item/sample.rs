//! Keys for the items' tests.

use djinn_core::id::{RunId, SessionId, TenantId, UserId};
use djinn_runtime::port::RunKey;
use djinn_runtime::port::journal::SessionKey;

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
    SessionKey { tenant: tenant(), session: SessionId::new("s").unwrap() }
}

pub(crate) fn user() -> UserId {
    UserId::new("arn:aws:iam::1:user/a").unwrap()
}
