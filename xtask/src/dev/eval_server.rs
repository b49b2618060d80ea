//! Asks an evaluation's questions to a system, without output of the runs.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use djinn_local::{System, SystemOptions};
use djinn_settings::check_names;
use serde_json::{Map, Value};

use super::ask::{StreamPosition, new_http, new_request_id};
use super::client::{AskRequest, ServerClient};
use super::json::{list_at, number_at, text_at};
use super::show::failure_text;
use super::{environment_names, home_dir, start_log, system_options};

/// The folder of the evaluation's system, below the home.
const DIR: &str = "eval";

/// A server for questions, with the embedded system if started here.
pub(crate) struct EvalServer {
    client: ServerClient,
    embedded: Option<System>,
}

/// A finished run.
#[derive(Default)]
pub(crate) struct FinishedRun {
    pub(crate) answer: String,
    /// The file names, each with the file's URL.
    pub(crate) files: Vec<(String, String)>,
    pub(crate) tokens: u64,
    pub(crate) took: Duration,
    /// The reason for a failure, if any.
    pub(crate) failure: Option<String>,
}

impl EvalServer {
    /// Connects to the server at a URL, or starts a system like `cargo dev` with separate runs.
    ///
    /// # Errors
    /// Returns an error if the system cannot be started.
    pub(crate) async fn open(url: Option<String>, key: Option<String>) -> Result<Self> {
        let http = new_http()?;
        if let Some(url) = url {
            return Ok(Self { client: ServerClient::new(http, &url, key), embedded: None });
        }
        check_names(environment_names())?;
        start_log();
        let dir = Some(home_dir().join(DIR));
        let options = SystemOptions { dir, continue_runs: false, ..system_options()? };
        let system = System::start(options).await?;
        let url = format!("http://{}", system.address());
        Ok(Self { client: ServerClient::new(http, &url, None), embedded: Some(system) })
    }

    pub(crate) fn client(&self) -> &ServerClient {
        &self.client
    }

    /// Returns true if the system is embedded and has only the scripted model.
    pub(crate) fn is_scripted(&self) -> bool {
        self.embedded.as_ref().is_some_and(|system| system.demo_model().is_some())
    }
}

/// Asks a question with files in a new session, and follows the run to the end.
///
/// # Errors
/// Returns an error if the question was rejected or the stream ended for good.
pub(crate) async fn finish_question(
    server: &ServerClient,
    text: &str,
    mode: &str,
    files: &[PathBuf],
) -> Result<FinishedRun> {
    let request = new_request_id();
    let mut names = Vec::new();
    for file in files {
        names.push(server.upload_file(&request, file).await?);
    }
    let question = AskRequest {
        text: Some(text),
        session: &request,
        request: &request,
        mode,
        arguments: None,
        files: &names,
        human_requests: &Map::new(),
    };
    let mut place = StreamPosition::default();
    loop {
        let mut events = server.open_stream(&question, place.cursor.as_deref()).await?;
        while let Ok(Some(event)) = events.next_event().await {
            place.move_to(event.id.as_deref());
            if event.name == "run.ended" {
                return Ok(FinishedRun::of_ending(&event.data));
            }
        }
        match place.wait_before_next() {
            Some(wait) => tokio::time::sleep(wait).await,
            None => bail!("the stream broke off"),
        }
    }
}

impl FinishedRun {
    fn of_ending(ending: &Value) -> Self {
        let files = list_at(ending, "/files").map(|file| {
            (text_at(file, "/name").to_owned(), text_at(file, "/preview_url").to_owned())
        });
        let spent = |of: &str| number_at(ending, &format!("/spent/usage/{of}"));
        let failure = ending.get("failure").filter(|failure| !failure.is_null());
        Self {
            answer: text_at(ending, "/answer").to_owned(),
            files: files.collect(),
            tokens: spent("input_tokens") + spent("output_tokens"),
            took: Duration::from_millis(number_at(ending, "/took_ms")),
            failure: failure.map(failure_text),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_ending_is_read_as_far_as_it_says_something() {
        let file = json!({"name": "a.md", "preview_url": "http://h/a.md"});
        let run = FinishedRun::of_ending(&json!({
            "answer": "Gold.", "files": [file], "took_ms": 1500, "failure": null,
            "spent": {"usage": {"input_tokens": 400, "output_tokens": 40}},
        }));
        assert_eq!((run.answer.as_str(), run.tokens, run.failure), ("Gold.", 440, None));
        assert_eq!(run.files, [("a.md".to_owned(), "http://h/a.md".to_owned())]);
        assert_eq!(run.took, Duration::from_millis(1500));
        let empty = FinishedRun::of_ending(&json!({}));
        assert!(empty.answer.is_empty() && empty.files.is_empty() && empty.failure.is_none());
    }
}
