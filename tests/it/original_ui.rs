//! What JoyAgent's UI asks besides its chat, and the UI itself beside the routes (`--ui`).

use reqwest::Method;
use serde_json::{Value, json};

use crate::keys::{keyed, let_in};
use crate::world::{Answer, Client, Door, World};

const DATA: &str = "/data/chatQuery";

/// The events of a data question's stream, which its page reads one by one.
fn events(answer: &Answer) -> Vec<Value> {
    assert!(answer.header("content-type").starts_with("text/event-stream"), "{answer:?}");
    let frames = answer.text.strip_suffix("\n\n").unwrap().split("\n\n");
    frames
        .map(|frame| serde_json::from_str(frame.strip_prefix("data:").unwrap()).unwrap())
        .collect()
}

/// Checks that the page of data questions shows a sentence of ours and is unlocked. Returns the code. The page
/// shows none of what an `ERROR` says.
#[track_caller]
fn unlocked(answer: &Answer) -> (u16, String) {
    let events = events(answer);
    let [thought, error, ready] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((&thought["eventType"], &error["eventType"]), (&json!("THINK"), &json!("ERROR")));
    assert!(!thought["data"].as_str().unwrap().is_empty());
    assert_eq!(thought["data"], error["data"]);
    assert_eq!(*ready, json!({"eventType": "READY", "data": ""}));
    (answer.status, thought["code"].as_str().unwrap().to_owned())
}

async fn sent(client: &Client, method: Method, path: &str, body: &str) -> Answer {
    let request = client.request(method, path).header("content-type", "application/json");
    Answer::of(request.body(body.to_owned()).send().await.unwrap()).await
}

#[tokio::test]
async fn data_question_without_tables_is_a_run_whose_answer_is_a_thought() {
    let world = World::start().await;
    world.model.on_request(|_| true).reply("There are no tables. Add a file.");
    let answer = world.post(DATA, &json!({"content": "Sales by region?", "traceId": "t1"})).await;
    assert_eq!(answer.status, 200);
    let frames = answer.text.split("\n\n").filter_map(|frame| frame.split_once("data:"));
    let events: Vec<Value> = frames
        .map(|(_, data)| serde_json::from_str(data.lines().next().unwrap()).unwrap())
        .collect();
    let kinds: Vec<_> = events.iter().map(|event| event["eventType"].as_str().unwrap()).collect();
    assert_eq!(kinds.first(), Some(&"DEBUG"));
    assert_eq!(kinds[kinds.len() - 2..], ["finished_stream", "READY"], "{kinds:?}");
    let thought = events.iter().rfind(|event| event["eventType"] == "THINK").unwrap();
    assert_eq!(thought["data"], "There are no tables. Add a file.");
    let run = world.get(&format!("/runs/{}", events[0]["data"].as_str().unwrap())).await.json();
    assert_eq!((&run["mode"], &run["request"]), (&json!("data_query"), &json!("t1")), "{run}");
    // The same request joins the same run.
    let again = world.post(DATA, &json!({"content": "Sales by region?", "traceId": "t1"})).await;
    assert!(again.text.contains(events[0]["data"].as_str().unwrap()), "{}", again.text);
    assert_eq!(world.model.requests().len(), 1);
    assert_eq!(world.get("/data/allModels").await.json(), json!({"code": 200, "data": []}));
}

#[tokio::test]
async fn page_that_reconnects_joins_its_run_by_the_cursor() {
    let world = World::start().await;
    world.model.on_request(|_| true).reply("There are no tables.");
    let body = json!({"content": "Sales by region?"});
    let first = world.post(DATA, &body).await;
    let cursor = first.text.lines().find_map(|line| line.strip_prefix("id:")).unwrap().trim();
    let request = world.request(Method::POST, DATA).json(&body).header("last-event-id", cursor);
    let again = Answer::of(request.send().await.unwrap()).await;
    assert_eq!(again.header("djinn-run-id"), first.header("djinn-run-id"));
    assert!(again.text.contains("READY") && !again.text.contains("DEBUG"), "{}", again.text);
    assert_eq!(world.model.requests().len(), 1);
}

#[tokio::test]
async fn whatever_is_refused_at_a_path_of_that_ui_is_said_as_its_pages_read_it() {
    let world = World::start().await;
    for (method, body, refused) in [
        (Method::POST, "{", (400, "invalid_json")),
        (Method::POST, "{}", (400, "query_missing")),
        (Method::GET, "", (405, "method_not_allowed")),
        (Method::PUT, "{}", (405, "method_not_allowed")),
    ] {
        let answer = sent(&world, method.clone(), DATA, body).await;
        let (status, code) = unlocked(&answer);
        assert_eq!((status, code.as_str()), refused);
        let ui = "/web/api/v1/gpt/queryAgentStreamIncr";
        let answer = sent(&world, method, ui, body).await;
        assert_eq!((answer.status, events(&answer).len()), (refused.0, 1));
        let event = &events(&answer)[0];
        assert_eq!((&event["finished"], &event["errorMsg"]), (&json!(true), &json!(refused.1)));
        assert!(event["resultMap"]["eventData"].is_object(), "{event}");
    }
    let not_posted = sent(&world, Method::GET, DATA, "").await;
    assert_eq!(not_posted.header("allow"), "POST");
    let preview = world.get("/data/previewData?modelCode=x").await;
    assert_eq!((preview.status, &preview.json()["code"]), (404, &json!("table_not_found")));
    for path in ["/data/testQuery", "/web/api/login", "/data/nothing"] {
        let answer = world.get(path).await;
        let told = answer.json();
        assert_eq!((answer.status, &told["code"]), (404, &json!("route_not_found")), "{path}");
        assert_eq!(told["msg"], told["message"], "{path}");
    }
    let answer = world.get("/api/feedback/pending/nobody").await;
    let told = answer.json();
    assert_eq!((answer.status, &told["success"]), (404, &json!(false)));
    assert!(told["message"].is_string() && told["msg"].is_null(), "{told}");
    let ours = world.get("/runs/nobody").await.json();
    assert!(ours["msg"].is_null() && ours["success"].is_null(), "{ours}");
}

#[tokio::test]
async fn who_has_no_key_unlocks_the_page_too() {
    let (list, [_anna]) = keyed([("acme", "anna")]);
    let mut door = Door::open(None, |_| {}, let_in(list));
    let client = door.listen().await;
    let answer = sent(&client, Method::POST, DATA, r#"{"content": "Hello?"}"#).await;
    assert_eq!(unlocked(&answer), (401, "credentials_missing".to_owned()));
    assert!(!answer.header("www-authenticate").is_empty());
    let answer = client.get("/data/allModels").await;
    assert_eq!((answer.status, answer.json()["msg"].is_string()), (401, true));
}

#[tokio::test]
async fn a_ui_beside_the_routes_hides_none_of_their_answers() {
    let built = tempfile::tempdir().unwrap();
    std::fs::create_dir(built.path().join("assets")).unwrap();
    std::fs::write(built.path().join("index.html"), "<p>The page</p>").unwrap();
    std::fs::write(built.path().join("assets/app.js"), "start()").unwrap();
    let ui = Some(built.path().to_owned());
    let world = World::start_with(|options, _| options.ui = ui).await;
    let got = async |method: Method, path: &str, accept: &str| {
        let request = world.request(method, path).header("accept", accept);
        let answer = Answer::of(request.send().await.unwrap()).await;
        (answer.status, answer.text)
    };
    let page = (200, "<p>The page</p>".to_owned());
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    assert_eq!(got(Method::GET, "/", "*/*").await, page);
    assert_eq!(got(Method::GET, "/chat/s1", browser).await, page);
    assert_eq!(got(Method::HEAD, "/chat/s1", browser).await.0, 200);
    let shown = Answer::of(world.request(Method::GET, "/").send().await.unwrap()).await;
    let policy = shown.header("content-security-policy");
    assert!(policy.starts_with("img-src 'self' data: blob: http://127.0.0.1:*;"), "{policy}");
    let script = (200, "start()".to_owned());
    assert_eq!(got(Method::GET, "/assets/app.js", "*/*").await, script);
    let json = "application/json, text/plain, */*";
    for (method, path, accept) in [
        (Method::GET, "/data/testQuery", json),
        (Method::GET, "/runs/nobody/nothing", browser),
        (Method::GET, "/web/api/login", browser),
        (Method::GET, "/assets/gone.js", "*/*"),
        (Method::POST, "/nowhere", browser),
        (Method::POST, "/data/nothing", json),
        (Method::DELETE, "/chat/s1", browser),
    ] {
        let (status, body) = got(method.clone(), path, accept).await;
        let told: Value = serde_json::from_str(&body).unwrap_or_else(|_| panic!("{path}: {body}"));
        assert_eq!((status, &told["code"]), (404, &json!("route_not_found")), "{method} {path}");
    }
    let (status, body) = got(Method::PUT, "/runs", browser).await;
    assert_eq!((status, body.contains("method_not_allowed")), (405, true), "{body}");
    let answer = world.post(DATA, &json!({"content": ""})).await;
    assert_eq!(unlocked(&answer).0, 400);
}
