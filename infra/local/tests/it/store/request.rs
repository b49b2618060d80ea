//! What each operation costs, in requests.

use std::collections::BTreeMap;

use djinn_aws::Aws;
use djinn_core::id::{ChildId, FileName};
use djinn_core::input::UserMessage;
use djinn_core::status::RunStatus;
use djinn_runtime::port::UserKey;
use djinn_runtime::port::file::Files;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::lease::Leases;
use djinn_runtime::port::live::{LiveFrom, LiveLog};
use djinn_runtime::port::mailbox::{Mail, Mailbox};

use super::fresh_aws;
use super::sample::{
    EXPIRY, end, file, key, lease, new_run, new_task, record, session, tenant, user,
};

/// The requests made since the last look, as `2 GetItem, 1 Query`.
fn made(aws: &Aws) -> String {
    let counts: BTreeMap<_, _> = aws.request_counter().take_counts();
    let counts = counts.iter().map(|(operation, count)| format!("{count} {operation}"));
    counts.collect::<Vec<_>>().join(", ")
}

#[tokio::test]
async fn every_operation_makes_the_fewest_requests_it_can() {
    let (_stores, aws) = fresh_aws();
    let (store, run) = (aws.store(), key("s", "r"));
    assert_eq!(made(&aws), "", "clients are made without a request");

    let created = store.create(&run, &new_run("s", "r", 5)).await.unwrap();
    assert_eq!((created.is_created(), made(&aws).as_str()), (true, "1 TransactWriteItems"));
    store.create(&run, &new_run("s", "r", 5)).await.unwrap();
    assert_eq!(made(&aws), "1 TransactWriteItems");
    store.append(&run, &record(1, "short"), EXPIRY).await.unwrap();
    assert_eq!(made(&aws), "1 PutItem");
    store.append(&run, &record(2, &"long ".repeat(30_000)), EXPIRY).await.unwrap();
    assert_eq!(made(&aws), "1 PutItem, 1 PutObject");
    store.read_from(&run, 0).await.unwrap();
    assert_eq!(made(&aws), "1 GetObject, 1 Query");
    store.read_from(&run, 3).await.unwrap();
    assert_eq!(made(&aws), "1 Query");

    store.renew_lease(&run, &lease(), 2_000, false).await.unwrap();
    store.release_lease(&run, &lease(), RunStatus::Running, None).await.unwrap();
    store.take_lease(&run, "b", 2_000, 3_000).await.unwrap();
    store.mark_watched(&run, 4_000).await.unwrap();
    assert_eq!(made(&aws), "4 UpdateItem");
    store.find_meta(&run).await.unwrap();
    assert_eq!(made(&aws), "1 GetItem");

    store.put_mail(&run, &Mail::Stop { by: user() }, EXPIRY).await.unwrap();
    store.list_mail(&run).await.unwrap();
    store.delete_mail(&run, &["stop#".to_owned()]).await.unwrap();
    assert_eq!(made(&aws), "1 DeleteItem, 1 PutItem, 1 Query");
    // A long one is an object besides, which stays with its run.
    let text = "long ".repeat(30_000);
    let said =
        Mail::UserMessage { message: Box::new(UserMessage { id: "1".into(), by: user(), text }) };
    store.put_mail(&run, &said, EXPIRY).await.unwrap();
    assert_eq!(store.list_mail(&run).await.unwrap(), std::slice::from_ref(&said));
    store.delete_mail(&run, &[said.id()]).await.unwrap();
    assert_eq!(made(&aws), "1 DeleteItem, 1 GetObject, 1 PutItem, 1 PutObject, 1 Query");
    store.write_live(&run, "w", 1, &[]).await.unwrap();
    store.read_live(&run, &LiveFrom::Moment(0)).await.unwrap();
    // One for each of the log's shards.
    assert_eq!(made(&aws), "4 Query");

    store
        .append_end(&run, &record(3, "last"), &end("s", 5, RunStatus::Finished), EXPIRY)
        .await
        .unwrap();
    assert_eq!(made(&aws), "1 TransactWriteItems");
    store.write_file(&session("s"), &file("a.md"), b"x").await.unwrap();
    assert_eq!(made(&aws), "1 PutItem, 1 PutObject");
    let found = store.find_file(&session("s"), &FileName::new("a.md").unwrap()).await.unwrap();
    assert_eq!(made(&aws), "2 GetItem");
    store.read_file(&session("s"), &found.unwrap(), 9).await.unwrap();
    assert_eq!(made(&aws), "1 GetObject");
    store.find_session_name(&UserKey { tenant: tenant(), user: user() }, "r").await.unwrap();
    assert_eq!(made(&aws), "2 GetItem");
}

#[tokio::test]
async fn what_the_tasks_of_a_round_start_from_is_written_once() {
    let (_stores, aws) = fresh_aws();
    let (store, run) = (aws.store(), key("s", "r"));
    let create = async |step, words: &str| {
        let task = run.with_child(ChildId::for_step(step, 1));
        store.create(&task, &new_task(step, words)).await.unwrap();
        task
    };
    create(1, "short").await;
    assert_eq!(made(&aws), "1 TransactWriteItems", "it is in the record");

    let words = "long ".repeat(2_000);
    let all: Vec<_> = futures::future::join_all((1..=5).map(|step| create(step, &words))).await;
    assert_eq!(made(&aws), "1 PutObject, 5 TransactWriteItems");
    store.read_from(&all[4], 0).await.unwrap();
    assert_eq!(made(&aws), "1 GetObject, 1 Query");
    create(6, &format!("{words}, in another round")).await;
    assert_eq!(made(&aws), "1 PutObject, 1 TransactWriteItems");
}

#[tokio::test]
async fn a_session_is_read_with_two_queries_however_long_it_is() {
    let (_stores, aws) = fresh_aws();
    let store = aws.store();
    for n in 0..40 {
        let run = key("s", &format!("r{n}"));
        store.create(&run, &new_run("s", &format!("r{n}"), n)).await.unwrap();
        store
            .append_end(&run, &record(1, "x"), &end("s", n, RunStatus::Failed), EXPIRY)
            .await
            .unwrap();
        store.write_file(&session("s"), &file(&format!("{n}.md")), b"x").await.unwrap();
    }
    made(&aws);
    let view = store.load_session(&session("s")).await.unwrap();
    assert_eq!((view.history.len(), view.files.len()), (30, 40));
    assert_eq!(made(&aws), "2 Query");
}

/// A driver's future has room for each of them, and so has the stack of whoever polls it.
#[tokio::test]
async fn waiting_for_an_operation_takes_little_room() {
    let (_stores, aws) = fresh_aws();
    let (store, run) = (aws.store(), key("s", "r"));
    let (new, last, end) = (new_run("s", "r", 5), record(1, "x"), end("s", 5, RunStatus::Finished));
    let (session, file) = (session("s"), file("a.md"));
    let bytes = [
        size_of_val(&store.create(&run, &new)),
        size_of_val(&store.append(&run, &last, EXPIRY)),
        size_of_val(&store.append_end(&run, &last, &end, EXPIRY)),
        size_of_val(&store.read_from(&run, 0)),
        size_of_val(&store.load_session(&session)),
        size_of_val(&store.list_mail(&run)),
        size_of_val(&store.take_lease(&run, "h", 1, 2)),
        size_of_val(&store.write_live(&run, "w", 1, &[])),
        size_of_val(&store.write_file(&session, &file, b"x")),
    ];
    assert!(bytes.iter().all(|bytes| *bytes <= 16 * 1024), "{bytes:?}");
}
