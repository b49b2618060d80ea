//! Checks of the order of a workflow's steps: no cycles, and no step behind a cycle.

use std::collections::{BTreeSet, VecDeque};

use djinn_core::workflow::Workflow;

use super::step::StepLines;
use crate::problem::Fault;

/// Rejects steps that could never begin.
pub(super) fn check_graph(workflow: &Workflow, lines: &[StepLines]) -> Result<(), Fault> {
    let waiting = find_waiting(workflow);
    let Some(first) = waiting.iter().find_map(|place| find_cycle(workflow, *place)) else {
        return Ok(());
    };
    let id = |place: usize| workflow.steps.get(place).map_or("", |step| step.id.as_str());
    let behind = waiting
        .iter()
        .find(|place| !first.contains(place) && find_cycle(workflow, **place).is_none());
    let names: Vec<&str> = first.iter().chain(first.first()).map(|place| id(*place)).collect();
    let mut rule = format!("steps wait for each other in a cycle: {}", names.join(" -> "));
    if let Some(place) = behind {
        rule.push_str(&format!("; the step `{}` can therefore never begin", id(*place)));
    }
    let place = first.first().copied().unwrap_or_default();
    Err(Fault::new(lines.get(place).map_or(1, |lines| lines.line_of("depends_on")), rule))
}

/// Returns the steps that never begin.
fn find_waiting(workflow: &Workflow) -> BTreeSet<usize> {
    let mut waiting: BTreeSet<usize> = (0..workflow.steps.len()).collect();
    loop {
        let free: Vec<usize> = workflow
            .steps
            .iter()
            .enumerate()
            .filter(|(place, step)| {
                waiting.contains(place) && !step.depends_on.iter().any(|on| waiting.contains(on))
            })
            .map(|(place, _)| place)
            .collect();
        if free.is_empty() {
            return waiting;
        }
        free.iter().for_each(|place| {
            waiting.remove(place);
        });
    }
}

/// Returns the shortest cycle through a step, beginning with the step.
fn find_cycle(workflow: &Workflow, start: usize) -> Option<Vec<usize>> {
    let mut ways = VecDeque::from([vec![start]]);
    let mut visits = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        let last = way.last().copied()?;
        for on in workflow.steps.get(last).into_iter().flat_map(|step| step.depends_on.iter()) {
            if *on == start {
                return Some(way);
            }
            if visits.insert(*on) {
                ways.push_back(way.iter().copied().chain([*on]).collect());
            }
        }
    }
    None
}

/// Returns the steps that end before a step begins.
pub(super) fn find_preceding(workflow: &Workflow, place: usize) -> BTreeSet<usize> {
    let mut preceding = BTreeSet::new();
    let mut next = vec![place];
    while let Some(step) = next.pop().and_then(|place| workflow.steps.get(place)) {
        next.extend(step.depends_on.iter().filter(|on| preceding.insert(**on)));
    }
    preceding
}
