//! What bad input gets: the status, a code, the field; on the UI's endpoint the event that unlocks
//! its input besides.

use reqwest::Method;
use serde_json::{Value, json};

use crate::world::{Answer, Client, Frame, Protocol, World};

const UPLOAD: &str = "/v1/file_tool/upload_file";
const FILE_ROUTES: [&str; 4] =
    [UPLOAD, "/v1/file_tool/upload_url", "/v1/file_tool/get_file", "/v1/file_tool/get_file_list"];

/// A refusal: its status, code and field.
type Refused<'a> = (u16, &'a str, Option<&'a str>);

async fn sent(
    client: &Client,
    method: Method,
    path: &str,
    body: impl Into<reqwest::Body>,
) -> Answer {
    let request = client.request(method, path).header("accept", "text/event-stream");
    let request = request.header("content-type", "application/json").body(body);
    Answer::of(request.send().await.unwrap()).await
}

/// Sends a body and checks how it is refused.
#[track_caller]
fn check(path: &str, answer: &Answer, (status, code, field): Refused<'_>, about: &str) {
    let place = std::panic::Location::caller();
    let context = format!("{path}: {about} at {place}: {}", answer.text);
    assert_eq!(answer.status, status, "{context}");
    let sentence = if path == Protocol::Ui.path() {
        let envelope = only_event(answer);
        assert_eq!(envelope["finished"], true, "{context}");
        assert_eq!(envelope["status"], "failed", "{context}");
        assert_eq!(envelope["errorMsg"], code, "{context}");
        let event = &envelope["resultMap"]["eventData"]["resultMap"];
        assert_eq!((&event["messageType"], &event["finish"]), (&json!("result"), &json!(true)));
        assert_eq!(event["result"], envelope["response"]);
        envelope["response"].clone()
    } else {
        let json = answer.json();
        assert_eq!((&json["code"], &json["field"]), (&json!(code), &json!(field)), "{context}");
        json["message"].clone()
    };
    let sentence = sentence.as_str().unwrap();
    assert!(sentence.ends_with(['.', ')', '。']) && !sentence.contains("{detail}"), "{context}");
}

fn only_event(answer: &Answer) -> Value {
    assert_eq!(answer.header("content-type"), "text/event-stream");
    let data = answer.text.strip_prefix("data:").unwrap().strip_suffix("\n\n").unwrap();
    serde_json::from_str(data).unwrap()
}

#[tokio::test]
async fn a_body_that_is_no_json_object() {
    let world = World::start().await;
    let questions = Protocol::ALL.map(Protocol::path);
    for path in questions.into_iter().chain(FILE_ROUTES) {
        for body in ["", "{\"query\":", "[]", "\"hello\"", "null", "query=hello"] {
            let answer = sent(&world, Method::POST, path, body).await;
            check(path, &answer, (400, "invalid_json", None), body);
        }
    }
}

#[tokio::test]
async fn a_question_that_is_none() {
    let world = World::start().await;
    for protocol in Protocol::ALL {
        let name = protocol.member("query");
        let too_long = "x".repeat(64 * 1024 + 1);
        let rows = [
            (json!({}), (400, "query_missing", Some(name))),
            (json!({name: null}), (400, "query_missing", Some(name))),
            (json!({name: ""}), (400, "query_missing", Some(name))),
            (json!({name: " \n\t\u{3000}\u{200b}"}), (400, "query_missing", Some(name))),
            (json!({name: 5}), (400, "invalid_field", Some(name))),
            (json!({name: ["x"]}), (400, "invalid_field", Some(name))),
            (json!({name: too_long}), (400, "query_too_long", Some(name))),
            (json!({name: "界".repeat(22_000)}), (400, "query_too_long", Some(name))),
        ];
        for (body, expected) in rows {
            let answer = sent(&world, Method::POST, protocol.path(), body.to_string()).await;
            let about: String = body.to_string().chars().take(80).collect();
            check(protocol.path(), &answer, expected, &about);
            assert!(!answer.header("djinn-request-id").is_empty(), "{about}");
        }
    }
    assert_eq!(world.model.requests().len(), 0);
}

#[tokio::test]
async fn a_question_of_64_kb_is_not_too_long() {
    let world = World::start().await;
    world.model.on("xxx").reply("Long.");
    let body = json!({"question": "x".repeat(64 * 1024)}).to_string();
    let answer = sent(&world, Method::POST, "/runs", body).await;
    assert_eq!(answer.status, 200);
    world.model.assert_done();
}

#[tokio::test]
async fn agents_modes_and_styles_that_do_not_exist() {
    let world = World::start().await;
    let rows = [
        (
            Protocol::Raw,
            "agentType",
            json!(0),
            "unknown_agent",
            "5 (ReAct), 1 (Comprehensive), 3 (Plan-Solve)",
        ),
        (Protocol::Raw, "agentType", json!("6"), "unknown_agent", "5 (ReAct)"),
        (Protocol::Raw, "agentType", json!("react"), "invalid_field", "whole number"),
        (Protocol::Raw, "isStream", json!("no"), "invalid_field", "true or false"),
        (Protocol::Ui, "deepThink", json!(true), "invalid_field", "whole number"),
        (Protocol::Native, "mode", json!("plan-solve"), "unknown_agent", "`plan_solve`"),
        (Protocol::Native, "mode", json!(3), "invalid_field", "a string"),
        (Protocol::Native, "output_style", json!("poem"), "unknown_style", "html, docs"),
        (
            Protocol::Native,
            "base_prompt",
            json!("x".repeat(20_001)),
            "too_long",
            "20000 characters",
        ),
    ];
    for (protocol, field, value, code, says) in rows {
        let body = json!({protocol.member("query"): "Hello?", field: value}).to_string();
        let answer = sent(&world, Method::POST, protocol.path(), body.clone()).await;
        check(protocol.path(), &answer, (400, code, Some(field)), &body);
        assert!(answer.text.contains(says), "{}", answer.text);
    }
}

#[tokio::test]
async fn what_may_be_left_out_or_written_otherwise_is_accepted() {
    let world = World::start().await;
    world.model.on("Hello?").reply("Hello.").always();
    let rows = [
        (Protocol::Raw, json!({})),
        (Protocol::Raw, json!({"agentType": null, "isStream": null, "outputStyle": "dataAgent"})),
        (Protocol::Raw, json!({"agentType": "5", "erp": "x", "messages": [], "sopPrompt": ""})),
        (Protocol::Ui, json!({})),
        (Protocol::Ui, json!({"deepThink": null, "outputStyle": "", "traceId": "x", "user": "x"})),
        (Protocol::Ui, json!({"deepThink": "0", "sessionId": "", "requestId": ""})),
        (Protocol::Native, json!({"session_id": null, "unknown": null, "more": {}})),
        (Protocol::Native, json!({"mode": "react"})),
    ];
    for (protocol, mut body) in rows {
        body[protocol.member("query")] = "Hello?".into();
        let answer = sent(&world, Method::POST, protocol.path(), body.to_string()).await;
        assert_eq!(answer.status, 200, "{body}: {}", answer.text);
        assert!(answer.text.contains("Hello."), "{body}");
    }
    let marked = format!("\u{feff}{}", json!({"question": "Hello?"}));
    assert_eq!(sent(&world, Method::POST, "/runs", marked).await.status, 200);
}

#[tokio::test]
async fn ids_that_are_no_labels() {
    let world = World::start().await;
    let long = "x".repeat(129);
    let bad = ["a b", "a/b", "ä", "a#b", "..\n", "a\"b", long.as_str()];
    for protocol in Protocol::ALL {
        for field in ["sessionId", "requestId"].map(|name| protocol.member(name)) {
            for id in bad {
                let body = json!({protocol.member("query"): "Hello?", field: id}).to_string();
                let answer = sent(&world, Method::POST, protocol.path(), body.clone()).await;
                check(protocol.path(), &answer, (400, "bad_id", Some(field)), &body);
            }
        }
    }
    for path in FILE_ROUTES {
        for id in bad {
            let body = json!({"requestId": id, "fileName": "a.md", "fileSize": 1}).to_string();
            let answer = sent(&world, Method::POST, path, body.clone()).await;
            check(path, &answer, (400, "bad_id", Some("requestId")), &body);
        }
        let answer = sent(&world, Method::POST, path, "{}").await;
        check(path, &answer, (400, "invalid_field", Some("requestId")), "no requestId");
    }
    let encoded = ["a%20b", "a%2Fb", "%C3%A4", "a%23b", "x@y", long.as_str()];
    for id in encoded {
        for (method, path, field) in [
            (Method::POST, format!("/runs/{id}/stop"), "run"),
            (Method::GET, format!("/runs/{id}"), "run"),
            (Method::GET, format!("/runs/{id}/events"), "run"),
            (Method::GET, format!("/sessions/{id}"), "session"),
            (Method::DELETE, format!("/sessions/{id}"), "session"),
            (Method::POST, format!("/sessions/{id}/title"), "session"),
        ] {
            let answer = sent(&world, method, &path, r#"{"title": "x"}"#).await;
            check(&path, &answer, (400, "bad_id", Some(field)), id);
        }
    }
}

#[tokio::test]
async fn file_names_that_could_lead_elsewhere() {
    let world = World::start().await;
    let (long, long_chinese) = ("x".repeat(256), format!("{}.md", "界".repeat(85)));
    let bad = [
        "../a.md",
        "a/b.md",
        "/etc/passwd",
        "a\\b.md",
        "a\nb.md",
        "a\u{0}b",
        "\u{7f}",
        ".",
        "..",
        " a.md",
        "gpj\u{202e}exe",
        &long,
        &long_chinese,
    ];
    for path in &FILE_ROUTES[..3] {
        for name in bad {
            let body = json!({"requestId": "s1", "fileName": name, "fileSize": 1, "content": "x"});
            let answer = sent(&world, Method::POST, path, body.to_string()).await;
            check(path, &answer, (400, "bad_file_name", Some("fileName")), name);
        }
        let answer = sent(&world, Method::POST, path, r#"{"requestId": "s1"}"#).await;
        check(path, &answer, (400, "invalid_field", Some("fileName")), "no name");
    }
    for name in ["..%2Fa.md", "%2e%2e", "a%00b", "a%5Cb.md"] {
        for verb in ["preview", "download"] {
            let path = format!("/v1/file_tool/{verb}/s1/{name}");
            let answer = sent(&world, Method::GET, &path, "").await;
            // A client resolves `%2e%2e` itself, so that no such request arrives.
            let gone = name == "%2e%2e" && answer.status == 404;
            if !gone {
                check(&path, &answer, (400, "bad_file_name", Some("fileName")), name);
            }
        }
    }
    let whole = "x".repeat(255);
    world.upload("s1", &whole, "It fits.").await;
}

#[tokio::test]
async fn lists_that_are_asked_for_wrongly() {
    let world = World::start().await;
    let run = format!("run_{}", "0".repeat(32));
    let words = "queued, running, paused, finished, failed, stopped";
    for status in ["done", "Running", "expired", "running,paused", "%20running"] {
        let path = format!("/runs?status={status}");
        let answer = sent(&world, Method::GET, &path, "").await;
        check(&path, &answer, (400, "invalid_field", Some("status")), status);
        assert!(answer.text.contains(words), "{}", answer.text);
    }
    for path in ["/runs", "/sessions", "/sessions/s1"] {
        for limit in ["0", "101", "-1", "1.5", "many", "99999999999999999999"] {
            let path = format!("{path}?limit={limit}");
            let answer = sent(&world, Method::GET, &path, "").await;
            check(&path, &answer, (400, "invalid_field", Some("limit")), limit);
            assert!(answer.text.contains("from 1 to 100"), "{}", answer.text);
        }
        for cursor in ["x", "5", "5.", "5.a%20b", ".s1", "x.s1", &format!("x.{run}")] {
            let path = format!("{path}?cursor={cursor}");
            let answer = sent(&world, Method::GET, &path, "").await;
            check(&path, &answer, (400, "invalid_field", Some("cursor")), cursor);
        }
    }
    for path in ["/runs?status=&limit=&cursor=", "/runs?limit=100", "/sessions?limit=1"] {
        assert_eq!(world.get(path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn titles_that_are_none() {
    let world = World::start().await;
    let path = "/sessions/s1/title";
    for body in ["", "{\"title\":", "[]", "title=x"] {
        let answer = sent(&world, Method::POST, path, body).await;
        check(path, &answer, (400, "invalid_json", None), body);
    }
    let long = "界".repeat(201);
    for title in [json!(null), json!(""), json!(" \n\t"), json!(&long), json!(5), json!(["x"])] {
        let code = if title == long { "too_long" } else { "invalid_field" };
        let body = json!({"title": title}).to_string();
        let answer = sent(&world, Method::POST, path, body.clone()).await;
        check(path, &answer, (400, code, Some("title")), &body);
    }
    let answer = sent(&world, Method::POST, path, "x".repeat(agent::MAX_BODY + 1)).await;
    check(path, &answer, (413, "body_too_large", None), "too large");
}

#[tokio::test]
async fn sizes_that_are_none() {
    let world = World::start().await;
    let path = "/v1/file_tool/upload_url";
    for size in [json!(null), json!(0), json!(-1), json!("many"), json!(6_000_000_000_u64)] {
        let body = json!({"requestId": "s1", "fileName": "a.md", "fileSize": size}).to_string();
        let answer = sent(&world, Method::POST, path, body.clone()).await;
        check(path, &answer, (400, "invalid_field", Some("fileSize")), &body);
    }
}

#[tokio::test]
async fn runs_and_files_that_do_not_exist() {
    let world = World::start().await;
    for run in [format!("run_{}", "0".repeat(32)), "run_x".to_owned(), "7".to_owned()] {
        let answer = world.stop(&run).await;
        check("/runs/{run}/stop", &answer, (404, "run_not_found", None), &run);
        for path in [format!("/runs/{run}"), format!("/runs/{run}/events")] {
            let answer = sent(&world, Method::GET, &path, "").await;
            check(&path, &answer, (404, "run_not_found", None), &run);
            // Whatever cursor it comes with.
            let stream = world.come_back(&run, Some("x")).await;
            assert_eq!(stream.status, 404);
        }
    }
    for (method, path) in [
        (Method::GET, "/sessions/s1"),
        (Method::DELETE, "/sessions/s1"),
        (Method::POST, "/sessions/s1/title"),
    ] {
        let answer = sent(&world, method, path, r#"{"title": "x"}"#).await;
        check(path, &answer, (404, "session_not_found", None), "unknown session");
    }
    let path = "/v1/file_tool/get_file";
    let answer = world.post(path, &json!({"requestId": "s1", "fileName": "a.md"})).await;
    check(path, &answer, (404, "file_not_found", None), "unknown file");
    for verb in ["preview", "download"] {
        let answer = world.get(&format!("/v1/file_tool/{verb}/s1/a.md")).await;
        check(verb, &answer, (404, "file_not_found", None), "unknown file");
    }
    // An answer about no question names the request that it answers.
    assert!(world.get("/web/health").await.header("djinn-request-id").starts_with("req-"));
    let answer = world.get("/v1/file_tool/nothing").await;
    assert!(answer.header("djinn-request-id").starts_with("req-"));
    check("/v1/file_tool/nothing", &answer, (404, "route_not_found", None), "unknown route");
}

#[tokio::test]
async fn methods_that_a_route_does_not_take() {
    let world = World::start().await;
    let posts = [Protocol::Raw, Protocol::Ui].map(Protocol::path).into_iter().chain(FILE_ROUTES);
    let posts = posts.map(|path| (path, "POST")).chain([
        ("/runs/x/stop", "POST"),
        ("/sessions/x/title", "POST"),
        ("/runs", "POST,GET,HEAD"),
        ("/runs/x", "GET,HEAD"),
        ("/runs/x/events", "GET,HEAD"),
        ("/sessions", "GET,HEAD"),
        ("/sessions/x", "GET,HEAD,DELETE"),
    ]);
    for (path, allowed) in posts {
        for method in [Method::GET, Method::POST, Method::PUT, Method::DELETE] {
            if allowed.contains(method.as_str()) {
                continue;
            }
            let answer = sent(&world, method.clone(), path, "").await;
            check(path, &answer, (405, "method_not_allowed", None), method.as_str());
            assert_eq!(answer.header("allow"), allowed, "{path}");
        }
    }
    let answer = sent(&world, Method::POST, "/v1/file_tool/preview/s1/a.md", "").await;
    check("preview", &answer, (405, "method_not_allowed", None), "POST");
}

#[tokio::test]
async fn a_wrong_path_or_method_is_refused_in_the_deployments_language() {
    let chinese = ("DJINN_LANGUAGE", "zh".to_owned());
    let world = World::start_with(|options, _| options.vars.push(chinese)).await;
    for path in ["/nothing", "/AutoAgent"] {
        let sentence = world.get(path).await.json()["message"].to_string();
        assert!(sentence.ends_with("。\""), "{path}: {sentence}");
    }
}

#[tokio::test]
async fn bodies_that_are_too_large() {
    let world = World::start().await;
    let questions = Protocol::ALL.map(Protocol::path);
    let form = "/v1/file_tool/upload_file_data";
    for path in questions.into_iter().chain(FILE_ROUTES).chain([form]) {
        for bytes in [agent::MAX_BODY + 1, 3 * agent::MAX_BODY] {
            let answer = sent(&world, Method::POST, path, "x".repeat(bytes)).await;
            check(path, &answer, (413, "body_too_large", None), "too large");
        }
    }
}

#[tokio::test]
async fn forms_that_are_none() {
    let world = World::start().await;
    let path = "/v1/file_tool/upload_file_data";
    let answer = sent(&world, Method::POST, path, "{}").await;
    check(path, &answer, (415, "unsupported_body", None), "JSON");
    let boundary = "multipart/form-data; boundary=b";
    let request = world.request(Method::POST, path).header("content-type", boundary);
    let body = "--b\r\nContent-Disposition: form-data; name=\"requestId\"\r\n\r\ns1\r\n--b--\r\n";
    let answer = Answer::of(request.body(body).send().await.unwrap()).await;
    check(path, &answer, (415, "unsupported_body", Some("file")), "no file");
}

#[tokio::test]
async fn the_health_and_the_models_are_there() {
    let world = World::start().await;
    assert_eq!(world.get("/web/health").await.text, "ok");
    assert_eq!(world.get("/data/allModels").await.json(), json!({"code": 200, "data": []}));
}

#[tokio::test]
async fn a_refusal_is_one_frame_for_the_ui() {
    let world = World::start().await;
    let question = crate::world::Question::new("").session("s1").request("r1");
    let stream = world.ask(Protocol::Ui, &question).await;
    assert_eq!(stream.status, 400);
    let frames: Vec<Frame> = stream.rest().await;
    assert!(frames.len() == 1 && frames[0].is_final(), "{frames:?}");
    assert_eq!(frames[0].json()["reqId"], "r1");
}
