//! A run's public description.

use djinn_core::budget::{Budget, Spending};
use djinn_core::entry::RunResult;
use djinn_core::id::{RunId, SessionName};
use djinn_core::input::FinishReason;
use djinn_core::language::Language;
use djinn_core::status::RunStatus;
use djinn_protocol::body::{
    AmountBody, BudgetBody, ChildBody, EndBody, ExpiredWord, FailureBody, JournalBody, RunBody,
    RunState, RunSummaryBody, UsageBody,
};
use djinn_protocol::event::{PublicCitation, PublicFile, PublicPlan};
use djinn_protocol::link::SessionLinks;
use djinn_runtime::port::catalog::RunSummary;
use djinn_runtime::serve::{RunDescription, RunSnapshot, SnapshotState};

/// Returns the full description of a run.
pub(super) fn run_body<'a>(
    run: &RunId,
    view: &'a RunDescription,
    session: &SessionName,
    links: &SessionLinks,
    language: Language,
) -> RunBody<'a> {
    let RunDescription { meta, snapshot } = view;
    let (status, snapshot) = match snapshot {
        SnapshotState::Available(now) => {
            let status = now.ending.as_ref().map_or(meta.status, |ending| ending.status);
            (RunState::Status(status), Some(now))
        }
        SnapshotState::Expired => (RunState::Expired(ExpiredWord::Expired), None),
        SnapshotState::Unreadable => (RunState::Status(meta.status), None),
    };
    RunBody {
        run: run.to_string(),
        status,
        mode: meta.mode.clone(),
        session: session.to_string(),
        request: meta.request.to_string(),
        started_at_ms: meta.started_at_ms,
        ended_at_ms: meta.ended_at_ms,
        journal: snapshot.map(|now| journal_body(now)),
        end: snapshot.and_then(|now| now.ending.as_ref()).map(|end| end_body(end, links, language)),
    }
}

fn journal_body(now: &RunSnapshot) -> JournalBody<'_> {
    let RunSnapshot { question, budget, spent, wall_ms, plan, plan_version, children, ending } =
        now;
    let spent = ending.as_ref().map_or(spent, |ending| &ending.spent);
    let at_work = children.iter().filter(|_| ending.is_none());
    JournalBody {
        question,
        plan: plan.as_ref().map(PublicPlan::new),
        plan_version: *plan_version,
        children: at_work
            .map(|(child, description)| ChildBody { child: child.to_string(), description })
            .collect(),
        budget: budget_body(budget, spent, *wall_ms),
        usage: UsageBody {
            model_calls: spent.model_calls,
            tool_calls: spent.tool_calls,
            input_tokens: spent.usage.input_tokens,
            output_tokens: spent.usage.output_tokens,
            cached_tokens: spent.usage.cached_tokens,
            lost_calls: spent.lost_calls,
            micro_usd: spent.usage.micro_usd,
        },
    }
}

fn end_body<'a>(end: &'a RunResult, links: &SessionLinks, language: Language) -> EndBody<'a> {
    let RunResult { answer, files, failure, finish, review, .. } = end;
    EndBody {
        answer,
        citations: PublicCitation::list(answer),
        finish: (*finish != FinishReason::Done).then_some(*finish),
        review: *review,
        files: PublicFile::list(files, links),
        failure: failure.as_ref().map(|failure| FailureBody::new(failure, language)),
    }
}

/// Returns the limits and the usage of a run and its tasks.
fn budget_body(budget: &Budget, spent: &Spending, wall_ms: u64) -> BudgetBody {
    let amount = |limit, spent| AmountBody { limit, spent };
    // Each task of a plan counts its own calls.
    let tool_calls = (budget.tool_calls < u32::MAX).then_some(budget.tool_calls);
    BudgetBody {
        tool_calls: amount(tool_calls.map(u64::from), spent.tool_calls.into()),
        steps: amount(Some(budget.steps.into()), spent.steps.into()),
        tokens: amount(Some(budget.tokens), spent.tokens()),
        micro_usd: amount(budget.micro_usd, spent.usage.micro_usd),
        wall_ms: amount(Some(budget.wall_ms), wall_ms),
    }
}

/// Returns a run's description in a list.
pub(super) fn run_summary_body(run: &RunSummary) -> RunSummaryBody {
    RunSummaryBody {
        run: run.run.to_string(),
        session: run.session.to_string(),
        request: run.request.to_string(),
        title: run.title.clone(),
        status: run.status,
        has_open_requests: run.has_open_requests || run.status == RunStatus::Paused,
        started_at_ms: run.started_at_ms,
        ended_at_ms: run.ended_at_ms,
    }
}
