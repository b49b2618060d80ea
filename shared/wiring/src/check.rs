//! The check of a configuration folder before it is used.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use djinn_aws::Aws;
use djinn_outside::{WithheldReason, WithheldTool};
use djinn_runtime::configuration::Variables;
use djinn_runtime::port::database::DatabasePassword;
use djinn_runtime::port::secret::NoSecrets;
use djinn_runtime::port::text_folder::{FolderText, SERVERS, SERVERS_LOCK, list_texts};
use djinn_settings::table::model::MODELS;
use djinn_settings::table::tools::OFFERED_AGENTS;
use djinn_settings::table::web::SEARCH;
use djinn_settings::{FILE_NAME, InvalidSetting, PREFIX};
use djinn_tools::agent_files::{AgentFiles, find_unknown_agent};
use djinn_tools::connections::{Connections, read_connections};
use djinn_tools::document_templates::TemplateFiles;
use djinn_tools::local_folder::LocalFolder;
use djinn_tools::prompt_files::PromptFiles;
use djinn_tools::table_files::TableFiles;
use djinn_tools::tool_files::ToolFiles;
use djinn_tools::workflow_files::WorkflowFiles;

use crate::WiringError;
use crate::configuration::{parse_configured, read_offered_agents};
use crate::configuration_folder::{ConfigurationFolder, parse_settings};
use crate::djinn::{Djinn, SettingsCheck};

/// A valid configuration folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedFolder {
    /// The names of all files, in order: `agents/pricing.md`.
    pub files: Vec<String>,
    /// The manifest, as a file.
    pub manifest: String,
    /// Sentences about valid files that have no effect.
    pub warnings: Vec<String>,
}

/// Checks the files of a local configuration folder, alone and together, for a deployment. Its agents may also use
/// `further_tools`. Keys of models and engines are not looked up.
///
/// # Errors
/// Returns a sentence for each problem, with file and line.
pub fn check_folder(
    djinn: &Djinn,
    path: &Path,
    further_tools: &[String],
) -> Result<CheckedFolder, Vec<String>> {
    let folder = LocalFolder::new(path);
    let texts = folder.read_now().map_err(|error| vec![error.to_string()])?;
    let path = path.display().to_string();
    let mut problems: Vec<String> =
        folder.list_unread().map_err(|error| vec![error.to_string()])?;
    let mut tools = list_tools(djinn).map_err(|error| vec![error.to_string()])?;
    tools.extend(further_tools.iter().cloned());
    let mut file_tools = ToolFiles::new(tools.clone()).read(&path, &texts);
    let mut agents = AgentFiles::new(tools);
    agents.set_file_tools(file_tools.names());
    let reading = agents.read(&path, &texts);
    file_tools.leave_out_agents(&path, &reading.agents);
    problems.extend(file_tools.problems.iter().map(ToString::to_string));
    problems.extend(check_settings(&path, &texts, djinn.settings_check(), |variables| {
        let offered = read_offered_agents(&**variables);
        find_unknown_agent(&offered, &reading.agents)
            .map(|problem| OFFERED_AGENTS.problem(&problem))
    }));
    let workflows = WorkflowFiles::default().read(&path, &texts, &reading.agents);
    let (_, in_prompts) = PromptFiles::default().read(&path, &texts);
    let connections = check_connections(&path, &texts, &mut problems);
    let tables = TableFiles::default().read(&path, &texts, &connections);
    let templates = TemplateFiles::default().read(&path, &texts);
    problems.extend(templates.problems.iter().map(ToString::to_string));
    let in_files = reading.problems.into_iter().chain(in_prompts).chain(workflows.problems);
    let in_files = in_files.chain(tables.problems);
    problems.extend(in_files.map(|problem| problem.to_string()));
    let manifest = match list_texts(&texts) {
        Ok(manifest) if problems.is_empty() => manifest,
        Ok(_) => return Err(problems),
        Err(error) => {
            problems.push(format!("{path}: the manifest {error}"));
            return Err(problems);
        }
    };
    let warnings = file_tools.withheld.iter().filter_map(|tool| warn_of_server(&path, tool));
    let local = connections
        .iter()
        .filter(|(_, connection)| matches!(connection.password, DatabasePassword::Inline(_)));
    let warnings = warnings.chain(local.map(|(name, _)| warn_of_connection(&path, name)));
    Ok(CheckedFolder {
        files: texts.iter().map(|text| text.name.clone()).collect(),
        manifest,
        warnings: warnings.collect(),
    })
}

/// Reads the connections of the settings. The variables with passwords are not looked up.
fn check_connections(path: &str, texts: &[FolderText], problems: &mut Vec<String>) -> Connections {
    // The check of the settings has their problems.
    let nothing: Variables = Arc::new(|_| None);
    let Ok(document) = parse_settings(path, texts, &nothing) else {
        return Connections::default();
    };
    let var = |name: &str| match document.find_text(name) {
        None if !name.starts_with(PREFIX) => Some("set".to_owned()),
        text => text.map(str::to_owned),
    };
    match read_connections(&var, texts) {
        Ok(connections) => connections,
        Err(error) => {
            problems.push(ConfigurationFolder::locate(&document, error.into()).to_string());
            Connections::default()
        }
    }
}

/// Returns the warning about a password of a variable, which functions on AWS do not have.
fn warn_of_connection(folder: &str, name: &str) -> String {
    format!(
        "{folder}/{FILE_NAME}: the connection `{name}` has `env:` as `password`, which is for `cargo dev`: on AWS, its \
         tables cannot be read"
    )
}

/// Returns the warning about a server that is not locked.
fn warn_of_server(folder: &str, tool: &WithheldTool) -> Option<String> {
    let WithheldTool { server, reason, .. } = tool;
    let place = format!("{}/{}", folder.trim_end_matches('/'), SERVERS.name);
    (*reason == WithheldReason::NotLocked).then(|| {
        format!(
            "{place}/{server}.toml:1: {SERVERS_LOCK} does not have the server at this URL, so no run is offered its \
             tools: run `cargo xtask tools lock {server}`"
        )
    })
}

/// Returns the names of the tools that agents of a deployment may use.
fn list_tools(djinn: &Djinn) -> Result<BTreeSet<String>, WiringError> {
    // Nothing is stored or called by a check.
    let aws = Aws::new(djinn_aws::Settings::new("check", "check"));
    let toolbox = djinn.build_toolbox(&djinn.make_parts(&|_| None, &aws, &Arc::default()))?;
    Ok(toolbox.own_tool_names())
}

/// Returns the problems of single fields, or else the first problem between fields and with agents.
fn check_settings(
    path: &str,
    texts: &[FolderText],
    check: SettingsCheck,
    check_agents: impl FnOnce(&Variables) -> Option<InvalidSetting>,
) -> Vec<String> {
    let nothing: Variables = Arc::new(|_| None);
    let document = match parse_settings(path, texts, &nothing) {
        Ok(document) => Arc::new(document),
        Err(problems) => return problems,
    };
    let fields = Arc::clone(&document);
    let variables: Variables = Arc::new(move |name| {
        if name.starts_with(PREFIX) {
            return fields.find_text(name).map(str::to_owned);
        }
        // A variable that holds the key of a model or an engine.
        let reference = format!("\"env:{name}\"");
        let is_engine_key =
            fields.find_text(SEARCH.name).is_some_and(|engines| engines.contains(&reference));
        let is_key = is_engine_key || fields.find_text(MODELS.name).is_some();
        is_key.then(|| "set".to_owned())
    });
    let problem = match parse_configured(Arc::clone(&variables), NoSecrets, check) {
        Ok(_) => check_agents(&variables).map(WiringError::from),
        Err(error) => Some(error),
    };
    let problem = problem.map(|error| ConfigurationFolder::locate(&document, error));
    problem.into_iter().map(|problem| problem.to_string()).collect()
}
