//! The human requests and decisions of a run, each with the hash of its journal record.

use std::collections::BTreeSet;

use serde::Serialize;

use djinn_core::entry::{Entry, Event};
use djinn_core::human::{HumanSettings, TimeoutAction};
use djinn_core::id::RunId;
use djinn_core::input::{Input, PlanEdit};
use djinn_core::journal::{Record, RecordHash};
use djinn_core::plan::StepEdit;
use djinn_core::status::RunStatus;
use djinn_core::tool::Risk;

use crate::event::{PublicEstimate, PublicFailure, PublicHumanRequest, PublicResponse};

/// One line. Depends only on its record and the lines before.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct AuditLine<'a> {
    /// The line's number, from 1.
    line: u64,
    /// The run of the journal.
    run: &'a str,
    /// The number of the journal record.
    record: u64,
    /// The time of the record, Unix milliseconds.
    at_ms: i64,
    /// The hash of the record as stored, which covers all earlier records.
    hash: Option<&'a RecordHash>,
    /// The event of the line.
    #[serde(flatten)]
    event: AuditEvent<'a>,
}

/// The events of an audit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "what", content = "detail")]
enum AuditEvent<'a> {
    /// The run began.
    #[serde(rename = "started")]
    Started {
        /// The user who asked the question.
        by: &'a str,
        /// The question of the run.
        question: &'a str,
        /// The run's settings for human requests.
        human_requests: AuditSettings<'a>,
    },
    /// A user sent a message.
    #[serde(rename = "user_message.added")]
    UserMessageAdded {
        /// The user who sent the message.
        by: &'a str,
        /// The text of the message.
        text: &'a str,
    },
    /// A user changed the plan.
    #[serde(rename = "plan.edited")]
    PlanEdited(AuditPlanEdit<'a>),
    /// Human requests were made.
    #[serde(rename = "human.requested")]
    HumanRequested {
        /// The id for a response to all requests of the group.
        group: String,
        /// The model's own reason for the requests.
        reasoning: &'a str,
        /// The highest risk in the group.
        risk: Risk,
        /// The estimated cost of the whole group.
        estimate: PublicEstimate,
        /// The requests, without links.
        requests: Vec<PublicHumanRequest<'a>>,
    },
    /// A human request received a response or timed out.
    #[serde(rename = "human.resolved")]
    HumanResolved(PublicResponse<'a>),
    /// A user stopped the run.
    #[serde(rename = "stop.requested")]
    StopRequested {
        /// The user who stopped the run.
        by: &'a str,
    },
    /// The run ended.
    #[serde(rename = "run.ended")]
    RunEnded {
        /// The final status.
        status: RunStatus,
        /// The reason for the failure, if the run failed.
        failure: Option<PublicFailure<'a>>,
        /// The answer, possibly partial.
        answer: &'a str,
    },
}

/// The settings for human requests, with the names of a question's `human_requests`.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct AuditSettings<'a> {
    enabled: bool,
    timeout_s: u64,
    on_timeout: TimeoutAction,
    auto_confirm: &'a BTreeSet<String>,
    require: &'a BTreeSet<String>,
    high_risk: &'a BTreeSet<String>,
    risk: Risk,
    cost: AuditCost,
    guard: bool,
    trusted: &'a BTreeSet<String>,
    confirm_plan: bool,
    confirm_steps: &'a BTreeSet<String>,
    confirm_results: bool,
    clarify: bool,
}

/// The estimates above which calls need approval.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct AuditCost {
    token: u64,
    time: u64,
    api: u32,
}

/// A user's change of a plan, as in `PATCH /runs/{run}/plan`.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct AuditPlanEdit<'a> {
    id: &'a str,
    by: &'a str,
    version: u32,
    #[serde(skip_serializing_if = "str::is_empty")]
    title: &'a str,
    steps: Vec<AuditStepEdit<'a>>,
}

/// A step of a changed plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct AuditStepEdit<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "str::is_empty")]
    stage: &'a str,
    details: &'a str,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    depends_on: &'a BTreeSet<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a str>,
}

/// The audit of a journal, built record by record. The lines depend only on the journal.
#[derive(Debug, Default)]
pub struct AuditLog {
    text: String,
    lines: u64,
}

impl AuditLog {
    /// Adds the lines of the next record.
    pub fn add_record(&mut self, run: &RunId, record: &Record) {
        let inputs = record.inputs.iter().filter_map(AuditEvent::of_input);
        let entries = record.entries.iter().filter_map(AuditEvent::of_entry);
        for event in inputs.chain(entries) {
            self.lines += 1;
            let line = AuditLine {
                line: self.lines,
                run: run.as_str(),
                record: record.number,
                at_ms: record.at_ms,
                hash: record.hash.as_ref(),
                event,
            };
            self.text += &serde_json::to_string(&line).unwrap_or_default();
            self.text.push('\n');
        }
    }

    /// Returns the lines so far: JSON, each with a final line feed.
    #[must_use]
    pub fn into_text(self) -> String {
        self.text
    }
}

impl<'a> AuditEvent<'a> {
    fn of_input(input: &'a Input) -> Option<Self> {
        match input {
            Input::Started(spec) => Some(Self::Started {
                by: spec.user.as_str(),
                question: &spec.question,
                human_requests: AuditSettings::new(&spec.settings.human),
            }),
            Input::StopRequested { by, .. } => Some(Self::StopRequested { by: by.as_str() }),
            Input::UserMessageAdded(message) => {
                Some(Self::UserMessageAdded { by: message.by.as_str(), text: &message.text })
            }
            Input::PlanEdited(edit) => Some(Self::PlanEdited(AuditPlanEdit::new(edit))),
            // The outcomes of these inputs are in the entries.
            Input::HumanResponded(_)
            | Input::HumanRequestExpired { .. }
            | Input::Interrupted { .. }
            | Input::ChildRequested(_)
            | Input::Resumed { .. }
            | Input::AttemptFailed(_)
            | Input::ModelReplied(_)
            | Input::ModelChanged(_)
            | Input::AgentChanged(_)
            | Input::ModelFailed { .. }
            | Input::ToolStarted { .. }
            | Input::ToolStalled { .. }
            | Input::ToolReturned { .. }
            | Input::FileAdded { .. }
            | Input::LimitReached { .. }
            | Input::ChildEnded(_)
            | Input::PlanSaved { .. }
            | Input::AnswerSaved { .. }
            | Input::Delivered { .. } => None,
        }
    }

    fn of_entry(entry: &'a Entry) -> Option<Self> {
        match &entry.event {
            Event::HumanRequested { group, reasoning, risk, estimate, requests } => {
                let requests = requests.iter();
                Some(Self::HumanRequested {
                    group: group.to_string(),
                    reasoning,
                    risk: *risk,
                    estimate: PublicEstimate::new(estimate),
                    requests: requests.map(|one| PublicHumanRequest::new(one, None)).collect(),
                })
            }
            Event::HumanResolved(response) => {
                Some(Self::HumanResolved(PublicResponse::new(response)))
            }
            Event::RunEnded(result) => Some(Self::RunEnded {
                status: result.status,
                failure: result.failure.as_ref().map(PublicFailure::new),
                answer: &result.answer,
            }),
            Event::RunStarted { .. }
            | Event::RunResumed { .. }
            | Event::MessageReset { .. }
            | Event::ModelChanged(_)
            | Event::AgentChanged { .. }
            | Event::ModelDelayed { .. }
            | Event::MessageCompleted { .. }
            | Event::CallRequested { .. }
            | Event::CallCompleted { .. }
            | Event::FileAdded { .. }
            | Event::ContextCompacted { .. }
            | Event::EmployeesNamed { .. }
            | Event::PlanChanged { .. }
            | Event::StepChanged { .. }
            | Event::ReviewCompleted(_)
            | Event::UserMessageAdded { .. }
            | Event::ChildStarted { .. }
            | Event::ChildEnded { .. }
            | Event::VerdictGiven(_) => None,
        }
    }
}

impl<'a> AuditSettings<'a> {
    fn new(settings: &'a HumanSettings) -> Self {
        let HumanSettings {
            enabled,
            timeout_s,
            on_timeout,
            auto_confirm,
            require,
            high_risk,
            risk,
            cost,
            guard,
            trusted,
            confirm_plan,
            confirm_steps,
            confirm_results,
            clarify,
        } = settings;
        Self {
            enabled: *enabled,
            timeout_s: *timeout_s,
            on_timeout: *on_timeout,
            auto_confirm,
            require,
            high_risk,
            risk: *risk,
            cost: AuditCost { token: cost.token, time: cost.time, api: cost.api },
            guard: *guard,
            trusted,
            confirm_plan: *confirm_plan,
            confirm_steps,
            confirm_results: *confirm_results,
            clarify: *clarify,
        }
    }
}

impl<'a> AuditPlanEdit<'a> {
    fn new(edit: &'a PlanEdit) -> Self {
        let PlanEdit { id, by, version, title, steps } = edit;
        let steps = steps.iter().map(AuditStepEdit::new).collect();
        Self { id, by: by.as_str(), version: *version, title, steps }
    }
}

impl<'a> AuditStepEdit<'a> {
    fn new(step: &'a StepEdit) -> Self {
        let StepEdit { id, stage, details, depends_on, agent } = step;
        let id = id.as_ref().map(ToString::to_string);
        Self { id, stage, details, depends_on, agent: agent.as_deref() }
    }
}
