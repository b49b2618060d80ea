//! Who asks, as AWS says it: the account is the tenant, the ARN the user, with its session or without it.

use agent::{Auth, IamUser};
use axum::body::to_bytes;
use djinn_scripted::ScriptedModel;
use serde_json::{Value, json};

use crate::world::{Door, caller_v1, caller_v2, not_local};

const ANNA: &str = "arn:aws:sts::123456789012:assumed-role/Analyst/anna@example.com";
const BERT: &str = "arn:aws:sts::123456789012:assumed-role/Analyst/bert@example.com";
const MALLORY: &str = "arn:aws:sts::999999999999:assumed-role/Analyst/anna@example.com";

async fn deployed() -> (ScriptedModel, Door) {
    let model = ScriptedModel::start().await.unwrap();
    let door = Door::open(&model, |_| {}, not_local);
    (model, door)
}

/// The run of a question and the whole stream that answered it.
async fn asked(door: &Door, event: Value) -> (String, String) {
    let (parts, body) = door.answer(event).await.into_parts();
    assert_eq!(parts.status, 200);
    assert!(!parts.headers.contains_key("access-control-allow-origin"), "AWS answers CORS");
    let run = parts.headers["djinn-run-id"].to_str().unwrap().to_owned();
    let bytes = to_bytes(body, usize::MAX).await.unwrap();
    (run, String::from_utf8(bytes.to_vec()).unwrap())
}

#[tokio::test]
async fn both_kinds_of_event_are_the_same_caller_and_the_same_run() {
    let (model, door) = deployed().await;
    model.on("Who am I?").reply("An analyst.");
    let question = json!({"question": "Who am I?", "session_id": "s1", "request_id": "r1"});
    let (first, told) = asked(&door, caller_v2(Some(ANNA), "POST", "/runs", &question)).await;
    assert!(told.contains("event: run.ended"), "{told}");
    for event in [
        caller_v1(Some(ANNA), "POST", "/runs", &question),
        caller_v2(Some(ANNA), "POST", "/runs", &question),
    ] {
        let (again, retold) = asked(&door, event).await;
        assert_eq!((again.as_str(), retold.lines().last()), (first.as_str(), told.lines().last()));
    }
    model.assert_done();
}

/// How somebody else with the role sees what Anna asked: the status of her run, and the runs in the list.
async fn seen_behind_one_role(user: IamUser) -> (u16, usize) {
    let model = ScriptedModel::start().await.unwrap();
    let door = Door::open(
        &model,
        |_| {},
        |parts| {
            not_local(parts);
            parts.settings.auth = Auth::Iam(user);
        },
    );
    model.on("Who am I?").reply("An analyst.");
    let question = json!({"question": "Who am I?", "session_id": "s1", "request_id": "r1"});
    let (run, _) = asked(&door, caller_v2(Some(ANNA), "POST", "/runs", &question)).await;
    let mut seen = Vec::new();
    for caller in [caller_v1, caller_v2] {
        let bert = |path: &str| caller(Some(BERT), "GET", path, &json!({}));
        let (status, _) = door.status_and_json(bert(&format!("/runs/{run}"))).await;
        let (_, list) = door.status_and_json(bert("/runs")).await;
        seen.push((status, list["runs"].as_array().unwrap().len()));
    }
    assert_eq!(seen[0], seen[1]);
    seen[0]
}

#[tokio::test]
async fn people_behind_one_role_are_apart_unless_the_role_is_the_user() {
    assert_eq!(seen_behind_one_role(IamUser::default()).await, (404, 0));
    assert_eq!(seen_behind_one_role(IamUser::Role).await, (200, 1));
}

#[tokio::test]
async fn people_of_an_identity_pool_have_a_name_or_none() {
    let (_model, door) = deployed().await;
    let pool = "arn:aws:sts::123456789012:assumed-role/Pool/CognitoIdentityCredentials";
    let mut event = caller_v1(Some(pool), "GET", "/runs", &json!({}));
    let (status, nobody) = door.status_and_json(event.clone()).await;
    assert_eq!((status, &nobody["code"]), (503, &json!("no_identity")));
    event["requestContext"]["identity"]["cognitoIdentityId"] = "eu-west-1:0a".into();
    assert_eq!(door.status_and_json(event).await.0, 200);
}

#[tokio::test]
async fn links_lead_to_the_domain_that_aws_names() {
    let (_model, door) = deployed().await;
    let file = json!({"requestId": "s1", "fileName": "a.md", "content": "x"});
    let path = "/v1/file_tool/upload_file";
    let events = [
        (caller_v2(Some(ANNA), "POST", path, &file), "https://d.lambda-url.eu-west-1.on.aws"),
        (
            caller_v1(Some(ANNA), "POST", path, &file),
            "https://a.execute-api.eu-west-1.amazonaws.com/dev",
        ),
    ];
    for (event, origin) in events {
        let (status, place) = door.status_and_json(event).await;
        let url = format!("{origin}/v1/file_tool/preview/s1/a.md");
        assert_eq!((status, &place["domainUrl"]), (200, &json!(url)));
    }
}

#[tokio::test]
async fn another_tenants_runs_and_files_do_not_exist() {
    let (model, door) = deployed().await;
    model.on("What is secret?").reply("This.");
    let question = json!({"question": "What is secret?", "session_id": "s1", "request_id": "r1"});
    let (run, _) = asked(&door, caller_v2(Some(ANNA), "POST", "/runs", &question)).await;
    let file = json!({"requestId": "s1", "fileName": "secret.md", "content": "x"});
    let upload = caller_v2(Some(ANNA), "POST", "/v1/file_tool/upload_file", &file);
    assert_eq!(door.status_and_json(upload).await.0, 200);

    let stop = format!("/runs/{run}/stop");
    let rows = [
        ("POST", stop.as_str(), json!({}), 200, "run_not_found"),
        ("POST", "/v1/file_tool/get_file", file.clone(), 200, "file_not_found"),
        ("GET", "/v1/file_tool/preview/s1/secret.md", json!({}), 302, "file_not_found"),
        ("GET", "/v1/file_tool/download/r1/secret.md", json!({}), 302, "file_not_found"),
    ];
    for (method, path, body, own, code) in rows {
        for caller in [caller_v1, caller_v2] {
            let (status, _) = door.status_and_json(caller(Some(ANNA), method, path, &body)).await;
            assert_eq!(status, own, "{path}");
            let (status, answer) =
                door.status_and_json(caller(Some(MALLORY), method, path, &body)).await;
            assert_eq!((status, &answer["code"]), (404, &json!(code)), "{path}");
        }
    }
    let list = caller_v2(Some(MALLORY), "POST", "/v1/file_tool/get_file_list", &file);
    assert_eq!(door.status_and_json(list).await.1, json!({"results": [], "totalSize": 0}));

    // The same labels are another run, whose model sees nothing of the first.
    model.on("What is secret?").reply("I do not know.");
    let (other, told) = asked(&door, caller_v2(Some(MALLORY), "POST", "/runs", &question)).await;
    assert!(other != run && told.contains("I do not know."), "{told}");
    assert_eq!(model.last_request().unwrap().messages().len(), 1);
}

#[tokio::test]
async fn nobody_is_answered_503_with_what_to_set() {
    let (model, door) = deployed().await;
    let question = json!({"question": "Who am I?", "query": "Who am I?", "requestId": "s1"});
    for caller in [caller_v1, caller_v2] {
        for path in ["/runs", "/AutoAgent", "/v1/file_tool/get_file_list", "/runs/run_1/stop"] {
            let (status, body) = door.status_and_json(caller(None, "POST", path, &question)).await;
            assert_eq!((status, &body["code"]), (503, &json!("no_identity")), "{path}");
            let message = body["message"].as_str().unwrap();
            assert!(message.contains("AWS_IAM") && message.contains("DJINN_LOCAL=1"), "{message}");
        }
        let ui = "/web/api/v1/gpt/queryAgentStreamIncr";
        let answer = door.answer(caller(None, "POST", ui, &question)).await;
        assert_eq!(answer.status(), 503);
        let bytes = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        assert!(text.contains("\"finished\":true") && text.contains("DJINN_LOCAL"), "{text}");
    }
    assert_eq!(model.requests().len(), 0);
}

#[tokio::test]
async fn a_tenant_in_the_request_is_none() {
    let (_model, door) = deployed().await;
    let file = json!({"requestId": "s1", "fileName": "a.md", "content": "x",
        "tenant": "999999999999", "accountId": "999999999999", "erp": "x"});
    let upload = caller_v2(Some(ANNA), "POST", "/v1/file_tool/upload_file", &file);
    assert_eq!(door.status_and_json(upload).await.0, 200);
    let get = caller_v2(Some(MALLORY), "POST", "/v1/file_tool/get_file", &file);
    assert_eq!(door.status_and_json(get).await.0, 404);
}

/// A form with the parts `requestId` (s1) and `file` (数据.csv, three bytes that are no text).
const FORM: &str = "LS1iMA0KQ29udGVudC1EaXNwb3NpdGlvbjogZm9ybS1kYXRhOyBuYW1lPSJyZXF1ZXN0SWQiDQoNCnMxDQotLWIwDQ\
     pDb250ZW50LURpc3Bvc2l0aW9uOiBmb3JtLWRhdGE7IG5hbWU9ImZpbGUiOyBmaWxlbmFtZT0i5pWw5o2uLmNzdiIN\
     Cg0K/wABDQotLWIwLS0NCg==";

#[tokio::test]
async fn a_form_arrives_as_base64_and_is_kept_as_its_bytes() {
    let (_model, door) = deployed().await;
    for caller in [caller_v1, caller_v2] {
        let mut event = caller(Some(ANNA), "POST", "/v1/file_tool/upload_file_data", &json!({}));
        event["headers"]["content-type"] = "multipart/form-data; boundary=b0".into();
        event["body"] = FORM.into();
        event["isBase64Encoded"] = true.into();
        let (status, place) = door.status_and_json(event).await;
        assert_eq!((status, &place["fileName"]), (200, &json!("数据.csv")), "{place}");
        assert_eq!(place["fileSize"], 3);
    }
}
