//! Tool calls for models without a native interface: fenced JSON in the answer.

use djinn_core::input::RequestedCall;
use djinn_core::language::Language;
use djinn_core::tool::{ArgumentProblem, ToolArguments, ToolSpec};
use djinn_runtime::port::model::{PastCall, ToolResultMessage};
use djinn_runtime::prompt::{Prompts, STRUCT_PARSE, STRUCT_RESULT};
use serde_json::{Map, Value, json};

use crate::draft::partial_mark_len;
use crate::repair::{self, loose};

const FENCE: &str = "```";
const LANGUAGE: &str = "json";
/// The field with the tool's name.
const NAME: &str = "function_name";
/// Fields used by some models for the arguments, instead of fields beside the name.
const WRAPPERS: &[&str] = &["arguments", "parameters"];

/// Renders the instructions and the tools, to append to the system prompt.
pub(crate) fn render_instructions(
    prompts: &Prompts,
    language: Language,
    tools: &[ToolSpec],
    must_call: bool,
) -> String {
    let tools: Vec<Value> = tools
        .iter()
        .map(|tool| {
            let schema = serde_json::to_string_pretty(&tool.schema).unwrap_or_default();
            json!({"name": tool.name, "description": tool.description, "schema": schema})
        })
        .collect();
    prompts.render(language, STRUCT_PARSE, json!({"tools": tools, "must_call": must_call}))
}

/// Returns a past reply in the model's own format: its text, and a block for each call.
pub(crate) fn format_past_reply(text: &str, calls: &[PastCall]) -> String {
    let blocks = calls.iter().map(|call| {
        let mut object = Map::from_iter([(NAME.to_owned(), Value::from(call.tool.as_str()))]);
        object.extend(call.arguments.clone());
        let object = Value::Object(object);
        format!("{FENCE}{LANGUAGE}\n{object}\n{FENCE}")
    });
    Some(text.trim_end().to_owned())
        .into_iter()
        .filter(|text| !text.is_empty())
        .chain(blocks)
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// Renders results as a user's message.
pub(crate) fn render_results(
    prompts: &Prompts,
    language: Language,
    results: &[ToolResultMessage],
) -> String {
    results
        .iter()
        .map(|result| {
            let context = json!({"tool": result.tool, "text": result.text});
            prompts.render(language, STRUCT_RESULT, context)
        })
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// A scanner that extracts calls from an arriving answer. Text before the first call is sent, later text is
/// not; text that may start a fence is held back.
#[derive(Debug, Default)]
pub(crate) struct FenceScanner {
    buffer: String,
    stage: ScanStage,
    calls: Vec<RequestedCall>,
}

#[derive(Debug, Default, Clone, Copy)]
enum ScanStage {
    #[default]
    Text,
    /// Within a block; `searched` is the part of the held text already searched for the end.
    Block { searched: usize },
}

impl FenceScanner {
    pub(crate) fn push(&mut self, piece: &str, tell: &mut dyn FnMut(&str)) {
        self.buffer.push_str(piece);
        while match self.stage {
            ScanStage::Text => self.scan_text(tell),
            ScanStage::Block { searched } => self.scan_block(searched, tell),
        } {}
    }

    /// Returns the calls; `cut` is true if the answer reached the output limit.
    pub(crate) fn into_calls(
        mut self,
        cut: bool,
        tell: &mut dyn FnMut(&str),
    ) -> Vec<RequestedCall> {
        let start = self.opener_end();
        let rest = std::mem::take(&mut self.buffer);
        let last = match self.stage {
            ScanStage::Text => None,
            ScanStage::Block { .. } => {
                let body = rest.get(start..).unwrap_or_default();
                parse_call(body.trim_end_matches(['`', '\n', ' ']), cut)
            }
        };
        match last {
            Some(call) => self.calls.push(call),
            None => self.emit_text(&rest, tell),
        }
        self.calls
    }

    /// Sends the text up to a possible block. Returns true if a block starts.
    fn scan_text(&mut self, tell: &mut dyn FnMut(&str)) -> bool {
        let mut from = 0;
        let (certain, opens) = loop {
            let rest = self.buffer.get(from..).unwrap_or_default();
            let Some(at) = rest.find(FENCE).map(|at| from + at) else {
                break (self.buffer.len() - partial_mark_len(rest, FENCE), false);
            };
            let behind = self.buffer.get(at + FENCE.len()..).unwrap_or_default();
            match match_opening(behind) {
                Some(true) => break (at, true),
                None => break (at, false),
                Some(false) => from = at + FENCE.len(),
            }
        };
        let length = self.buffer.get(..certain).unwrap_or_default().trim_end().len();
        // White space before a block belongs to the block.
        let tail = self.buffer.split_off(length);
        let text = std::mem::replace(&mut self.buffer, tail);
        self.emit_text(&text, tell);
        if opens {
            self.stage = ScanStage::Block { searched: self.opener_end() };
        }
        opens
    }

    /// Searches the end of the held block. Returns true if found.
    fn scan_block(&mut self, searched: usize, tell: &mut dyn FnMut(&str)) -> bool {
        let start = self.opener_end();
        let mut from = searched;
        while let Some(at) = self.buffer.get(from..).and_then(|rest| rest.find(FENCE)) {
            let at = from + at;
            let body = self.buffer.get(start..at).unwrap_or_default();
            // A fence on a separate line ends the block; a fence within a line may belong to a string.
            let ends_line = body.trim_end_matches([' ', '\t']).ends_with('\n');
            if ends_line || loose::parse_value(body.trim_start()).is_ok() {
                let call = parse_call(body, false);
                let rest = self.buffer.split_off(at + FENCE.len());
                let block = std::mem::replace(&mut self.buffer, rest);
                match call {
                    Some(call) => self.calls.push(call),
                    None => self.emit_text(&block, tell),
                }
                self.stage = ScanStage::Text;
                return true;
            }
            from = at + FENCE.len();
        }
        self.stage = ScanStage::Block {
            searched: from.max(self.buffer.len() - partial_mark_len(&self.buffer, FENCE)),
        };
        false
    }

    fn opener_end(&self) -> usize {
        let fence = self.buffer.find(FENCE).unwrap_or(0);
        fence + FENCE.len() + LANGUAGE.len()
    }

    fn emit_text(&self, text: &str, tell: &mut dyn FnMut(&str)) {
        if self.calls.is_empty() && !text.is_empty() {
            tell(text);
        }
    }
}

/// Returns true if the text after a fence marks JSON; `None` if more text is needed.
fn match_opening(behind: &str) -> Option<bool> {
    let word: String = behind.chars().take_while(char::is_ascii_alphanumeric).collect();
    let word = word.to_ascii_lowercase();
    let is_whole = word.len() < behind.len();
    if is_whole {
        return Some(word == LANGUAGE);
    }
    if LANGUAGE.starts_with(&word) { None } else { Some(false) }
}

/// Parses a block's body as a call; `None` if the body is not a call.
fn parse_call(body: &str, cut: bool) -> Option<RequestedCall> {
    match repair::parse_arguments(body, cut) {
        ToolArguments::Parsed(mut object) => {
            let name = object.shift_remove(NAME)?;
            let tool = name.as_str()?.trim().to_owned();
            let mut members = object.iter();
            let arguments = match (members.next(), members.next()) {
                (Some((key, Value::Object(wrapped))), None) if WRAPPERS.contains(&key.as_str()) => {
                    wrapped.clone()
                }
                _ => object,
            };
            Some(RequestedCall::new(tool, ToolArguments::Parsed(arguments)))
        }
        ToolArguments::Malformed { problem, .. } => {
            let tool = find_tool_name(body)?;
            let problem = match problem {
                ArgumentProblem::NotAnObject => ArgumentProblem::NotJson,
                problem => problem,
            };
            let arguments = repair::malformed_arguments(body.trim(), problem);
            Some(RequestedCall::new(tool, arguments))
        }
    }
}

/// Returns the tool's name in an unreadable block.
fn find_tool_name(body: &str) -> Option<String> {
    let (_, rest) = body.split_once(NAME)?;
    let rest = rest.trim_start_matches(['"', '\'']).trim_start();
    let rest = rest.strip_prefix(':')?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (name, _) = rest.get(1..)?.split_once(quote)?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

#[cfg(test)]
#[path = "struct_parse_tests.rs"]
mod tests;
