//! How long the stores take.

use std::time::{Duration, Instant};

use djinn_aws::Aws;
use djinn_local::{Stores, StoresOptions};
use djinn_runtime::port::journal::{Appended, Journals};
use futures::{StreamExt, stream};

use super::fresh;
use super::sample::{EXPIRY, key, new_run, record};

/// The bound of a release build.
const LOADED_WITHIN: Duration = Duration::from_millis(50);

/// A debug build takes several times as long.
const FACTOR: u32 = if cfg!(debug_assertions) { 8 } else { 1 };

#[tokio::test]
async fn a_thousand_records_are_loaded_within_50_ms() {
    let (_stores, store) = fresh();
    let run = key("s", "r");
    store.create(&run, &new_run("s", "r", 5)).await.unwrap();
    stream::iter(1..1_000)
        .for_each_concurrent(16, |n| {
            let (store, run) = (&store, &run);
            // About as long as a turn's record.
            async move {
                let appended = store.append(run, &record(n, &"text ".repeat(150)), EXPIRY).await;
                assert_eq!(appended, Ok(Appended::Done));
            }
        })
        .await;
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let loading = Instant::now();
        assert_eq!(store.read(&run, 0).await.unwrap().len(), 1_000);
        best = best.min(loading.elapsed());
    }
    println!("1000 records are loaded in {best:?}");
    assert!(best < LOADED_WITHIN * FACTOR, "{best:?}");
}

#[tokio::test]
async fn a_record_is_on_disk_within_20_ms() {
    let dir = tempfile::tempdir().unwrap();
    let stores = Stores::start(StoresOptions {
        dir: Some(dir.path().to_owned()),
        ..StoresOptions::default()
    })
    .unwrap();
    let store = Aws::new(stores.settings().clone()).store();
    let run = key("s", "r");
    store.create(&run, &new_run("s", "r", 5)).await.unwrap();
    let appending = Instant::now();
    for n in 1..=100 {
        let appended = store.append(&run, &record(n, &"text ".repeat(150)), EXPIRY).await;
        assert_eq!(appended, Ok(Appended::Done));
    }
    let each = appending.elapsed() / 100;
    println!("a record is appended in {each:?}");
    assert!(each < Duration::from_millis(20) * FACTOR, "{each:?}");
}
