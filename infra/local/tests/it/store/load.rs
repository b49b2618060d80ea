//! How many requests the stores take: seconds are `cargo bench-run`'s.

use djinn_runtime::port::journal::Journals;
use futures::{StreamExt, stream};

use super::fresh_aws;
use super::sample::{EXPIRY, key, new_run, record};

/// A page of a query holds at most 1 MB (DynamoDB's limit).
const PAGES: u64 = 2;

#[tokio::test]
async fn a_thousand_records_are_read_by_the_page_and_each_is_one_write() {
    let (_stores, aws) = fresh_aws();
    let store = aws.store();
    let run = key("s", "r");
    store.create(&run, &new_run("s", "r", 5)).await.unwrap();
    let _ = aws.request_counter().take_counts();
    stream::iter(1..1_000)
        .for_each_concurrent(16, |n| {
            let (store, run) = (&store, &run);
            // About as long as a turn's record.
            async move {
                let appended = store.append(run, &record(n, &"text ".repeat(150)), EXPIRY).await;
                assert!(appended.unwrap().is_appended());
            }
        })
        .await;
    let written = aws.request_counter().take_counts();
    assert_eq!(written.get("PutItem"), Some(&999), "{written:?}");
    assert_eq!(written.len(), 1, "{written:?}");
    assert_eq!(store.read_from(&run, 0).await.unwrap().len(), 1_000);
    let read = aws.request_counter().take_counts();
    assert!(read.get("Query").is_some_and(|queries| *queries <= PAGES), "{read:?}");
    assert_eq!(read.len(), 1, "{read:?}");
}
