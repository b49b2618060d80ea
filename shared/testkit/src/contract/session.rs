//! Checks of a session's active run and its history.

use djinn_core::conversation::{CompactedContext, Exchange, SessionMemory};
use djinn_core::id::{ChildId, SessionId, SessionName, ShareHandle};
use djinn_core::status::RunStatus;
use djinn_runtime::port::Store;
use djinn_runtime::port::journal::{CreateResult, EndedRun, MAX_ENDED_RUNS, MAX_EXCHANGES};
use djinn_runtime::port::lease::LeaseAcquisition;
use futures::future::try_join_all;

use super::Checked;
use super::fixture::{EXPIRY, RunFixture, lease_of, record_of};

/// A session accepts no other run while one is active.
pub async fn a_session_answers_one_run_at_a_time(store: &impl Store) -> Checked {
    let first = RunFixture::of("s", "r1")?;
    let second = RunFixture::of("s", "r2")?;
    assert!(store.create(&first.key, &first.created_by("w1", None)?).await?.is_created());
    let busy = CreateResult::SessionBusy(first.key.run.clone());
    assert_eq!(store.create(&second.key, &second.created_by("w2", None)?).await?, busy);
    // The rejected creation wrote nothing.
    assert_eq!(store.find_meta(&second.key).await?, None);
    assert!(store.read_from(&second.key, 0).await?.is_empty());
    assert_eq!(store.find_session_name(&second.user_key(), "r2").await?, None);
    assert_eq!(store.load_session(&first.session_key()).await?.active, Some(first.key.run.clone()));
    // Another session is free.
    let elsewhere = RunFixture::of("s2", "r2")?;
    assert!(store.create(&elsewhere.key, &elsewhere.created_by("w3", None)?).await?.is_created());
    Ok(())
}

/// Of concurrent questions in a free session, one is accepted.
pub async fn of_concurrent_runs_of_a_session_one_is_new(store: &impl Store) -> Checked {
    for round in 0..4 {
        let session = format!("s{round}");
        let runs: Vec<_> =
            (0..5).map(|n| RunFixture::of(&session, &format!("r{n}"))).collect::<Result<_, _>>()?;
        let news: Vec<_> =
            runs.iter().map(|run| run.created_by("w", None)).collect::<Result<_, _>>()?;
        let creations = runs.iter().zip(&news).map(|(run, new)| store.create(&run.key, new));
        let outcomes = try_join_all(creations).await?;
        let winner = outcomes.iter().position(|c| c.is_created()).ok_or("nobody won")?;
        let winner = runs.get(winner).ok_or("no such run")?.key.run.clone();
        let busy =
            outcomes.iter().filter(|c| **c == CreateResult::SessionBusy(winner.clone())).count();
        assert_eq!(busy, 4, "{outcomes:?}");
    }
    Ok(())
}

/// The end of a run frees its own session, but not a later run's.
pub async fn an_ended_run_frees_its_session_and_no_other(store: &impl Store) -> Checked {
    let first = RunFixture::of("s", "r1")?;
    let second = RunFixture::of("s", "r2")?;
    store.create(&first.key, &first.created_by("w1", None)?).await?;
    store.append_end(&first.key, &record_of(1, "w2", "done")?, &first.run_end(), EXPIRY).await?;
    let view = store.load_session(&first.session_key()).await?;
    assert_eq!((view.active, view.history), (None, vec![first.run_end().exchange]));

    assert!(store.create(&second.key, &second.created_by("w3", None)?).await?.is_created());
    // A repeated end, and a second end, of the first run.
    store.append_end(&first.key, &record_of(1, "w2", "done")?, &first.run_end(), EXPIRY).await?;
    store.append_end(&first.key, &record_of(2, "w4", "again")?, &first.run_end(), EXPIRY).await?;
    let view = store.load_session(&second.session_key()).await?;
    assert_eq!((view.active, view.history.len()), (Some(second.key.run.clone()), 1));
    let third = RunFixture::of("s", "r3")?;
    let busy = CreateResult::SessionBusy(second.key.run);
    assert_eq!(store.create(&third.key, &third.created_by("w5", None)?).await?, busy);
    Ok(())
}

/// A session with an ended run as its active run must not stay locked.
pub async fn a_session_left_busy_by_an_ended_run_is_free(store: &impl Store) -> Checked {
    let first = RunFixture::of("s", "r1")?;
    let second = RunFixture::of("s", "r2")?;
    store.create(&first.key, &first.created_by("w1", None)?).await?;
    let mut end = first.run_end();
    end.session.session = SessionId::new("mistaken")?;
    store.append_end(&first.key, &record_of(1, "w2", "done")?, &end, EXPIRY).await?;
    assert_eq!(store.load_session(&first.session_key()).await?.active, Some(first.key.run));
    assert!(store.create(&second.key, &second.created_by("w3", None)?).await?.is_created());
    assert_eq!(store.load_session(&second.session_key()).await?.active, Some(second.key.run));
    Ok(())
}

/// A run with an unreadable journal cannot record an end, but can be abandoned.
pub async fn a_run_that_is_given_up_has_failed_and_frees_its_session(
    store: &impl Store,
) -> Checked {
    let first = RunFixture::of("s", "r1")?;
    let second = RunFixture::of("s", "r2")?;
    let lease = Some(lease_of("h", first.at_ms + 15_000, 1));
    store.create(&first.key, &first.created_by("w1", lease)?).await?;
    store.abandon_run(&second.key, first.at_ms).await?;
    assert_eq!(store.find_meta(&second.key).await?, None);

    // Abandoning a task leaves its run and the session unchanged.
    let task = first.key.with_child(ChildId::for_step(1, 1));
    store.create(&task, &first.created_by("w5", None)?).await?;
    store.abandon_run(&task, first.at_ms + 1).await?;
    let status = async |key| store.find_meta(key).await.map(|meta| meta.map(|meta| meta.status));
    assert_eq!(status(&task).await?, Some(RunStatus::Failed));
    assert_eq!(status(&first.key).await?, Some(RunStatus::Running));
    assert_eq!(store.find_active_run(&first.session_key()).await?, Some(first.key.run.clone()));

    store.abandon_run(&first.key, first.at_ms + 1).await?;
    assert_eq!(store.find_active_run(&first.session_key()).await?, None);
    let meta = store.find_meta(&first.key).await?.ok_or("no such run")?;
    assert_eq!((meta.status, meta.lease), (RunStatus::Failed, None));
    let acquisition = store.take_lease(&first.key, "late", first.at_ms, first.at_ms + 1).await?;
    assert_eq!(acquisition, LeaseAcquisition::Unavailable);
    let view = store.load_session(&first.session_key()).await?;
    assert_eq!((view.active, view.history), (None, Vec::new()));

    // A repeat changes nothing, neither for a later run nor for an ended run.
    assert!(store.create(&second.key, &second.created_by("w2", None)?).await?.is_created());
    store.abandon_run(&first.key, first.at_ms + 2).await?;
    assert_eq!(
        store.load_session(&second.session_key()).await?.active,
        Some(second.key.run.clone())
    );
    store.append_end(&second.key, &record_of(1, "w3", "done")?, &second.run_end(), EXPIRY).await?;
    store.abandon_run(&second.key, first.at_ms + 3).await?;
    let meta = store.find_meta(&second.key).await?.ok_or("no such run")?;
    assert_eq!(meta.status, RunStatus::Finished);
    Ok(())
}

/// Ends the run `r{n}` of the session `s` with this exchange and summary.
async fn end_run_with(
    store: &impl Store,
    n: usize,
    answer: &str,
    summary: Option<SessionMemory>,
) -> Result<Exchange, Box<dyn std::error::Error + Send + Sync>> {
    let run =
        RunFixture::of("s", &format!("r{n}"))?.at_time(1_700_000_000_000 + i64::try_from(n)? * 7);
    store.create(&run.key, &run.created_by("w1", None)?).await?;
    let mut end = run.run_end();
    let exchange = super::fixture::exchange_of(&format!("q{n}"), answer, &run.spec.user);
    end.exchange = Exchange { tainted: n.is_multiple_of(2), ..exchange };
    end.memory = summary;
    store.append_end(&run.key, &record_of(1, "w2", "done")?, &end, EXPIRY).await?;
    Ok(end.exchange)
}

/// A new run gets the newest exchanges of a conversation of any length.
pub async fn history_is_the_newest_exchanges_oldest_first(store: &impl Store) -> Checked {
    let mut exchanges = Vec::new();
    for n in 0..MAX_EXCHANGES + 3 {
        // Long exchanges are stored separately, and returned in order.
        let answer = if n % 4 == 0 { super::fixture::text_of(120_000) } else { n.to_string() };
        exchanges.push(end_run_with(store, n, &answer, None).await?);
    }
    let view = store.load_session(&RunFixture::of("s", "r0")?.session_key()).await?;
    let mut ended_runs = Vec::new();
    for n in (0..exchanges.len()).rev().take(MAX_ENDED_RUNS) {
        let run = RunFixture::of("s", &format!("r{n}"))?;
        ended_runs.push(EndedRun { run: run.key.run, user: Some(run.spec.user) });
    }
    assert_eq!(view.ended, ended_runs);
    assert_eq!(view.earlier, None);
    let newest = exchanges.get(3..).ok_or("too few")?;
    assert_eq!(list_questions(&view.history), list_questions(newest));
    assert!(view.history == newest);
    Ok(())
}

fn list_questions(exchanges: &[Exchange]) -> Vec<&str> {
    exchanges.iter().map(|exchange| exchange.question.as_str()).collect()
}

/// A new run gets the newest summary of the session and the exchanges after it.
pub async fn a_summary_stands_for_the_oldest_exchanges(store: &impl Store) -> Checked {
    let session = RunFixture::of("s", "r0")?.session_key();
    let summary = |text: &str, newer_exchanges| SessionMemory {
        compacted: CompactedContext {
            text: text.to_owned(),
            exchanges: 3,
            turns: 0,
            files: Vec::new(),
            last_text: String::new(),
            tainted: true,
        },
        newer_exchanges,
    };
    for n in 0..5 {
        end_run_with(store, n, "short", None).await?;
    }
    // An abandoned run has no exchange, and replaces none.
    let lost_run = RunFixture::of("s", "lost")?.at_time(1_700_000_000_000 + 4 * 7 + 1);
    store.create(&lost_run.key, &lost_run.created_by("w1", None)?).await?;
    store.abandon_run(&lost_run.key, lost_run.at_ms).await?;
    // The run after five exchanges summarizes three of them.
    let first = summary("Three questions.", 2);
    end_run_with(store, 5, "short", Some(first.clone())).await?;
    let view = store.load_session(&session).await?;
    assert_eq!(view.earlier, Some(first.compacted.clone()));
    assert_eq!(list_questions(&view.history), ["q3", "q4", "q5"]);

    end_run_with(store, 6, "short", None).await?;
    let view = store.load_session(&session).await?;
    assert_eq!(view.earlier, Some(first.compacted));
    assert_eq!(list_questions(&view.history), ["q3", "q4", "q5", "q6"]);

    // A long summary is stored separately.
    let second = summary(&super::fixture::text_of(120_000), 0);
    end_run_with(store, 7, "short", Some(second.clone())).await?;
    let view = store.load_session(&session).await?;
    assert!(view.earlier == Some(second.compacted));
    assert_eq!(list_questions(&view.history), ["q7"]);
    assert_eq!(view.ended.len(), 9);
    Ok(())
}

/// A session is found by its label, or by the label of any of its user's requests, and only by this user.
pub async fn a_label_names_a_session_of_its_users(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    let user = &run.user_key();
    assert_eq!(store.find_session_name(user, "s").await?, None);
    store.create(&run.key, &run.created_by("w", None)?).await?;
    let session = Some(run.spec.session_name());
    assert_eq!(store.find_session_name(user, "s").await?, session);
    assert_eq!(store.find_session_name(user, "r").await?, session);
    for unknown in ["x", "", "a/b", "../s", "s r"] {
        assert_eq!(store.find_session_name(user, unknown).await?, None, "{unknown}");
    }
    let strangers =
        [run.clone().by_user("bob")?.user_key(), RunFixture::of_tenant("t2", "s", "r")?.user_key()];
    for (stranger, label) in strangers.iter().flat_map(|user| [(user, "s"), (user, "r")]) {
        assert_eq!(store.find_session_name(stranger, label).await?, None, "{label}");
    }
    // A guest's request leads to the guest's handle; the owner's request to the owner's session.
    let handle = ShareHandle::new(format!("shr_{}", "0".repeat(32)))?;
    store.append_end(&run.key, &record_of(1, "w1", "done")?, &run.run_end(), EXPIRY).await?;
    let guests = run.clone().by_guest("bob", &handle)?;
    assert!(store.create(&guests.key, &guests.created_by("w", None)?).await?.is_created());
    store.append_end(&guests.key, &record_of(1, "w1", "done")?, &guests.run_end(), EXPIRY).await?;
    let by_guest = store.find_session_name(&guests.user_key(), "r").await?;
    assert_eq!(by_guest, Some(SessionName::Shared(handle)));
    assert_eq!(store.find_session_name(&guests.user_key(), "s").await?, None);
    assert_eq!(store.find_session_name(user, "r").await?, session);
    // Of equal request labels, the newest counts. A session's own label comes first.
    let again = RunFixture::of("s2", "r")?;
    store.create(&again.key, &again.created_by("w", None)?).await?;
    assert_eq!(store.find_session_name(user, "r").await?, Some(again.spec.session_name()));
    let own = RunFixture::of("s3", "s")?;
    store.create(&own.key, &own.created_by("w", None)?).await?;
    assert_eq!(store.find_session_name(user, "s").await?, session);
    Ok(())
}
