//! The planner's list of steps, in the forms in which models write it.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::draft::{StepText, parse_drafts, split_order_number};
use super::reference::{
    IDS, StepNames, is_none_word, parse_step_number, parse_whole_number, split_step_number,
    union_all,
};
use super::{PlanError, StepDraft};

/// Maximum steps of a parsed list. No run's plan may have more.
const MAX_LISTED_STEPS: usize = 1_000;

/// Maximum references between steps, and the minimum bytes of a reference in a text with several.
const MAX_REFERENCES: usize = 20_000;
const MIN_REFERENCE: usize = 2;

/// Fields of a step that is an object. The first field in the object counts.
const STAGES: [&str; 4] = ["stage", "title", "name", "heading"];
const DETAILS: [&str; 9] = [
    "details",
    "description",
    "content",
    "task",
    "action",
    "instruction",
    "instructions",
    "text",
    "goal",
];
const DEPENDENCIES: [&str; 5] =
    ["depends_on", "dependsOn", "dependencies", "prerequisites", "requires"];

/// Parses `steps` and `depends_on`.
///
/// # Errors
/// Returns [`PlanError`] for the planner if an argument cannot be parsed.
pub(super) fn read_steps(arguments: &Map<String, Value>) -> Result<Vec<StepDraft>, PlanError> {
    let list =
        arguments.get("steps").and_then(parse_step_list).ok_or(PlanError::bad_command("steps"))?;
    if list.len() > MAX_LISTED_STEPS {
        return Err(PlanError::TooMany { cap: MAX_LISTED_STEPS });
    }
    let steps = (1..)
        .zip(&list)
        .map(|(number, step)| ListedStep::parse(step).ok_or(PlanError::BadStep { number }));
    let steps: Vec<ListedStep> = steps.collect::<Result<_, _>>()?;
    let depends_on = parse_dependencies(arguments.get("depends_on"), &steps)?;
    let agents = read_agents(arguments, &steps);
    let texts: Vec<StepText> = steps.into_iter().map(|step| step.text).collect();
    let mut drafts = parse_drafts(&texts, depends_on.as_deref())?;
    for draft in &mut drafts {
        let agent = draft.line.checked_sub(1).and_then(|place| agents.get(place));
        draft.agent = agent.cloned().unwrap_or_default();
    }
    Ok(drafts)
}

/// Returns each step's agent by position, from a list beside the steps or from the step itself.
fn read_agents(arguments: &Map<String, Value>, steps: &[ListedStep]) -> Vec<String> {
    let agent_names = arguments.get("agents").and_then(Value::as_array);
    let name_at = |place: usize| agent_names.and_then(|list| list.get(place)?.as_str());
    let agent = |(place, step): (usize, &ListedStep)| {
        let name = name_at(place).or(step.agent.as_deref()).unwrap_or_default().trim();
        if is_none_word(name) { String::new() } else { name.to_owned() }
    };
    steps.iter().enumerate().map(agent).collect()
}

/// Parses the number of a step: `3`, `3.0`, `"3"`, `"s3"`, `"step 3"`, `"3. title"`.
pub(super) fn read_step_number(value: &Value) -> Option<usize> {
    match value {
        Value::Number(number) => parse_whole_number(number),
        Value::String(word) => parse_step_number(word),
        _ => None,
    }
}

/// Parses a list. Also accepts a text: JSON, or lines with numbers or bullets.
fn parse_step_list(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(list) => Some(list.clone()),
        Value::String(text) => serde_json::from_str(text).ok().or_else(|| parse_lines(text)),
        _ => None,
    }
}

fn parse_lines(text: &str) -> Option<Vec<Value>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Option<Vec<Value>> = lines
        .map(|line| match line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")) {
            Some(rest) => Some(rest.into()),
            None => split_order_number(line).map(|_| line.into()),
        })
        .collect();
    lines.filter(|lines| !lines.is_empty())
}

/// A step as the list contains it.
struct ListedStep {
    /// The step's own id.
    id: Option<String>,
    /// The words of the step, and its stage if it has a separate field.
    text: StepText,
    /// The step's own dependencies, if given.
    depends_on: Option<Value>,
    /// The step's own agent, if given.
    agent: Option<String>,
}

impl ListedStep {
    fn parse(value: &Value) -> Option<Self> {
        match value {
            Value::String(_) => {
                let text = StepText { stage: None, text: parse_text(value)? };
                Some(Self { id: None, text, depends_on: None, agent: None })
            }
            Value::Object(members) => Self::from_members(members),
            _ => None,
        }
    }

    fn from_members(members: &Map<String, Value>) -> Option<Self> {
        let first = |names: &[&str]| names.iter().find_map(|name| parse_text(members.get(*name)?));
        let stage = first(&STAGES);
        // `step` is a text in some plans, a number in others, and both in `Step 1: look`.
        let of_step = || {
            let word = first(&["step"])?;
            let rest = split_step_number(&word).map_or(word.as_str(), |(_, rest)| rest);
            let text = rest.trim_start_matches(['.', '．', '、', ':', '：', ')', ']', '-', ' ']);
            (!text.is_empty()).then(|| text.to_owned())
        };
        let (stage, text) = match (stage, first(&DETAILS).or_else(of_step)) {
            (Some(stage), Some(text)) if stage != text => (Some(stage), text),
            (_, Some(text)) | (Some(text), None) => (None, text),
            (None, None) => return None,
        };
        let id = IDS.iter().find_map(|name| {
            let value = members.get(*name)?;
            let word = value.as_str().filter(|_| name.ends_with("id"));
            let number = || read_step_number(value).map(|number| number.to_string());
            word.map(|word| word.trim().to_lowercase()).or_else(number)
        });
        let depends_on = DEPENDENCIES.iter().find_map(|name| members.get(*name)).cloned();
        let agent = members.get("agent").and_then(Value::as_str).map(str::to_owned);
        Some(Self { id, text: StepText { stage, text }, depends_on, agent })
    }
}

/// Returns a text that is not blank, or several such texts joined by newlines.
fn parse_text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Array(texts) => texts.iter().map(parse_text).collect::<Option<Vec<_>>>()?.join("\n"),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// Returns the numbers of each step's dependencies; `None` if the arguments contain no dependencies.
fn parse_dependencies(
    argument: Option<&Value>,
    steps: &[ListedStep],
) -> Result<Option<Vec<BTreeSet<usize>>>, PlanError> {
    let names = StepNames::of(steps.iter().map(|step| (step.id.as_deref(), &step.text)));
    let by_step = order_by_step(argument, &names)?;
    if by_step.is_none() && steps.iter().all(|step| step.depends_on.is_none()) {
        return Ok(None);
    }
    let by_step = by_step.unwrap_or_default();
    let values = by_step.iter().chain(steps.iter().filter_map(|step| step.depends_on.as_ref()));
    if values.map(count_references).sum::<usize>() > MAX_REFERENCES {
        return Err(PlanError::bad_command("depends_on"));
    }
    let all = (1..).zip(steps).map(|(number, step)| {
        let values = by_step.get(number - 1).into_iter().chain(&step.depends_on);
        union_all(values.map(|value| names.resolve_value(number, value)))
    });
    all.collect::<Result<_, _>>().map(Some)
}

/// Returns an upper limit for the number of references in a value.
fn count_references(value: &Value) -> usize {
    match value {
        Value::Array(all) => all.iter().map(count_references).sum::<usize>() + 1,
        Value::String(text) => text.len() / MIN_REFERENCE + 1,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => 1,
    }
}

/// Returns `depends_on` as a list in the order of the steps. Also accepts an object by steps, or JSON in a
/// text.
fn order_by_step(
    argument: Option<&Value>,
    names: &StepNames,
) -> Result<Option<Vec<Value>>, PlanError> {
    match argument {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(list)) => Ok(Some(list.clone())),
        Some(Value::Object(members)) if members.len() > MAX_LISTED_STEPS => {
            Err(PlanError::bad_command("depends_on"))
        }
        Some(Value::Object(members)) => {
            let mut list = vec![Value::Null; names.step_count()];
            for (word, value) in members {
                let number = names.resolve_word(None, word);
                let place = number.and_then(|number| list.get_mut(number.checked_sub(1)?));
                *place.ok_or(PlanError::bad_command("depends_on"))? = value.clone();
            }
            Ok(Some(list))
        }
        Some(Value::String(text)) if is_none_word(text) => Ok(None),
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(list @ (Value::Array(_) | Value::Object(_))) => order_by_step(Some(&list), names),
            _ => Err(PlanError::bad_command("depends_on")),
        },
        Some(Value::Bool(_) | Value::Number(_)) => Err(PlanError::bad_command("depends_on")),
    }
}
