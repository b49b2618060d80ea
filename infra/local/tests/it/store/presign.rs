//! URLs that clients read and write files by.

use std::time::Duration;

use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_s3::presigning::PresigningConfig;
use aws_sdk_s3::primitives::{DateTime, DateTimeFormat};
use djinn_aws::{AwsStore, LOCAL_ACCESS_KEY, LOCAL_REGION};
use djinn_core::id::{FileName, UserId};
use djinn_runtime::port::SessionKey;
use djinn_runtime::port::file::{Files, NewFile};
use djinn_runtime::port::file_url::{Disposition, FileUrls as _, Folder, PresignedPut};
use djinn_runtime::port::journal::Journals;
use reqwest::{Response, StatusCode};

use super::sample::{file, session};
use super::{fresh, fresh_aws};

const MINUTE: Duration = Duration::from_secs(60);

fn client() -> reqwest::Client {
    reqwest::Client::builder().build().unwrap()
}

async fn upload(put: &PresignedPut, bytes: &str) -> StatusCode {
    let mut request = client().put(&put.url).body(bytes.to_owned());
    for (name, value) in put.headers.iter().filter(|(name, _)| name != "content-length") {
        request = request.header(name, value);
    }
    request.send().await.unwrap().status()
}

fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

async fn names(store: &AwsStore, session: &SessionKey) -> Vec<String> {
    let files = store.list_files(session).await.unwrap();
    files.into_iter().map(|file| file.name.to_string()).collect()
}

#[tokio::test]
async fn a_url_serves_the_file_under_its_name_without_credentials() {
    let (_stores, aws) = fresh_aws();
    let (store, session) = (aws.store(), session("s"));
    let written =
        store.write_file(&session, &file("金价 报告.md"), "# 金".as_bytes()).await.unwrap();
    drop(aws.request_counter().take_counts());
    let kinds = [(Disposition::Inline, "inline"), (Disposition::Attachment, "attachment")];
    for (disposition, kind) in kinds {
        let url = store
            .presign_get(&Folder::from(&session), &written, disposition, MINUTE)
            .await
            .unwrap();
        let response = client().get(&url).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(
            header(&response, "content-disposition"),
            format!(
                "{kind}; filename=\"__ __.md\"; \
                 filename*=UTF-8''%E9%87%91%E4%BB%B7%20%E6%8A%A5%E5%91%8A.md"
            )
        );
        assert_eq!(header(&response, "content-type"), "text/markdown; charset=utf-8");
        assert_eq!(response.text().await.unwrap(), "# 金");
        let forged = url.replace("attachment", "inline").replace("inline", "x");
        assert_eq!(client().get(forged).send().await.unwrap().status(), StatusCode::FORBIDDEN);
    }
    assert!(aws.request_counter().counts().is_empty(), "making a URL is no request");
}

#[tokio::test]
async fn an_uploaded_file_is_there_once_its_bytes_are() {
    let (_stores, store) = fresh();
    let session = session("s");
    let new = file("我的 文件.md");
    let put = store.presign_put(&session, &new, 5, MINUTE).await.unwrap().unwrap();
    assert!(names(&store, &session).await.is_empty());
    assert_eq!(store.find_file(&session, &new.name).await, Ok(None));

    assert_eq!(upload(&put, "123456").await, StatusCode::FORBIDDEN, "a byte too many");
    assert_eq!(upload(&put, "1234").await, StatusCode::FORBIDDEN, "a byte too few");
    assert!(names(&store, &session).await.is_empty());
    assert_eq!(upload(&put, "12345").await, StatusCode::OK);

    let found = store.find_file(&session, &new.name).await.unwrap().unwrap();
    assert_eq!((found.size, found.media_type.as_str()), (5, "text/markdown"));
    assert_eq!(store.read_file(&session, &found, 99).await.unwrap(), b"12345");
    assert_eq!(names(&store, &session).await, ["我的 文件.md"]);
    assert_eq!(store.load_session(&session).await.unwrap().files, std::slice::from_ref(&found));
    // The URL writes once: what a journal names keeps its content.
    assert_eq!(upload(&put, "54321").await, StatusCode::PRECONDITION_FAILED);
    assert_eq!(store.read_file(&session, &found, 99).await.unwrap(), b"12345");
    let url = store
        .presign_get(&Folder::from(&session), &found, Disposition::Inline, MINUTE)
        .await
        .unwrap();
    assert_eq!(client().get(url).send().await.unwrap().text().await.unwrap(), "12345");
}

#[tokio::test]
async fn an_announced_file_replaces_the_one_of_its_name_only_when_it_arrives() {
    let (_stores, aws) = fresh_aws();
    let (store, session) = (aws.store(), session("s"));
    let old = store.write_file(&session, &file("a.md"), b"old").await.unwrap();
    store.write_file(&session, &file("b.md"), b"b").await.unwrap();
    let abandoned = store.presign_put(&session, &file("a.md"), 9, MINUTE).await.unwrap().unwrap();
    let put = store.presign_put(&session, &file("a.md"), 3, MINUTE).await.unwrap().unwrap();
    assert_eq!(store.find_file(&session, &old.name).await.unwrap(), Some(old.clone()));
    assert_eq!(names(&store, &session).await, ["a.md", "b.md"]);

    assert_eq!(upload(&abandoned, "123456789").await, StatusCode::OK);
    assert_eq!(store.find_file(&session, &old.name).await.unwrap(), Some(old));
    assert_eq!(upload(&put, "new").await, StatusCode::OK);
    let lists = futures::future::join_all((0..4).map(|_| names(&store, &session))).await;
    for list in lists {
        assert_eq!(list, ["b.md", "a.md"]);
    }
    let new = store.find_file(&session, &file("a.md").name).await.unwrap().unwrap();
    assert_eq!(store.read_file(&session, &new, 99).await.unwrap(), b"new");
    // It is an ordinary file now, and nothing looks for it any more.
    drop(aws.request_counter().take_counts());
    names(&store, &session).await;
    assert_eq!(
        aws.request_counter().take_counts().into_iter().collect::<Vec<_>>(),
        [("Query".to_owned(), 1)]
    );
}

#[tokio::test]
async fn announced_file_of_another_writer_takes_a_free_name() {
    let (_stores, store) = fresh();
    let session = session("s");
    let by =
        |name: &str, writer: &str| NewFile { writer: UserId::new(writer).unwrap(), ..file(name) };
    let announce =
        async |file: NewFile| store.presign_put(&session, &file, 3, MINUTE).await.unwrap().unwrap();
    store.write_file(&session, &file("a.md"), b"old").await.unwrap();
    // The owner's file and announcements of others are left alone, and one's own is replaced.
    let bob = announce(by("a.md", "bob")).await;
    assert_eq!(bob.file.name.as_str(), "a (2).md");
    assert_eq!(announce(by("a.md", "carl")).await.file.name.as_str(), "a (3).md");
    let again = announce(by("a.md", "bob")).await;
    assert_eq!(again.file.name, bob.file.name);
    assert_eq!(upload(&again, "bob").await, StatusCode::OK);
    assert_eq!(names(&store, &session).await, ["a.md", "a (2).md"]);

    // Both were promised the name; the second to arrive finds it taken.
    let bob = announce(by("b.md", "bob")).await;
    let owner = store.write_file(&session, &file("b.md"), b"own").await.unwrap();
    assert_eq!((bob.file.name.as_str(), owner.name.as_str()), ("b.md", "b.md"));
    assert_eq!(upload(&bob, "bob").await, StatusCode::OK);
    let found = store.find_file(&session, &owner.name).await.unwrap();
    assert_eq!(found.as_ref(), Some(&owner));
    let renamed = store.find_file(&session, &FileName::new("b (2).md").unwrap()).await.unwrap();
    assert_eq!(store.read_file(&session, &renamed.unwrap(), 9).await.unwrap(), b"bob");
    assert_eq!(store.find_arrived(&session, &[bob.file]).await.unwrap().len(), 1);
}

#[tokio::test]
async fn however_many_are_announced_they_are_looked_for_by_one_request() {
    let (_stores, aws) = fresh_aws();
    let (store, session) = (aws.store(), session("s"));
    let made = || aws.request_counter().take_counts().into_iter().collect::<Vec<_>>();
    let count = |operation: &str, count| (operation.to_owned(), count);
    let mut puts = Vec::new();
    for nth in 0..40 {
        let name = file(&format!("{nth:02}.md"));
        puts.push(store.presign_put(&session, &name, 3, MINUTE).await.unwrap().unwrap());
    }
    assert_eq!(made(), [count("GetItem", 40), count("PutItem", 40), count("UpdateItem", 40)]);
    assert!(names(&store, &session).await.is_empty());
    assert_eq!(made(), [count("ListObjectsV2", 1), count("Query", 1)]);
    let announced: Vec<_> = puts.iter().map(|put| put.file.clone()).collect();
    assert_eq!(store.find_arrived(&session, &announced).await.unwrap(), []);
    assert_eq!(store.find_arrived(&session, &announced[..1]).await.unwrap(), []);
    assert_eq!(made(), [count("HeadObject", 1), count("ListObjectsV2", 1)]);

    for nth in [3, 39, 0] {
        assert_eq!(upload(&puts[nth], "abc").await, StatusCode::OK);
    }
    let arrived = store.find_arrived(&session, &announced).await.unwrap();
    assert_eq!(arrived, [0, 3, 39].map(|nth| announced[nth].clone()));
    assert_eq!(
        made(),
        [
            count("ListObjectsV2", 2),
            count("Query", 1),
            count("TransactWriteItems", 3),
            count("UpdateItem", 3),
        ]
    );
    let mut files = names(&store, &session).await;
    files.sort();
    assert_eq!(files, ["00.md", "03.md", "39.md"]);
    assert_eq!(made(), [count("ListObjectsV2", 1), count("Query", 1)]);
}

#[tokio::test]
async fn of_concurrent_announcements_a_hundred_are_taken() {
    let (_stores, store) = fresh();
    let session = session("s");
    let files: Vec<_> = (0..130).map(|nth| file(&format!("{nth}.md"))).collect();
    let announced = files.iter().map(|file| store.presign_put(&session, file, 3, MINUTE));
    let announced = futures::future::try_join_all(announced).await.unwrap();
    let taken: Vec<_> = announced.into_iter().flatten().collect();
    assert_eq!(taken.len(), 100);
    let none = store.presign_put(&session, &file("x.md"), 3, MINUTE).await.unwrap();
    assert_eq!(none, None);
    assert_eq!(upload(&taken[99], "abc").await, StatusCode::OK);
    assert!(store.presign_put(&session, &file("x.md"), 3, MINUTE).await.unwrap().is_some());
    assert_eq!(store.presign_put(&session, &file("y.md"), 3, MINUTE).await.unwrap(), None);
}

#[tokio::test]
async fn a_browser_may_upload_from_another_origin() {
    let (_stores, store) = fresh();
    let put = store.presign_put(&session("s"), &file("a.md"), 1, MINUTE).await.unwrap().unwrap();
    let preflight = client()
        .request(reqwest::Method::OPTIONS, &put.url)
        .header("origin", "http://localhost:3000")
        .header("access-control-request-method", "PUT")
        .header("access-control-request-headers", "content-type,if-none-match")
        .send()
        .await
        .unwrap();
    assert_eq!(preflight.status(), StatusCode::OK);
    assert_eq!(header(&preflight, "access-control-allow-origin"), "http://localhost:3000");
    let mut request = client().put(&put.url).header("origin", "http://localhost:3000").body("x");
    for (name, value) in put.headers.iter().filter(|(name, _)| name != "content-length") {
        request = request.header(name, value);
    }
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert!(header(&response, "access-control-expose-headers").contains("etag"));
    for stranger in ["https://evil.example", "null"] {
        let preflight = client()
            .request(reqwest::Method::OPTIONS, &put.url)
            .header("origin", stranger)
            .header("access-control-request-method", "PUT");
        let preflight = preflight.send().await.unwrap();
        assert_eq!(header(&preflight, "access-control-allow-origin"), "", "{stranger}");
    }
}

#[tokio::test]
async fn a_browser_may_load_a_file_that_another_origin_redirected_it_to() {
    let (_stores, store) = fresh();
    let session = session("s");
    let file = store.write_file(&session, &file("a.md"), b"x").await.unwrap();
    let url = store
        .presign_get(&Folder::from(&session), &file, Disposition::Inline, MINUTE)
        .await
        .unwrap();
    let response = client().get(&url).header("origin", "null").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(header(&response, "access-control-allow-origin"), "null");
    assert_eq!(header(&response, "access-control-allow-credentials"), "");
    let other = client().get(&url).header("origin", "https://evil.example").send().await.unwrap();
    assert_eq!(header(&other, "access-control-allow-origin"), "");
    let asked = |method: &str| {
        client()
            .request(reqwest::Method::OPTIONS, &url)
            .header("origin", "null")
            .header("access-control-request-method", method)
            .send()
    };
    let allowed = asked("GET").await.unwrap();
    assert_eq!(header(&allowed, "access-control-allow-origin"), "null");
}

#[tokio::test]
async fn a_url_expires() {
    let (_stores, store) = fresh();
    let session = session("s");
    let file = store.write_file(&session, &file("a.md"), b"x").await.unwrap();
    let second = Duration::from_secs(1);
    let url = store
        .presign_get(&Folder::from(&session), &file, Disposition::Inline, second)
        .await
        .unwrap();
    tokio::time::sleep(second * 2).await;
    assert_eq!(client().get(url).send().await.unwrap().status(), StatusCode::FORBIDDEN);
}

/// As if the clock had been set back by an hour after the URL was made.
#[tokio::test]
async fn url_works_after_the_clock_is_set_back() {
    let (stores, store) = fresh();
    let (session, bytes) = (session("s"), b"x");
    let file = store.write_file(&session, &file("a.md"), bytes).await.unwrap();
    let url = store
        .presign_get(&Folder::from(&session), &file, Disposition::Inline, MINUTE)
        .await
        .unwrap();
    let (endpoint, query) = url.split_once("/djinn/").unwrap();
    let object = query.split_once('?').unwrap().0;
    let key = stores.settings().endpoints.key.clone().unwrap();
    let credentials = Credentials::new(LOCAL_ACCESS_KEY, key.reveal(), None, None, "test");
    let config = aws_sdk_s3::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(LOCAL_REGION))
        .credentials_provider(credentials)
        .endpoint_url(endpoint)
        .force_path_style(true)
        .build();
    let get = aws_sdk_s3::Client::from_conf(config).get_object().bucket("djinn").key(object);
    let signed_at = query.split_once("X-Amz-Date=").unwrap().1;
    let (day, time) = (&signed_at[..8], &signed_at[9..15]);
    let signed_at = format!(
        "{}-{}-{}T{}:{}:{}Z",
        &day[..4],
        &day[4..6],
        &day[6..],
        &time[..2],
        &time[2..4],
        &time[4..]
    );
    let signed_at = DateTime::from_str(&signed_at, DateTimeFormat::DateTime).unwrap().secs();
    for (signed_at, status) in
        [(signed_at + 3_600, StatusCode::OK), (signed_at - 3_600, StatusCode::FORBIDDEN)]
    {
        let start_time = DateTime::from_secs(signed_at).try_into().unwrap();
        let valid = PresigningConfig::builder().start_time(start_time).expires_in(MINUTE);
        let presigned = get.clone().presigned(valid.build().unwrap()).await.unwrap();
        let response = client().get(presigned.uri()).send().await.unwrap();
        assert_eq!(response.status(), status, "{}", presigned.uri());
    }
}
