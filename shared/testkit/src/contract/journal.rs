//! Checks of creating, appending to, ending and reading the journals of runs.

use djinn_core::id::ChildId;
use djinn_core::journal::FORMAT;
use djinn_core::status::RunStatus;
use djinn_runtime::port::journal::{AppendResult, CreateResult, RunEnd};
use djinn_runtime::port::live::LiveFrom;
use djinn_runtime::port::mailbox::Mail;
use djinn_runtime::port::page::PageSize;
use djinn_runtime::port::{Store, StoreError};
use futures::future::try_join_all;

use super::Checked;
use super::fixture::{
    EXPIRY, RunFixture, lease_of, new_file, read_written, record_of, text_of, without_hash,
};

/// The first creation and its repeats return new; any other creation finds the run.
pub async fn a_run_is_created_once(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    let new = run.created_by("w1", Some(lease_of("h", 50, 1)))?;
    assert!(store.create(&run.key, &new).await?.is_created());
    assert!(store.create(&run.key, &new).await?.is_created());

    let meta = store.find_meta(&run.key).await?.ok_or("no run")?;
    assert_eq!(meta.status, RunStatus::Running);
    assert_eq!((&meta.session, &meta.user), (&run.spec.session, &run.spec.user));
    assert_eq!((&meta.request, &meta.body_hash), (&run.spec.request, &run.spec.body_hash));
    assert_eq!(meta.lease, new.lease);

    let other = run.created_by("w2", Some(lease_of("other", 99, 1)))?;
    assert_eq!(store.create(&run.key, &other).await?, CreateResult::Exists(Box::new(meta)));
    assert_eq!(read_written(store, &run.key, 0).await?, [new.record]);
    Ok(())
}

/// Of concurrent creations of the same run, one is new.
pub async fn of_concurrent_creations_of_a_run_one_is_new(store: &impl Store) -> Checked {
    for round in 0..4 {
        let run = RunFixture::of(&format!("s{round}"), "r")?;
        let news: Vec<_> =
            (0..6).map(|n| run.created_by(&format!("w{n}"), None)).collect::<Result<_, _>>()?;
        let outcomes = try_join_all(news.iter().map(|new| store.create(&run.key, new))).await?;
        let winners: Vec<_> = outcomes.iter().zip(&news).filter(|(c, _)| c.is_created()).collect();
        assert_eq!(winners.len(), 1, "{outcomes:?}");
        let others = outcomes.iter().filter(|c| matches!(c, CreateResult::Exists(_))).count();
        assert_eq!(others, 5, "{outcomes:?}");
        let records = read_written(store, &run.key, 0).await?;
        assert_eq!(records.first(), winners.first().map(|(_, new)| &new.record));
    }
    Ok(())
}

/// A record is appended once; a repeat succeeds, and another record conflicts.
pub async fn a_record_is_appended_once(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    store.create(&run.key, &run.created_by("w0", None)?).await?;
    let first = record_of(1, "w1", "hello")?;
    assert!(store.append(&run.key, &first, EXPIRY).await?.is_appended());
    assert!(store.append(&run.key, &first, EXPIRY).await?.is_appended());
    let other = record_of(1, "w2", "other")?;
    assert_eq!(store.append(&run.key, &other, EXPIRY).await?, AppendResult::Conflict);
    assert!(store.append(&run.key, &record_of(2, "w3", "next")?, EXPIRY).await?.is_appended());
    assert!(store.append(&run.key, &first, EXPIRY).await?.is_appended());
    assert_eq!(read_written(store, &run.key, 1).await?, [first, record_of(2, "w3", "next")?]);
    Ok(())
}

/// Of concurrent appends, one wins each number.
pub async fn of_concurrent_records_of_one_number_one_is_written(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    store.create(&run.key, &run.created_by("w0", None)?).await?;
    for n in 1..6 {
        let records: Vec<_> = (0..6)
            .map(|writer| record_of(n, &format!("w{writer}.{n}"), "text"))
            .collect::<Result<_, _>>()?;
        let appends = records.iter().map(|record| store.append(&run.key, record, EXPIRY));
        let outcomes = try_join_all(appends).await?;
        let done = outcomes.iter().filter(|a| a.is_appended()).count();
        assert_eq!(done, 1, "{outcomes:?}");
        let winner = outcomes.iter().position(|a| a.is_appended()).ok_or("nobody won")?;
        assert_eq!(read_written(store, &run.key, n).await?.first(), records.get(winner));
    }
    Ok(())
}

/// The end is written together with the status and the lease's release. A repeat succeeds.
pub async fn the_last_record_ends_the_run_and_is_written_once(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    store.create(&run.key, &run.created_by("w0", Some(lease_of("h", 50, 1)))?).await?;
    let last = record_of(1, "w1", "answer")?;
    assert!(store.append_end(&run.key, &last, &run.run_end(), EXPIRY).await?.is_appended());
    assert!(store.append_end(&run.key, &last, &run.run_end(), EXPIRY).await?.is_appended());
    let other = record_of(1, "w2", "other")?;
    assert_eq!(
        store.append_end(&run.key, &other, &run.run_end(), EXPIRY).await?,
        AppendResult::Conflict
    );

    let meta = store.find_meta(&run.key).await?.ok_or("no run")?;
    assert_eq!((meta.status, meta.lease), (RunStatus::Finished, None));
    assert_eq!(read_written(store, &run.key, 1).await?, [last]);
    // Remaining deliveries are recorded after the end.
    let delivery = record_of(2, "w3", "")?;
    assert!(store.append(&run.key, &delivery, EXPIRY).await?.is_appended());
    // The request still finds the ended run while the run is kept.
    let outcome = store.create(&run.key, &run.created_by("w9", None)?).await?;
    assert!(matches!(outcome, CreateResult::Exists(meta) if meta.status == RunStatus::Finished));
    Ok(())
}

/// The end records if a client received it; a later note updates the flag.
pub async fn whether_its_end_was_shown_is_known_of_a_run(store: &impl Store) -> Checked {
    for end_shown in [true, false] {
        let run = RunFixture::of(&format!("s-{end_shown}"), "r")?;
        store.mark_end_shown(&run.key).await?;
        assert_eq!(store.find_meta(&run.key).await?, None);
        store.create(&run.key, &run.created_by("w0", None)?).await?;
        // The run has no end yet.
        store.mark_end_shown(&run.key).await?;
        assert_eq!(store.find_meta(&run.key).await?.map(|meta| meta.end_shown), Some(false));
        let end = RunEnd { end_shown, ..run.run_end() };
        store.append_end(&run.key, &record_of(1, "w1", "answer")?, &end, EXPIRY).await?;
        assert_eq!(store.find_meta(&run.key).await?.map(|meta| meta.end_shown), Some(end_shown));
        for _ in 0..2 {
            store.mark_end_shown(&run.key).await?;
            assert_eq!(store.find_meta(&run.key).await?.map(|meta| meta.end_shown), Some(true));
        }
    }
    // An abandoned run has no end to show.
    let run = RunFixture::of("s", "r")?;
    store.create(&run.key, &run.created_by("w0", None)?).await?;
    store.abandon_run(&run.key, run.at_ms + 1).await?;
    assert_eq!(store.find_meta(&run.key).await?.map(|meta| meta.end_shown), Some(true));
    Ok(())
}

/// A conflicting end leaves the run, the lease and the session unchanged.
pub async fn an_ending_that_lost_its_number_changes_nothing(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    store.create(&run.key, &run.created_by("w0", Some(lease_of("h", 50, 1)))?).await?;
    store.append(&run.key, &record_of(1, "w1", "first")?, EXPIRY).await?;
    let late = record_of(1, "w2", "late")?;
    assert_eq!(
        store.append_end(&run.key, &late, &run.run_end(), EXPIRY).await?,
        AppendResult::Conflict
    );
    let meta = store.find_meta(&run.key).await?.ok_or("no run")?;
    assert_eq!((meta.status, meta.lease), (RunStatus::Running, Some(lease_of("h", 50, 1))));
    let view = store.load_session(&run.session_key()).await?;
    assert_eq!((view.active, view.history.len()), (Some(run.key.run), 0));
    Ok(())
}

/// A journal longer than one read of the store is returned completely.
pub async fn records_are_read_in_order_and_from_any_number_on(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    let new = run.created_by("w0", None)?;
    store.create(&run.key, &new).await?;
    let text = text_of(40_000);
    let mut records = vec![new.record];
    for n in 1..=60 {
        let next = record_of(n, &format!("w{n}"), &text)?;
        assert!(store.append(&run.key, &next, EXPIRY).await?.is_appended());
        records.push(next);
    }
    let all_records = read_written(store, &run.key, 0).await?;
    assert_eq!(
        all_records.iter().map(|r| r.number).collect::<Vec<_>>(),
        (0..=60).collect::<Vec<_>>()
    );
    assert_eq!(all_records, records);
    let last_records = store.read_from(&run.key, 57).await?;
    assert_eq!(last_records.iter().map(|r| r.number).collect::<Vec<_>>(), [57, 58, 59, 60]);
    assert!(store.read_from(&run.key, 61).await?.is_empty());
    Ok(())
}

/// A page has the first records that fit; all pages together have all records.
pub async fn a_journal_is_read_page_by_page(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    let new = run.created_by("w0", None)?;
    store.create(&run.key, &new).await?;
    let mut records = vec![new.record];
    for n in 1..=30 {
        // One record is longer than a page.
        let text = text_of(if n == 20 { 300_000 } else { 10_000 });
        let next = record_of(n, &format!("w{n}"), &text)?;
        assert!(store.append(&run.key, &next, EXPIRY).await?.is_appended());
        records.push(next);
    }
    for size in [(7, 1_000_000), (1_000, 100_000), (3, 1), (1_000, usize::MAX)] {
        let size = PageSize { records: size.0, bytes: size.1 };
        let mut all_records = Vec::new();
        let mut pages = 0;
        loop {
            let page = store.read_page(&run.key, all_records.len() as u64, size).await?;
            let count = page.records.len();
            assert!(count <= size.records && (page.bytes <= size.bytes || count == 1), "{size:?}");
            assert!(page.bytes > 0 && count > 0 || !page.has_more, "{size:?}");
            all_records.extend(page.records.into_iter().map(without_hash));
            pages += 1;
            if !page.has_more {
                break;
            }
        }
        assert!(all_records == records, "{size:?}: {} records in {pages} pages", all_records.len());
        assert!(
            pages >= records.len() / size.records.min(records.len()),
            "{size:?}: {pages} pages"
        );
    }
    let newest = store.read_newest(&run.key, 3).await?;
    assert_eq!(newest.iter().map(|record| record.number).collect::<Vec<_>>(), [30, 29, 28]);
    assert_eq!(store.read_newest(&run.key, 100).await?.len(), records.len());
    let nothing = store.read_page(&run.key, 31, PageSize::FOR_VIEWER).await?;
    assert_eq!((nothing.records.len(), nothing.has_more), (0, false));
    Ok(())
}

/// A record of any length is kept, at any position.
pub async fn long_records_are_read_as_they_were_written(store: &impl Store) -> Checked {
    let mut run = RunFixture::of("s", "r")?;
    run.spec.question = text_of(200_000);
    let new = run.created_by("w0", None)?;
    assert!(store.create(&run.key, &new).await?.is_created());
    let mut records = vec![new.record];
    for (n, bytes) in [(1, 51_000), (2, 52_000), (3, 100), (4, 1_000_000), (5, 2_500_000)] {
        // The text is in the record twice: as an input and as an entry.
        let long = record_of(n, &format!("w{n}"), &text_of(bytes))?;
        assert!(store.append(&run.key, &long, EXPIRY).await?.is_appended());
        assert!(store.append(&run.key, &long, EXPIRY).await?.is_appended());
        records.push(long);
    }
    let last = record_of(6, "w6", &text_of(300_000))?;
    assert!(store.append_end(&run.key, &last, &run.run_end(), EXPIRY).await?.is_appended());
    records.push(last);
    assert!(read_written(store, &run.key, 0).await? == records);
    let view = store.load_session(&run.session_key()).await?;
    assert!(view.history == [run.run_end().exchange]);
    Ok(())
}

/// Records of a newer version are not misread.
pub async fn newer_records_are_left_alone(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    store.create(&run.key, &run.created_by("w0", None)?).await?;
    let mut newer = record_of(1, "w1", "future")?;
    newer.format = FORMAT + 1;
    assert!(store.append(&run.key, &newer, EXPIRY).await?.is_appended());
    assert_eq!(store.read_from(&run.key, 0).await, Err(StoreError::NewerFormat(FORMAT + 1)));
    // A write to the same number still conflicts.
    let ours = record_of(1, "w2", "now")?;
    assert_eq!(store.append(&run.key, &ours, EXPIRY).await?, AppendResult::Conflict);
    Ok(())
}

/// Reading a missing run is no error.
pub async fn what_does_not_exist_reads_as_nothing(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    assert_eq!(store.find_meta(&run.key).await?, None);
    assert!(store.read_from(&run.key, 0).await?.is_empty());
    assert!(store.list_mail(&run.key).await?.is_empty());
    assert_eq!(
        store.read_live(&run.key, &LiveFrom::Moment(0)).await?,
        (Vec::new(), LiveFrom::Moment(0))
    );
    assert_eq!(store.load_session(&run.session_key()).await?, Default::default());
    let end = store.append_end(&run.key, &record_of(1, "w", "x")?, &run.run_end(), EXPIRY).await;
    assert!(matches!(end, Err(StoreError::Unreadable(_))), "{end:?}");
    assert!(store.read_from(&run.key, 0).await?.is_empty());
    Ok(())
}

/// The same session and request of two tenants are two runs.
pub async fn tenants_never_see_each_others_runs(store: &impl Store) -> Checked {
    let (ours, theirs) =
        (RunFixture::of_tenant("t1", "s", "r")?, RunFixture::of_tenant("t2", "s", "r")?);
    store.create(&ours.key, &ours.created_by("w0", None)?).await?;
    let mut stranger = ours.key.clone();
    stranger.tenant = theirs.key.tenant.clone();
    assert_eq!(store.find_meta(&stranger).await?, None);
    assert!(store.read_from(&stranger, 0).await?.is_empty());
    assert_eq!(store.load_session(&theirs.session_key()).await?, Default::default());
    assert_eq!(store.find_session_name(&theirs.user_key(), "s").await?, None);
    assert_eq!(store.find_session_name(&theirs.user_key(), "r").await?, None);
    // The other tenant's session is free, although ours is busy.
    assert!(store.create(&theirs.key, &theirs.created_by("w1", None)?).await?.is_created());
    Ok(())
}

/// Equal sessions, requests and file names of two users are separate, both for active and for ended runs.
pub async fn users_of_a_tenant_may_use_the_same_labels(store: &impl Store) -> Checked {
    let ours = RunFixture::of("s", "r")?;
    let bobs = ours.clone().by_user("bob")?;
    assert_ne!(ours.key, bobs.key);
    let mut files = Vec::new();
    for run in [&ours, &bobs] {
        assert!(store.create(&run.key, &run.created_by("w0", None)?).await?.is_created());
        let bytes = run.spec.user.as_str().as_bytes();
        files.push(store.write_file(&run.session_key(), &new_file("a.md")?, bytes).await?);
    }
    for run in [&ours, &bobs] {
        let view = store.load_session(&run.session_key()).await?;
        assert_eq!((view.active.as_ref(), view.history.len()), (Some(&run.key.run), 0));
        assert_eq!(store.list_turns(&run.session_key(), None, 9).await?.items.len(), 1);
        let mut end = run.run_end();
        end.exchange.answer = run.spec.user.to_string();
        store.append_end(&run.key, &record_of(1, "w1", "done")?, &end, EXPIRY).await?;
    }
    for (run, file) in [&ours, &bobs].into_iter().zip(files) {
        let meta = store.find_meta(&run.key).await?.ok_or("no run")?;
        assert_eq!((&meta.user, meta.owner()), (&run.spec.user, &run.spec.user));
        let view = store.load_session(&run.session_key()).await?;
        let texts: Vec<_> = view.history.iter().map(|exchange| exchange.answer.as_str()).collect();
        assert_eq!(texts, [run.spec.user.as_str()]);
        assert_eq!(view.files.as_slice(), std::slice::from_ref(&file));
        let content = store.read_file(&run.session_key(), &file, 99).await?;
        assert_eq!(content, run.spec.user.as_str().as_bytes());
        assert_eq!(store.list_runs(&run.user_key(), &[], None, 9).await?.items.len(), 1);
        assert_eq!(
            store.find_session_name(&run.user_key(), "r").await?,
            Some(run.spec.session_name())
        );
    }
    Ok(())
}

/// A task has its own journal, lease and mail; its end does not end the run or the session.
pub async fn a_task_lives_beside_its_run_and_leaves_the_session_alone(
    store: &impl Store,
) -> Checked {
    let run = RunFixture::of("s", "r")?;
    store.create(&run.key, &run.created_by("w0", None)?).await?;
    let (first, second) =
        (run.key.with_child(ChildId::for_step(1, 1)), run.key.with_child(ChildId::for_step(1, 2)));
    for (key, write) in [(&first, "w1"), (&second, "w2"), (&first, "w1")] {
        assert!(store.create(key, &run.created_by(write, None)?).await?.is_created());
    }
    let again = store.create(&first, &run.created_by("w3", None)?).await?;
    assert!(matches!(again, CreateResult::Exists(_)), "{again:?}");

    store.append(&first, &record_of(1, "a", "in the first")?, EXPIRY).await?;
    assert_eq!(store.read_from(&first, 0).await?.len(), 2);
    assert_eq!(
        (store.read_from(&second, 0).await?.len(), store.read_from(&run.key, 0).await?.len()),
        (1, 1)
    );
    store.put_mail(&first, &Mail::Stop { by: run.spec.user.clone() }, EXPIRY).await?;
    assert_eq!(
        (store.list_mail(&second).await?.len(), store.list_mail(&run.key).await?.len()),
        (0, 0)
    );

    store.append_end(&first, &record_of(2, "b", "the end")?, &run.run_end(), EXPIRY).await?;
    let status = async |key| store.find_meta(key).await.map(|meta| meta.map(|meta| meta.status));
    assert_eq!(status(&first).await?, Some(RunStatus::Finished));
    assert_eq!(status(&second).await?, Some(RunStatus::Queued));
    assert_eq!(status(&run.key).await?, Some(RunStatus::Queued));
    let session = store.load_session(&run.session_key()).await?;
    assert_eq!((session.active, session.history.len()), (Some(run.key.run), 0));
    Ok(())
}

/// Each task of a round returns its own data and the whole conversation, of any length.
pub async fn what_tasks_of_a_round_start_from_is_read_with_each_of_them(
    store: &impl Store,
) -> Checked {
    for (request, bytes) in [("short", 100), ("long", 20_000), ("longer", 300_000)] {
        let run = RunFixture::of("s", request)?;
        for step in 1..=3 {
            let task = run.child_run(step, &text_of(bytes))?;
            let new = task.created_by("w", None)?;
            assert!(store.create(&task.key, &new).await?.is_created());
            assert!(store.create(&task.key, &new).await?.is_created());
            assert!(read_written(store, &task.key, 0).await? == [new.record]);
        }
    }
    Ok(())
}
