//! `cargo dev ask`: asks one question in the terminal.

use std::io::{IsTerminal as _, stdout};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use djinn_local::{System, SystemOptions, create_private_dir};
use serde_json::Value;

use super::advice::{HomeFile, RunFailure};
use super::announcement::Announcement;
use super::arguments::{AskOptions, PORT, url_at};
use super::client::{AskRequest, ServerClient};
use super::human_requests::OpenRequests;
use super::json::{list_at, number_at, text_at};
use super::show::{Screen, failure_text};
use super::{home_dir, start_log, system_options};

/// Asks the question, shows the run, saves copies of the files, and returns an error if the run failed.
pub(super) async fn ask_question(ask: AskOptions) -> Result<()> {
    start_log();
    let http = new_http()?;
    let mut screen = Screen::new(Box::new(stdout()), stdout().is_terminal());
    // An embedded system lives as long as the question.
    let mut own_server = None;
    let url = match Announcement::find_running(&home_dir(), &http).await {
        Some(url) => url,
        None => {
            let system =
                System::start(SystemOptions { continue_runs: false, ..system_options()? }).await?;
            if system.demo_model().is_some() {
                screen.print_line("(no model is configured: this is the scripted demo model)");
            }
            let url = format!("http://{}", system.address());
            own_server = Some(system);
            url
        }
    };
    // Links then name the next `cargo dev`: on the given port, else on the last port.
    let later = own_server.is_some().then(|| match ask.port {
        Some(port) => url_at(port),
        None => Announcement::last_url(&home_dir()).unwrap_or_else(|| url_at(PORT)),
    });
    let result =
        run_question(&ServerClient::new(http, &url, None), &ask, &mut screen, later.as_deref())
            .await;
    drop(own_server);
    result
}

/// Returns the HTTP client for systems, without a timeout for responses.
pub(super) fn new_http() -> Result<reqwest::Client> {
    let http = reqwest::Client::builder();
    Ok(http.connect_timeout(Duration::from_secs(5)).tcp_nodelay(true).build()?)
}

/// Asks the question and follows the run. `later` is the base URL for links if this system will stop.
async fn run_question(
    server: &ServerClient,
    ask: &AskOptions,
    screen: &mut Screen,
    later: Option<&str>,
) -> Result<()> {
    let request = ask.request.clone().unwrap_or_else(new_request_id);
    let session = ask.session.as_ref().unwrap_or(&request);
    let mut files = Vec::new();
    for file in &ask.files {
        files.push(server.upload_file(session, file).await?);
    }
    let question = AskRequest {
        text: ask.question.as_deref(),
        session,
        request: &request,
        mode: ask.mode(),
        arguments: ask.arguments.as_ref(),
        files: &files,
        human_requests: &ask.human_requests(),
    };
    let (run, ending) = follow_run(server, &question, screen).await?;
    screen.show_answer(match text_at(&ending, "/answer") {
        "" => "(no answer)",
        answer => answer,
    });
    for file in list_at(&ending, "/files") {
        show_file(server, file, &run, screen, later).await?;
    }
    let spent = |of| number_at(&ending, &format!("/spent/{of}"));
    screen.print_line(&format!(
        "\nrun {run}\nrequest {request}\n{} model calls, {} tool calls, {} tokens, {:.1} s",
        spent("model_calls"),
        spent("tool_calls"),
        spent("usage/input_tokens") + spent("usage/output_tokens"),
        Duration::from_millis(number_at(&ending, "/took_ms")).as_secs_f64(),
    ));
    match ending.get("failure") {
        None | Some(Value::Null) => Ok(()),
        Some(failure) => Err(RunFailure::new(failure, failure_text(failure)).into()),
    }
}

/// Follows a run to the end, across lost connections.
async fn follow_run(
    server: &ServerClient,
    question: &AskRequest<'_>,
    screen: &mut Screen,
) -> Result<(String, Value)> {
    let mut place = StreamPosition::default();
    let mut open_requests = OpenRequests::default();
    loop {
        let mut events = server.open_stream(question, place.cursor.as_deref()).await?;
        while let Ok(Some(event)) = events.next_event().await {
            place.move_to(event.id.as_deref());
            screen.show_event(&event);
            open_requests.apply_event(&event);
            if event.name == "run.ended" {
                return Ok((events.run, event.data));
            }
        }
        if open_requests.answer_next(server, &events.run, screen).await? {
            place.idle_streams = 0;
            continue;
        }
        match place.wait_before_next() {
            Some(wait) => tokio::time::sleep(wait).await,
            None => bail!("the stream broke off; the same --request-id continues the run"),
        }
    }
}

/// The position in a stream across connections, and the number of connections without news.
#[derive(Default)]
pub(crate) struct StreamPosition {
    pub(crate) cursor: Option<String>,
    idle_streams: u32,
}

impl StreamPosition {
    /// Maximum number of reconnections without news. The waits total 21 s, longer than the lease of a dead
    /// driver.
    const MAX_IDLE: u32 = 8;
    const FIRST_WAIT: Duration = Duration::from_millis(200);
    const LONGEST_WAIT: Duration = Duration::from_secs(5);

    /// Stores an event's cursor. Only a new cursor is news: previews and handoffs repeat the cursor.
    pub(crate) fn move_to(&mut self, cursor: Option<&str>) {
        if cursor.is_some() && cursor != self.cursor.as_deref() {
            self.cursor = cursor.map(str::to_owned);
            self.idle_streams = 0;
        }
    }

    /// Returns the wait before reconnecting; `None` to give up.
    pub(crate) fn wait_before_next(&mut self) -> Option<Duration> {
        let wait =
            Self::FIRST_WAIT.saturating_mul(1 << self.idle_streams.min(16)).min(Self::LONGEST_WAIT);
        self.idle_streams += 1;
        (self.idle_streams <= Self::MAX_IDLE).then_some(wait)
    }
}

async fn show_file(
    server: &ServerClient,
    file: &Value,
    run: &str,
    screen: &mut Screen,
    later: Option<&str>,
) -> Result<()> {
    let name = text_at(file, "/name");
    let url = text_at(file, "/preview_url");
    let dir = home_dir().join("files").join(run);
    create_private_dir(&dir).with_context(|| HomeFile(dir.clone()))?;
    let copy = dir.join(name);
    let bytes = server.download_file(url).await?;
    std::fs::write(&copy, bytes).with_context(|| HomeFile(copy.clone()))?;
    let link = match later {
        None => url.to_owned(),
        Some(later) => {
            format!("{} (opens while `cargo dev` runs)", url.replace(&server.url, later))
        }
    };
    let current_dir = std::env::current_dir().unwrap_or_default();
    let short_path = copy.strip_prefix(current_dir).unwrap_or(&copy);
    screen.print_line(&format!("\n{name}\n  {link}\n  {}", short_path.display()));
    Ok(())
}

pub(crate) fn new_request_id() -> String {
    use std::time::{SystemTime, UNIX_EPOCH};
    #[allow(clippy::disallowed_methods, reason = "a command line tool may look at the clock")]
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("ask-{}-{:04x}", since.as_millis(), std::process::id() & 0xffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_without_news_is_taken_up_ever_later_and_given_up() {
        let mut place = StreamPosition::default();
        place.move_to(Some("run_1:3"));
        let mut waits = Vec::new();
        while let Some(wait) = place.wait_before_next() {
            waits.push(wait.as_millis());
            // The cursors of a driver that only hands over, and of a preview before the first record.
            place.move_to(Some("run_1:3"));
            place.move_to(None);
        }
        assert_eq!(waits, [200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);

        place.move_to(Some("run_1:4"));
        assert_eq!(place.wait_before_next(), Some(StreamPosition::FIRST_WAIT));
        assert_eq!(place.cursor.as_deref(), Some("run_1:4"));
    }
}
