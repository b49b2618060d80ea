//! The functions under `cargo lambda watch`, and a client for them.

use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use djinn_local::{ALARM_EVERY, Backing, BackingOptions};
use reqwest::{Client, Response};
use serde_json::{Value, json};

/// What a test has otherwise than others.
pub(crate) struct Options {
    /// How many processes of each function there are at most.
    pub(crate) concurrency: usize,
    /// Variables of the functions and of what is around them.
    pub(crate) variables: Vec<(&'static str, String)>,
    /// How often the alarm of a run rings.
    pub(crate) alarm_every: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { concurrency: 2, variables: Vec::new(), alarm_every: ALARM_EVERY }
    }
}

/// The host and what the functions need around them. Everything dies with it, as if by `kill -9`.
pub(crate) struct Host {
    pub(crate) backing: Backing,
    pub(crate) http: Client,
    url: String,
    process: Child,
}

impl Host {
    /// Starts everything over `dir` and waits until it listens. The functions are built when they
    /// are first invoked.
    pub(crate) async fn start(dir: &Path) -> Self {
        Self::start_with(dir, Options::default()).await
    }

    /// The same, otherwise.
    pub(crate) async fn start_with(dir: &Path, options: Options) -> Self {
        let port = free_port();
        let url = format!("http://127.0.0.1:{port}");
        let Options { concurrency, variables, alarm_every } = options;
        let own: BTreeMap<_, _> = variables.into_iter().collect();
        let known = own.clone();
        let options = BackingOptions {
            dir: Some(dir.to_owned()),
            var: Box::new(move |name| known.get(name).cloned()),
            alarm_every,
            ..BackingOptions::new(&url)
        };
        let backing = Backing::start(options).await.unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let process = Command::new("cargo-lambda")
            .current_dir(root)
            .args(["lambda", "watch", "--ignore-changes", "--disable-cors"])
            .args(["--concurrency", &concurrency.to_string()])
            .args(["--invoke-address", "127.0.0.1", "--invoke-port", &port.to_string()])
            .envs(backing.variables())
            .envs(own)
            .process_group(0)
            .spawn()
            .expect("cargo-lambda must be on the PATH: run `cargo verify --only watch`");
        let http = Client::builder().connect_timeout(Duration::from_secs(5)).build().unwrap();
        let host = Self { backing, http, url, process };
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            tokio::task::yield_now().await;
        }
        host
    }

    /// Puts a file into a session.
    pub(crate) async fn upload(&self, session: &str, name: &str, content: &str) {
        let body = json!({"requestId": session, "fileName": name, "content": content});
        let url = format!("{}/v1/file_tool/upload_file", self.backing.agent_url());
        let answer = self.http.post(url).json(&body).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{}", answer.text().await.unwrap());
    }

    /// Asks through the function URL, which makes a v2 event of the request.
    pub(crate) async fn ask(&self, question: &Value) -> Response {
        let url = format!("{}/runs", self.backing.agent_url());
        let request = self.http.post(url).header("accept", "text/event-stream").json(question);
        request.send().await.unwrap()
    }

    /// Asks with the v1 event that a REST API with a stage makes of a request.
    pub(crate) async fn ask_by_v1_event(&self, question: &Value) -> Response {
        let event = json!({
            "resource": "/{proxy+}", "path": "/runs", "httpMethod": "POST",
            "headers": {"accept": "text/event-stream", "content-type": "application/json"},
            "multiValueHeaders": {},
            "queryStringParameters": null, "pathParameters": null, "stageVariables": null,
            "requestContext": {"resourceId": "r", "resourcePath": "/{proxy+}", "stage": "dev",
                "httpMethod": "POST", "path": "/dev/runs", "requestId": "1", "apiId": "a",
                "identity": {"sourceIp": "127.0.0.1"}},
            "body": question.to_string(), "isBase64Encoded": false,
        });
        let url = format!("{}/2015-03-31/functions/agent/invocations", self.url);
        self.http.post(url).json(&event).send().await.unwrap()
    }

    /// The processes of a function under this host.
    #[cfg(target_os = "linux")]
    pub(crate) fn processes(&self, function: &str) -> Vec<crate::process::Process> {
        let host = self.url.trim_start_matches("http://");
        crate::process::of(function, host)
    }

    /// A file of a session.
    pub(crate) async fn download(&self, session: &str, name: &str) -> String {
        let url = format!("{}/v1/file_tool/download/{session}/{name}", self.backing.agent_url());
        self.http.get(url).send().await.unwrap().text().await.unwrap()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let group = format!("-{}", self.process.id());
        let _ = Command::new("kill").args(["-9", "--", &group]).status();
        let _ = self.process.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
