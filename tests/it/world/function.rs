//! The executor behind nothing but its handler: real stores, a model that tells a story, and a host
//! that writes down what it is asked to invoke.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::{Arc, Mutex};

use djinn_aws::{Aws, AwsStore, RunInvocation};
use djinn_core::id::{RequestId, SessionId, TenantId, UserId};
use djinn_core::input::RunSpec;
use djinn_core::settings::{Machine, RunSettings};
use djinn_local::{Stores, StoresOptions};
use djinn_runtime::port::alarm::{Alarms, Invoker};
use djinn_runtime::port::clock::SystemClock;
use djinn_runtime::port::outside::DisabledOutside;
use djinn_runtime::port::sandbox::DisabledSandbox;
use djinn_runtime::port::table::NoTables;
use djinn_runtime::port::tool::Toolbox;
use djinn_runtime::port::{RunKey, StoreError};
use djinn_runtime::prompt::Prompts;
use djinn_runtime::question::UserQuestion;
use djinn_runtime::serve::start_background;
use djinn_runtime::world::World;
use djinn_testkit::point::Points;
use djinn_testkit::story::{StoryLine, StoryModel};
use executor::Executor;
use serde_json::{Value, json};
use tracing::subscriber::DefaultGuard;

use super::quick;

/// Who asks in `infra/events`.
const ANNA: &str = "arn:aws:sts::123456789012:assumed-role/Analyst/anna@example.com";

/// The executor function on stores in memory, with a Lambda that only writes down what is asked of it.
pub(crate) struct Function {
    pub(crate) executor: Executor<World<AwsStore, StoryModel, Host, Host, SystemClock>>,
    pub(crate) host: Host,
    pub(crate) aws: Aws,
    _stores: Stores,
}

/// What a function asks of Lambda and of the scheduler.
#[derive(Clone, Default)]
pub(crate) struct Host {
    kicks: Arc<Mutex<Vec<RunInvocation>>>,
    alarms: Arc<Mutex<BTreeSet<RunKey>>>,
    timers: Arc<Mutex<BTreeMap<RunKey, i64>>>,
}

impl Host {
    /// The payloads of the invocations asked for since the last call, tasks in order: which of
    /// several is asked for first is chance.
    pub(crate) fn kicks(&self) -> Vec<Value> {
        let mut kicks = std::mem::take(&mut *self.kicks.lock().unwrap());
        kicks.sort_by_key(RunInvocation::key);
        kicks.into_iter().map(|payload| json!(payload)).collect()
    }

    /// The payloads that the alarms send now.
    pub(crate) fn alarms(&self) -> Vec<Value> {
        self.alarms.lock().unwrap().iter().map(|run| json!(RunInvocation::new(run, 0))).collect()
    }
}

impl Invoker for Host {
    async fn kick_run(&self, key: &RunKey, hops: u32) -> Result<(), StoreError> {
        self.kicks.lock().unwrap().push(RunInvocation::new(key, hops));
        Ok(())
    }
}

impl Alarms for Host {
    async fn set_alarm(&self, key: &RunKey) -> Result<(), StoreError> {
        self.alarms.lock().unwrap().insert(key.clone());
        Ok(())
    }

    async fn set_timer(&self, key: &RunKey, from_ms: i64) -> Result<(), StoreError> {
        self.timers.lock().unwrap().insert(key.clone(), from_ms);
        Ok(())
    }

    async fn remove_timer(&self, key: &RunKey) -> Result<(), StoreError> {
        self.timers.lock().unwrap().remove(key);
        Ok(())
    }

    async fn remove_alarm(&self, key: &RunKey) -> Result<(), StoreError> {
        self.alarms.lock().unwrap().remove(key);
        Ok(())
    }
}

impl Function {
    /// A function whose model says `lines`, by the ids of their messages.
    pub(crate) fn new<'a>(lines: impl IntoIterator<Item = (&'a str, StoryLine)>) -> Self {
        let stores = Stores::start(StoresOptions::default()).unwrap();
        let aws = Aws::new(stores.settings().clone());
        let host = Host::default();
        let ports = World {
            store: Arc::new(aws.store()),
            model: Arc::new(StoryModel::new(lines, Points::new())),
            alarms: Arc::new(host.clone()),
            invoker: Arc::new(host.clone()),
            clock: Arc::new(SystemClock),
            tools: Toolbox::default(),
            prompts: Arc::new(Prompts::default()),
            content: Arc::default(),
            sandbox: Arc::new(DisabledSandbox("this function has no sandbox".to_owned())),
            outside: Arc::new(DisabledOutside(String::new())),
            tables: Arc::new(NoTables),
            settings: Arc::new(quick()),
            variables: Arc::new(|_| None),
            shutdown: djinn_runtime::shutdown::Shutdown::default(),
            rate_limits: djinn_runtime::rate_limits::RateLimits::default(),
            configuration: None,
        };
        Self { executor: Executor { ports }, host, aws, _stores: stores }
    }

    /// Accepts a question as request `r1` of session `s1` of account 123456789012. Nobody drives it.
    pub(crate) async fn accept(&self, mode: Machine) -> RunKey {
        let spec = RunSpec::new(
            TenantId::new("123456789012").unwrap(),
            UserId::new(ANNA).unwrap(),
            SessionId::new("s1").unwrap(),
            RequestId::new("r1").unwrap(),
            "What is to be done?".to_owned(),
            RunSettings { mode: mode.into(), ..RunSettings::default() },
        );
        let question = UserQuestion {
            spec,
            client_prompt: String::new(),
            history: None,
            choice: serde_json::Value::Null,
            attachments: Vec::new(),
            parsed_response: None,
            capability: djinn_runtime::serve::ResponseCapability::Everything,
        };
        start_background(&self.executor.ports, question).await.unwrap()
    }

    /// One invocation; it must succeed.
    pub(crate) async fn invoke(&self, payload: Value) {
        self.executor.handle(payload, None).await.unwrap();
    }

    /// How often the stores were written to since the last call.
    pub(crate) fn writes(&self) -> u64 {
        let read = ["GetItem", "Query", "GetObject"];
        let made = self.aws.request_counter().take_counts().into_iter();
        made.filter(|(operation, _)| !read.contains(&operation.as_str())).map(|(_, n)| n).sum()
    }
}

/// What this thread logs, while it is kept.
pub(crate) struct Logged {
    written: Written,
    _kept: DefaultGuard,
}

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Logged {
    /// Keeps what is logged as on Lambda: from INFO on.
    pub(crate) fn start() -> Self {
        let written = Written::default();
        let writer = written.clone();
        let log = djinn_runtime::telemetry::subscriber(None, move || writer.clone());
        Self { written, _kept: tracing::subscriber::set_default(log) }
    }

    /// The lines since the last call.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let bytes = std::mem::take(&mut *self.written.0.lock().unwrap());
        let text = String::from_utf8(bytes).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}
