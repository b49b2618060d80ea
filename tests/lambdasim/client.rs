//! A client that comes back with its cursor until it has seen the end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use reqwest::Response;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::fold::{NativeState, Received};
use crate::host::Host;
use crate::story::Story;

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
    /// Entries that came twice on one connection, and a run's own that came on two: whoever comes back is
    /// told again what tasks at work have shown.
    pub(crate) again: Vec<String>,
    on_this_connection: BTreeSet<String>,
    cursor: Option<String>,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With the final entry.
    Final,
    /// With the frame that says how to go on.
    HandedOver,
    /// The connection broke off before either.
    Broken,
    /// It was refused for now.
    Refused,
}

/// A client at work.
pub(crate) struct Client {
    seen: Arc<watch::Sender<Seen>>,
    work: JoinHandle<()>,
}

impl Client {
    /// Asks a question as request `r1` of its session, and follows it in the background.
    pub(crate) fn ask(host: &Host, session: &str, story: Story) -> Self {
        Self::start(host, session, story, true)
    }

    /// The same, but stays away when its connection breaks off.
    pub(crate) fn ask_once(host: &Host, session: &str, story: Story) -> Self {
        Self::start(host, session, story, false)
    }

    fn start(host: &Host, session: &str, story: Story, comes_back: bool) -> Self {
        let question = json!({
            "question": "What is to be done?", "session_id": session, "request_id": "r1",
            "mode": story.mode(),
        });
        let seen: Arc<watch::Sender<Seen>> = Arc::default();
        let url = format!("{}/runs", host.url);
        let work = tokio::spawn(follow(url, question, Arc::clone(&seen), comes_back));
        Self { seen, work }
    }

    /// Waits until its connection has broken off; true if it saw the end before.
    pub(crate) async fn until_gone(mut self) -> bool {
        (&mut self.work).await.unwrap();
        self.seen.borrow().is_done()
    }

    /// What was seen once the run has ended.
    pub(crate) async fn end(mut self) -> Seen {
        let ended = tokio::time::timeout(LONGEST, &mut self.work).await;
        let seen = self.seen.send_replace(Seen::default());
        assert!(ended.is_ok(), "no end: {seen:#?}");
        ended.unwrap().unwrap();
        assert_eq!(seen.connections.last(), Some(&End::Final));
        let finals = seen.state.entries.iter().filter(|entry| entry["type"] == "run.ended");
        assert_eq!(finals.count(), 1);
        seen
    }

    /// Waits until an entry has been seen.
    pub(crate) async fn has_seen(&self, id: &str) {
        let has = |seen: &Seen| seen.state.entries.iter().any(|entry| entry["id"] == id);
        self.seen.subscribe().wait_for(|seen| has(seen) || seen.is_done()).await.unwrap();
        assert!(has(&self.seen.borrow()), "{id} was not seen");
    }

    /// How many messages and results have been seen.
    pub(crate) fn results(&self) -> usize {
        self.seen.borrow().results()
    }

    /// Waits until so many messages and results have been seen; false if the run ended before.
    pub(crate) async fn has_seen_results(&self, count: usize) -> bool {
        let mut seen = self.seen.subscribe();
        let seen = seen.wait_for(|seen| seen.results() >= count || seen.is_done()).await;
        !seen.unwrap().is_done()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.work.abort();
    }
}

impl Seen {
    /// Checks that this history is that one by entry id, and says what differs.
    #[track_caller]
    pub(crate) fn assert_same(&self, expected: &Self, why: &str) {
        self.assert_same_but(expected, &BTreeSet::new(), why);
    }

    /// The same, where the outcomes of some calls, by the ids of their entries, may differ.
    #[track_caller]
    pub(crate) fn assert_same_but(&self, expected: &Self, but: &BTreeSet<String>, why: &str) {
        let (ours, theirs) = (self.history(but), expected.history(but));
        let missing: Vec<_> = theirs.iter().filter(|line| !ours.contains(line)).collect();
        let more: Vec<_> = ours.iter().filter(|line| !theirs.contains(line)).collect();
        assert!(ours == theirs, "{why}\nmissing: {missing:#?}\nmore: {more:#?}");
    }

    /// The entries without times, costs, sessions and addresses, without what tells of crashes, and
    /// without the outcomes of some.
    fn history(&self, without: &BTreeSet<String>) -> Vec<String> {
        let chance = |entry: &Value| {
            matches!(entry["type"].as_str().unwrap(), "run.resumed" | "message.reset")
        };
        let told = self.state.entries.iter().filter(|entry| !chance(entry));
        let told = told.map(|entry| {
            if without.contains(entry["id"].as_str().unwrap()) {
                json!({"id": entry["id"], "type": entry["type"]}).to_string()
            } else {
                timeless(entry).to_string()
            }
        });
        let mut told: Vec<String> = told.collect();
        told.sort();
        told
    }

    fn is_done(&self) -> bool {
        self.connections.last() == Some(&End::Final)
    }

    fn results(&self) -> usize {
        self.count("message.completed") + self.count("call.completed")
    }

    /// How often the run, or the task that had it most often, was taken over.
    pub(crate) fn resumed(&self) -> usize {
        let mut by_task: BTreeMap<&str, usize> = BTreeMap::new();
        for entry in self.state.entries.iter().filter(|entry| entry["type"] == "run.resumed") {
            *by_task.entry(entry["path"].as_str().unwrap_or_default()).or_default() += 1;
        }
        by_task.into_values().max().unwrap_or_default()
    }

    /// Whether it, a task or a call of it was given up because its process died three times.
    pub(crate) fn was_given_up(&self) -> bool {
        let crashed = |entry: &Value| {
            entry["failure"]["code"] == "crashed" || entry["result"]["reason"] == "crashed"
        };
        self.state.entries.iter().any(crashed)
    }

    /// How many entries are of this type.
    pub(crate) fn count(&self, kind: &str) -> usize {
        self.state.entries.iter().filter(|entry| entry["type"] == kind).count()
    }

    fn take(&mut self, frame: &Received) {
        let is_entry = frame.event.as_deref() != Some("preview");
        let value: Value = serde_json::from_str(&frame.data).unwrap();
        if is_entry {
            let is_new = self.on_this_connection.insert(value["id"].to_string());
            let is_known = self.state.entries.iter().any(|known| known["id"] == value["id"]);
            if !is_new || (is_known && value["path"].is_null()) {
                self.again.push(value["id"].to_string());
            }
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

/// A value without what differs from run to run.
fn timeless(value: &Value) -> Value {
    const DIFFERS: [&str; 7] =
        ["at_ms", "took_ms", "spent", "usage", "preview_url", "download_url", "session"];
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|(name, _)| !DIFFERS.contains(&name.as_str()))
            .map(|(name, member)| (name.clone(), timeless(member)))
            .collect(),
        Value::Array(items) => items.iter().map(timeless).collect(),
        other => other.clone(),
    }
}

async fn follow(url: String, question: Value, seen: Arc<watch::Sender<Seen>>, comes_back: bool) {
    let http = reqwest::Client::builder().tcp_nodelay(true).build().unwrap();
    loop {
        let cursor = seen.borrow().cursor.clone();
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
        seen.send_modify(|seen| {
            seen.on_this_connection.clear();
            seen.connections.push(end);
        });
        match end {
            End::Final => return,
            End::Broken if !comes_back => return,
            End::HandedOver | End::Broken => {}
            End::Refused => tokio::time::sleep(AGAIN_AFTER).await,
        }
    }
}

/// What Lambda itself answers when there is no room, or an environment died.
fn retried(status: u16) -> bool {
    BTreeSet::from([429, 502, 503]).contains(&status)
}

async fn read(mut response: Response, seen: &watch::Sender<Seen>) -> End {
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
                        seen.send_modify(|seen| seen.take(frame));
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
