//! The most common chunk: one piece of text without other content.
//!
//! The chunk is parsed without a tree of values, and so without a hash table for each object.
//! [`read_plain_delta`] rejects every other chunk, and the full reader takes over.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::draft::{DeltaSink, Draft};

/// Ignored fields are listed, so that a chunk with any other field is rejected.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "what is named and not read is let through")]
struct PlainChunk<'a> {
    id: Option<IgnoredAny>,
    object: Option<&'a str>,
    created: Option<IgnoredAny>,
    model: Option<IgnoredAny>,
    system_fingerprint: Option<IgnoredAny>,
    service_tier: Option<IgnoredAny>,
    obfuscation: Option<IgnoredAny>,
    provider: Option<IgnoredAny>,
    usage: Option<Nothing>,
    #[serde(borrow)]
    choices: [PlainChoice<'a>; 1],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "what is named and not read is let through")]
struct PlainChoice<'a> {
    index: Option<IgnoredAny>,
    logprobs: Option<IgnoredAny>,
    finish_reason: Option<Nothing>,
    #[serde(borrow)]
    delta: PlainDelta<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "what is named and not read is let through")]
struct PlainDelta<'a> {
    role: Option<IgnoredAny>,
    refusal: Option<Nothing>,
    reasoning_content: Option<Nothing>,
    reasoning: Option<Nothing>,
    tool_calls: Option<Nothing>,
    function_call: Option<Nothing>,
    #[serde(borrow)]
    content: Cow<'a, str>,
}

/// A field allowed only as `null`.
#[derive(Deserialize)]
enum Nothing {}

/// Reads a chunk with one piece of text. Returns false, without side effects, for every other chunk.
pub(in crate::frames) fn read_plain_delta(
    frame: &str,
    draft: &mut Draft,
    out: DeltaSink<'_>,
) -> bool {
    let Ok(PlainChunk { object, choices: [choice], .. }) = serde_json::from_str(frame) else {
        return false;
    };
    if object == Some("error") {
        return false;
    }
    draft.append_text(&choice.delta.content, out);
    true
}

#[cfg(test)]
mod tests {
    use djinn_runtime::port::model::Delta;

    use super::super::read_chunk;
    use super::*;
    use crate::settings::FunctionCallType;

    fn with_draft(read: impl FnOnce(&mut Draft, DeltaSink<'_>)) -> (String, String) {
        let mut draft = Draft::new("openai/m".to_owned(), FunctionCallType::FunctionCall);
        let mut shown = String::new();
        read(&mut draft, &mut |delta: Delta<'_>| shown.push_str(delta.text));
        (shown, format!("{draft:?}"))
    }

    #[test]
    fn a_plain_delta_makes_of_a_reply_what_reading_it_in_full_does() {
        for frame in [
            r#"{"choices":[{"delta":{"content":"a"}}]}"#,
            r#"{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":null,
                "usage":null,"choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},
                "logprobs":null,"finish_reason":null}]}"#,
            r#"{"choices":[{"delta":{"content":"\"\u754c\n<think>\" b"}}],"obfuscation":"xx"}"#,
            r#"{"choices":[{"delta":{"reasoning_content":null,"content":"b","tool_calls":null}}]}"#,
        ] {
            let mut is_plain = false;
            let plain = with_draft(|draft, out| is_plain = read_plain_delta(frame, draft, out));
            let value = serde_json::from_str(frame).unwrap();
            assert!(is_plain, "{frame}");
            assert_eq!(plain, with_draft(|draft, out| read_chunk(&value, draft, out)));
        }
    }

    #[test]
    fn a_chunk_that_says_anything_else_is_left_to_be_read_in_full() {
        for frame in [
            r#"{"choices":[]}"#,
            r#"{"choices":[{"delta":{}}]}"#,
            r#"{"choices":[{"delta":{"content":null}}]}"#,
            r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}"#,
            r#"{"choices":[{"delta":{"content":"a","tool_calls":[]}}]}"#,
            r#"{"choices":[{"delta":{"content":"a","reasoning":"b"}}]}"#,
            r#"{"choices":[{"delta":{"content":"a"}}],"usage":{"total_tokens":1}}"#,
            r#"{"choices":[{"delta":{"content":"a"}}],"error":{"message":"no"}}"#,
            r#"{"choices":[{"delta":{"content":"a"}}],"base_resp":{"status_code":1}}"#,
            r#"{"choices":[{"delta":{"content":"a"}}],"object":"error"}"#,
            r#"{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"}}]}"#,
            r#"{"choices":[{"delta":{"content":"a"}}]} x"#,
            r#"{"choices":[{"delta":{"content":"a","content":"b"}}]}"#,
        ] {
            let untouched = with_draft(|_, _| ());
            let read =
                with_draft(|draft, out| assert!(!read_plain_delta(frame, draft, out), "{frame}"));
            assert_eq!(read, untouched, "{frame}");
        }
    }
}
