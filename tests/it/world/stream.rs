//! A stream of server-sent events, read as it comes.

use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Request, Response};
use serde_json::Value;

use super::Received;

/// One frame of a stream: what an SSE client reads, or a comment that it skips.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Frame {
    Data(Received),
    Comment(String),
}

/// The answer to a question. Where every record is handed over, it comes back by itself, with its
/// cursor, as often as it is told to.
pub(crate) struct Stream {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    response: Response,
    read: Vec<u8>,
    again: Option<Again>,
}

/// What a client comes back with.
pub(crate) struct Again {
    http: reqwest::Client,
    request: Request,
    /// `None` for one that follows a run by its id.
    body: Option<Value>,
    came_back: bool,
}

impl Frame {
    fn parse(text: &str) -> Self {
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.map(|value| value.strip_prefix(' ').unwrap_or(value).to_owned())
        };
        match field("data:") {
            Some(data) => Self::Data(Received { id: field("id:"), event: field("event:"), data }),
            None => Self::Comment(text.trim_start_matches(": ").to_owned()),
        }
    }

    pub(crate) fn received(&self) -> Option<&Received> {
        match self {
            Self::Data(received) => Some(received),
            Self::Comment(_) => None,
        }
    }

    pub(crate) fn id(&self) -> Option<&str> {
        self.received()?.id.as_deref()
    }

    /// The name of the event, in the protocol that has one.
    pub(crate) fn event(&self) -> &str {
        self.received().and_then(|frame| frame.event.as_deref()).unwrap_or_default()
    }

    /// The payload; null where there is none.
    pub(crate) fn json(&self) -> Value {
        let data = self.received().map(|frame| frame.data.as_str()).unwrap_or_default();
        serde_json::from_str(data).unwrap_or_default()
    }

    /// JoyAgent's event, also from the UI's envelope.
    pub(crate) fn raw(&self) -> Value {
        let json = self.json();
        let wrapped = &json["resultMap"]["eventData"]["resultMap"];
        if wrapped.is_null() { json } else { wrapped.clone() }
    }

    /// Whether it says that the run goes on in another response.
    pub(crate) fn is_hand_over(&self) -> bool {
        let raw = self.raw();
        self.event() == "run.handed_over"
            || raw["messageType"] == "hand_over"
            || raw["messageId"].as_str().is_some_and(|id| id.ends_with(".hand_over"))
    }

    /// Whether it says that the run has ended.
    pub(crate) fn is_final(&self) -> bool {
        self.event() == "run.ended" || self.raw()["finish"] == true
    }
}

impl Again {
    pub(crate) fn new(http: &reqwest::Client, request: &Request) -> Self {
        let body = request.body().and_then(|body| serde_json::from_slice(body.as_bytes()?).ok());
        Self { http: http.clone(), request: request.try_clone().unwrap(), body, came_back: false }
    }

    /// Asks the same again; a question without a name has been given one.
    async fn come_back(&mut self, headers: &HeaderMap) -> Response {
        let mut request = self.request.try_clone().unwrap();
        let path = request.url().path();
        let name = if path == "/runs" { "request_id" } else { "requestId" };
        match &mut self.body {
            // The cursor is in a header now.
            None => request.url_mut().set_query(None),
            Some(body) => {
                if body[name].as_str().is_none_or(str::is_empty) {
                    body[name] = headers["djinn-request-id"].to_str().unwrap().into();
                }
                *request.body_mut() = Some(body.to_string().into());
            }
        }
        self.came_back = true;
        let response = self.http.execute(request).await.unwrap();
        assert_eq!(response.status(), 200, "{}", response.text().await.unwrap());
        response
    }
}

impl Stream {
    pub(crate) fn of(response: Response, again: Option<Again>) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Self { status, headers, response, read: Vec::new(), again }
    }

    /// The next frame; `None` at the end, also one that is broken off.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(end) = self.read.windows(2).position(|pair| pair == b"\n\n") {
                let frame: Vec<u8> = self.read.drain(..end + 2).collect();
                let text = String::from_utf8(frame).unwrap();
                let frame = Frame::parse(text.trim_end());
                let Some(again) = &mut self.again else { return Some(frame) };
                if again.came_back && frame == Frame::Comment("connected".to_owned()) {
                    continue;
                }
                if let Some(id) = frame.id() {
                    let cursor = HeaderValue::from_str(id).unwrap();
                    again.request.headers_mut().insert("last-event-id", cursor);
                }
                if !frame.is_hand_over() {
                    return Some(frame);
                }
                self.response = again.come_back(&self.headers).await;
                self.read.clear();
            }
            let chunk = self.response.chunk().await.ok()??;
            self.read.extend_from_slice(&chunk);
        }
    }

    /// Every frame up to the first that `is` so, that one included.
    #[track_caller]
    pub(crate) fn until(
        &mut self,
        is: impl Fn(&Frame) -> bool,
    ) -> impl Future<Output = Vec<Frame>> {
        let place = std::panic::Location::caller();
        async move {
            let mut frames = Vec::new();
            loop {
                let Some(frame) = self.next().await else {
                    panic!("the stream ended before what {place} waits for: {frames:#?}");
                };
                frames.push(frame);
                if frames.last().is_some_and(&is) {
                    return frames;
                }
            }
        }
    }

    /// Every frame that is left.
    pub(crate) async fn rest(mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(frame) = self.next().await {
            frames.push(frame);
        }
        frames
    }

    /// The body as it is, of an answer that is no stream.
    pub(crate) async fn body(self) -> Value {
        serde_json::from_str(&self.response.text().await.unwrap()).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The run's id, from the headers.
    pub(crate) fn run(&self) -> String {
        self.header("djinn-run-id").to_owned()
    }
}
