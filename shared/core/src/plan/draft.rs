//! Steps as the planner writes them.

use std::collections::{BTreeMap, BTreeSet};

use super::{PlanError, Step, StepId, StepStatus};

/// The separator of parallel parts of a step in JoyAgent's plans.
const SEPARATOR: &str = "<sep>";

/// The prefix of step numbers in JoyAgent's plans: `执行顺序2. stage：details`.
const ORDER: &str = "执行顺序";

/// A step as the planner wrote it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepDraft {
    /// The line of the step in the planner's list, from 1. The planner knows the step by this number.
    pub line: usize,
    /// The stage of the step.
    pub stage: String,
    /// The work of the step.
    pub details: String,
    /// The numbers (from 1) of the steps in the list that must be completed before.
    pub depends_on: BTreeSet<usize>,
    /// The agent of the step; empty for any agent.
    pub agent: String,
}

impl StepDraft {
    pub(super) fn to_step(&self, id: StepId) -> Step {
        Step {
            id,
            stage: self.stage.clone(),
            details: self.details.clone(),
            status: StepStatus::NotStarted,
            note: String::new(),
            depends_on: BTreeSet::new(),
            agent: self.agent.clone(),
        }
    }
}

/// A step of the planner's list before parsing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepText {
    /// The stage, if the planner wrote it separately.
    pub stage: Option<String>,
    /// The work of the step. Without a separate stage, `stage: details` or a numbered line of this form.
    pub text: String,
}

impl StepText {
    /// Returns the names by which other steps may refer to the step: its stage, and its details without
    /// numbers.
    pub(super) fn reference_names(&self) -> [String; 2] {
        let line = DraftLine::parse(self, None);
        let details = line.parts.iter().map(|(_, details)| details.as_str());
        let details = details.collect::<Vec<_>>().join(" ");
        let stage = line.parts.into_iter().next().map(|(stage, _)| stage);
        [stage.unwrap_or_default(), details]
    }
}

/// A line of the list: its order number, if it has one, and its parts.
struct DraftLine {
    order: Option<u32>,
    parts: Vec<(String, String)>,
    depends_on: Option<BTreeSet<usize>>,
}

/// Parses a list of steps.
///
/// For each line, `depends_on` holds the numbers (from 1) of its dependencies. Without `depends_on`,
/// numbered lines (`执行顺序N.`) depend on the lines with the next lower number. Lines without a number then
/// depend on the previous line. `<sep>` splits a line into parts that run at once.
///
/// # Errors
/// Returns [`PlanError::UnknownDependency`] if a number matches no line.
pub fn parse_drafts(
    lines: &[StepText],
    depends_on: Option<&[BTreeSet<usize>]>,
) -> Result<Vec<StepDraft>, PlanError> {
    for (number, on) in (1..=lines.len()).zip(depends_on.into_iter().flatten()) {
        if let Some(on) = on.iter().find(|on| !(1..=lines.len()).contains(*on)) {
            return Err(PlanError::UnknownDependency { number, on: *on, steps: lines.len() });
        }
    }
    let dependencies_of = |index| depends_on.map(|all| all.get(index).cloned().unwrap_or_default());
    let lines: Vec<DraftLine> = lines
        .iter()
        .enumerate()
        .map(|(index, line)| DraftLine::parse(line, dependencies_of(index)))
        .collect();
    // The numbers of each line's drafts in the list of drafts.
    let mut numbers: Vec<Vec<usize>> = Vec::with_capacity(lines.len());
    let mut next = 1;
    for line in &lines {
        numbers.push((next..next + line.parts.len()).collect());
        next += line.parts.len();
    }
    let mut drafts = Vec::new();
    let mut lines_by_order: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
    for (number, line) in (1..).zip(&lines) {
        line.order.into_iter().for_each(|order| {
            lines_by_order.entry(order).or_default().insert(number);
        });
    }
    for (index, line) in lines.iter().enumerate() {
        let on: BTreeSet<usize> = awaited_lines(&lines_by_order, line, index)
            .into_iter()
            .flat_map(|line| {
                line.checked_sub(1).and_then(|line| numbers.get(line)).into_iter().flatten()
            })
            .copied()
            .collect();
        drafts.extend(line.parts.iter().map(|(stage, details)| StepDraft {
            line: index + 1,
            stage: stage.clone(),
            details: details.clone(),
            depends_on: on.clone(),
            agent: String::new(),
        }));
    }
    Ok(drafts)
}

/// Returns the numbers (from 1) of the lines that a line depends on; `ordered` holds the lines of each order
/// number.
fn awaited_lines(
    ordered: &BTreeMap<u32, BTreeSet<usize>>,
    line: &DraftLine,
    index: usize,
) -> BTreeSet<usize> {
    if let Some(on) = &line.depends_on {
        return on.clone();
    }
    let Some(order) = line.order else {
        return (index > 0).then_some(index).into_iter().collect();
    };
    ordered.range(..order).next_back().map(|(_, lower)| lower.clone()).unwrap_or_default()
}

impl DraftLine {
    fn parse(step: &StepText, depends_on: Option<BTreeSet<usize>>) -> Self {
        let text = step.text.trim();
        let line = step.stage.as_deref().map_or(text, str::trim);
        let (order, rest) =
            split_order_number(line).map_or((None, line), |(order, rest)| (Some(order), rest));
        let (stage, details) = match step.stage {
            Some(_) => (rest, text),
            None => split_stage(rest),
        };
        let parts = details.split(SEPARATOR).map(str::trim).filter(|part| !part.is_empty());
        let mut parts: Vec<_> = parts.map(|part| (stage.to_owned(), part.to_owned())).collect();
        if parts.is_empty() {
            parts.push((stage.to_owned(), String::new()));
        }
        Self { order, parts, depends_on }
    }
}

/// `执行顺序2. rest`, `2. rest` and `2、rest`; not a number of the step's own, as in `2.0 rest` and
/// `10:30 rest`.
pub(super) fn split_order_number(line: &str) -> Option<(u32, &str)> {
    let after = line.strip_prefix(ORDER);
    let line = after.unwrap_or(line).trim_start();
    let end = line.find(|c: char| !c.is_ascii_digit())?;
    let (digits, rest) = line.split_at(end);
    let after_mark = rest.strip_prefix('、');
    let rest = after_mark.or_else(|| rest.strip_prefix(['.', '．', ':', '：']))?;
    let goes_on = rest.starts_with(|c: char| c.is_ascii_digit());
    let is_order = after.is_some() || after_mark.is_some() || !goes_on;
    Some((digits.parse().ok()?, rest.trim_start())).filter(|_| is_order)
}

/// Splits `stage: details` at the first colon of the first line, if a short stage precedes the colon.
fn split_stage(text: &str) -> (&str, &str) {
    const LONGEST_STAGE: usize = 40;
    let stage_end =
        text.char_indices().take(LONGEST_STAGE).take_while(|(_, c)| *c != '\n').find(|(at, c)| {
            // Not the colon of a URL or a time.
            matches!(c, '：')
                || (*c == ':' && text.get(at + 1..).is_some_and(|rest| rest.starts_with(' ')))
        });
    match stage_end {
        Some((at, colon)) => {
            let details = text.get(at + colon.len_utf8()..).unwrap_or_default();
            (text.get(..at).unwrap_or_default().trim(), details.trim())
        }
        None => ("", text),
    }
}
