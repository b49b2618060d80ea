//! The stores are for those who have their key: every page in a browser can reach their ports.

use djinn_aws::{Aws, Settings};
use djinn_local::{Stores, StoresOptions};
use djinn_runtime::port::StoreError;
use djinn_runtime::port::file::Files;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::secret::Secret;
use reqwest::{Method, Response};

use super::sample::{file, key, session};

fn client() -> reqwest::Client {
    reqwest::Client::builder().build().unwrap()
}

fn is_told_to_pages(answer: &Response) -> bool {
    answer.headers().keys().any(|name| name.as_str().starts_with("access-control-"))
}

#[tokio::test]
async fn what_is_not_signed_with_their_key_is_refused() {
    let (stores, other) = (
        Stores::start(StoresOptions::default()).unwrap(),
        Stores::start(StoresOptions::default()).unwrap(),
    );
    let with = |key: Option<Secret>| {
        let mut settings: Settings = stores.settings().clone();
        settings.endpoints.key = key;
        Aws::new(settings).store()
    };
    let ours = with(stores.settings().endpoints.key.clone());
    assert_eq!(ours.find_meta(&key("s", "r")).await, Ok(None));
    ours.write_file(&session("s"), &file("a.md"), b"x").await.unwrap();
    // The key of the sources, and that of another process.
    for key_of_others in [None, other.settings().endpoints.key.clone()] {
        assert!(key_of_others != stores.settings().endpoints.key);
        let stranger = with(key_of_others);
        let refused = stranger.find_meta(&key("s", "r")).await.unwrap_err();
        assert!(refused.to_string().contains("InvalidSignature"), "{refused}");
        let refused = stranger.write_file(&session("s"), &file("b.md"), b"x").await;
        assert!(matches!(refused, Err(StoreError::Denied(_))), "{refused:?}");
    }
}

#[tokio::test]
async fn a_page_gets_nothing_from_the_table() {
    let stores = Stores::start(StoresOptions::default()).unwrap();
    let table = stores.settings().endpoints.dynamodb.clone().unwrap();
    let made_up = "AWS4-HMAC-SHA256 Credential=djinn/20260101/us-east-1/dynamodb/aws4_request, \
                   SignedHeaders=host;x-amz-date, Signature=00";
    let scan = |origin: &'static str| {
        let request = client().post(&table).header("origin", origin);
        let request = request.header("x-amz-target", "DynamoDB_20120810.Scan");
        request.header("content-type", "application/json").body("{\"TableName\":\"djinn\"}")
    };
    for origin in ["https://evil.example", "http://localhost:3000"] {
        let dated = scan(origin).header("x-amz-date", "20260101T000000Z");
        for request in [scan(origin), dated.header("authorization", made_up)] {
            let answer = request.send().await.unwrap();
            assert!(!is_told_to_pages(&answer));
            assert_eq!(answer.status(), 400);
            assert!(answer.text().await.unwrap().contains("InvalidSignatureException"));
        }
        let leave = client().request(Method::OPTIONS, &table).header("origin", origin);
        let leave = leave.header("access-control-request-method", "POST").send().await.unwrap();
        assert!(!is_told_to_pages(&leave));
    }
}

#[tokio::test]
async fn a_page_without_a_signed_url_gets_nothing_from_the_bucket() {
    let stores = Stores::start(StoresOptions::default()).unwrap();
    let store = Aws::new(stores.settings().clone()).store();
    store.write_file(&session("s"), &file("a.md"), b"x").await.unwrap();
    let bucket = format!("{}/djinn", stores.settings().endpoints.s3.clone().unwrap());
    for (method, path) in
        [(Method::GET, ""), (Method::GET, "/tenants/t/files/x"), (Method::PUT, "/mine")]
    {
        let request = client().request(method.clone(), format!("{bucket}{path}"));
        let answer =
            request.header("origin", "https://evil.example").body("x").send().await.unwrap();
        assert_eq!(answer.status(), 403, "{method} {path}");
        assert!(!answer.headers().contains_key("access-control-allow-origin"));
    }
}
