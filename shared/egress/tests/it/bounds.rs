//! How many requests are under way at once, and what a caller may say.

use std::sync::Arc;
use std::time::Duration;

use djinn_egress::{EgressError, EgressLimits, EgressRequest, HttpMethod};
use futures::future::join_all;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::server::{Answer, Received, TestServer, page, respond};
use super::world::local_client;

/// Answers a request for each permit.
fn answer_gated(gate: &Arc<Semaphore>) -> impl Fn(&Received) -> Answer + Send + Sync + 'static {
    let Answer::Bytes(bytes) = page("through") else { panic!() };
    let gate = Arc::clone(gate);
    move |_| Answer::Gated(Arc::clone(&gate), bytes.clone())
}

#[tokio::test]
async fn a_host_is_asked_four_times_at_once() {
    let gate = Arc::new(Semaphore::new(0));
    let server = TestServer::start(answer_gated(&gate)).await;
    let client = local_client(&[&server.origin], EgressLimits::default());
    let send = |number| client.send(EgressRequest::get(&server.url(&format!("/{number}"))));
    let requests = join_all((0..10).map(send));
    let open_gate = async {
        server.wait_for_requests(4).await;
        for count in 5..=10 {
            gate.add_permits(1);
            server.wait_for_requests(count).await;
        }
        gate.add_permits(4);
    };
    let (responses, ()) = tokio::join!(requests, open_gate);
    assert!(responses.iter().all(|response| response.as_ref().unwrap().body == b"through"));
    assert_eq!(server.most_at_once(), 4);
}

#[tokio::test]
async fn a_process_asks_no_more_at_once_than_it_may() {
    let gate = Arc::new(Semaphore::new(0));
    let one = TestServer::start(answer_gated(&gate)).await;
    let two = one.start_beside("[::1]", answer_gated(&gate)).await;
    let limits = EgressLimits { at_once: 3, per_host: 2, ..EgressLimits::default() };
    let client = local_client(&[&one.origin, &two.origin], limits);
    let urls = [one.url("/"), one.url("/"), one.url("/"), two.url("/"), two.url("/"), two.url("/")];
    let requests = join_all(urls.iter().map(|url| client.send(EgressRequest::get(url))));
    let open_gate = async {
        one.wait_for_requests(3).await;
        for count in 4..=6 {
            gate.add_permits(1);
            one.wait_for_requests(count).await;
        }
        gate.add_permits(3);
    };
    let (responses, ()) = tokio::join!(requests, open_gate);
    assert!(responses.iter().all(Result::is_ok));
    assert_eq!(one.most_at_once(), 3);
}

#[tokio::test]
async fn who_waits_for_a_busy_host_keeps_no_other_from_being_asked() {
    let closed = Arc::new(Semaphore::new(0));
    let busy = TestServer::start(answer_gated(&closed)).await;
    let free = TestServer::start_at("[::1]", |_| page("free")).await;
    let limits = EgressLimits { at_once: 2, per_host: 1, ..EgressLimits::default() };
    let client = local_client(&[&busy.origin, &free.origin], limits);
    let urls = [busy.url("/1"), busy.url("/2"), busy.url("/3")];
    let requests = join_all(urls.iter().map(|url| client.send(EgressRequest::get(url))));
    let ask_other = async {
        busy.wait_for_requests(1).await;
        let response = client.send(EgressRequest::get(&free.url("/"))).await.unwrap();
        closed.add_permits(3);
        response
    };
    let (responses, response) = tokio::join!(requests, ask_other);
    assert_eq!(response.body, b"free");
    assert!(responses.iter().all(Result::is_ok));
    assert_eq!(busy.most_at_once(), 1);
}

#[tokio::test]
async fn who_gives_up_leaves_the_place_to_others() {
    let server = TestServer::start(|received| match received.path.as_str() {
        "/silent" => Answer::Silence(Vec::new()),
        _ => page("here"),
    })
    .await;
    let limits = EgressLimits { at_once: 1, per_host: 1, ..EgressLimits::default() };
    let client = local_client(&[&server.origin], limits);
    for _ in 0..3 {
        let request = EgressRequest::get(&server.url("/silent"));
        let before = server.received().len();
        tokio::select! {
            outcome = client.send(request) => panic!("{outcome:?}"),
            () = server.wait_for_requests(before + 1) => {}
        }
    }
    let response = client.send(EgressRequest::get(&server.url("/"))).await.unwrap();
    assert_eq!(response.body, b"here");
}

#[tokio::test]
async fn every_method_sends_its_body() {
    let server = TestServer::start(|_| page("done")).await;
    let client = local_client(&[&server.origin], EgressLimits::default());
    for (method, name) in [
        (HttpMethod::Post, "POST"),
        (HttpMethod::Put, "PUT"),
        (HttpMethod::Patch, "PATCH"),
        (HttpMethod::Delete, "DELETE"),
    ] {
        let request = EgressRequest::post(&server.url("/thing"), b"{}".to_vec());
        client.send(EgressRequest { method, ..request }).await.unwrap();
        let received = server.received().pop().unwrap();
        assert_eq!((received.method.as_str(), received.body.as_slice()), (name, b"{}".as_slice()));
    }
}

#[tokio::test]
async fn a_request_has_the_shorter_time_of_its_own_and_the_clients() {
    let server = TestServer::start(|_| Answer::Silence(Vec::new())).await;
    let (short, long) = (Duration::from_millis(1), Duration::from_secs(330));
    for (of_client, of_request) in [(short, Some(long)), (long, Some(short)), (short, None)] {
        let limits = EgressLimits { total_time: of_client, ..EgressLimits::default() };
        let client = local_client(&[&server.origin], EgressLimits::default()).with_limits(limits);
        let request = EgressRequest::get(&server.url("/"));
        let request = EgressRequest { time_limit: of_request, ..request };
        assert_eq!(client.send(request).await.unwrap_err().code(), "too_slow");
    }
}

#[tokio::test]
async fn the_headers_of_a_connection_are_the_clients() {
    let server = TestServer::start(|_| page("here")).await;
    let client = local_client(&[&server.origin], EgressLimits::default());
    for (name, value) in [
        ("Host", "internal.example"),
        ("content-length", "3"),
        ("Transfer-Encoding", "chunked"),
        ("Connection", "upgrade"),
        ("Accept-Encoding", "br"),
        ("X-Split", "a\r\nHost: b"),
        ("X Split", "a"),
        ("", "a"),
        ("X-Null", "a\0b"),
    ] {
        let request = EgressRequest::get(&server.url("/")).with_header(name, value);
        let error = client.send(request).await.unwrap_err();
        assert_eq!(error.code(), "invalid_request", "{name}: {error}");
        assert!(!error.to_string().contains(value) || value.len() < 4, "{error}");
    }
    assert_eq!(server.received(), []);
    let request = EgressRequest::get(&server.url("/a?b=c#d")).with_header("User-Agent", "mine");
    client.send(request.clone()).await.unwrap();
    assert!(!format!("{:?}", request.with_header("X-Key", "canary")).contains("canary"));
    let received = &server.received()[0];
    assert_eq!((received.method.as_str(), received.path.as_str()), ("GET", "/a?b=c"));
    assert_eq!(received.header("user-agent"), Some("mine"));
    client.send(EgressRequest::get(&server.url("/"))).await.unwrap();
    assert!(server.received()[1].header("user-agent").unwrap().contains("DjinnBot"));
}

#[tokio::test]
async fn few_headers_are_kept_and_none_that_is_absurd() {
    let long = "x".repeat(5000);
    let headers = [
        ("ETag", "\"v1\""),
        ("cache-control", "max-age=60"),
        ("set-cookie", "session=1"),
        ("last-modified", long.as_str()),
        ("content-language", "z\u{fc}"),
    ];
    let answer = respond("200 OK", &headers, b"");
    let server = TestServer::start(move |_| answer.clone()).await;
    let client = local_client(&[&server.origin], EgressLimits::default());
    let response = client.send(EgressRequest::get(&server.url("/"))).await.unwrap();
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let expected = [
        header("cache-control", "max-age=60"),
        header("content-language", "z\u{fc}"),
        header("etag", "\"v1\""),
    ];
    assert_eq!(response.headers, expected);
}

#[tokio::test]
async fn who_takes_no_connection_or_speaks_no_tls_cannot_be_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let plain = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 This is no TLS\r\n\r\n").await.unwrap();
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let client = local_client(&[&gone, &plain], EgressLimits::default());
    for url in [&gone, &plain] {
        let error = client.send(EgressRequest::get(url)).await.unwrap_err();
        assert!(matches!(error, EgressError::Unreachable { .. }), "{url}: {error}");
    }
}
