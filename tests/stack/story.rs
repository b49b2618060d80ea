//! One story on the stack that `cargo verify --only stack` has deployed to the emulator of AWS.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use djinn_scripted::{RecordedRequest, Rule, Script, ScriptedModel};
use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::world::{Client, Frame, Protocol, Question, Site, Stream};

/// Maximum wait for anything that a story waits for: a lease lapses after 15 s.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The deployed stack during one story.
pub(crate) struct Story {
    /// A client with an API key.
    pub(crate) user: Client,
    /// A client without credentials.
    pub(crate) anyone: Client,
    pub(crate) model: ScriptedModel,
    /// The name of a new session.
    pub(crate) session: String,
    /// The content of `stack.json`; see infra/stack/deploy.py.
    stack: Value,
    /// The folder of the emulator; see infra/stack/emulator.py.
    folder: PathBuf,
    /// The number of IAM decisions before the story.
    earlier_decisions: usize,
}

impl Story {
    /// Prints the story's name, and starts the model of the deployment.
    #[allow(clippy::print_stdout, reason = "`cargo verify` shows the names of the stories")]
    pub(crate) async fn open(name: &str) -> Self {
        println!("    story: {name}");
        #[allow(clippy::disallowed_methods, reason = "a variable of `cargo verify`")]
        let folder = std::env::var_os("DJINN_STACK").expect("run `cargo verify --only stack`");
        let folder = PathBuf::from(folder);
        let stack = fs::read_to_string(folder.join("stack.json")).unwrap();
        let stack: Value = serde_json::from_str(&stack).unwrap();
        let model =
            TcpListener::bind(("127.0.0.1", read_port(&stack, "model_port"))).await.unwrap();
        let key = stack["key"].as_str().unwrap().parse().unwrap();
        let key = HeaderMap::from_iter([("x-api-key".parse().unwrap(), key)]);
        let earlier_decisions = read_lines(&folder.join("decisions.jsonl")).len();
        Self {
            user: open_client(&stack, key),
            anyone: open_client(&stack, HeaderMap::new()),
            model: ScriptedModel::serve(model, Script::default()).unwrap(),
            // Each story has decisions, so the number is new.
            session: format!("story-{earlier_decisions}"),
            earlier_decisions,
            stack,
            folder,
        }
    }

    /// Starts the web site that the gateway may read.
    pub(crate) async fn start_site(&self) -> Site {
        Site::start_at(read_port(&self.stack, "site_port")).await
    }

    /// Fails if a role was denied something during the story, or if the model expected more requests.
    pub(crate) fn close(self) {
        let decisions = read_lines(&self.folder.join("decisions.jsonl"))
            .into_iter()
            .skip(self.earlier_decisions);
        let is_denial = |it: &Value| it["allowed"] == false && !it["role"].is_null();
        let denials: Vec<Value> = decisions.filter(is_denial).collect();
        assert!(denials.is_empty(), "denied: {denials:#?}");
        self.model.assert_done();
    }

    /// The model requests of the run with this path; empty for the root.
    #[track_caller]
    pub(crate) fn at(&self, path: &'static str) -> Rule {
        self.model.on_request(move |request| path_of(request).is_some_and(|it| it == path))
    }

    /// A question in the session.
    pub(crate) fn question(&self, text: &str) -> Question {
        Question::of(text, &self.session)
    }

    /// Announces a file of this size. Returns the request for the upload: `url` and `headers`.
    pub(crate) async fn announce_file(&self, name: &str, size: usize) -> Value {
        let path = format!("/sessions/{}/files", self.session);
        let announced = self.user.post(&path, &json!({"name": name, "size": size})).await;
        assert_eq!(announced.status, 202, "{}", announced.text);
        announced.json()["upload"].clone()
    }

    /// The names of the session's files; none before the first, because the session does not exist.
    pub(crate) async fn list_files(&self) -> Vec<String> {
        let listed = self.user.get(&format!("/sessions/{}/files", self.session)).await;
        if listed.status == 404 {
            return Vec::new();
        }
        assert_eq!(listed.status, 200, "{}", listed.text);
        let listed = listed.json();
        let files = listed["files"].as_array().unwrap();
        files.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Uploads to a presigned URL, without credentials. Returns the status.
    pub(crate) async fn put(&self, url: &str, headers: &Value, content: String) -> u16 {
        let mut request = self.anyone.http.put(url).body(content);
        for (name, value) in headers.as_object().unwrap() {
            if name != "content-length" {
                request = request.header(name, value.as_str().unwrap());
            }
        }
        request.send().await.unwrap().status().as_u16()
    }

    /// The URL with which a test reaches the same place as a caller with `url` on AWS.
    pub(crate) fn local_url(&self, url: &str) -> String {
        let path = url.strip_prefix(self.output("Url")).expect("a URL of the agent");
        format!("{}/{path}", self.user.url)
    }

    /// Asks as the user and follows the run to its end.
    pub(crate) async fn ask(&self, question: &Question) -> Vec<Frame> {
        let stream = self.user.ask(Protocol::Native, question).await;
        self.follow_run(stream).await
    }

    /// Reads a stream, and the further streams of its run, up to the run's end. Returns the frames of the
    /// last stream.
    pub(crate) async fn follow_run(&self, stream: Stream) -> Vec<Frame> {
        let run = stream.run();
        let status = stream.status;
        if status != 200 {
            panic!("{status}: {}", stream.body().await);
        }
        let mut frames = stream.rest().await;
        while frames.last().is_some_and(Frame::is_hand_over) {
            frames = self.user.come_back(&run, None).await.rest().await;
        }
        assert!(frames.last().is_some_and(Frame::is_final), "{frames:#?}");
        frames
    }

    /// Waits until a run has this status, without following the run.
    pub(crate) async fn wait_for_status(&self, run: &str, status: &str) {
        let path = format!("/runs/{run}");
        let wait = async {
            while self.user.get(&path).await.json()["status"] != status {
                tokio::task::yield_now().await;
            }
        };
        let is_reached = tokio::time::timeout(PATIENCE, wait).await.is_ok();
        assert!(is_reached, "{}", self.user.get(&path).await.text);
    }

    /// Waits until the stack has this number of schedules: alarms of runs at work, and timers of paused runs.
    pub(crate) async fn wait_for_schedules(&self, count: usize) {
        let wait = async {
            while self.schedules().await.len() != count {
                tokio::task::yield_now().await;
            }
        };
        let is_reached = tokio::time::timeout(PATIENCE, wait).await.is_ok();
        assert!(is_reached, "{:?}", self.schedules().await);
    }

    async fn schedules(&self) -> Vec<Value> {
        let list = self.call("scheduler", "ListSchedules", &json!({})).await;
        list["Schedules"].as_array().unwrap().clone()
    }

    /// Makes every schedule due at once. EventBridge Scheduler then invokes the schedules' own targets.
    pub(crate) async fn ring_alarms(&self) {
        self.command("alarms", &Value::Null).await;
    }

    /// The process ids of a function's environments that are still alive.
    pub(crate) fn processes(&self, function: &str) -> Vec<u64> {
        let function = format!("djinn-{function}");
        let started = read_lines(&self.folder.join("processes.jsonl"));
        let ids = started.iter().filter(|it| it["function"] == function);
        let ids = ids.filter_map(|it| it["process"].as_u64());
        ids.filter(|id| Path::new(&format!("/proc/{id}/exe")).exists()).collect()
    }

    /// Kills every environment of a function.
    pub(crate) fn kill_processes(&self, function: &str) {
        for process in self.processes(function) {
            let killed = Command::new("kill").args(["-9", &process.to_string()]).status().unwrap();
            assert!(killed.success());
        }
    }

    /// Waits for a failed invocation of the executor, in the queue `Undelivered`.
    pub(crate) async fn receive_undelivered(&self) -> Value {
        let queue =
            json!({"QueueUrl": self.stack["resources"]["Undelivered"], "WaitTimeSeconds": 20});
        let received = self.call("sqs", "ReceiveMessage", &queue).await;
        serde_json::from_str(received["Messages"][0]["Body"].as_str().unwrap()).unwrap()
    }

    /// The keys of all objects of tenants in the bucket.
    pub(crate) async fn objects(&self) -> Vec<String> {
        let request = json!({"Bucket": self.output("BucketName"), "Prefix": "tenants/"});
        let list = self.call("s3", "ListObjectsV2", &request).await;
        let objects = list["Contents"].as_array().cloned().unwrap_or_default();
        objects.iter().map(|it| it["Key"].as_str().unwrap().to_owned()).collect()
    }

    /// Sends a request to an AWS service as the account's root. Returns the response.
    async fn call(&self, service: &str, operation: &str, parameters: &Value) -> Value {
        let call = json!({"service": service, "operation": operation, "parameters": parameters});
        self.command("call", &call).await
    }

    /// Sends a command to the emulator; see infra/stack/emulator.py.
    async fn command(&self, command: &str, body: &Value) -> Value {
        let url = format!("{}/_stack/{command}", self.stack["endpoint"].as_str().unwrap());
        let response = self.anyone.http.post(url).json(body).send().await.unwrap();
        let is_success = response.status().is_success();
        let text = response.text().await.unwrap();
        assert!(is_success, "{body}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// The value of a CloudFormation output.
    fn output(&self, name: &str) -> &str {
        self.stack["outputs"][name].as_str().unwrap()
    }
}

/// Returns a client of the function URL, which the emulator serves under the URL's own host name.
fn open_client(stack: &Value, headers: HeaderMap) -> Client {
    let emulator = stack["endpoint"].as_str().unwrap().strip_prefix("http://").unwrap();
    let emulator: SocketAddr = emulator.parse().unwrap();
    let url = stack["outputs"]["Url"].as_str().unwrap();
    let host = url.strip_prefix("https://").unwrap().trim_end_matches('/');
    let http = reqwest::Client::builder().default_headers(headers).redirect(Policy::none());
    let http = http.resolve(host, emulator).build().unwrap();
    Client { http, url: format!("http://{host}:{}", emulator.port()) }
}

/// The path in the name of a model request, `<run>/<path>.<message>/<attempt>`.
fn path_of(request: &RecordedRequest) -> Option<&str> {
    let message = request.header("djinn-call")?.split('/').nth(1)?;
    Some(message.rsplit_once('.').map_or("", |(path, _)| path))
}

fn read_port(stack: &Value, name: &str) -> u16 {
    stack[name].as_u64().unwrap().try_into().unwrap()
}

/// The JSON values of a file, one a line. The last line may be incomplete.
fn read_lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
