//! The model view of a run: the same run with placeholders for long URLs.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::child::MAX_ARGUMENT;
use super::conversation_size::tokens_of_history;
use super::plan_solve::MAX_INDIRECT_REPORT;
use crate::conversation::{
    ChildReport, CompactedContext, Conversation, ConversationItem, Exchange, MAX_COMPACTED,
    MAX_REPORT, Turn,
};
use crate::file::{FileList, ProductFile};
use crate::human::HumanResponse;
use crate::input::{ChildSpec, FinishReason, Input, Reply, RunSpec};
use crate::plan::Plan;
use crate::tool::{ResultView, ToolArguments, ToolOutput, ToolResult};
use djinn_text::urls::{TextEnd, Urls};

/// The long URLs of a run that have placeholders in the model view.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct UrlPlaceholders {
    urls: Urls,
    is_enabled: bool,
}

impl UrlPlaceholders {
    /// Collects the URLs at the start of a run; none if the settings disable placeholders.
    pub(super) fn of(spec: &RunSpec) -> Self {
        let mut urls = Urls::default();
        let is_enabled = spec.settings.compress_urls;
        if is_enabled {
            register_spec_urls(&mut urls, spec);
        }
        Self { urls, is_enabled }
    }

    /// Returns the URLs that have placeholders.
    pub(super) fn urls(&self) -> &Urls {
        &self.urls
    }

    /// Removes all URLs after the first `count`.
    pub(super) fn truncate(&mut self, count: usize) {
        self.urls.truncate(count);
    }

    /// Registers the URLs in the parts of an input that the model will see.
    pub(super) fn register_input(&mut self, input: &Input) {
        if self.is_enabled {
            register_input_urls(&mut self.urls, input);
        }
    }

    /// Returns the spec in the model view.
    pub(super) fn compress_spec<'a>(&self, spec: &'a RunSpec) -> Cow<'a, RunSpec> {
        self.compress(spec, replace_spec_urls)
    }

    /// Returns the conversation in the model view.
    pub(super) fn compress_conversation<'a>(
        &self,
        conversation: &'a Conversation,
    ) -> Cow<'a, Conversation> {
        self.compress(conversation, replace_conversation_urls)
    }

    /// Returns conversation items in the model view.
    pub(super) fn compress_items<'a>(
        &self,
        items: &'a [ConversationItem],
    ) -> Cow<'a, [ConversationItem]> {
        self.compress(items, |urls, items| {
            items.iter_mut().for_each(|item| replace_item_urls(urls, item));
        })
    }

    /// Returns files in the model view.
    pub(super) fn compress_files(&self, files: &[ProductFile]) -> FileList {
        list_with_placeholders(&self.urls, files)
    }

    fn compress<'a, T: ToOwned + ?Sized>(
        &self,
        whole: &'a T,
        replace: impl FnOnce(&Urls, &mut T::Owned),
    ) -> Cow<'a, T> {
        if self.urls.is_empty() {
            return Cow::Borrowed(whole);
        }
        let mut view = whole.to_owned();
        replace(&self.urls, &mut view);
        Cow::Owned(view)
    }
}

fn register_input_urls(urls: &mut Urls, input: &Input) {
    match input {
        Input::ModelReplied(replied) => register_reply_urls(urls, &replied.reply),
        Input::ToolReturned { result, .. } => register_result_urls(urls, result, usize::MAX),
        Input::FileAdded { file, .. } => urls.register_urls(&file.description, TextEnd::Whole),
        Input::ChildEnded(ended) => {
            register_report_urls(urls, &ended.report);
            ended.turns.iter().for_each(|turn| register_cut_turn_urls(urls, turn));
            let descriptions = ended.files.iter().map(|file| &file.description);
            descriptions.for_each(|text| urls.register_urls(text, TextEnd::Whole));
        }
        Input::AgentChanged(changed) => {
            register_member_urls(urls, &changed.arguments, usize::MAX);
        }
        Input::UserMessageAdded(message) => urls.register_urls(&message.text, TextEnd::Whole),
        Input::HumanResponded(response) => match &response.answer {
            HumanResponse::Modify { arguments } => {
                register_member_urls(urls, arguments, usize::MAX);
            }
            HumanResponse::Say { text } => urls.register_urls(text, TextEnd::Whole),
            HumanResponse::Confirm | HumanResponse::Skip | HumanResponse::Stop => {}
        },
        Input::Started(_)
        | Input::Interrupted { .. }
        | Input::HumanRequestExpired { .. }
        | Input::ChildRequested(_)
        | Input::PlanEdited(_)
        | Input::Resumed { .. }
        | Input::AttemptFailed(_)
        | Input::ModelChanged(_)
        | Input::ModelFailed { .. }
        | Input::ToolStarted { .. }
        | Input::ToolStalled { .. }
        | Input::StopRequested { .. }
        | Input::LimitReached { .. }
        | Input::PlanSaved { .. }
        | Input::AnswerSaved { .. }
        | Input::Delivered { .. } => {}
    }
}

/// Returns whether a text was cut at `bytes`. A cut text may be up to three bytes shorter, because a
/// character has up to four bytes.
fn detect_cut(text: &str, bytes: usize) -> TextEnd {
    if (bytes - 3..=bytes).contains(&text.len()) { TextEnd::Cut } else { TextEnd::Whole }
}

fn register_spec_urls(urls: &mut Urls, spec: &RunSpec) {
    urls.register_urls(&spec.base_prompt, TextEnd::Whole);
    if let Some(earlier) = &spec.earlier {
        urls.register_urls(&earlier.text, detect_cut(&earlier.text, MAX_COMPACTED));
    }
    for Exchange { question, answer, .. } in &spec.history {
        urls.register_urls(question, TextEnd::Whole);
        urls.register_urls(answer, TextEnd::Whole);
    }
    urls.register_urls(&spec.question, TextEnd::Whole);
    if let Some(child) = &spec.child {
        urls.register_urls(&child.description, TextEnd::Whole);
        child.reports().for_each(|report| register_report_urls(urls, report));
        child.previous_failure.iter().for_each(|report| register_report_urls(urls, report));
    }
    spec.files.iter().for_each(|file| urls.register_urls(&file.description, TextEnd::Whole));
}

fn register_reply_urls(urls: &mut Urls, reply: &Reply) {
    let end = if reply.finish == FinishReason::Done { TextEnd::Whole } else { TextEnd::Cut };
    urls.register_urls(&reply.text, end);
    for call in &reply.calls {
        register_argument_urls(urls, &call.arguments, usize::MAX);
    }
}

fn register_report_urls(urls: &mut Urls, report: &ChildReport) {
    urls.register_urls(&report.description, TextEnd::Whole);
    let end = match detect_cut(&report.text, MAX_INDIRECT_REPORT) {
        TextEnd::Whole => detect_cut(&report.text, MAX_REPORT),
        TextEnd::Cut => TextEnd::Cut,
    };
    urls.register_urls(&report.text, end);
}

/// Registers the URLs of a turn with cut texts.
fn register_cut_turn_urls(urls: &mut Urls, turn: &Turn) {
    urls.register_urls(&turn.text, detect_cut(&turn.text, MAX_REPORT));
    for (call, outcome) in &turn.calls {
        register_argument_urls(urls, &call.arguments, MAX_ARGUMENT);
        register_result_urls(urls, outcome, MAX_REPORT);
    }
}

/// Registers the URLs of a result whose texts may have been cut to `bytes`.
fn register_result_urls(urls: &mut Urls, outcome: &ToolResult, bytes: usize) {
    match outcome {
        ToolResult::Done(observation) => {
            let is_cut = observation.full_output.is_some();
            let end = if is_cut { TextEnd::Cut } else { detect_cut(&observation.text, bytes) };
            urls.register_urls(&observation.text, end);
            observation
                .files
                .iter()
                .for_each(|file| urls.register_urls(&file.description, TextEnd::Whole));
        }
        ToolResult::Failed { detail, .. } => urls.register_urls(detail, detect_cut(detail, bytes)),
        // The texts are those of the call and were cut there.
        ToolResult::PlanRefused { .. } => {}
    }
}

fn register_argument_urls(urls: &mut Urls, arguments: &ToolArguments, bytes: usize) {
    match arguments {
        ToolArguments::Parsed(members) => register_member_urls(urls, members, bytes),
        ToolArguments::Malformed { raw, .. } => urls.register_urls(raw, TextEnd::Cut),
    }
}

/// Registers the URLs of fields whose texts may have been cut to `bytes` each.
fn register_member_urls(urls: &mut Urls, members: &Map<String, Value>, bytes: usize) {
    urls.register_members(members, &|text| detect_cut(text, bytes));
}

fn replace_urls(urls: &Urls, text: &mut String) {
    if let Cow::Owned(compact_text) = urls.compress_text(text) {
        *text = compact_text;
    }
}

fn replace_spec_urls(urls: &Urls, spec: &mut RunSpec) {
    let old_tokens = tokens_of_history(&spec.history);
    replace_urls(urls, &mut spec.base_prompt);
    replace_urls(urls, &mut spec.question);
    spec.earlier.iter_mut().for_each(|earlier| replace_compacted_urls(urls, earlier));
    spec.history.iter_mut().for_each(|exchange| replace_exchange_urls(urls, exchange));
    spec.files = list_with_placeholders(urls, &spec.files).all().to_vec();
    if let Some(ChildSpec {
        description, earlier_rounds, current_round, previous_failure, ..
    }) = &mut spec.child
    {
        replace_urls(urls, description);
        earlier_rounds
            .iter_mut()
            .chain(current_round)
            .for_each(|report| replace_report_urls(urls, report));
        previous_failure.iter_mut().for_each(|report| replace_report_urls(urls, report));
    }
    let saved_tokens = old_tokens.saturating_sub(tokens_of_history(&spec.history));
    spec.history_tokens = spec.history_tokens.saturating_sub(saved_tokens);
}

fn replace_conversation_urls(urls: &Urls, conversation: &mut Conversation) {
    let Conversation { compacted, history, question, items } = conversation;
    compacted.iter_mut().for_each(|compacted| replace_compacted_urls(urls, compacted));
    history.iter_mut().for_each(|exchange| replace_exchange_urls(urls, exchange));
    replace_urls(urls, question);
    items.iter_mut().for_each(|item| replace_item_urls(urls, item));
}

fn replace_compacted_urls(urls: &Urls, compacted: &mut CompactedContext) {
    replace_urls(urls, &mut compacted.text);
    replace_urls(urls, &mut compacted.last_text);
}

fn replace_exchange_urls(urls: &Urls, Exchange { question, answer, .. }: &mut Exchange) {
    replace_urls(urls, question);
    replace_urls(urls, answer);
}

fn replace_item_urls(urls: &Urls, item: &mut ConversationItem) {
    match item {
        ConversationItem::Turn(turn) => replace_turn_urls(urls, Arc::make_mut(turn)),
        ConversationItem::Nudge(_) => {}
        ConversationItem::UserMessage(text) => replace_urls(urls, text),
        ConversationItem::Review(note) => {
            let texts = note.answer.iter_mut().chain(&mut note.problems).chain(&mut note.missing);
            texts.for_each(|text| replace_urls(urls, text));
        }
        ConversationItem::PlanEdited(change) => {
            replace_plan_urls(urls, &mut change.before);
            replace_plan_urls(urls, &mut change.after);
            replace_urls(urls, &mut change.comment);
        }
        ConversationItem::Round { reports, plan } => {
            reports.iter_mut().for_each(|report| replace_report_urls(urls, report));
            replace_plan_urls(urls, plan);
        }
    }
}

/// Reasoning goes back to the model unchanged, because it may be signed.
fn replace_turn_urls(urls: &Urls, turn: &mut Turn) {
    replace_urls(urls, &mut turn.text);
    if let Some(reasoning) = &mut turn.reasoning
        && let Some(original) = reasoning.original.take()
    {
        reasoning.text = original;
    }
    for (call, outcome) in &mut turn.calls {
        match &mut call.arguments {
            ToolArguments::Parsed(members) => *members = urls.compress_members(members),
            ToolArguments::Malformed { raw, .. } => replace_urls(urls, raw),
        }
        match outcome {
            ToolResult::Done(ToolOutput { text, view, .. }) => {
                replace_urls(urls, text);
                if let ResultView::Plan { plan } = view {
                    replace_plan_urls(urls, plan);
                }
            }
            ToolResult::Failed { detail, .. } => replace_urls(urls, detail),
            ToolResult::PlanRefused { .. } => {}
        }
    }
}

fn replace_report_urls(urls: &Urls, report: &mut ChildReport) {
    replace_urls(urls, &mut report.description);
    replace_urls(urls, &mut report.text);
    report.edit_comment.iter_mut().for_each(|comment| replace_urls(urls, comment));
}

fn replace_plan_urls(urls: &Urls, plan: &mut Plan) {
    plan.texts_mut().for_each(|text| replace_urls(urls, text));
}

fn list_with_placeholders(urls: &Urls, files: &[ProductFile]) -> FileList {
    FileList::of(files.iter().cloned().map(|mut file| {
        replace_urls(urls, &mut file.description);
        file
    }))
}
