//! A run as JSON.

use djinn_core::budget::{Budget, Spending};
use djinn_core::entry::RunResult;
use djinn_core::error_code::Failure;
use djinn_core::id::{RunId, SessionName};
use djinn_core::input::FinishReason;
use djinn_core::language::Language;
use djinn_core::plan::Plan;
use djinn_core::status::RunStatus;
use djinn_core::wire::link::SessionLinks;
use djinn_core::wire::native;
use djinn_runtime::port::catalog::RunSummary;
use djinn_runtime::serve::{RunDescription, RunSnapshot, SnapshotState};
use serde_json::{Map, Value, json};

/// What a run's status is called once its journal is gone.
const EXPIRED: &str = "expired";

/// Everything that is known of a run.
pub(super) fn run_json(
    run: &RunId,
    view: RunDescription,
    session: &SessionName,
    links: &SessionLinks,
    language: Language,
) -> Value {
    let RunDescription { meta, snapshot } = view;
    let mut body = json!({
        "run": run,
        "status": meta.status,
        "mode": meta.mode,
        "session": session,
        "request": meta.request,
        "started_at_ms": meta.started_at_ms,
        "ended_at_ms": meta.ended_at_ms,
    });
    let Some(members) = body.as_object_mut() else { return body };
    match snapshot {
        SnapshotState::Available(now) => add_snapshot(members, *now, links, language),
        SnapshotState::Expired => {
            members.insert("status".into(), EXPIRED.into());
        }
        SnapshotState::Unreadable => {}
    }
    body
}

fn add_snapshot(
    members: &mut Map<String, Value>,
    now: RunSnapshot,
    links: &SessionLinks,
    language: Language,
) {
    let RunSnapshot { question, budget, spent, wall_ms, plan, plan_version, tasks, ending } = now;
    let tasks: Vec<_> =
        tasks.iter().map(|(task, words)| json!({"task": task, "words": words})).collect();
    let spent = ending.as_ref().map_or(spent, |ending| ending.spent);
    members.insert("question".into(), question.into());
    members.insert("plan".into(), plan.as_ref().map_or(Value::Null, plan_json));
    members.insert("plan_version".into(), plan_version.into());
    members.insert("tasks".into(), if ending.is_some() { json!([]) } else { tasks.into() });
    members.insert("budget".into(), budget_json(&budget, &spent, wall_ms));
    members.insert(
        "usage".into(),
        json!({
            "model_calls": spent.model_calls,
            "tool_calls": spent.tool_calls,
            "input_tokens": spent.usage.input_tokens,
            "output_tokens": spent.usage.output_tokens,
            "cached_tokens": spent.usage.cached_tokens,
            "lost_calls": spent.lost_calls,
            "micro_usd": spent.usage.micro_usd,
        }),
    );
    if let Some(ending) = ending {
        let RunResult { status, answer, files, failure, finish, .. } = ending;
        let files: Vec<_> = files.iter().map(|file| native::file_to_json(links, file)).collect();
        members.insert("status".into(), json!(status));
        members.insert("answer".into(), answer.into());
        // What cut the answer short, where something did.
        if finish != FinishReason::Done {
            members.insert("finish".into(), json!(finish));
        }
        members.insert("files".into(), files.into());
        members.insert(
            "failure".into(),
            failure.map_or(Value::Null, |failure| failure_json(&failure, language)),
        );
    }
}

/// The plan as the native protocol shows it, and its steps with their words.
fn plan_json(plan: &Plan) -> Value {
    let steps: Vec<_> = plan
        .steps()
        .iter()
        .map(|step| {
            json!({
                "id": step.id.to_string(),
                "stage": step.stage,
                "details": step.details,
                "status": step.status,
                "note": step.note,
                "depends_on": step.depends_on.iter().map(ToString::to_string).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({"title": plan.title, "steps": steps})
}

/// What a run and its tasks may use up, and what they have.
fn budget_json(budget: &Budget, spent: &Spending, wall_ms: u64) -> Value {
    // The tasks of a plan count theirs each for itself.
    let tool_calls = (budget.tool_calls < u32::MAX).then_some(budget.tool_calls);
    json!({
        "tool_calls": {"limit": tool_calls, "spent": spent.tool_calls},
        "steps": {"limit": budget.steps, "spent": spent.steps},
        "tokens": {"limit": budget.tokens, "spent": spent.tokens()},
        "micro_usd": {"limit": budget.micro_usd, "spent": spent.usage.micro_usd},
        "wall_ms": {"limit": budget.wall_ms, "spent": wall_ms},
    })
}

fn failure_json(failure: &Failure, language: Language) -> Value {
    json!({
        "code": failure.code.as_str(),
        "message": failure.sentence(language),
        "detail": failure.detail,
    })
}

/// A run in a list.
pub(super) fn run_summary_json(run: &RunSummary) -> Value {
    let RunSummary { run, session, request, title, status, started_at_ms, ended_at_ms } = run;
    let status: &RunStatus = status;
    json!({
        "run": run,
        "session": session,
        "request": request,
        "title": title,
        "status": status,
        "started_at_ms": started_at_ms,
        "ended_at_ms": ended_at_ms,
    })
}
