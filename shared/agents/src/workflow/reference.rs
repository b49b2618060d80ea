//! Checks of the references in a workflow: each has a value when its template is written.

use std::collections::BTreeSet;

use djinn_core::workflow::{
    Comparison, ITEM, Reference, ReferenceSource, STEPS, Template, Workflow,
};
use djinn_text::near_miss::find_near_miss;
use serde_json::Value;

use super::graph::find_preceding;
use super::step::StepLines;
use crate::parameters::properties_of;
use crate::problem::{Fault, quote};
use crate::yaml::KeyEntry;

/// The values of a workflow, and the lines of its steps.
pub(super) struct References<'a> {
    pub(super) parameters: &'a Value,
    pub(super) workflow: &'a Workflow,
    pub(super) lines: &'a [StepLines],
}

/// A place with references.
struct ReferencePlace<'a> {
    /// The key of the text in the file.
    key: &'a str,
    line: usize,
    /// The step of the text; `None` for the answer.
    step: Option<usize>,
    /// True if the text has an item.
    has_item: bool,
}

impl References<'_> {
    /// Checks the references of all steps and of the answer.
    pub(super) fn check_all(&self, answer: Option<&KeyEntry>) -> Result<(), Fault> {
        for (place, (step, lines)) in self.workflow.steps.iter().zip(self.lines).enumerate() {
            let has_item = step.for_each.is_some();
            let at = |key, has_item| {
                let line = lines.line_of(key);
                ReferencePlace { key, line, step: Some(place), has_item }
            };
            if let Some(condition) = &step.when {
                self.check(&condition.reference, &at("when", false))?;
                self.check_comparison(
                    &condition.reference,
                    &condition.comparison,
                    &at("when", false),
                )?;
            }
            if let Some(list) = &step.for_each {
                self.check(list, &at("for_each", false))?;
                self.check_list(list, &at("for_each", false))?;
            }
            for reference in step.task.references() {
                self.check(reference, &at("task", has_item))?;
            }
            for (name, value) in &step.arguments {
                let key = format!("arguments.{name}");
                let line = lines.line_of(&key);
                let at = ReferencePlace { key: &key, line, step: Some(place), has_item };
                list_references(value)
                    .iter()
                    .try_for_each(|reference| self.check(reference, &at))?;
            }
        }
        let line = answer.map_or(1, |entry| entry.line);
        let at = ReferencePlace { key: "answer", line, step: None, has_item: false };
        let references = self.workflow.answer.iter().flat_map(Template::references);
        references.into_iter().try_for_each(|reference| self.check(reference, &at))
    }

    fn check(&self, reference: &Reference, at: &ReferencePlace<'_>) -> Result<(), Fault> {
        match &reference.source {
            ReferenceSource::Item if at.has_item => Ok(()),
            ReferenceSource::Item => Err(at.fault(
                "uses `item`, which only `task` and `arguments` of a step with `for_each` have",
            )),
            ReferenceSource::Parameter(name) => self.check_parameter(name, reference, at),
            ReferenceSource::Result(id) => self.check_result(id, at),
        }
    }

    fn check_parameter(
        &self,
        name: &str,
        reference: &Reference,
        at: &ReferencePlace<'_>,
    ) -> Result<(), Fault> {
        let Some(schema) = self.find_parameter(name) else {
            let names = properties_of(self.parameters).into_iter().flatten();
            let candidates = names.map(|(name, _)| name.as_str()).chain([ITEM, STEPS]);
            let hint = if self.workflow.find_step(name).is_some() {
                format!("write `{STEPS}.{name}` for the result of that step")
            } else if let Some(near_miss) = find_near_miss(name, candidates) {
                format!("did you mean `{near_miss}`?")
            } else {
                "declare it in `parameters`".to_owned()
            };
            return Err(
                at.fault(&format!("uses {}, which is not a parameter: {hint}", quote(name)))
            );
        };
        let kind = schema.get("type").and_then(Value::as_str);
        let is_whole = matches!(kind, Some("string" | "number" | "integer" | "boolean" | "null"));
        if is_whole && !reference.fields.is_empty() {
            let rule = format!("uses `{reference}`, but {} has no fields", quote(name));
            return Err(at.fault(&rule));
        }
        Ok(())
    }

    fn check_result(&self, id: &str, at: &ReferencePlace<'_>) -> Result<(), Fault> {
        let Some(place) = self.workflow.find_step(id) else {
            let ids = self.workflow.steps.iter().map(|step| step.id.as_str());
            let hint =
                find_near_miss(id, ids).map(|near_miss| format!(": did you mean `{near_miss}`?"));
            let hint = hint.unwrap_or_default();
            return Err(at.fault(&format!("uses `{STEPS}.{id}`, which is not a step{hint}")));
        };
        let precedes = |step: usize| find_preceding(self.workflow, step).contains(&place);
        if at.step.is_none_or(precedes) {
            return Ok(());
        }
        let rule = format!(
            "uses `{STEPS}.{id}`, which does not precede the step: add `{id}` to its `depends_on`"
        );
        Err(at.fault(&rule))
    }

    /// Rejects a list that a parameter cannot hold.
    fn check_list(&self, list: &Reference, at: &ReferencePlace<'_>) -> Result<(), Fault> {
        let ReferenceSource::Parameter(name) = &list.source else { return Ok(()) };
        let kind = self.find_parameter(name).and_then(|schema| schema.get("type")?.as_str());
        match kind.filter(|_| list.fields.is_empty()) {
            None | Some("array") => Ok(()),
            Some(kind) => Err(at.fault(&format!(
                "repeats the step for {}, which is of `type: {kind}`: `type: array` is expected",
                quote(name)
            ))),
        }
    }

    /// Rejects a comparison that never holds, so that its step could never begin.
    fn check_comparison(
        &self,
        reference: &Reference,
        comparison: &Comparison,
        at: &ReferencePlace<'_>,
    ) -> Result<(), Fault> {
        let ReferenceSource::Parameter(name) = &reference.source else { return Ok(()) };
        let values = self.find_parameter(name).and_then(|schema| schema.get("enum")?.as_array());
        let (Some(values), Comparison::Equal(value)) = (values, comparison) else { return Ok(()) };
        let words: BTreeSet<String> = values.iter().map(bare_text).collect();
        let word = bare_text(value);
        if words.contains(&word) {
            return Ok(());
        }
        let near_miss = find_near_miss(&word, words.iter().map(String::as_str));
        let hint = near_miss.map(|word| format!(": did you mean `{word}`?")).unwrap_or_default();
        let rule = format!(
            "never holds, because {} is not a value of {}{hint}",
            quote(&word),
            quote(name)
        );
        Err(at.fault(&rule))
    }

    fn find_parameter(&self, name: &str) -> Option<&Value> {
        properties_of(self.parameters)?.get(name)
    }
}

impl ReferencePlace<'_> {
    fn fault(&self, rule: &str) -> Fault {
        Fault::new(self.line, format!("`{}` {rule}", self.key))
    }
}

fn bare_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the references in the texts of a value.
fn list_references(value: &Value) -> Vec<Reference> {
    match value {
        Value::String(text) => Template::parse(text)
            .map(|template| template.references().cloned().collect())
            .unwrap_or_default(),
        Value::Array(items) => items.iter().flat_map(list_references).collect(),
        Value::Object(members) => members.values().flat_map(list_references).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}
