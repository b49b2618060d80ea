//! `cargo dev ask`: one question, answered in the terminal.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use djinn_core::code::Failure;
use djinn_core::settings::Language;
use djinn_local::{System, SystemOptions};
use serde::Deserialize as _;
use serde_json::Value;

use super::arguments::{Ask, PORT};
use super::client::{Question, Server};
use super::json::{list, number, text};
use super::running::Running;
use super::show::Screen;
use super::{home, log, options};

/// How often a stream that broke off is taken up again without any news.
const MAX_RECONNECTS: u32 = 5;

/// Asks, shows the run, keeps copies of its files, and fails if the run did.
pub(super) async fn ask(ask: Ask) -> Result<()> {
    log();
    let http = reqwest::Client::builder()
        .connect_timeout(Duration::from_secs(5))
        .tcp_nodelay(true)
        .build()?;
    let mut screen = Screen::new();
    // An embedded system lives as long as the question.
    let mut embedded = None;
    let url = match Running::find(&home(), &http).await {
        Some(url) => url,
        None => {
            let system = System::start(SystemOptions { continue_runs: false, ..options() }).await?;
            if system.scripted().is_some() {
                screen.line("(no model is configured: this is the scripted demo model)");
            }
            let url = format!("http://{}", system.address());
            embedded = Some(system);
            url
        }
    };
    let answered = answer(&Server { http, url }, &ask, &mut screen, embedded.is_none()).await;
    drop(embedded);
    answered
}

async fn answer(server: &Server, ask: &Ask, screen: &mut Screen, stays: bool) -> Result<()> {
    let request = ask.request.clone().unwrap_or_else(new_request_id);
    let session = ask.session.as_ref().unwrap_or(&request);
    for file in &ask.files {
        server.upload(session, file).await?;
    }
    let question = Question { text: &ask.question, session, request: &request };
    let (run, ending) = follow(server, &question, screen).await?;
    screen.answer(match text(&ending, "/answer") {
        "" => "(no answer)",
        answer => answer,
    });
    for file in list(&ending, "/files") {
        show_file(server, file, &run, screen, stays).await?;
    }
    let spent = |of| number(&ending, &format!("/spent/{of}"));
    screen.line(&format!(
        "\nrun {run}\nrequest {request}\n{} model calls, {} tool calls, {} tokens, {:.1} s",
        spent("model_calls"),
        spent("tool_calls"),
        spent("usage/input_tokens") + spent("usage/output_tokens"),
        Duration::from_millis(number(&ending, "/took_ms")).as_secs_f64(),
    ));
    match ending.get("failure") {
        None | Some(Value::Null) => Ok(()),
        Some(failure) => bail!("{}", sentence(failure)),
    }
}

/// Follows a run to its end, across connections that break off.
async fn follow(
    server: &Server,
    question: &Question<'_>,
    screen: &mut Screen,
) -> Result<(String, Value)> {
    let mut after: Option<String> = None;
    let mut reconnects = 0;
    loop {
        let mut events = server.stream(question, after.as_deref()).await?;
        while let Ok(Some(event)) = events.next().await {
            reconnects = 0;
            after = event.id.clone().or(after);
            screen.show(&event);
            if event.name == "run.ended" {
                return Ok((events.run, event.data));
            }
        }
        reconnects += 1;
        if reconnects > MAX_RECONNECTS {
            bail!("the stream broke off; the same --request-id goes on with the run");
        }
    }
}

async fn show_file(
    server: &Server,
    file: &Value,
    run: &str,
    screen: &mut Screen,
    stays: bool,
) -> Result<()> {
    let (name, url) = (text(file, "/name"), text(file, "/preview_url"));
    let dir = home().join("files").join(run);
    std::fs::create_dir_all(&dir)?;
    let copy = dir.join(name);
    std::fs::write(&copy, server.download(url).await?)?;
    let link = match stays {
        true => url.to_owned(),
        false => {
            format!("{} (opens while `cargo dev` runs)", url.replace(&server.url, &usual_url()))
        }
    };
    screen.line(&format!("\n{name}\n  {link}\n  {}", shown(&copy).display()));
    Ok(())
}

/// Where `cargo dev` listens.
fn usual_url() -> String {
    format!("http://127.0.0.1:{PORT}")
}

/// The path as it is shorter to type.
fn shown(path: &Path) -> &Path {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path)
}

/// Why the run failed, in the server's words.
fn sentence(failure: &Value) -> String {
    Failure::deserialize(failure)
        .map_or_else(|_| "the run failed".to_owned(), |failure| failure.sentence(Language::En))
}

fn new_request_id() -> String {
    use std::time::{SystemTime, UNIX_EPOCH};
    #[allow(clippy::disallowed_methods, reason = "a command line tool may look at the clock")]
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("ask-{}-{:04x}", since.as_millis(), std::process::id() & 0xffff)
}
