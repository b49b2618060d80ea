//! Keys of users and MCP servers: every call carries the key of its caller, as the servers see it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use djinn_local::ServerLock;
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{CANARY, Office, answer_of, interrupt, key, keys_of, post_form, put_key, write};
use crate::human_requests::ending;
use crate::world::{Client, Frame};

/// The owner of the key with which the operator locks servers.
const OPERATOR: &str = "operator";

/// The kind of a server.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Http,
    /// MCP with sessions.
    McpSessions,
    /// MCP without sessions.
    Mcp,
}

/// A call that a server received.
#[derive(Debug, Clone)]
struct SeenCall {
    /// The name of the caller, which the call's arguments contain.
    caller: String,
    key: String,
    idempotency_key: String,
}

#[derive(Default)]
struct SiteLedger {
    accepted: BTreeSet<String>,
    calls: Vec<SeenCall>,
    /// The key that opened each session.
    sessions: BTreeMap<String, String>,
    /// The requests in a session with another key than the session was opened with.
    strangers: Vec<String>,
}

/// A server that knows its users by their keys.
#[derive(Clone)]
struct Site {
    kind: Kind,
    /// The name of the tool's file or the server's file.
    name: &'static str,
    /// The name of the key.
    key_name: &'static str,
    origin: String,
    ledger: Arc<Mutex<SiteLedger>>,
}

impl Site {
    async fn start(name: &'static str, key_name: &'static str, kind: Kind) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let ledger = Arc::<Mutex<SiteLedger>>::default();
        let site = Self { kind, name, key_name, origin, ledger };
        let app = Router::new().fallback(answer).with_state(site.clone());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        site.accept(OPERATOR);
        site
    }

    /// The tool for models.
    fn tool(&self) -> String {
        if self.kind == Kind::Http { self.name.to_owned() } else { format!("{}__greet", self.name) }
    }

    /// The key of a user for this server.
    fn key_of(&self, user: &str) -> String {
        key(&format!("{user}-{}-{}", self.name, self.key_name))
    }

    fn accept(&self, user: &str) {
        let key = self.key_of(user);
        self.ledger.lock().unwrap().accepted.insert(key);
    }

    fn calls(&self) -> Vec<SeenCall> {
        self.ledger.lock().unwrap().calls.clone()
    }

    /// Writes the file of the tool or the server.
    fn write_file(&self, office: &Office) {
        let header = format!("authorization = \"Bearer {{user_key:{}}}\"", self.key_name);
        let terms = "trust = \"all\"\neffect = \"read\"";
        let (name, origin) = (self.name, &self.origin);
        let (path, text) = if self.kind == Kind::Http {
            let text = format!(
                "description = \"Greets.\"\n{terms}\n\
                 [parameters]\ntype = \"object\"\n\
                 properties = {{ caller = {{ type = \"string\" }} }}\n\
                 [request]\nmethod = \"GET\"\nurl = \"{origin}/greet\"\n\
                 query = {{ caller = \"{{caller}}\" }}\nheaders = {{ {header} }}\n"
            );
            (format!("tools/{name}.toml"), text)
        } else {
            let text = format!("url = \"{origin}/mcp\"\n{terms}\nheaders = {{ {header} }}\n");
            (format!("tools/servers/{name}.toml"), text)
        };
        write(office.folder.path(), &path, &text);
    }
}

/// Answers as an API, or as an MCP server.
async fn answer(
    State(site): State<Site>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    let key = header("authorization").unwrap_or_default();
    let key = key.strip_prefix("Bearer ").unwrap_or_default().to_owned();
    if site.kind == Kind::Http {
        let caller = uri.query().unwrap_or_default().strip_prefix("caller=").unwrap_or_default();
        let idempotency_key = header("idempotency-key").unwrap();
        return site.greet(caller, &key, idempotency_key).into_response();
    }
    if method != Method::POST {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let message: Value = serde_json::from_slice(&body).unwrap();
    site.answer_message(&message, &key, header("mcp-session-id").as_ref())
}

impl Site {
    /// Records a call, and answers with the key.
    fn greet(&self, caller: &str, key: &str, idempotency_key: String) -> (StatusCode, String) {
        let mut ledger = self.ledger.lock().unwrap();
        let (caller, key) = (caller.to_owned(), key.to_owned());
        ledger.calls.push(SeenCall { caller, key: key.clone(), idempotency_key });
        if ledger.accepted.contains(&key) {
            (StatusCode::OK, format!("Hello {key}."))
        } else {
            (StatusCode::UNAUTHORIZED, "who are you?".to_owned())
        }
    }

    fn answer_message(&self, message: &Value, key: &str, session: Option<&String>) -> Response {
        let params = &message["params"];
        let reply = |result: Value| {
            let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
            axum::Json(body).into_response()
        };
        if let Some(session) = session {
            let mut ledger = self.ledger.lock().unwrap();
            if ledger.sessions.get(session).is_none_or(|owner| owner != key) {
                ledger.strangers.push(key.to_owned());
            }
        }
        match message["method"].as_str().unwrap_or_default() {
            "tools/call" => {
                let caller = params["arguments"]["caller"].as_str().unwrap_or_default();
                let idempotency_key = params["_meta"]["Idempotency-Key"].as_str().unwrap();
                let (status, text) = self.greet(caller, key, idempotency_key.to_owned());
                if status == StatusCode::OK {
                    reply(json!({"content": [{"type": "text", "text": text}]}))
                } else {
                    (status, text).into_response()
                }
            }
            // A server that rejects its users only at their calls would not show whose key a session has.
            _ if !self.ledger.lock().unwrap().accepted.contains(key) => {
                StatusCode::UNAUTHORIZED.into_response()
            }
            "server/discover" if self.kind == Kind::Mcp => reply(json!({
                "resultType": "complete",
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}},
                "ttlMs": 0,
                "cacheScope": "private",
            })),
            "initialize" => {
                let session = {
                    let mut ledger = self.ledger.lock().unwrap();
                    let session = format!("s{}", ledger.sessions.len());
                    ledger.sessions.insert(session.clone(), key.to_owned());
                    session
                };
                let result = json!({
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "greeter", "version": "1"},
                });
                ([("mcp-session-id", session)], reply(result)).into_response()
            }
            "tools/list" => {
                let schema =
                    json!({"type": "object", "properties": {"caller": {"type": "string"}}});
                reply(json!({"tools": [{"name": "greet", "inputSchema": schema}]}))
            }
            "server/discover" => StatusCode::BAD_REQUEST.into_response(),
            _ => StatusCode::ACCEPTED.into_response(),
        }
    }
}

/// Opens an office with the tools of these servers, and locks those of MCP servers with the operator's own keys.
async fn open(sites: &[Site]) -> Office {
    let origins: Vec<_> = sites.iter().map(|site| &*site.origin).collect();
    let office = Office::open_with(&origins).await;
    for site in sites {
        site.write_file(&office);
    }
    for site in sites.iter().filter(|site| site.kind != Kind::Http) {
        // The variable of the key has the value for this server.
        let variable = format!("TOOL_KEY_{}", site.key_name);
        let (value, origins) = (site.key_of(OPERATOR), origins.join(","));
        let var = move |name: &str| match name {
            "DJINN_EGRESS_ORIGINS" => Some(origins.clone()),
            _ => (name == variable).then(|| value.clone()),
        };
        let lock = ServerLock::new(office.folder.path().to_owned(), Box::new(var));
        let (servers, mut file) = lock.read().unwrap();
        let server = servers.iter().find(|server| server.name == site.name).unwrap();
        file.servers.insert(site.name.to_owned(), lock.list_server(server).await.unwrap());
        lock.write(&file).unwrap();
    }
    office
}

async fn set_key(user: &Client, site: &Site, name: &str) {
    let body = json!({"value": site.key_of(name), "origin": site.origin});
    assert_eq!(put_key(user, site.key_name, &body).await, 204, "{name} {}", site.name);
}

/// Asks a question with one call of the site's tool, whose arguments name the caller.
async fn ask(
    office: &Office,
    user: &Client,
    name: &str,
    session: &str,
    site: &Site,
) -> (String, Vec<Frame>) {
    let question = format!("Who is {name} in {session} to {}?", site.name);
    let arguments = json!({"caller": name});
    office.ask_with(user, session, &site.tool(), &question, arguments).await
}

#[tokio::test]
async fn the_third_user_of_an_mcp_server_is_led_to_the_page_and_a_rejected_key_is_asked_for() {
    for kind in [Kind::McpSessions, Kind::Mcp] {
        let site = Site::start("wiki", "CRM", kind).await;
        let office = open(std::slice::from_ref(&site)).await;
        let [anna, bob, carl, _] = &office.users;
        for (user, name) in [(anna, "anna"), (bob, "bob")] {
            site.accept(name);
            set_key(user, &site, name).await;
            let (_, frames) = ask(&office, user, name, "s1", &site).await;
            assert_eq!(answer_of(&frames), "You are known.", "{frames:#?}");
        }
        let keys = |calls: Vec<SeenCall>| calls.into_iter().map(|call| call.key);
        assert!(keys(site.calls()).eq(["anna", "bob"].map(|name| site.key_of(name))));

        // The third user has none: nothing is sent, and the page sets one.
        let (run, frames) = ask(&office, carl, "carl", "s1", &site).await;
        assert!(frames.last().is_some_and(Frame::is_hand_over), "{frames:#?}");
        let (why, page) = interrupt(carl, &run).await;
        assert_eq!(why["code"], "key_missing");
        assert_eq!(why["key"], json!({"name": "CRM", "origin": site.origin}));
        assert_eq!(site.calls().len(), 2);
        site.accept("carl");
        let form = format!("response=set_key&key={}", site.key_of("carl"));
        let set = post_form(&Client::new(carl.url.clone()), &page, &form).await;
        assert!([200, 202].contains(&set.status), "{}", set.text);
        assert_eq!(ending(carl, &run).await["answer"], "You are known.");
        assert_eq!(site.calls()[2].key, site.key_of("carl"));

        // The server no longer accepts Bob's key: only this call waits, and is repeated with the new key.
        site.ledger.lock().unwrap().accepted.remove(&site.key_of("bob"));
        let (run, _) = ask(&office, bob, "bob", "s2", &site).await;
        let (why, _) = interrupt(bob, &run).await;
        assert_eq!((&why["code"], &why["key"]["name"]), (&json!("key_rejected"), &json!("CRM")));
        assert!(!why.to_string().contains(CANARY), "{why}");
        site.accept("bob-again");
        set_key(bob, &site, "bob-again").await;
        let again = json!({"text": "continue"});
        assert_eq!(bob.post(&format!("/runs/{run}/messages"), &again).await.status, 200);
        assert_eq!(ending(bob, &run).await["answer"], "You are known.");
        let calls = site.calls();
        let [.., rejected, repeated] = &calls[..] else { panic!("{calls:?}") };
        assert_eq!(rejected.key, site.key_of("bob"));
        assert_eq!(repeated.key, site.key_of("bob-again"));
        assert_ne!(rejected.idempotency_key, repeated.idempotency_key);
        assert_eq!(site.ledger.lock().unwrap().strangers, [""; 0]);
        assert!(office.keeps("to wiki?") && !office.keeps(CANARY));
    }
}

#[tokio::test]
async fn every_call_carries_its_callers_key_to_its_server() {
    // Two servers of each kind of file; the names of the keys are not the servers' own.
    let sites = [
        Site::start("crm", "CRM", Kind::Http).await,
        Site::start("desk", "DESK", Kind::Http).await,
        Site::start("wiki", "CRM", Kind::McpSessions).await,
        Site::start("mail", "DESK", Kind::Mcp).await,
    ];
    let office = open(&sites).await;
    let [anna, bob, carl, foreign] = &office.users;
    let holders = [(anna, "anna"), (bob, "bob"), (foreign, "foreign")];
    for site in &sites {
        for (user, name) in holders {
            site.accept(name);
            set_key(user, site, name).await;
        }
    }
    // All users call all servers at the same time, twice, so that connections are kept.
    for round in ["1", "2"] {
        let asks = sites.iter().flat_map(|site| holders.map(|holder| (site, holder)));
        let asks = asks.map(async |(site, (user, name))| {
            let session = format!("{}-{round}", site.name);
            let (_, frames) = ask(&office, user, name, &session, site).await;
            assert_eq!(answer_of(&frames), "You are known.", "{name} {}", site.name);
        });
        join_all(asks).await;
    }
    // Guests in Anna's sessions: Bob has keys, and Carl has none.
    for site in &sites {
        let share = async |with: &str| {
            let path = format!("/sessions/{}-1/share", site.name);
            let shared = anna.post(&path, &json!({"with": with, "write": true})).await;
            shared.json()["handle"].as_str().unwrap().to_owned()
        };
        let handle = share("bob").await;
        let (_, frames) = ask(&office, bob, "bob", &handle, site).await;
        assert_eq!(answer_of(&frames), "You are known.", "{}", site.name);
        let handle = share("carl").await;
        let before = site.calls().len();
        let (run, _) = ask(&office, carl, "carl", &handle, site).await;
        let (why, _) = interrupt(carl, &run).await;
        let needed = json!({"name": site.key_name, "origin": site.origin});
        assert_eq!((&why["code"], &why["key"]), (&json!("key_missing"), &needed));
        assert_eq!(site.calls().len(), before, "{}", site.name);
    }
    assert!(keys_of(carl).await.iter().all(|key| key["is_set"] == false));

    let mut crossings = Vec::new();
    let mut calls = 0;
    for site in &sites {
        let seen = site.calls();
        // Each user twice, and Bob as a guest.
        assert_eq!(seen.len(), 7, "{}", site.name);
        calls += seen.len();
        let is_crossed = |call: &SeenCall| call.key != site.key_of(&call.caller);
        crossings.extend(seen.into_iter().filter(is_crossed).map(|call| (site.name, call)));
        assert_eq!(site.ledger.lock().unwrap().strangers, [""; 0], "{}", site.name);
    }
    println!(
        "keys of users: {} crossings in {calls} calls of 2 tenants, 3 users and 2 guests at 2 HTTP \
         and 2 MCP servers",
        crossings.len()
    );
    assert!(crossings.is_empty(), "{crossings:?}");
    assert!(office.keeps("to wiki?") && !office.keeps(CANARY));
}
