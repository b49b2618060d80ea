//! The store's behavior when requests fail.

use djinn_core::id::Path;
use std::time::Duration;

use djinn_aws::{Aws, AwsStore, Settings, Timeouts};
use djinn_core::id::MessageId;
use djinn_core::input::UserMessage;
use djinn_core::journal::Record;
use djinn_core::status::RunStatus;
use djinn_local::{Stores, StoresOptions};
use djinn_runtime::port::file::Files;
use djinn_runtime::port::journal::{CreateResult, Journals, Lease};
use djinn_runtime::port::lease::{LeaseAcquisition, LeaseRenewal, Leases};
use djinn_runtime::port::live::{Live, LiveFrom, LiveLog, Preview};
use djinn_runtime::port::mailbox::{Mail, Mailbox, MailboxContents};
use djinn_runtime::port::model::TextKind;
use djinn_runtime::port::stream::Streams as _;
use djinn_runtime::port::{StoreError, UserKey};

use super::proxy::{Plan, Proxy, Seen, Treatment};
use super::sample::{EXPIRY, end, file, key, new_run, record, session, tenant, user};

pub(crate) fn loses_first_replies(seen: &Seen) -> Treatment {
    if seen.attempt == 1 { Treatment::ReplyLost } else { Treatment::Pass }
}

pub(crate) fn small_pages(seen: &Seen) -> Treatment {
    if seen.operation == "Query" { Treatment::SmallPage } else { Treatment::Pass }
}

fn loses_every_reply(_: &Seen) -> Treatment {
    Treatment::ReplyLost
}

fn passes(_: &Seen) -> Treatment {
    Treatment::Pass
}

/// A store whose table and bucket lie behind proxies.
pub(crate) struct Broken {
    _stores: Stores,
    table: Proxy,
    table_url: String,
    bucket: Proxy,
}

pub(crate) fn behind(plan: Plan) -> (Broken, AwsStore) {
    let stores = Stores::start(StoresOptions::default()).unwrap();
    let mut settings = stores.settings().clone();
    let endpoints = &mut settings.endpoints;
    let (table, table_url) = Proxy::start(&endpoints.dynamodb.take().unwrap(), plan);
    endpoints.dynamodb = Some(table_url.clone());
    let (bucket, url) = Proxy::start(&endpoints.s3.take().unwrap(), plan);
    endpoints.s3 = Some(url);
    settings.timeouts = quick();
    let store = Aws::new(settings).store();
    (Broken { _stores: stores, table, table_url, bucket }, store)
}

fn quick() -> Timeouts {
    Timeouts { backoff: Duration::from_millis(2), ..Timeouts::default() }
}

impl Broken {
    pub(crate) fn plan(&self, plan: Plan) {
        self.table.plan(plan);
        self.bucket.plan(plan);
    }
}

fn is_unavailable<T>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Unavailable(_)))
}

#[tokio::test]
async fn every_write_that_lost_all_its_replies_recognises_itself_when_it_is_made_again() {
    let (broken, store) = behind(passes);
    let (run, new) = (key("s", "r"), new_run("s", "r", 5));
    let long = record(1, &"long ".repeat(60_000));
    let last = record(2, "last");
    let ending = end("s", 5, RunStatus::Finished);
    let stop = Mail::Stop { by: user() };
    let piece = Live::Preview(Preview {
        path: Path::default(),
        message: MessageId::for_turn(1),
        attempt: 1,
        kind: TextKind::Text,
        offset: 0,
        text: "go".into(),
        at_ms: 5,
    });

    // Each is made three times: its replies lost, again its replies lost, and answered.
    macro_rules! again {
        ($write:expr) => {{
            for _ in 0..2 {
                broken.plan(loses_every_reply);
                assert!(is_unavailable(&$write.await), stringify!($write));
            }
            broken.plan(passes);
            $write.await.unwrap()
        }};
    }
    assert!(again!(store.create(&run, &new)).is_created());
    assert!(again!(store.append(&run, &long, EXPIRY)).is_appended());
    again!(store.put_mail(&run, &stop, EXPIRY));
    let text = "long ".repeat(60_000);
    let said =
        Mail::UserMessage { message: Box::new(UserMessage { id: "1".into(), by: user(), text }) };
    again!(store.put_mail(&run, &said, EXPIRY));
    assert_eq!(store.list_mail(&run).await.unwrap().len(), 2);
    again!(store.delete_mail(&run, &[said.id()]));
    again!(store.delete_mail(&run, &[stop.id()]));
    again!(store.write_live(&run, "w", 5, std::slice::from_ref(&piece)));
    again!(store.write_file(&session("s"), &file("a.md"), b"x"));
    let taken = again!(store.take_lease(&run, "b", 2_000, 3_000));
    let ours = Lease { holder: "b".into(), until_ms: 3_000, epoch: 2 };
    assert_eq!(taken, LeaseAcquisition::Acquired { lease: ours.clone(), lapsed: true });
    let renewed = again!(store.renew_lease(&run, &ours, 4_000, false));
    assert_eq!(renewed, LeaseRenewal::Renewed);
    again!(store.mark_watched(&run, 7_000));
    again!(store.release_lease(&run, &ours, RunStatus::Running, None));
    assert!(again!(store.append_end(&run, &last, &ending, EXPIRY)).is_appended());

    let stored = store.read_from(&run, 0).await.unwrap().into_iter();
    let stored: Vec<_> = stored.map(|record| Record { hash: None, ..record }).collect();
    assert!(stored == [new.record, long, last]);
    let meta = store.find_meta(&run).await.unwrap().unwrap();
    assert_eq!(meta.status, RunStatus::Finished);
    let view = store.load_session(&session("s")).await.unwrap();
    assert_eq!((view.active, view.history.len(), view.files.len()), (None, 1, 1));
    let mailbox = MailboxContents { watched_until_ms: 7_000, ..MailboxContents::default() };
    assert_eq!(store.read_mailbox(&run).await.unwrap(), mailbox);
    assert_eq!(store.read_live(&run, &LiveFrom::Moment(0)).await.unwrap().0, [piece]);
}

#[tokio::test]
async fn a_streams_place_whose_taking_lost_its_reply_is_taken_and_a_newcomer_of_its_run_has_it_next()
 {
    let (broken, store) = behind(loses_first_replies);
    let user = UserKey { tenant: tenant(), user: user() };
    let (run, other, late) =
        (key("s", "r").run, key("s", "other").run, i64::from(u32::MAX) * 1_000);
    let first = store.acquire_stream(&user, &run, "a", 1, late).await.unwrap();
    let first = first.expect("what is taken is its own");
    assert!(store.has_stream(&first).await.unwrap());
    assert_eq!(store.acquire_stream(&user, &other, "b", 1, late).await, Ok(None));
    let second = store.acquire_stream(&user, &run, "c", 1, late).await.unwrap().unwrap();
    assert!(store.has_stream(&second).await.unwrap());
    assert!(!store.has_stream(&first).await.unwrap());
    // Whoever lost a place gives nothing back that is another's.
    broken.plan(passes);
    store.release_stream(&first).await.unwrap();
    assert!(store.has_stream(&second).await.unwrap());
    store.release_stream(&second).await.unwrap();
    assert!(store.acquire_stream(&user, &other, "d", 1, late).await.unwrap().is_some());
}

#[tokio::test]
async fn a_request_is_made_three_times_and_then_the_store_is_unavailable() {
    let (broken, store) = behind(passes);
    let run = key("s", "r");
    broken.plan(|_| Treatment::NotDone);
    assert!(is_unavailable(&store.find_meta(&run).await));
    assert_eq!(broken.table.seen().len(), 3);
    broken.plan(|_| Treatment::Refused("ThrottlingException"));
    assert!(is_unavailable(&store.find_meta(&run).await));
    assert_eq!(broken.table.seen().len(), 3);
    broken.plan(|seen| match seen.nth {
        0 => Treatment::NotDone,
        1 => Treatment::Refused("ProvisionedThroughputExceededException"),
        _ => Treatment::Pass,
    });
    assert_eq!(store.find_meta(&run).await, Ok(None));
    assert_eq!(broken.table.seen().len(), 3);
}

#[tokio::test]
async fn a_refusal_names_the_operation_and_the_table_and_is_not_tried_again() {
    let (broken, store) = behind(passes);
    let run = key("s", "r");
    for code in ["AccessDeniedException", "ResourceNotFoundException", "ValidationException"] {
        broken.plan(match code {
            "AccessDeniedException" => |_| Treatment::Refused("AccessDeniedException"),
            "ResourceNotFoundException" => |_| Treatment::Refused("ResourceNotFoundException"),
            _ => |_| Treatment::Refused("ValidationException"),
        });
        let error = store.find_meta(&run).await.unwrap_err().to_string();
        assert!(error.contains("GetItem on djinn: ") && error.contains(code), "{error}");
        assert_eq!(broken.table.seen().len(), 1);
    }
}

#[tokio::test]
async fn a_transaction_is_tried_again_after_a_conflict_and_never_after_a_failed_condition() {
    let (broken, store) = behind(passes);
    let (run, new) = (key("s", "r"), new_run("s", "r", 5));
    broken.plan(|seen| match seen.nth {
        0 => Treatment::Canceled("TransactionConflict"),
        1 => Treatment::Canceled("ThrottlingError"),
        _ => Treatment::Pass,
    });
    assert!(store.create(&run, &new).await.unwrap().is_created());
    assert_eq!(broken.table.seen().len(), 3);

    broken.plan(passes);
    let busy = CreateResult::SessionBusy(run.run.clone());
    let other = new_run("s", "r2", 6);
    assert_eq!(store.create(&key("s", "r2"), &other).await, Ok(busy));
    // The transaction, and a look at the run that is active.
    let operations: Vec<_> = broken.table.seen().into_iter().map(|seen| seen.operation).collect();
    assert_eq!(operations, ["TransactWriteItems", "GetItem"]);
    assert!(store.append(&run, &record(0, "other"), EXPIRY).await.unwrap().is_appended());
    assert_eq!(broken.table.seen().len(), 3);

    // A write of one item that meets a transaction.
    broken.plan(|seen| match seen.nth {
        0 | 1 => Treatment::Refused("TransactionConflictException"),
        _ => Treatment::Pass,
    });
    assert!(store.append(&run, &record(1, "next"), EXPIRY).await.unwrap().is_appended());
    store.mark_watched(&run, 9).await.unwrap();
    let operations: Vec<_> = broken.table.seen().into_iter().map(|seen| seen.operation).collect();
    assert_eq!(operations, [["PutItem"; 3], ["UpdateItem"; 3]].concat());

    broken.plan(|_| Treatment::Canceled("ValidationError"));
    assert!(is_unavailable(&store.create(&key("s2", "r"), &new_run("s2", "r", 7)).await));
    assert_eq!(broken.table.seen().len(), 1);
}

#[tokio::test]
async fn a_store_that_does_not_answer_is_unavailable_after_three_attempts() {
    let (broken, _) = behind(|_| Treatment::Hangs);
    let mut settings = Settings::new("djinn", "djinn");
    settings.endpoints.dynamodb = Some(broken.table_url.clone());
    settings.timeouts = Timeouts { attempt: Duration::from_millis(50), ..quick() };
    let store = Aws::new(settings).store();
    assert!(is_unavailable(&store.find_meta(&key("s", "r")).await));
    assert_eq!(broken.table.seen().len(), 3);
}

/// A server's `Date` stays in the future after the clock was set back, and clients sign by it.
#[tokio::test]
async fn store_accepts_signatures_of_any_date() {
    let plans: [Plan; 2] = [|_| Treatment::Dated(3_600), |_| Treatment::Dated(-3_600)];
    for plan in plans {
        let (_broken, store) = behind(plan);
        for name in ["a.md", "b.md"] {
            let written = store.write_file(&session("s"), &file(name), b"x").await.unwrap();
            assert_eq!(store.read_file(&session("s"), &written, 99).await.unwrap(), b"x");
        }
    }
}

#[tokio::test]
async fn an_object_that_is_gone_or_damaged_is_never_taken_for_what_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let stores = Stores::start(StoresOptions {
        dir: Some(dir.path().to_owned()),
        ..StoresOptions::default()
    })
    .unwrap();
    let store = Aws::new(stores.settings().clone()).store();
    let run = key("s", "r");
    store.create(&run, &new_run("s", "r", 5)).await.unwrap();
    store.append(&run, &record(1, &"long ".repeat(60_000)), EXPIRY).await.unwrap();
    let file = store.write_file(&session("s"), &file("a.md"), b"true").await.unwrap();
    for (n, answer) in ["short".to_owned(), "long ".repeat(60_000)].into_iter().enumerate() {
        let run = key("s2", &n.to_string());
        store.create(&run, &new_run("s2", &n.to_string(), n as i64)).await.unwrap();
        let mut ending = end("s2", n as i64, RunStatus::Finished);
        ending.exchange.answer = answer;
        store.append_end(&run, &record(1, "x"), &ending, EXPIRY).await.unwrap();
    }
    // Without the checksums that the local S3 keeps beside its objects, only ours are left.
    for beside in std::fs::read_dir(dir.path().join("objects")).unwrap() {
        let path = beside.unwrap().path();
        if path.is_file() {
            std::fs::remove_file(path).unwrap();
        }
    }
    let objects = dir.path().join("objects/djinn/tenants/local");
    for (damage, problem) in [(true, "is not what was written"), (false, "is gone")] {
        for object in objects_under(&objects) {
            if damage {
                std::fs::write(object, b"fals").unwrap();
            } else {
                std::fs::remove_file(object).unwrap();
            }
        }
        let journal = store.read_from(&run, 0).await.unwrap_err().to_string();
        assert!(journal.contains(problem), "{journal}");
        let bytes = store.read_file(&session("s"), &file, 99).await.unwrap_err().to_string();
        assert!(bytes.contains(problem), "{bytes}");
        // A conversation goes on without what it cannot read.
        let history = store.load_session(&session("s2")).await.unwrap().history;
        assert_eq!(history.len(), 1);
        assert_eq!(history[0].answer, "short");
    }
}

pub(crate) fn objects_under(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { objects_under(&path) } else { vec![path] }).collect()
}
