//! Checks of taking, renewing and releasing the leases of runs.

use djinn_core::journal::ChainHead;
use djinn_core::status::RunStatus;
use djinn_runtime::port::Store;
use djinn_runtime::port::journal::CreateResult;
use djinn_runtime::port::lease::{LeaseAcquisition, LeaseNote, LeaseRenewal};
use futures::future::try_join_all;

use super::Checked;
use super::fixture::{EXPIRY, RunFixture, lease_of, record_of};

/// A held lease cannot be taken before its expiry; taking it afterwards reports the lapse.
pub async fn a_lease_is_held_until_it_lapses(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    store.create(&run.key, &run.created_by("w", Some(lease_of("a", 1_000, 1)))?).await?;
    assert_eq!(store.take_lease(&run.key, "b", 500, 1_500).await?, LeaseAcquisition::Unavailable);
    let acquisition = store.take_lease(&run.key, "b", 2_000, 3_000).await?;
    assert_eq!(
        acquisition,
        LeaseAcquisition::Acquired { lease: lease_of("b", 3_000, 2), lapsed: true }
    );
    let meta = store.find_meta(&run.key).await?.ok_or("no run")?;
    assert_eq!(meta.lease, Some(lease_of("b", 3_000, 2)));
    // The former holder can neither renew the lease nor take it back.
    let old = lease_of("a", 1_000, 1);
    assert_eq!(store.renew_lease(&run.key, &old, 9_000, false).await?, LeaseRenewal::Lost);
    assert_eq!(store.take_lease(&run.key, "a", 2_500, 9_000).await?, LeaseAcquisition::Unavailable);
    Ok(())
}

/// A lease is valid before its expiry, and invalid at its expiry.
pub async fn a_lease_lapses_in_the_millisecond_of_its_end(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    store.create(&run.key, &run.created_by("w", Some(lease_of("a", 1_000, 1)))?).await?;
    let meta = store.find_meta(&run.key).await?.ok_or("no run")?;
    assert_eq!((meta.is_driven(999), meta.is_driven(1_000)), (true, false));
    assert_eq!(store.take_lease(&run.key, "b", 999, 5_000).await?, LeaseAcquisition::Unavailable);
    let acquisition = store.take_lease(&run.key, "b", 1_000, 1_001).await?;
    assert_eq!(
        acquisition,
        LeaseAcquisition::Acquired { lease: lease_of("b", 1_001, 2), lapsed: true }
    );
    assert_eq!(store.take_lease(&run.key, "c", 1_000, 2_000).await?, LeaseAcquisition::Unavailable);
    let acquisition = store.take_lease(&run.key, "c", 1_001, 2_000).await?;
    assert_eq!(
        acquisition,
        LeaseAcquisition::Acquired { lease: lease_of("c", 2_000, 3), lapsed: true }
    );
    Ok(())
}

/// A handoff is no lapse; epochs keep counting.
pub async fn a_released_lease_is_taken_without_a_lapse(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    store.create(&run.key, &run.created_by("w", Some(lease_of("a", 1_000, 1)))?).await?;
    store.release_lease(&run.key, &lease_of("a", 1_000, 1), RunStatus::Running, None).await?;
    assert_eq!(store.find_meta(&run.key).await?.ok_or("no run")?.lease, None);
    let acquisition = store.take_lease(&run.key, "b", 10, 500).await?;
    assert_eq!(
        acquisition,
        LeaseAcquisition::Acquired { lease: lease_of("b", 500, 2), lapsed: false }
    );
    // A late or repeated release never releases another holder's lease.
    store.release_lease(&run.key, &lease_of("a", 1_000, 1), RunStatus::Running, None).await?;
    store.release_lease(&run.key, &lease_of("b", 500, 1), RunStatus::Running, None).await?;
    assert_eq!(store.take_lease(&run.key, "c", 11, 600).await?, LeaseAcquisition::Unavailable);
    store.release_lease(&run.key, &lease_of("b", 500, 2), RunStatus::Running, None).await?;
    store.release_lease(&run.key, &lease_of("b", 500, 2), RunStatus::Running, None).await?;
    let acquisition = store.take_lease(&run.key, "c", 12, 700).await?;
    assert_eq!(
        acquisition,
        LeaseAcquisition::Acquired { lease: lease_of("c", 700, 3), lapsed: false }
    );
    Ok(())
}

/// A run may be created without a lease.
pub async fn a_run_without_a_lease_waits_for_its_first_driver(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    store.create(&run.key, &run.created_by("w", None)?).await?;
    let meta = store.find_meta(&run.key).await?.ok_or("no run")?;
    assert_eq!((meta.status, meta.lease), (RunStatus::Queued, None));
    let acquisition = store.take_lease(&run.key, "a", 0, 100).await?;
    assert_eq!(
        acquisition,
        LeaseAcquisition::Acquired { lease: lease_of("a", 100, 1), lapsed: false }
    );
    assert_eq!(store.find_meta(&run.key).await?.ok_or("no run")?.status, RunStatus::Running);
    Ok(())
}

/// Of concurrent attempts to take a lapsed lease, one succeeds.
pub async fn of_concurrent_takers_one_holds_the_lease(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    store.create(&run.key, &run.created_by("w", Some(lease_of("a", 1_000, 1)))?).await?;
    for round in 0..4 {
        let now_ms = 1_000 * (round + 1);
        let until_ms = 1_000 * (round + 2);
        let holders: Vec<_> = (0..6).map(|n| format!("h{round}.{n}")).collect();
        let takers =
            holders.iter().map(|holder| store.take_lease(&run.key, holder, now_ms, until_ms));
        let acquisitions = try_join_all(takers).await?;
        let ours: Vec<_> = acquisitions
            .iter()
            .filter(|acquisition| **acquisition != LeaseAcquisition::Unavailable)
            .collect();
        assert_eq!(ours.len(), 1, "{acquisitions:?}");
        let epoch = u64::try_from(round)? + 2;
        let is_next = |acquisition: &LeaseAcquisition| matches!(acquisition, LeaseAcquisition::Acquired { lease, lapsed: true } if lease.epoch == epoch);
        assert!(ours.into_iter().all(is_next), "{acquisitions:?}");
    }
    Ok(())
}

/// A repeat after a lost reply returns the same lease, with the same lapse flag.
pub async fn taking_a_lease_again_gives_the_same_lease(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    store.create(&run.key, &run.created_by("w", Some(lease_of("a", 1_000, 1)))?).await?;
    for lapsed in [true, false] {
        let first = store.take_lease(&run.key, "b", 1_000, 3_000).await?;
        assert!(
            matches!(first, LeaseAcquisition::Acquired { lapsed: l, .. } if l == lapsed),
            "{first:?}"
        );
        assert_eq!(store.take_lease(&run.key, "b", 1_000, 3_000).await?, first);
        let LeaseAcquisition::Acquired { lease, .. } = first else {
            return Err("not taken".into());
        };
        store.release_lease(&run.key, &lease, RunStatus::Running, None).await?;
    }
    // The caller's own lease has lapsed: later records may have been missed.
    let first = store.take_lease(&run.key, "c", 0, 10).await?;
    assert_eq!(first, LeaseAcquisition::Acquired { lease: lease_of("c", 10, 4), lapsed: false });
    let second = store.take_lease(&run.key, "c", 20, 30).await?;
    assert_eq!(second, LeaseAcquisition::Acquired { lease: lease_of("c", 30, 5), lapsed: true });
    Ok(())
}

/// Only the holder can renew a lease, expired or not.
pub async fn a_lease_is_renewed_and_released_only_by_its_holder(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    let ours = lease_of("a", 1_000, 1);
    let created = store.create(&run.key, &run.created_by("w", Some(ours.clone()))?).await?;
    let CreateResult::Created(hash) = created else { return Err("not created".into()) };
    let success = LeaseRenewal::Renewed;
    assert_eq!(store.renew_lease(&run.key, &ours, 2_000, false).await?, success);
    assert_eq!(store.take_lease(&run.key, "b", 1_500, 9_000).await?, LeaseAcquisition::Unavailable);
    // The lease lapsed at 2 000, and was not taken.
    assert_eq!(store.renew_lease(&run.key, &ours, 5_000, false).await?, success);
    for stranger in [lease_of("b", 5_000, 1), lease_of("a", 5_000, 2), lease_of("a", 5_000, 0)] {
        assert_eq!(store.renew_lease(&run.key, &stranger, 9_000, false).await?, LeaseRenewal::Lost);
        store.release_lease(&run.key, &stranger, RunStatus::Running, None).await?;
    }
    let meta = store.find_meta(&run.key).await?.ok_or("no run")?;
    assert_eq!(meta.lease, Some(lease_of("a", 5_000, 1)));
    for has_open_requests in [false, true] {
        store.renew_lease(&run.key, &ours, 5_000, has_open_requests).await?;
        let meta = store.find_meta(&run.key).await?.ok_or("no run")?;
        assert_eq!(meta.has_open_requests, has_open_requests);
    }
    store.release_lease(&run.key, &ours, RunStatus::Running, None).await?;
    assert_eq!(store.renew_lease(&run.key, &ours, 9_000, false).await?, LeaseRenewal::Lost);
    // The note outlives the driver, until the next driver knows more.
    for has_open_requests in [true, false] {
        let lease = match store.take_lease(&run.key, "b", 9_000, 10_000).await? {
            LeaseAcquisition::Acquired { lease, .. } => lease,
            LeaseAcquisition::Unavailable => return Err("not acquired".into()),
        };
        let meta = store.find_meta(&run.key).await?.ok_or("no run")?;
        assert!(meta.has_open_requests);
        let head = ChainHead { records: 1, hash: hash.clone() };
        let note = LeaseNote { head: &head, has_open_requests };
        store.release_lease(&run.key, &lease, RunStatus::Running, Some(note)).await?;
        let meta = store.find_meta(&run.key).await?.ok_or("no run")?;
        assert_eq!(meta.has_open_requests, has_open_requests);
    }
    Ok(())
}

/// Ended and missing runs have no lease.
pub async fn an_ended_run_is_not_driven(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    let ours = lease_of("a", 1_000, 1);
    assert_eq!(store.take_lease(&run.key, "a", 0, 1_000).await?, LeaseAcquisition::Unavailable);
    assert_eq!(store.renew_lease(&run.key, &ours, 1_000, false).await?, LeaseRenewal::Lost);
    store.release_lease(&run.key, &ours, RunStatus::Running, None).await?;
    assert_eq!(store.find_meta(&run.key).await?, None);

    store.create(&run.key, &run.created_by("w", Some(ours.clone()))?).await?;
    store.append_end(&run.key, &record_of(1, "w1", "done")?, &run.run_end(), EXPIRY).await?;
    assert_eq!(
        store.take_lease(&run.key, "b", 9_000, 10_000).await?,
        LeaseAcquisition::Unavailable
    );
    assert_eq!(store.renew_lease(&run.key, &ours, 10_000, false).await?, LeaseRenewal::Lost);
    store.release_lease(&run.key, &ours, RunStatus::Running, None).await?;
    let meta = store.find_meta(&run.key).await?.ok_or("no run")?;
    assert_eq!((meta.status, meta.lease), (RunStatus::Finished, None));
    Ok(())
}
