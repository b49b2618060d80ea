//! Checks with values larger than an item of a store: a megabyte each.
//!
//! Values that may be long are kept completely: records (see `journal`), mail, questions and answers. Other
//! long values return a permanent error: metadata, leases, previews, names and descriptions. Further values
//! cannot be too large: texts are typed or cut before, and lists are limited.

use djinn_core::budget::Spending;
use djinn_core::conversation::ChildReport;
use djinn_core::estimate::Estimate;
use djinn_core::file::ProductFile;
use djinn_core::human::{HumanRequest, HumanResponse, ResponseRecord, Subject};
use djinn_core::id::{CallId, ChildId, FileName, HumanRequestId, UserId};
use djinn_core::input::{ChildEnded, ChildRequest, PlanEdit, UserMessage};
use djinn_core::plan::StepEdit;
use djinn_core::status::RunStatus;
use djinn_core::tool::Risk;
use djinn_runtime::port::live::LiveFrom;
use djinn_runtime::port::mailbox::Mail;
use djinn_runtime::port::{Store, StoreError};
use serde_json::{Map, Value};

use super::Checked;
use super::fixture::{
    EXPIRY, FixtureResult, RunFixture, lease_of, new_file, preview_piece, read_written, record_of,
    text_of,
};

const MEGABYTE: usize = 1_000_000;

fn product_file(name: &str, description: &str) -> FixtureResult<ProductFile> {
    Ok(ProductFile {
        name: FileName::new(name)?,
        description: description.to_owned(),
        size: 3,
        internal: false,
        media_type: "text/plain".to_owned(),
        object: format!("files/{name}"),
        has_rows: None,
        uploaded: false,
    })
}

/// Creates call arguments with this text.
fn content_arguments(text: &str) -> Map<String, Value> {
    Map::from_iter([("content".to_owned(), text.into())])
}

fn child_ended(text: &str) -> FixtureResult<ChildEnded> {
    let part = text.get(..text.floor_char_boundary(text.len() / 120)).unwrap_or_default();
    let files = (0..120)
        .map(|n| product_file(&format!("{n}.md"), part))
        .collect::<FixtureResult<Vec<_>>>()?;
    let report = ChildReport {
        child: ChildId::for_step(1, 1),
        description: "Look".to_owned(),
        text: String::new(),
        failure: None,
        files: files.iter().map(|file| file.name.clone()).collect(),
        done: true,
        skipped: false,
        edit_comment: None,
        truncated: false,
        known_urls: Vec::new(),
    };
    let spent = Spending::default();
    let turns = Vec::new();
    let status = RunStatus::Finished;
    Ok(ChildEnded {
        report,
        status,
        files,
        spent,
        turns,
        evidence: Vec::new(),
        tainted: false,
        full_output: None,
        entry_count: Some(1),
    })
}

fn task_asks(text: &str) -> FixtureResult<ChildRequest> {
    let call = CallId::new("t1.c1")?;
    let about =
        Subject::Call { call, tool: "file_tool".to_owned(), arguments: content_arguments(text) };
    let ask = HumanRequest {
        id: HumanRequestId::new("s1.1.t1.c1")?,
        child: Some(ChildId::for_step(1, 1)),
        subject: about,
        risk: Risk::High,
        reasons: Vec::new(),
        estimate: Estimate::default(),
        digest: "digest".to_owned(),
        expires_at_ms: Some(9),
    };
    let child = ChildId::for_step(1, 1);
    let reasoning = text.to_owned();
    Ok(ChildRequest {
        child,
        version: 1,
        requests: vec![ask],
        reasoning,
        response_count: 0,
        paused: true,
    })
}

/// Creates mail of every kind, with this text in each text field.
fn every_mail(text: &str) -> FixtureResult<Vec<Mail>> {
    let by = UserId::new("ann")?;
    let step = StepEdit { details: text.to_owned(), ..StepEdit::default() };
    let response = ResponseRecord {
        request: HumanRequestId::new("t1.c1")?,
        id: "1".to_owned(),
        by: Some(by.clone()),
        answer: HumanResponse::Modify { arguments: content_arguments(text) },
        comment: text.to_owned(),
        digest: None,
        via: None,
    };
    let edit = PlanEdit {
        id: "1".to_owned(),
        by: by.clone(),
        version: 1,
        title: text.to_owned(),
        steps: vec![step],
    };
    let message = UserMessage { id: "1".to_owned(), by: by.clone(), text: text.to_owned() };
    Ok(vec![
        Mail::Stop { by },
        Mail::FileAdded { id: "1".to_owned(), file: product_file("a.md", text)? },
        Mail::FileAnnounced { file: product_file("b.md", text)? },
        Mail::ChildEnded { ended: Box::new(child_ended(text)?) },
        Mail::ChildRequest { request: Box::new(task_asks(text)?) },
        Mail::UserMessage { message: Box::new(message) },
        Mail::PlanEdited { edit: Box::new(edit) },
        Mail::HumanResponse { response: Box::new(response) },
    ])
}

/// Mail of any length is delivered; mail put twice is stored once, and the last version counts.
pub async fn mail_of_any_length_is_read_as_it_was_put(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    let task = run.key.with_child(ChildId::for_step(1, 1));
    store.create(&run.key, &run.created_by("w", None)?).await?;
    for bytes in [10, 110_000, MEGABYTE, 90_000] {
        let mut mail = every_mail(&text_of(bytes))?;
        mail.sort_by_key(Mail::id);
        for key in [&run.key, &task] {
            let again = mail.first().filter(|_| bytes < MEGABYTE);
            for mail in mail.iter().chain(again) {
                store.put_mail(key, mail, EXPIRY).await?;
            }
            let mut stored_mail = store.list_mail(key).await?;
            stored_mail.sort_by_key(Mail::id);
            assert!(stored_mail == mail, "{bytes} bytes");
        }
    }
    let ids: Vec<String> = every_mail("")?.iter().map(Mail::id).collect();
    store.delete_mail(&run.key, &ids).await?;
    assert!(store.list_mail(&run.key).await?.is_empty());
    assert_eq!(store.list_mail(&task).await?.len(), ids.len());
    Ok(())
}

/// Questions and answers of any length are kept for later runs and users.
pub async fn what_was_asked_and_answered_has_any_length(store: &impl Store) -> Checked {
    let mut run = RunFixture::of("s", "r")?;
    run.spec.question = text_of(MEGABYTE);
    let new = run.created_by("w", None)?;
    store.create(&run.key, &new).await?;
    let mut end = run.run_end();
    end.exchange.answer = text_of(MEGABYTE);
    let last = record_of(1, "w1", &text_of(MEGABYTE))?;
    store.append_end(&run.key, &last, &end, EXPIRY).await?;
    assert!(read_written(store, &run.key, 0).await? == [new.record, last]);
    let turns = store.list_turns(&run.session_key(), None, 9).await?.items;
    assert!(turns.into_iter().map(|turn| turn.exchange).eq([Some(end.exchange.clone())]));
    assert!(store.load_session(&run.session_key()).await?.history == [end.exchange]);
    let runs = store.list_runs(&run.user_key(), &[], None, 9).await?.items;
    assert!(runs.iter().all(|run| run.title.chars().count() <= 121), "titles are cut");
    Ok(())
}

/// A too large value returns a permanent error, writes nothing, and blocks nothing else.
pub async fn what_is_too_large_is_refused_for_good_and_leaves_nothing(
    store: &impl Store,
) -> Checked {
    let long = text_of(MEGABYTE);
    let run = RunFixture::of("s", "r")?;
    let mut large = run.clone();
    large.spec.body_hash.clone_from(&long);
    // In a transaction.
    let outcome = store.create(&run.key, &large.created_by("w0", None)?).await;
    assert!(matches!(outcome, Err(StoreError::TooLarge(_))), "{:?}", outcome.map(|_| ()));
    assert!(store.find_meta(&run.key).await?.is_none());
    assert_eq!(store.find_active_run(&run.session_key()).await?, None);

    store.create(&run.key, &run.created_by("w1", None)?).await?;
    let before = store.find_meta(&run.key).await?;
    let session = run.session_key();
    let now_ms = run.at_ms;
    let file =
        djinn_runtime::port::file::NewFile { description: long.clone(), ..new_file("a.md")? };
    let pieces = [preview_piece(0, &long, 5)];
    let outcomes = [
        // By an update.
        store.take_lease(&run.key, &long, now_ms, now_ms + 1).await.map(|_| ()),
        store.rename_session(&run.user_key(), &run.spec.session, &long).await.map(|_| ()),
        // By a put.
        store.write_live(&run.key, "w", 5, &pieces).await,
        store.write_file(&session, &file, b"x").await.map(|_| ()),
    ];
    for outcome in outcomes {
        let error = outcome.err().ok_or("it was taken")?;
        assert!(matches!(error, StoreError::TooLarge(_)) && !error.is_retryable());
    }
    assert_eq!(store.find_meta(&run.key).await?, before);
    assert!(store.list_files(&session).await?.is_empty());
    assert!(store.read_live(&run.key, &LiveFrom::Moment(0)).await?.0.is_empty());
    let entry = store.find_session(&run.user_key(), &run.spec.session).await?;
    assert!(entry.is_some_and(|session| session.title.len() < 200));

    // Values of normal size still succeed.
    let acquisition = store.take_lease(&run.key, "h", now_ms, now_ms + 1).await?;
    let lease = lease_of("h", now_ms + 1, 1);
    assert_eq!(
        acquisition,
        djinn_runtime::port::lease::LeaseAcquisition::Acquired { lease, lapsed: false }
    );
    Ok(())
}
