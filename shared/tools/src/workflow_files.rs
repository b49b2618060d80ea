//! The workflows of a configuration folder.

use std::collections::BTreeMap;
use std::sync::Arc;

use djinn_agents::{FileProblem, ReadWorkflow, check_workflows, read_workflow};
use djinn_core::agent::AgentSpec;
use djinn_core::language::Language;
use djinn_runtime::port::text_folder::{FolderText, WORKFLOWS, split_language};
use djinn_runtime::port::tool::Tool;

use crate::agent_files::AgentReading;
use crate::agent_tool::AgentTool;

/// The workflows of a deployment, with the last valid state of each file: `workflows/NAME.yaml` for both languages, or
/// `workflows/en/NAME.yaml` and `workflows/zh/NAME.yaml`.
#[derive(Debug, Default)]
pub struct WorkflowFiles {
    /// The last valid state of each file.
    valid: BTreeMap<String, (Arc<str>, ReadWorkflow)>,
}

impl WorkflowFiles {
    /// Returns the workflows in the texts of a configuration folder at the path `folder`, whose steps may name these
    /// `agents`. An invalid file keeps its last valid state; without one, and for a problem with an agent, its workflow
    /// is left out.
    pub fn read(
        &mut self,
        folder: &str,
        texts: &[FolderText],
        agents: &[Arc<dyn Tool>],
    ) -> AgentReading {
        let mut problems = Vec::new();
        let mut by_name: BTreeMap<String, [Option<AgentSpec>; 2]> = BTreeMap::new();
        let workflows: Vec<(Option<Language>, ReadWorkflow)> = WORKFLOWS
            .texts_of(texts)
            .filter_map(|(name, text)| {
                let workflow = self.read_text(folder, text, &mut problems)?;
                Some((split_language(name).0, workflow))
            })
            .collect();
        for (place, language) in [Language::En, Language::Zh].into_iter().enumerate() {
            let is_in = |own: &Option<Language>| own.is_none_or(|own| own == language);
            let own: Vec<ReadWorkflow> = workflows
                .iter()
                .filter(|(own, _)| is_in(own))
                .map(|(_, workflow)| workflow.clone())
                .collect();
            let agents: Vec<AgentSpec> =
                agents.iter().filter_map(|tool| tool.agent(language)).collect();
            let faults = check_workflows(&own, &agents);
            let is_valid =
                |workflow: &&ReadWorkflow| faults.iter().all(|it| it.path != workflow.path());
            for workflow in own.iter().filter(is_valid) {
                let versions = by_name.entry(workflow.spec.name.clone()).or_default();
                if let Some(room) = versions.get_mut(place) {
                    *room = Some(workflow.spec.clone());
                }
            }
            for problem in faults {
                if !problems.contains(&problem) {
                    problems.push(problem);
                }
            }
        }
        let tools = by_name.into_values().filter_map(|[en, zh]| {
            let tool = AgentTool::of_files(en, zh)?;
            Some(Arc::new(tool) as Arc<dyn Tool>)
        });
        AgentReading { agents: tools.collect(), problems }
    }

    /// Returns the workflow of a file, or its last valid state.
    fn read_text(
        &mut self,
        folder: &str,
        text: &FolderText,
        problems: &mut Vec<FileProblem>,
    ) -> Option<ReadWorkflow> {
        let path = text.path_in(folder);
        let known = self.valid.get(&text.name);
        if let (Some((known, workflow)), Ok(text)) = (known, &text.text)
            && known == text
        {
            return Some(workflow.clone());
        }
        let read = match &text.text {
            Ok(content) => read_workflow(&path, content).map(|read| (Arc::clone(content), read)),
            Err(rule) => Err(FileProblem { path, line: 1, rule: format!("it {rule}") }),
        };
        match read {
            Ok((content, workflow)) => {
                self.valid.insert(text.name.clone(), (content, workflow.clone()));
                Some(workflow)
            }
            Err(problem) => {
                problems.push(problem);
                known.map(|(_, workflow)| workflow.clone())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(files: &[(&str, &str)]) -> Vec<FolderText> {
        let text = |(name, text): &(&str, &str)| FolderText {
            name: format!("workflows/{name}"),
            text: Ok((*text).into()),
        };
        files.iter().map(text).collect()
    }

    fn names(reading: &AgentReading) -> Vec<String> {
        reading.agents.iter().map(|tool| tool.spec(Language::En).name).collect()
    }

    const GOOD: &str = "description: Does it.\nsteps:\n  - {id: a, task: Do it.}\n";
    const OTHER: &str = "description: 做。\nsteps:\n  - {id: a, task: 做。}\n";

    #[test]
    fn a_workflow_is_a_mode_and_no_tool_and_keeps_its_last_valid_state() {
        let mut files = WorkflowFiles::default();
        let both = [("en/weekly.yaml", GOOD), ("zh/weekly.yaml", OTHER), ("brief.yaml", GOOD)];
        let reading = files.read("own", &texts(&both), &[]);
        assert_eq!(
            (names(&reading), reading.problems),
            (vec!["brief".to_owned(), "weekly".to_owned()], vec![])
        );
        let weekly = &reading.agents[1];
        assert!(weekly.is_mode() && weekly.is_workflow());
        assert_eq!(weekly.agent(Language::Zh).unwrap().description, "做。");

        let broken = [("en/weekly.yaml", GOOD), ("brief.yaml", "description: x\n")];
        let reading = files.read("own", &texts(&broken), &[]);
        assert_eq!(names(&reading), ["brief", "weekly"]);
        let [problem] = reading.problems.as_slice() else { panic!("{:?}", reading.problems) };
        let says = "own/workflows/brief.yaml:1: `steps` is missing: a list of steps";
        assert_eq!(problem.to_string(), says);
        assert!(files.read("own", &[], &[]).agents.is_empty());
    }

    #[test]
    fn a_workflow_whose_agent_is_missing_is_left_out_and_named_once() {
        let step = "description: x\nsteps:\n  - {id: a, agent: pricing, task: Do it.}\n";
        let reading = WorkflowFiles::default().read(
            "own",
            &texts(&[("a.yaml", step), ("b.yaml", GOOD)]),
            &[],
        );
        assert_eq!(names(&reading), ["b"]);
        let [problem] = reading.problems.as_slice() else { panic!("{:?}", reading.problems) };
        let says = "own/workflows/a.yaml:3: `agent` is `pricing`, which is not an agent";
        assert_eq!(problem.to_string(), says);
    }
}
