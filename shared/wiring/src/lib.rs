//! The wiring of a function's world from variables: AWS, models, tools.
//!
//! Every function and the local system are wired by [`build_world`]; the differences are alarms and the
//! invoker of the executor. No I/O happens here: clients connect on first use. The tools come from a
//! [`Djinn`].

mod check;
mod configuration;
mod configuration_folder;
mod djinn;
mod dollar_limits;
mod environment;
mod file_tools;
mod own_tools;

use std::sync::Arc;

use djinn_aws::{Aws, AwsSecrets, AwsStore, LambdaInvoker, SchedulerAlarms};
use djinn_model::Models;
use djinn_runtime::port::alarm::{Alarms, Invoker};
use djinn_runtime::port::clock::SystemClock;
use djinn_runtime::port::tool::{OfferedAgents, Tool, Toolbox};
use djinn_runtime::prompt::Prompts;
use djinn_runtime::rate_limits::RateLimits;
use djinn_runtime::settings::Settings;
use djinn_runtime::shutdown::Shutdown;
use djinn_runtime::world::World;
use djinn_settings::InvalidSetting;
use djinn_settings::table::tools::OFFERED_AGENTS;
use djinn_tools::agent_files::{AgentFiles, find_unknown_agent};
use djinn_tools::agent_tool::AgentTool;
use djinn_tools::document_templates::DocumentTemplates;
use djinn_tools::outside_tool::OutsidePorts;
use djinn_tools::table_catalog::TableCatalog;

pub use check::{CheckedFolder, check_folder};
use configuration::{FirstConfiguration, LiveConfiguration, read_offered_agents};
pub use configuration_folder::ConfigurationFolder;
pub use djinn::{Djinn, SettingsCheck, ToolParts, ToolSetupError};
pub use djinn_runtime::configuration::Variables;
use dollar_limits::DollarLimits;
pub use environment::check_environment;
use file_tools::FileToolSource;

/// A world with runs stored in AWS, or in local services on a laptop.
pub type AwsWorld<A, I> = World<AwsStore, Models<AwsSecrets>, A, I, SystemClock>;

/// The world of a function on Lambda.
pub type LambdaWorld = AwsWorld<SchedulerAlarms, LambdaInvoker>;

/// A missing or invalid variable. The text contains the name, never a secret's value.
#[derive(Debug, thiserror::Error)]
pub enum WiringError {
    /// The models are invalid.
    #[error(transparent)]
    Models(#[from] djinn_model::SettingsError),
    /// A setting is invalid: locations, timeouts, or content rules.
    #[error(transparent)]
    Settings(#[from] InvalidSetting),
    /// A tool of the deployment is invalid.
    #[error(transparent)]
    Tools(#[from] ToolSetupError),
    /// A file of the configuration folder is invalid, or the folder cannot be read.
    #[error("{0}")]
    Configuration(String),
    /// A budget in money is set, but some models have no price.
    #[error("a budget in US dollars is set, but `[prices]` of djinn.toml has no price for {0}")]
    Unpriced(String),
}

/// Builds the world of a function on Lambda.
///
/// # Errors
/// Returns [`WiringError`] for the first missing or invalid variable, or the first invalid tool.
pub fn build_lambda_world(
    djinn: &Djinn,
    variables: &Variables,
) -> Result<LambdaWorld, WiringError> {
    let aws = Aws::new(djinn_aws::Settings::from_vars(&**variables)?);
    let alarms = aws.alarms();
    let invoker = aws.invoker();
    build_world(djinn, variables, &aws, alarms, invoker)
}

/// Builds a world over `aws`, with `alarms` and `invoker` to restart runs. The world's `variables` are the given
/// variables, with the fields of a `djinn.toml` below them.
///
/// # Errors
/// Returns [`WiringError`] for the first invalid variable, field or tool.
pub fn build_world<A: Alarms, I: Invoker>(
    djinn: &Djinn,
    variables: &Variables,
    aws: &Aws,
    alarms: A,
    invoker: I,
) -> Result<AwsWorld<A, I>, WiringError> {
    let Some(folder) = ConfigurationFolder::open(variables, &aws.store())? else {
        let (mut world, _) = build_configured(djinn, variables, aws, alarms, invoker)?;
        world.tools = with_own_agents(world.tools)?;
        return Ok(world);
    };
    let texts = folder.read_at_start().transpose();
    let texts = texts.map_err(|error| WiringError::Configuration(error.to_string()))?;
    let document = folder.parse_settings(texts.as_deref().unwrap_or_default());
    let document = document.map_err(|problems| {
        WiringError::Configuration(problems.into_iter().next().unwrap_or_default())
    })?;
    let document = Arc::new(document);
    let layered = folder.layer(Arc::clone(&document));
    let (mut world, FolderParts { tables, templates }) =
        build_configured(djinn, &layered, aws, alarms, invoker)
            .map_err(|error| ConfigurationFolder::locate(&document, error))?;
    let first = FirstConfiguration {
        prompts: Arc::clone(&world.prompts),
        model: Arc::clone(&world.model),
        agents: Arc::clone(world.tools.agents()),
        tool_ports: OutsidePorts {
            outside: Arc::clone(&world.outside),
            files: Arc::clone(&world.store),
            prompts: Arc::clone(&world.prompts),
            gone: Arc::default(),
        },
        tables,
        templates,
    };
    let tools = world.tools.own_tool_names();
    let live = LiveConfiguration::new(folder, aws.secrets(), djinn.settings_check(), tools, first);
    if let Some(texts) = texts {
        live.start(texts)?;
    }
    let configuration = Arc::new(live);
    let fresh = world.settings.tool_sources_fresh;
    let source = FileToolSource { configuration: Arc::clone(&configuration), fresh };
    world.tools = world.tools.with_source(Arc::new(source));
    world.configuration = Some(configuration);
    Ok(world)
}

/// Adds our agents, if users' runs are offered any.
///
/// # Errors
/// Returns [`InvalidSetting`] for an offered agent that does not exist.
fn with_own_agents(tools: Toolbox) -> Result<Toolbox, InvalidSetting> {
    if *tools.offered_agents() == OfferedAgents::default() {
        return Ok(tools);
    }
    let agents = AgentFiles::new(tools.own_tool_names()).read("", &[]).agents;
    match find_unknown_agent(tools.offered_agents(), &agents) {
        Some(problem) => Err(OFFERED_AGENTS.problem(&problem)),
        None => Ok(tools.with_agents(agents.into())),
    }
}

/// The parts of tools that a configuration folder replaces.
struct FolderParts {
    tables: Arc<TableCatalog>,
    templates: Arc<DocumentTemplates>,
}

/// Builds a world without a configuration folder, with our modes and our reviewer as its agents, and its tables and
/// templates, of which there are none.
fn build_configured<A: Alarms, I: Invoker>(
    djinn: &Djinn,
    variables: &Variables,
    aws: &Aws,
    alarms: A,
    invoker: I,
) -> Result<(AwsWorld<A, I>, FolderParts), WiringError> {
    let var = &**variables;
    let prompts = Arc::new(Prompts::default());
    let models = djinn_model::Settings::from_vars(var)?;
    let settings = Settings::from_vars(var)?;
    let limits = DollarLimits::from_vars(var)?;
    limits.check_prices(&models).map_err(WiringError::Unpriced)?;
    limits.log_unpriced(&models);
    let parts = djinn.make_parts(var, aws, &prompts);
    let tools = djinn.build_toolbox(&parts)?.with_sources_fresh(settings.tool_sources_fresh);
    let agents = AgentTool::list_always_shipped();
    let agents = agents.into_iter().map(|agent| Arc::new(agent) as Arc<dyn Tool>).collect();
    let folder_parts =
        FolderParts { tables: Arc::clone(&parts.tables), templates: parts.templates };
    let world = World {
        tools: tools.with_agents(agents).with_offered_agents(read_offered_agents(var)),
        content: Arc::new(djinn_tools::content_checker::parse_content_policy(var, aws.secrets())?),
        sandbox: parts.sandbox,
        outside: parts.outside,
        tables: parts.tables,
        settings: Arc::new(settings),
        variables: Arc::clone(variables),
        model: Arc::new(Models::new(models, aws.secrets()).with_prompts(Arc::clone(&prompts))),
        alarms: Arc::new(alarms),
        invoker: Arc::new(invoker),
        clock: Arc::new(SystemClock),
        store: parts.files,
        prompts,
        shutdown: Shutdown::default(),
        rate_limits: RateLimits::default(),
        configuration: None,
    };
    Ok((world, folder_parts))
}
