//! The values of a workflow at work, and the texts that are written from them.

use serde_json::{Map, Value};

use super::WorkflowRun;
use crate::conversation::ChildReport;
use crate::id::StepId;
use crate::plan::Plan;
use crate::workflow::{
    Reference, ReferenceSource, Template, WorkflowStep, find_field, is_single_reference,
    parse_result, to_text,
};
use djinn_text::truncate::truncate_text;

/// Maximum bytes of a task's text.
const MAX_TASK: usize = 32 * 1024;

/// Maximum characters of an item or of a result's field in a task. A whole result reaches a task as a report.
const MAX_INLINE: usize = 1_000;

/// Maximum bytes of a text in an argument.
const MAX_ARGUMENT_TEXT: usize = 64 * 1024;

/// Maximum bytes of the answer.
const MAX_ANSWER: usize = 256 * 1024;

/// Maximum bytes of all reports that a step receives; longer reports are cut to the same length.
const MAX_REPORTS: usize = 128 * 1024;

impl WorkflowRun {
    /// Returns the value of a reference; null if it has none.
    pub(super) fn find_value(&self, reference: &Reference, item: Option<&Value>) -> Value {
        let value = match &reference.source {
            ReferenceSource::Parameter(name) => self.arguments.get(name).cloned(),
            ReferenceSource::Item => item.cloned(),
            ReferenceSource::Result(id) => Some(self.result_of(id)),
        };
        find_field(&value.unwrap_or_default(), &reference.fields).clone()
    }

    /// Returns the result of a step: a list for a step with items, null for a skipped step.
    fn result_of(&self, id: &str) -> Value {
        let is_list = self
            .workflow
            .find_step(id)
            .and_then(|place| self.workflow.steps.get(place))
            .is_some_and(|step| step.for_each.is_some());
        let mut values = self.reports_of(id).map(|(_, report)| parse_result(&report.text));
        if is_list { values.collect() } else { values.next().unwrap_or_default() }
    }

    /// Returns the reports of a step of the workflow, in the order of its items.
    fn reports_of(&self, id: &str) -> impl Iterator<Item = (StepId, &ChildReport)> {
        let place = self.workflow.find_step(id);
        let steps = self.origins.iter().filter(move |(_, origin)| Some(origin.step) == place);
        steps.filter_map(|(step, _)| Some((*step, self.reports.get(step)?)))
    }

    /// Returns a task as the plan shows it: with arguments, and with references to later values.
    pub(super) fn shown_task(&self, step: &WorkflowStep, item: Option<&Value>) -> String {
        step.task.render(|reference| {
            let is_known = match &reference.source {
                ReferenceSource::Parameter(name) => {
                    self.arguments.contains_key(name) || !self.questions.is_required(name)
                }
                ReferenceSource::Item => item.is_some(),
                ReferenceSource::Result(_) => reference.fields.is_empty(),
            };
            is_known.then(|| self.task_text(reference, item))
        })
    }

    /// Returns the task of a step that can begin.
    pub(super) fn render_task(&self, step: &WorkflowStep, item: Option<&Value>) -> String {
        let text = step.task.render(|reference| Some(self.task_text(reference, item)));
        truncate_text(text.trim(), MAX_TASK)
    }

    /// Returns the task in a user's words, in which the step's own references have their values.
    pub(super) fn reworded_task(
        &self,
        text: &str,
        step: &WorkflowStep,
        item: Option<&Value>,
    ) -> String {
        let own: Vec<Reference> = step.task.references().cloned().collect();
        let value_of = |reference: &Reference| {
            let is_later = reference.source == ReferenceSource::Item && item.is_none();
            let is_own = own.contains(reference) && !is_later;
            is_own.then(|| self.task_text(reference, item))
        };
        Template::parse(text).map_or_else(|_| text.to_owned(), |template| template.render(value_of))
    }

    /// Returns the text of a reference in a task. A whole result has only its name there, because the step receives
    /// the result as a report. Other texts of models are short, in one line.
    fn task_text(&self, reference: &Reference, item: Option<&Value>) -> String {
        match &reference.source {
            ReferenceSource::Result(id) if reference.fields.is_empty() => format!("`{id}`"),
            ReferenceSource::Parameter(_) => to_text(&self.find_value(reference, item)),
            ReferenceSource::Result(_) | ReferenceSource::Item => {
                let text = to_text(&self.find_value(reference, item));
                let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
                line.chars().take(MAX_INLINE).collect()
            }
        }
    }

    /// Returns the arguments of a step's agent besides its task. Arguments without a value are left out.
    pub(super) fn render_arguments(
        &self,
        step: &WorkflowStep,
        item: Option<&Value>,
    ) -> Map<String, Value> {
        let arguments = step.arguments.iter();
        let arguments = arguments.map(|(name, value)| (name, self.render_value(value, item)));
        let values = arguments.filter(|(_, value)| !value.is_null());
        values.map(|(name, value)| (name.clone(), value)).collect()
    }

    fn render_value(&self, value: &Value, item: Option<&Value>) -> Value {
        match value {
            Value::String(text) => match Template::parse(text) {
                Err(_) => value.clone(),
                Ok(template) => match is_single_reference(&template) {
                    Some(reference) => self.find_value(reference, item),
                    None => {
                        let text = template
                            .render(|reference| Some(to_text(&self.find_value(reference, item))));
                        truncate_text(&text, MAX_ARGUMENT_TEXT).into()
                    }
                },
            },
            Value::Array(items) => {
                items.iter().map(|value| self.render_value(value, item)).collect()
            }
            Value::Object(members) => {
                let members = members.iter();
                members
                    .map(|(name, value)| (name.clone(), self.render_value(value, item)))
                    .collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// Returns the reports that a step's task names, in the order of the names. Each report begins with the name.
    pub(super) fn named_reports(&self, step: &WorkflowStep) -> Vec<ChildReport> {
        let mut names: Vec<&str> = Vec::new();
        for reference in step.task.references() {
            if let ReferenceSource::Result(id) = &reference.source
                && reference.fields.is_empty()
                && !names.contains(&id.as_str())
            {
                names.push(id);
            }
        }
        let reports: Vec<(StepId, &ChildReport)> =
            names.into_iter().flat_map(|id| self.reports_of(id)).collect();
        let room = MAX_REPORTS / reports.len().max(1);
        let stage = |step: StepId| {
            let step = self.plan.as_ref().and_then(|plan| plan.step(step));
            step.map_or("", |step| step.stage.as_str())
        };
        let excerpts = reports.into_iter().map(|(step, report)| ChildReport {
            description: stage(step).to_owned(),
            text: truncate_text(&report.text, room),
            ..report.clone()
        });
        excerpts.collect()
    }

    /// Returns the answer: the file's template, or the result of the last step. Without text, the answer is the list
    /// of steps.
    pub(super) fn answer(&self) -> String {
        let text = match &self.workflow.answer {
            Some(template) => template.render(|reference| {
                let value = self.find_value(reference, None);
                Some(to_text(&value))
            }),
            None => {
                let last = self.workflow.steps.last();
                last.map(|step| to_text(&self.result_of(&step.id))).unwrap_or_default()
            }
        };
        match text.trim() {
            "" => self.plan.as_ref().map(Plan::to_markdown).unwrap_or_default(),
            text => truncate_text(text, MAX_ANSWER),
        }
    }
}
