//! The tools of a configuration folder.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use djinn_core::language::Language;
use djinn_outside::{
    HttpTool, LockFile, McpServer, OutsideDefinition, ToolFileProblem, WithheldTool,
};
use djinn_runtime::port::text_folder::{FolderText, SERVERS, SERVERS_LOCK, TOOLS};
use djinn_runtime::port::tool::{RESERVED_NAMES, Tool};
use djinn_schema::{OriginalSchema, shown_form};

/// The tools of a deployment that are files, with the last valid state of each file: `tools/NAME.toml`,
/// `tools/servers/NAME.toml` and `tools/servers.lock.json`.
#[derive(Debug, Default)]
pub struct ToolFiles {
    /// The names of the deployment's own tools, which no file can have.
    own_tools: BTreeSet<String>,
    http_tools: ValidFiles<HttpTool>,
    servers: ValidFiles<McpServer>,
    lock: ValidFiles<LockFile>,
}

/// The tools of one read.
#[derive(Debug, Default)]
pub struct ToolFileReading {
    /// The tools in the order of their names, disabled tools included.
    pub tools: Vec<OutsideDefinition>,
    /// The tools of servers that no run is offered, because of the lock file.
    pub withheld: Vec<WithheldTool>,
    /// The problems of files.
    pub problems: Vec<ToolFileProblem>,
}

/// The last valid content of each file of a kind, by the file's name.
#[derive(Debug)]
struct ValidFiles<T>(BTreeMap<String, (Arc<str>, Arc<T>)>);

impl<T> Default for ValidFiles<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> ValidFiles<T> {
    /// Returns the content of a file, read by `parse` if the file has changed. An invalid file keeps its last valid
    /// content; its problems are added to `problems`.
    fn read(
        &mut self,
        file: &FolderText,
        path: &str,
        problems: &mut Vec<ToolFileProblem>,
        parse: impl FnOnce(&str) -> Result<T, Vec<ToolFileProblem>>,
    ) -> Option<Arc<T>> {
        let known = self.0.get(&file.name);
        let result = match (&file.text, known) {
            (Ok(text), Some((known, content))) if known == text => {
                return Some(Arc::clone(content));
            }
            (Ok(text), _) => parse(text).map(|content| (Arc::clone(text), Arc::new(content))),
            (Err(rule), _) => {
                let path = path.to_owned();
                Err(vec![ToolFileProblem { path, line: 1, rule: format!("it {rule}") }])
            }
        };
        match result {
            Ok((text, content)) => {
                self.0.insert(file.name.clone(), (text, Arc::clone(&content)));
                Some(content)
            }
            Err(found) => {
                problems.extend(found);
                known.map(|(_, content)| Arc::clone(content))
            }
        }
    }
}

impl ToolFiles {
    /// Creates the tools of a deployment with these own tools, without reading files.
    #[must_use]
    pub fn new(own_tools: BTreeSet<String>) -> Self {
        Self { own_tools, ..Self::default() }
    }

    /// Returns the tools in the texts of a configuration folder at the path `folder`. An invalid file keeps its last
    /// valid state; without one, its tools are left out.
    pub fn read(&mut self, folder: &str, texts: &[FolderText]) -> ToolFileReading {
        let mut reading = ToolFileReading::default();
        for (name, text) in TOOLS.texts_of(texts) {
            let name = name.strip_suffix(".toml").unwrap_or(name);
            let path = text.path_in(folder);
            let is_taken = self.is_taken(name);
            let problems = &mut reading.problems;
            let tool = self.http_tools.read(text, &path, problems, |text| {
                if is_taken {
                    return Err(vec![taken_problem(path.clone(), name)]);
                }
                read_http_tool(name, &path, text)
            });
            reading.tools.extend(tool.map(OutsideDefinition::Http));
        }
        let lock = texts.iter().find(|text| text.name == SERVERS_LOCK).and_then(|text| {
            let path = text.path_in(folder);
            self.lock.read(text, &path, &mut reading.problems, |text| LockFile::read(&path, text))
        });
        let lock = lock.unwrap_or_default();
        for (name, text) in SERVERS.texts_of(texts) {
            let name = name.strip_suffix(".toml").unwrap_or(name);
            let path = text.path_in(folder);
            let server = self.servers.read(text, &path, &mut reading.problems, |text| {
                McpServer::read(name, &path, text)
            });
            if let Some(server) = server {
                self.add_server(&mut reading, &path, &server, &lock);
            }
        }
        reading.tools.sort_by(|one, other| one.name().cmp(other.name()));
        reading
    }

    /// Adds the tools of a server. A file that names unknown tools is as good as not locked: what it says about them,
    /// such as `enabled = false`, may be meant for others.
    fn add_server(
        &self,
        reading: &mut ToolFileReading,
        path: &str,
        server: &McpServer,
        lock: &LockFile,
    ) {
        let locked = lock.find_server(server);
        let problems = locked.map(|locked| server.check_tools(locked)).unwrap_or_default();
        let is_consistent = problems.is_empty();
        reading.problems.extend(problems);
        let locked = locked.filter(|_| is_consistent);
        reading.withheld.extend(server.list_withheld(locked));
        for tool in locked.map(|locked| server.list_tools(locked)).unwrap_or_default() {
            if self.is_taken(&tool.name)
                || reading.tools.iter().any(|other| other.name() == tool.name)
            {
                reading.problems.push(taken_problem(path.to_owned(), &tool.name));
            } else {
                reading.tools.push(OutsideDefinition::Mcp(Arc::new(tool)));
            }
        }
    }

    /// Returns true for a name that no file's tool can have.
    fn is_taken(&self, name: &str) -> bool {
        RESERVED_NAMES.contains(&name) || self.own_tools.contains(name)
    }
}

fn read_http_tool(name: &str, path: &str, text: &str) -> Result<HttpTool, Vec<ToolFileProblem>> {
    let tool = HttpTool::read(name, path, text)?;
    let checks = [
        shown_form(&tool.parameters).map(drop),
        OriginalSchema::compile(&tool.parameters).map(drop),
    ];
    match checks.into_iter().find_map(Result::err) {
        Some(error) => {
            let rule = format!("`parameters` cannot be used: {error}");
            Err(vec![ToolFileProblem { path: path.to_owned(), line: 1, rule }])
        }
        None => Ok(tool),
    }
}

fn taken_problem(path: String, name: &str) -> ToolFileProblem {
    let rule = format!("the name `{name}` belongs to a tool of Djinn or of the deployment");
    ToolFileProblem { path, line: 1, rule }
}

impl ToolFileReading {
    /// Returns the names of all tools.
    #[must_use]
    pub fn names(&self) -> BTreeSet<String> {
        self.tools.iter().map(|tool| tool.name().to_owned()).collect()
    }

    /// Leaves out the tools whose names are agents', with a problem for each.
    pub fn leave_out_agents(&mut self, folder: &str, agents: &[Arc<dyn Tool>]) {
        let agents: BTreeSet<String> =
            agents.iter().map(|agent| agent.spec(Language::En).name).collect();
        let problems = &mut self.problems;
        self.tools.retain(|tool| {
            let name = tool.name();
            if !agents.contains(name) {
                return true;
            }
            let (place, file) = match tool {
                OutsideDefinition::Http(_) => (TOOLS.name, name),
                OutsideDefinition::Mcp(tool) => (SERVERS.name, &*tool.server),
            };
            problems.push(ToolFileProblem {
                path: format!("{}/{place}/{file}.toml", folder.trim_end_matches('/')),
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
    use djinn_outside::{LockedServer, ServerTransport};
    use serde_json::json;

    use super::*;
    use crate::agent_tool::AgentTool;

    const TOOL: &str = "description = \"a\"\ntrust = \"none\"\nrequest = { method = \"GET\", url = \"http://a.test\" }\n";

    fn agent(name: &str) -> Arc<dyn Tool> {
        let text = &format!("---\nname: {name}\ndescription: Knows prices.\n---\nYou know.\n");
        let path = "agents/pricing.md";
        let file = AgentFile { path, text, language: Language::En, entry: false };
        Arc::new(AgentTool::of_files(Some(read_agent(&file).unwrap().spec), None).unwrap())
    }

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

        let mut reading =
            ToolFiles::default().read("own/", &texts(&[("pricing", TOOL), ("b", TOOL)]));
        reading.leave_out_agents("own/", &[agent("pricing")]);
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

    const SERVER: &str = "url = \"http://a.test/mcp\"\ntrust = \"none\"\n";

    /// The texts of a folder with the server `notes` and a lock file with these tools.
    fn server_texts(server: &str, url: &str, tools: &[&str]) -> Vec<FolderText> {
        let at = SERVER.replace("http://a.test/mcp", url);
        let file = McpServer::read("notes", "notes.toml", &at).unwrap();
        let definition = |name: &&str| Ok(json!({"name": name, "inputSchema": {"type": "object"}}));
        let mut listing: Vec<_> = tools.iter().map(definition).collect();
        listing.push(Ok(json!({"name": "odd", "inputSchema": {"type": "string"}})));
        let locked = LockedServer::from_listing(
            &file,
            ServerTransport::StreamableHttp,
            "2025-11-25",
            &listing,
        );
        let mut lock = LockFile::default();
        lock.servers.insert("notes".to_owned(), locked);
        let text = |name: &str, text: &str| FolderText {
            name: name.to_owned(),
            text: Ok(text.to_owned().into()),
        };
        vec![
            text("tools/servers.lock.json", &lock.to_text()),
            text("tools/servers/notes.toml", server),
        ]
    }

    /// The names of the tools, of withheld tools, and the problems.
    fn read_servers(
        files: &mut ToolFiles,
        texts: &[FolderText],
    ) -> (Vec<String>, Vec<String>, Vec<String>) {
        let reading = files.read("own", texts);
        let names = reading.names().into_iter().collect();
        let withheld = reading.withheld.iter().map(|tool| tool.name.clone()).collect();
        (names, withheld, reading.problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn the_tools_of_a_server_are_those_that_were_locked_at_its_url() {
        let all = server_texts(SERVER, "http://a.test/mcp", &["add", "list"]);
        let read = |texts: &[FolderText]| read_servers(&mut ToolFiles::default(), texts);
        let (tools, withheld, problems) = read(&all);
        assert_eq!(
            (&*tools, &*withheld),
            (&["notes__add", "notes__list"].map(str::to_owned)[..], &["notes__odd".to_owned()][..])
        );
        assert_eq!(problems, [""; 0]);

        let not_locked = (vec![], vec!["notes__*".to_owned()], vec![]);
        assert_eq!(read(&server_texts(SERVER, "http://b.test/mcp", &["add"])), not_locked);
        assert_eq!(read(&all[1..]), not_locked);
        assert_eq!(read(&all[..1]), (vec![], vec![], vec![]));

        // A misspelt name must not leave a tool offered that the operator disabled.
        let misspelt = format!("{SERVER}[tools.lst]\nenabled = false\n");
        let (tools, withheld, problems) =
            read(&server_texts(&misspelt, "http://a.test/mcp", &["add", "list"]));
        assert_eq!((tools, withheld), (vec![], vec!["notes__*".to_owned()]));
        let says = "own/tools/servers/notes.toml:3: `tools` has `lst`, which is no tool of the server in the lock file: \
                    did you mean `list`?";
        assert_eq!(problems, [says]);
    }

    #[test]
    fn a_broken_lock_file_keeps_its_last_valid_state_until_it_is_removed() {
        let mut files = ToolFiles::default();
        let mut texts = server_texts(SERVER, "http://a.test/mcp", &["add"]);
        assert_eq!(read_servers(&mut files, &texts).0, ["notes__add"]);
        texts[0].text = Ok("{}".into());
        let (tools, _, problems) = read_servers(&mut files, &texts);
        assert_eq!(tools, ["notes__add"]);
        assert!(problems[0].starts_with("own/tools/servers.lock.json:1: it is no lock file: "));
        texts[1].text = Ok("url = 3\n".into());
        assert_eq!(read_servers(&mut files, &texts).0, ["notes__add"]);
        texts.remove(0);
        assert_eq!(read_servers(&mut files, &texts).0, [""; 0]);
    }

    #[test]
    fn no_server_replaces_another_tool() {
        let mut texts = server_texts(SERVER, "http://a.test/mcp", &["add", "list", "keep"]);
        texts.insert(
            0,
            FolderText { name: "tools/notes__add.toml".to_owned(), text: Ok(TOOL.into()) },
        );
        let own_tools = BTreeSet::from(["notes__list".to_owned()]);
        let mut reading = ToolFiles::new(own_tools).read("own", &texts);
        let is_http = |tool: &OutsideDefinition| matches!(tool, OutsideDefinition::Http(_));
        assert!(is_http(&reading.tools[0]) && reading.tools[0].name() == "notes__add");
        assert_eq!(reading.names().into_iter().collect::<Vec<_>>(), ["notes__add", "notes__keep"]);
        for (problem, name) in reading.problems.iter().zip(["notes__add", "notes__list"]) {
            let says =
                format!("own/tools/servers/notes.toml:1: the name `{name}` belongs to a tool");
            assert!(problem.to_string().starts_with(&says), "{problem}");
        }
        reading.leave_out_agents("own", &[agent("notes__keep")]);
        assert_eq!(reading.names().into_iter().collect::<Vec<_>>(), ["notes__add"]);
        let problem = reading.problems[2].to_string();
        assert!(problem.starts_with(
            "own/tools/servers/notes.toml:1: the name `notes__keep` belongs to an agent"
        ));
    }
}
