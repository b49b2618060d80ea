//! A server that answers as it is told, true or not.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct SentRequest {
    pub method: String,
    /// The path with its parameters.
    pub target: String,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

/// What a server says, byte by byte.
pub(crate) type RawAnswer = Vec<u8>;

type Respond = dyn Fn(&SentRequest) -> RawAnswer + Send + Sync;

/// A server on a port of its own, until it is dropped.
pub(crate) struct Site {
    port: u16,
    requests: Arc<Mutex<Vec<SentRequest>>>,
    serving: JoinHandle<()>,
}

impl Site {
    pub(crate) async fn start(
        respond: impl Fn(&SentRequest) -> RawAnswer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::<Mutex<Vec<SentRequest>>>::default();
        let (log, respond): (_, Arc<Respond>) = (Arc::clone(&requests), Arc::new(respond));
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&log), Arc::clone(&respond)));
            }
        });
        Self { port, requests, serving }
    }

    /// A site that serves nothing itself: a test listens at this port.
    pub(crate) fn at_port(port: u16) -> Self {
        Self { port, requests: Arc::default(), serving: tokio::spawn(async {}) }
    }

    /// A site with one answer for each path, and 404 for all others.
    pub(crate) async fn with_pages(pages: Vec<(&'static str, RawAnswer)>) -> Self {
        let pages: BTreeMap<_, _> = pages.into_iter().collect();
        Self::start(move |request| {
            let path = request.target.split('?').next().unwrap();
            pages.get(path).cloned().unwrap_or_else(|| answer(404, "text/html", "<p>No."))
        })
        .await
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin())
    }

    /// The requests until now.
    pub(crate) fn requests(&self) -> Vec<SentRequest> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(mut stream: TcpStream, log: Arc<Mutex<Vec<SentRequest>>>, respond: Arc<Respond>) {
    let mut bytes = Vec::new();
    let request = loop {
        if let Some(request) = parse_request(&bytes) {
            break request;
        }
        match stream.read_buf(&mut bytes).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    };
    let answer = respond(&request);
    log.lock().unwrap().push(request);
    // A client that has enough breaks off.
    let _unsent = stream.write_all(&answer).await;
    let _open = stream.shutdown().await;
}

/// A request that has come whole.
fn parse_request(bytes: &[u8]) -> Option<SentRequest> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]);
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let headers: BTreeMap<_, _> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let body = bytes[end + 4..].to_vec();
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    (body.len() >= length).then_some(SentRequest { method, target, headers, body })
}

/// An answer that is as it says.
pub(crate) fn answer(status: u16, content_type: &str, body: impl AsRef<[u8]>) -> RawAnswer {
    let length = body.as_ref().len().to_string();
    answer_with(status, &[("content-type", content_type), ("content-length", &length)], body)
}

/// An answer with these headers, whether they are true or not.
pub(crate) fn answer_with(
    status: u16,
    headers: &[(&str, &str)],
    body: impl AsRef<[u8]>,
) -> RawAnswer {
    let headers: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!("HTTP/1.1 {status} S\r\n{headers}connection: close\r\n\r\n");
    [head.as_bytes(), body.as_ref()].concat()
}

/// A page that is somewhere else.
pub(crate) fn redirect(to: &str) -> RawAnswer {
    answer_with(302, &[("location", to), ("content-length", "0")], "")
}
