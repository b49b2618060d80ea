//! The tools of a configuration folder.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use djinn_core::language::Language;
use djinn_outside::{HttpTool, ToolFileProblem};
use djinn_runtime::port::text_folder::{FolderText, TOOLS};
use djinn_runtime::port::tool::{RESERVED_NAMES, Tool};
use djinn_schema::{OriginalSchema, shown_form};

/// The tools of a deployment that are files, `tools/NAME.toml`, with the last valid state of each file.
#[derive(Debug, Default)]
pub struct ToolFiles {
    /// The names of the deployment's own tools, which no file can have.
    own_tools: BTreeSet<String>,
    valid: BTreeMap<String, (Arc<str>, Arc<HttpTool>)>,
}

/// The tools of one read.
#[derive(Debug, Default)]
pub struct ToolFileReading {
    /// The tools in the order of their names, disabled tools included.
    pub tools: Vec<Arc<HttpTool>>,
    /// The problems of files.
    pub problems: Vec<ToolFileProblem>,
}

impl ToolFiles {
    /// Creates the tools of a deployment with these own tools, without reading files.
    #[must_use]
    pub fn new(own_tools: BTreeSet<String>) -> Self {
        Self { own_tools, valid: BTreeMap::new() }
    }

    /// Returns the tools in the texts of a configuration folder at the path `folder`. An invalid file keeps its last
    /// valid state; without one, its tool is left out.
    pub fn read(&mut self, folder: &str, texts: &[FolderText]) -> ToolFileReading {
        let mut reading = ToolFileReading::default();
        for (name, text) in TOOLS.texts_of(texts) {
            let name = name.strip_suffix(".toml").unwrap_or(name);
            let known = self.valid.get(&text.name);
            if let (Some((known, tool)), Ok(text)) = (known, &text.text)
                && known == text
            {
                reading.tools.push(Arc::clone(tool));
                continue;
            }
            match self.read_text(name, &text.path_in(folder), &text.text) {
                Ok((content, tool)) => {
                    let tool = Arc::new(tool);
                    reading.tools.push(Arc::clone(&tool));
                    self.valid.insert(text.name.clone(), (content, tool));
                }
                Err(problems) => {
                    reading.problems.extend(problems);
                    reading.tools.extend(known.map(|(_, tool)| Arc::clone(tool)));
                }
            }
        }
        reading
    }

    fn read_text(
        &self,
        name: &str,
        path: &str,
        text: &Result<Arc<str>, String>,
    ) -> Result<(Arc<str>, HttpTool), Vec<ToolFileProblem>> {
        let problem = |rule| vec![ToolFileProblem { path: path.to_owned(), line: 1, rule }];
        let text = text.as_ref().map_err(|rule| problem(format!("it {rule}")))?;
        if RESERVED_NAMES.contains(&name) || self.own_tools.contains(name) {
            let rule = format!("the name `{name}` belongs to a tool of Djinn or of the deployment");
            return Err(problem(rule));
        }
        let tool = HttpTool::read(name, path, text)?;
        let checks = [
            shown_form(&tool.parameters).map(drop),
            OriginalSchema::compile(&tool.parameters).map(drop),
        ];
        match checks.into_iter().find_map(Result::err) {
            Some(error) => Err(problem(format!("`parameters` cannot be used: {error}"))),
            None => Ok((Arc::clone(text), tool)),
        }
    }
}

impl ToolFileReading {
    /// Returns the names of all tools.
    #[must_use]
    pub fn names(&self) -> BTreeSet<String> {
        self.tools.iter().map(|tool| tool.name.clone()).collect()
    }

    /// Leaves out the tools whose names are agents', with a problem for each.
    pub fn leave_out_agents(&mut self, folder: &str, agents: &[Arc<dyn Tool>]) {
        let agents: BTreeSet<String> =
            agents.iter().map(|agent| agent.spec(Language::En).name).collect();
        let problems = &mut self.problems;
        self.tools.retain(|tool| {
            let name = &tool.name;
            if !agents.contains(name) {
                return true;
            }
            problems.push(ToolFileProblem {
                path: format!("{}/{}/{name}.toml", folder.trim_end_matches('/'), TOOLS.name),
                line: 1,
                rule: format!("the name `{name}` belongs to an agent: give the file another name"),
            });
            false
        });
    }
}

#[cfg(test)]
mod tests {
    use djinn_agents::{AgentFile, read_agent};

    use super::*;
    use crate::agent_tool::AgentTool;

    const TOOL: &str = "description = \"a\"\ntrust = \"none\"\nrequest = { method = \"GET\", url = \"http://a.test\" }\n";

    fn texts(files: &[(&str, &str)]) -> Vec<FolderText> {
        let text = |(name, text): &(&str, &str)| FolderText {
            name: format!("tools/{name}.toml"),
            text: Ok((*text).into()),
        };
        files.iter().map(text).collect()
    }

    fn read(files: &mut ToolFiles, texts: &[FolderText]) -> (Vec<String>, Vec<String>) {
        let reading = files.read("own", texts);
        let problems = reading.problems.iter().map(ToString::to_string).collect();
        (reading.names().into_iter().collect(), problems)
    }

    #[test]
    fn a_file_keeps_its_last_valid_state_until_it_is_removed() {
        let mut files = ToolFiles::default();
        let both = [("weather", TOOL), ("stock", TOOL)];
        let names = ["stock", "weather"].map(str::to_owned).to_vec();
        assert_eq!(read(&mut files, &texts(&both)), (names.clone(), vec![]));
        let problem = "own/tools/stock.toml:1: `description` is missing";
        let (kept, problems) = read(&mut files, &texts(&[("weather", TOOL), ("stock", "")]));
        assert_eq!(kept, names);
        assert!(problems[0].starts_with(problem), "{problems:?}");
        assert_eq!(read(&mut files, &texts(&[("weather", TOOL)])).0, ["weather"]);
        let unreadable =
            FolderText { name: "tools/other.toml".to_owned(), text: Err("is a mess".to_owned()) };
        let (names, problems) = read(&mut files, &[unreadable]);
        assert_eq!(
            (names.len(), &*problems),
            (0, &["own/tools/other.toml:1: it is a mess".to_owned()][..])
        );
    }

    #[test]
    fn no_file_replaces_a_tool_an_agent_or_a_reserved_name() {
        let own_tools = BTreeSet::from(["file_tool".to_owned()]);
        let names = ["file_tool", "planning", "ask_user", "all"];
        let (kept, problems) =
            read(&mut ToolFiles::new(own_tools), &texts(&names.map(|name| (name, TOOL))));
        assert_eq!((kept.len(), problems.len()), (0, 4), "{problems:?}");
        assert!(problems[0].contains("the name `file_tool` belongs to a tool"), "{problems:?}");

        let text = "---\nname: pricing\ndescription: Knows prices.\n---\nYou know.\n";
        let path = "agents/pricing.md";
        let file = AgentFile { path, text, language: Language::En, entry: false };
        let agent = AgentTool::of_files(Some(read_agent(&file).unwrap().spec), None).unwrap();
        let mut reading =
            ToolFiles::default().read("own/", &texts(&[("pricing", TOOL), ("b", TOOL)]));
        reading.leave_out_agents("own/", &[Arc::new(agent)]);
        assert_eq!(reading.names().into_iter().collect::<Vec<_>>(), ["b"]);
        let problem = reading.problems[0].to_string();
        assert!(
            problem.starts_with("own/tools/pricing.toml:1: the name `pricing` belongs to an agent")
        );
    }

    #[test]
    fn a_schema_must_compile() {
        let text =
            format!("parameters = '{{\"type\": \"object\", \"minProperties\": \"x\"}}'\n{TOOL}");
        let (_, problems) = read(&mut ToolFiles::default(), &texts(&[("a", &text)]));
        assert!(problems[0].starts_with("own/tools/a.toml:1: `parameters` cannot be used: "));
    }
}
