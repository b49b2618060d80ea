//! A TCP server that answers each request by the script its `djinn-call` header names.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// An answer. Every chunk is an HTTP chunk of its own, so that the client sees the same cuts.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) chunks: Vec<Vec<u8>>,
    /// What the last chunk waits for.
    pub(crate) held: Option<Arc<Notify>>,
    pub(crate) end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The body ends as HTTP says.
    Clean,
    /// The connection is closed in the middle of the body.
    Cut,
    /// Nothing follows, and the connection stays.
    Silence,
    /// Not even a status line.
    NoAnswer,
}

impl Script {
    pub(crate) fn ok(chunks: Vec<Vec<u8>>) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type".to_owned(), "text/event-stream".to_owned())],
            chunks,
            held: None,
            end: End::Clean,
        }
    }

    pub(crate) fn status(status: u16, body: &str) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            chunks: vec![body.as_bytes().to_vec()],
            held: None,
            end: End::Clean,
        }
    }
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
}

#[derive(Clone, Default)]
pub(crate) struct Server {
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// The answers to a call's requests in turn; the last answers all later requests.
    scripts: Mutex<BTreeMap<String, VecDeque<Script>>>,
    received: Mutex<BTreeMap<String, Vec<Received>>>,
    /// Told when a client closes a connection.
    closed: Notify,
}

impl Server {
    pub(crate) async fn start() -> (Self, SocketAddr) {
        let server = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::clone(&server.state);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let state = Arc::clone(&state);
                tokio::spawn(async move {
                    // A client that goes away in the middle is what some tests want.
                    let _ = serve(socket, &state).await;
                    state.closed.notify_one();
                });
            }
        });
        (server, address)
    }

    pub(crate) fn on(&self, call: &str, script: Script) {
        self.on_each(call, vec![script]);
    }

    pub(crate) fn on_each(&self, call: &str, scripts: Vec<Script>) {
        self.state.scripts.lock().unwrap().insert(call.to_owned(), scripts.into());
    }

    pub(crate) fn received(&self, call: &str) -> Received {
        self.received_all(call).pop().unwrap()
    }

    pub(crate) fn received_all(&self, call: &str) -> Vec<Received> {
        self.state.received.lock().unwrap()[call].clone()
    }

    pub(crate) async fn connection_closed(&self) {
        self.state.closed.notified().await;
    }
}

async fn serve(mut socket: TcpStream, state: &State) -> std::io::Result<()> {
    socket.set_nodelay(true)?;
    let mut buffer = Vec::new();
    while let Some(received) = receive(&mut socket, &mut buffer).await? {
        let call = received.headers.get("djinn-call").cloned();
        let call = call.unwrap_or_default();
        state.received.lock().unwrap().entry(call.clone()).or_default().push(received);
        let script = state.scripts.lock().unwrap().get_mut(&call).and_then(|scripts| {
            if scripts.len() > 1 { scripts.pop_front() } else { scripts.front().cloned() }
        });
        let script = script.unwrap_or_else(|| Script::status(500, &format!("no script {call}")));
        if !answer(&mut socket, &script).await? {
            return Ok(());
        }
    }
    Ok(())
}

async fn receive(
    socket: &mut TcpStream,
    buffer: &mut Vec<u8>,
) -> std::io::Result<Option<Received>> {
    let head_end = loop {
        if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if socket.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&buffer[..head_end]).into_owned();
    let mut lines = head.lines();
    let path = lines.next().unwrap_or_default().split(' ').nth(1);
    let path = path.unwrap_or_default().to_owned();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length: usize =
        headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let end = head_end + 4 + length;
    while buffer.len() < end {
        if socket.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
    let body = serde_json::from_slice(&buffer[head_end + 4..end]).unwrap_or(Value::Null);
    buffer.drain(..end);
    Ok(Some(Received { path, headers, body }))
}

/// Returns whether the connection can take another request.
async fn answer(socket: &mut TcpStream, script: &Script) -> std::io::Result<bool> {
    if script.end == End::NoAnswer {
        return wait_for_close(socket).await;
    }
    let mut head = format!("HTTP/1.1 {} X\r\ntransfer-encoding: chunked\r\n", script.status);
    for (name, value) in &script.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    socket.write_all(format!("{head}\r\n").as_bytes()).await?;
    let chunks: Vec<_> = script.chunks.iter().filter(|chunk| !chunk.is_empty()).collect();
    for (nth, chunk) in chunks.iter().enumerate() {
        if let Some(held) = script.held.as_ref().filter(|_| nth + 1 == chunks.len()) {
            held.notified().await;
        }
        let mut bytes = format!("{:x}\r\n", chunk.len()).into_bytes();
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
        socket.write_all(&bytes).await?;
        // Lets the client read what there is.
        tokio::task::yield_now().await;
    }
    if script.end == End::Clean {
        socket.write_all(b"0\r\n\r\n").await?;
    }
    match script.end {
        End::Clean => Ok(true),
        End::Cut => Ok(false),
        End::Silence | End::NoAnswer => wait_for_close(socket).await,
    }
}

async fn wait_for_close(socket: &mut TcpStream) -> std::io::Result<bool> {
    let mut rest = [0; 64];
    while socket.read(&mut rest).await? > 0 {}
    Ok(false)
}
