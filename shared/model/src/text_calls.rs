//! Tool calls written as text in a model's template format, despite a native interface; also template marks
//! without meaning for readers.

mod dialect;

use djinn_core::input::RequestedCall;
use djinn_core::tool::{ArgumentProblem, ToolArguments, ToolSpec};

use crate::draft::partial_mark_len;
use crate::repair::malformed_arguments;
use crate::tool_names::ToolNames;

/// Marks at the start of calls: DeepSeek, Hermes and Qwen, Kimi, Mistral, gpt-oss, Anthropic's older models.
const CALL_MARKS: &[&str] = &[
    "<tool_call>",
    "<｜DSML｜",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>",
    "[TOOL_CALLS]",
    "<|channel|>",
    "<function_calls>",
    "<function=",
    "<invoke name=",
];

/// Marks at the end of a text or a turn. Normal text never contains these marks: the bars are not on
/// keyboards, or the marks are at the very end.
const END_MARKS: &[&str] =
    &["<｜end▁of▁sentence｜>", "<｜begin▁of▁sentence｜>", "<｜Assistant｜>", "<｜User｜>"];
const TRAILING_MARKS: &[&str] =
    &["<|im_end|>", "<|eot_id|>", "<|endoftext|>", "<|end_of_text|>", "<|return|>", "<|end|>"];

/// The first characters of all marks: a text without them has no mark, and no beginning of one.
const MARK_STARTS: [char; 2] = ['<', '['];

/// First fields of a call written as bare JSON.
const FIRST_MEMBERS: &[&str] = &["name", "type", "function", "tool", "tool_name"];

/// Bytes of a text, white space included, after which an undecided text is not a call in JSON.
const MAX_START: usize = 64;

/// A scanner that extracts calls from an arriving text. Text before the first mark is sent at once. The rest
/// is held back to the end, because the rest may be a call.
#[derive(Debug, Default)]
pub(crate) struct TextCallScanner {
    buffer: String,
    /// True if `buffer` starts with a mark, or may be a call in JSON.
    is_call: bool,
    /// True once a part of the text was sent; the text is then not a call in JSON.
    has_text: bool,
}

impl TextCallScanner {
    pub(crate) fn push(&mut self, piece: &str, tell: &mut dyn FnMut(&str)) {
        self.buffer.push_str(piece);
        if self.is_call {
            return;
        }
        if !self.has_text {
            let may_be_call = may_be_json_call(&self.buffer);
            self.is_call = may_be_call == Some(true);
            if may_be_call != Some(false) {
                return;
            }
        }
        if !self.buffer.contains(MARK_STARTS) {
            return self.send_buffer(self.buffer.len(), tell);
        }
        self.remove_end_marks();
        let first = CALL_MARKS.iter().filter_map(|mark| self.buffer.find(mark)).min();
        // The text before the first mark is certain, except a possible start of a mark.
        let certain = first.unwrap_or_else(|| {
            let marks = CALL_MARKS.iter().chain(END_MARKS);
            self.buffer.len()
                - marks.map(|mark| partial_mark_len(&self.buffer, mark)).max().unwrap_or(0)
        });
        // Marks at the end may be the end of the whole text.
        let certain = self.buffer.get(..certain).map_or(0, |text| trim_trailing(text).len());
        self.send_buffer(certain, tell);
        self.is_call = first.is_some();
        if self.is_call {
            self.buffer = self.buffer.trim_start().to_owned();
        }
    }

    /// Sends the first `length` bytes of the buffer.
    fn send_buffer(&mut self, length: usize, tell: &mut dyn FnMut(&str)) {
        let rest = self.buffer.split_off(length);
        let text = std::mem::replace(&mut self.buffer, rest);
        if !text.is_empty() {
            self.has_text = true;
            tell(&text);
        }
    }

    fn remove_end_marks(&mut self) {
        for mark in END_MARKS {
            if self.buffer.contains(mark) {
                self.buffer = self.buffer.replace(mark, "");
            }
        }
    }

    /// Returns the calls of offered tools. Held text without calls is sent as text.
    pub(crate) fn into_calls(
        mut self,
        tools: &[ToolSpec],
        names: &ToolNames,
        tell: &mut dyn FnMut(&str),
    ) -> Vec<RequestedCall> {
        self.remove_end_marks();
        if self.is_call
            && let Some(calls) = find_calls(self.buffer.trim_end(), tools, names)
        {
            tracing::warn!(
                calls = calls.len(),
                "calls are written as text: `function_call_type` of this model should be `struct_parse`"
            );
            return calls;
        }
        let mut text = self.buffer.as_str();
        while let Some(shorter) = strip_trailing_mark(text) {
            text = shorter;
        }
        if !text.is_empty() {
            tell(text);
        }
        Vec::new()
    }
}

/// Parses a text as calls; `None` if the text is not a call of an offered tool.
fn find_calls(text: &str, tools: &[ToolSpec], names: &ToolNames) -> Option<Vec<RequestedCall>> {
    let find_tool = |name: &str| {
        let name = names.original_name(name);
        tools.iter().find(|tool| tool.name == name)
    };
    let text_calls = dialect::parse_calls(text, &find_tool);
    if let Some(calls) = text_calls.filter(|calls| !calls.is_empty()) {
        let call = |(tool, arguments): (String, _)| {
            let arguments = ToolArguments::Parsed(arguments);
            find_tool(&tool).map(|tool| RequestedCall::new(tool.name.clone(), arguments))
        };
        return calls.into_iter().map(call).collect();
    }
    // Bare JSON without a call is an answer.
    if text.starts_with('{') {
        return None;
    }
    let tool = tools.iter().find(|tool| text.contains(names.wire_name(&tool.name)))?;
    let arguments = malformed_arguments(text, ArgumentProblem::WrittenAsText);
    Some(vec![RequestedCall::new(tool.name.clone(), arguments)])
}

/// Returns true if a whole text may be a call in JSON, judged by its start; `None` if more text is needed.
fn may_be_json_call(text: &str) -> Option<bool> {
    let is_open = text.len() <= MAX_START;
    let verdict = |rest: &str| if rest.is_empty() && is_open { None } else { Some(false) };
    let text = text.trim_start();
    let Some(inside) = text.strip_prefix('{').map(str::trim_start) else { return verdict(text) };
    let Some(key) = inside.strip_prefix('"') else { return verdict(inside) };
    match key.split_once('"') {
        Some((member, _)) => Some(FIRST_MEMBERS.contains(&member)),
        None => verdict(""),
    }
}

/// Returns a text without the final mark and the white space around the mark.
fn strip_trailing_mark(text: &str) -> Option<&str> {
    let text = text.trim_end();
    TRAILING_MARKS.iter().find_map(|mark| text.strip_suffix(mark)).map(str::trim_end)
}

/// Returns a text without final marks that may end the whole text, and without the white space before.
fn trim_trailing(text: &str) -> &str {
    let partial = TRAILING_MARKS.iter().map(|mark| partial_mark_len(text, mark)).max();
    let text = text.get(..text.len() - partial.unwrap_or(0)).unwrap_or(text);
    let mut rest = text;
    while let Some(shorter) = strip_trailing_mark(rest) {
        rest = shorter;
    }
    rest
}

#[cfg(test)]
#[path = "text_calls_tests.rs"]
mod tests;
