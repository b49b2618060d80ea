use djinn_runtime::port::outside::{PageOutcome, PageTarget};
use serde_json::{Value, json};

use super::*;
use crate::clients::tests::{clients_over, replay_of};
use crate::item::sample;
use crate::replay::{Replay, response};
use crate::settings::{Endpoints, Settings};

const PAGES: &str = r#"{"answer": {"v": 1, "content": {"kind": "read", "value": [
    {"url": "https://example.com/", "outcome": {"page": {
        "url": "https://example.com/", "title": "T", "text": "words", "total_chars": 5}}}]}}}"#;
const HITS: &str = r#"{"answer": {"v": 1, "content": {"kind": "search", "value": {
    "results": [{"query": "heat pumps", "hits": []}]}}}}"#;

/// A gateway whose store is on this machine, where nobody listens.
fn gateway_over(http: &Replay) -> LambdaGateway {
    let s3 = Some("http://127.0.0.1:9".to_owned());
    let endpoints = Endpoints { s3, ..Endpoints::default() };
    gateway_with(Settings { endpoints, ..Settings::new("t", "b") }, http)
}

fn gateway_with(settings: Settings, http: &Replay) -> LambdaGateway {
    let store = AwsStore::new(clients_over(settings, http.clone()));
    let functions =
        GatewayFunctions { fetch: Some("fetch".to_owned()), call: Some("call".to_owned()) };
    LambdaGateway::new(functions, store)
}

fn context() -> OutsideContext {
    OutsideContext { session: sample::session(), user: sample::user() }
}

fn pages() -> ReadJob {
    ReadJob { pages: vec![PageTarget::new("https://example.com/")] }
}

fn search() -> SearchJob {
    SearchJob { queries: vec!["heat pumps".to_owned()], hits: 5 }
}

#[tokio::test]
async fn pages_are_read_by_one_function_and_engines_asked_by_another() {
    let http = replay_of(&[(200, PAGES), (200, HITS)]);
    let gateway = gateway_over(&http);
    let read = gateway.read_pages(&context(), pages()).await.unwrap();
    let PageOutcome::Page(page) = &read[0].outcome else { panic!("{read:?}") };
    assert_eq!((page.title.as_str(), page.text.as_str()), ("T", "words"));
    let answer = gateway.search_web(&context(), search()).await.unwrap();
    assert_eq!(answer.results[0].query, "heat pumps");
    let requests = http.take_requests();
    for (request, function, tenant) in
        [(&requests[0], "fetch", None), (&requests[1], "call", Some("t"))]
    {
        let path = format!("/functions/{function}/invocations");
        assert!(request.uri().ends_with(&path), "{}", request.uri());
        assert_eq!(request.headers().get("x-amz-tenant-id"), tenant, "{function}");
    }
    let sent = |number: usize| -> Value {
        serde_json::from_slice(requests[number].body().bytes().unwrap()).unwrap()
    };
    let put = sent(0)["put_answer"]["url"].as_str().unwrap().to_owned();
    assert!(put.starts_with("http://127.0.0.1:9/b/tenants/t/sandbox/"), "{put}");
    assert_eq!(
        sent(1),
        json!({"v": 1, "job": {"kind": "search", "arguments": {
            "queries": ["heat pumps"], "hits": 5,
        }}})
    );
}

#[tokio::test]
async fn tools_are_called_by_the_function_with_keys_and_may_answer_at_length() {
    let called = r#"{"v": 1, "content": {"kind": "call", "value": {"done": {"text": "sunny"}}}}"#;
    let http = replay_of(&[(200, r#""stored""#), (206, called), (204, ""), (200, HITS)]);
    let gateway = gateway_with(Settings::new("t", "b"), &http);
    let job = ToolJob {
        user_key: None,
        tool: "weather".to_owned(),
        definition: "d".to_owned(),
        arguments: json!({"city": "Bern"}),
        idempotency_key: "k".to_owned(),
    };
    let answer = gateway.call_tool(&context(), job.clone()).await.unwrap();
    assert_eq!(answer, ToolAnswer::Done { text: "sunny".to_owned(), files: Vec::new() });
    let requests = http.take_requests();
    assert!(requests[0].uri().ends_with("/functions/call/invocations"), "{}", requests[0].uri());
    assert_eq!(requests[0].headers().get("x-amz-tenant-id"), Some("t"));
    let sent: Value = serde_json::from_slice(requests[0].body().bytes().unwrap()).unwrap();
    assert_eq!(
        sent["job"],
        json!({"kind": "call", "arguments": {
            "tool": "weather", "definition": "d", "arguments": {"city": "Bern"},
            "idempotency_key": "k",
        }})
    );
    assert_eq!(gateway.call_tool(&context(), job).await, Err(other_answer()));
}

#[tokio::test]
async fn of_what_is_stored_no_more_is_read_than_an_answer_may_be() {
    let answer = r#"{"v": 1, "content": {"kind": "read", "value": []}}"#;
    let too_large = unavailable("what was read is more than an answer of the gateway may be");
    for (bytes, expected) in
        [(MAX_STORED_ANSWER, Ok(Vec::new())), (MAX_STORED_ANSWER + 1, Err(too_large))]
    {
        let stored = answer.to_owned() + &" ".repeat(bytes - answer.len());
        let http = replay_of(&[(200, r#""stored""#), (206, &stored), (204, "")]);
        let gateway = gateway_with(Settings::new("t", "b"), &http);
        assert_eq!(gateway.read_pages(&context(), pages()).await, expected);
        let requests = http.take_requests();
        let range = format!("bytes=0-{MAX_STORED_ANSWER}");
        assert_eq!(requests[1].headers().get("range"), Some(range.as_str()));
        assert_eq!(requests[2].method(), "DELETE");
    }
}

#[tokio::test]
async fn what_the_functions_could_not_do_is_said_in_a_sentence() {
    let busy = (429, "TooManyRequestsException");
    for (answers, expected) in [
        (vec![busy, (200, HITS)], None),
        (
            vec![busy, busy, busy],
            Some(unavailable("the gateway is at work: try again in a minute")),
        ),
        (
            vec![(403, "AccessDeniedException")],
            Some(OutsideError::Disabled(
                "the function call cannot be invoked: check DJINN_GATEWAY_CALL and the policy"
                    .into(),
            )),
        ),
        (
            vec![(500, "ServiceException")],
            Some(unavailable("the gateway could not be reached: ServiceException")),
        ),
        (
            vec![(200, r#"{"disabled": "set `search.engines`"}"#)],
            Some(OutsideError::Disabled("set `search.engines`".into())),
        ),
        (vec![(200, r#"{"refused": "no"}"#)], Some(OutsideError::Refused("no".into()))),
        (vec![(200, r#"{"unavailable": "no"}"#)], Some(unavailable("no"))),
        (
            vec![(200, "{}")],
            Some(unavailable(
                "the gateway's function answered what is no answer: deploy the whole stack",
            )),
        ),
        (
            vec![(200, PAGES)],
            Some(unavailable(
                "the gateway's function answered another question: deploy the whole stack",
            )),
        ),
        (
            vec![(200, r#"{"answer": {"v": 2, "content": {"kind": "read", "value": []}}}"#)],
            Some(unavailable("the gateway's function is of another version: deploy the stack")),
        ),
        (
            vec![(200, r#""stored""#)],
            Some(unavailable("the gateway's answer is not where it was put")),
        ),
        (Vec::new(), Some(unavailable("the gateway could not be reached"))),
    ] {
        let gateway = gateway_over(&replay_of(&answers));
        let answer = gateway.search_web(&context(), search()).await;
        assert_eq!(answer.err(), expected, "{answers:?}");
    }
}

#[tokio::test]
async fn a_function_that_failed_is_told_apart_from_one_that_was_late() {
    for (text, why) in [
        (r#"{"errorType": "Sandbox.Timedout"}"#, "its time was over"),
        (r#"{"errorType": "Runtime.ExitError"}"#, "see its log"),
    ] {
        let mut answer = response(200, text);
        answer.headers_mut().insert("x-amz-function-error", "Unhandled");
        let error = gateway_over(&Replay::new([answer])).read_pages(&context(), pages()).await;
        let expected = unavailable(&format!("the gateway's function failed: {why}"));
        assert_eq!(error.unwrap_err(), expected);
    }
}

#[tokio::test]
async fn without_a_function_nothing_is_asked_and_the_setting_is_named() {
    let http = replay_of(&[]);
    let store = AwsStore::new(clients_over(Settings::new("t", "b"), http.clone()));
    let gateway = LambdaGateway::new(GatewayFunctions::default(), store);
    let disabled =
        |setting: &str| OutsideError::Disabled(format!("no function does that: set {setting}"));
    let error = gateway.read_pages(&context(), pages()).await.unwrap_err();
    assert_eq!(error, disabled("DJINN_GATEWAY_FETCH"));
    let error = gateway.search_web(&context(), search()).await.unwrap_err();
    assert_eq!(error, disabled("DJINN_GATEWAY_CALL"));
    assert!(http.take_requests().is_empty());
}
