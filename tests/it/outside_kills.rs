//! A process that dies during calls of tools that are files: servers keep a ledger of what they did.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use djinn_local::{ServerLock, System, SystemOptions};
use djinn_scripted::ScriptedModel;
use futures::stream;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::code::completed;
use crate::configuration::write;
use crate::world::{Client, Protocol, Question, quick};

const EFFECTS: [&str; 3] = ["read", "idempotent", "once"];

/// The first call of each tool dies before the answer, or in the middle of it.
const MOMENTS: [&str; 2] = ["before", "amid"];

/// The keys of the calls that each tool received.
#[derive(Default)]
struct CallLedger {
    calls: Mutex<BTreeMap<String, Vec<String>>>,
    received: Notify,
}

impl CallLedger {
    /// Records a call, which is done at once. Returns true for the first call of the tool.
    fn record(&self, tool: String, key: String) -> bool {
        let mut calls = self.calls.lock().unwrap();
        let keys = calls.entry(tool).or_default();
        keys.push(key);
        self.received.notify_one();
        keys.len() == 1
    }

    /// Waits until so many tools were called.
    async fn wait_for_tools(&self, count: usize) {
        while self.calls.lock().unwrap().len() < count {
            self.received.notified().await;
        }
    }
}

/// A server with both kinds of tools, at `/MOMENT/EFFECT` and at `/MOMENT/mcp`.
async fn serve(ledger: Arc<CallLedger>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let app = Router::new().fallback(answer).with_state(ledger);
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    origin
}

async fn answer(
    State(ledger): State<Arc<CallLedger>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let (moment, kind) = uri.path().trim_start_matches('/').split_once('/').unwrap();
    if kind != "mcp" {
        let key = headers["idempotency-key"].to_str().unwrap().to_owned();
        let is_first = ledger.record(format!("{moment}_{kind}"), key);
        return if is_first {
            break_off(moment, "application/json", "{\"done\": ").await
        } else {
            axum::Json(json!({"done": true})).into_response()
        };
    }
    let Ok(message) = serde_json::from_slice::<Value>(&body) else {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    };
    let result = match message["method"].as_str().unwrap_or_default() {
        "server/discover" => json!({
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "ttlMs": 0,
            "cacheScope": "private",
        }),
        "tools/list" => {
            let schema = json!({"type": "object"});
            let tool = |effect: &str| json!({"name": effect, "inputSchema": schema});
            json!({"tools": EFFECTS.map(tool)})
        }
        "tools/call" => {
            let params = &message["params"];
            let (name, key) = (&params["name"], &params["_meta"]["Idempotency-Key"]);
            let tool = format!("{moment}__{}", name.as_str().unwrap());
            if ledger.record(tool, key.as_str().unwrap().to_owned()) {
                return break_off(moment, "text/event-stream", ": soon\n\nevent: mess").await;
            }
            json!({"content": [{"type": "text", "text": "done"}]})
        }
        _ => return StatusCode::ACCEPTED.into_response(),
    };
    axum::Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result})).into_response()
}

/// Never answers, or never ends the answer.
async fn break_off(moment: &str, media_type: &'static str, beginning: &'static str) -> Response {
    if moment == "before" {
        std::future::pending::<()>().await;
    }
    let beginning = stream::once(async move { Ok::<_, Infallible>(beginning) });
    let body = futures::StreamExt::chain(beginning, stream::pending());
    ([(header::CONTENT_TYPE, media_type)], Body::from_stream(body)).into_response()
}

/// Writes the files of the tools of a moment, and locks the server's. Returns the names of the tools.
async fn write_tools(folder: &Path, origin: &str, moment: &str) -> Vec<String> {
    let mut server = format!("url = \"{origin}/{moment}/mcp\"\ntrust = \"all\"\n");
    for effect in EFFECTS {
        let text = format!(
            "description = \"Does it.\"\ntrust = \"all\"\neffect = \"{effect}\"\n\
             [request]\nmethod = \"POST\"\nurl = \"{origin}/{moment}/{effect}\"\n"
        );
        write(folder, &format!("tools/{moment}_{effect}.toml"), &text);
        server += &format!("[tools.{effect}]\neffect = \"{effect}\"\n");
    }
    let path = format!("tools/servers/{moment}.toml");
    // The fields of single tools are accepted once the tools are locked.
    write(folder, &path, &server);
    let origin = origin.to_owned();
    let var = move |name: &str| (name == "DJINN_EGRESS_ORIGINS").then(|| origin.clone());
    let new = ServerLock::new(folder.to_owned(), Box::new(var)).lock_new_servers().await;
    assert!(new.iter().all(|server| server.outcome.is_ok()));
    let names = EFFECTS.map(|effect| [format!("{moment}_{effect}"), format!("{moment}__{effect}")]);
    names.into_iter().flatten().collect()
}

/// A process over this home and this folder.
fn options(home: &Path, folder: &Path, origin: &str, model: &ScriptedModel) -> SystemOptions {
    let (folder, origin) = (folder.to_str().unwrap().to_owned(), origin.to_owned());
    let base_url = model.base_url();
    SystemOptions {
        dir: Some(home.to_owned()),
        continue_runs: false,
        var: Box::new(move |name| match name {
            "OPENAI_API_KEY" => Some("key".to_owned()),
            "OPENAI_BASE_URL" => Some(base_url.clone()),
            "DJINN_CONFIG" => Some(folder.clone()),
            "DJINN_EGRESS_ORIGINS" => Some(origin.clone()),
            _ => None,
        }),
        settings: Some(quick()),
        ..SystemOptions::default()
    }
}

fn question_to(tool: &str) -> Question {
    Question::of(&format!("Do it with {tool}!"), &format!("s-{tool}"))
}

#[tokio::test]
async fn a_killed_process_doubles_no_effect_that_must_not_be_repeated() {
    let (mut uncertain, mut repeated) = (0, 0);
    for moment in MOMENTS {
        let (home, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let model = ScriptedModel::start().await.unwrap();
        let ledger = Arc::<CallLedger>::default();
        let origin = serve(Arc::clone(&ledger)).await;
        let tools = write_tools(folder.path(), &origin, moment).await;
        for tool in &tools {
            let rule = model.on(format!("Do it with {tool}!")).say("I call.");
            rule.call(tool, json!({})).then().reply("So it is.");
        }
        let start = || options(home.path(), folder.path(), &origin, &model);
        let mut process = tokio::runtime::Builder::new_multi_thread();
        let process = process.worker_threads(1).enable_all().build().unwrap();
        let first = start();
        let system = process.spawn(async { System::start(first).await.unwrap() }).await.unwrap();
        let client = Client::new(format!("http://{}", system.address()));
        let mut streams = Vec::new();
        for tool in &tools {
            streams.push(client.ask(Protocol::Native, &question_to(tool)).await);
        }
        ledger.wait_for_tools(tools.len()).await;
        process.shutdown_background();
        drop((system, streams));

        let system = System::start(start()).await.unwrap();
        let client = Client::new(format!("http://{}", system.address()));
        for tool in &tools {
            let frames = client.told(&question_to(tool)).await;
            assert_eq!(frames.last().unwrap().json()["answer"], "So it is.", "{tool}: {frames:#?}");
            let result = completed(&frames, "t1.c1.result")[0].json()["result"].clone();
            let keys = ledger.calls.lock().unwrap()[tool].clone();
            if tool.ends_with("once") {
                assert_eq!((keys.len(), &result["reason"]), (1, &json!("uncertain")), "{tool}");
                uncertain += 1;
            } else {
                let text = result["text"].as_str().unwrap_or_else(|| panic!("{tool}: {result}"));
                assert!(text.contains("done"), "{tool}: {result}");
                assert!(keys.len() == 2 && keys[0] == keys[1], "{tool}: {keys:?}");
                repeated += 1;
            }
        }
    }
    println!(
        "killed processes: {} during calls of HTTP and MCP tools, 0 `once` effects doubled, \
         {uncertain} uncertain, {repeated} calls made again under the same key",
        MOMENTS.len()
    );
    assert_eq!((uncertain, repeated), (4, 8));
}
