//! A client that asks a question and checks the run's end.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail, ensure};
use djinn_scripted::STAMP;
use reqwest::header::ACCEPT;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

/// Maximum silence of a stream; a driver sends a heartbeat every 5 s.
const SILENCE: Duration = Duration::from_secs(30);

/// The beginning of each delta from the benchmark's model.
const DELTA: &str = "word ";

/// The number of the next request. Each request is a run and a session.
static NEXT_REQUEST: AtomicUsize = AtomicUsize::new(0);

/// A client of an agent.
#[derive(Debug, Clone)]
pub(crate) struct BenchClient {
    http: reqwest::Client,
    url: String,
    mode: &'static str,
}

/// The duration of a run, measured by the client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunTimes {
    pub(crate) first_byte: Duration,
    pub(crate) whole: Duration,
    /// Number of received entries.
    pub(crate) entries: usize,
}

/// The stream of a run, with counts and times of the events.
pub(crate) struct RunStream {
    response: Response,
    asked_at: Instant,
    first_byte: Option<Duration>,
    unread: String,
    previews: usize,
    entries: usize,
    /// The start of each task, and the first event from the task.
    children: BTreeMap<String, (Instant, Option<Instant>)>,
    /// The data of `run.ended`; `None` until received.
    end: Option<Value>,
    /// The arrival of each piece with a timestamp, and the piece's age.
    lags: Vec<(Instant, Duration)>,
}

impl BenchClient {
    pub(crate) fn new(url: String) -> Result<Self> {
        let http = reqwest::Client::builder()
            .connect_timeout(SILENCE)
            .read_timeout(SILENCE)
            .tcp_nodelay(true)
            .build()?;
        Ok(Self { http, url, mode: "react" })
    }

    /// Returns the client with questions in this mode. The default is `react`.
    pub(crate) fn with_mode(self, mode: &'static str) -> Self {
        Self { mode, ..self }
    }

    /// Asks a question, and reads the stream to the end.
    pub(crate) async fn run_question(&self) -> Result<RunTimes> {
        self.open_stream().await?.finish().await
    }

    /// Asks a question with a new id, without reading the stream.
    pub(crate) async fn open_stream(&self) -> Result<RunStream> {
        let request = next_request();
        let question = json!({
            "question": "Write the report.", "request_id": request, "mode": self.mode,
        });
        let start = Instant::now();
        let asking = self.http.post(format!("{}/runs", self.url));
        let asking = asking.header(ACCEPT, "text/event-stream").json(&question);
        RunStream::of(asking.send().await?, start).await
    }

    /// Returns a request to the agent at this path.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url))
    }

    /// Responds to a human request.
    pub(crate) async fn respond_to_request(
        &self,
        run: &str,
        request: &str,
        words: &str,
    ) -> Result<()> {
        let body = json!({"response": words});
        let url = format!("{}/runs/{run}/requests/{request}/response", self.url);
        let response = self.http.post(url).json(&body).send().await?;
        ensure!(response.status().is_success(), "refused: {}", response.text().await?);
        Ok(())
    }

    /// Joins a run as a new viewer.
    pub(crate) async fn join_run(&self, run: &str) -> Result<RunStream> {
        self.view_run(run, "").await
    }

    /// Joins a run as a returning viewer with this cursor.
    pub(crate) async fn join_run_after(&self, run: &str, cursor: &str) -> Result<RunStream> {
        self.view_run(run, &format!("?after={cursor}")).await
    }

    async fn view_run(&self, run: &str, query: &str) -> Result<RunStream> {
        let asked_at = Instant::now();
        let asking = self.http.get(format!("{}/runs/{run}/events{query}", self.url));
        RunStream::of(asking.send().await?, asked_at).await
    }
}

/// Returns the id of a new request.
pub(crate) fn next_request() -> String {
    format!("bench-{}", NEXT_REQUEST.fetch_add(1, Ordering::Relaxed))
}

impl RunStream {
    async fn of(response: Response, asked_at: Instant) -> Result<Self> {
        ensure!(response.status().is_success(), "refused: {}", response.text().await?);
        Ok(Self {
            response,
            asked_at,
            first_byte: None,
            unread: String::new(),
            previews: 0,
            entries: 0,
            children: BTreeMap::new(),
            end: None,
            lags: Vec::new(),
        })
    }

    /// Returns the id from the header `djinn-run-id`; a response without the header is an error.
    pub(crate) fn run_id(&self) -> Result<&str> {
        let run = self.response.headers().get("djinn-run-id").context("no run is named")?;
        Ok(run.to_str()?)
    }

    /// Reads until this number of deltas has arrived, in previews of any size.
    pub(crate) async fn read_previews(&mut self, previews: usize) -> Result<()> {
        while self.previews < previews {
            ensure!(self.read_piece().await?, "the stream ended after {} previews", self.previews);
        }
        Ok(())
    }

    /// Reads until the first delta of text. Returns the time since the question.
    pub(crate) async fn read_first_text(&mut self) -> Result<Duration> {
        self.read_previews(1).await?;
        Ok(self.asked_at.elapsed())
    }

    /// Reads until this number of entries has arrived.
    pub(crate) async fn read_entries(&mut self, entries: usize) -> Result<()> {
        while self.entries < entries {
            let goes_on = self.read_piece().await?;
            ensure!(goes_on, "the stream ended after {} entries: {:?}", self.entries, self.end);
        }
        Ok(())
    }

    /// Reads to the end.
    ///
    /// # Errors
    /// Returns an error if the run did not finish with an answer.
    pub(crate) async fn finish(mut self) -> Result<RunTimes> {
        self.read_to_end().await
    }

    /// Like [`Self::finish`], but keeps the stream's counts.
    pub(crate) async fn read_to_end(&mut self) -> Result<RunTimes> {
        while self.read_piece().await? {}
        let whole = self.asked_at.elapsed();
        let Some(end) = &self.end else { bail!("the stream has no end: {}", self.unread) };
        let status = end.get("status").and_then(Value::as_str);
        ensure!(status == Some("finished"), "the run ended as {end}");
        let first_byte = self.first_byte.context("nothing was sent")?;
        Ok(RunTimes { first_byte, whole, entries: self.entries })
    }

    /// Reads until the agent closes the stream, even before the run's end.
    pub(crate) async fn read_until_closed(&mut self) -> Result<()> {
        while self.read_piece().await? {}
        Ok(())
    }

    /// The arrival of each piece with a timestamp, and the piece's age.
    pub(crate) fn lags(&self) -> &[(Instant, Duration)] {
        &self.lags
    }

    /// The data of `run.ended`; `None` until received.
    pub(crate) fn final_entry(&self) -> Option<&Value> {
        self.end.as_ref()
    }

    /// Returns the time from the first task's start until the first events of all tasks.
    pub(crate) fn dispatch_time(&self) -> Option<Duration> {
        let began = self.children.values().map(|(began, _)| *began).min()?;
        let event_times: Option<Vec<Instant>> =
            self.children.values().map(|(_, event_time)| *event_time).collect();
        Some(event_times?.into_iter().max()?.duration_since(began))
    }

    /// The number of tasks in the stream.
    pub(crate) fn child_count(&self) -> usize {
        self.children.len()
    }

    fn track_children(&mut self, frame: &str) {
        let now = Instant::now();
        let text = |name: &str| {
            let (_, rest) = frame.split_once(&format!("\"{name}\":\""))?;
            rest.split_once('"').map(|(text, _)| text.to_owned())
        };
        if frame.contains("event: child.started\n") {
            self.children.entry(text("child").unwrap_or_default()).or_insert((now, None));
        } else if let Some(task) = text("path")
            && let Some((_, heard)) = self.children.get_mut(&task)
        {
            heard.get_or_insert(now);
        }
    }

    /// Reads a piece; returns false at the end.
    async fn read_piece(&mut self) -> Result<bool> {
        let Some(piece) = self.response.chunk().await? else { return Ok(false) };
        self.first_byte.get_or_insert_with(|| self.asked_at.elapsed());
        self.unread.push_str(std::str::from_utf8(&piece).context("cut in a character")?);
        while let Some((frame, rest)) = self.unread.split_once("\n\n") {
            let frame = frame.to_owned();
            let rest = rest.to_owned();
            self.track_children(&frame);
            if frame.contains("event: preview\n") {
                self.previews += frame.matches(DELTA).count().max(1);
                self.lags.extend(piece_lags(&frame));
            } else if frame.contains("event: ") {
                self.entries += 1;
            }
            if frame.contains("event: run.ended\n") {
                let data = frame.lines().find_map(|line| line.strip_prefix("data:"));
                self.end = Some(serde_json::from_str(data.unwrap_or_default())?);
            }
            self.unread = rest;
        }
        Ok(true)
    }
}

/// Returns the arrival and the age of each timestamped piece in a preview.
#[expect(clippy::disallowed_methods, reason = "the model, another process, says when it wrote")]
fn piece_lags(frame: &str) -> impl Iterator<Item = (Instant, Duration)> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let sent_at = frame.split('@').skip(1).filter_map(|text| {
        let micros = text.get(..STAMP.len() - 1)?.parse().ok()?;
        Some(Duration::from_micros(micros))
    });
    sent_at.map(move |sent_at| (Instant::now(), now.saturating_sub(sent_at)))
}
