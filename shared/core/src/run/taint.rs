//! Whether a run has read text that anybody may have written, and what it may ask for all the same.

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

/// Whether a run begins with what others have read, and with what they left: in the names and
/// descriptions of files that it did not write, in a question of the session that somebody else asked
/// and its answer, or in an answer that came of such text.
pub(super) fn is_tainted_at_start(spec: &RunSpec) -> bool {
    let is_of_others = |earlier: &Exchange| earlier.tainted || !earlier.is_asked_by(&spec.user);
    match &spec.child {
        // Its run knows what it is told.
        Some(child) => child.tainted,
        None => {
            spec.earlier.as_ref().is_some_and(|earlier| earlier.tainted)
                || spec.history.iter().any(is_of_others)
                || spec.files.iter().any(is_described_by_others)
        }
    }
}

/// Whether a list of files holds words about this one that others may have chosen: all but those of the
/// plan's file.
fn is_described_by_others(file: &ProductFile) -> bool {
    file.name.as_str() != PLAN_FILE || !file.description.is_empty()
}

/// URLs of an answer that the run above is told of as known.
const MAX_KNOWN_URLS: usize = 100;

/// Where the URLs of a run come from.
pub(super) struct UrlOrigins<'a> {
    /// What the run was asked, and by whom.
    pub(super) spec: &'a RunSpec,
    /// What was said in it.
    pub(super) conversation: &'a Conversation,
    /// The tools of the turn that is looked at, if one is.
    pub(super) offered: &'a [OfferedTool],
    /// The sets of tools of its journal.
    pub(super) tool_sets: &'a ToolSets,
    /// The files that it can read, and those of them that it wrote.
    pub(super) readable: &'a FileList,
    pub(super) produced: &'a FileList,
}

impl UrlOrigins<'_> {
    /// The URLs which a reply's calls ask for and that others wrote: whoever is asked for one learns nothing from
    /// it of what else the run has read.
    pub(super) fn find_requested(&self, reply: &Reply) -> BTreeSet<String> {
        let requested = reply.calls.iter().filter_map(|call| {
            let tool = self.offered.iter().find(|tool| tool.name == call.tool)?;
            let ToolArguments::Parsed(arguments) = &call.arguments else { return None };
            tool.policy.requested_url(arguments)
        });
        requested.filter(|url| self.is_known(url)).map(str::to_owned).collect()
    }

    /// The URLs of a text of the run's own that others wrote.
    pub(super) fn find_in(&self, text: &str) -> Vec<String> {
        let urls: BTreeSet<&str> = find_urls(text).map(|(_, url)| url).collect();
        let known = urls.into_iter().filter(|url| self.is_known(url));
        known.take(MAX_KNOWN_URLS).map(str::to_owned).collect()
    }

    /// Whether a URL stood whole in the user's words or in a result before the model wrote it: a tool may repeat what
    /// it was told.
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
            ConversationItem::Nudge(_) | ConversationItem::PlanEdited(_) => None,
        });
        first.unwrap_or(false)
    }

    /// Whether the user named a URL, or a run beside or below this one that knows it.
    fn is_told(&self, url: &str) -> bool {
        let spec = self.spec;
        let asked = spec.history.iter().filter(|earlier| earlier.is_asked_by(&spec.user));
        let mut asked = asked.map(|earlier| &earlier.question).chain([&spec.question]);
        let told = spec
            .child
            .iter()
            .flat_map(ChildSpec::reports)
            .map(|report| report.known_urls.as_slice());
        let reported = self.conversation.items.iter().flat_map(|item| match item {
            ConversationItem::Turn(turn) => turn.calls.iter().filter_map(known_of_result).collect(),
            ConversationItem::Round { reports, .. } => {
                reports.iter().map(|report| report.known_urls.as_slice()).collect()
            }
            ConversationItem::UserMessage(_)
            | ConversationItem::Nudge(_)
            | ConversationItem::PlanEdited(_) => Vec::new(),
        });
        asked.any(|text| names_url(text, url))
            || told.chain(reported).flatten().any(|known| known == url)
    }

    /// Whether a URL is known from a turn on; `None` if that does not name it.
    fn is_known_of_turn(&self, turn: &Turn, url: &str) -> Option<bool> {
        if turn.calls.iter().any(|(call, result)| self.was_fetched(call, result, url)) {
            return Some(true);
        }
        let written = turn.calls.iter().flat_map(|(call, _)| call.arguments.list_texts());
        if written.flat_map(solid_characters).collect::<String>().contains(url) {
            return Some(false);
        }
        turn.calls.iter().find_map(|(call, result)| match result {
            ToolResult::Done(output) if names_url(&output.text, url) => {
                // What the tool of another run does is not known here.
                let mut tools = self.find_tools(call).peekable();
                tools.peek()?;
                Some(tools.all(is_quote) && self.quotes_files(call, output))
            }
            ToolResult::Done(_) | ToolResult::Failed { .. } | ToolResult::PlanRefused { .. } => {
                None
            }
        })
    }

    /// Whether a call has asked for a URL already: to ask again tells nobody more.
    fn was_fetched(&self, call: &ToolCall, result: &ToolResult, url: &str) -> bool {
        let ToolArguments::Parsed(arguments) = &call.arguments else { return false };
        let is_it = |tool: &OfferedTool| tool.policy.requested_url(arguments) == Some(url);
        matches!(result, ToolResult::Done(_)) && self.find_tools(call).any(is_it)
    }

    /// Whether the files that a call reads, if it reads any, were handed in by users.
    fn quotes_files(&self, call: &ToolCall, output: &ToolOutput) -> bool {
        match &output.view {
            ResultView::FileRead { file } => file.uploaded,
            ResultView::Text
            | ResultView::FileWritten { .. }
            | ResultView::UserAnswer
            | ResultView::Plan { .. }
            | ResultView::Searched { .. } => {
                let texts = call.arguments.list_texts();
                let made = self.readable.all().iter().filter(|file| !file.uploaded);
                !made.into_iter().any(|file| texts.contains(&file.name.as_str()))
            }
        }
    }

    fn find_tools<'a>(&'a self, call: &'a ToolCall) -> impl Iterator<Item = &'a OfferedTool> {
        self.offered.iter().chain(self.tool_sets.list_tools()).filter(|tool| tool.name == call.tool)
    }
}

/// Whether others write what a tool brings: neither an agent nor code.
fn is_quote(tool: &OfferedTool) -> bool {
    tool.effect != EffectClass::Agent && !tool.policy.echoes_model
}

fn known_of_result((_, result): &(ToolCall, ToolResult)) -> Option<&[String]> {
    match result {
        ToolResult::Done(output) => Some(&output.known_urls),
        ToolResult::Failed { .. } | ToolResult::PlanRefused { .. } => None,
    }
}

/// The characters of a text that a tool cannot leave out of a URL unseen.
fn solid_characters(text: &str) -> impl Iterator<Item = char> {
    let is_solid = |next: &char| {
        let is_invisible =
            matches!(next, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}');
        !next.is_whitespace() && !next.is_control() && !is_invisible
    };
    text.chars().filter(is_solid)
}

fn names_url(text: &str, url: &str) -> bool {
    text.contains(url) && find_urls(text).any(|(_, found)| found == url)
}
