//! Checks of calls and hand-overs between agents: no cycles, and no chain deeper than the limit.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use djinn_core::agent::ALL_TOOLS;
use djinn_core::id::MAX_DEPTH;

use crate::problem::FileProblem;
use crate::read::ReadAgent;

/// The agents by name, and the known depth of each.
struct CallGraph<'a> {
    agents: BTreeMap<&'a str, &'a ReadAgent>,
    /// The levels of an agent and its callees, and the callee with the most levels.
    levels: BTreeMap<&'a str, (usize, Option<&'a str>)>,
}

/// Returns every cycle of agents, and every chain that is too long.
pub(crate) fn find_graph_problems(agents: &[ReadAgent]) -> Vec<FileProblem> {
    let mut graph = CallGraph { agents: BTreeMap::new(), levels: BTreeMap::new() };
    for agent in agents {
        graph.agents.entry(agent.spec.name.as_str()).or_insert(agent);
    }
    graph.measure_levels();
    let mut problems = graph.find_circles();
    problems.extend(graph.find_long_chains());
    problems
}

impl<'a> CallGraph<'a> {
    /// Returns the agents that an agent calls or hands its run over to, each with its line in the file.
    fn callees(&self, name: &str) -> impl Iterator<Item = (&'a str, usize)> {
        let tools = self.agents.get(name).copied().into_iter().flat_map(|a| a.tools_with_lines());
        let called = tools.filter(|(tool, _)| self.agents.contains_key(tool));
        called.chain(self.agents_before(name)).chain(self.next_agents(name))
    }

    /// Returns the agents that an agent's file calls before the first turn.
    fn agents_before(&self, name: &str) -> Vec<(&'a str, usize)> {
        let Some(agent) = self.agents.get(name).copied() else { return Vec::new() };
        let calls = agent.calls_before().map(|(call, line)| (call.name(), line));
        calls.filter(|(name, _)| self.agents.contains_key(name)).collect()
    }

    /// Returns the agents to which an agent hands its run over. `all` stands for every mode that does not
    /// hand over itself.
    fn next_agents(&self, name: &str) -> Vec<(&'a str, usize)> {
        let Some(agent) = self.agents.get(name).copied() else { return Vec::new() };
        let names = agent.with_lines("hands_over", &agent.spec.hands_over);
        let mut next_agents = Vec::new();
        for (next, line) in names {
            if next == ALL_TOOLS {
                let spec = |agent: &&'a ReadAgent| &agent.spec;
                let modes = self.agents.values().map(spec);
                let free_modes = modes.filter(|mode| mode.entry && mode.hands_over.is_empty());
                next_agents.extend(free_modes.map(|mode| (mode.name.as_str(), line)));
            } else if self.agents.contains_key(next) {
                next_agents.push((next, line));
            }
        }
        next_agents
    }

    fn hands_over_to(&self, name: &str, next: &str) -> bool {
        self.next_agents(name).iter().any(|(other, _)| *other == next)
    }

    /// Sets the level of each agent after the levels of all its callees. Agents that lead into a cycle
    /// receive no level.
    fn measure_levels(&mut self) {
        let mut callers: BTreeMap<&str, Vec<&'a str>> = BTreeMap::new();
        let mut open: BTreeMap<&'a str, usize> = BTreeMap::new();
        for name in self.agents.keys().copied() {
            open.insert(name, self.callees(name).count());
            for (callee, _) in self.callees(name) {
                callers.entry(callee).or_default().push(name);
            }
        }
        let leaves = open.iter().filter(|(_, count)| **count == 0).map(|(name, _)| *name);
        let mut ready: VecDeque<&'a str> = leaves.collect();
        while let Some(name) = ready.pop_front() {
            // A planner takes two levels, because the steps of its plan are runs below its own.
            let own = if self.is_planner(name) { 2 } else { 1 };
            let levels = self.callees(name).filter_map(|(callee, _)| {
                let (level, _) = self.levels.get(callee)?;
                // The next agent works in the same run.
                let own = if self.hands_over_to(name, callee) { 0 } else { own };
                Some((own + level, callee))
            });
            let deepest = levels.max_by_key(|(level, _)| *level);
            let all = deepest.map_or(0, |(level, _)| level).max(own);
            self.levels.insert(name, (all, deepest.map(|(_, name)| name)));
            for caller in callers.get(name).into_iter().flatten().copied() {
                if let Some(count) = open.get_mut(caller) {
                    *count = count.saturating_sub(1);
                    if *count == 0 {
                        ready.push_back(caller);
                    }
                }
            }
        }
    }

    fn is_planner(&self, name: &str) -> bool {
        self.agents.get(name).is_some_and(|agent| agent.spec.machine.has_plan())
    }

    fn find_circles(&self) -> Vec<FileProblem> {
        let mut reported_names = BTreeSet::new();
        let mut problems = Vec::new();
        let without_level = self.agents.iter().filter(|(name, _)| !self.levels.contains_key(*name));
        for (name, agent) in without_level {
            if reported_names.contains(name) {
                continue;
            }
            if let Some((circle, line)) = self.find_circle(name) {
                let mut pairs = circle.windows(2);
                let hands_over = pairs.any(|pair| match pair {
                    [name, next] => self.hands_over_to(name, next),
                    _ => false,
                });
                let what = if hands_over { "hand over to" } else { "call" };
                let circle_text = circle.join(" -> ");
                let rule = format!("agents {what} each other in a cycle: {circle_text}");
                problems.push(agent.problem_at(line, rule));
                reported_names.extend(circle);
            }
        }
        problems
    }

    /// Returns the shortest cycle through an agent, and the line of its first call.
    fn find_circle(&self, name: &'a str) -> Option<(Vec<&'a str>, usize)> {
        let mut callers: BTreeMap<&'a str, &'a str> = BTreeMap::new();
        let mut ready = VecDeque::from([name]);
        while let Some(caller) = ready.pop_front() {
            for (callee, _) in self.callees(caller) {
                if callers.contains_key(callee) {
                    continue;
                }
                callers.insert(callee, caller);
                ready.push_back(callee);
            }
        }
        let mut circle = VecDeque::from([name]);
        let mut at = *callers.get(name)?;
        while at != name {
            circle.push_front(at);
            at = *callers.get(at)?;
        }
        circle.push_front(name);
        let next = circle.get(1).copied()?;
        let line = self.callees(name).find(|(callee, _)| *callee == next).map(|(_, line)| line)?;
        Some((circle.into(), line))
    }

    /// Returns the chains that are too long, each from its outermost agent.
    fn find_long_chains(&self) -> Vec<FileProblem> {
        let is_long = |name: &str| self.levels.get(name).is_some_and(|(all, _)| *all > MAX_DEPTH);
        let long: Vec<_> = self.agents.keys().copied().filter(|name| is_long(name)).collect();
        let inner: BTreeSet<_> =
            long.iter().flat_map(|name| self.callees(name)).map(|(callee, _)| callee).collect();
        let outermost = long.into_iter().filter(|name| !inner.contains(name));
        outermost.filter_map(|name| self.describe_chain(name)).collect()
    }

    fn describe_chain(&self, name: &'a str) -> Option<FileProblem> {
        let agent = self.agents.get(name)?;
        let (count, next) = self.levels.get(name)?;
        let line = self
            .callees(name)
            .find(|(callee, _)| Some(*callee) == *next)
            .map_or_else(|| agent.line_of("mode"), |(_, line)| line);
        let mut chain = Vec::new();
        let mut at = Some(name);
        while let Some(name) = at {
            chain.push(name.to_owned());
            if self.is_planner(name) {
                chain.push(format!("steps of {name}"));
            }
            at = self.levels.get(name).and_then(|(_, next)| *next);
        }
        let chain = chain.join(" -> ");
        let rule = format!(
            "the chain {chain} is {count} levels deep: the limit below a run is {MAX_DEPTH}"
        );
        Some(agent.problem_at(line, rule))
    }
}
