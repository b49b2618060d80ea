//! A client that comes back with its cursor until it has seen the end.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Response;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::fold::{NativeState, Received};
use crate::host::Host;

/// How long a test waits for the end of a run.
const LONGEST: Duration = Duration::from_secs(120);

/// How long is waited before a connection that was refused is tried again.
const AGAIN_AFTER: Duration = Duration::from_millis(50);

/// What a client has seen, over all of its connections.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) state: NativeState,
    /// How each connection ended.
    pub(crate) connections: Vec<End>,
    /// Entries that came again.
    pub(crate) again: Vec<String>,
    cursor: Option<String>,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With the final entry.
    Final,
    /// With the frame that says how to go on.
    HandedOver,
    /// It broke off.
    Broken,
    /// It was refused for now.
    Refused,
}

/// A client at work.
pub(crate) struct Client {
    seen: Arc<Mutex<Seen>>,
    work: JoinHandle<()>,
}

impl Client {
    /// Asks a question as request `r1` of its session, and follows it in the background.
    pub(crate) fn ask(host: &Host, session: &str, mode: &str) -> Self {
        let question = json!({
            "question": "What is to be done?", "session_id": session, "request_id": "r1",
            "mode": mode,
        });
        let seen = Arc::default();
        let url = format!("{}/runs", host.url);
        let work = tokio::spawn(follow(url, question, Arc::clone(&seen)));
        Self { seen, work }
    }

    /// What was seen once the run has ended.
    pub(crate) async fn end(mut self) -> Seen {
        let ended = tokio::time::timeout(LONGEST, &mut self.work).await;
        let seen = std::mem::take(&mut *self.seen.lock().unwrap());
        assert!(ended.is_ok(), "no end: {seen:#?}");
        ended.unwrap().unwrap();
        assert_eq!(seen.connections.last(), Some(&End::Final));
        let finals = seen.state.entries.iter().filter(|entry| entry["type"] == "run.ended");
        assert_eq!(finals.count(), 1);
        seen
    }

    /// Waits until an entry has been seen.
    pub(crate) async fn has_seen(&self, id: &str) {
        while !self.with(|seen| seen.state.entries.iter().any(|entry| entry["id"] == id)) {
            assert!(!self.work.is_finished(), "{id} was not seen");
            tokio::task::yield_now().await;
        }
    }

    /// Waits until so many messages and results have been seen; false if the run ended before.
    pub(crate) async fn has_seen_results(&self, count: usize) -> bool {
        let counts = |entry: &&Value| {
            ["message.completed", "call.completed"].contains(&entry["type"].as_str().unwrap())
        };
        while self.with(|seen| seen.state.entries.iter().filter(counts).count()) < count {
            if self.work.is_finished() {
                return false;
            }
            tokio::task::yield_now().await;
        }
        true
    }

    fn with<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&self.seen.lock().unwrap())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.work.abort();
    }
}

impl Seen {
    /// The history by entry id, without times and costs, and without what tells of crashes.
    pub(crate) fn history(&self) -> Vec<String> {
        let tells = |entry: &&Value| {
            let name = entry["type"].as_str().unwrap();
            !["run.resumed", "item.reset"].contains(&name)
        };
        let told = self.state.entries.iter().filter(tells).map(|entry| {
            let words = ["text", "tool", "arguments", "answer", "status"];
            let words: Vec<_> = words.iter().map(|name| entry[name].to_string()).collect();
            let outcome = &entry["outcome"];
            format!("{} {} {} {outcome}", entry["id"], entry["type"], words.join(" "))
                .replace(" null", "")
        });
        told.collect()
    }

    /// How many entries are of this type.
    pub(crate) fn count(&self, kind: &str) -> usize {
        self.state.entries.iter().filter(|entry| entry["type"] == kind).count()
    }

    fn take(&mut self, frame: &Received) {
        let is_entry = frame.event.as_deref() != Some("preview");
        let value: Value = serde_json::from_str(&frame.data).unwrap();
        if is_entry && self.state.entries.iter().any(|known| known["id"] == value["id"]) {
            self.again.push(value["id"].to_string());
        }
        self.state.take(frame);
        if let Some(id) = &frame.id {
            let number = |id: &str| id.rsplit_once(':').and_then(|(_, n)| n.parse::<u64>().ok());
            let before = self.cursor.as_deref().and_then(number);
            assert!(number(id) >= before, "{id} comes after {before:?}");
            self.cursor = Some(id.clone());
        }
    }
}

async fn follow(url: String, question: Value, seen: Arc<Mutex<Seen>>) {
    let http = reqwest::Client::builder().tcp_nodelay(true).build().unwrap();
    loop {
        let cursor = seen.lock().unwrap().cursor.clone();
        let mut request = http.post(&url).header("accept", "text/event-stream").json(&question);
        if let Some(cursor) = cursor {
            request = request.header("last-event-id", cursor);
        }
        let end = match request.send().await {
            Ok(response) if response.status() == 200 => read(response, &seen).await,
            Ok(response) if retried(response.status().as_u16()) => End::Refused,
            Ok(response) => panic!("{}", response.text().await.unwrap()),
            Err(_) => End::Refused,
        };
        seen.lock().unwrap().connections.push(end);
        match end {
            End::Final => return,
            End::HandedOver | End::Broken => {}
            End::Refused => tokio::time::sleep(AGAIN_AFTER).await,
        }
    }
}

/// What Lambda itself answers when there is no room, or an environment died.
fn retried(status: u16) -> bool {
    BTreeSet::from([429, 502, 503]).contains(&status)
}

async fn read(mut response: Response, seen: &Mutex<Seen>) -> End {
    let mut text = String::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => text.push_str(std::str::from_utf8(&chunk).unwrap()),
            Ok(None) | Err(_) => return End::Broken,
        }
        while let Some((frame, rest)) = text.split_once("\n\n") {
            let frames = crate::fold::received(frame);
            let rest = rest.to_owned();
            for frame in &frames {
                match frame.event.as_deref() {
                    Some("run.handed_over") => return End::HandedOver,
                    event => {
                        seen.lock().unwrap().take(frame);
                        if event == Some("run.ended") {
                            return End::Final;
                        }
                    }
                }
            }
            text = rest;
        }
    }
}
