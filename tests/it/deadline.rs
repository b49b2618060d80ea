//! An invocation that ends before its run: the client is told how to go on, and does.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use djinn_runtime::port::clock::Clock as _;
use djinn_runtime::settings::Settings;
use djinn_scripted::ScriptedModel;
use tower::ServiceExt as _;

use crate::world::{Door, Frame, Protocol, Question, quick, received};

/// Asks in an invocation that has no more time than it takes to start, and returns its frames.
async fn handed_over(door: &Door, protocol: Protocol, question: &Question) -> Vec<Frame> {
    let mut context = lambda_http::Context::default();
    context.deadline = u64::try_from(door.ports.clock.now_ms()).unwrap() + 400;
    let request = Request::post(protocol.path()).header("accept", "text/event-stream");
    let request = request.header("content-type", "application/json");
    let body = Body::from(protocol.body(question).to_string());
    let request = request.extension(context).body(body).unwrap();
    let answer = door.router.clone().oneshot(request).await.unwrap();
    let bytes = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    received(&text).into_iter().map(Frame::Data).collect()
}

#[tokio::test]
async fn the_client_is_told_how_to_go_on_and_the_run_goes_on_meanwhile() {
    let model = ScriptedModel::start().await.unwrap();
    let mut door = Door::open(
        &model,
        |_| {},
        |parts| {
            let hand_over_margin = Duration::from_millis(200);
            parts.ports.settings = Arc::new(Settings { hand_over_margin, ..quick() });
        },
    );
    let client = door.listen().await;
    for protocol in Protocol::ALL {
        let text = format!("How long, {protocol:?}?");
        let rule = model.on(text.as_str()).reply("Not finished").hang_after(2).then();
        let gate = rule.reply("Long enough.").gate(1);
        let question = Question::of(&text, &format!("{protocol:?}"));
        let frames = handed_over(&door, protocol, &question).await;
        let last = frames.last().unwrap();
        // The executor has taken the run over.
        gate.wait_until_reached().await;
        let goes_on = question.going_on(protocol, last);
        let following = client.ask(protocol, &goes_on).await;
        gate.open();
        let told = following.rest().await;
        assert!(told.last().unwrap().json().to_string().contains("Long enough."), "{told:?}");
        assert!(told.iter().all(|frame| !frame.json().to_string().contains("run.resumed")));
    }
    model.assert_done();
}
