//! Waiting: for the first byte, the next one, the whole, and for nobody any more.

use std::sync::Arc;
use std::time::Duration;

use djinn_core::input::Reply;
use djinn_model::ModelSettings;
use djinn_runtime::port::model::{Delta, Model as _, ModelError, ModelErrorKind};
use tokio::sync::{Notify, oneshot};

use crate::server::{End, Script, Server};
use crate::world::{ask, model, models, request};

const CALL: &str = "run_1/t1/1";
const NEVER: Duration = Duration::from_secs(600);
const SOON: Duration = Duration::from_millis(80);

/// Asks a server that says this much and then falls silent.
async fn ask_until(
    body: &str,
    end: End,
    change: impl FnOnce(&mut ModelSettings),
) -> Result<Reply, ModelError> {
    let (server, address) = Server::start().await;
    let script = Script { end, ..Script::ok(vec![body.as_bytes().to_vec()]) };
    server.on(CALL, script);
    let mut settings = model("openai", address);
    settings.first_byte_timeout = NEVER;
    settings.chunk_timeout = NEVER;
    settings.call_timeout = NEVER;
    change(&mut settings);
    ask(&models(settings), &request(CALL)).await
}

const PIECE: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
const FINISH: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\n";

#[tokio::test]
async fn no_answer_and_no_body_are_too_slow() {
    for (body, end) in [("", End::NoAnswer), ("", End::Silence), ("data: {\"choi", End::Silence)] {
        let change = |settings: &mut ModelSettings| settings.first_byte_timeout = SOON;
        let error = ask_until(body, end, change).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Unreachable);
        assert_eq!(error.detail, "127.0.0.1 did not answer within 0.08 s");
        assert!(error.usage.took_ms >= 80, "{:?}", error.usage);
    }
}

#[tokio::test]
async fn silence_within_a_reply_is_too_slow() {
    for body in [PIECE, ": keep-alive\n\n", &format!("{PIECE}data: {{\"cho")] {
        let change = |settings: &mut ModelSettings| settings.chunk_timeout = SOON;
        let error = ask_until(body, End::Silence, change).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Unreachable);
        assert_eq!(error.detail, "127.0.0.1 fell silent for 0.08 s");
    }
}

#[tokio::test]
async fn a_call_as_a_whole_may_be_too_slow() {
    let change = |settings: &mut ModelSettings| settings.call_timeout = SOON;
    let error = ask_until(PIECE, End::Silence, change).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Unreachable);
    assert_eq!(error.detail, "127.0.0.1 did not finish within 0.08 s");
}

#[tokio::test]
async fn a_reply_that_has_ended_does_not_wait_for_its_connection() {
    let change = |settings: &mut ModelSettings| settings.chunk_timeout = SOON;
    let reply = ask_until(&format!("{PIECE}{FINISH}"), End::Silence, change).await.unwrap();
    assert_eq!(reply.text, "ab");
    assert_eq!(reply.usage.input_tokens, 3);
    // With the last word there is nothing to wait for at all.
    let body = format!("{PIECE}{FINISH}data: [DONE]\n\n");
    let reply = ask_until(&body, End::Silence, |_| {}).await.unwrap();
    assert_eq!(reply.text, "ab");
}

#[tokio::test]
async fn an_endless_reply_is_ended() {
    let long = "x".repeat(60_000);
    let body =
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{long}\"}}}}]}}\n\n").repeat(150);
    let error = ask_until(&body, End::Silence, |_| {}).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Unreadable);
    assert_eq!(error.detail, "the reply is longer than 8 MB");
}

#[tokio::test]
async fn dropping_a_call_closes_its_connection() {
    let (server, address) = Server::start().await;
    let script = Script { end: End::Silence, ..Script::ok(vec![PIECE.as_bytes().to_vec()]) };
    server.on(CALL, script);
    let models = models(model("openai", address));
    let (told, hears) = oneshot::channel();
    let mut told = Some(told);
    let request = request(CALL);
    let mut on_delta = |_: Delta<'_>| {
        if let Some(told) = told.take() {
            let _ = told.send(());
        }
    };
    tokio::select! {
        _ = models.call(&request, &mut on_delta) => panic!("the server never ends its reply"),
        heard = hears => heard.unwrap(),
    }
    // Hangs if the connection stays.
    server.connection_closed().await;
}

/// The clocks of the machine run on while a process is stopped; what was said meanwhile is read after.
#[tokio::test]
async fn a_silence_in_which_the_process_stood_still_is_none() {
    let (server, address) = Server::start().await;
    let held = Arc::new(Notify::new());
    let chunks = vec![PIECE.as_bytes().to_vec(), FINISH.as_bytes().to_vec()];
    server.on(CALL, Script { held: Some(Arc::clone(&held)), ..Script::ok(chunks) });
    let mut settings = model("openai", address);
    settings.first_byte_timeout = Duration::from_secs(20);
    settings.chunk_timeout = Duration::from_secs(20);
    settings.call_timeout = Duration::from_secs(25);
    let (models, request) = (models(settings), request(CALL));
    let (told, hears) = oneshot::channel();
    let mut told = Some(told);
    let mut on_delta = |_: Delta<'_>| {
        if let Some(told) = told.take() {
            told.send(()).unwrap();
        }
    };
    let stands_still = async {
        hears.await.unwrap();
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(40)).await;
        tokio::time::resume();
        held.notify_one();
    };
    let (reply, ()) = tokio::join!(models.call(&request, &mut on_delta), stands_still);
    assert_eq!(reply.unwrap().text, "ab");
}

/// A provider may take its time for each piece, as long as something moves.
#[tokio::test]
async fn the_first_piece_may_take_longer_than_the_others() {
    let change = |settings: &mut ModelSettings| {
        settings.chunk_timeout = Duration::from_millis(1);
        settings.first_byte_timeout = SOON;
    };
    let error = ask_until("", End::Silence, change).await.unwrap_err();
    assert_eq!(error.detail, "127.0.0.1 did not answer within 0.08 s");
}
