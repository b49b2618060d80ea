//! Checks across all agents of a deployment: names, tools and calls.

use std::collections::{BTreeMap, BTreeSet};

use djinn_core::agent::ALL_TOOLS;
use djinn_text::near_miss::find_near_miss;

use crate::call_graph::find_graph_problems;
use crate::problem::{FileProblem, quote};
use crate::read::ReadAgent;
use crate::review::check_review;

/// Names of calls that runs answer themselves, and the word for all tools; no agent may have such a name.
pub const RESERVED_NAMES: [&str; 3] = [ALL_TOOLS, "ask_user", "planning"];

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
    let is_known =
        |name: &str| name == ALL_TOOLS || known_tools.contains(name) || by_name.contains_key(name);
    let unknown = agent.tools_with_lines().filter(|(name, _)| !is_known(name));
    let mut problems: Vec<_> = unknown
        .map(|(name, line)| {
            let candidates = known_tools.iter().map(String::as_str).chain(by_name.keys().copied());
            let hint = find_near_miss(name, candidates)
                .map(|near_miss| format!(": did you mean `{near_miss}`?"))
                .unwrap_or_default();
            let name = quote(name);
            let rule = format!("`tools` names {name}, which is neither a tool nor an agent{hint}");
            agent.problem_at(line, rule)
        })
        .collect();
    problems.extend(check_file_calls(agent, known_tools));
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
            let hint = find_near_miss(name, by_name.keys().copied())
                .map(|near_miss| format!(": did you mean `{near_miss}`?"))
                .unwrap_or_default();
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

/// Returns unknown tools in `before` and `after`. Agents are not allowed there, because such a call has no
/// calling model.
fn check_file_calls(agent: &ReadAgent, known_tools: &BTreeSet<String>) -> Vec<FileProblem> {
    let before = agent.spec.before.iter().map(|name| ("before", name));
    let after = agent.spec.after.iter().map(|name| ("after", name));
    let unknown = before.chain(after).filter(|(_, name)| !known_tools.contains(*name));
    let problem = |(key, name): (&str, &String)| {
        let hint = find_near_miss(name, known_tools.iter().map(String::as_str))
            .map(|near_miss| format!(": did you mean `{near_miss}`?"))
            .unwrap_or_default();
        let rule = format!("`{key}` names {}, which is not a tool{hint}", quote(name));
        agent.problem_at(agent.line_of(key), rule)
    };
    unknown.map(problem).collect()
}
