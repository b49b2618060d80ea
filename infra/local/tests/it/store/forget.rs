//! What is left in the table and the bucket of a session that was deleted.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use djinn_aws::{Aws, AwsStore};
use djinn_core::conversation::{CompactedContext, SessionMemory};
use djinn_core::entry::{Entry, Event};
use djinn_core::id::{ChildId, EntryId};
use djinn_core::input::UserMessage;
use djinn_core::status::RunStatus;
use djinn_local::{Stores, StoresOptions};
use djinn_runtime::port::UserKey;
use djinn_runtime::port::catalog::{Catalog, SessionDeletion};
use djinn_runtime::port::file::Files;
use djinn_runtime::port::file_url::FileUrls as _;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::live::{Live, LiveLog, Preview};
use djinn_runtime::port::mailbox::{Mail, Mailbox};
use djinn_runtime::port::model::TextKind;
use dynoxide::Database;

use super::fault::{behind, objects_under};
use super::proxy::{Seen, Treatment};
use super::sample::{EXPIRY, end, file, key, new_run, record, session, tenant, user};

/// A session with all that one can have: two runs, a task, mail, previews, long records, a file and
/// one that is expected.
async fn fill(store: &AwsStore, label: &str) {
    for (n, request) in requests(label).iter().enumerate() {
        let (run, at_ms) = (key(label, request), 1_700_000_000_000 + n as i64);
        store.create(&run, &new_run(label, request, at_ms)).await.unwrap();
        let task = ChildId::for_step(1, 1);
        let mut begins = record(1, &"long ".repeat(60_000));
        let event = Event::ChildStarted {
            child: task.clone(),
            description: String::new(),
            agent: String::new(),
        };
        begins.entries.push(Entry {
            id: EntryId::new("s1.1.start").unwrap(),
            path: djinn_core::id::Path::default(),
            at_ms,
            event,
        });
        store.append(&run, &begins, EXPIRY).await.unwrap();
        let task = run.with_child(task);
        store.create(&task, &new_run(label, request, at_ms)).await.unwrap();
        store.append(&task, &record(1, &"task ".repeat(60_000)), EXPIRY).await.unwrap();
        let piece = Preview {
            path: djinn_core::id::Path::default(),
            message: djinn_core::id::MessageId::for_turn(1),
            attempt: 1,
            kind: TextKind::Text,
            offset: 0,
            text: "go".into(),
            at_ms,
        };
        store.write_live(&run, "w", at_ms, &[Live::Preview(piece)]).await.unwrap();
        store.put_mail(&run, &Mail::Stop { by: user() }, EXPIRY).await.unwrap();
        // A long one lies in the bucket, and stays there when it is deleted, as one does that was never put.
        let said = |id: &str| {
            let text = format!("{id} ").repeat(60_000);
            Mail::UserMessage {
                message: Box::new(UserMessage { id: id.to_owned(), by: user(), text }),
            }
        };
        for (key, id) in [(&run, "kept"), (&run, "deleted"), (&task, "kept")] {
            store.put_mail(key, &said(id), EXPIRY).await.unwrap();
        }
        store.delete_mail(&run, &[said("deleted").id()]).await.unwrap();
        let mut ending = end(label, at_ms, RunStatus::Finished);
        ending.exchange.answer = "long ".repeat(60_000);
        ending.memory = Some(SessionMemory {
            compacted: CompactedContext {
                text: "long ".repeat(60_000),
                exchanges: 1,
                turns: 0,
                files: Vec::new(),
                last_text: String::new(),
                tainted: false,
            },
            newer_exchanges: 0,
        });
        store.append_end(&run, &record(2, "x"), &ending, EXPIRY).await.unwrap();
    }
    for bytes in ["old", "new"] {
        store.write_file(&session(label), &file("a.md"), bytes.as_bytes()).await.unwrap();
    }
    let minute = std::time::Duration::from_secs(60);
    store.presign_put(&session(label), &file("b.md"), 3, minute).await.unwrap().unwrap();
}

fn requests(label: &str) -> [String; 2] {
    ["r1", "r2"].map(|request| format!("{label}-{request}"))
}

/// Items in the table and objects in the bucket of stores that have stopped.
fn left(dir: &Path) -> (i64, usize) {
    let database = Database::new(dir.join("table.db").to_str().unwrap()).unwrap();
    let items = database.table_stats().unwrap().iter().map(|table| table.item_count).sum();
    (items, objects_under(&dir.join("objects/djinn")).len())
}

#[tokio::test]
async fn nothing_is_left_and_nothing_else_is_touched() {
    let dir = tempfile::tempdir().unwrap();
    let open = || {
        Stores::start(StoresOptions {
            dir: Some(dir.path().to_owned()),
            ..StoresOptions::default()
        })
        .unwrap()
    };
    let asks = UserKey { tenant: tenant(), user: user() };
    let mut counts = Vec::new();
    // A label that begins as the other's does.
    for label in ["s", "s:2"] {
        let stores = open();
        fill(&Aws::new(stores.settings().clone()).store(), label).await;
        drop(stores);
        counts.push(left(dir.path()));
    }
    assert!(counts[0].0 > 15 && counts[0].1 > 5, "{counts:?}");
    for (label, expected) in [("s:2", counts[0]), ("s", (0, 0))] {
        let stores = open();
        let store = Aws::new(stores.settings().clone()).store();
        let label = session(label).session;
        assert_eq!(store.delete_session(&asks, &label).await, Ok(SessionDeletion::Done));
        drop((store, stores));
        assert_eq!(left(dir.path()), expected, "{label}");
    }
}

/// Deletions that go through before the store is gone.
static BEFORE: AtomicUsize = AtomicUsize::new(0);

fn breaks_off(seen: &Seen) -> Treatment {
    let deletes = seen.operation == "DeleteItem";
    let broken = deletes
        && BEFORE
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
            .is_err();
    if broken { Treatment::NotDone } else { Treatment::Pass }
}

#[tokio::test]
async fn a_deletion_that_breaks_off_anywhere_is_finished_by_the_next() {
    let (broken, store) = behind(|_| Treatment::Pass);
    let (asks, label) = (UserKey { tenant: tenant(), user: user() }, session("s").session);
    let mut deletions = 0;
    fill(&store, "s").await;
    loop {
        broken.plan(breaks_off);
        BEFORE.store(deletions, Ordering::SeqCst);
        let first = store.delete_session(&asks, &label).await;
        broken.plan(|_| Treatment::Pass);
        if first.is_ok() {
            break;
        }
        let again = store.delete_session(&asks, &label).await;
        assert_eq!(again, Ok(SessionDeletion::Done), "broken off after {deletions}");
        for request in requests("s") {
            let run = key("s", &request);
            for key in [run.with_child(ChildId::for_step(1, 1)), run] {
                assert_eq!(store.find_meta(&key).await, Ok(None), "broken off after {deletions}");
                assert!(store.read_from(&key, 0).await.unwrap().is_empty());
            }
            assert_eq!(store.find_session_name(&asks, &request).await, Ok(None));
        }
        assert!(store.list_runs(&asks, &[], None, 9).await.unwrap().items.is_empty());
        assert!(store.list_files(&session("s")).await.unwrap().is_empty());
        fill(&store, "s").await;
        deletions += 1;
    }
    assert!(deletions > 15, "only {deletions} deletions");
}
