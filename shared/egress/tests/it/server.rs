//! A server on loopback that answers as a test says, byte by byte.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(found, _)| found == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// What a server sends. It closes the connection behind it.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// These bytes.
    Bytes(Vec<u8>),
    /// These bytes, and the second ones again and again, as fast as they are read.
    Endless(Vec<u8>, Vec<u8>),
    /// These bytes, and the second ones again and again, slowly.
    Drip(Vec<u8>, Vec<u8>),
    /// These bytes once there is a permit, which is used up.
    Gated(Arc<Semaphore>, Vec<u8>),
    /// These bytes, and then nothing, while the connection stays open.
    Silence(Vec<u8>),
}

/// How slow a slow server is.
const DRIP: Duration = Duration::from_millis(5);

/// A server, and what it saw.
pub(crate) struct TestServer {
    pub(crate) origin: String,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    received: Mutex<Vec<Received>>,
    arrived: Notify,
    at_once: AtomicUsize,
    most_at_once: AtomicUsize,
    sent_bytes: AtomicUsize,
    closed: Notify,
}

impl TestServer {
    /// Serves at `127.0.0.1`.
    pub(crate) async fn start(
        answer: impl Fn(&Received) -> Answer + Send + Sync + 'static,
    ) -> Self {
        Self::start_at("127.0.0.1", answer).await
    }

    pub(crate) async fn start_at(
        host: &str,
        answer: impl Fn(&Received) -> Answer + Send + Sync + 'static,
    ) -> Self {
        Self::start_with(Arc::default(), host, answer).await
    }

    /// A second server at another host, which counts together with this one.
    pub(crate) async fn start_beside(
        &self,
        host: &str,
        answer: impl Fn(&Received) -> Answer + Send + Sync + 'static,
    ) -> Self {
        Self::start_with(Arc::clone(&self.state), host, answer).await
    }

    async fn start_with(
        state: Arc<State>,
        host: &str,
        answer: impl Fn(&Received) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(format!("{host}:0")).await.unwrap();
        let origin = format!("http://{host}:{}", listener.local_addr().unwrap().port());
        let (shared, answer) = (Arc::clone(&state), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (state, answer) = (Arc::clone(&shared), Arc::clone(&answer));
                tokio::spawn(async move {
                    serve_request(stream, &state, &*answer).await;
                    state.closed.notify_one();
                });
            }
        });
        Self { origin, state }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.state.received.lock().unwrap().clone()
    }

    /// Waits until so many requests have come.
    pub(crate) async fn wait_for_requests(&self, count: usize) {
        while self.state.received.lock().unwrap().len() < count {
            self.state.arrived.notified().await;
        }
    }

    /// The most requests that were open at once.
    pub(crate) fn most_at_once(&self) -> usize {
        self.state.most_at_once.load(Ordering::SeqCst)
    }

    /// Waits until a connection is closed, and says how many bytes were sent on all.
    pub(crate) async fn sent_bytes(&self) -> usize {
        self.state.closed.notified().await;
        self.state.sent_bytes.load(Ordering::SeqCst)
    }
}

async fn serve_request(
    mut stream: TcpStream,
    state: &State,
    answer: &(impl Fn(&Received) -> Answer + Sync),
) {
    let Some(received) = read_request(&mut stream).await else { return };
    let answer = answer(&received);
    let at_once = state.at_once.fetch_add(1, Ordering::SeqCst) + 1;
    state.most_at_once.fetch_max(at_once, Ordering::SeqCst);
    state.received.lock().unwrap().push(received);
    state.arrived.notify_one();
    match answer {
        Answer::Bytes(bytes) => send_bytes(&mut stream, state, &bytes).await,
        Answer::Endless(head, piece) => {
            send_bytes(&mut stream, state, &head).await;
            while stream.write_all(&piece).await.is_ok() {
                state.sent_bytes.fetch_add(piece.len(), Ordering::SeqCst);
            }
        }
        Answer::Drip(head, piece) => {
            send_bytes(&mut stream, state, &head).await;
            let mut beat = tokio::time::interval(DRIP);
            while stream.write_all(&piece).await.is_ok() {
                beat.tick().await;
            }
        }
        Answer::Gated(gate, bytes) => {
            gate.acquire().await.unwrap().forget();
            // Before the bytes: whoever has them may ask again.
            state.at_once.fetch_sub(1, Ordering::SeqCst);
            send_bytes(&mut stream, state, &bytes).await;
            return;
        }
        Answer::Silence(bytes) => {
            send_bytes(&mut stream, state, &bytes).await;
            stream.read_u8().await.ok();
        }
    }
    state.at_once.fetch_sub(1, Ordering::SeqCst);
}

async fn send_bytes(stream: &mut TcpStream, state: &State, bytes: &[u8]) {
    if stream.write_all(bytes).await.is_ok() {
        state.sent_bytes.fetch_add(bytes.len(), Ordering::SeqCst);
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap().split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let split = |line: &str| {
        let (name, value) = line.split_once(':').unwrap();
        (name.to_ascii_lowercase(), value.trim().to_owned())
    };
    let headers = lines.map(split).collect();
    let mut received = Received { method, path, headers, body: bytes[end + 4..].to_vec() };
    let length = received.header("content-length").map_or(0, |length| length.parse().unwrap());
    while received.body.len() < length {
        stream.read_buf(&mut received.body).await.ok()?;
    }
    Some(received)
}

/// A whole response.
pub(crate) fn respond(status: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut bytes = head(status, headers);
    bytes.truncate(bytes.len() - 2);
    bytes.extend(format!("content-length: {}\r\n\r\n", body.len()).bytes());
    bytes.extend(body);
    Answer::Bytes(bytes)
}

/// A page.
pub(crate) fn page(body: &str) -> Answer {
    respond("200 OK", &[("content-type", "text/html")], body.as_bytes())
}

/// A redirect.
pub(crate) fn redirect(status: &str, location: &str) -> Answer {
    respond(status, &[("location", location)], b"")
}

/// The head of a response that ends with its connection.
pub(crate) fn head(status: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status}\r\nconnection: close\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    (text + "\r\n").into_bytes()
}
