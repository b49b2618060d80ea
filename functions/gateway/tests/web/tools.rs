use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use djinn_aws::{Aws, Settings};
use djinn_outside::{HttpTool, ToolProblem, ToolProblemCode};
use djinn_runtime::port::outside::{Outside, ToolAnswer, ToolJob};
use djinn_runtime::port::secret::{Secret, SecretError, Secrets};
use djinn_wiring::{ConfigurationFolder, Variables};
use gateway::{GatewaySettings, LocalGateway};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::context;
use crate::site::{RawAnswer, SentRequest, Site, answer, answer_with, redirect};

pub(crate) const CANARY: &str = "canary-key-0123";

/// Everything that this process logs.
pub(crate) static LOG: LazyLock<Log> = LazyLock::new(|| {
    let log = Log::default();
    let writer = log.clone();
    djinn_runtime::telemetry::init(Some("info,gateway=trace,djinn_egress=trace"), move || {
        writer.clone()
    });
    log
});

#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// Secrets of a test, by name.
#[derive(Clone, Default)]
pub(crate) struct StoredKeys(Arc<Mutex<BTreeMap<&'static str, &'static str>>>);

impl StoredKeys {
    pub(crate) fn set(&self, name: &'static str, key: &'static str) {
        self.0.lock().unwrap().insert(name, key);
    }
}

impl Secrets for StoredKeys {
    async fn read_secret(&self, name: &str) -> Result<Secret, SecretError> {
        let key = self.0.lock().unwrap().get(name).copied();
        key.map(Secret::new).ok_or_else(|| SecretError::Missing(format!("there is no `{name}`")))
    }
}

/// A gateway over a configuration folder, whose changes count at once.
pub(crate) struct ToolGateway {
    pub(crate) folder: TempDir,
    pub(crate) gateway: LocalGateway<StoredKeys>,
    pub(crate) keys: StoredKeys,
}

impl ToolGateway {
    pub(crate) fn start(sites: &[&Site]) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().to_str().unwrap().to_owned();
        let origins: Vec<_> = sites.iter().map(|site| site.origin()).collect();
        let origins = origins.join(",");
        let variables: Variables = Arc::new(move |name| match name {
            "DJINN_CONFIG" => Some(path.clone()),
            "DJINN_LOCAL" if !origins.is_empty() => Some("1".to_owned()),
            "DJINN_EGRESS_ORIGINS" => Some(origins.clone()),
            "TOOL_KEY_LAPTOP" => Some("laptop-key-4567".to_owned()),
            "DJINN_SEAL_KEY" => Some("secret:seal".to_owned()),
            _ => None,
        });
        let store = Aws::new(Settings::new("t", "b")).store();
        let config = ConfigurationFolder::open(&variables, &store).unwrap().unwrap();
        let settings = GatewaySettings::from_vars(&*variables).unwrap();
        let settings = settings.with_folder(config, Duration::ZERO);
        let keys = StoredKeys::default();
        keys.set("djinn/tools/weather", CANARY);
        let gateway = LocalGateway::new(settings, keys.clone()).unwrap();
        Self { folder, gateway, keys }
    }

    /// Writes the file of a tool, and returns its definition.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(format!("tools/{name}.toml"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        HttpTool::read(name, name, text).unwrap().sha256().to_owned()
    }

    async fn call(&self, definition: &str, arguments: Value, call: &str) -> ToolAnswer {
        let job = ToolJob {
            user_key: None,
            tool: "weather".to_owned(),
            definition: definition.to_owned(),
            arguments,
            idempotency_key: format!("run_1.{call}"),
        };
        self.gateway.call_tool(&context(), job).await.unwrap()
    }

    /// Writes a tool whose request is to this URL, and calls it.
    async fn call_url(&self, url: &str, result: &str) -> ToolAnswer {
        let definition = self.write("weather", &weather(url, result));
        self.call(&definition, json!({"city": "Bern"}), "t1.c1").await
    }
}

/// A tool that only reads, with the operator's key.
fn weather(url: &str, result: &str) -> String {
    format!(
        r#"
description = "Tells the weather."
trust = "all"
effect = "read"
[parameters]
type = "object"
properties.city.type = "string"
[request]
method = "GET"
url = "{url}"
query.q = "{{city}}"
headers.authorization = "Bearer {{key:weather}}"
[result]
{result}
"#
    )
}

pub(crate) fn problem(answer: &ToolAnswer) -> &ToolProblem {
    let ToolAnswer::Failed(problem) = answer else { panic!("{answer:?}") };
    problem
}

pub(crate) fn text(answer: &ToolAnswer) -> &str {
    let ToolAnswer::Done { text, .. } = answer else { panic!("{answer:?}") };
    text
}

fn has_canary(request: &SentRequest) -> bool {
    format!("{request:?}{}", String::from_utf8_lossy(&request.body)).contains(CANARY)
}

#[tokio::test]
async fn a_key_goes_to_its_server_alone_and_comes_back_in_no_answer() {
    let away = Site::start(|_| answer(200, "image/png", "png")).await;
    let file = away.url("/chart.png");
    let site = Site::start(move |request| {
        let seen = request.headers["authorization"].clone();
        let body = match request.target.split('?').next().unwrap() {
            "/error" => return answer(500, "application/json", format!("{{\"e\": \"{seen}\"}}")),
            "/text" => return answer(200, "text/plain", format!("You sent {seen}.")),
            "/file" => json!({"url": file, "seen": seen}),
            _ => json!({"seen": seen}),
        };
        answer(200, "application/json", body.to_string())
    })
    .await;
    LazyLock::force(&LOG);
    let tools = ToolGateway::start(&[&site, &away]);
    let answer = tools.call_url(&site.url("/echo"), "").await;
    assert_eq!(text(&answer), r#"{"seen":"Bearer ***"}"#);
    let answer = tools.call_url(&site.url("/text"), "").await;
    assert_eq!(text(&answer), "You sent Bearer ***.");
    let answer = tools.call_url(&site.url("/error"), "").await;
    assert_eq!(
        (problem(&answer).status, problem(&answer).detail.contains("***")),
        (Some(500), true)
    );
    assert!(!format!("{answer:?}").contains(CANARY));
    let answer = tools.call_url(&site.url("/file"), "file.url = \"/url\"").await;
    let ToolAnswer::Done { files, .. } = &answer else { panic!("{answer:?}") };
    let [file] = &**files else { panic!("{answer:?}") };
    assert_eq!(
        (file.content.as_slice(), file.media_type.as_deref()),
        (b"png".as_slice(), Some("image/png"))
    );
    assert!(site.requests().iter().all(has_canary) && site.requests().len() == 4);
    let [request] = &away.requests()[..] else { panic!("{:?}", away.requests()) };
    let log = LOG.text();
    assert!(log.contains("a tool was called") && !log.contains(CANARY), "{log}");
    assert!(
        !has_canary(request) && !request.headers.contains_key("idempotency-key"),
        "{request:?}"
    );
}

#[tokio::test]
async fn a_call_is_recognised_by_headers_without_ids_of_runs() {
    let site = Site::start(|_| answer(200, "application/json", "{}")).await;
    let tools = ToolGateway::start(&[&site]);
    let definition = tools.write("weather", &weather(&site.url("/"), ""));
    for call in ["t1.c1", "t1.c1", "t1.c2"] {
        tools.call(&definition, json!({"city": "Bern & Biel"}), call).await;
    }
    let requests = site.requests();
    let header = |nth: usize, name: &str| requests[nth].headers[name].clone();
    for name in ["idempotency-key", "traceparent"] {
        assert_eq!(header(0, name), header(1, name));
        assert_ne!(header(0, name), header(2, name));
    }
    assert_eq!(header(0, "idempotency-key").len(), 32);
    let trace: Vec<_> = requests[0].headers["traceparent"].split('-').map(str::len).collect();
    assert_eq!(trace, [2, 32, 16, 2]);
    assert_eq!(requests[0].target, "/?q=Bern%20%26%20Biel");
    // The ids of the session in `context`, and of the run.
    let words = format!("{:?}", requests[0]);
    assert!(!words.contains("run_1") && !words.contains("t1.c1"), "{words}");
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_a_key() {
    let away = Site::start(|_| answer(200, "application/json", "{}")).await;
    let to = away.url("/");
    let site = Site::start(move |_| redirect(&to)).await;
    let tools = ToolGateway::start(&[&site, &away]);
    let answer = tools.call_url(&site.url("/"), "").await;
    assert_eq!(
        (problem(&answer).code, problem(&answer).status),
        (ToolProblemCode::Redirect, Some(302))
    );
    assert!(away.requests().is_empty());
}

#[tokio::test]
async fn an_address_that_is_not_public_is_not_called_but_on_a_laptop() {
    let site = Site::start(|_| answer(200, "application/json", "{}")).await;
    let tools = ToolGateway::start(&[]);
    let port = site.url("").rsplit(':').next().unwrap().to_owned();
    for url in [
        site.url("/"),
        format!("http://localhost:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "http://10.0.0.1/".to_owned(),
        "http://2130706433/".to_owned(),
    ] {
        let answer = tools.call_url(&url, "").await;
        assert_eq!(problem(&answer).code, ToolProblemCode::Address, "{url}: {answer:?}");
    }
    assert!(site.requests().is_empty());
    let link = r#"{"url": "http://169.254.169.254/latest"}"#;
    let site = Site::start(move |_| answer(200, "application/json", link)).await;
    let tools = ToolGateway::start(&[&site]);
    let answer = tools.call_url(&site.url("/"), "file.url = \"/url\"").await;
    assert_eq!(problem(&answer).code, ToolProblemCode::BrokenFile, "{answer:?}");
}

/// The answer of a server that means harm.
fn harm(request: &SentRequest) -> RawAnswer {
    let json = |body: &str| answer(200, "application/json", body);
    match request.target.split('?').next().unwrap() {
        "/html" => answer(200, "text/html", "<h1>Welcome</h1>"),
        "/no-json" => json("{\"a\": "),
        "/missing" => json("{\"b\": 1}"),
        "/down" => answer(500, "application/json", r#"{"error": "down"}"#),
        "/endless" => answer_with(200, &[("content-type", "text/plain")], vec![b'a'; 21_000_000]),
        "/short" => {
            answer_with(200, &[("content-type", "text/plain"), ("content-length", "99")], "a")
        }
        "/coded" => answer_with(200, &[("content-encoding", "br")], "a"),
        "/no-gzip" => answer_with(200, &[("content-encoding", "gzip")], "no gzip"),
        "/no-http" => b"SSH-2.0-OpenSSH\r\n\r\n".to_vec(),
        "/closed" => Vec::new(),
        path => panic!("{path}"),
    }
}

#[tokio::test]
async fn a_hostile_answer_is_an_error_of_its_call_alone() {
    let site = Site::start(harm).await;
    let tools = ToolGateway::start(&[&site]);
    for (path, code) in [
        ("/html", ToolProblemCode::Unsupported),
        ("/no-json", ToolProblemCode::NotJson),
        ("/missing", ToolProblemCode::NoResult),
        ("/down", ToolProblemCode::Status),
        ("/endless", ToolProblemCode::TooLarge),
        ("/short", ToolProblemCode::Protocol),
        ("/coded", ToolProblemCode::Protocol),
        ("/no-gzip", ToolProblemCode::Protocol),
        ("/no-http", ToolProblemCode::Protocol),
        ("/closed", ToolProblemCode::Protocol),
    ] {
        let answer = tools.call_url(&site.url(path), "pointer = \"/a\"").await;
        assert_eq!(problem(&answer).code, code, "{path}: {answer:?}");
        assert!(problem(&answer).detail.len() < 600, "{path}: {answer:?}");
    }
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", gone.local_addr().unwrap());
    drop(gone);
    let answer = tools.call_url(&url, "").await;
    // The origin is not one that this laptop names.
    assert_eq!(problem(&answer).code, ToolProblemCode::Address, "{answer:?}");
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up_after_the_time_of_the_file() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = Site::at_port(listener.local_addr().unwrap().port());
    let tools = ToolGateway::start(&[&silent]);
    let url = silent.url("/");
    let calling = tools.call_url(&url, "");
    let hear = async {
        let (stream, _) = listener.accept().await.unwrap();
        stream.readable().await.unwrap();
        // The rest of the time passes at once.
        tokio::time::pause();
        stream
    };
    let (answer, _stream) = tokio::join!(calling, hear);
    assert_eq!(problem(&answer).code, ToolProblemCode::TooSlow, "{answer:?}");
}

#[tokio::test]
async fn a_tool_that_has_changed_is_not_called() {
    let site = Site::start(|_| answer(200, "application/json", "{}")).await;
    let tools = ToolGateway::start(&[&site]);
    let offered = weather(&site.url("/"), "");
    let definition = tools.write("weather", &offered);
    let call = async || tools.call(&definition, json!({"city": "Bern"}), "t1.c1").await;
    assert_eq!(text(&call().await), "{}");
    for changed in [
        offered.replace("Tells", "Knows"),
        offered.replace("trust = \"all\"", "trust = \"all\"\nenabled = false"),
    ] {
        tools.write("weather", &changed);
        assert_eq!(problem(&call().await).code, ToolProblemCode::Changed, "{changed}");
    }
    fs::remove_file(tools.folder.path().join("tools/weather.toml")).unwrap();
    assert_eq!(problem(&call().await).code, ToolProblemCode::Changed);
    assert_eq!(site.requests().len(), 1);
    // A broken file keeps its last valid version.
    tools.write("weather", &offered);
    assert_eq!(text(&call().await), "{}");
    fs::write(tools.folder.path().join("tools/weather.toml"), "trust = 1").unwrap();
    assert_eq!(text(&call().await), "{}");
    assert_eq!(site.requests().len(), 3);
}

#[tokio::test]
async fn a_missing_key_is_named_and_a_changed_key_is_read_again() {
    let site = Site::start(|request| match request.headers["authorization"].as_str() {
        "Bearer new-key-0123" | "Bearer laptop-key-4567" => answer(200, "text/plain", "sunny"),
        _ => answer(401, "text/plain", "who?"),
    })
    .await;
    let tools = ToolGateway::start(&[&site]);
    let other = weather(&site.url("/"), "").replace("key:weather", "key:other");
    let definition = tools.write("weather", &other);
    let answer = tools.call(&definition, json!({"city": "Bern"}), "t1.c1").await;
    let missing = problem(&answer);
    assert_eq!(
        (missing.code, missing.detail.as_str()),
        (ToolProblemCode::KeyMissing, "there is no `djinn/tools/other`")
    );
    assert!(site.requests().is_empty());
    let answer = tools.call_url(&site.url("/"), "").await;
    assert_eq!((problem(&answer).code, site.requests().len()), (ToolProblemCode::Status, 1));
    tools.keys.set("djinn/tools/weather", "new-key-0123");
    assert_eq!(text(&tools.call_url(&site.url("/"), "").await), "sunny");
    let laptop = weather(&site.url("/"), "").replace("key:weather", "key:laptop");
    let definition = tools.write("weather", &laptop);
    assert_eq!(text(&tools.call(&definition, json!({"city": "Bern"}), "t1.c2").await), "sunny");
}

#[tokio::test]
async fn used_up_credits_interrupt_a_call_that_succeeds_once_they_are_filled_up() {
    let ledger = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&ledger);
    let site = Site::start(move |request| {
        let mut calls = seen.lock().unwrap();
        calls.push(request.headers["idempotency-key"].clone());
        let body =
            if calls.len() == 1 { r#"{"code": 20006}"# } else { r#"{"code": 0, "data": "sunny"}"# };
        answer(200, "application/json", body)
    })
    .await;
    let tools = ToolGateway::start(&[&site]);
    let result = "pointer = \"/data\"\n[[result.interrupts]]\npointer = \"/code\"\nvalue = 20006\n\
                  message = \"The credits are used up.\"";
    let definition = tools.write("weather", &weather(&site.url("/"), result));
    let answer = tools.call(&definition, json!({"city": "Bern"}), "t1.c1").await;
    let ToolAnswer::Interrupted(interrupt) = &answer else { panic!("{answer:?}") };
    assert_eq!(
        (interrupt.code.as_str(), interrupt.message.as_str()),
        ("20006", "The credits are used up.")
    );
    let answer = tools.call(&definition, json!({"city": "Bern"}), "t1.c1.1").await;
    assert_eq!(text(&answer), "sunny");
    let keys = ledger.lock().unwrap();
    assert!(keys.len() == 2 && keys[0] != keys[1], "{keys:?}");
}

#[tokio::test]
async fn every_method_sends_the_body_of_the_file() {
    let site = Site::start(|_| answer(200, "application/json", "{}")).await;
    let tools = ToolGateway::start(&[&site]);
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        let url = site.url("/rooms/{city}");
        let file = weather(&url, "").replace("effect = \"read\"", "effect = \"idempotent\"");
        let file = file.replace("properties.city", "required = [\"city\"]\nproperties.city");
        let file =
            file.replace("\"GET\"", &format!("\"{method}\"\nbody = {{ name = \"{{city}}\" }}"));
        let definition = tools.write("weather", &file);
        tools.call(&definition, json!({"city": "a/b\"c"}), "t1.c1").await;
        let request = site.requests().pop().unwrap();
        assert_eq!(
            (request.method.as_str(), request.target.as_str()),
            (method, "/rooms/a%2Fb%22c?q=a%2Fb%22c")
        );
        assert_eq!(
            serde_json::from_slice::<Value>(&request.body).unwrap(),
            json!({"name": "a/b\"c"})
        );
        assert_eq!(request.headers["content-type"], "application/json");
    }
}

#[tokio::test]
async fn a_file_within_an_answer_is_returned_as_bytes() {
    let site =
        Site::start(|_| answer(200, "application/json", r#"{"title": "Chart", "image": "cG5n"}"#))
            .await;
    let tools = ToolGateway::start(&[&site]);
    let result =
        "file.base64 = \"/image\"\nfile.name = \"chart.png\"\nfile.media_type = \"image/png\"";
    let answer = tools.call_url(&site.url("/"), result).await;
    let ToolAnswer::Done { text, files } = &answer else { panic!("{answer:?}") };
    let [file] = &**files else { panic!("{answer:?}") };
    assert_eq!(text, r#"{"title":"Chart","image":"chart.png"}"#);
    assert_eq!((file.name.as_str(), file.content.as_slice()), ("chart.png", b"png".as_slice()));
}
