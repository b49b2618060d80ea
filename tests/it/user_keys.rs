//! Users' own keys for tools: each call carries the key of the user who asked, and asks for a missing one.

mod crossings;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use agent::KeyList;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::configuration::write;
use crate::human_requests::ending;
use crate::keys::keyed;
use crate::links::LINK_KEY;
use crate::own_texts;
use crate::world::{Answer, Client, Frame, Protocol, Question, SETTLED_WITHIN, World};

/// What every key of these tests begins with.
const CANARY: &str = "canary-5f1d";

/// What a server has seen, and what it accepts.
#[derive(Default)]
struct Seen {
    /// The keys, with the idempotency key of the call, in order.
    calls: Mutex<Vec<(String, String)>>,
    accepted: Mutex<BTreeSet<String>>,
}

/// A server that knows its users by their keys.
struct KeyedServer {
    url: String,
    seen: Arc<Seen>,
}

impl KeyedServer {
    async fn start(accepted: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Seen::default());
        seen.accepted.lock().unwrap().extend(accepted.iter().map(|key| (*key).to_owned()));
        let app = Router::new().fallback(greet).with_state(Arc::clone(&seen));
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, seen }
    }

    /// The keys that it received, in order.
    fn keys(&self) -> Vec<String> {
        self.seen.calls.lock().unwrap().iter().map(|(key, _)| key.clone()).collect()
    }
}

async fn greet(State(seen): State<Arc<Seen>>, headers: HeaderMap) -> (StatusCode, String) {
    let header = |name: &str| headers[name].to_str().unwrap().to_owned();
    let key = header("authorization").strip_prefix("Bearer ").unwrap().to_owned();
    seen.calls.lock().unwrap().push((key.clone(), header("idempotency-key")));
    if seen.accepted.lock().unwrap().contains(&key) {
        (StatusCode::OK, format!("Hello {key}."))
    } else {
        (StatusCode::UNAUTHORIZED, "who are you?".to_owned())
    }
}

/// Users of two tenants, at a deployment that keeps everything in a folder.
struct Office {
    world: World,
    home: TempDir,
    folder: TempDir,
    /// Anna, Bob and Carl of one tenant, and Anna of another.
    users: [Client; 4],
}

impl Office {
    async fn open(servers: &[&KeyedServer]) -> Self {
        Self::open_with(&servers.iter().map(|server| &*server.url).collect::<Vec<_>>()).await
    }

    /// Opens an office whose tools may reach these origins.
    async fn open_with(origins: &[&str]) -> Self {
        let (home, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let holders = [("acme", "anna"), ("acme", "bob"), ("acme", "carl"), ("other", "anna")];
        let (KeyList::Inline(list), keys) = keyed(holders) else { panic!("no list") };
        let list = serde_json::to_string(&list).unwrap();
        let seal = "a-secret-of-a-test-with-at-least-32-bytes";
        let world = own_texts::start(
            &home,
            &[
                ("DJINN_CONFIG", folder.path().to_str().unwrap()),
                ("DJINN_EGRESS_ORIGINS", &origins.join(",")),
                ("DJINN_AUTH", "key"),
                ("DJINN_API_KEYS", &list),
                ("DJINN_LINK_KEY", LINK_KEY),
                ("DJINN_SEAL_KEY", seal),
            ],
        )
        .await;
        let users = keys.map(|key| world.client.clone().bearing(&key));
        Self { world, home, folder, users }
    }

    /// Writes a tool that sends the caller's key `name` to this server.
    fn write_tool(&self, tool: &str, name: &str, server: &KeyedServer) {
        let text = format!(
            "description = \"Greets.\"\ntrust = \"all\"\neffect = \"read\"\n\
             [request]\nmethod = \"GET\"\nurl = \"{}/greet\"\n\
             headers = {{ authorization = \"Bearer {{user_key:{name}}}\" }}\n",
            server.url
        );
        write(self.folder.path(), &format!("tools/{tool}.toml"), &text);
    }

    /// Asks a question with one call of the tool. Returns the run, and its frames so far.
    async fn ask(&self, user: &Client, session: &str, tool: &str) -> (String, Vec<Frame>) {
        self.ask_with(user, session, tool, &format!("Who am I to {tool}?"), json!({})).await
    }

    /// Asks this question with one call of the tool with these arguments.
    async fn ask_with(
        &self,
        user: &Client,
        session: &str,
        tool: &str,
        question: &str,
        arguments: Value,
    ) -> (String, Vec<Frame>) {
        let rule = self.world.model.on(question).say("I call.");
        rule.call(tool, arguments).then().reply("You are known.");
        let question = Question::new(question).session(session);
        let stream = user.ask(Protocol::Native, &question).await;
        (stream.run(), stream.rest().await)
    }

    /// Whether any file of the deployment's home contains the text: its table, its bucket, its log.
    fn keeps(&self, text: &str) -> bool {
        fn find(folder: &Path, text: &[u8]) -> bool {
            fs::read_dir(folder).unwrap().any(|entry| {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    return find(&path, text);
                }
                let bytes = fs::read(path).unwrap_or_default();
                bytes.windows(text.len()).any(|window| window == text)
            })
        }
        find(self.home.path(), text.as_bytes())
    }
}

fn key(of: &str) -> String {
    format!("{CANARY}-{of}")
}

async fn put_key(user: &Client, name: &str, body: &Value) -> u16 {
    let request = user.request(Method::PUT, &format!("/keys/{name}")).json(body);
    Answer::of(request.send().await.unwrap()).await.status
}

async fn keys_of(user: &Client) -> Vec<Value> {
    user.get("/keys").await.json()["keys"].as_array().unwrap().clone()
}

fn answer_of(frames: &[Frame]) -> Value {
    frames.last().unwrap().json()["answer"].clone()
}

/// The interrupt of a run that waits for a key, and the path of the link to its page.
async fn interrupt(user: &Client, run: &str) -> (Value, String) {
    let request = user.open_requests(run).await.pop().unwrap_or_default();
    let link = request["link"].as_str().unwrap_or_else(|| panic!("{request}"));
    (request["interrupt"].clone(), link.strip_prefix(&user.url).unwrap().to_owned())
}

async fn post_form(visitor: &Client, path: &str, body: &str) -> Answer {
    let request = visitor.request(Method::POST, path).body(body.to_owned());
    let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
    Answer::of(request.send().await.unwrap()).await
}

#[tokio::test]
async fn two_users_have_keys_and_a_third_is_led_to_the_page_that_sets_one() {
    let server = KeyedServer::start(&[&key("anna"), &key("bob"), &key("carl")]).await;
    let office = Office::open(&[&server]).await;
    office.write_tool("crm", "CRM", &server);
    let [anna, bob, carl, _] = &office.users;
    for (user, name) in [(anna, "anna"), (bob, "bob")] {
        assert_eq!(put_key(user, "CRM", &json!({"value": key(name)})).await, 204);
        let (_, frames) = office.ask(user, "s1", "crm").await;
        assert_eq!(answer_of(&frames), "You are known.");
    }
    assert_eq!(server.keys(), [key("anna"), key("bob")]);
    let [listed] = &keys_of(anna).await[..] else { panic!("one key is listed") };
    assert!(listed["set_at_ms"].is_i64());
    let expected = json!({
        "name": "CRM", "origin": server.url, "tools": ["crm"], "is_set": true,
        "set_at_ms": listed["set_at_ms"],
    });
    assert_eq!(*listed, expected);
    let missing = async |user: &Client| {
        let tools = user.get("/tools").await.json();
        let tools = tools["tools"].as_array().unwrap().clone();
        tools.into_iter().find(|tool| tool["name"] == "crm").unwrap()["missing_key"].clone()
    };
    assert_eq!((missing(anna).await, missing(carl).await), (Value::Null, json!("CRM")));

    // The third has none: nothing is sent, and the run waits.
    let (run, frames) = office.ask(carl, "s1", "crm").await;
    assert!(frames.last().is_some_and(Frame::is_hand_over), "{frames:#?}");
    let (why, page) = interrupt(carl, &run).await;
    let says = format!("The tool `crm` needs your own key `CRM` for {}.", server.url);
    assert_eq!(why["code"], "key_missing");
    assert_eq!(why["key"], json!({"name": "CRM", "origin": server.url}));
    assert!(why["message"].as_str().unwrap().starts_with(&says), "{why}");
    assert_eq!(server.keys().len(), 2);
    let visitor = Client::new(office.world.client.url.clone());
    let shown = visitor.get(&page).await.text;
    assert!(shown.contains("<input type=\"password\" name=\"key\""), "{shown}");
    assert!(!shown.contains("<textarea"), "{shown}");
    for (form, part) in [
        ("response=set_key", "`value` is empty"),
        ("response=set_key&key=%E9%92%A5", "`value` must consist of visible ASCII"),
    ] {
        let refused = post_form(&visitor, &page, form).await;
        assert!(refused.status == 400 && refused.text.contains(part), "{}", refused.text);
    }
    let set = post_form(&visitor, &page, &format!("response=set_key&key={}", key("carl"))).await;
    assert!([200, 202].contains(&set.status), "{}", set.text);
    assert!(!set.text.contains(CANARY), "{}", set.text);
    assert_eq!(ending(carl, &run).await["answer"], "You are known.");
    assert_eq!(server.keys(), [key("anna"), key("bob"), key("carl")]);

    // What is deleted is asked for again, and nobody else's is gone.
    assert_eq!(anna.delete("/keys/CRM").await.status, 204);
    assert_eq!(anna.delete("/keys/CRM").await.status, 404);
    assert_eq!(keys_of(anna).await[0]["is_set"], false);
    assert_eq!(keys_of(bob).await[0]["is_set"], true);
    let (_, frames) = office.ask(anna, "s2", "crm").await;
    assert!(frames.last().is_some_and(Frame::is_hand_over), "{frames:#?}");
    assert_eq!(server.keys().len(), 3);

    // No key is in what is kept, or in what the model or a client was told.
    assert!(office.keeps("Who am I to crm?") && !office.keeps(CANARY));
    let requests = office.world.model.requests();
    assert!(requests.iter().any(|request| request.text().contains("Hello ***.")));
    assert!(requests.iter().all(|request| !request.text().contains(CANARY)));
    for path in ["events", "audit", "requests"] {
        let told = carl.get(&format!("/runs/{run}/{path}")).await;
        assert!(told.status == 200 && !told.text.contains(CANARY), "{path}: {}", told.text);
    }
}

#[tokio::test]
async fn a_rejected_key_is_asked_for_again_and_the_call_is_repeated_alone() {
    let server = KeyedServer::start(&[&key("new")]).await;
    let office = Office::open(&[&server]).await;
    office.write_tool("crm", "CRM", &server);
    let [anna, ..] = &office.users;
    assert_eq!(put_key(anna, "CRM", &json!({"value": key("old")})).await, 204);
    let (run, _) = office.ask(anna, "s1", "crm").await;
    let (why, _) = interrupt(anna, &run).await;
    assert_eq!(why["code"], "key_rejected");
    assert!(!why.to_string().contains(CANARY), "{why}");
    assert_eq!(put_key(anna, "CRM", &json!({"value": key("new")})).await, 204);
    let again = json!({"text": "continue"});
    assert_eq!(anna.post(&format!("/runs/{run}/messages"), &again).await.status, 200);
    assert_eq!(ending(anna, &run).await["answer"], "You are known.");
    let calls = server.seen.calls.lock().unwrap().clone();
    let [(old, first), (new, second)] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!((old, new), (&key("old"), &key("new")));
    assert_ne!(first, second);
}

#[tokio::test]
async fn a_key_with_several_origins_names_one() {
    let servers = [KeyedServer::start(&[]).await, KeyedServer::start(&[]).await];
    let office = Office::open(&[&servers[0], &servers[1]]).await;
    office.write_tool("crm", "CRM", &servers[0]);
    office.write_tool("crm2", "CRM", &servers[1]);
    let [anna, ..] = &office.users;
    for (body, status) in [
        (json!({"value": "x"}), 400),
        (json!({"value": "x", "origin": "http://elsewhere.test"}), 400),
        (json!({"value": "x", "origin": servers[1].url}), 204),
        (json!({"value": "x", "origin": format!("{}/", servers[1].url)}), 204),
        (json!({"value": "x".repeat(4_096), "origin": servers[1].url}), 204),
        (json!({"value": "x".repeat(4_097), "origin": servers[1].url}), 400),
    ] {
        assert_eq!(put_key(anna, "CRM", &body).await, status, "{body}");
    }
    assert_eq!(put_key(anna, "OTHER", &json!({"value": "x"})).await, 404);
    let set: Vec<_> = keys_of(anna).await.iter().map(|key| key["is_set"].clone()).collect();
    assert!(set.len() == 2 && set.contains(&json!(true)) && set.contains(&json!(false)));
}

#[tokio::test]
async fn no_key_crosses_between_users_tenants_guests_names_and_servers() {
    let all = ["anna", "bob", "foreign"].map(|of| [key(of), key(&format!("{of}-b"))]);
    let accepted: Vec<&str> = all.iter().flatten().map(String::as_str).collect();
    let servers = [KeyedServer::start(&accepted).await, KeyedServer::start(&accepted).await];
    let office = Office::open(&[&servers[0], &servers[1]]).await;
    office.write_tool("crm", "CRM", &servers[0]);
    office.write_tool("desk", "DESK", &servers[1]);
    let [anna, bob, carl, foreign] = &office.users;
    for (user, [crm, desk]) in [anna, bob, foreign].into_iter().zip(&all) {
        assert_eq!(put_key(user, "CRM", &json!({"value": crm})).await, 204);
        assert_eq!(put_key(user, "DESK", &json!({"value": desk})).await, 204);
    }
    for user in [anna, bob, foreign] {
        for tool in ["crm", "desk"] {
            let (_, frames) = office.ask(user, "s1", tool).await;
            assert_eq!(answer_of(&frames), "You are known.");
        }
    }
    // In Anna's session, a guest's call has the guest's key, or none.
    let share = async |with: &str| {
        let shared = anna.post("/sessions/s1/share", &json!({"with": with, "write": true})).await;
        shared.json()["handle"].as_str().unwrap().to_owned()
    };
    let handle = share("bob").await;
    let (_, frames) = office.ask(bob, &handle, "crm").await;
    assert_eq!(answer_of(&frames), "You are known.");
    let handle = share("carl").await;
    let (run, _) = office.ask(carl, &handle, "crm").await;
    let (why, page) = interrupt(carl, &run).await;
    assert_eq!(why["code"], "key_missing");
    let set = post_form(&Client::new(anna.url.clone()), &page, "response=set_key&key=carls").await;
    assert!([200, 202].contains(&set.status), "{}", set.text);
    let list = keys_of(carl).await;
    assert_eq!((&list[0]["name"], &list[0]["is_set"]), (&json!("CRM"), &json!(true)));
    rejected(carl, &run).await;
    let expected: Vec<_> = ["anna", "bob", "foreign", "bob"].map(key).to_vec();
    let expected: Vec<_> = expected.into_iter().chain(["carls".to_owned()]).collect();
    assert_eq!(servers[0].keys(), expected);
    assert_eq!(servers[1].keys(), ["anna-b", "bob-b", "foreign-b"].map(key));
    assert!(!office.keeps(CANARY));
}

/// Waits until the server has rejected the key of a run's call.
async fn rejected(user: &Client, run: &str) {
    let waiting = async {
        loop {
            let requests = user.open_requests(run).await;
            if requests.iter().any(|request| request["interrupt"]["code"] == "key_rejected") {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(SETTLED_WITHIN, waiting).await.unwrap();
}
