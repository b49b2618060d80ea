//! Chunks arrive one by one, exactly as scripted.

use djinn_scripted::{ChunkGate, ScriptedModel, ScriptedResponse};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{anthropic_question, ask, chunk, content, post, question};

#[tokio::test]
async fn a_gate_holds_the_next_chunk_and_nothing_before_it() {
    let server = ScriptedModel::start().await.unwrap();
    let rule = server.on("hello").deltas(["a", "b", "c"]);
    let (second, end) = (rule.gate(2), rule.gate(4));

    let mut response = ask(&server, "hello").await;
    assert!(chunk(&mut response).await.contains("assistant"));
    assert_eq!(content(&chunk(&mut response).await), ["a"]);
    second.wait_until_reached().await;
    let request = server.last_request().unwrap();
    assert_eq!(request.chunks_sent(), 2);

    second.open();
    assert_eq!(content(&chunk(&mut response).await), ["b"]);
    assert_eq!(content(&chunk(&mut response).await), ["c"]);
    end.wait_until_reached().await;
    assert_eq!(request.chunks_sent(), 4);
    end.open();
    let rest = chunk(&mut response).await;
    assert!(rest.contains(r#""finish_reason":"stop""#) && rest.ends_with("data: [DONE]\n\n"));
    assert_eq!(chunk(&mut response).await, "");
    request.wait_until_ended().await;
    assert!(!request.is_closed_early());
    server.assert_done();
}

#[tokio::test]
async fn chunks_are_numbered_alike_for_anthropic() {
    let server = ScriptedModel::start().await.unwrap();
    let rule = server.on("hello").reason("hm").deltas(["a", "b"]);
    let gates = [rule.gate(1), rule.gate(2), rule.gate(3), rule.gate(4)];

    let mut response = post(&server, "messages", &anthropic_question("hello")).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
    let expected = ["message_start", "signature_delta", r#""text":"a""#, "content_block_stop"];
    for (gate, expected) in gates.iter().zip(expected) {
        assert!(chunk(&mut response).await.contains(expected), "{expected}");
        gate.wait_until_reached().await;
        gate.open();
    }
    assert!(chunk(&mut response).await.contains("message_stop"));
    server.assert_done();
}

#[tokio::test]
async fn each_chunk_is_an_http_chunk_of_its_own() {
    let server = ScriptedModel::start().await.unwrap();
    // The euro sign is split: its bytes are e2 82 ac.
    let chunks: [&[u8]; 3] = [b"data: {\"price\": \"3 \xe2", b"\x82\xac\"}\n", b"\n"];
    server.on("hello").raw("text/plain", chunks);

    let mut socket = TcpStream::connect(server.address()).await.unwrap();
    let body = question("hello").to_string();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all((head + &body).as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).await.unwrap();

    let split = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let (head, body) = answer.split_at(split + 4);
    assert!(String::from_utf8_lossy(head).contains("content-type: text/plain\r\n"));
    let framed = chunks.iter().flat_map(|chunk| {
        let size = format!("{:X}\r\n", chunk.len()).into_bytes();
        [size, chunk.to_vec(), b"\r\n".to_vec()].concat()
    });
    let framed: Vec<u8> = framed.chain(*b"0\r\n\r\n").collect();
    assert_eq!(body, framed);
    let sent = server.last_request().unwrap();
    assert_eq!((sent.chunks_sent(), sent.bytes_sent()), (3, chunks.concat().len()));
}

#[tokio::test]
async fn long_texts_come_in_deltas_of_the_chosen_length() {
    let server = ScriptedModel::start().await.unwrap();
    server.on("hello").reply("你好，世界！").delta_chars(4);
    let stream = ask(&server, "hello").await.text().await.unwrap();
    assert_eq!(content(&stream), ["你好，世", "界！"]);
}

#[tokio::test]
async fn a_function_may_answer_and_gate_too() {
    let server = ScriptedModel::start().await.unwrap();
    let gate = ChunkGate::default();
    let held = gate.clone();
    server.on_request(|_| true).respond_with(move |request| {
        let answer = format!("{} asks {}", request.model(), request.last_user_text());
        ScriptedResponse::default().reply(answer).delta_chars(100).with_gate(1, held.clone())
    });
    let mut response = ask(&server, "why?").await;
    chunk(&mut response).await;
    gate.wait_until_reached().await;
    gate.open();
    assert_eq!(content(&chunk(&mut response).await), ["gpt-test asks why?"]);
}

#[tokio::test]
async fn dropping_the_server_breaks_responses_off() {
    let server = ScriptedModel::start().await.unwrap();
    let gate = server.on("hello").reply("never").gate(1);
    let mut response = ask(&server, "hello").await;
    chunk(&mut response).await;
    gate.wait_until_reached().await;
    let (request, address) = (server.last_request().unwrap(), server.address());
    drop(server);
    assert!(response.chunk().await.is_err());
    request.wait_until_ended().await;
    assert!(!request.is_closed_early());
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
}
