//! The world of runs: all ports of a process, and a deployment's settings.

use std::sync::Arc;
use std::time::Duration;

use crate::configuration::{
    Configuration, ConfigurationSource, ConfiguredSettings, ConfiguredTools, Variables,
};
use crate::content::ContentPolicy;
use crate::port::Store;
use crate::port::alarm::{Alarms, Invoker};
use crate::port::clock::Clock;
use crate::port::model::Model;
use crate::port::outside::Outside;
use crate::port::sandbox::Sandbox;
use crate::port::table::Tables;
use crate::port::tool::Toolbox;
use crate::prompt::Prompts;
use crate::rate_limits::RateLimits;
use crate::settings::Settings;
use crate::shutdown::Shutdown;

/// The maximum wait for a deployment's changed texts; after this, the earlier texts stay in use.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// A world built from its parts: by a function's `main`, and by tests.
pub struct World<S, M, A, I, C> {
    /// The store of runs, mail and files.
    pub store: Arc<S>,
    /// The language models of runs.
    pub model: Arc<M>,
    /// The recurring alarms that continue runs.
    pub alarms: Arc<A>,
    /// The invoker of the executor, which never waits for the result.
    pub invoker: Arc<I>,
    /// Time and randomness, which tests replace.
    pub clock: Arc<C>,
    /// The tools offered to models.
    pub tools: Toolbox,
    /// The prompts in every language.
    pub prompts: Arc<Prompts>,
    /// The policy for incoming and outgoing texts.
    pub content: Arc<ContentPolicy>,
    /// The sandbox for users' images.
    pub sandbox: Arc<dyn Sandbox>,
    /// The gateway that seals users' keys.
    pub outside: Arc<dyn Outside>,
    /// The tables of the deployment.
    pub tables: Arc<dyn Tables>,
    /// The periods and limits of drivers.
    pub settings: Arc<Settings>,
    /// The settings as variables, for their other readers.
    pub variables: Variables,
    /// The shutdown request of this process.
    pub shutdown: Shutdown,
    /// The waits requested by providers, for all calls of this process.
    pub rate_limits: RateLimits,
    /// The reader of the configuration folder, if the deployment has one.
    pub configuration: Option<Arc<dyn ConfigurationSource<M>>>,
}

impl<S, M, A, I, C> Clone for World<S, M, A, I, C> {
    fn clone(&self) -> Self {
        Self {
            store: Arc::clone(&self.store),
            model: Arc::clone(&self.model),
            alarms: Arc::clone(&self.alarms),
            invoker: Arc::clone(&self.invoker),
            clock: Arc::clone(&self.clock),
            tools: self.tools.clone(),
            prompts: Arc::clone(&self.prompts),
            content: Arc::clone(&self.content),
            sandbox: Arc::clone(&self.sandbox),
            outside: Arc::clone(&self.outside),
            tables: Arc::clone(&self.tables),
            settings: Arc::clone(&self.settings),
            variables: Arc::clone(&self.variables),
            shutdown: self.shutdown.clone(),
            rate_limits: self.rate_limits.clone(),
            configuration: self.configuration.clone(),
        }
    }
}

impl<S, M, A, I, C> Ports for World<S, M, A, I, C>
where
    S: Store + 'static,
    M: Model + 'static,
    A: Alarms + 'static,
    I: Invoker + 'static,
    C: Clock + 'static,
{
    type Store = S;
    type Model = M;
    type Alarms = A;
    type Invoker = I;
    type Clock = C;

    fn store(&self) -> &S {
        &self.store
    }

    fn model(&self) -> &M {
        &self.model
    }

    fn alarms(&self) -> &A {
        &self.alarms
    }

    fn invoker(&self) -> &I {
        &self.invoker
    }

    fn clock(&self) -> &C {
        &self.clock
    }

    fn tools(&self) -> &Toolbox {
        &self.tools
    }

    fn prompts(&self) -> &Prompts {
        &self.prompts
    }

    fn content(&self) -> &ContentPolicy {
        &self.content
    }

    fn sandbox(&self) -> &dyn Sandbox {
        self.sandbox.as_ref()
    }

    fn tables(&self) -> &dyn Tables {
        &*self.tables
    }

    fn outside(&self) -> &dyn Outside {
        self.outside.as_ref()
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn variables(&self) -> &Variables {
        &self.variables
    }

    fn shutdown(&self) -> &Shutdown {
        &self.shutdown
    }

    fn rate_limits(&self) -> &RateLimits {
        &self.rate_limits
    }

    async fn refresh(&self) -> Self {
        let Some(source) = &self.configuration else { return self.clone() };
        let fresh = self.settings.tool_sources_fresh;
        tokio::select! {
            biased;
            () = source.update(self.clock.now_ms(), fresh) => {}
            () = self.clock.sleep(MAX_WAIT) => tracing::warn!("the configuration was not read in time"),
        }
        let now = source.current();
        let Configuration { prompts, model, agents, settings, .. } = &*now;
        let tools = self.tools.clone().with_agents(Arc::clone(agents));
        let prompts = Arc::clone(prompts);
        let model = Arc::clone(model);
        let world = Self { prompts, model, tools, ..self.clone() };
        let Some(configured) = settings else { return world };
        let ConfiguredSettings { variables, settings, content, offered_agents } = &**configured;
        Self {
            variables: Arc::clone(variables),
            settings: Arc::new(self.settings.apply_configured(settings)),
            content: Arc::clone(content),
            tools: world.tools.with_offered_agents(offered_agents.clone()),
            ..world
        }
    }

    fn is_configured(&self) -> bool {
        self.configuration.as_ref().is_none_or(|source| source.is_ready())
    }

    fn configuration_problems(&self) -> Arc<[String]> {
        let current = self.configuration.as_ref().map(|source| source.current());
        current.map_or_else(Arc::default, |now| Arc::clone(&now.problems))
    }

    fn configured_tools(&self) -> ConfiguredTools {
        let current = self.configuration.as_ref().map(|source| source.current());
        current.map(|now| now.tools.clone()).unwrap_or_default()
    }
}

/// The world as a driver sees it.
pub trait Ports: Clone + Send + Sync + 'static {
    /// The store of runs, mail and files.
    type Store: Store;
    /// The language models of runs.
    type Model: Model;
    /// The recurring alarms that continue runs.
    type Alarms: Alarms;
    /// The invoker of the executor, which never waits for the result.
    type Invoker: Invoker;
    /// Time and randomness, which tests replace.
    type Clock: Clock;

    /// Returns the store of runs, mail and files.
    fn store(&self) -> &Self::Store;
    /// Returns the client of all models, by role.
    fn model(&self) -> &Self::Model;
    /// Returns the alarms of runs without a driver.
    fn alarms(&self) -> &Self::Alarms;
    /// Returns the invoker for handoffs.
    fn invoker(&self) -> &Self::Invoker;
    /// Returns the source of time and randomness.
    fn clock(&self) -> &Self::Clock;
    /// Returns the tools of this deployment, by name.
    fn tools(&self) -> &Toolbox;
    /// Returns the prompts for requests.
    fn prompts(&self) -> &Prompts;
    /// Returns the policy for incoming and outgoing texts.
    fn content(&self) -> &ContentPolicy;
    /// Returns the sandbox for foreign content.
    fn sandbox(&self) -> &dyn Sandbox;
    /// Returns the gateway that seals users' keys.
    fn outside(&self) -> &dyn Outside;
    /// Returns the tables of the deployment.
    fn tables(&self) -> &dyn Tables;
    /// Returns the periods and limits of drivers.
    fn settings(&self) -> &Settings;
    /// Returns the settings as variables: the environment, and below it the fields of `djinn.toml`.
    fn variables(&self) -> &Variables;
    /// Returns the shutdown request of this process.
    fn shutdown(&self) -> &Shutdown;
    /// Returns the waits requested by providers, for all calls of this process.
    fn rate_limits(&self) -> &RateLimits;
    /// Returns a world with the deployment's current settings, models, agents and prompts. The configuration folder is
    /// read again if the last read is older than the sources' cache time (default 5 s). The returned world never
    /// changes, so a driver keeps the same to the end. Without a folder, nothing is read.
    fn refresh(&self) -> impl Future<Output = Self> + Send;
    /// Returns false while the deployment's settings were never read: nothing may run without their limits.
    fn is_configured(&self) -> bool;
    /// Returns the problems of the last read, as sentences for clients too.
    fn configuration_problems(&self) -> Arc<[String]>;
    /// Returns the tools that are files, as of the last read.
    fn configured_tools(&self) -> ConfiguredTools;
}
