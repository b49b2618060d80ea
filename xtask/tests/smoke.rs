//! `cargo xtask smoke` against a real `cargo dev`, directly and behind proxies that break one thing each.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;

use djinn_scripted::ScriptedModel;
use serde_json::json;

/// The commands over a home of their own, without a model.
fn command(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap())
        .stdin(Stdio::null())
        .env("DJINN_HOME", home)
        // No build of the page beside the system.
        .env("DJINN_PAGE", home);
    for name in ["DJINN_KEY", "DJINN_MODELS", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"] {
        command.env_remove(name);
    }
    command
}

/// A `cargo dev` that ends with the test.
struct DevServer {
    process: Child,
    home: tempfile::TempDir,
    url: String,
}

impl DevServer {
    fn start(variables: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut dev = command(home.path());
        dev.args(["dev", "--port", "0"]).envs(variables.iter().copied());
        let mut process = dev.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("Djinn listens on ").unwrap().to_owned();
        thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
        Self { process, home, url }
    }

    /// Runs the checks against a URL. Returns the output, and true if all checks passed.
    fn smoke(&self, url: &str, options: &[&str]) -> (bool, String) {
        smoke(self.home.path(), url, options)
    }
}

impl Drop for DevServer {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn smoke(home: &Path, url: &str, options: &[&str]) -> (bool, String) {
    let output = command(home).args(["smoke", url]).args(options).output().unwrap();
    (output.status.success(), String::from_utf8(output.stdout).unwrap())
}

/// Returns the response for the head of a request, instead of the server's.
type FixedResponse = fn(&str) -> Option<&'static str>;

/// A server in front of `cargo dev`.
#[derive(Clone)]
struct Proxy {
    /// Changes the head of a request.
    request: fn(&str) -> String,
    /// Returns the response for a request, instead of the server's.
    response: FixedResponse,
    /// Changes a complete body before it is sent; `None` passes each piece on as it arrives.
    body: Option<fn(&str, String) -> String>,
}

/// A proxy that changes nothing.
const PASS: Proxy = Proxy { request: str::to_owned, response: |_| None, body: None };

impl Proxy {
    /// Starts the proxy. Returns its URL.
    fn start(self, server: &str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = Arc::<str>::from(server.strip_prefix("http://").unwrap());
        thread::spawn(move || {
            for client in listener.incoming() {
                let (proxy, server) = (self.clone(), Arc::clone(&server));
                // A client that is gone ends the connection.
                thread::spawn(move || proxy.serve(client?, &server));
            }
        });
        url
    }

    fn serve(&self, mut client: TcpStream, server: &str) -> std::io::Result<()> {
        let mut reader = BufReader::new(client.try_clone()?);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        reader.read_exact(&mut body)?;
        if let Some(response) = (self.response)(&head) {
            return client.write_all(response.as_bytes());
        }
        // A response to HTTP/1.0 has no chunks, and ends with the connection.
        let head = (self.request)(&head).replacen(" HTTP/1.1\r\n", " HTTP/1.0\r\n", 1);
        let mut upstream = TcpStream::connect(server)?;
        upstream.write_all(&[head.as_bytes(), &body].concat())?;
        let Some(change) = self.body else {
            return std::io::copy(&mut upstream, &mut client).map(|_| ());
        };
        let mut response = Vec::new();
        upstream.read_to_end(&mut response)?;
        let response = String::from_utf8(response).unwrap();
        client.write_all(change(&head, response).as_bytes())
    }
}

/// Removes the header with the cursor.
fn without_cursor(head: &str) -> String {
    let lines = head.split_inclusive("\r\n").filter(|line| !line.starts_with("last-event-id"));
    lines.collect()
}

/// Removes an event from a resumed stream.
fn without_message(head: &str, response: String) -> String {
    if head.contains("last-event-id") {
        let frames = response.split_inclusive("\n\n");
        frames.filter(|frame| !frame.contains("event: message.completed")).collect()
    } else {
        response
    }
}

/// A response with this status line and body.
macro_rules! response {
    ($status:literal, $body:literal) => {
        Some(concat!("HTTP/1.1 ", $status, "\r\nconnection: close\r\n\r\n", $body))
    };
}

/// Returns the line of a failed check with the next line.
#[track_caller]
fn find_failure<'a>(shown: &'a str, check: &str) -> &'a str {
    let start =
        shown.find(&format!("FAILED  {check}")).unwrap_or_else(|| panic!("{check}: {shown}"));
    let lines = shown[start..].split_inclusive('\n').take(2).map(str::len).sum::<usize>();
    &shown[start..start + lines]
}

/// Asserts that exactly these checks fail, and that the first one names its fault and a place to look at.
#[track_caller]
fn assert_fails((has_passed, shown): &(bool, String), checks: &[&str], parts: &[&str]) {
    assert!(!has_passed, "{shown}");
    let failed: Vec<_> = shown
        .lines()
        .filter_map(|line| line.strip_prefix("FAILED  ")?.split_whitespace().next())
        .collect();
    assert_eq!(failed, checks, "{shown}");
    let failure = find_failure(shown, checks[0]);
    for part in parts {
        assert!(failure.contains(part), "no `{part}`: {shown}");
    }
    assert!(shown.contains(&format!("{} of 6 checks failed", checks.len())), "{shown}");
}

#[track_caller]
fn assert_passes((has_passed, shown): &(bool, String)) {
    assert!(has_passed, "{shown}");
    let checks: Vec<_> = shown
        .lines()
        .filter_map(|line| line.strip_prefix("ok      ")?.split_whitespace().next())
        .collect();
    assert_eq!(checks, ALL, "{shown}");
}

const ALL: [&str; 6] = ["health", "question", "stream", "resume", "file", "deletion"];

#[test]
fn every_check_passes_against_a_real_system_and_leaves_nothing() {
    let server = DevServer::start(&[]);
    let result = server.smoke(&format!("{}/", server.url), &[]);
    assert_passes(&result);
    for part in [
        "`ok` after ",
        "1 model call, ",
        " late on average",
        "none lost, none twice",
        " downloaded by link",
    ] {
        assert!(result.1.contains(part), "no `{part}`: {}", result.1);
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let sessions = runtime.block_on(async {
        reqwest::get(format!("{}/sessions", server.url)).await.unwrap().text().await.unwrap()
    });
    assert!(sessions.contains("\"sessions\":[]"), "{sessions}");
    assert_passes(&server.smoke(&PASS.start(&server.url), &[]));
}

#[test]
fn a_broken_stream_is_named() {
    let server = DevServer::start(&[]);
    let buffering = Proxy { body: Some(|_, response| response), ..PASS }.start(&server.url);
    let parts = ["the stream is buffered: ", "RESPONSE_STREAM"];
    assert_fails(&server.smoke(&buffering, &[]), &["stream"], &parts);
    let emulated = server.smoke(&server.url, &["--emulator", &buffering]);
    assert_passes(&emulated);
    assert!(emulated.1.contains("BUFFERED, as expected of an emulator"), "{}", emulated.1);

    let forgetful = Proxy { request: without_cursor, ..PASS }.start(&server.url);
    let parts = [" sent start twice", "the header Last-Event-ID"];
    assert_fails(&server.smoke(&forgetful, &[]), &["resume"], &parts);

    let losing = Proxy { body: Some(without_message), ..PASS }.start(&server.url);
    let parts = [" lost t1\n", "the header Last-Event-ID"];
    assert_fails(&server.smoke(&losing, &["--emulator", &losing]), &["resume"], &parts);
}

#[test]
fn another_server_is_named() {
    let server = DevServer::start(&[]);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let nowhere = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    assert_fails(&server.smoke(&nowhere, &[]), &ALL, &["refused", "is `cargo dev` running"]);

    let responses: [(FixedResponse, &[&str]); 4] = [
        (
            |_| response!("200 OK", "<!DOCTYPE html><title>A site</title>"),
            &["an HTML page", "the URL"],
        ),
        (
            |_| response!("404 Not Found", "<html>No</html>"),
            &["404 Not Found with an HTML", "the URL"],
        ),
        (
            |_| response!("403 Forbidden", "{\"Message\":\"Forbidden\"}"),
            &["403 Forbidden", "--sign", "lambda:InvokeFunctionUrl"],
        ),
        (
            |_| response!("502 Bad Gateway", "{\"Message\":\"Internal Server Error\"}"),
            &["502 Bad Gateway", "AgentLogs"],
        ),
    ];
    for (response, parts) in responses {
        let other = Proxy { response, ..PASS }.start(&server.url);
        assert_fails(&server.smoke(&other, &[]), &ALL, parts);
    }

    let without_files = |head: &str| {
        let is_link = head.starts_with("GET /v1/file_tool/");
        if is_link { response!("403 Forbidden", "{\"Message\":\"Forbidden\"}") } else { None }
    };
    let closed_links = Proxy { response: without_files, ..PASS }.start(&server.url);
    let parts = ["the download by link: ", "403 Forbidden"];
    assert_fails(&server.smoke(&closed_links, &[]), &["file"], &parts);
}

#[test]
fn a_key_is_required_where_the_system_requires_one() {
    let home = tempfile::tempdir().unwrap();
    let make_key = |user: &str| {
        let output =
            command(home.path()).args(["key", "--tenant", "acme", "--user", user]).output();
        let shown = String::from_utf8(output.unwrap().stdout).unwrap();
        let find = |start: &str| {
            let line = shown.lines().map(str::trim).find(|line| line.starts_with(start));
            line.unwrap().to_owned()
        };
        (find("djinn_"), find("{"))
    };
    let (key, line) = make_key("anna");
    let (other_key, _) = make_key("eve");
    let keys = [("DJINN_AUTH", "key"), ("DJINN_API_KEYS", &format!("[{line}]"))];
    let server = DevServer::start(&keys);
    assert_passes(&server.smoke(&server.url, &["--token", &key]));

    let without_health = &ALL[1..];
    let parts = ["Credentials are missing", "the option --token (or DJINN_KEY)"];
    assert_fails(&server.smoke(&server.url, &[]), without_health, &parts);
    let parts = ["The key or token is rejected", "ApiKeys"];
    assert_fails(&server.smoke(&server.url, &["--token", &other_key]), without_health, &parts);
    assert_fails(&server.smoke(&server.url, &["--token", "a.b.c"]), without_health, &parts);
}

#[test]
fn a_failed_run_and_a_model_that_calls_tools_are_explained() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let model = runtime.block_on(ScriptedModel::start()).unwrap();
    let variables = [("OPENAI_API_KEY", "key"), ("OPENAI_BASE_URL", &model.base_url())];
    let server = DevServer::start(&variables);

    let body =
        json!({"error": {"code": "invalid_api_key", "message": "Incorrect API key provided."}});
    model.on("Count from one to thirty").status_body(401, body);
    let parts = ["The model provider rejected the API key", "the secret in the model's `key`"];
    let without_answer = ["question", "stream", "resume"];
    assert_fails(&server.smoke(&server.url, &[]), &without_answer, &parts);

    let rule = model.on("Count from one to thirty").call("file_tool", json!({"command": "list"}));
    let _held = rule.then().reply("one").gate(0);
    let result = server.smoke(&server.url, &[]);
    let parts = ["the model calls the tool `file_tool` instead of answering", "AgentLogs"];
    assert_fails(&result, &without_answer, &parts);
}
