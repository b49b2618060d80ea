//! The planner's list of steps and what they wait for, in the forms in which models write them.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::draft::{StepText, drafts, numbered};
use super::{PlanError, StepDraft};

/// Characters of a reference that cannot be read, where the planner is told of it.
const MAX_SHOWN: usize = 100;

/// Bytes of a word by which a step is known among others.
const MIN_WORD: usize = 3;

/// Members of a step that is an object. The first that is there counts.
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
const IDS: [&str; 6] = ["id", "step_id", "step", "step_number", "number", "index"];
const DEPENDENCIES: [&str; 5] =
    ["depends_on", "dependsOn", "dependencies", "prerequisites", "requires"];

/// What stands before the number of a step: `step 3`, `s3`.
const BEFORE_NUMBER: [&str; 7] = ["steps", "step", "task", "执行顺序", "步骤", "第", "s"];

/// Reads `steps` and `depends_on`.
///
/// # Errors
/// What cannot be read, for the planner.
pub(super) fn read_steps(arguments: &Map<String, Value>) -> Result<Vec<StepDraft>, PlanError> {
    let list = arguments.get("steps").and_then(list_of_steps).ok_or(bad("steps"))?;
    let steps = (1..)
        .zip(&list)
        .map(|(number, step)| ListedStep::read(step).ok_or(PlanError::BadStep { number }));
    let steps: Vec<ListedStep> = steps.collect::<Result<_, _>>()?;
    let depends_on = dependencies(arguments.get("depends_on"), &steps)?;
    let texts: Vec<StepText> = steps.into_iter().map(|step| step.text).collect();
    drafts(&texts, depends_on.as_deref())
}

/// The number of a step: `3`, `3.0`, `"3"`, `"s3"`, `"step 3"`, `"3. title"`.
pub(super) fn step_number(value: &Value) -> Option<usize> {
    match value {
        Value::Number(number) => whole(number),
        Value::String(word) => number_in(word),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn bad(argument: &'static str) -> PlanError {
    PlanError::BadCommand { argument }
}

fn whole(number: &serde_json::Number) -> Option<usize> {
    let written = number.to_string();
    written.strip_suffix(".0").unwrap_or(&written).parse().ok()
}

fn number_in(word: &str) -> Option<usize> {
    let word = word.trim().to_lowercase();
    let word = word.trim_start_matches(['#', '(', '[']);
    let named = BEFORE_NUMBER.iter().find_map(|before| word.strip_prefix(before));
    let rest = named.unwrap_or(word).trim_start_matches([' ', '_', '-', '#']);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, rest) = rest.split_at(end);
    // `s3.1` is an attempt at s3, and `3.1` is nothing.
    let attempt = rest.strip_prefix('.').is_some_and(|rest| rest.starts_with(char::is_numeric));
    let ends = matches!(rest, "" | "步") || rest.starts_with(['.', ':', '：', ')', ']']);
    digits.parse().ok().filter(|_| ends && (named.is_some() || !attempt))
}

/// A list, also one that was written as a text: in JSON, or line by line with numbers or bullets.
fn list_of_steps(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(list) => Some(list.clone()),
        Value::String(text) => serde_json::from_str(text).ok().or_else(|| lines_of(text)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn lines_of(text: &str) -> Option<Vec<Value>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Option<Vec<Value>> = lines
        .map(|line| match line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")) {
            Some(rest) => Some(rest.into()),
            None => numbered(line).map(|_| line.into()),
        })
        .collect();
    lines.filter(|lines| !lines.is_empty())
}

/// A step as it stands in the list.
struct ListedStep {
    /// What it calls itself.
    id: Option<String>,
    text: StepText,
    /// What it waits for, if it says so itself.
    depends_on: Option<Value>,
}

impl ListedStep {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::String(_) => {
                let text = StepText { stage: None, text: text_of(value)? };
                Some(Self { id: None, text, depends_on: None })
            }
            Value::Object(members) => Self::of_members(members),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
        }
    }

    fn of_members(members: &Map<String, Value>) -> Option<Self> {
        let first = |names: &[&str]| names.iter().find_map(|name| text_of(members.get(*name)?));
        let stage = first(&STAGES);
        // `step` is a text in some plans and a number in others.
        let of_step = || first(&["step"]).filter(|word| number_in(word).is_none());
        let (stage, text) = match (stage, first(&DETAILS).or_else(of_step)) {
            (Some(stage), Some(text)) if stage != text => (Some(stage), text),
            (_, Some(text)) | (Some(text), None) => (None, text),
            (None, None) => return None,
        };
        let id = IDS.iter().find_map(|name| {
            let value = members.get(*name)?;
            let word = value.as_str().filter(|_| name.ends_with("id"));
            let number = || step_number(value).map(|number| number.to_string());
            word.map(|word| word.trim().to_lowercase()).or_else(number)
        });
        let depends_on = DEPENDENCIES.iter().find_map(|name| members.get(*name)).cloned();
        Some(Self { id, text: StepText { stage, text }, depends_on })
    }

    /// Whether it is called so, whatever the case.
    fn is_called(&self, word: &str) -> bool {
        let [stage, details] = self.text.names();
        [self.text.text.trim(), &stage, &details].iter().any(|name| name.to_lowercase() == word)
    }

    /// Whether its words hold this one.
    fn speaks_of(&self, word: &str) -> bool {
        let stage = self.text.stage.as_deref().unwrap_or_default();
        format!("{stage} {}", self.text.text).to_lowercase().contains(word)
    }
}

/// A text that is not blank, or several.
fn text_of(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Array(texts) => texts.iter().map(text_of).collect::<Option<Vec<_>>>()?.join("\n"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// For each step the numbers of those that it waits for; `None` if nothing is said of that.
fn dependencies(
    given: Option<&Value>,
    steps: &[ListedStep],
) -> Result<Option<Vec<BTreeSet<usize>>>, PlanError> {
    let given = by_step(given, steps)?;
    if given.is_none() && steps.iter().all(|step| step.depends_on.is_none()) {
        return Ok(None);
    }
    let given = given.unwrap_or_default();
    let all = (1..).zip(steps).map(|(number, step)| {
        let reader = References { steps, number };
        let said = given.get(number - 1).into_iter().chain(&step.depends_on);
        union(said.map(|value| reader.numbers(value)))
    });
    all.collect::<Result<_, _>>().map(Some)
}

/// `depends_on` as a list in the order of the steps: it may also be an object by steps, or JSON in a
/// text.
fn by_step(given: Option<&Value>, steps: &[ListedStep]) -> Result<Option<Vec<Value>>, PlanError> {
    match given {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(list)) => Ok(Some(list.clone())),
        Some(Value::Object(members)) => {
            let mut list = vec![Value::Null; steps.len()];
            for (word, value) in members {
                let number = References { steps, number: 0 }.number(word);
                let place = number.and_then(|number| list.get_mut(number.checked_sub(1)?));
                *place.ok_or(bad("depends_on"))? = value.clone();
            }
            Ok(Some(list))
        }
        Some(Value::String(text)) if is_none(text) => Ok(None),
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(list @ (Value::Array(_) | Value::Object(_))) => by_step(Some(&list), steps),
            _ => Err(bad("depends_on")),
        },
        Some(Value::Bool(_) | Value::Number(_)) => Err(bad("depends_on")),
    }
}

/// A word for no step at all.
fn is_none(word: &str) -> bool {
    matches!(word.trim().to_lowercase().as_str(), "" | "-" | "none" | "null" | "n/a" | "无")
}

/// Reads what the step of a number says of others.
struct References<'a> {
    steps: &'a [ListedStep],
    number: usize,
}

impl References<'_> {
    /// The numbers of all steps that a value names.
    fn numbers(&self, value: &Value) -> Result<BTreeSet<usize>, PlanError> {
        let bad = || self.bad(value.as_str().unwrap_or(&value.to_string()));
        let one = |number: Option<usize>| number.map(|number| [number].into()).ok_or_else(bad);
        match value {
            Value::Null => Ok(BTreeSet::new()),
            Value::Array(all) => union(all.iter().map(|value| self.numbers(value))),
            Value::Number(number) => one(whole(number).map(|number| self.with_id(number))),
            Value::String(word) if is_none(word) => Ok(BTreeSet::new()),
            Value::String(word) => self.in_word(word).ok_or_else(bad),
            Value::Object(members) => {
                let id = IDS.iter().find_map(|name| members.get(*name)).unwrap_or(&Value::Null);
                match id {
                    Value::Number(_) | Value::String(_) => self.numbers(id),
                    Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => Err(bad()),
                }
            }
            Value::Bool(_) => Err(bad()),
        }
    }

    /// Those that a text names: one, or several with commas.
    fn in_word(&self, word: &str) -> Option<BTreeSet<usize>> {
        if let Some(number) = self.exactly(word) {
            return Some([number].into());
        }
        let parted = word.replace(" and ", ",");
        let parts = parted.split([',', '，', '、', ';', '；', '&']);
        let parts: Vec<&str> = parts.filter(|part| !part.trim().is_empty()).collect();
        let all: Option<BTreeSet<usize>> = parts.iter().map(|part| self.number(part)).collect();
        all.or_else(|| Some([self.number(word)?].into()))
    }

    /// The number of the one step that a word names: by its id, title or number, or by words that no
    /// other has.
    fn number(&self, word: &str) -> Option<usize> {
        let by_number = || number_in(word).map(|number| self.with_id(number));
        let word = word.trim().to_lowercase();
        let speaks_of_it = |step: &ListedStep| word.len() >= MIN_WORD && step.speaks_of(&word);
        let others = || self.only(|number, step| number != self.number && speaks_of_it(step));
        self.exactly(&word).or_else(by_number).or_else(others)
    }

    /// The number of the one step that has this id or title.
    fn exactly(&self, word: &str) -> Option<usize> {
        let word = word.trim().to_lowercase();
        let by_title = || self.only(|_, step| step.is_called(&word));
        self.only(|_, step| step.id.as_deref() == Some(&word)).or_else(by_title)
    }

    /// The number of the step that has this number as its id; else it counts from 1.
    fn with_id(&self, number: usize) -> usize {
        let id = number.to_string();
        self.only(|_, step| step.id.as_deref() == Some(&id)).unwrap_or(number)
    }

    /// The number of the step for which something is true, if that is one.
    fn only(&self, is_meant: impl Fn(usize, &ListedStep) -> bool) -> Option<usize> {
        let mut meant = (1..).zip(self.steps).filter(|(number, step)| is_meant(*number, step));
        meant.next().map(|it| it.0).filter(|_| meant.next().is_none())
    }

    fn bad(&self, on: &str) -> PlanError {
        let on = on.chars().take(MAX_SHOWN).collect();
        PlanError::BadDependency { number: self.number, on }
    }
}

fn union(
    all: impl Iterator<Item = Result<BTreeSet<usize>, PlanError>>,
) -> Result<BTreeSet<usize>, PlanError> {
    all.collect::<Result<Vec<_>, _>>().map(|all| all.into_iter().flatten().collect())
}
