//! The taint of a run, and the URLs that a tainted run may request.

use std::collections::BTreeSet;

use djinn_text::urls::find_urls;

use super::PLAN_FILE;
use super::tool_sets::ToolSets;
use crate::conversation::{Conversation, ConversationItem, Exchange, Turn};
use crate::file::{FileList, ProductFile};
use crate::input::{ChildSpec, Reply, RunSpec};
use crate::tool::{
    EffectClass, OfferedTool, ResultView, ToolArguments, ToolCall, ToolOutput, ToolResult,
};

/// Returns true if a run is tainted from its start. Sources are: names and descriptions of other writers'
/// files; another user's question in the session and its answer; an answer that depends on such text.
pub(super) fn is_tainted_at_start(spec: &RunSpec) -> bool {
    let is_of_others = |earlier: &Exchange| earlier.tainted || !earlier.is_asked_by(&spec.user);
    match &spec.child {
        // The run above knows the taint of its child's input.
        Some(child) => child.tainted,
        None => {
            spec.earlier.as_ref().is_some_and(|earlier| earlier.tainted)
                || spec.history.iter().any(is_of_others)
                || spec.files.iter().any(is_described_by_others)
        }
    }
}

/// Returns true if others may have chosen the file's listed name or description. False only for the plan's
/// file without a description.
fn is_described_by_others(file: &ProductFile) -> bool {
    file.name.as_str() != PLAN_FILE || !file.description.is_empty()
}

/// Maximum URLs of an answer that the run above receives as known.
const MAX_KNOWN_URLS: usize = 100;

/// The origins of a run's URLs.
pub(super) struct UrlOrigins<'a> {
    /// The question of the run, and its asker.
    pub(super) spec: &'a RunSpec,
    /// The conversation of the run.
    pub(super) conversation: &'a Conversation,
    /// The tools of the current turn, if any.
    pub(super) offered: &'a [OfferedTool],
    /// The tool sets in the run's journal.
    pub(super) tool_sets: &'a ToolSets,
    /// The files that the run can read, and the files that it wrote.
    pub(super) readable: &'a FileList,
    pub(super) produced: &'a FileList,
}

impl UrlOrigins<'_> {
    /// Returns the known URLs that a reply's calls request. A request for a known URL reveals nothing else
    /// that the run has read.
    pub(super) fn find_requested(&self, reply: &Reply) -> BTreeSet<String> {
        let requested_urls = reply.calls.iter().filter_map(|call| {
            let tool = self.offered.iter().find(|tool| tool.name == call.tool)?;
            let ToolArguments::Parsed(arguments) = &call.arguments else { return None };
            tool.policy.requested_url(arguments)
        });
        requested_urls.filter(|url| self.is_known(url)).map(str::to_owned).collect()
    }

    /// Returns the known URLs in one of the run's own texts.
    pub(super) fn find_in(&self, text: &str) -> Vec<String> {
        let urls: BTreeSet<&str> = find_urls(text).map(|(_, url)| url).collect();
        let known_urls = urls.into_iter().filter(|url| self.is_known(url));
        known_urls.take(MAX_KNOWN_URLS).map(str::to_owned).collect()
    }

    /// Returns true if the whole URL appeared in the user's words, or in a result before the model wrote it.
    /// A tool may repeat text of the model.
    pub(super) fn is_known(&self, url: &str) -> bool {
        if self.is_told(url) {
            return true;
        }
        let first = self.conversation.items.iter().find_map(|item| match item {
            ConversationItem::UserMessage(text) => names_url(text, url).then_some(true),
            ConversationItem::Turn(turn) => self.is_known_of_turn(turn, url),
            ConversationItem::Round { reports, .. } => {
                reports.iter().any(|report| report.text.contains(url)).then_some(false)
            }
            // Models wrote the answer and its judgement.
            ConversationItem::Review(note) => {
                let mut texts = note.answer.iter().chain(&note.problems).chain(&note.missing);
                texts.any(|text| text.contains(url)).then_some(false)
            }
            ConversationItem::Nudge(_) | ConversationItem::PlanEdited(_) => None,
        });
        first.unwrap_or(false)
    }

    /// Returns true if the user named a URL, or a run beside or below this run knows the URL.
    fn is_told(&self, url: &str) -> bool {
        let spec = self.spec;
        let questions = spec.history.iter().filter(|earlier| earlier.is_asked_by(&spec.user));
        let earlier_texts = questions.map(|earlier| earlier.question.as_str());
        let mut user_texts = earlier_texts.chain(spec.user_texts());
        let reported_urls = spec
            .child
            .iter()
            .flat_map(ChildSpec::reports)
            .map(|report| report.known_urls.as_slice());
        let result_urls = self.conversation.items.iter().flat_map(|item| match item {
            ConversationItem::Turn(turn) => turn.calls.iter().filter_map(known_of_result).collect(),
            ConversationItem::Round { reports, .. } => {
                reports.iter().map(|report| report.known_urls.as_slice()).collect()
            }
            _ => Vec::new(),
        });
        user_texts.any(|text| names_url(text, url))
            || reported_urls.chain(result_urls).flatten().any(|other| other == url)
    }

    /// Returns true if a URL is known from this turn on; `None` if the turn does not name the URL.
    fn is_known_of_turn(&self, turn: &Turn, url: &str) -> Option<bool> {
        if turn.calls.iter().any(|(call, result)| self.was_fetched(call, result, url)) {
            return Some(true);
        }
        let argument_texts = turn.calls.iter().flat_map(|(call, _)| call.arguments.list_texts());
        if argument_texts.flat_map(solid_characters).collect::<String>().contains(url) {
            return Some(false);
        }
        turn.calls.iter().find_map(|(call, result)| match result {
            ToolResult::Done(output) if names_url(&output.text, url) => {
                // The behaviour of another run's tool is unknown here.
                let mut tools = self.find_tools(call).peekable();
                tools.peek()?;
                Some(tools.all(is_quote) && self.quotes_files(call, output))
            }
            _ => None,
        })
    }

    /// Returns true if a call has already requested a URL: a second request reveals nothing more.
    fn was_fetched(&self, call: &ToolCall, result: &ToolResult, url: &str) -> bool {
        let ToolArguments::Parsed(arguments) = &call.arguments else { return false };
        let is_it = |tool: &OfferedTool| tool.policy.requested_url(arguments) == Some(url);
        matches!(result, ToolResult::Done(_)) && self.find_tools(call).any(is_it)
    }

    /// Returns true if users added all files that a call reads.
    fn quotes_files(&self, call: &ToolCall, output: &ToolOutput) -> bool {
        match &output.view {
            ResultView::FileRead { file } => file.uploaded,
            ResultView::Text
            | ResultView::FileWritten { .. }
            | ResultView::UserAnswer
            | ResultView::Plan { .. }
            | ResultView::Searched { .. }
            | ResultView::Rows { .. } => {
                let texts = call.arguments.list_texts();
                let produced_files = self.readable.all().iter().filter(|file| !file.uploaded);
                !produced_files.into_iter().any(|file| texts.contains(&file.name.as_str()))
            }
        }
    }

    fn find_tools<'a>(&'a self, call: &'a ToolCall) -> impl Iterator<Item = &'a OfferedTool> {
        self.offered.iter().chain(self.tool_sets.list_tools()).filter(|tool| tool.name == call.tool)
    }
}

/// Returns true if others write the tool's output: the tool is neither an agent nor code.
fn is_quote(tool: &OfferedTool) -> bool {
    tool.effect != EffectClass::Agent && !tool.policy.echoes_model
}

fn known_of_result((_, result): &(ToolCall, ToolResult)) -> Option<&[String]> {
    match result {
        ToolResult::Done(output) => Some(&output.known_urls),
        ToolResult::Failed { .. } | ToolResult::PlanRefused { .. } => None,
    }
}

/// Returns the characters of a text that a tool cannot remove from a URL unnoticed.
fn solid_characters(text: &str) -> impl Iterator<Item = char> {
    let is_solid = |next: &char| {
        let is_invisible =
            matches!(next, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}');
        !next.is_whitespace() && !next.is_control() && !is_invisible
    };
    text.chars().filter(is_solid)
}

fn names_url(text: &str, url: &str) -> bool {
    text.contains(url) && find_urls(text).any(|(_, other)| other == url)
}
