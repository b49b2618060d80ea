//! The steps of a plan as a client sends them: in the shape in which it was shown them.

use std::collections::BTreeSet;

use djinn_core::id::StepId;
use djinn_core::plan::StepEdit;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::api_error::ApiError;

/// The member of the request that holds the steps.
const FIELD: &str = "steps";

/// A step as a client sends it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StepRequest {
    /// The step that it is. Of a new one, none, or a name that others may depend on.
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    stage: String,
    details: String,
    /// The steps that must be completed before, by their ids.
    #[serde(default)]
    depends_on: Vec<String>,
    /// Shown with every step of a plan, and the run's to change.
    #[serde(default)]
    status: Option<IgnoredAny>,
    #[serde(default)]
    note: Option<IgnoredAny>,
}

/// The steps as they are to be.
pub(super) fn parse_steps(given: Vec<Value>) -> Result<Vec<StepEdit>, ApiError> {
    let given: Vec<StepRequest> = serde_json::from_value(Value::Array(given)).map_err(|error| {
        ApiError::invalid_field(
            FIELD,
            &format!("must be a list of steps as a plan shows them: {error}"),
        )
    })?;
    let names: Vec<Option<&str>> = given.iter().map(|step| step.id.as_deref()).collect();
    let known: BTreeSet<&str> = names.iter().flatten().copied().collect();
    if known.len() < names.iter().flatten().count() {
        return Err(ApiError::invalid_field(FIELD, "must have an id each of its own"));
    }
    given.iter().map(|step| step_edit(step, &names)).collect()
}

fn step_edit(step: &StepRequest, names: &[Option<&str>]) -> Result<StepEdit, ApiError> {
    let place = |name: &String| {
        let index = names.iter().position(|known| *known == Some(name.as_str()));
        index.map(|index| index + 1).ok_or_else(|| {
            ApiError::invalid_field(
                FIELD,
                &format!("must depend on ids of the list, and has no {name}"),
            )
        })
    };
    // A name that no step of a plan can have is one of this request's alone.
    let id = step.id.as_ref().and_then(|id| id.parse::<StepId>().ok());
    if id.is_none() && (step.status.is_some() || step.note.is_some()) {
        return Err(ApiError::invalid_field(
            FIELD,
            "must have no status and no note where they are new",
        ));
    }
    Ok(StepEdit {
        id,
        stage: step.stage.clone(),
        details: step.details.clone(),
        depends_on: step.depends_on.iter().map(place).collect::<Result<_, _>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(steps: Value) -> Result<Vec<StepEdit>, String> {
        let Value::Array(steps) = steps else { unreachable!("a list of steps") };
        parse_steps(steps).map_err(|error| error.failure.detail)
    }

    #[test]
    fn what_was_shown_can_be_sent_and_new_steps_may_have_names() {
        let steps = parse(json!([
            {"id": "s1", "stage": "", "details": "a", "status": "completed", "note": "",
             "depends_on": []},
            {"details": "b", "depends_on": ["s1", "later"]},
            {"id": "later", "details": "c"},
        ]))
        .unwrap();
        assert_eq!(steps[0].id.map(|id| id.to_string()).as_deref(), Some("s1"));
        assert_eq!((steps[1].id, steps[2].id), (None, None));
        assert_eq!(steps[1].depends_on, BTreeSet::from([1, 3]));
    }

    #[test]
    fn ids_that_are_unknown_or_doubled_are_refused_by_name() {
        let unknown = parse(json!([{"details": "a", "depends_on": ["s9"]}]));
        assert!(unknown.unwrap_err().contains("no s9"));
        let twice = parse(json!([{"id": "s1", "details": "a"}, {"id": "s1", "details": "b"}]));
        assert!(twice.unwrap_err().contains("an id each"));
        assert!(parse(json!([{"details": "a", "depends_on": [1]}])).is_err());
        assert!(parse(json!([{"details": "a", "by": "me"}])).is_err());
        assert!(parse(json!([{"details": "a", "status": "completed"}])).is_err());
    }
}
