//! `cargo own-tool [QUESTION]`: runs this deployment on this machine, asks one question and prints what comes.

use std::io::Write as _;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use djinn_local::{System, SystemOptions};
use serde_json::{Value, json};

/// The scripted model cannot think: it makes the call that a question names. A real one needs the first sentence.
const QUESTION: &str = r#"How many working days has December 2026, without Christmas Day? working_days {"from": "2026-12-01", "to": "2026-12-31", "holidays": ["2026-12-25"]}"#;

#[tokio::main]
async fn main() -> Result<()> {
    let question = std::env::args().nth(1).unwrap_or_else(|| QUESTION.to_owned());
    #[allow(clippy::disallowed_methods, reason = "a command line tool reads its environment")]
    let var = Box::new(|name: &str| std::env::var(name).ok());
    let djinn = own_tool::build_djinn();
    let system = System::start(SystemOptions { djinn, var, ..SystemOptions::default() }).await?;
    if system.demo_model().is_some() {
        print_line("(no model is configured: this is the scripted demo model)")?;
    }
    print_line(&format!("? {question}"))?;
    let url = format!("http://{}/runs", system.address());
    let http = reqwest::Client::builder().connect_timeout(Duration::from_secs(5)).build()?;
    let request = http.post(url).header("accept", "text/event-stream");
    let response = request.json(&json!({"question": question})).send().await?;
    ensure!(response.status().is_success(), "{}", response.text().await?);
    let stream = response.text().await?;
    for data in stream.lines().filter_map(|line| line.strip_prefix("data:")) {
        show_event(&serde_json::from_str(data).context("an event is no JSON")?)?;
    }
    Ok(())
}

/// Prints calls, their results and the answer. A run that failed fails the command.
fn show_event(event: &Value) -> Result<()> {
    let text_at = |path: &str| event.pointer(path).and_then(Value::as_str).unwrap_or_default();
    match text_at("/type") {
        "call.requested" => {
            let arguments = event.get("arguments").unwrap_or(&Value::Null);
            print_line(&format!("> {} {arguments}", text_at("/tool")))
        }
        "call.completed" => {
            print_line(&format!("  {}{}", text_at("/result/text"), text_at("/result/detail")))
        }
        "run.ended" => {
            let failure = event.get("failure").filter(|failure| !failure.is_null());
            ensure!(failure.is_none(), "the run failed: {}", failure.unwrap_or(&Value::Null));
            print_line(text_at("/answer"))
        }
        _ => Ok(()),
    }
}

fn print_line(text: &str) -> Result<()> {
    writeln!(std::io::stdout(), "{text}").context("nobody reads what is printed")
}
