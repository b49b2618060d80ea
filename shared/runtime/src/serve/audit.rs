//! The audit of a run, from a verified journal.

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::journal::ChainError;
use djinn_protocol::audit::AuditLog;

use super::{LoadedRun, store_failure};
use crate::port::clock::Clock;
use crate::port::journal::Journals;
use crate::port::page::PageSize;
use crate::verification::{VerificationError, verify_journal};
use crate::world::Ports;

/// Returns the requests, resolutions and users of a run as JSON, one object per line: see [`AuditLog`].
///
/// # Errors
/// Returns `journal_altered` with the first record that is not as written, `run_expired`, or
/// `store_unavailable`.
pub async fn load_audit<P: Ports>(ports: &P, run: &LoadedRun) -> Result<String, Failure> {
    let key = run.key();
    let mut audit = AuditLog::default();
    let chain_head = run.meta().chain_head.clone();
    let add_record = |record: &_| audit.add_record(&key.run, record);
    match verify_journal(ports.store(), key, chain_head, PageSize::FOR_FOLD, add_record).await {
        Ok(_) => Ok(audit.into_text()),
        Err(VerificationError::Chain(error)) => Err(altered_failure(ports, run, &error).await),
        Err(VerificationError::Store(error)) => Err(store_failure(&error)),
    }
}

/// Returns the failure for a record that is not as written. Expired records are deleted one by one.
async fn altered_failure<P: Ports>(ports: &P, run: &LoadedRun, error: &ChainError) -> Failure {
    let now_s = ports.clock().now_ms().div_euclid(1_000);
    if now_s >= run.meta().journal_expires_at_s {
        return ErrorCode::RunExpired.into();
    }
    match ports.store().find_meta(run.key()).await {
        // Its session was deleted in the meantime.
        Ok(None) => ErrorCode::RunNotFound.into(),
        Ok(Some(_)) => {
            tracing::error!(run_id = %run.key().run, %error, "journal altered");
            Failure::new(ErrorCode::JournalAltered, error.to_string())
        }
        Err(error) => store_failure(&error),
    }
}
