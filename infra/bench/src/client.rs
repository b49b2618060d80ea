//! A client that asks, and checks that its run ends well.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail, ensure};
use djinn_scripted::STAMP;
use reqwest::Response;
use reqwest::header::ACCEPT;
use serde_json::{Value, json};

/// Longest silence of a stream; a driver sends a heartbeat every 5 s.
const SILENCE: Duration = Duration::from_secs(30);

/// How each delta of the benchmark's model begins.
const DELTA: &str = "word ";

/// Numbers the requests of this process: each is a run and a session of its own.
static NEXT_REQUEST: AtomicUsize = AtomicUsize::new(0);

/// A client of one agent.
#[derive(Debug, Clone)]
pub(crate) struct BenchClient {
    http: reqwest::Client,
    url: String,
    mode: &'static str,
}

/// How long a run took from the client's side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunTimes {
    pub(crate) first_byte: Duration,
    pub(crate) whole: Duration,
    /// Entries it was told.
    pub(crate) entries: usize,
}

/// A stream counts and times the events of one run, as a client reads them.
pub(crate) struct RunStream {
    response: Response,
    asked_at: Instant,
    first_byte: Option<Duration>,
    unread: String,
    previews: usize,
    entries: usize,
    /// When each task was first heard of, and first heard from.
    children: BTreeMap<String, (Instant, Option<Instant>)>,
    /// The end is the data of the event `run.ended`; it is `None` until that has been read.
    end: Option<Value>,
    /// When pieces came that say when they were written, and how long ago that was.
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

    /// The same client, whose questions are planned.
    pub(crate) fn with_plan_mode(self) -> Self {
        Self { mode: "plan_solve", ..self }
    }

    /// Asks, and reads the stream to its end.
    pub(crate) async fn run_question(&self) -> Result<RunTimes> {
        self.open_stream().await?.finish().await
    }

    /// A new question is asked, under an id of its own; nothing of its stream is read yet.
    pub(crate) async fn open_stream(&self) -> Result<RunStream> {
        let request = format!("bench-{}", NEXT_REQUEST.fetch_add(1, Ordering::Relaxed));
        let question = json!({
            "question": "Write the report.", "request_id": request, "mode": self.mode,
        });
        let asked = Instant::now();
        let asking = self.http.post(format!("{}/runs", self.url));
        let asking = asking.header(ACCEPT, "text/event-stream").json(&question);
        RunStream::of(asking.send().await?, asked).await
    }

    /// Answers what a run asks.
    pub(crate) async fn answer_request(
        &self,
        run: &str,
        feedback: &str,
        words: &str,
    ) -> Result<()> {
        let answer = json!({"feedbackId": feedback, "feedback": words});
        let url = format!("{}/api/feedback/{run}", self.url);
        let response = self.http.post(url).json(&answer).send().await?;
        ensure!(response.status().is_success(), "refused: {}", response.text().await?);
        Ok(())
    }

    /// Joins a run as a new viewer.
    pub(crate) async fn join_run(&self, run: &str) -> Result<RunStream> {
        self.view_run(run, "").await
    }

    /// Joins a run as a viewer who comes back and was there up to this cursor.
    pub(crate) async fn join_run_after(&self, run: &str, cursor: &str) -> Result<RunStream> {
        self.view_run(run, &format!("?after={cursor}")).await
    }

    async fn view_run(&self, run: &str, query: &str) -> Result<RunStream> {
        let asked_at = Instant::now();
        let asking = self.http.get(format!("{}/runs/{run}/events{query}", self.url));
        RunStream::of(asking.send().await?, asked_at).await
    }
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

    /// The id comes from the header `djinn-run-id`; an answer without that is an error.
    pub(crate) fn run_id(&self) -> Result<&str> {
        let run = self.response.headers().get("djinn-run-id").context("no run is named")?;
        Ok(run.to_str()?)
    }

    /// Reads until so many deltas have been shown, however many of them a preview holds.
    pub(crate) async fn read_previews(&mut self, previews: usize) -> Result<()> {
        while self.previews < previews {
            ensure!(self.read_piece().await?, "the stream ended after {} previews", self.previews);
        }
        Ok(())
    }

    /// Reads until so many entries have been shown.
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
    /// If the run did not finish with an answer.
    pub(crate) async fn finish(mut self) -> Result<RunTimes> {
        self.read_to_end().await
    }

    /// The same, and leaves what was seen.
    pub(crate) async fn read_to_end(&mut self) -> Result<RunTimes> {
        while self.read_piece().await? {}
        let whole = self.asked_at.elapsed();
        let Some(end) = &self.end else { bail!("the stream has no end: {}", self.unread) };
        let status = end.get("status").and_then(Value::as_str);
        ensure!(status == Some("finished"), "the run ended as {end}");
        let first_byte = self.first_byte.context("nothing was sent")?;
        Ok(RunTimes { first_byte, whole, entries: self.entries })
    }

    /// Reads until the agent closes the stream, whether or not the run has ended.
    pub(crate) async fn read_until_closed(&mut self) -> Result<()> {
        while self.read_piece().await? {}
        Ok(())
    }

    /// When pieces came that say when they were written, and how long ago that was.
    pub(crate) fn lags(&self) -> &[(Instant, Duration)] {
        &self.lags
    }

    /// The final entry is the data of `run.ended`; it is `None` until that has been read.
    pub(crate) fn final_entry(&self) -> Option<&Value> {
        self.end.as_ref()
    }

    /// From the first task's beginning to the moment when every task had been heard from.
    pub(crate) fn dispatch_time(&self) -> Option<Duration> {
        let began = self.children.values().map(|(began, _)| *began).min()?;
        let heard: Option<Vec<Instant>> = self.children.values().map(|(_, heard)| *heard).collect();
        Some(heard?.into_iter().max()?.duration_since(began))
    }

    /// The tasks that were heard of.
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

    /// Reads a piece. False at the end.
    async fn read_piece(&mut self) -> Result<bool> {
        let Some(piece) = self.response.chunk().await? else { return Ok(false) };
        self.first_byte.get_or_insert_with(|| self.asked_at.elapsed());
        self.unread.push_str(std::str::from_utf8(&piece).context("cut in a character")?);
        while let Some((frame, rest)) = self.unread.split_once("\n\n") {
            let (frame, rest) = (frame.to_owned(), rest.to_owned());
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

/// How long ago the pieces of a preview were written that say when.
#[expect(clippy::disallowed_methods, reason = "the model, another process, says when it wrote")]
fn piece_lags(frame: &str) -> impl Iterator<Item = (Instant, Duration)> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let written = frame.split('@').skip(1).filter_map(|text| {
        let micros = text.get(..STAMP.len() - 1)?.parse().ok()?;
        Some(Duration::from_micros(micros))
    });
    written.map(move |written| (Instant::now(), now.saturating_sub(written)))
}
