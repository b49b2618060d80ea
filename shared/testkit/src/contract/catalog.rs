//! Checks of the lists of a user's runs and sessions.

use djinn_core::entry::{Entry, Event};
use djinn_core::id::Path;
use djinn_core::id::{ChildId, EntryId, ShareHandle};
use djinn_core::status::RunStatus;
use djinn_runtime::port::catalog::{RunSummary, SessionDeletion, SessionTurn};
use djinn_runtime::port::{Store, UserKey};

use super::Checked;
use super::fixture::{EXPIRY, RunFixture, lease_of, new_file, record_of, text_of};

const START: i64 = 1_700_000_000_000;

/// Creates a run and ends it with this status.
async fn end_run(store: &impl Store, run: &RunFixture, status: RunStatus) -> Checked {
    store.create(&run.key, &run.created_by("w1", None)?).await?;
    let mut end = run.run_end();
    end.status = status;
    store.append_end(&run.key, &record_of(1, "w2", "done")?, &end, EXPIRY).await?;
    Ok(())
}

fn request_labels(runs: &[RunSummary]) -> Vec<&str> {
    runs.iter().map(|run| run.request.as_str()).collect()
}

/// The list has the current status of each run, and only runs of the user.
pub async fn a_users_runs_are_listed_newest_first_with_where_they_stand(
    store: &impl Store,
) -> Checked {
    let run = |n: i64| {
        RunFixture::of(&format!("s{n}"), &format!("r{n}")).map(|run| run.at_time(START + n))
    };
    let waiting_run = run(1)?;
    let running = run(2)?;
    let leased_run = run(3)?;
    store.create(&waiting_run.key, &waiting_run.created_by("w", None)?).await?;
    let lease = Some(lease_of("a", 1_000, 1));
    store.create(&running.key, &running.created_by("w", lease)?).await?;
    store.create(&leased_run.key, &leased_run.created_by("w", None)?).await?;
    store.take_lease(&leased_run.key, "b", 0, 1_000).await?;
    end_run(store, &run(4)?, RunStatus::Stopped).await?;
    let given_up = run(5)?;
    store.create(&given_up.key, &given_up.created_by("w", None)?).await?;
    store.abandon_run(&given_up.key, 77).await?;

    let user = waiting_run.user_key();
    let page = store.list_runs(&user, &[], None, 10).await?;
    assert_eq!(
        (request_labels(&page.items), page.next),
        (vec!["r5", "r4", "r3", "r2", "r1"], None)
    );
    let states: Vec<_> = page.items.iter().map(|run| (run.status, run.ended_at_ms)).collect();
    let expected_states = [
        (RunStatus::Failed, Some(77)),
        (RunStatus::Stopped, Some(START + 1)),
        (RunStatus::Running, None),
        (RunStatus::Running, None),
        (RunStatus::Queued, None),
    ];
    assert_eq!(states, expected_states);
    let first = page.items.last().ok_or("no runs")?;
    assert_eq!(
        (&first.run, &first.session),
        (&waiting_run.key.run, &waiting_run.spec.session_name())
    );
    assert_eq!(
        (first.title.as_str(), first.started_at_ms),
        ("What is r1? And why? 为什么", START + 1)
    );

    for (status, labels) in [
        (RunStatus::Queued, vec!["r1"]),
        (RunStatus::Running, vec!["r3", "r2"]),
        (RunStatus::Paused, vec![]),
        (RunStatus::Stopped, vec!["r4"]),
        (RunStatus::Finished, vec![]),
        (RunStatus::Failed, vec!["r5"]),
    ] {
        let page = store.list_runs(&user, &[status], None, 10).await?;
        assert_eq!((request_labels(&page.items), page.next), (labels, None), "{status:?}");
    }
    let of_tenant = RunFixture::of_tenant("t2", "s1", "r1")?.user_key();
    for stranger in [waiting_run.by_user("bob")?.user_key(), of_tenant] {
        assert!(store.list_runs(&stranger, &[], None, 10).await?.items.is_empty());
    }
    Ok(())
}

/// Paging returns every run once, for any page size.
pub async fn a_page_of_runs_goes_on_where_the_last_one_ended(store: &impl Store) -> Checked {
    let mut runs = Vec::new();
    for n in 0..130 {
        // Two runs in each millisecond.
        let run = RunFixture::of("s", &format!("r{n}"))?.at_time(START + n / 2);
        let status = if n % 50 == 7 { RunStatus::Failed } else { RunStatus::Finished };
        end_run(store, &run, status).await?;
        runs.push(run);
    }
    let user = runs.first().ok_or("no runs")?.user_key();
    runs.sort_by_key(|run| std::cmp::Reverse((run.at_ms, run.key.run.clone())));
    let expected_requests: Vec<_> = runs.iter().map(|run| run.spec.request.as_str()).collect();
    for limit in [1, 29, 65, 129, 130, 500] {
        let mut requests = Vec::new();
        let mut after = None;
        loop {
            let page = store.list_runs(&user, &[], after.as_ref(), limit).await?;
            assert!(page.items.len() <= limit);
            requests.extend(page.items.into_iter().map(|run| run.request));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let labels: Vec<_> = requests.iter().map(|request| request.as_str()).collect();
        assert_eq!(labels, expected_requests, "{limit}");
    }
    // Rare statuses are found behind many other runs.
    let failed_page = store.list_runs(&user, &[RunStatus::Failed], None, 3).await?;
    assert_eq!(request_labels(&failed_page.items), ["r107", "r57", "r7"]);
    let two = store.list_runs(&user, &[RunStatus::Failed], None, 2).await?;
    let last = store.list_runs(&user, &[RunStatus::Failed], two.next.as_ref(), 2).await?;
    assert_eq!((request_labels(&last.items), last.next), (vec!["r7"], None));
    Ok(())
}

async fn session_labels(store: &impl Store, user: &UserKey) -> Result<Vec<String>, String> {
    let page = store.list_sessions(user, None, 100).await.map_err(|error| error.to_string())?;
    Ok(page.items.into_iter().map(|session| session.session.to_string()).collect())
}

/// A session moves to the front with each new question.
pub async fn sessions_are_listed_by_their_newest_run(store: &impl Store) -> Checked {
    let user = RunFixture::of("s", "r")?.user_key();
    assert!(session_labels(store, &user).await?.is_empty());
    for (n, session) in ["a", "c", "b", "d"].into_iter().enumerate() {
        let run = RunFixture::of(session, "r1")?.at_time(START + i64::try_from(n)?);
        end_run(store, &run, RunStatus::Finished).await?;
    }
    assert_eq!(session_labels(store, &user).await?, ["d", "b", "c", "a"]);
    end_run(store, &RunFixture::of("c", "r2")?.at_time(START + 9), RunStatus::Finished).await?;
    assert_eq!(session_labels(store, &user).await?, ["c", "d", "b", "a"]);

    let first = store.list_sessions(&user, None, 3).await?;
    let newest = first.items.first().ok_or("no sessions")?;
    assert_eq!((newest.started_at_ms, newest.newest_at_ms), (START + 1, START + 9));
    assert_eq!(newest.title, "What is r1? And why? 为什么");
    assert_eq!(newest.newest_question, "What is r2? And why? 为什么");
    let rest = store.list_sessions(&user, first.next.as_ref(), 3).await?;
    let labels_of_rest: Vec<_> = rest.items.iter().map(|item| item.session.as_str()).collect();
    assert_eq!((labels_of_rest, rest.next), (vec!["a"], None));
    assert_eq!(store.list_sessions(&user, None, 4).await?.next, None);

    let run = RunFixture::of("s", "r")?.by_user("bob")?;
    assert!(session_labels(store, &run.user_key()).await?.is_empty());
    let stranger = RunFixture::of_tenant("t2", "s", "r")?;
    assert!(session_labels(store, &stranger.user_key()).await?.is_empty());
    assert_eq!(store.find_session(&run.user_key(), &newest.session).await?, None);
    assert_eq!(store.find_session(&user, &newest.session).await?.as_ref(), Some(newest));
    Ok(())
}

/// A user's title is not replaced by a later question.
pub async fn a_session_keeps_the_title_it_is_given(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r1")?;
    let user = run.user_key();
    let session = run.spec.session.clone();
    assert!(!store.rename_session(&user, &session, "Gold").await?);
    assert_eq!(store.find_session(&user, &session).await?, None);
    end_run(store, &run, RunStatus::Finished).await?;
    assert!(store.rename_session(&user, &session, "Gold 金").await?);
    assert!(!store.rename_session(&run.by_user("bob")?.user_key(), &session, "Bob's").await?);
    end_run(store, &RunFixture::of("s", "r2")?.at_time(START + 1), RunStatus::Finished).await?;
    let entry = store.find_session(&user, &session).await?.ok_or("no session")?;
    assert_eq!((entry.title.as_str(), entry.newest_at_ms), ("Gold 金", START + 1));
    Ok(())
}

/// The active run comes first; an unreadable run is listed without its texts.
pub async fn turns_are_what_was_asked_and_answered(store: &impl Store) -> Checked {
    let run = |n: i64| RunFixture::of("s", &format!("r{n}")).map(|run| run.at_time(START + n));
    let session = run(1)?.session_key();
    assert!(store.list_turns(&session, None, 10).await?.items.is_empty());
    end_run(store, &run(1)?, RunStatus::Stopped).await?;
    let long = run(2)?;
    store.create(&long.key, &long.created_by("w1", None)?).await?;
    let mut end = long.run_end();
    end.exchange.answer = text_of(150_000);
    store.append_end(&long.key, &record_of(1, "w2", "done")?, &end, EXPIRY).await?;
    let given_up = run(3)?;
    store.create(&given_up.key, &given_up.created_by("w", None)?).await?;
    store.abandon_run(&given_up.key, START).await?;
    let at_work = run(4)?;
    store.create(&at_work.key, &at_work.created_by("w", Some(lease_of("a", 9, 1)))?).await?;

    let page = store.list_turns(&session, None, 10).await?;
    let turn = |run: &RunFixture, status, exchange| SessionTurn {
        run: run.key.run.clone(),
        request: Some(run.spec.request.clone()),
        user: Some(run.spec.user.clone()),
        started_at_ms: run.at_ms,
        status,
        exchange,
    };
    let mut question = at_work.run_end().exchange;
    question.answer.clear();
    question.files.clear();
    let expected_turns = [
        turn(&at_work, RunStatus::Running, Some(question)),
        turn(&given_up, RunStatus::Failed, None),
        turn(&long, RunStatus::Finished, Some(end.exchange)),
        turn(&run(1)?, RunStatus::Stopped, Some(run(1)?.run_end().exchange)),
    ];
    assert!(page.items == expected_turns && page.next.is_none(), "{:?}", page.items);
    // An abandoned run adds nothing to the history.
    assert_eq!(store.load_session(&session).await?.history.len(), 2);
    let stranger = RunFixture::of_tenant("t2", "s", "r1")?.session_key();
    assert!(store.list_turns(&stranger, None, 10).await?.items.is_empty());
    Ok(())
}

/// Paging returns every turn once, for any page size; the active run is only on the first page.
pub async fn turns_are_listed_page_by_page(store: &impl Store) -> Checked {
    for n in 0..7 {
        let run = RunFixture::of("s", &format!("r{n}"))?.at_time(START + n / 2);
        end_run(store, &run, RunStatus::Finished).await?;
    }
    let at_work = RunFixture::of("s", "r7")?.at_time(START + 9);
    store.create(&at_work.key, &at_work.created_by("w", None)?).await?;
    let all = store.list_turns(&at_work.session_key(), None, 7).await?;
    assert_eq!((all.items.len(), all.next), (8, None));
    for limit in 1..7 {
        let mut turns = Vec::new();
        let mut after = None;
        loop {
            let page = store.list_turns(&at_work.session_key(), after.as_ref(), limit).await?;
            turns.extend(page.items);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(turns, all.items, "{limit}");
    }
    Ok(())
}

/// The session's runs, children, files and labels are deleted, and may be created again.
pub async fn a_forgotten_session_leaves_nothing(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r1")?;
    let user = run.user_key();
    let session = run.session_key();
    let label = &run.spec.session;
    assert_eq!(store.delete_session(&user, label).await?, SessionDeletion::Unknown);
    store.create(&run.key, &run.created_by("w", None)?).await?;
    let task = ChildId::new("s1.1")?;
    let mut start_record = record_of(1, "w1", &text_of(150_000))?;
    let event = Event::ChildStarted {
        child: task.clone(),
        description: "gold".to_owned(),
        agent: String::new(),
    };
    start_record.entries.push(Entry {
        id: EntryId::new("s1.1.start")?,
        path: Path::default(),
        at_ms: 1,
        event,
    });
    store.append(&run.key, &start_record, EXPIRY).await?;
    let task = run.key.with_child(task);
    store.create(&task, &run.created_by("w2", None)?).await?;
    store.append(&task, &record_of(1, "w3", "found")?, EXPIRY).await?;
    store.append_end(&run.key, &record_of(2, "w4", "done")?, &run.run_end(), EXPIRY).await?;
    let old = store.write_file(&session, &new_file("a.md")?, b"old").await?;
    let new = store.write_file(&session, &new_file("a.md")?, b"new").await?;

    assert_eq!(store.delete_session(&user, label).await?, SessionDeletion::Done);
    for key in [&run.key, &task] {
        assert_eq!(store.find_meta(key).await?, None);
        assert!(store.read_from(key, 0).await?.is_empty());
    }
    for file in [&old, &new] {
        assert!(store.read_file(&session, file, 9).await.is_err(), "{}", file.object);
    }
    assert!(store.list_files(&session).await?.is_empty());
    assert_eq!(store.find_session_name(&user, "s").await?, None);
    assert_eq!(store.find_session_name(&user, "r1").await?, None);
    assert!(store.load_session(&session).await?.history.is_empty());
    assert!(store.list_turns(&session, None, 9).await?.items.is_empty());
    assert!(store.list_runs(&user, &[], None, 9).await?.items.is_empty());
    assert!(session_labels(store, &user).await?.is_empty());
    assert_eq!(store.delete_session(&user, label).await?, SessionDeletion::Unknown);

    // The same request creates a new run.
    assert!(store.create(&run.key, &run.created_by("w9", None)?).await?.is_created());
    assert_eq!(store.read_from(&run.key, 0).await?.len(), 1);
    Ok(())
}

/// A session with an active run is not deleted.
pub async fn a_session_with_a_run_at_work_is_not_forgotten(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r1")?;
    store.create(&run.key, &run.created_by("w", None)?).await?;
    store.write_file(&run.session_key(), &new_file("a.md")?, b"x").await?;
    let busy = SessionDeletion::Busy(run.key.run.clone());
    for _ in 0..2 {
        assert_eq!(store.delete_session(&run.user_key(), &run.spec.session).await?, busy);
    }
    assert_eq!(store.list_files(&run.session_key()).await?.len(), 1);
    assert_eq!(store.read_from(&run.key, 0).await?.len(), 1);
    store.abandon_run(&run.key, START).await?;
    let forgotten = store.delete_session(&run.user_key(), &run.spec.session).await?;
    assert_eq!(forgotten, SessionDeletion::Done);
    assert_eq!(store.find_meta(&run.key).await?, None);
    Ok(())
}

/// Guests' runs in the session are deleted; all other runs and sessions of both users stay.
pub async fn a_forgotten_session_is_gone_with_what_guests_asked_in_it_and_no_other_is(
    store: &impl Store,
) -> Checked {
    let ours = RunFixture::of("s", "r1")?;
    let handle = ShareHandle::new(format!("shr_{}", "0".repeat(32)))?;
    let bobs = RunFixture::of("s", "r2")?.by_guest("bob", &handle)?.at_time(START + 1);
    let others = [
        RunFixture::of("s2", "r1")?.at_time(START + 2),
        RunFixture::of("s3", "r3")?.by_user("bob")?,
        RunFixture::of("s", "r1")?.by_user("bob")?,
        RunFixture::of_tenant("t2", "s", "r1")?,
    ];
    for run in [&ours, &bobs].into_iter().chain(&others) {
        end_run(store, run, RunStatus::Finished).await?;
        store.write_file(&run.session_key(), &new_file("a.md")?, b"x").await?;
    }
    let stranger = ours.clone().by_user("eve")?.user_key();
    let label = &ours.spec.session;
    // The run in the guest's list belongs to no session of the guest.
    let runs = store.list_runs(&bobs.user_key(), &[], None, 9).await?.items;
    assert!(runs.iter().any(|run| run.session == bobs.spec.session_name()));
    assert_eq!(store.list_turns(&ours.session_key(), None, 9).await?.items.len(), 2);
    assert_eq!(store.delete_session(&stranger, label).await?, SessionDeletion::Unknown);
    assert_eq!(store.delete_session(&ours.user_key(), label).await?, SessionDeletion::Done);
    assert_eq!(store.delete_session(&ours.user_key(), label).await?, SessionDeletion::Unknown);
    assert_eq!(session_labels(store, &bobs.user_key()).await?, ["s3", "s"]);
    assert_eq!(session_labels(store, &ours.user_key()).await?, ["s2"]);
    assert_eq!(store.find_meta(&bobs.key).await?, None);
    // The request label now belongs to another session, and stays there.
    let of_label = store.find_session_name(&ours.user_key(), "r1").await?;
    assert_eq!(of_label, Some(others[0].spec.session_name()));
    assert_eq!(store.find_session_name(&bobs.user_key(), "r2").await?, None);
    for run in &others {
        assert_eq!(store.read_from(&run.key, 0).await?.len(), 2);
        assert_eq!(store.list_files(&run.session_key()).await?.len(), 1);
        assert_eq!(store.list_turns(&run.session_key(), None, 9).await?.items.len(), 1);
        let runs = store.list_runs(&run.user_key(), &[], None, 9).await?.items;
        assert_eq!(runs.iter().filter(|entry| entry.run == run.key.run).count(), 1);
    }
    Ok(())
}
