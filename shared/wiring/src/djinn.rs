//! The tools of a deployment, besides its variables.

use std::sync::Arc;

use djinn_aws::{Aws, AwsSecrets, AwsStore};
use djinn_runtime::port::database::{Database, NoDatabase};
use djinn_runtime::port::outside::{DisabledOutside, Outside};
use djinn_runtime::port::sandbox::{DisabledSandbox, Sandbox};
use djinn_runtime::port::tool::{Tool, ToolSource, Toolbox};
use djinn_runtime::prompt::Prompts;
use djinn_settings::table::runtime::LOCAL;
use djinn_settings::table::tools::CODE_SANDBOX;
use djinn_settings::{InvalidSetting, VarLookup};
use djinn_tools::document_templates::DocumentTemplates;
use djinn_tools::table_catalog::TableCatalog;
use djinn_tools::{RegistrationError, ToolAdapter, ToolRegistry, TypedTool};

use crate::own_tools::own_tools;

/// A deployment: Djinn with its own tools and the deployer's tools.
///
/// Agent and executor both run tools, so start both with the same deployment: `agent::run_function(djinn)`
/// and `executor::run_function(djinn)`.
#[derive(Clone)]
pub struct Djinn {
    factories: Vec<ToolFactory>,
    sources: Vec<Arc<dyn ToolSource>>,
    sandbox: Arc<dyn Sandbox>,
    outside: Arc<dyn Outside>,
    database: Arc<dyn Database>,
    settings_check: SettingsCheck,
}

/// Checks settings that the world itself does not read, before they replace earlier settings.
pub type SettingsCheck = fn(VarLookup<'_>) -> Result<(), InvalidSetting>;

/// Creates a tool from the parts of the world under construction.
pub(crate) type ToolFactory =
    Arc<dyn Fn(&ToolParts<'_>) -> Result<Arc<dyn Tool>, InvalidSetting> + Send + Sync>;

/// The parts of a deployment for creating tools.
#[non_exhaustive]
pub struct ToolParts<'a> {
    /// Looks up an environment variable. Names starting with `DJINN_` are reserved.
    pub var: &'a dyn Fn(&str) -> Option<String>,
    /// The files of sessions, as [`djinn_tools::Files`].
    pub files: Arc<AwsStore>,
    /// The templates in `prompts/`.
    pub prompts: Arc<Prompts>,
    /// Secrets readable by the function, as [`djinn_tools::Secrets`].
    pub secrets: AwsSecrets,
    /// The sandbox for model-written code and foreign documents.
    pub sandbox: Arc<dyn Sandbox>,
    /// The gateway for web pages and search engines.
    pub outside: Arc<dyn Outside>,
    /// The tables of the configuration folder.
    pub tables: Arc<TableCatalog>,
    /// The templates of documents in the configuration folder.
    pub templates: Arc<DocumentTemplates>,
}

/// The reason for rejecting a deployment's tools. The text includes the remedy.
#[derive(Debug, thiserror::Error)]
pub enum ToolSetupError {
    /// A variable required by a tool is invalid.
    #[error(transparent)]
    Setting(#[from] InvalidSetting),
    /// A name, a description or a schema is invalid.
    #[error(transparent)]
    Registration(#[from] RegistrationError),
}

impl Default for Djinn {
    fn default() -> Self {
        let sandbox = Arc::new(DisabledSandbox(NO_SANDBOX.to_owned()));
        let outside = Arc::new(DisabledOutside(NO_GATEWAY.to_owned()));
        Self {
            factories: own_tools(),
            sources: Vec::new(),
            sandbox,
            outside,
            database: Arc::new(NoDatabase),
            settings_check: |_| Ok(()),
        }
    }
}

/// The error for code without a sandbox.
const NO_SANDBOX: &str = "this deployment has no sandbox.";

/// The error for the web without a gateway.
const NO_GATEWAY: &str = "this deployment has no gateway.";

impl Djinn {
    /// Creates a deployment with our own tools: `file_tool`, `web_fetch`, and the tools of agents.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool with typed arguments.
    #[must_use]
    pub fn with_tool(self, tool: impl TypedTool + 'static) -> Self {
        self.with_dyn_tool(Arc::new(ToolAdapter::new(tool)))
    }

    /// Adds a tool created from the deployment's parts.
    #[must_use]
    pub fn with_tool_of<T: TypedTool + 'static>(
        self,
        make: impl Fn(&ToolParts<'_>) -> Result<T, InvalidSetting> + Send + Sync + 'static,
    ) -> Self {
        self.with_factory(Arc::new(move |parts| Ok(Arc::new(ToolAdapter::new(make(parts)?)))))
    }

    /// Adds a tool that parses its own arguments.
    #[must_use]
    pub fn with_dyn_tool(self, tool: Arc<dyn Tool>) -> Self {
        self.with_factory(Arc::new(move |_| Ok(Arc::clone(&tool))))
    }

    /// Adds a source of tools by tenant, user, mode and output style. The source is queried whenever tools
    /// are offered to runs, never at the start.
    #[must_use]
    pub fn with_tool_source(mut self, source: impl ToolSource + 'static) -> Self {
        self.sources.push(Arc::new(source));
        self
    }

    /// Sets the sandbox; the default rejects every job.
    #[must_use]
    pub fn with_sandbox(self, sandbox: Arc<dyn Sandbox>) -> Self {
        Self { sandbox, ..self }
    }

    /// Sets the gateway; the default rejects every job.
    #[must_use]
    pub fn with_outside(self, outside: Arc<dyn Outside>) -> Self {
        Self { outside, ..self }
    }

    /// Sets the databases of connections; the default reaches none.
    #[must_use]
    pub fn with_database(self, database: Arc<dyn Database>) -> Self {
        Self { database, ..self }
    }

    /// Sets the check of settings that a function reads besides the world's; the default accepts all.
    #[must_use]
    pub fn with_settings_check(self, settings_check: SettingsCheck) -> Self {
        Self { settings_check, ..self }
    }

    pub(crate) fn settings_check(&self) -> SettingsCheck {
        self.settings_check
    }

    /// Returns the gateway of a world over `aws`.
    pub(crate) fn make_outside(&self, aws: &Aws) -> Arc<dyn Outside> {
        aws.gateway().map_or_else(|| Arc::clone(&self.outside), |gateway| Arc::new(gateway))
    }

    fn make_database(&self, aws: &Aws) -> Arc<dyn Database> {
        aws.database().map_or_else(|| Arc::clone(&self.database), |database| Arc::new(database))
    }

    fn sandbox(&self) -> Arc<dyn Sandbox> {
        Arc::clone(&self.sandbox)
    }

    fn with_factory(mut self, factory: ToolFactory) -> Self {
        self.factories.push(factory);
        self
    }

    /// Creates and checks all tools, and adds their sources.
    pub(crate) fn build_toolbox(&self, parts: &ToolParts<'_>) -> Result<Toolbox, ToolSetupError> {
        let is_unsafe = CODE_SANDBOX.find_choice(parts.var)? == Some("unsafe");
        if is_unsafe && !LOCAL.read_switch(parts.var)? {
            let problem = "is `unsafe`, which is for laptops: leave it out";
            return Err(CODE_SANDBOX.problem(problem).into());
        }
        let mut registry = ToolRegistry::default();
        for factory in &self.factories {
            registry.register_tool(factory(parts)?)?;
        }
        let sources = self.sources.iter().map(Arc::clone);
        Ok(sources.fold(registry.into_toolbox(), Toolbox::with_source))
    }

    /// Returns the parts of a world over `aws`.
    pub(crate) fn make_parts<'a>(
        &self,
        var: &'a dyn Fn(&str) -> Option<String>,
        aws: &Aws,
        prompts: &Arc<Prompts>,
    ) -> ToolParts<'a> {
        ToolParts {
            var,
            files: Arc::new(aws.store()),
            prompts: Arc::clone(prompts),
            secrets: aws.secrets(),
            sandbox: aws.sandbox().map_or_else(|| self.sandbox(), |sandbox| Arc::new(sandbox)),
            outside: self.make_outside(aws),
            tables: Arc::new(TableCatalog::new(self.make_database(aws))),
            templates: Arc::default(),
        }
    }
}

#[cfg(test)]
mod tests;
