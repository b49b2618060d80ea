//! The built functions at the Runtime API of `cargo lambda watch`, and a client for them.
//!
//! The host is told to leave the starting to us: it would build each function anew, with the features
//! of that function alone.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use djinn_local::{ALARM_EVERY, Backing, BackingOptions};
use reqwest::{Client, Response};
use serde_json::{Value, json};

/// The functions of a deployment, by their names.
const FUNCTIONS: [&str; 2] = ["agent", "executor"];

/// What a test has otherwise than others.
pub(crate) struct Options {
    /// How many processes of each function there are.
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
    processes: Vec<Child>,
}

impl Host {
    /// Starts everything over `dir` and waits until it listens.
    pub(crate) async fn start(dir: &Path) -> Self {
        Self::start_with(dir, Options::default()).await
    }

    /// The same as `start`, with settings of the test.
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
        let mut host = Command::new("cargo-lambda");
        host.args(["lambda", "watch", "--only-lambda-apis", "--disable-cors"]).args([
            "--invoke-address",
            "127.0.0.1",
            "--invoke-port",
            &port.to_string(),
        ]);
        let mut processes = vec![start(&mut host)];
        let http = Client::builder().connect_timeout(Duration::from_secs(5)).build().unwrap();
        // It tries the port before it listens there, and breaks off whoever has connected by then: it is there
        // once it has answered.
        let answers = async || {
            let told = format!("{url}/.rt/nobody/2018-06-01/runtime/init/error");
            http.post(told).body("{}").send().await.is_ok()
        };
        while !answers().await {
            tokio::task::yield_now().await;
        }
        for name in FUNCTIONS {
            let mut function = Command::new(binary(name));
            function
                .envs(backing.variables())
                .envs(&own)
                .env("AWS_LAMBDA_RUNTIME_API", format!("http://127.0.0.1:{port}/.rt/{name}"))
                .env("AWS_LAMBDA_FUNCTION_NAME", name)
                .env("AWS_LAMBDA_FUNCTION_VERSION", "1")
                .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "1024");
            processes.extend((0..concurrency).map(|_| start(&mut function)));
        }
        Self { backing, http, url, processes }
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
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn start(command: &mut Command) -> Child {
    command.spawn().expect("run `cargo verify --only watch`, which builds and installs it")
}

/// A built function, beside the directory of this test's own program.
fn binary(name: &str) -> PathBuf {
    let this = std::env::current_exe().unwrap();
    this.parent().unwrap().parent().unwrap().join(name)
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
