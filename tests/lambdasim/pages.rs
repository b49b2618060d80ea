//! Pages in Chromium whose function dies, or ends at its deadline, in mid-sentence.

use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use djinn_scripted::ChunkGate;
use djinn_testkit::lambdasim::InvocationOutcome;
use serde_json::json;
use tempfile::TempDir;

use crate::host::{Host, Options};
use crate::story::Story;

/// The repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The page's layer, as `sam build` builds it in this folder; `None` on a machine without `make`.
fn build_layer(folder: &Path) -> Option<TempDir> {
    let layer = tempfile::tempdir().unwrap();
    let makefile = Path::new(ROOT).join("infra/page/Makefile");
    let mut make = Command::new("make");
    make.arg("-f").arg(makefile).arg("build-Page").current_dir(folder);
    let output = match make.env("ARTIFACTS_DIR", layer.path()).output() {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        output => output.unwrap(),
    };
    assert!(output.status.success(), "{output:?}");
    Some(layer)
}

/// The variable of a folder that has the page.
fn page_variable(folder: &Path) -> (&'static str, String) {
    ("DJINN_PAGE", folder.display().to_string())
}

/// The script of a page, which ends with its test.
struct Script(Child);

impl Drop for Script {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// How the function ends while a page shows half of a sentence.
#[derive(Clone, Copy)]
enum FunctionEnd {
    Death,
    Deadline,
}

/// Opens a page that asks, and ends the function that answers in mid-sentence. The script of the page checks what
/// it shows. Returns the functions; `None` on a machine without a browser.
async fn ask_in_browser(
    page: &str,
    story: Story,
    end: FunctionEnd,
    variables: Vec<(&'static str, String)>,
) -> Option<Host> {
    let gate = ChunkGate::default();
    let timeout = match end {
        FunctionEnd::Death => 60,
        FunctionEnd::Deadline => 5,
    };
    let options = Options {
        timeout: Duration::from_secs(timeout),
        concurrency: 16,
        model_timeout_s: 15,
        gate: Some(gate.clone()),
        variables,
        ..Options::default()
    };
    let host = Host::start(&format!("pages-{page}-{timeout}"), options, story).await;
    let mut node = Command::new("node");
    node.arg(Path::new(ROOT).join("tests/lambdasim/pages.mjs")).args([&host.url, page]);
    let mut script = Script(node.stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(script.0.stdout.take().unwrap()).lines();
    let Some(line) = lines.next() else {
        assert!(script.0.wait().unwrap().success(), "the page");
        return None;
    };
    assert_eq!(line.unwrap(), "half of a sentence");
    match end {
        FunctionEnd::Death => {
            let running = host.lambda.running_invocations();
            let is_asked = |path: &str| path == "/runs" || path == "/ai/chat";
            let mut drivers = running
                .iter()
                .filter(|invocation| invocation.payload["rawPath"].as_str().is_some_and(is_asked));
            host.lambda.kill(drivers.next().expect("a function answers").pid);
        }
        // Another function repeats the call.
        FunctionEnd::Deadline => drop(host.model.wait_for_request(2).await),
    }
    gate.open();
    assert!(script.0.wait().unwrap().success(), "the page");
    assert!(host.asked("t1") >= 2, "the call was repeated");
    Some(host)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the built functions: cargo verify --only lambdasim"]
async fn page_shows_the_whole_answer_after_its_function_ends_in_mid_sentence() {
    let layer = build_layer(Path::new(ROOT));
    // The layer is a copy of this folder.
    let built = Path::new(ROOT).join("target/web");
    let page = layer.as_ref().map_or(built, |layer| layer.path().join("page"));
    for (end, died) in [(FunctionEnd::Death, 1), (FunctionEnd::Deadline, 0)] {
        let story = Story::parts(0, Duration::ZERO);
        let host = ask_in_browser("djinn", story, end, vec![page_variable(&page)]).await;
        let Some(host) = host else { return };
        assert_eq!(host.with_outcome(InvocationOutcome::Died), died);
        assert_eq!(host.with_outcome(InvocationOutcome::TimedOut), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the built functions: cargo verify --only lambdasim"]
async fn use_chat_survives_the_death_of_its_function_in_mid_sentence_and_approves_a_call() {
    let requests = ("DJINN_PEOPLE__REQUESTS", json!({"enabled": true, "timeout": 0}).to_string());
    let story = Story::parts(1, Duration::ZERO);
    let host = ask_in_browser("use-chat", story, FunctionEnd::Death, vec![requests]).await;
    let Some(host) = host else { return };
    assert_eq!(host.asked("t2"), 1);
}

#[tokio::test]
#[ignore = "needs the built functions: cargo verify --only lambdasim"]
async fn layer_that_was_built_without_the_page_says_how_to_build_it() {
    let folder = tempfile::tempdir().unwrap();
    let Some(layer) = build_layer(folder.path()) else {
        // The test harness hides what `eprintln!` prints.
        let sentence =
            "*** SKIPPED: the Makefile of the page's layer is not tested without `make`. ***";
        let _ = writeln!(std::io::stderr(), "{sentence}");
        return;
    };
    let variables = vec![page_variable(&layer.path().join("page"))];
    let options = Options { variables, ..Options::default() };
    let host = Host::start("pages-none", options, Story::parts(0, Duration::ZERO)).await;
    let response = reqwest::get(format!("{}/", host.url)).await.unwrap();
    let text = response.error_for_status().unwrap().text().await.unwrap();
    assert!(text.contains("Run cargo xtask page before sam build"), "{text}");
}
