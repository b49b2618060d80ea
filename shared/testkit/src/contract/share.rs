//! Checks of adding, finding and ending the shares of sessions.

use djinn_core::id::{ShareHandle, UserId};
use djinn_core::status::RunStatus;
use djinn_runtime::port::Store;
use djinn_runtime::port::catalog::SessionDeletion;
use djinn_runtime::port::share::{Audience, MAX_SHARES, SessionShare, ShareResult};

use super::Checked;
use super::fixture::{EXPIRY, FixtureResult, RunFixture, record_of};

fn handle_of(nth: usize) -> FixtureResult<ShareHandle> {
    Ok(ShareHandle::new(format!("shr_{nth:032x}"))?)
}

/// Creates a share of the run's session with Bob.
fn share_of(of: &RunFixture, nth: usize) -> FixtureResult<SessionShare> {
    Ok(SessionShare {
        handle: handle_of(nth)?,
        session: of.session_key(),
        session_started_at_ms: of.at_ms,
        audience: Audience::User(UserId::new("bob")?),
        can_write: nth % 2 == 1,
        created_at_ms: of.at_ms + 1,
    })
}

async fn end_run(store: &impl Store, run: &RunFixture) -> Checked {
    store.create(&run.key, &run.created_by("w1", None)?).await?;
    let mut end = run.run_end();
    end.status = RunStatus::Finished;
    store.append_end(&run.key, &record_of(1, "w2", "done")?, &end, EXPIRY).await?;
    Ok(())
}

/// A share is found by its handle and by its session, and not from other tenants, users or sessions.
pub async fn a_share_is_found_by_its_handle_and_by_its_session(store: &impl Store) -> Checked {
    let ours = RunFixture::of("s", "r")?;
    let others = [
        ours.clone().by_user("bob")?,
        RunFixture::of_tenant("t2", "s", "r")?,
        RunFixture::of("s2", "r")?,
    ];
    for run in others.iter().chain([&ours]) {
        end_run(store, run).await?;
    }
    let first = share_of(&ours, 1)?;
    let mut second = share_of(&ours, 2)?;
    second.audience = Audience::Tenant;
    for share in [&second, &first, &first] {
        assert_eq!(store.add_share(share).await?, ShareResult::Added);
    }
    assert_eq!(store.find_share(&ours.key.tenant, &first.handle).await?, Some(first.clone()));
    assert_eq!(store.find_share(&ours.key.tenant, &handle_of(3)?).await?, None);
    assert_eq!(store.list_shares(&ours.session_key()).await?, [first.clone(), second.clone()]);
    for other in &others {
        assert!(store.list_shares(&other.session_key()).await?.is_empty());
        assert!(!store.end_share(&other.session_key(), &first.handle).await?);
    }
    let abroad = &others[1].key.tenant;
    assert_eq!(store.find_share(abroad, &first.handle).await?, None);
    // Shares do not appear in other reads of a session.
    assert_eq!(store.load_session(&ours.session_key()).await?.history.len(), 1);
    assert_eq!(store.list_turns(&ours.session_key(), None, 9).await?.items.len(), 1);

    assert!(store.end_share(&ours.session_key(), &first.handle).await?);
    assert!(!store.end_share(&ours.session_key(), &first.handle).await?);
    assert_eq!(store.find_share(&ours.key.tenant, &first.handle).await?, None);
    assert_eq!(store.list_shares(&ours.session_key()).await?, [second]);
    Ok(())
}

/// A guest's list has each session that is shared with this guest once, by its newest share, until its shares end.
pub async fn a_guest_finds_the_sessions_shared_with_the_guest(store: &impl Store) -> Checked {
    let first = RunFixture::of("s", "r")?;
    let second = RunFixture::of("s2", "r")?;
    let abroad = RunFixture::of_tenant("t2", "s", "r")?;
    for run in [&first, &second, &abroad] {
        end_run(store, run).await?;
    }
    let old = share_of(&first, 9)?;
    let mut new = share_of(&second, 1)?;
    new.created_at_ms += 1;
    let mut for_all = share_of(&first, 3)?;
    for_all.audience = Audience::Tenant;
    let mut for_carl = share_of(&first, 4)?;
    for_carl.audience = Audience::User(UserId::new("carl")?);
    let foreign = share_of(&abroad, 5)?;
    let mut again = share_of(&second, 7)?;
    again.created_at_ms += 2;
    let mut last = share_of(&second, 2)?;
    last.created_at_ms += 3;
    for share in [&old, &new, &for_all, &for_carl, &foreign, &again, &last] {
        assert_eq!(store.add_share(share).await?, ShareResult::Added);
    }
    let bob = first.clone().by_user("bob")?.user_key();
    // Several shares of a session do not hide another session.
    for limit in [2, 9] {
        assert_eq!(store.list_shares_with(&bob, limit).await?, [last.clone(), old.clone()]);
    }
    assert_eq!(store.list_shares_with(&bob, 1).await?, [last.clone()]);
    let bob_abroad = abroad.by_user("bob")?.user_key();
    assert_eq!(store.list_shares_with(&bob_abroad, 9).await?, [foreign]);
    assert!(store.list_shares_with(&first.user_key(), 9).await?.is_empty());
    assert!(store.end_share(&second.session_key(), &last.handle).await?);
    assert_eq!(store.list_shares_with(&bob, 9).await?, [again.clone(), old.clone()]);
    for share in [&again, &new] {
        assert!(store.end_share(&second.session_key(), &share.handle).await?);
    }
    assert_eq!(store.list_shares_with(&bob, 9).await?, [old]);
    store.delete_session(&first.user_key(), &first.spec.session).await?;
    assert!(store.list_shares_with(&bob, 9).await?.is_empty());
    Ok(())
}

/// A session without a run cannot be shared, nor a session recreated since.
pub async fn only_a_session_that_is_there_can_be_shared(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    assert_eq!(store.add_share(&share_of(&run, 1)?).await?, ShareResult::UnknownSession);
    end_run(store, &run).await?;
    let mut old = share_of(&run, 1)?;
    old.session_started_at_ms -= 1;
    assert_eq!(store.add_share(&old).await?, ShareResult::UnknownSession);
    assert!(store.list_shares(&run.session_key()).await?.is_empty());
    assert_eq!(store.find_share(&run.key.tenant, &old.handle).await?, None);
    Ok(())
}

/// Deleting a session deletes its shares.
pub async fn the_end_of_a_session_ends_its_shares(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    let other = RunFixture::of("s2", "r")?;
    let shares = [share_of(&run, 1)?, share_of(&run, 2)?, share_of(&other, 3)?];
    for run in [&run, &other] {
        end_run(store, run).await?;
    }
    for share in &shares {
        assert_eq!(store.add_share(share).await?, ShareResult::Added);
    }
    let forgotten = store.delete_session(&run.user_key(), &run.spec.session).await?;
    assert_eq!(forgotten, SessionDeletion::Done);
    for (share, is_left) in shares.iter().zip([false, false, true]) {
        let entry = store.find_share(&run.key.tenant, &share.handle).await?;
        assert_eq!(entry.is_some(), is_left, "{}", share.handle);
    }
    assert!(store.list_shares(&run.session_key()).await?.is_empty());
    Ok(())
}

/// The number of shares of a session is limited.
pub async fn a_session_has_a_hundred_shares_at_most(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    end_run(store, &run).await?;
    for nth in 0..MAX_SHARES {
        assert_eq!(store.add_share(&share_of(&run, nth)?).await?, ShareResult::Added);
    }
    assert_eq!(store.add_share(&share_of(&run, MAX_SHARES)?).await?, ShareResult::TooMany);
    assert!(store.end_share(&run.session_key(), &handle_of(7)?).await?);
    assert_eq!(store.add_share(&share_of(&run, MAX_SHARES)?).await?, ShareResult::Added);
    Ok(())
}
