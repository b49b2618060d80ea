//! Conversion of stored entries into public events.

use djinn_core::entry::{Entry, Event, RunResult};
use djinn_core::error_code::Failure;
use djinn_core::human::HumanRequest;
use djinn_core::id::{FileName, MessageId, Path};
use djinn_core::input::ModelChanged;
use djinn_core::verdict::EnsembleVerdict;

use super::{
    PublicCitation, PublicEntry, PublicEstimate, PublicEvent as Shown, PublicFailure, PublicFile,
    PublicHumanRequest, PublicPlan, PublicResponse, PublicReview, PublicScore, PublicSpending,
    PublicToolResult, PublicUsage,
};
use crate::link::SessionLinks;

impl<'a> PublicEntry<'a> {
    /// Returns the public form of an entry, with the links of one session.
    #[must_use]
    pub fn new(entry: &'a Entry, links: &SessionLinks) -> Self {
        Self {
            id: entry.id.to_string(),
            path: (!entry.path.is_root()).then(|| entry.path.to_string()),
            at_ms: entry.at_ms,
            event: show_event(entry, links),
        }
    }

    /// Removes users' names, for clients that may not see names.
    #[must_use]
    pub fn without_names(mut self) -> Self {
        if let Shown::UserMessageAdded { by, .. }
        | Shown::HumanResolved(PublicResponse { by, .. }) = &mut self.event
        {
            *by = None;
        }
        self
    }
}

/// Returns the public form of an event.
fn show_event<'a>(entry: &'a Entry, links: &SessionLinks) -> Shown<'a> {
    match &entry.event {
        Event::RunStarted {
            session,
            request,
            question,
            attachments,
            mode,
            output_style,
            ignored,
            warnings,
            ..
        } => {
            let attachments = attachments.iter().map(FileName::as_str).collect();
            Shown::RunStarted {
                session: session.as_str(),
                request: request.as_str(),
                question,
                attachments,
                mode,
                output_style: *output_style,
                ignored,
                warnings,
            }
        }
        Event::RunResumed { epoch } => Shown::RunResumed { epoch: *epoch },
        Event::MessageReset { message, reason, attempt, failure } => {
            let failure = failure.as_ref().map(PublicFailure::new);
            Shown::MessageReset { message, reason: *reason, attempt: *attempt, failure }
        }
        Event::ModelChanged(changed) => Shown::model_changed(changed),
        Event::AgentChanged { call, agent, title, machine, .. } => {
            let title = title.as_deref();
            Shown::AgentChanged { call, agent, title, machine: *machine }
        }
        Event::ModelDelayed { message, until_ms, failure } => {
            Shown::model_delayed(message, *until_ms, failure)
        }
        Event::MessageCompleted {
            message,
            text,
            reasoning,
            truncated,
            finish,
            answer,
            draft,
            usage,
        } => Shown::MessageCompleted {
            message,
            text,
            reasoning: reasoning.as_deref(),
            truncated: *truncated,
            finish: *finish,
            answer: *answer,
            draft: *draft,
            usage: PublicUsage::new(usage),
        },
        Event::CallRequested { call, tool, arguments, visible } => {
            Shown::CallRequested { call, tool, arguments, visible: *visible }
        }
        Event::CallCompleted { call, result } => {
            Shown::CallCompleted { call, result: PublicToolResult::new(result, links) }
        }
        Event::FileAdded { file } => Shown::FileAdded { file: PublicFile::new(file, links) },
        Event::ContextCompacted { message, exchanges, turns, usage } => {
            let usage = PublicUsage::new(usage);
            Shown::ContextCompacted { message, exchanges: *exchanges, turns: *turns, usage }
        }
        Event::EmployeesNamed { roles, usage } => {
            Shown::EmployeesNamed { roles, usage: PublicUsage::new(usage) }
        }
        Event::PlanChanged { plan } => Shown::PlanChanged { plan: PublicPlan::new(plan) },
        Event::StepChanged { step, status, note } => {
            Shown::StepChanged { step: step.to_string(), status: *status, note }
        }
        Event::ChildStarted { child, description, agent } => {
            let child = entry.path.with_child(child.clone()).to_string();
            Shown::ChildStarted { child, description, agent }
        }
        Event::ChildEnded { child, status, text, files, failure, spent, .. } => {
            let files = PublicFile::list(files, links);
            let failure = failure.as_ref().map(PublicFailure::new);
            let spent = PublicSpending::new(spent);
            let child = entry.path.with_child(child.clone()).to_string();
            Shown::ChildEnded { child, status: *status, text, files, failure, spent }
        }
        Event::ReviewCompleted(result) => {
            Shown::ReviewCompleted(PublicReview::new(result, &entry.path))
        }
        Event::UserMessageAdded { by, text } => {
            Shown::UserMessageAdded { by: Some(by.as_str()), text }
        }
        Event::HumanRequested { group, reasoning, risk, estimate, requests } => {
            let estimate = PublicEstimate::new(estimate);
            let requests = list_requests(requests, links, entry.at_ms);
            Shown::HumanRequested { group, reasoning, risk: *risk, estimate, requests }
        }
        Event::HumanResolved(record) => Shown::HumanResolved(PublicResponse::new(record)),
        Event::VerdictGiven(verdict) => Shown::verdict_given(verdict, &entry.path),
        Event::RunEnded(result) => Shown::run_ended(result, links),
    }
}

impl<'a> Shown<'a> {
    fn model_changed(changed: &'a ModelChanged) -> Self {
        let ModelChanged { message, from, to, failure } = changed;
        Self::ModelChanged { message, from, to, failure: PublicFailure::new(failure) }
    }

    fn model_delayed(message: &'a MessageId, until_ms: i64, failure: &'a Failure) -> Self {
        Self::ModelDelayed { message, until_ms, failure: PublicFailure::new(failure) }
    }

    fn verdict_given(verdict: &'a EnsembleVerdict, path: &Path) -> Self {
        let EnsembleVerdict { chosen, scores } = verdict;
        let chosen = chosen.as_ref().map(|own| path.with_child(own.clone()).to_string());
        let scores = scores.iter().map(|score| PublicScore::new(score, path)).collect();
        Self::VerdictGiven { chosen, scores }
    }

    fn run_ended(result: &'a RunResult, links: &SessionLinks) -> Self {
        let RunResult { status, answer, files, failure, finish, review, spent, took_ms, paused_ms } =
            result;
        Self::RunEnded {
            status: *status,
            answer,
            citations: PublicCitation::list(answer),
            files: PublicFile::list(files, links),
            failure: failure.as_ref().map(PublicFailure::new),
            finish: *finish,
            review: *review,
            spent: PublicSpending::new(spent),
            took_ms: *took_ms,
            paused_ms: *paused_ms,
        }
    }
}

fn list_requests<'a>(
    requests: &'a [HumanRequest],
    links: &SessionLinks,
    at_ms: i64,
) -> Vec<PublicHumanRequest<'a>> {
    let to_public = |request| {
        let link = links.response_link(request, at_ms);
        PublicHumanRequest::new(request, link)
    };
    requests.iter().map(to_public).collect()
}
