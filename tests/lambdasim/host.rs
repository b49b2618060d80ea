//! The built functions in a simulated Lambda, with the local stores and a scripted model.

use std::path::{Path, PathBuf};
use std::time::Duration;

use djinn_local::{Backing, BackingOptions};
use djinn_scripted::{ChunkGate, RecordedRequest, Script, ScriptedModel};
use djinn_testkit::lambdasim::{Function, Invocation, InvocationOutcome, Lambda};
use serde_json::{Value, json};

use crate::story::Story;

/// Everything that a test runs in. The environments die with it.
pub(crate) struct Host {
    pub(crate) lambda: Lambda,
    pub(crate) model: ScriptedModel,
    pub(crate) url: String,
    _backing: Backing,
    log: PathBuf,
}

/// What differs from how functions are deployed.
pub(crate) struct Options {
    /// How long one invocation may take.
    pub(crate) timeout: Duration,
    /// How many environments of each function work at once.
    pub(crate) concurrency: usize,
    /// How often each asynchronous invocation comes.
    pub(crate) copies: usize,
    /// How often the alarm of a run rings.
    pub(crate) alarm_every: Duration,
    /// The JSON object that the functions read in `DJINN_TEST_SETTINGS`.
    pub(crate) settings: Value,
    /// How long the model may take, in whole seconds.
    pub(crate) model_timeout_s: u64,
    /// Where tools write what they did, if the functions are to have the tools of `worker.rs`.
    pub(crate) ledger: Option<PathBuf>,
    /// The configuration folder, if it has one.
    pub(crate) config: Option<PathBuf>,
    /// Holds the first message in mid-sentence, if any.
    pub(crate) gate: Option<ChunkGate>,
    /// Further environment variables of the functions.
    pub(crate) variables: Vec<(&'static str, String)>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            concurrency: 8,
            copies: 1,
            alarm_every: Duration::from_secs(120),
            settings: quick(),
            model_timeout_s: 1,
            ledger: None,
            config: None,
            gate: None,
            variables: Vec::new(),
        }
    }
}

/// Settings with which nothing that a test waits for takes long. A lease is long enough for a process
/// that makes its first connections on a busy machine, which stops it from renewing.
pub(crate) fn quick() -> Value {
    json!({
        "lease_ms": 2_000, "renew_every_ms": 300, "mailbox_every_ms": 100, "follow_every_ms": 20,
        "dispatch_every_ms": 500, "tool_timeout_ms": 1_000, "hand_over_margin_ms": 300,
    })
}

/// [`quick`], with these members besides.
pub(crate) fn quick_and(more: &Value) -> Value {
    let mut settings = quick();
    let members = more.as_object().unwrap().clone();
    settings.as_object_mut().unwrap().extend(members);
    settings
}

/// Whether tests are to take longer (`DJINN_SOAK=1`).
#[allow(clippy::disallowed_methods, reason = "a test is told so")]
pub(crate) fn soaks() -> bool {
    std::env::var("DJINN_SOAK").is_ok_and(|value| value == "1")
}

impl Host {
    /// Starts everything; `name` is the log's.
    pub(crate) async fn start(name: &str, options: Options, story: Story) -> Self {
        let script = Script::default();
        let gate = options.gate;
        let says = move |request: &RecordedRequest| match (message(request), &gate) {
            (message, Some(gate)) if message == "t1" => {
                story.says(&message).delta_chars(8).with_gate(2, gate.clone())
            }
            (message, _) => story.says(&message),
        };
        script.on_request(|_| true).respond_with(says).always();
        let model = ScriptedModel::start_with(script).await.unwrap();
        let timeout = options.model_timeout_s;
        let models = json!({"models": {"scripted": {
            "provider": "openai", "model": "scripted", "base_url": model.base_url(),
            "call_timeout_s": timeout, "first_byte_timeout_s": timeout, "chunk_timeout_s": timeout,
        }}});
        let lambda = Lambda::start().await.unwrap();
        let known = models.to_string();
        let backing = Backing::start(BackingOptions {
            var: Box::new(move |name| (name == "DJINN_MODELS").then(|| known.clone())),
            alarm_every: options.alarm_every,
            ..BackingOptions::new(lambda.url())
        });
        let backing = backing.await.unwrap();
        let ledger = options.ledger.as_ref();
        let own = [
            ("DJINN_MODELS", models.to_string()),
            ("DJINN_LIMITS__MAX_STEPS", "200".to_owned()),
            ("DJINN_LIMITS__MAX_TOOL_CALLS", "10000".to_owned()),
            ("DJINN_TEST_SETTINGS", options.settings.to_string()),
            ("DJINN_LEDGER", ledger.map_or_else(String::new, |path| path.display().to_string())),
        ];
        let offered = story.calls_agents().then(|| ("DJINN_AGENTS__OFFERED", "all".to_owned()));
        let config = options.config.map(|path| ("DJINN_CONFIG", path.display().to_string()));
        let variables: Vec<(String, String)> = backing
            .variables()
            .into_iter()
            .chain(own)
            .chain(offered)
            .chain(config)
            .chain(options.variables.clone())
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("lambdasim-{name}.log"));
        std::fs::write(&log, "").unwrap();
        let arn = options.variables.iter().find(|(name, _)| *name == "DJINN_EXECUTOR");
        let executor = arn.map_or("executor", |(_, arn)| arn);
        for (name, deployed_name) in [("agent", "agent"), ("executor", executor)] {
            lambda.deploy(Function {
                name: deployed_name.to_owned(),
                binary: binary(if ledger.is_some() { "examples/worker" } else { name }),
                variables: variables.clone(),
                timeout: options.timeout,
                concurrency: options.concurrency,
                copies: options.copies,
                log: Some(log.clone()),
            });
        }
        Self { url: backing.agent_url(), lambda, model, _backing: backing, log }
    }

    /// The invocations of a function so far.
    pub(crate) fn invocations(&self, function: &str) -> Vec<Invocation> {
        let mut invocations = self.lambda.invocations();
        invocations.retain(|invocation| invocation.function == function);
        invocations
    }

    /// How many invocations came to this.
    pub(crate) fn with_outcome(&self, outcome: InvocationOutcome) -> usize {
        let invocations = self.lambda.invocations();
        invocations.iter().filter(|invocation| invocation.outcome == Some(outcome)).count()
    }

    /// Waits until the model has been asked for a message.
    pub(crate) async fn is_asked(&self, asked_for: &str) {
        for number in 1.. {
            if message(&self.model.wait_for_request(number).await) == asked_for {
                return;
            }
        }
    }

    /// The pid of the environment that works on a task.
    pub(crate) fn works_on(&self, task: &str) -> u32 {
        let running = self.lambda.running_invocations();
        let mut given = running.iter().filter(|invocation| invocation.payload["path"] == task);
        given.next_back().expect("somebody works on it").pid
    }

    /// Waits until nothing is under way.
    pub(crate) async fn is_idle(&self) {
        self.lambda
            .wait_until(|all| all.iter().all(|invocation| invocation.outcome.is_some()))
            .await;
    }

    /// How often each message was asked for.
    pub(crate) fn asked(&self, asked_for: &str) -> usize {
        self.model.requests().iter().filter(|request| message(request) == asked_for).count()
    }

    /// How often a tool returned for each call, by what the functions log.
    pub(crate) fn returned(&self) -> Vec<String> {
        let log = std::fs::read_to_string(&self.log).unwrap();
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let returned = lines.filter(|line| line["message"] == "tool returned");
        returned.map(|line| call_of(&line["spans"])).collect()
    }
}

/// The call that a line of the log is about, after the path of its run. A run that is driven where its
/// caller is stands within that one's span.
fn call_of(spans: &Value) -> String {
    let spans = spans.as_array().unwrap();
    let field = |name: &str| spans.iter().rev().find_map(|span| span[name].as_str());
    let path = field("path").map_or_else(String::new, |path| format!("{path}."));
    format!("{path}{}", field("gen_ai.tool.call.id").unwrap())
}

/// The message that a request is for: `t1`, `summary`, or with its task `s1.1.t1`.
fn message(request: &RecordedRequest) -> String {
    let call = request.header("djinn-call").unwrap_or_default();
    call.split('/').nth(1).unwrap_or_default().to_owned()
}

/// A built function, beside the directory of this test's own program.
fn binary(name: &str) -> PathBuf {
    let this = std::env::current_exe().unwrap();
    let binary = this.parent().unwrap().parent().unwrap().join(name);
    assert!(binary.exists(), "{name} is not built: run `cargo verify --only lambdasim`");
    binary
}
