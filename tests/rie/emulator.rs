//! AWS's runtime interface emulator around a built function. It does not stream: a streamed answer
//! comes when it is whole.

use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use djinn_local::Backing;
use reqwest::Client;
use serde_json::Value;

/// A function that waits for events. It dies with this, as if by `kill -9`.
pub(crate) struct Emulator {
    http: Client,
    host: String,
    log: PathBuf,
    process: Child,
}

/// A streamed answer, read to its end.
pub(crate) struct Answer {
    /// What stands before the body of a streamed answer: status and headers.
    pub(crate) prelude: Value,
    /// The bytes behind the prelude, as text.
    pub(crate) body: String,
}

impl Emulator {
    /// Starts a built function whose invocations last as long as the template says, and waits until
    /// events are taken. What it logs goes into `dir`.
    pub(crate) fn start(function: &str, backing: &Backing, dir: &Path) -> Self {
        Self::start_for(900, function, backing, dir)
    }

    /// The same, with invocations of so many seconds.
    pub(crate) fn start_for(seconds: u32, function: &str, backing: &Backing, dir: &Path) -> Self {
        let port = free_port();
        let log = dir.join(function);
        let to_log = || Stdio::from(File::options().create(true).append(true).open(&log).unwrap());
        let process = Command::new(told("DJINN_RIE"))
            .args(["--runtime-interface-emulator-address", &format!("127.0.0.1:{port}")])
            .args(["--runtime-api-address", &format!("127.0.0.1:{}", free_port())])
            .arg(built(function))
            .envs(backing.variables())
            .env("AWS_LAMBDA_FUNCTION_TIMEOUT", seconds.to_string())
            .stdout(to_log())
            .stderr(to_log())
            .process_group(0)
            .spawn()
            .unwrap();
        let http = Client::builder().timeout(Duration::from_secs(60)).build().unwrap();
        let emulator = Self { http, host: format!("http://127.0.0.1:{port}"), log, process };
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            std::thread::yield_now();
        }
        emulator
    }

    /// What an event is answered.
    pub(crate) async fn invoke(&self, event: &Value) -> String {
        let url = format!("{}/2015-03-31/functions/function/invocations", self.host);
        let answer = self.http.post(url).json(event).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        answer.text().await.unwrap()
    }

    /// What a request is answered. The emulator leaves the prelude of a streamed answer in front of
    /// it, with the eight zeros in between; a function URL and API Gateway take both off.
    pub(crate) async fn ask(&self, event: &Value) -> Answer {
        let answer = self.invoke(event).await;
        let (prelude, body) = answer.split_once(&"\0".repeat(8)).unwrap();
        Answer { prelude: serde_json::from_str(prelude).unwrap(), body: body.to_owned() }
    }

    /// Whether it knows the address at which Lambda streams answers.
    pub(crate) async fn streams(&self) -> bool {
        let path = "2021-11-15/functions/function/response-streaming-invocations";
        let url = format!("{}/{path}", self.host);
        self.http.post(url).body("{}").send().await.unwrap().status() != 404
    }

    /// What the function has logged so far, between the emulator's own lines.
    pub(crate) fn logged(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let group = format!("-{}", self.process.id());
        let _ = Command::new("kill").args(["-9", "--", &group]).status();
        let _ = self.process.wait();
    }
}

/// The path of a built function.
pub(crate) fn built(function: &str) -> PathBuf {
    Path::new(&told("DJINN_BUILT")).join(function)
}

/// What `cargo verify --only bootstrap` tells us.
fn told(variable: &str) -> String {
    #[allow(clippy::disallowed_methods, reason = "there is no other way to be told")]
    std::env::var(variable).expect("run it by `cargo verify --only bootstrap`")
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
