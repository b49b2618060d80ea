//! A run whose stream is cut and resumed.

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use serde_json::{Map, Value};

use super::entries::StreamEntry;
use super::timing::{MEASURABLE_MS, StreamTiming};
use crate::dev::{
    AskRequest, EventStream, ServerClient, StreamEvent, StreamPosition, number_at, text_at,
};

/// The question. A model needs one call, no tool and fewer than a hundred tokens for the answer, which is long
/// enough to measure the stream. The demo model of `cargo dev` knows the question.
const QUESTION: &str = "Count from one to thirty in English words, separated by commas. Reply with these words \
                        only, and call no tool.";

/// Minimum number of events before the cut.
const EVENTS_BEFORE_CUT: usize = 6;

/// A run of the question.
pub(super) struct CutRun {
    /// The time until the response began.
    pub(super) opened_after: Duration,
    /// The part of the stream before the cut.
    pub(super) before: StreamPart,
    /// The part of the stream after the cut, up to the end of the run.
    pub(super) after: Result<StreamPart>,
    /// The stream from its beginning, read after the end.
    pub(super) whole: StreamPart,
}

/// A part of a stream.
#[derive(Default)]
pub(super) struct StreamPart {
    pub(super) entries: Vec<StreamEntry>,
    pub(super) timing: StreamTiming,
    /// The cursor of the last event.
    pub(super) cursor: Option<String>,
    /// The data of `run.ended`; `None` before the end.
    pub(super) ending: Option<Value>,
}

impl StreamPart {
    /// Adds an event that arrived `arrived_ms` after the question.
    ///
    /// # Errors
    /// Returns an error for a tool call: each further model call would cost as much as the first one.
    fn add_event(&mut self, event: StreamEvent, arrived_ms: u64) -> Result<()> {
        if event.name == "call.requested" {
            bail!(
                "the model calls the tool `{}` instead of answering",
                text_at(&event.data, "/tool")
            );
        }
        self.timing.add_event(number_at(&event.data, "/at_ms"), arrived_ms);
        if event.id.is_some() {
            self.cursor.clone_from(&event.id);
        }
        let name = text_at(&event.data, "/id");
        if !name.is_empty() {
            self.entries.push(StreamEntry { name: name.to_owned(), cursor: event.id });
        }
        if event.name == "run.ended" {
            self.ending = Some(event.data);
        }
        Ok(())
    }

    /// Returns true if the stream can be cut: its timing is measurable, or the answer is complete.
    fn can_be_cut(&self, event_name: &str) -> bool {
        let is_measurable = self.timing.event_count() >= EVENTS_BEFORE_CUT
            && self.timing.span_ms() >= MEASURABLE_MS;
        is_measurable || ["message.completed", "run.ended"].contains(&event_name)
    }
}

/// Asks the question in a session, cuts the stream, and resumes the stream. Stores the id of the run in `run` as
/// soon as the server accepts the question.
///
/// # Errors
/// Returns an error if the question is rejected, the model calls a tool, or no stream contains the end.
pub(super) async fn ask_and_cut(
    server: &ServerClient,
    session: &str,
    run: &mut String,
) -> Result<CutRun> {
    let question = AskRequest {
        text: Some(QUESTION),
        session,
        request: session,
        mode: "react",
        arguments: None,
        files: &[],
        human_requests: &Map::new(),
    };
    let began = Instant::now();
    let mut events = server.open_stream(&question, None).await?;
    let opened_after = began.elapsed();
    run.clone_from(&events.run);
    let before = read_until_cut(&mut events, began).await?;
    drop(events);
    if run.is_empty() {
        // A proxy may remove the header `Djinn-Run-Id`; a cursor begins with the run's id.
        let cursor = before.cursor.as_deref().and_then(|cursor| cursor.split_once(':'));
        *run = cursor.map(|(run, _)| run.to_owned()).unwrap_or_default();
    }
    ensure!(!run.is_empty(), "the stream ended without an event");
    let after = if before.ending.is_some() {
        Ok(StreamPart::default())
    } else {
        read_to_end(server, run, before.cursor.as_deref(), began).await
    };
    let whole = read_to_end(server, run, None, began).await?;
    Ok(CutRun { opened_after, before, after, whole })
}

async fn read_until_cut(events: &mut EventStream, began: Instant) -> Result<StreamPart> {
    let mut part = StreamPart::default();
    while let Some(event) = events.next_event().await? {
        let name = event.name.clone();
        part.add_event(event, elapsed_ms(began))?;
        if part.can_be_cut(&name) {
            break;
        }
    }
    Ok(part)
}

/// Follows a run from a cursor to the end, across handoffs.
async fn read_to_end(
    server: &ServerClient,
    run: &str,
    cursor: Option<&str>,
    began: Instant,
) -> Result<StreamPart> {
    let mut position = StreamPosition::default();
    position.move_to(cursor);
    let mut whole = StreamPart::default();
    loop {
        let mut events = server.follow_stream(run, position.cursor.as_deref()).await?;
        let mut part = StreamPart::default();
        while let Ok(Some(event)) = events.next_event().await {
            position.move_to(event.id.as_deref());
            part.add_event(event, elapsed_ms(began))?;
        }
        // The first part is kept as it came. A later part may repeat an incomplete record.
        let is_first = whole.entries.is_empty();
        let is_known =
            |entry: &StreamEntry| whole.entries.iter().any(|known| known.name == entry.name);
        let news: Vec<_> =
            part.entries.into_iter().filter(|entry| is_first || !is_known(entry)).collect();
        whole.entries.extend(news);
        if part.ending.is_some() {
            whole.ending = part.ending;
            return Ok(whole);
        }
        match position.wait_before_next() {
            Some(wait) => tokio::time::sleep(wait).await,
            None => bail!("the stream ended again and again without `run.ended`"),
        }
    }
}

fn elapsed_ms(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}
