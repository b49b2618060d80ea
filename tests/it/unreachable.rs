//! Stores that cannot be reached: 503, after a bounded number of tries.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use djinn_scripted::ScriptedModel;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::world::{Door, Protocol, Question};

/// The URL of a port that nobody listens at.
const NOBODY: &str = "http://127.0.0.1:1";

fn closed(settings: &mut djinn_aws::Settings) {
    settings.endpoints.dynamodb = Some(NOBODY.to_owned());
    settings.endpoints.s3 = Some(NOBODY.to_owned());
    settings.timeouts.backoff = Duration::from_millis(1);
}

async fn sent(door: &Door, method: &str, path: &str, body: &Value) -> (u16, String) {
    let request = Request::builder().method(method).uri(path).header("accept", "text/event-stream");
    let request = request.header("content-type", "application/json");
    let request = request.body(Body::from(body.to_string())).unwrap();
    let (parts, body) = door.router.clone().oneshot(request).await.unwrap().into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap();
    (parts.status.as_u16(), String::from_utf8(bytes.to_vec()).unwrap())
}

#[tokio::test]
async fn every_route_answers_503_after_a_few_tries() {
    let model = ScriptedModel::start().await.unwrap();
    let door = Door::open(&model, closed, |_| {});
    let file = json!({"requestId": "s1", "fileName": "a.md", "fileSize": 1, "content": "x"});
    let question = Question::of("Is anybody there?", "s1");
    let run = format!("/runs/run_{}/stop", "0".repeat(32));
    let mut routes = vec![
        ("POST", run.as_str(), json!({})),
        ("POST", "/v1/file_tool/upload_file", file.clone()),
        ("POST", "/v1/file_tool/upload_url", file.clone()),
        ("POST", "/v1/file_tool/get_file", file.clone()),
        ("POST", "/v1/file_tool/get_file_list", file),
        ("GET", "/v1/file_tool/preview/s1/a.md", json!({})),
    ];
    let questions =
        Protocol::ALL.map(|protocol| ("POST", protocol.path(), protocol.body(&question)));
    routes.extend(questions);
    for (method, path, body) in routes {
        let (status, text) = sent(&door, method, path, &body).await;
        assert_eq!(status, 503, "{path}: {text}");
        assert!(text.contains("store_unavailable") && !text.contains("127.0.0.1"), "{text}");
        assert_eq!(text.contains("\"finished\":true"), path == Protocol::Ui.path(), "{text}");
        let tries: u64 = door.aws.request_counter().take_counts().values().sum();
        assert!((2..=12).contains(&tries), "{path}: {tries} tries");
    }
    assert_eq!(model.requests().len(), 0);
}
