//! Sessions as requests name them: a label of the caller's own, or the handle of one that is shared.

use djinn_core::code::ErrorCode;
use djinn_core::session::SessionName;
use djinn_runtime::port::Ports;
use djinn_runtime::serve::{Access, Right, access};

use crate::Agent;
use crate::identity::Caller;
use crate::refusal::Refusal;

/// The session that the caller names, if the caller may do this in it.
pub(crate) async fn may<P: Ports>(
    agent: &Agent<P>,
    caller: &Caller,
    name: SessionName,
    right: Right,
) -> Result<Access, Refusal> {
    let access = access(&agent.ports, &caller.key(), name).await?;
    match right {
        _ if access.right >= right => Ok(access),
        Right::Own => Err(ErrorCode::OwnerOnly.into()),
        Right::Read | Right::Write => Err(ErrorCode::SessionReadOnly.into()),
    }
}
