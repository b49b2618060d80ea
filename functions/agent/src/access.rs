//! Access of callers to sessions and runs.

use djinn_core::error_code::ErrorCode;
use djinn_core::id::SessionName;
use djinn_runtime::serve::{
    AccessLevel, LoadedRun, Permission, RunAccess, SessionAccess, authorize_run, authorize_session,
};
use djinn_runtime::world::Ports;

use crate::agent::Agent;
use crate::api_error::ApiError;
use crate::identity::Caller;

/// Returns the named session if the caller has this right. The name is the caller's own label, or the handle of
/// a shared session.
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

/// Returns the run if the caller asked the question.
///
/// # Errors
/// Returns `asker_only` if another user asked and the caller is the session's owner or a guest. Returns
/// `run_not_found` for other users, and `share_ended` for a guest's own run after the end of the share.
pub(crate) async fn require_own_run<P: Ports>(
    agent: &Agent<P>,
    caller: &Caller,
    run: LoadedRun,
) -> Result<LoadedRun, ApiError> {
    let RunAccess { run, level: viewer, share_ended, .. } =
        authorize_run(&agent.ports, &caller.user_key(), run).await?;
    match viewer {
        AccessLevel::Asker if share_ended => Err(ErrorCode::ShareEnded.into()),
        AccessLevel::Asker => Ok(run),
        AccessLevel::SessionOwner | AccessLevel::Guest => Err(ErrorCode::AskerOnly.into()),
    }
}
