//! Clients that begin something and stop: nobody waits for them for ever.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::world::World;

/// What a connection is answered until it is closed, which the test waits for.
async fn until_closed(world: &World, sent: &str) -> String {
    let address = world.url.strip_prefix("http://").unwrap();
    let mut connection = TcpStream::connect(address).await.unwrap();
    connection.write_all(sent.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // Closed with what was sent unread, it may be reset.
    let _ = connection.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn who_sends_half_a_request_is_not_waited_for() {
    let world = World::start_with(|options, _| {
        options.patience.headers = Duration::from_millis(500);
        options.patience.body = Duration::from_millis(500);
    })
    .await;
    for nothing_more in ["", "GET /sess", "GET /sessions HTTP/1.1\r\nhost: 127.0.0.1\r\n"] {
        assert_eq!(until_closed(&world, nothing_more).await, "", "{nothing_more:?}");
    }
    let kept = "GET /web/health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";
    let answer = until_closed(&world, kept).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("ok"), "{answer}");
    let half = "POST /runs HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n\
                content-length: 100\r\n\r\n{\"question\":";
    let answer = until_closed(&world, half).await;
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("broke off"), "{answer}");
}
