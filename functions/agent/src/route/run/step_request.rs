//! Parses a plan's steps from a client, in the format of the plan's display.

use std::collections::BTreeSet;

use djinn_core::id::StepId;
use djinn_core::plan::StepEdit;
use djinn_protocol::request::StepRequest;

use crate::api_error::ApiError;

/// The field with the steps.
const FIELD: &str = "steps";

/// Maximum characters of an unknown id in an error, and maximum bytes of an agent's name.
const MAX_NAME: usize = 64;

/// Parses the new steps.
pub(super) fn parse_steps(steps: &[StepRequest]) -> Result<Vec<StepEdit>, ApiError> {
    let names: Vec<Option<&str>> = steps.iter().map(|step| step.id.as_deref()).collect();
    let ids: BTreeSet<&str> = names.iter().flatten().copied().collect();
    if ids.len() < names.iter().flatten().count() {
        return Err(ApiError::invalid_field(FIELD, "must have different ids"));
    }
    let edits = steps.iter().enumerate();
    edits.map(|(index, step)| step_edit(index, step, &names)).collect()
}

fn step_edit(
    index: usize,
    step: &StepRequest,
    names: &[Option<&str>],
) -> Result<StepEdit, ApiError> {
    let invalid = |member: &str, problem: &str| {
        ApiError::invalid_field(format!("{FIELD}[{index}]{member}"), problem)
    };
    let place = |(at, name): (usize, &String)| {
        let index = names.iter().position(|other_id| *other_id == Some(name.as_str()));
        index.map(|index| index + 1).ok_or_else(|| {
            let name: String = name.chars().take(MAX_NAME).collect();
            let problem = format!("must be an id of the list, which has no {name}");
            invalid(&format!(".depends_on[{at}]"), &problem)
        })
    };
    // A name that is not the id of a step refers only to this request.
    let id = step.id.as_ref().and_then(|id| id.parse::<StepId>().ok());
    if id.is_none() && (step.status.is_some() || step.note.is_some()) {
        return Err(invalid("", "must have no status and no note, since it is new"));
    }
    if step.agent.as_ref().is_some_and(|agent| agent.len() > MAX_NAME) {
        return Err(invalid(".agent", &format!("must have at most {MAX_NAME} bytes")));
    }
    let depends_on = step.depends_on.iter().flatten().enumerate();
    Ok(StepEdit {
        id,
        stage: step.stage.clone().unwrap_or_default(),
        details: step.details.clone(),
        depends_on: depends_on.map(place).collect::<Result<_, _>>()?,
        agent: step.agent.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn parse(steps: Value) -> Result<Vec<StepEdit>, (String, String)> {
        let steps: Vec<StepRequest> = serde_json::from_value(steps).unwrap();
        parse_steps(&steps)
            .map_err(|error| (error.field().unwrap_or_default().to_owned(), error.failure.detail))
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
        for (steps, field, problem) in [
            (json!([{"details": "a", "depends_on": ["s9"]}]), "steps[0].depends_on[0]", "no s9"),
            (
                json!([{"id": "s1", "details": "a"}, {"id": "s1", "details": "b"}]),
                "steps",
                "different ids",
            ),
            (json!([{"details": "a", "status": "completed"}]), "steps[0]", "no status"),
        ] {
            let (about, sentence) = parse(steps).unwrap_err();
            assert_eq!(about, field);
            assert!(sentence.contains(problem), "{sentence}");
        }
    }
}
