//! Resolves session names in requests: the caller's own label, or the handle of a shared session.

use djinn_core::error_code::ErrorCode;
use djinn_core::id::SessionName;
use djinn_runtime::serve::{Permission, SessionAccess, authorize_session};
use djinn_runtime::world::Ports;

use crate::agent::Agent;
use crate::api_error::ApiError;
use crate::identity::Caller;

/// Returns the named session if the caller has this right.
pub(crate) async fn require_access<P: Ports>(
    agent: &Agent<P>,
    caller: &Caller,
    name: SessionName,
    right: Permission,
) -> Result<SessionAccess, ApiError> {
    let access = authorize_session(&agent.ports, &caller.user_key(), name).await?;
    match right {
        _ if access.permission >= right => Ok(access),
        Permission::Own => Err(ErrorCode::OwnerOnly.into()),
        Permission::Read | Permission::Write => Err(ErrorCode::SessionReadOnly.into()),
    }
}
