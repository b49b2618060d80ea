//! `cargo dev ask`: one question, answered in the terminal.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use djinn_local::{System, SystemOptions};
use serde_json::Value;

use super::arguments::Ask;
use super::client::{Question, Server};
use super::running::Running;
use super::show::Screen;
use super::{djinn_runtime_logs, home, options};

/// How often a stream that broke off is taken up again without any news.
const MAX_RECONNECTS: u32 = 5;

/// Asks, shows the run, keeps copies of its files, and fails if the run did.
pub(super) async fn ask(ask: Ask) -> Result<()> {
    djinn_runtime_logs();
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
    screen.line("");
    let failure = ending["failure"].as_object();
    screen.heading(
        ending["answer"].as_str().filter(|text| !text.is_empty()).unwrap_or("(no answer)"),
    );
    for file in ending["files"].as_array().into_iter().flatten() {
        show_file(server, file, &run, screen, stays).await?;
    }
    let spent = &ending["spent"];
    screen.line(&format!(
        "\nrun {run}\nrequest {request}\n{} model calls, {} tool calls, {} tokens, {:.1} s",
        spent["model_calls"],
        spent["tool_calls"],
        spent["usage"]["input_tokens"].as_u64().unwrap_or_default()
            + spent["usage"]["output_tokens"].as_u64().unwrap_or_default(),
        ending["took_ms"].as_f64().unwrap_or_default() / 1000.0,
    ));
    match failure {
        None => Ok(()),
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
    let name = file["name"].as_str().context("a file without a name")?;
    let url = file["preview_url"].as_str().context("a file without a link")?;
    let dir = home().join("files").join(run);
    std::fs::create_dir_all(&dir)?;
    let copy = dir.join(name);
    std::fs::write(&copy, server.download(url).await?)?;
    let opens = if stays { "" } else { " (opens while `cargo dev` runs)" };
    screen.line(&format!("\n{name}\n  {url}{opens}\n  {}", shown(&copy).display()));
    Ok(())
}

/// The path as it is shorter to type.
fn shown(path: &Path) -> &Path {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path)
}

/// Why the run failed, in the server's words.
fn sentence(failure: &serde_json::Map<String, Value>) -> String {
    let failure = serde_json::from_value(Value::Object(failure.clone()));
    failure.map_or_else(
        |_| "the run failed".to_owned(),
        |failure: djinn_core::code::Failure| failure.sentence(djinn_core::settings::Language::En),
    )
}

fn new_request_id() -> String {
    use std::time::{SystemTime, UNIX_EPOCH};
    #[allow(clippy::disallowed_methods, reason = "a command line tool may look at the clock")]
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("ask-{}-{:04x}", since.as_millis(), std::process::id() & 0xffff)
}
