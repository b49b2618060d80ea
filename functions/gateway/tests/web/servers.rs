//! Tools of MCP servers: a file of the configuration folder, a lock file, and a server on loopback.

use std::fs;
use std::sync::{Arc, LazyLock};

use djinn_outside::{LockFile, LockedServer, McpServer, ServerTransport, ToolProblemCode};
use djinn_runtime::configuration::Variables;
use djinn_runtime::port::outside::{Outside, ToolAnswer, ToolJob};
use serde_json::{Value, json};

use crate::context;
use crate::site::{RawAnswer, SentRequest, Site, answer};
use crate::tools::{CANARY, LOG, ToolGateway, problem, text};

/// The name of the tool for models.
const ECHO: &str = "notes__echo";

/// Answers a message as a server without sessions does, with this result of a call.
fn serve(request: &SentRequest, call: impl FnOnce(&Value) -> Value) -> RawAnswer {
    let message: Value = serde_json::from_slice(&request.body).unwrap();
    let result = match message["method"].as_str() {
        Some("server/discover") => json!({
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "ttlMs": 0,
            "cacheScope": "private",
        }),
        _ => call(&message["params"]),
    };
    let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    answer(200, "application/json", body.to_string())
}

/// A server that returns its arguments and the key that it saw, as a text and a file.
fn echo(request: &SentRequest) -> RawAnswer {
    let seen = request.headers["authorization"].clone();
    serve(request, |params| {
        let words = format!("{} {} {seen}", params["name"], params["arguments"]);
        json!({"content": [
            {"type": "text", "text": words},
            {"type": "image", "data": "iVBORw==", "mimeType": "image/png"},
        ]})
    })
}

fn file(url: &str) -> String {
    format!(
        "url = \"{url}\"\ntrust = \"all\"\nheaders.authorization = \"Bearer {{key:weather}}\"\n"
    )
}

/// Writes the file of a server, and locks one tool. Returns the definition of the tool.
fn write(tools: &ToolGateway, text: &str) -> String {
    let server = McpServer::read("notes", "notes", text).unwrap();
    let tool = json!({"name": "echo", "description": "Echoes.", "inputSchema": {"type": "object"}});
    let transport = ServerTransport::StreamableHttp;
    let locked = LockedServer::from_listing(&server, transport, "2026-07-28", &[Ok(tool)]);
    let definition = server.list_tools(&locked)[0].sha256().to_owned();
    let mut lock = LockFile::default();
    lock.servers.insert("notes".to_owned(), locked);
    let folder = tools.folder.path().join("tools");
    fs::create_dir_all(folder.join("servers")).unwrap();
    fs::write(folder.join("servers/notes.toml"), text).unwrap();
    fs::write(folder.join("servers.lock.json"), lock.to_text()).unwrap();
    definition
}

async fn call(tools: &ToolGateway, definition: &str) -> ToolAnswer {
    let job = ToolJob {
        user_key: None,
        tool: ECHO.to_owned(),
        definition: definition.to_owned(),
        arguments: json!({"a": 1}),
        idempotency_key: "run_1.t1.c1".to_owned(),
    };
    tools.gateway.call_tool(&context(), job).await.unwrap()
}

#[tokio::test]
async fn a_locked_tool_is_called_and_its_key_is_in_no_answer() {
    LazyLock::force(&LOG);
    let site = Site::start(echo).await;
    let tools = ToolGateway::start(&[&site]);
    let definition = write(&tools, &file(&site.url("/mcp")));
    assert!(site.requests().is_empty());
    let answer = call(&tools, &definition).await;
    assert_eq!(text(&answer), r#""echo" {"a":1} Bearer ***"#);
    let ToolAnswer::Done { files, .. } = &answer else { panic!("{answer:?}") };
    assert_eq!((&*files[0].name, &*files[0].content), (ECHO, &b"\x89PNG"[..]));
    let last = site.requests().pop().unwrap();
    assert_eq!(last.headers["authorization"], format!("Bearer {CANARY}"));
    let body: Value = serde_json::from_slice(&last.body).unwrap();
    let meta = &body["params"]["_meta"];
    assert_eq!(meta["Idempotency-Key"].as_str().unwrap().len(), 32);
    assert!(meta["traceparent"].as_str().unwrap().starts_with("00-"));
    assert!(!body.to_string().contains("run_1"));
    call(&tools, &definition).await;
    // A discovery, and a request for each call.
    assert_eq!(site.requests().len(), 3);
    assert!(!LOG.text().contains(CANARY));
}

#[tokio::test]
async fn a_listing_reads_keys_from_variables_then_from_secrets() {
    let site = Site::start(|request| serve(request, |_| json!({"tools": []}))).await;
    let tools = ToolGateway::start(&[&site]);
    let origin = site.origin();
    let variables: Variables = Arc::new(move |name| match name {
        "DJINN_LOCAL" => Some("1".to_owned()),
        "DJINN_EGRESS_ORIGINS" => Some(origin.clone()),
        "TOOL_KEY_LAPTOP" => Some("laptop-key".to_owned()),
        _ => None,
    });
    for (key, expected) in [
        ("key:laptop", Ok("laptop-key")),
        ("key:weather", Ok(CANARY)),
        ("user_key:laptop", Ok("laptop-key")),
        // A key of the operator is no key of a user.
        ("user_key:weather", Err("the variable TOOL_KEY_WEATHER")),
        ("key:other", Err("the variable TOOL_KEY_OTHER (there is no `djinn/tools/other`)")),
    ] {
        let text = file(&site.url("/mcp")).replace("key:weather", key);
        let server = McpServer::read("notes", "notes", &text).unwrap();
        let before = site.requests().len();
        let listed = gateway::list_server(&server, &variables, &tools.keys).await;
        let sent: Vec<_> = site.requests().split_off(before);
        match expected {
            Ok(value) => {
                assert!(listed.is_ok() && !sent.is_empty(), "{key}: {listed:?}");
                let header = format!("Bearer {value}");
                assert!(sent.iter().all(|request| request.headers["authorization"] == *header));
            }
            Err(says) => {
                assert!(listed.unwrap_err().contains(says) && sent.is_empty(), "{key}");
            }
        }
    }
}

#[tokio::test]
async fn a_tool_that_is_not_as_it_was_offered_is_not_called() {
    let site = Site::start(echo).await;
    let tools = ToolGateway::start(&[&site]);
    let definition = write(&tools, &file(&site.url("/mcp")));
    let folder = tools.folder.path().join("tools");
    for change in ["disabled", "elsewhere", "not locked", "gone"] {
        let text = file(&site.url("/mcp"));
        write(&tools, &text);
        let path = folder.join("servers/notes.toml");
        match change {
            "disabled" => fs::write(path, format!("enabled = false\n{text}")).unwrap(),
            "elsewhere" => fs::write(path, file(&site.url("/other"))).unwrap(),
            "not locked" => fs::remove_file(folder.join("servers.lock.json")).unwrap(),
            _ => fs::remove_file(path).unwrap(),
        }
        let answer = call(&tools, &definition).await;
        assert_eq!(problem(&answer).code, ToolProblemCode::Changed, "{change}");
    }
    assert!(site.requests().is_empty());
}

#[tokio::test]
async fn a_rejected_key_is_read_again_and_a_changed_key_is_tried_once() {
    let site = Site::start(|request| match &*request.headers["authorization"] {
        "Bearer second-key" => echo(request),
        _ => answer(401, "text/plain", "who are you?"),
    })
    .await;
    let tools = ToolGateway::start(&[&site]);
    let definition = write(&tools, &file(&site.url("/mcp")));
    let rejected = call(&tools, &definition).await;
    let problem = problem(&rejected);
    assert_eq!((problem.code, problem.status), (ToolProblemCode::Status, Some(401)));
    assert_eq!(site.requests().len(), 1);
    tools.keys.set("djinn/tools/weather", "second-key");
    assert_eq!(text(&call(&tools, &definition).await), r#""echo" {"a":1} Bearer ***"#);
}

#[tokio::test]
async fn a_tool_that_the_server_lacks_or_that_fails_is_reported() {
    for (result, code) in [
        (json!({"isError": true, "content": [{"type": "text", "text": "no ink"}]}), "no ink"),
        (json!({"isError": true, "content": [{"type": "text", "text": "Unknown tool: echo"}]}), ""),
    ] {
        let shared = result.clone();
        let site = Site::start(move |request| serve(request, |_| shared.clone())).await;
        let tools = ToolGateway::start(&[&site]);
        let definition = write(&tools, &file(&site.url("/mcp")));
        let answer = call(&tools, &definition).await;
        let expected =
            if code.is_empty() { ToolProblemCode::Gone } else { ToolProblemCode::Reported };
        let problem = problem(&answer);
        assert_eq!((problem.code, &*problem.detail), (expected, code), "{result}");
    }
}
