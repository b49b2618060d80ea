//! Responses that are read piece by piece.

use std::sync::Arc;

use djinn_egress::{EgressError, EgressLimits, EgressRequest};
use tokio::sync::Semaphore;

use super::server::{Answer, TestServer, head, page, redirect, respond};
use super::world::local_client;

#[tokio::test]
async fn a_stream_is_read_until_its_end() {
    let server = TestServer::start(|_| page("one")).await;
    let client = local_client(&[&server.origin], EgressLimits::default());
    let mut stream = client.open(EgressRequest::get(&server.url("/"))).await.unwrap();
    assert_eq!(stream.status(), 200);
    assert_eq!(stream.find_header("Content-Type").as_deref(), Some("text/html"));
    assert_eq!(stream.read_rest().await.unwrap(), b"one");
    assert_eq!(stream.next_chunk().await.unwrap(), None);
    let received = server.received();
    assert_eq!(received[0].header("accept-encoding"), Some("identity"));
}

#[tokio::test]
async fn the_first_redirect_is_the_response() {
    let server = TestServer::start(|_| redirect("307 Elsewhere", "/other")).await;
    let client = local_client(&[&server.origin], EgressLimits::default());
    let stream = client.open(EgressRequest::get(&server.url("/"))).await.unwrap();
    assert_eq!(stream.status(), 307);
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn an_endless_or_compressed_stream_is_an_error() {
    let server = TestServer::start(|received| match &*received.path {
        "/endless" => Answer::Endless(head("200 OK", &[]), vec![b'x'; 1000]),
        _ => respond("200 OK", &[("content-encoding", "gzip")], b"x"),
    })
    .await;
    let client = local_client(&[&server.origin], EgressLimits::default());
    let request =
        EgressRequest { max_bytes: 10_000, ..EgressRequest::get(&server.url("/endless")) };
    let mut stream = client.open(request).await.unwrap();
    let error = stream.read_rest().await.unwrap_err();
    assert!(matches!(error, EgressError::TooLarge { .. }), "{error}");
    let error = client.open(EgressRequest::get(&server.url("/gzip"))).await.unwrap_err();
    assert!(matches!(error, EgressError::Protocol { .. }), "{error}");
}

#[tokio::test]
async fn a_silent_stream_ends_after_a_minute() {
    let server = TestServer::start(|_| Answer::Silence(head("200 OK", &[]))).await;
    let client = local_client(&[&server.origin], EgressLimits::default());
    let mut stream = client.open(EgressRequest::get(&server.url("/"))).await.unwrap();
    // The paused clock advances to the timeout at once.
    tokio::time::pause();
    let error = stream.next_chunk().await.unwrap_err();
    assert!(matches!(error, EgressError::TooSlow { .. }), "{error}");
}

#[tokio::test]
async fn a_stream_keeps_its_place_until_it_is_dropped() {
    let gate = Arc::new(Semaphore::new(2));
    let opened = Arc::clone(&gate);
    let Answer::Bytes(bytes) = page("x") else { panic!() };
    let server =
        TestServer::start(move |_| Answer::Gated(Arc::clone(&opened), bytes.clone())).await;
    let limits = EgressLimits { per_host: 1, ..EgressLimits::default() };
    let client = local_client(&[&server.origin], limits);
    let first = client.open(EgressRequest::get(&server.url("/1"))).await.unwrap();
    let url = server.url("/2");
    let second = client.open(EgressRequest::get(&url));
    tokio::pin!(second);
    tokio::select! {
        biased;
        _ = &mut second => panic!("there is no place"),
        () = tokio::task::yield_now() => {}
    }
    assert_eq!(server.received().len(), 1);
    drop(first);
    assert_eq!(second.await.unwrap().status(), 200);
}
