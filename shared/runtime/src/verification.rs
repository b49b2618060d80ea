//! Verification of a stored journal, by the hashes of its records.

use djinn_core::journal::{ChainError, ChainHead, ChainVerifier, Record};

use crate::port::journal::Journals;
use crate::port::page::PageSize;
use crate::port::{RunKey, StoreError};

/// The reason why a journal is not verified.
#[derive(Debug, thiserror::Error)]
pub enum VerificationError {
    /// A record is not as written, or missing.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The journal cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reads a journal in pages, the first of this size, and verifies each record before passing it to `see`.
/// `noted` is the head of the chain in the run's metadata. Returns the head of the chain.
///
/// # Errors
/// Returns [`VerificationError`] for the first record that is not as written.
pub async fn verify_journal(
    store: &impl Journals,
    key: &RunKey,
    noted: Option<ChainHead>,
    mut size: PageSize,
    mut see: impl FnMut(&Record) + Send,
) -> Result<ChainHead, VerificationError> {
    let mut verifier = ChainVerifier::new(key.to_string(), noted);
    let mut from = 0;
    loop {
        let page = store.read_texts(key, from, size).await?;
        for text in &page.records {
            verifier.add_record(text)?;
            let record = text.decode().map_err(|error| {
                StoreError::Unreadable(format!("record {}: {error}", text.number))
            })?;
            see(&record);
            from = text.number.saturating_add(1);
        }
        if !page.has_more || page.records.is_empty() {
            return Ok(verifier.finish()?);
        }
        size = size.next_size(&page);
    }
}
