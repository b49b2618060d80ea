//! The deletion of a session with all its contents.

use djinn_core::error_code::Failure;
use djinn_core::id::SessionId;

use super::store_failure;
use crate::perform::deliver::deliver_owed;
use crate::port::catalog::{Catalog, SessionDeletion};
use crate::port::{RunKey, UserKey};
use crate::world::Ports;

/// Deletes a session of the user's list with all its contents.
///
/// # Errors
/// Returns `store_unavailable`; a repeat deletes the rest.
pub async fn delete_session<P: Ports>(
    ports: &P,
    user: &UserKey,
    session: &SessionId,
) -> Result<SessionDeletion, Failure> {
    let forgotten = async {
        if ports.store().find_session(user, session).await?.is_none() {
            return Ok(SessionDeletion::Unknown);
        }
        // A run that has just ended may still owe the removal of its alarm. Deliver first, so no driver
        // writes a record after the deletion.
        let newest = ports.store().list_turns(&user.session_key(session), None, 1).await?;
        for turn in newest.items.into_iter().filter(|turn| turn.status.has_ended()) {
            match deliver_owed(ports, &RunKey::new(user.tenant.clone(), turn.run)).await {
                Err(error) if error.is_temporary() => return Err(error),
                // An unreadable run has no known deliveries.
                Ok(()) | Err(_) => {}
            }
        }
        ports.store().delete_session(user, session).await
    };
    forgotten.await.map_err(|error| store_failure(&error))
}
