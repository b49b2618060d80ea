//! The world that runs are driven in: all ports together, and what a deployment sets besides.

use std::sync::Arc;
use std::time::Duration;

use crate::content::ContentPolicy;
use crate::port::Store;
use crate::port::alarm::{Alarms, Invoker};
use crate::port::clock::Clock;
use crate::port::configuration::{Configuration, ConfigurationSource};
use crate::port::model::Model;
use crate::port::sandbox::Sandbox;
use crate::port::tool::Toolbox;
use crate::prompt::Prompts;
use crate::rate_limits::RateLimits;
use crate::settings::Settings;
use crate::shutdown::Shutdown;

/// How long what a deployment has changed is waited for; what it had before holds then.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// A world put together of its parts: what a function's `main` wires, and what tests do.
pub struct World<S, M, A, I, C> {
    /// Where runs, mail and files are kept.
    pub store: Arc<S>,
    /// The language models that runs ask.
    pub model: Arc<M>,
    /// The recurring alarms that bring runs back.
    pub alarms: Arc<A>,
    /// The way to invoke the executor without waiting for it.
    pub invoker: Arc<I>,
    /// Time and chance, which tests replace.
    pub clock: Arc<C>,
    /// The tools that models may be offered.
    pub tools: Toolbox,
    /// The prompts in every language.
    pub prompts: Arc<Prompts>,
    /// What is let in and out.
    pub content: Arc<ContentPolicy>,
    /// Where images that users attach are made small enough.
    pub sandbox: Arc<dyn Sandbox>,
    /// How long things may take.
    pub settings: Arc<Settings>,
    /// The wish of this process to end.
    pub shutdown: Shutdown,
    /// The waits that providers ask all calls of this process for.
    pub rate_limits: RateLimits,
    /// What reads prompts and models anew, if the deployment keeps any as texts.
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
            settings: Arc::clone(&self.settings),
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

    fn settings(&self) -> &Settings {
        &self.settings
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
            () = self.clock.sleep(MAX_WAIT) => tracing::warn!("prompts and models not read in time"),
        }
        let now = source.current();
        let Configuration { prompts, model, .. } = &*now;
        Self { prompts: Arc::clone(prompts), model: Arc::clone(model), ..self.clone() }
    }

    fn configuration_problems(&self) -> Arc<[String]> {
        let current = self.configuration.as_ref().map(|source| source.current());
        current.map_or_else(Arc::default, |now| Arc::clone(&now.problems))
    }
}

/// The world as a driver sees it.
pub trait Ports: Clone + Send + Sync + 'static {
    /// Where runs, mail and files are kept.
    type Store: Store;
    /// The language models that runs ask.
    type Model: Model;
    /// The recurring alarms that bring runs back.
    type Alarms: Alarms;
    /// The way to invoke the executor without waiting for it.
    type Invoker: Invoker;
    /// Time and chance, which tests replace.
    type Clock: Clock;

    /// The store that keeps runs, mail and files.
    fn store(&self) -> &Self::Store;
    /// The client of all models, by role.
    fn model(&self) -> &Self::Model;
    /// The alarms of runs that nobody drives.
    fn alarms(&self) -> &Self::Alarms;
    /// The invoker that runs are handed over with.
    fn invoker(&self) -> &Self::Invoker;
    /// The clock that tells the time and draws the chance.
    fn clock(&self) -> &Self::Clock;
    /// The tools of this deployment, by name.
    fn tools(&self) -> &Toolbox;
    /// The prompts that requests are rendered from.
    fn prompts(&self) -> &Prompts;
    /// What is let in and out.
    fn content(&self) -> &ContentPolicy;
    /// The sandbox that bytes of others' are read in.
    fn sandbox(&self) -> &dyn Sandbox;
    /// How long things may take.
    fn settings(&self) -> &Settings;
    /// The wish of this process to end.
    fn shutdown(&self) -> &Shutdown;
    /// The waits that providers ask all calls of this process for.
    fn rate_limits(&self) -> &RateLimits;
    /// The same with the prompts and models that the deployment has now, read anew if that was done five seconds
    /// ago. They stay so: who drives a run with them drives it with the same to the end. Without a deployment's
    /// own texts nothing is read.
    fn refresh(&self) -> impl Future<Output = Self> + Send;
    /// What was wrong when those were last read, in sentences for clients too.
    fn configuration_problems(&self) -> Arc<[String]>;
}
