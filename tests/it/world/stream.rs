//! A stream of server-sent events, read as it comes.

use reqwest::Response;
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::Received;

/// One frame.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Frame {
    Data(Received),
    Comment(String),
}

/// The answer to a question.
pub(crate) struct Stream {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    response: Response,
    read: Vec<u8>,
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

    /// Whether it says that the run has ended.
    pub(crate) fn is_final(&self) -> bool {
        self.event() == "run.ended" || self.raw()["finish"] == true
    }
}

impl Stream {
    pub(crate) fn of(response: Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Self { status, headers, response, read: Vec::new() }
    }

    /// The next frame; `None` at the end, also one that is broken off.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(end) = self.read.windows(2).position(|pair| pair == b"\n\n") {
                let frame: Vec<u8> = self.read.drain(..end + 2).collect();
                let text = String::from_utf8(frame).unwrap();
                return Some(Frame::parse(text.trim_end()));
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
