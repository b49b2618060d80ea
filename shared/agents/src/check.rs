//! Checks across all agents of a deployment: names, tools and calls.

use std::collections::{BTreeMap, BTreeSet};

use djinn_core::agent::{ALL_TOOLS, CallBefore};
use djinn_core::verdict::VERDICT_TOOL;
use djinn_text::near_miss::find_near_miss;

use crate::call_graph::find_graph_problems;
use crate::problem::{FileProblem, quote};
use crate::read::ReadAgent;
use crate::review::check_review;

/// Names of calls that runs answer themselves, and the word for all tools; no agent may have such a name.
pub const RESERVED_NAMES: [&str; 4] = [ALL_TOOLS, "ask_user", "planning", VERDICT_TOOL];

/// Checks agents against each other and against the names of all tools.
///
/// Two agents in this list may not share a name. Check agents of different languages separately.
#[must_use]
pub fn check_agents(agents: &[ReadAgent], known_tools: &BTreeSet<String>) -> Vec<FileProblem> {
    check_part(agents, known_tools, &BTreeSet::new())
}

/// Checks some of a deployment's agents, like [`check_agents`]. `elsewhere` holds the names of agents in files
/// that are not known yet.
#[must_use]
pub fn check_part(
    agents: &[ReadAgent],
    known_tools: &BTreeSet<String>,
    elsewhere: &BTreeSet<String>,
) -> Vec<FileProblem> {
    let mut by_name: BTreeMap<&str, &ReadAgent> = BTreeMap::new();
    let mut problems = Vec::new();
    for agent in agents {
        let name = agent.spec.name.as_str();
        problems.extend(check_name(agent, by_name.get(name).copied(), known_tools));
        by_name.entry(name).or_insert(agent);
    }
    for agent in agents {
        problems.extend(check_tools(agent, &by_name, known_tools));
        problems.extend(check_next_agents(agent, &by_name, elsewhere));
        problems.extend(check_reviewer(agent, &by_name, elsewhere));
    }
    problems.extend(find_shared_numbers(agents));
    problems.extend(find_graph_problems(agents));
    problems
}

/// Returns a problem for each mode whose number in JoyAgent's protocol another mode has.
fn find_shared_numbers(agents: &[ReadAgent]) -> Vec<FileProblem> {
    let mut by_number: BTreeMap<u16, &ReadAgent> = BTreeMap::new();
    let mut problems = Vec::new();
    for agent in agents {
        let Some(number) = agent.spec.agent_type else { continue };
        let first = by_number.entry(number).or_insert(agent);
        if first.spec.name != agent.spec.name {
            let other = quote(&first.spec.name);
            let rule = format!("`agent_type` is {number}, the number of the agent {other}");
            problems.push(agent.problem_at(agent.line_of("agent_type"), rule));
        }
    }
    problems
}

fn check_name(
    agent: &ReadAgent,
    first: Option<&ReadAgent>,
    known_tools: &BTreeSet<String>,
) -> Option<FileProblem> {
    let name = agent.spec.name.as_str();
    let whose = if let Some(first) = first {
        format!("the agent's in {}:{}", first.path(), first.line_of("name"))
    } else if RESERVED_NAMES.contains(&name) {
        "reserved".to_owned()
    } else if known_tools.contains(name) {
        "a tool's".to_owned()
    } else {
        return None;
    };
    let rule = format!("`name` is {}, which is {whose}; choose another name", quote(name));
    Some(agent.problem_at(agent.line_of("name"), rule))
}

fn check_tools(
    agent: &ReadAgent,
    by_name: &BTreeMap<&str, &ReadAgent>,
    known_tools: &BTreeSet<String>,
) -> Vec<FileProblem> {
    let is_known = |name: &str| {
        [ALL_TOOLS, VERDICT_TOOL].contains(&name)
            || known_tools.contains(name)
            || by_name.contains_key(name)
    };
    let unknown = agent.tools_with_lines().filter(|(name, _)| !is_known(name));
    let mut problems: Vec<_> = unknown
        .map(|(name, line)| {
            let candidates = known_tools.iter().map(String::as_str).chain(by_name.keys().copied());
            let hint = hint_at(name, candidates);
            let name = quote(name);
            let rule = format!("`tools` names {name}, which is neither a tool nor an agent{hint}");
            agent.problem_at(line, rule)
        })
        .collect();
    problems.extend(check_calls_before(agent, by_name, known_tools));
    problems.extend(check_call_after(agent, known_tools));
    problems.extend(check_verdict(agent, by_name));
    let is_offered = |name: &str| {
        let tools = &agent.spec.tools;
        let has_all = tools.iter().any(|tool| tool == ALL_TOOLS);
        tools.iter().any(|tool| tool == name) || (has_all && is_known(name))
    };
    let not_offered = |key: &str, name: &str, line: usize| {
        let rule = format!("`{key}` names {}, which is not among `tools`", quote(name));
        agent.problem_at(line, rule)
    };
    if let Some(first) = agent.spec.first_tool.as_deref().filter(|first| !is_offered(first)) {
        problems.push(not_offered("first_tool", first, agent.line_of("first_tool")));
    }
    let stop_at = agent.with_lines("stop_at", &agent.spec.stop_at);
    let missing = stop_at.filter(|(name, _)| !is_offered(name));
    problems.extend(missing.map(|(name, line)| not_offered("stop_at", name, line)));
    problems
}

/// Returns names in `hands_over` that are not agents, or are tools of the agent at the same time.
fn check_next_agents(
    agent: &ReadAgent,
    by_name: &BTreeMap<&str, &ReadAgent>,
    elsewhere: &BTreeSet<String>,
) -> Vec<FileProblem> {
    let next_agents = agent.with_lines("hands_over", &agent.spec.hands_over);
    let next_agents = next_agents.filter(|(name, _)| *name != ALL_TOOLS);
    let problem = |(name, line): (&str, usize)| {
        let rule = if agent.spec.tools.iter().any(|tool| tool == name) {
            format!("`hands_over` names {}, which is also among `tools`", quote(name))
        } else if by_name.contains_key(name) || elsewhere.contains(name) {
            return None;
        } else {
            let hint = hint_at(name, by_name.keys().copied());
            format!("`hands_over` names {}, which is not an agent{hint}", quote(name))
        };
        Some(agent.problem_at(line, rule))
    };
    next_agents.filter_map(problem).collect()
}

/// Returns the problem of the agent that judges a mode's answers.
fn check_reviewer(
    agent: &ReadAgent,
    by_name: &BTreeMap<&str, &ReadAgent>,
    elsewhere: &BTreeSet<String>,
) -> Option<FileProblem> {
    let policy = agent.spec.review.as_ref()?;
    if elsewhere.contains(&policy.agent) && !by_name.contains_key(policy.agent.as_str()) {
        return None;
    }
    let find = |name: &str| by_name.get(name).map(|agent| &agent.spec);
    let rule = check_review(policy, find, by_name.keys().copied())?;
    Some(agent.problem_at(agent.line_of("review"), rule))
}

/// Returns unknown names in `before`, and models for calls that have no model of their own.
fn check_calls_before(
    agent: &ReadAgent,
    by_name: &BTreeMap<&str, &ReadAgent>,
    known_tools: &BTreeSet<String>,
) -> Vec<FileProblem> {
    let problem = |(call, line): (&CallBefore, usize)| {
        let name = call.name();
        let quoted = quote(name);
        let called = by_name.get(name).map(|agent| &agent.spec);
        let rule = match (called, call.model()) {
            (Some(called), Some(_)) if called.machine.has_plan() => {
                format!("`before` gives {quoted} a `model`, but its file has `mode: plan_solve`")
            }
            (None, Some(_)) if known_tools.contains(name) => {
                format!("`before` gives the tool {quoted} a `model`: only agents have a model")
            }
            (Some(_), _) => return None,
            (None, None) if known_tools.contains(name) => return None,
            (None, _) => {
                let names = known_tools.iter().map(String::as_str).chain(by_name.keys().copied());
                let hint = hint_at(name, names);
                format!("`before` names {quoted}, which is neither a tool nor an agent{hint}")
            }
        };
        Some(agent.problem_at(line, rule))
    };
    agent.calls_before().filter_map(problem).collect()
}

/// Returns an unknown tool in `after`. Agents are not allowed there, because the result of this call is the
/// agent's own answer.
fn check_call_after(agent: &ReadAgent, known_tools: &BTreeSet<String>) -> Option<FileProblem> {
    let name = agent.spec.after.as_ref().filter(|name| !known_tools.contains(*name))?;
    let hint = hint_at(name, known_tools.iter().map(String::as_str));
    let rule = format!("`after` names {}, which is not a tool{hint}", quote(name));
    Some(agent.problem_at(agent.line_of("after"), rule))
}

/// Returns an agent that gives a verdict without agents to judge.
fn check_verdict(agent: &ReadAgent, by_name: &BTreeMap<&str, &ReadAgent>) -> Option<FileProblem> {
    let (_, line) = agent.tools_with_lines().find(|(name, _)| *name == VERDICT_TOOL)?;
    if agent.spec.before.iter().any(|call| by_name.contains_key(call.name())) {
        return None;
    }
    let rule = format!("`tools` names `{VERDICT_TOOL}`, but `before` names no agent");
    Some(agent.problem_at(line, rule))
}

/// Returns the end of a sentence about an unknown name.
fn hint_at<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> String {
    find_near_miss(name, candidates)
        .map(|near_miss| format!(": did you mean `{near_miss}`?"))
        .unwrap_or_default()
}
