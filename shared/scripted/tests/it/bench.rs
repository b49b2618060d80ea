//! The benchmark model: the turns and bytes of its runs.

use djinn_scripted::{Bench, Script, ScriptedModel};
use genai::adapter::AdapterKind;
use genai::chat::{ChatMessage, ChatRequest, ContentPart, MessageContent, ToolResponse};

use crate::agent::{Client, tool};

#[tokio::test]
async fn a_run_has_the_promised_size() {
    let server = ScriptedModel::start_with(Script::bench(Bench::default())).await.unwrap();
    let client = Client::new(&server, AdapterKind::OpenAI);
    let mut messages = vec![ChatMessage::user("work")];
    let (mut calls, mut deltas) = (Vec::new(), 0);
    loop {
        let request = ChatRequest::new(messages.clone()).with_tools(vec![tool("file_tool")]);
        let reply = client.ask(request).await.unwrap();
        deltas += reply.deltas;
        if reply.calls.is_empty() {
            break;
        }
        let mut content = MessageContent::from_text(reply.text);
        let mut results = Vec::new();
        for call in reply.calls {
            calls.push(call.fn_arguments.clone());
            results.push(ChatMessage::from(ToolResponse::from_tool_call(&call, "done")));
            content.push(ContentPart::ToolCall(call));
        }
        messages.push(ChatMessage::assistant(content));
        messages.extend(results);
    }
    assert_eq!((server.requests().len(), calls.len(), deltas), (5, 5, 200));
    calls.dedup();
    assert_eq!(calls.len(), 5, "no call repeats another");
    server.assert_done();
}
