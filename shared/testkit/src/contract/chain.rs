//! Checks of the hashes that a store gives its records.

use std::error::Error;

use djinn_core::journal::{ChainHead, Record};
use djinn_core::status::RunStatus;
use djinn_runtime::port::journal::{AppendResult, CreateResult};
use djinn_runtime::port::lease::{LeaseAcquisition, LeaseNote};
use djinn_runtime::port::page::PageSize;
use djinn_runtime::port::{RunKey, Store};
use djinn_runtime::verification::verify_journal;

use super::Checked;
use super::fixture::{EXPIRY, RunFixture, lease_of, record_of, text_of};

/// A store returns the hash of each record, also for a repeated write. The stored texts have these hashes.
pub async fn records_form_a_chain(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    let new = run.created_by("w0", None)?;
    let created = store.create(&run.key, &new).await?;
    assert_eq!(store.create(&run.key, &new).await?, created);
    let CreateResult::Created(hash) = created else { return Err("not created".into()) };
    let mut head = ChainHead { records: 1, hash };
    for n in 1..=5 {
        let text = text_of(if n == 2 { 300_000 } else { 10 });
        let record = record_of(n, &format!("w{n}"), &text)?;
        let record = Record { previous: head.hash.clone(), ..record };
        let append = async || match n {
            4 => store.append_end(&run.key, &record, &run.run_end(), EXPIRY).await,
            _ => store.append(&run.key, &record, EXPIRY).await,
        };
        let appended = append().await?;
        assert_eq!(append().await?, appended);
        let AppendResult::Appended(hash) = appended else { return Err("not appended".into()) };
        head = ChainHead { records: n + 1, hash: hash.clone() };
        assert_eq!(store.read_newest(&run.key, 1).await?, [Record { hash: Some(hash), ..record }]);
        assert_eq!(verify_stored(store, &run.key, 100).await?, head);
        let meta = store.find_meta(&run.key).await?.ok_or("no run")?;
        match n {
            4 => assert_eq!(meta.chain_head.as_ref(), Some(&head)),
            _ => assert_eq!(meta.chain_head.is_some(), n > 4),
        }
    }
    assert_eq!(verify_stored(store, &run.key, 1).await?, head);
    let meta = store.find_meta(&run.key).await?.ok_or("no run")?;
    assert_eq!(meta.journal_expires_at_s, EXPIRY);
    Ok(())
}

/// The holder of a lease notes the head of the chain when it releases the lease. The note stays until the next.
pub async fn head_is_noted_when_a_lease_is_released(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    let lease = lease_of("h", 50, 1);
    let created = store.create(&run.key, &run.created_by("w0", Some(lease.clone()))?).await?;
    let CreateResult::Created(hash) = created else { return Err("not created".into()) };
    let head = ChainHead { records: 1, hash };
    let noted = async || store.find_meta(&run.key).await.map(|meta| meta?.chain_head);
    assert_eq!(noted().await?, None);
    let status = RunStatus::Paused;
    let note = LeaseNote { head: &head, has_open_requests: false };
    store.release_lease(&run.key, &lease_of("other", 50, 1), status, Some(note)).await?;
    assert_eq!(noted().await?, None);
    store.release_lease(&run.key, &lease, status, Some(note)).await?;
    assert_eq!(noted().await?, Some(head.clone()));
    let LeaseAcquisition::Acquired { lease, .. } =
        store.take_lease(&run.key, "next", 100, 200).await?
    else {
        return Err("not acquired".into());
    };
    store.release_lease(&run.key, &lease, status, None).await?;
    assert_eq!(noted().await?, Some(head));
    Ok(())
}

/// The start that the children of a round share is part of each child's chain.
pub async fn starts_of_children_are_part_of_their_chains(store: &impl Store) -> Checked {
    for (request, bytes) in [("short", 100), ("long", 20_000)] {
        let run = RunFixture::of("s", request)?;
        for step in 1..=2 {
            let child = run.child_run(step, &text_of(bytes))?;
            let created = store.create(&child.key, &child.created_by("w", None)?).await?;
            let head = verify_stored(store, &child.key, 9).await?;
            assert_eq!(created, CreateResult::Created(head.hash));
        }
    }
    Ok(())
}

/// Verifies the stored texts of a journal, in pages, the first of this many records.
///
/// # Errors
/// Returns an error that names the first record that is not as written, or an error of the store.
pub async fn verify_stored(
    store: &impl Store,
    key: &RunKey,
    records: usize,
) -> Result<ChainHead, Box<dyn Error + Send + Sync>> {
    let chain_head = store.find_meta(key).await?.and_then(|meta| meta.chain_head);
    let size = PageSize { records, bytes: usize::MAX };
    Ok(verify_journal(store, key, chain_head, size, |_| {}).await?)
}
