//! Reads a provider's frames into a draft, with a reader for each stream format.

mod anthropic;
mod genai_events;
mod ollama;
mod openai;
mod split_character;

use djinn_core::input::FinishReason;
use djinn_runtime::port::model::ModelErrorKind;
use serde_json::Value;

use crate::draft::{DeltaSink, Draft};
use crate::fault::ModelFault;
use crate::repair::loose;
use crate::settings::StreamFormat;
pub(crate) use genai_events::GenaiEventReader;
use split_character::SplitCharacter;

/// The reader of one stream's frames.
#[derive(Debug)]
pub(crate) struct FrameReader {
    format: StreamFormat,
    blocks: anthropic::BlockReader,
    pending: String,
    split: SplitCharacter,
}

impl FrameReader {
    pub(crate) fn new(shape: StreamFormat) -> Self {
        Self {
            format: shape,
            blocks: anthropic::BlockReader::default(),
            pending: String::new(),
            split: SplitCharacter::default(),
        }
    }

    /// Reads one frame. Comments, keep-alives and other text without JSON are ignored; invalid JSON marks the
    /// draft as incomplete.
    pub(crate) fn read_frame(&mut self, frame: &str, draft: &mut Draft, out: DeltaSink<'_>) {
        // genai takes a CRLF split over two chunks for the end of a frame, so a frame may arrive in two
        // parts.
        let first_part = std::mem::take(&mut self.pending);
        if !first_part.is_empty() {
            match serde_json::from_str(&format!("{first_part}\n{frame}")) {
                Ok(value) => return self.read_value(&value, draft, out),
                Err(error) if error.is_eof() && !is_json(frame) => {
                    self.pending = format!("{first_part}\n{frame}");
                    return;
                }
                Err(_) => draft.incomplete = true,
            }
        }
        let frame = frame.trim();
        if frame == "[DONE]" {
            draft.ended = true;
        } else if frame.starts_with(['{', '[']) {
            let is_read =
                self.format == StreamFormat::OpenAi && openai::read_plain_delta(frame, draft, out);
            if is_read {
                return;
            }
            match serde_json::from_str(frame) {
                Ok(value) => self.read_value(&value, draft, out),
                Err(error) if error.is_eof() => frame.clone_into(&mut self.pending),
                Err(_) => match self.parse_broken(frame) {
                    Some(value) => self.read_value(&value, draft, out),
                    None => draft.incomplete = true,
                },
            }
        }
    }

    /// Parses a frame with invalid JSON: joins the halves of a split character, then parses leniently.
    fn parse_broken(&mut self, frame: &str) -> Option<Value> {
        let whole_frame = self.split.join_halves(frame);
        if let Some(value) =
            whole_frame.as_deref().and_then(|frame| serde_json::from_str(frame).ok())
        {
            return Some(value);
        }
        match loose::parse_value(whole_frame.as_deref().unwrap_or(frame)) {
            Ok((value, "")) => Some(value),
            Ok(_) | Err(_) => None,
        }
    }

    /// Marks the end of the stream.
    pub(crate) fn end_stream(&mut self, draft: &mut Draft) {
        draft.incomplete |= !std::mem::take(&mut self.pending).is_empty();
    }

    fn read_value(&mut self, value: &Value, draft: &mut Draft, out: DeltaSink<'_>) {
        match self.format {
            StreamFormat::OpenAi => openai::read_chunk(value, draft, out),
            StreamFormat::Anthropic => self.blocks.read_event(value, draft, out),
            StreamFormat::Ollama => ollama::read_line(value, draft, out),
            StreamFormat::Events => {}
        }
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Sets the finish reason from a provider's word.
fn set_finish(reason: &str, draft: &mut Draft) {
    draft.finish = match reason {
        "" | "null" => return,
        "length"
        | "max_tokens"
        | "MAX_TOKENS"
        | "model_length"
        | "incomplete"
        | "max_output_tokens"
        | "model_context_window_exceeded" => Some(FinishReason::Length),
        "content_filter"
        | "content_filtered"
        | "guardrail_intervened"
        | "refusal"
        | "safety"
        | "sensitive"
        | "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "LANGUAGE"
        | "ERROR_TOXIC" => Some(FinishReason::Filtered),
        // A placeholder, no finish reason (DeepSeek, GLM, OpenRouter).
        "insufficient_system_resource"
        | "network_error"
        | "error"
        | "ERROR"
        | "failed"
        | "cancelled" => {
            let fault = ModelFault::new(
                ModelErrorKind::Overloaded,
                format!("the provider ended the reply with `{reason}`"),
            );
            draft.fault.get_or_insert(fault);
            return;
        }
        _ => Some(FinishReason::Done),
    };
}

/// Returns the text of a field, empty by default.
fn text_at<'a>(value: &'a Value, path: &str) -> &'a str {
    value_at(value, path).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a field with content, or `None` if the field is missing or empty.
fn member_at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    value_at(value, path).filter(|member| !member.is_null())
}

/// Returns the value at `/a/0/b`. `Value::pointer` costs two allocations a step, and every piece of a reply
/// needs a dozen look-ups.
fn value_at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('/').skip(1).try_fold(value, |value, step| match value {
        Value::Object(members) => members.get(step),
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        _ => None,
    })
}
