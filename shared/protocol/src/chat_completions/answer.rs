//! The parts of an answer, as chunks or as a document.

use djinn_core::id::RunId;
use serde_json::{Value, json};

use super::ChatForm;
use crate::body::{ChatAnswerBody, ChatChoiceBody, ChatCompletionBody, ChatUsageBody};
use crate::connection::Frame;

/// A part of the answer.
pub(super) enum Part {
    Content(String),
    Reasoning(String),
    End(ChatEnd),
}

/// The end of the answer.
pub(super) struct ChatEnd {
    /// The whole text of a document.
    pub(super) text: String,
    pub(super) reason: &'static str,
    pub(super) usage: Option<ChatUsageBody>,
}

/// The facts in every chunk of an answer.
pub(super) struct Answer<'a> {
    pub(super) run: &'a RunId,
    pub(super) model: &'a str,
    /// The start of the run, Unix seconds.
    pub(super) created_s: i64,
}

impl Answer<'_> {
    /// Returns the frames of a part. A document is sent at the end.
    pub(super) fn encode(&self, part: Part, form: ChatForm) -> Vec<Frame> {
        match (part, form) {
            (Part::Content(text), ChatForm::Stream { .. }) if text.is_empty() => {
                vec![self.chunk(&json!({"role": "assistant", "content": ""}), None)]
            }
            (Part::Content(text), ChatForm::Stream { .. }) => {
                vec![self.chunk(&json!({"content": text}), None)]
            }
            (Part::Reasoning(text), ChatForm::Stream { .. }) => {
                vec![self.chunk(&json!({"reasoning_content": text}), None)]
            }
            (Part::Content(_) | Part::Reasoning(_), ChatForm::Document) => Vec::new(),
            (Part::End(end), ChatForm::Stream { usage }) => {
                let last = self.chunk(&json!({}), Some(end.reason));
                let usage = end.usage.filter(|_| usage).map(|usage| {
                    let mut chunk = self.object(&json!([]));
                    if let Some(members) = chunk.as_object_mut() {
                        members.insert("usage".to_owned(), json!(usage));
                    }
                    data(&chunk)
                });
                let done = Frame::Data { event: None, data: "[DONE]".to_owned() };
                [last].into_iter().chain(usage).chain([done]).collect()
            }
            (Part::End(end), ChatForm::Document) => {
                let message = ChatAnswerBody { role: "assistant", content: end.text };
                let Self { run, model, created_s } = *self;
                let document = ChatCompletionBody {
                    id: run,
                    object: "chat.completion",
                    created: created_s,
                    model,
                    choices: [ChatChoiceBody { index: 0, message, finish_reason: end.reason }],
                    usage: end.usage,
                };
                vec![Frame::Raw(json!(document).to_string())]
            }
        }
    }

    fn chunk(&self, delta: &Value, reason: Option<&str>) -> Frame {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        data(&self.object(&json!([choice])))
    }

    fn object(&self, choices: &Value) -> Value {
        let Self { run, model, created_s } = self;
        json!({
            "id": run, "object": "chat.completion.chunk", "created": created_s, "model": model, "choices": choices,
        })
    }
}

fn data(value: &Value) -> Frame {
    Frame::Data { event: None, data: value.to_string() }
}
