//! Sessions.

use djinn_core::conversation::Exchange;
use djinn_core::id::{SessionId, ShareHandle, TaskId};
use djinn_core::session::SessionName;
use djinn_core::status::RunStatus;
use djinn_runtime::port::Store;
use djinn_runtime::port::journal::{Created, EndedRun};
use djinn_runtime::port::lease::Taken;
use futures::future::try_join_all;

use super::Checked;
use super::fixture::{EXPIRY, Run, lease, record};

/// While a run is answered, a session takes no other one.
pub async fn a_session_answers_one_run_at_a_time(store: &impl Store) -> Checked {
    let (first, second) = (Run::of("s", "r1")?, Run::of("s", "r2")?);
    assert_eq!(store.create(&first.key, &first.created_by("w1", None)?).await?, Created::New);
    let busy = Created::SessionBusy(first.key.run.clone());
    assert_eq!(store.create(&second.key, &second.created_by("w2", None)?).await?, busy);
    // Nothing of it was written.
    assert_eq!(store.meta(&second.key).await?, None);
    assert!(store.read(&second.key, 0).await?.is_empty());
    assert_eq!(store.session_of(&second.user(), "r2").await?, None);
    assert_eq!(store.session(&first.session()).await?.active, Some(first.key.run.clone()));
    // Another session is free.
    let elsewhere = Run::of("s2", "r2")?;
    assert_eq!(
        store.create(&elsewhere.key, &elsewhere.created_by("w3", None)?).await?,
        Created::New
    );
    Ok(())
}

/// Of several questions that come to a free session at the same time, one is taken.
pub async fn of_concurrent_runs_of_a_session_one_is_new(store: &impl Store) -> Checked {
    for round in 0..4 {
        let session = format!("s{round}");
        let runs: Vec<_> =
            (0..5).map(|n| Run::of(&session, &format!("r{n}"))).collect::<Result<_, _>>()?;
        let news: Vec<_> =
            runs.iter().map(|run| run.created_by("w", None)).collect::<Result<_, _>>()?;
        let creations = runs.iter().zip(&news).map(|(run, new)| store.create(&run.key, new));
        let created = try_join_all(creations).await?;
        let winner = created.iter().position(|c| *c == Created::New).ok_or("nobody won")?;
        let winner = runs.get(winner).ok_or("no such run")?.key.run.clone();
        let busy = created.iter().filter(|c| **c == Created::SessionBusy(winner.clone())).count();
        assert_eq!(busy, 4, "{created:?}");
    }
    Ok(())
}

/// The end of a run frees the session it held, and not one that a later run holds.
pub async fn an_ended_run_frees_its_session_and_no_other(store: &impl Store) -> Checked {
    let (first, second) = (Run::of("s", "r1")?, Run::of("s", "r2")?);
    store.create(&first.key, &first.created_by("w1", None)?).await?;
    store.end(&first.key, &record(1, "w2", "done")?, &first.end(), EXPIRY).await?;
    let view = store.session(&first.session()).await?;
    assert_eq!((view.active, view.history), (None, vec![first.end().exchange]));

    assert_eq!(store.create(&second.key, &second.created_by("w3", None)?).await?, Created::New);
    // The first one's ending comes again, and so does a second ending of it.
    store.end(&first.key, &record(1, "w2", "done")?, &first.end(), EXPIRY).await?;
    store.end(&first.key, &record(2, "w4", "again")?, &first.end(), EXPIRY).await?;
    let view = store.session(&second.session()).await?;
    assert_eq!((view.active, view.history.len()), (Some(second.key.run.clone()), 1));
    let third = Run::of("s", "r3")?;
    let busy = Created::SessionBusy(second.key.run);
    assert_eq!(store.create(&third.key, &third.created_by("w5", None)?).await?, busy);
    Ok(())
}

/// It should not happen that a session names a run that has ended; it must not lock it for ever.
pub async fn a_session_left_busy_by_an_ended_run_is_free(store: &impl Store) -> Checked {
    let (first, second) = (Run::of("s", "r1")?, Run::of("s", "r2")?);
    store.create(&first.key, &first.created_by("w1", None)?).await?;
    let mut end = first.end();
    end.session.session = SessionId::new("mistaken")?;
    store.end(&first.key, &record(1, "w2", "done")?, &end, EXPIRY).await?;
    assert_eq!(store.session(&first.session()).await?.active, Some(first.key.run));
    assert_eq!(store.create(&second.key, &second.created_by("w3", None)?).await?, Created::New);
    assert_eq!(store.session(&second.session()).await?.active, Some(second.key.run));
    Ok(())
}

/// Nobody can record the end of a run whose journal cannot be read; it ends nevertheless.
pub async fn a_run_that_is_given_up_has_failed_and_frees_its_session(
    store: &impl Store,
) -> Checked {
    let (first, second) = (Run::of("s", "r1")?, Run::of("s", "r2")?);
    let held = Some(lease("h", first.at_ms + 15_000, 1));
    store.create(&first.key, &first.created_by("w1", held)?).await?;
    store.give_up(&second.key, first.at_ms).await?;
    assert_eq!(store.meta(&second.key).await?, None);

    // A task that is given up leaves its run and the session alone.
    let task = first.key.with_task(TaskId::of(1, 1));
    store.create(&task, &first.created_by("w5", None)?).await?;
    store.give_up(&task, first.at_ms + 1).await?;
    let status = async |key| store.meta(key).await.map(|meta| meta.map(|meta| meta.status));
    assert_eq!(status(&task).await?, Some(RunStatus::Failed));
    assert_eq!(status(&first.key).await?, Some(RunStatus::Running));
    assert_eq!(store.active(&first.session()).await?, Some(first.key.run.clone()));

    store.give_up(&first.key, first.at_ms + 1).await?;
    assert_eq!(store.active(&first.session()).await?, None);
    let meta = store.meta(&first.key).await?.ok_or("no such run")?;
    assert_eq!((meta.status, meta.lease), (RunStatus::Failed, None));
    let taken = store.take_lease(&first.key, "late", first.at_ms, first.at_ms + 1).await?;
    assert_eq!(taken, Taken::Held);
    let view = store.session(&first.session()).await?;
    assert_eq!((view.active, view.history), (None, Vec::new()));

    // Another time it changes nothing, neither for a later run nor for one that ended otherwise.
    assert_eq!(store.create(&second.key, &second.created_by("w2", None)?).await?, Created::New);
    store.give_up(&first.key, first.at_ms + 2).await?;
    assert_eq!(store.session(&second.session()).await?.active, Some(second.key.run.clone()));
    store.end(&second.key, &record(1, "w3", "done")?, &second.end(), EXPIRY).await?;
    store.give_up(&second.key, first.at_ms + 3).await?;
    let meta = store.meta(&second.key).await?.ok_or("no such run")?;
    assert_eq!(meta.status, RunStatus::Finished);
    Ok(())
}

/// A new run is shown what came last, however long the conversation is.
pub async fn history_is_the_newest_ten_exchanges_oldest_first(store: &impl Store) -> Checked {
    let mut exchanges = Vec::new();
    for n in 0..13_i64 {
        let run = Run::of("s", &format!("r{n}"))?.at(1_700_000_000_000 + n * 7);
        store.create(&run.key, &run.created_by("w1", None)?).await?;
        let mut end = run.end();
        // Long ones are kept apart, and come back in their places.
        let answer = if n % 4 == 0 { super::fixture::text_of(120_000) } else { n.to_string() };
        let said = super::fixture::said(&format!("q{n}"), &answer, &run.asked.user);
        end.exchange = Exchange { tainted: n % 2 == 0, ..said };
        store.end(&run.key, &record(1, "w2", "done")?, &end, EXPIRY).await?;
        exchanges.push(end.exchange);
    }
    let view = store.session(&Run::of("s", "r0")?.session()).await?;
    let mut ended = Vec::new();
    for n in (3..13).rev() {
        let run = Run::of("s", &format!("r{n}"))?;
        ended.push(EndedRun { run: run.key.run, user: Some(run.asked.user) });
    }
    assert_eq!(view.ended, ended);
    let newest = exchanges.get(3..).ok_or("too few")?;
    let questions = |all: &[Exchange]| all.iter().map(|e| e.question.clone()).collect::<Vec<_>>();
    assert_eq!(questions(&view.history), questions(newest));
    assert!(view.history == newest);
    Ok(())
}

/// Clients name a session of theirs by its label or by any of their requests in it, and nobody else's.
pub async fn a_label_names_a_session_of_its_users(store: &impl Store) -> Checked {
    let run = Run::of("s", "r")?;
    let user = &run.user();
    assert_eq!(store.session_of(user, "s").await?, None);
    store.create(&run.key, &run.created_by("w", None)?).await?;
    let session = Some(run.asked.session_name());
    assert_eq!(store.session_of(user, "s").await?, session);
    assert_eq!(store.session_of(user, "r").await?, session);
    for unknown in ["x", "", "a/b", "../s", "s r"] {
        assert_eq!(store.session_of(user, unknown).await?, None, "{unknown}");
    }
    let strangers = [run.clone().by("bob")?.user(), Run::of_tenant("t2", "s", "r")?.user()];
    for (stranger, label) in strangers.iter().flat_map(|user| [(user, "s"), (user, "r")]) {
        assert_eq!(store.session_of(stranger, label).await?, None, "{label}");
    }
    // A guest's request leads to the handle that it was asked by, and the owner's stays the owner's.
    let handle = ShareHandle::new(format!("shr_{}", "0".repeat(32)))?;
    store.end(&run.key, &record(1, "w1", "done")?, &run.end(), EXPIRY).await?;
    let guests = run.clone().by_guest("bob", &handle)?;
    assert_eq!(store.create(&guests.key, &guests.created_by("w", None)?).await?, Created::New);
    store.end(&guests.key, &record(1, "w1", "done")?, &guests.end(), EXPIRY).await?;
    let by_guest = store.session_of(&guests.user(), "r").await?;
    assert_eq!(by_guest, Some(SessionName::Shared(handle)));
    assert_eq!(store.session_of(&guests.user(), "s").await?, None);
    assert_eq!(store.session_of(user, "r").await?, session);
    // The same label in another session: the newest is meant. A session's own label comes first.
    let again = Run::of("s2", "r")?;
    store.create(&again.key, &again.created_by("w", None)?).await?;
    assert_eq!(store.session_of(user, "r").await?, Some(again.asked.session_name()));
    let own = Run::of("s3", "s")?;
    store.create(&own.key, &own.created_by("w", None)?).await?;
    assert_eq!(store.session_of(user, "s").await?, session);
    Ok(())
}
