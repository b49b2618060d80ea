//! The configuration of a deployment with a configuration folder, read again while the process runs.

use std::collections::BTreeSet;
use std::sync::{Arc, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use djinn_aws::{AwsSecrets, AwsStore};
use djinn_model::Models;
use djinn_outside::OutsideDefinition;
use djinn_runtime::configuration::{
    Configuration, ConfigurationSource, ConfiguredSettings, ConfiguredTool, ConfiguredTools,
    Variables,
};
use djinn_runtime::port::clock::elapsed_ms;
use djinn_runtime::port::secret::Secrets;
use djinn_runtime::port::text_folder::{FolderText, TextFolderError};
use djinn_runtime::port::tool::{BoxFuture, OfferedAgents, Tool};
use djinn_runtime::prompt::Prompts;
use djinn_runtime::settings::Settings;
use djinn_settings::table::tools::OFFERED_AGENTS;
use djinn_settings::{SettingsDocument, VarLookup};
use djinn_tools::agent_files::{AgentFiles, find_unknown_agent};
use djinn_tools::connections::{Connections, read_connections};
use djinn_tools::content_checker::parse_content_policy;
use djinn_tools::document_templates::{DocumentTemplates, TemplateFiles};
use djinn_tools::outside_tool::{OutsidePorts, OutsideTool};
use djinn_tools::prompt_files::PromptFiles;
use djinn_tools::table_catalog::TableCatalog;
use djinn_tools::table_files::TableFiles;
use djinn_tools::tool_files::ToolFiles;
use djinn_tools::workflow_files::WorkflowFiles;

use crate::WiringError;
use crate::configuration_folder::ConfigurationFolder;
use crate::djinn::SettingsCheck;
use crate::dollar_limits::DollarLimits;

/// The models of a deployment.
type AwsModels = Models<AwsSecrets>;

/// Parses all settings that can change while a process runs.
///
/// # Errors
/// Returns [`WiringError`] for the first problem.
pub(crate) fn parse_configured<S: Secrets + 'static>(
    variables: Variables,
    secrets: S,
    check: SettingsCheck,
) -> Result<(djinn_model::Settings, ConfiguredSettings), WiringError> {
    let var = &*variables;
    let models = djinn_model::Settings::from_vars(var)?;
    DollarLimits::from_vars(var)?.check_prices(&models).map_err(WiringError::Unpriced)?;
    let settings = Settings::from_vars(var)?;
    let content = parse_content_policy(var, secrets)?;
    check(var)?;
    let configured = ConfiguredSettings {
        settings,
        content: Arc::new(content),
        offered_agents: read_offered_agents(var),
        variables,
    };
    Ok((models, configured))
}

/// Reads the agents offered to users' runs: names, or all.
pub(crate) fn read_offered_agents(var: VarLookup<'_>) -> OfferedAgents {
    let text = OFFERED_AGENTS.find_text(var).unwrap_or_default();
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    match names.map(str::to_owned).collect::<BTreeSet<_>>() {
        all if all.len() == 1 && all.contains("all") => OfferedAgents::All,
        names => OfferedAgents::Named(names),
    }
}

/// The reader of a configuration folder, which reads at most every five seconds.
pub(crate) struct LiveConfiguration {
    folder: ConfigurationFolder,
    secrets: AwsSecrets,
    check: SettingsCheck,
    /// The prompts of tools, updated to the current state.
    prompts: Arc<Prompts>,
    /// The ports of the tools that are files.
    tool_ports: Arc<OutsidePorts<AwsStore>>,
    /// The tables of the tools, updated to the current state.
    tables: Arc<TableCatalog>,
    /// The templates of documents, updated to the current state.
    templates: Arc<DocumentTemplates>,
    /// The start of the last read, Unix milliseconds. The first caller after the interval reads, while others
    /// wait.
    read_at_ms: tokio::sync::Mutex<Option<i64>>,
    files: std::sync::Mutex<ReadFiles>,
    current: RwLock<Arc<Configuration<AwsModels>>>,
}

/// The last valid state of each file.
struct ReadFiles {
    /// The texts of the last readable folder.
    texts: Option<Vec<FolderText>>,
    /// The settings in use; `None` before the first valid read.
    document: Option<Arc<SettingsDocument>>,
    tools: ToolFiles,
    agents: AgentFiles,
    prompts: PromptFiles,
    workflows: WorkflowFiles,
    tables: TableFiles,
    templates: TemplateFiles,
    connections: Connections,
    /// The problems in the texts, as sentences.
    problems: Vec<String>,
}

/// The settings of a `djinn.toml` that has changed.
struct ChangedSettings {
    document: Arc<SettingsDocument>,
    models: djinn_model::Settings,
    settings: ConfiguredSettings,
}

/// The parts of a world that a configuration replaces, before the first read.
pub(crate) struct FirstConfiguration {
    pub(crate) prompts: Arc<Prompts>,
    pub(crate) model: Arc<AwsModels>,
    pub(crate) agents: Arc<[Arc<dyn Tool>]>,
    pub(crate) tool_ports: OutsidePorts<AwsStore>,
    pub(crate) tables: Arc<TableCatalog>,
    pub(crate) templates: Arc<DocumentTemplates>,
}

impl LiveConfiguration {
    /// Creates the reader, without reading. Agents may use these `tools`.
    pub(crate) fn new(
        folder: ConfigurationFolder,
        secrets: AwsSecrets,
        check: SettingsCheck,
        tools: BTreeSet<String>,
        first: FirstConfiguration,
    ) -> Self {
        let FirstConfiguration { prompts, model, agents, tool_ports, tables, templates } = first;
        let current = Configuration {
            prompts: Arc::new(prompts.snapshot()),
            model,
            agents,
            tools: ConfiguredTools::default(),
            settings: None,
            problems: Arc::default(),
        };
        let files = ReadFiles {
            texts: None,
            document: None,
            tools: ToolFiles::new(tools.clone()),
            agents: AgentFiles::new(tools),
            prompts: PromptFiles::default(),
            workflows: WorkflowFiles::default(),
            tables: TableFiles::default(),
            templates: TemplateFiles::default(),
            connections: Connections::default(),
            problems: Vec::new(),
        };
        Self {
            folder,
            secrets,
            check,
            prompts,
            tool_ports: Arc::new(tool_ports),
            tables,
            templates,
            read_at_ms: tokio::sync::Mutex::default(),
            files: std::sync::Mutex::new(files),
            current: RwLock::new(Arc::new(current)),
        }
    }

    /// Uses the texts that were read at the start.
    ///
    /// # Errors
    /// Returns the first problem as a sentence with its place, and the number of further problems.
    pub(crate) fn start(&self, texts: Vec<FolderText>) -> Result<(), WiringError> {
        self.apply(Ok(texts));
        match &*self.current().problems {
            [] => Ok(()),
            [only] => Err(WiringError::Configuration(only.clone())),
            [first, others @ ..] => {
                let count = others.len();
                let more = format!("{first} ({count} more: `cargo xtask check` lists all)");
                Err(WiringError::Configuration(more))
            }
        }
    }

    /// Applies what has changed, and records the problems.
    fn apply(&self, texts: Result<Vec<FolderText>, TextFolderError>) {
        let mut files = self.lock_files();
        let before = self.current();
        let mut now = Configuration {
            prompts: Arc::clone(&before.prompts),
            model: Arc::clone(&before.model),
            agents: Arc::clone(&before.agents),
            tools: before.tools.clone(),
            settings: before.settings.clone(),
            problems: Arc::default(),
        };
        let mut problems = Vec::new();
        match texts {
            Ok(texts) if files.texts.as_ref() == Some(&texts) => {}
            Ok(texts) => {
                files.problems = self.apply_texts(&texts, &mut files, &mut now);
                files.texts = Some(texts);
            }
            Err(error) => problems.push(error.to_string()),
        }
        problems.extend(files.problems.iter().cloned());
        for problem in problems.iter().filter(|problem| !before.problems.contains(problem)) {
            tracing::warn!(
                problem,
                "a file of the configuration stays as it last was, or is left out"
            );
        }
        now.problems = problems.into();
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(now);
    }

    /// Applies changed texts. Returns their problems as sentences.
    fn apply_texts(
        &self,
        texts: &[FolderText],
        files: &mut ReadFiles,
        now: &mut Configuration<AwsModels>,
    ) -> Vec<String> {
        let mut problems = Vec::new();
        let mut models = None;
        match self.read_settings(texts, files.document.as_ref()) {
            Ok(None) => {}
            Ok(Some(ChangedSettings { document, models: settings, settings: configured })) => {
                files.document = Some(document);
                now.settings = Some(Arc::new(configured));
                models = Some(settings);
            }
            Err(found) => problems.extend(found),
        }
        let folder = self.folder.path();
        let mut tools = files.tools.read(folder, texts);
        files.agents.set_file_tools(tools.names());
        let reading = files.agents.read(folder, texts);
        now.agents = reading.agents.into();
        tools.leave_out_agents(folder, &now.agents);
        now.tools = ConfiguredTools {
            callable: tools.tools.into_iter().filter_map(|tool| self.offer_tool(tool)).collect(),
            withheld: tools.withheld.into(),
            gone: Arc::clone(&self.tool_ports.gone),
        };
        problems.extend(tools.problems.iter().map(ToString::to_string));
        if let Some((document, settings)) = files.document.as_ref().zip(now.settings.as_ref())
            && let Some(problem) = find_unknown_agent(&settings.offered_agents, &now.agents)
        {
            let error = OFFERED_AGENTS.problem(&problem).into();
            problems.push(ConfigurationFolder::locate(document, error).to_string());
        }
        let workflows = files.workflows.read(folder, texts, &now.agents);
        now.agents = now.agents.iter().cloned().chain(workflows.agents).collect();
        let (own_prompts, in_prompts) = files.prompts.read(folder, texts);
        self.prompts.replace_own(own_prompts);
        now.prompts = Arc::new(self.prompts.snapshot());
        let model = match models {
            Some(models) => now.model.with_settings(models),
            None => now.model.with_prompts(Arc::clone(&self.prompts)),
        };
        now.model = Arc::new(model.with_prompts(Arc::clone(&now.prompts)));
        self.read_connections(texts, files, &mut problems);
        let tables = files.tables.read(folder, texts, &files.connections);
        self.tables.replace(self.folder.files(), tables.tables);
        let templates = files.templates.read(folder, texts);
        problems.extend(templates.problems.iter().map(ToString::to_string));
        self.templates.replace(self.folder.files(), templates);
        let in_files = reading.problems.into_iter().chain(in_prompts).chain(workflows.problems);
        let in_files = in_files.chain(tables.problems);
        problems.extend(in_files.map(|problem| problem.to_string()));
        problems
    }

    /// Replaces the connections to databases; invalid ones stay as they were.
    fn read_connections(
        &self,
        texts: &[FolderText],
        files: &mut ReadFiles,
        problems: &mut Vec<String>,
    ) {
        let Some(document) = &files.document else { return };
        let variables = self.folder.layer(Arc::clone(document));
        match read_connections(&*variables, texts) {
            Ok(connections) => files.connections = connections,
            Err(error) => {
                problems.push(ConfigurationFolder::locate(document, error.into()).to_string());
            }
        }
    }

    /// Returns the tool of a file, whose parameters were checked when the file was read.
    fn offer_tool(&self, definition: OutsideDefinition) -> Option<ConfiguredTool> {
        let tool = OutsideTool::new(definition.clone(), Arc::clone(&self.tool_ports)).ok()?;
        Some(ConfiguredTool { definition, tool: Arc::new(tool) })
    }

    /// Reads the settings; `None` if they are those in use.
    ///
    /// # Errors
    /// Returns all problems of single fields, or else the first problem between fields.
    fn read_settings(
        &self,
        texts: &[FolderText],
        known: Option<&Arc<SettingsDocument>>,
    ) -> Result<Option<ChangedSettings>, Vec<String>> {
        let document = Arc::new(self.folder.parse_settings(texts)?);
        if known == Some(&document) {
            return Ok(None);
        }
        let variables = self.folder.layer(Arc::clone(&document));
        let configured = parse_configured(Arc::clone(&variables), self.secrets.clone(), self.check);
        let (models, settings) = configured
            .map_err(|error| vec![ConfigurationFolder::locate(&document, error).to_string()])?;
        if models.unpriced_models() != self.current().model.settings().unpriced_models()
            && let Ok(limits) = DollarLimits::from_vars(&*variables)
        {
            limits.log_unpriced(&models);
        }
        Ok(Some(ChangedSettings { document, models, settings }))
    }

    fn lock_files(&self) -> MutexGuard<'_, ReadFiles> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConfigurationSource<AwsModels> for LiveConfiguration {
    fn update(&self, now_ms: i64, fresh: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let mut read_at_ms = self.read_at_ms.lock().await;
            let fresh_ms = u64::try_from(fresh.as_millis()).unwrap_or(u64::MAX);
            if read_at_ms.is_none_or(|at_ms| elapsed_ms(at_ms, now_ms) >= fresh_ms) {
                *read_at_ms = Some(now_ms);
                self.apply(self.folder.read_texts().await);
            }
        })
    }

    fn is_ready(&self) -> bool {
        self.current().settings.is_some()
    }

    fn current(&self) -> Arc<Configuration<AwsModels>> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }
}
