//! Journals edited in the table or the bucket.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use djinn_aws::{AwsStore, LOCAL_ACCESS_KEY, LOCAL_REGION};
use djinn_core::journal::{ChainHead, Record, RecordHash};
use djinn_core::status::RunStatus;
use djinn_local::{BUCKET, Stores, TABLE};
use djinn_runtime::port::RunKey;
use djinn_runtime::port::journal::{AppendResult, CreateResult, Journals};
use djinn_testkit::contract::chain::verify_stored;

use super::fresh;
use super::sample::{EXPIRY, end, key, new_run, record};

type Item = HashMap<String, AttributeValue>;

/// The table and the bucket, as an administrator sees them.
struct Administrator {
    table: aws_sdk_dynamodb::Client,
    bucket: aws_sdk_s3::Client,
    key: RunKey,
}

impl Administrator {
    fn of(stores: &Stores, key: &RunKey) -> Self {
        let endpoints = &stores.settings().endpoints;
        let secret = endpoints.key.as_ref().unwrap().reveal().to_owned();
        let table = aws_sdk_dynamodb::Config::builder()
            .behavior_version(aws_sdk_dynamodb::config::BehaviorVersion::latest())
            .region(aws_sdk_dynamodb::config::Region::new(LOCAL_REGION))
            .credentials_provider(aws_sdk_dynamodb::config::Credentials::new(
                LOCAL_ACCESS_KEY,
                secret.clone(),
                None,
                None,
                "test",
            ))
            .endpoint_url(endpoints.dynamodb.as_ref().unwrap())
            .build();
        let bucket = aws_sdk_s3::Config::builder()
            .behavior_version(aws_sdk_s3::config::BehaviorVersion::latest())
            .region(aws_sdk_s3::config::Region::new(LOCAL_REGION))
            .credentials_provider(aws_sdk_s3::config::Credentials::new(
                LOCAL_ACCESS_KEY,
                secret,
                None,
                None,
                "test",
            ))
            .endpoint_url(endpoints.s3.as_ref().unwrap())
            .force_path_style(true)
            .build();
        let table = aws_sdk_dynamodb::Client::from_conf(table);
        let bucket = aws_sdk_s3::Client::from_conf(bucket);
        Self { table, bucket, key: key.clone() }
    }

    fn item_key(&self, sort: &str) -> Item {
        let partition = format!("{}#RUN#{}", self.key.tenant, self.key.run);
        let text = |text: &str| AttributeValue::S(text.to_owned());
        [("pk".to_owned(), text(&partition)), ("sk".to_owned(), text(sort))].into()
    }

    async fn read(&self, n: u64) -> Item {
        let key = Some(self.item_key(&sort(n)));
        let get = self.table.get_item().table_name(TABLE).set_key(key).send().await;
        get.unwrap().item.unwrap()
    }

    async fn write(&self, n: u64, mut item: Item) {
        item.extend(self.item_key(&sort(n)));
        self.table.put_item().table_name(TABLE).set_item(Some(item)).send().await.unwrap();
    }

    async fn delete(&self, sort: &str) {
        let key = Some(self.item_key(sort));
        self.table.delete_item().table_name(TABLE).set_key(key).send().await.unwrap();
    }

    /// Replaces text in the JSON of a short record.
    async fn edit_body(&self, n: u64, from: &str, to: &str) {
        let mut item = self.read(n).await;
        let AttributeValue::M(body) = item.get_mut("body").unwrap() else { panic!("no body") };
        let json = body["inline"].as_s().unwrap();
        assert!(json.contains(from), "{json}");
        let edited = AttributeValue::S(json.replace(from, to));
        body.insert("inline".to_owned(), edited);
        self.write(n, item).await;
    }

    /// Replaces the object of a long record.
    async fn edit_object(&self, n: u64) {
        let item = self.read(n).await;
        let pointer = item["body"].as_m().unwrap()["spilled"].as_m().unwrap();
        let object = pointer["object"].as_s().unwrap();
        let put = self.bucket.put_object().bucket(BUCKET).key(object);
        put.body(b"{\"inputs\":[],\"entries\":[]}".to_vec().into()).send().await.unwrap();
    }
}

fn sort(n: u64) -> String {
    format!("J#{n:010}")
}

/// Writes an ended journal of five records, the third in the bucket, and a delivery after the end.
async fn write_journal(store: &AwsStore, run: &RunKey) -> ChainHead {
    let created = store.create(run, &new_run("s", "r", 5)).await.unwrap();
    let CreateResult::Created(mut previous) = created else { panic!("{created:?}") };
    for n in 1..=5 {
        let text = if n == 2 { "long ".repeat(60_000) } else { format!("text {n}") };
        let record = Record { previous, ..record(n, &text) };
        let appended = match n {
            4 => store.append_end(run, &record, &end("s", 5, RunStatus::Finished), EXPIRY).await,
            _ => store.append(run, &record, EXPIRY).await,
        };
        let appended = appended.unwrap();
        let AppendResult::Appended(hash) = appended else { panic!("{appended:?}") };
        previous = hash;
    }
    ChainHead { records: 6, hash: previous }
}

#[tokio::test]
async fn record_edited_in_the_table_is_named() {
    for (nth, error) in [
        "record 1 was changed",
        "record 0 was changed",
        "record 2 was changed",
        "record 3 was changed",
        "record 3 is missing",
        "record 0 is missing",
        "record 1 is missing",
        "record 1 was changed",
        "record 4 was not written after the record before it",
        "record 4 is missing",
        "records 0 to 4 are missing",
    ]
    .into_iter()
    .enumerate()
    {
        let (stores, store) = fresh();
        let run = key("s", "r");
        let head = write_journal(&store, &run).await;
        assert_eq!(verify_stored(&store, &run, 100).await.unwrap(), head);
        let administrator = Administrator::of(&stores, &run);
        match nth {
            0 => administrator.edit_body(1, "text 1", "text 9").await,
            1 => administrator.edit_body(0, "\"user\":\"ann\"", "\"user\":\"bob\"").await,
            2 => administrator.edit_object(2).await,
            3 => administrator.edit_body(3, "}", "").await,
            4 => administrator.delete(&sort(3)).await,
            5 => administrator.delete(&sort(0)).await,
            6 => {
                let (first, third) = (administrator.read(1).await, administrator.read(3).await);
                administrator.write(1, third).await;
                administrator.write(3, first).await;
            }
            7 => {
                let (mut first, mut third) =
                    (administrator.read(1).await, administrator.read(3).await);
                let swapped = first.insert("body".to_owned(), third["body"].clone()).unwrap();
                third.insert("body".to_owned(), swapped);
                administrator.write(1, first).await;
                administrator.write(3, third).await;
            }
            8 => {
                // An editor who knows the hash, but does not change all later records.
                let texts =
                    store.read_texts(&run, 3, djinn_runtime::port::page::PageSize::FOR_FOLD);
                let mut text = texts.await.unwrap().records.remove(0);
                text.body = text.body.replace("text 3", "text 9");
                let hash: RecordHash = text.compute_hash(&run.to_string());
                administrator.edit_body(3, "text 3", "text 9").await;
                let mut item = administrator.read(3).await;
                item.insert("hash".to_owned(), AttributeValue::S(hash.to_string()));
                administrator.write(3, item).await;
            }
            9 => {
                administrator.delete(&sort(5)).await;
                assert!(verify_stored(&store, &run, 100).await.is_ok(), "after the end");
                administrator.delete(&sort(4)).await;
            }
            _ => {
                for n in 0..=5 {
                    administrator.delete(&sort(n)).await;
                }
            }
        }
        for records in [1, 100] {
            let found = verify_stored(&store, &run, records).await.unwrap_err();
            assert_eq!(found.to_string(), error);
        }
    }
}
