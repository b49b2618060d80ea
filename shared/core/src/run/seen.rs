//! What of a run its model sees: the same, with placeholders for long URLs.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::Run;
use super::compacting::{Compacting, tokens_of_history};
use super::plan_solve::MAX_FURTHER_TEXT;
use super::task::MAX_ARGUMENT;
use crate::conversation::{Compacted, Conversation, Exchange, Item, MAX_COMPACTED, Turn};
use crate::feedback::Answer;
use crate::file::{FileList, ProductFile};
use crate::input::{Asked, Finish, Input, MAX_REPORT, Reply, TaskAsked, TaskReport};
use crate::plan::Plan;
use crate::tool::{Arguments, Observation, Outcome, Shown};
use crate::urls::{End, Urls};

impl Run {
    /// The long URLs that its model sees placeholders for, and that it means by them.
    #[must_use]
    pub fn urls(&self) -> &Urls {
        &self.urls
    }

    /// The run as its model sees it. What a model makes of it is expanded with [`Self::urls`].
    #[must_use]
    pub fn seen(&self) -> Cow<'_, Self> {
        if self.urls.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut seen = self.clone();
        let urls = &self.urls;
        see_asked(urls, &mut seen.asked);
        see_conversation(urls, &mut seen.conversation);
        seen.files = seen_files(urls, self.files.all());
        seen.produced = seen_files(urls, self.produced.all());
        Cow::Owned(seen)
    }

    pub(super) fn seen_items<'a>(&self, items: &'a [Item]) -> Cow<'a, [Item]> {
        if self.urls.is_empty() {
            return Cow::Borrowed(items);
        }
        let mut items = items.to_vec();
        items.iter_mut().for_each(|item| see_item(&self.urls, item));
        Cow::Owned(items)
    }

    pub(super) fn learn_from_start(&mut self) {
        if self.asked.settings.compress_urls {
            learn_asked(&mut self.urls, &self.asked);
            self.compacting = Compacting::new(&self.seen().asked);
        }
    }

    /// Learns the URLs of whatever of an input the model will see.
    pub(super) fn learn_from(&mut self, input: &Input) {
        if !self.asked.settings.compress_urls {
            return;
        }
        let urls = &mut self.urls;
        match input {
            Input::ModelReplied(replied) => learn_reply(urls, &replied.reply),
            Input::ToolReturned { outcome, .. } => learn_outcome(urls, outcome, usize::MAX),
            Input::FileAdded { file, .. } => urls.learn(&file.description, End::Whole),
            Input::TaskEnded(ended) => {
                learn_report(urls, &ended.report);
                ended.turns.iter().for_each(|turn| learn_short_turn(urls, turn));
                ended.files.iter().for_each(|file| urls.learn(&file.description, End::Whole));
            }
            Input::UserSaid(said) => urls.learn(&said.text, End::Whole),
            Input::HumanAnswered(answered) => match &answered.answer {
                Answer::Modify { arguments } => learn_members(urls, arguments, usize::MAX),
                Answer::Say { words } => urls.learn(words, End::Whole),
                Answer::Confirm | Answer::Skip | Answer::Stop => {}
            },
            Input::Asked(_)
            | Input::Interrupted { .. }
            | Input::FeedbackExpired { .. }
            | Input::TaskAsks(_)
            | Input::PlanEdited(_)
            | Input::Resumed { .. }
            | Input::AttemptFailed { .. }
            | Input::ModelChanged(_)
            | Input::ModelFailed { .. }
            | Input::ToolStarted { .. }
            | Input::StopAsked { .. }
            | Input::LimitReached { .. }
            | Input::PlanKept { .. }
            | Input::Delivered { .. } => {}
        }
    }
}

/// How a text ends that was cut to so many bytes, if it was longer: characters have up to four.
fn end_within(text: &str, bytes: usize) -> End {
    if (bytes - 3..=bytes).contains(&text.len()) { End::Cut } else { End::Whole }
}

fn learn_asked(urls: &mut Urls, asked: &Asked) {
    urls.learn(&asked.base_prompt, End::Whole);
    if let Some(earlier) = &asked.earlier {
        urls.learn(&earlier.text, end_within(&earlier.text, MAX_COMPACTED));
    }
    for Exchange { question, answer, .. } in &asked.history {
        urls.learn(question, End::Whole);
        urls.learn(answer, End::Whole);
    }
    urls.learn(&asked.question, End::Whole);
    if let Some(task) = &asked.task {
        urls.learn(&task.words, End::Whole);
        task.reports().for_each(|report| learn_report(urls, report));
        let failed_before = task.failed_before.as_deref().unwrap_or_default();
        urls.learn(failed_before, end_within(failed_before, MAX_REPORT));
    }
    asked.files.iter().for_each(|file| urls.learn(&file.description, End::Whole));
}

fn learn_reply(urls: &mut Urls, reply: &Reply) {
    let end = if reply.finish == Finish::Done { End::Whole } else { End::Cut };
    urls.learn(&reply.text, end);
    for call in &reply.calls {
        learn_arguments(urls, &call.arguments, usize::MAX);
    }
}

fn learn_report(urls: &mut Urls, report: &TaskReport) {
    urls.learn(&report.words, End::Whole);
    let end = match end_within(&report.text, MAX_FURTHER_TEXT) {
        End::Whole => end_within(&report.text, MAX_REPORT),
        End::Cut => End::Cut,
    };
    urls.learn(&report.text, end);
}

/// A turn whose texts were cut.
fn learn_short_turn(urls: &mut Urls, turn: &Turn) {
    urls.learn(&turn.text, end_within(&turn.text, MAX_REPORT));
    for (call, outcome) in &turn.calls {
        learn_arguments(urls, &call.arguments, MAX_ARGUMENT);
        learn_outcome(urls, outcome, MAX_REPORT);
    }
}

/// What a text of `bytes` may have been cut to.
fn learn_outcome(urls: &mut Urls, outcome: &Outcome, bytes: usize) {
    match outcome {
        Outcome::Done(observation) => {
            let is_cut = observation.whole.is_some();
            let end = if is_cut { End::Cut } else { end_within(&observation.text, bytes) };
            urls.learn(&observation.text, end);
            observation.files.iter().for_each(|file| urls.learn(&file.description, End::Whole));
        }
        Outcome::Failed { detail, .. } => urls.learn(detail, end_within(detail, bytes)),
    }
}

fn learn_arguments(urls: &mut Urls, arguments: &Arguments, bytes: usize) {
    match arguments {
        Arguments::Parsed(members) => learn_members(urls, members, bytes),
        Arguments::Malformed { raw, .. } => urls.learn(raw, End::Cut),
    }
}

fn learn_members(urls: &mut Urls, members: &Map<String, Value>, bytes: usize) {
    for (name, value) in members {
        urls.learn(name, End::Whole);
        learn_value(urls, value, bytes);
    }
}

fn learn_value(urls: &mut Urls, value: &Value, bytes: usize) {
    match value {
        Value::String(text) => urls.learn(text, end_within(text, bytes)),
        Value::Array(items) => items.iter().for_each(|item| learn_value(urls, item, bytes)),
        Value::Object(members) => learn_members(urls, members, bytes),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn see(urls: &Urls, text: &mut String) {
    if let Cow::Owned(seen) = urls.compress(text) {
        *text = seen;
    }
}

fn see_asked(urls: &Urls, asked: &mut Asked) {
    let before = tokens_of_history(&asked.history);
    see(urls, &mut asked.base_prompt);
    see(urls, &mut asked.question);
    asked.earlier.iter_mut().for_each(|earlier| see_compacted(urls, earlier));
    asked.history.iter_mut().for_each(|exchange| see_exchange(urls, exchange));
    asked.files = seen_files(urls, &asked.files).all().to_vec();
    if let Some(TaskAsked { words, rounds, before, failed_before, .. }) = &mut asked.task {
        see(urls, words);
        rounds.iter_mut().chain(before).for_each(|report| see_report(urls, report));
        failed_before.iter_mut().for_each(|text| see(urls, text));
    }
    let saved = before.saturating_sub(tokens_of_history(&asked.history));
    asked.history_tokens = asked.history_tokens.saturating_sub(saved);
}

fn see_conversation(urls: &Urls, conversation: &mut Conversation) {
    let Conversation { compacted, history, question, items } = conversation;
    compacted.iter_mut().for_each(|compacted| see_compacted(urls, compacted));
    history.iter_mut().for_each(|exchange| see_exchange(urls, exchange));
    see(urls, question);
    items.iter_mut().for_each(|item| see_item(urls, item));
}

fn see_compacted(urls: &Urls, compacted: &mut Compacted) {
    see(urls, &mut compacted.text);
    see(urls, &mut compacted.words);
}

fn see_exchange(urls: &Urls, Exchange { question, answer, .. }: &mut Exchange) {
    see(urls, question);
    see(urls, answer);
}

fn see_item(urls: &Urls, item: &mut Item) {
    match item {
        Item::Turn(turn) => see_turn(urls, turn),
        Item::Note(_) => {}
        Item::Said(text) => see(urls, text),
        Item::Round { reports, plan } => {
            reports.iter_mut().for_each(|report| see_report(urls, report));
            see_plan(urls, plan);
        }
    }
}

/// What a model thought is sent back as it wrote it: it may be signed.
fn see_turn(urls: &Urls, turn: &mut Turn) {
    see(urls, &mut turn.text);
    if let Some(reasoning) = &mut turn.reasoning
        && let Some(written) = reasoning.written.take()
    {
        reasoning.text = written;
    }
    for (call, outcome) in &mut turn.calls {
        match &mut call.arguments {
            Arguments::Parsed(members) => *members = urls.compress_members(members),
            Arguments::Malformed { raw, .. } => see(urls, raw),
        }
        match outcome {
            Outcome::Done(Observation { text, shown, .. }) => {
                see(urls, text);
                if let Shown::Plan { plan } = shown {
                    see_plan(urls, plan);
                }
            }
            Outcome::Failed { detail, .. } => see(urls, detail),
        }
    }
}

fn see_report(urls: &Urls, report: &mut TaskReport) {
    see(urls, &mut report.words);
    see(urls, &mut report.text);
}

fn see_plan(urls: &Urls, plan: &mut Plan) {
    plan.texts_mut().for_each(|text| see(urls, text));
}

fn seen_files(urls: &Urls, files: &[ProductFile]) -> FileList {
    FileList::of(files.iter().cloned().map(|mut file| {
        see(urls, &mut file.description);
        file
    }))
}
