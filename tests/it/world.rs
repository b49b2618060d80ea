//! A whole system and a model that a test scripts, spoken to over HTTP.

mod camera;
mod client;
mod contract;
mod door;
#[path = "../../shared/protocol/tests/it/client.rs"]
mod fold;
mod function;
mod growth;
mod issuer;
mod plan;
mod reporting;
mod scaler;
mod shown;
mod site;
mod slow;
mod stream;
mod throttle;

use std::ops::Deref;
use std::path::PathBuf;
use std::time::Duration;

use djinn_core::id::{RunId, TenantId};
use djinn_core::journal::{Journal, Record};
use djinn_core::status::RunStatus;
use djinn_local::{LocalWorld, ServeTimeouts, System, SystemOptions};
use djinn_runtime::port::RunKey;
use djinn_runtime::port::journal::Journals as _;
use djinn_runtime::settings::{OutagePolicy, RetryPolicy, Settings};
use djinn_scripted::ScriptedModel;
use djinn_wiring::Djinn;
use serde_json::{Value, json};

pub(crate) use camera::Camera;
pub(crate) use client::{Answer, Client, Protocol, Question};
pub(crate) use contract::{check_answer, operations};
pub(crate) use door::{Door, Parts, caller_v1, caller_v2, not_local};
pub(crate) use fold::{NativeState, Received, UiState, received};
pub(crate) use function::{Function, Logged};
pub(crate) use growth::{QUESTION, SALES, script};
pub(crate) use issuer::{AUDIENCE, Issuer, SigningKey, encoded, signed_with_secret};
pub(crate) use plan::{
    COMPARE, REGIONS, employees, planner, script_plan, step, summary, task, task_of,
};
pub(crate) use reporting::Reporting;
pub(crate) use scaler::{Scaled, Scaler};
pub(crate) use shown::{model_sees, shown};
pub(crate) use site::Site;
pub(crate) use slow::Slow;
pub(crate) use stream::{Frame, Stream};
pub(crate) use throttle::{Kind, Limits, Throttle};

/// A key that must never be seen anywhere.
pub(crate) const KEY: &str = "sk-scripted-0123456789";

/// Whatever is waited for has happened by then, on any machine that runs these tests.
pub(crate) const SETTLED_WITHIN: Duration = Duration::from_secs(300);

/// A system, and its model.
pub(crate) struct World {
    pub(crate) client: Client,
    pub(crate) system: System,
    pub(crate) model: ScriptedModel,
}

/// What differs from how a system is started.
pub(crate) struct Options {
    pub(crate) vars: Vec<(&'static str, String)>,
    pub(crate) settings: Settings,
    /// Where everything is kept; `None` keeps nothing.
    pub(crate) dir: Option<PathBuf>,
    /// The directory of a built web UI.
    pub(crate) ui: Option<PathBuf>,
    /// The folder of a demo site, which is searched if no engine is configured.
    pub(crate) site: Option<PathBuf>,
    pub(crate) djinn: Djinn,
    pub(crate) patience: ServeTimeouts,
}

impl Default for Options {
    fn default() -> Self {
        let patience = ServeTimeouts::default();
        Self {
            vars: Vec::new(),
            settings: quick(),
            dir: None,
            ui: None,
            site: None,
            djinn: Djinn::new(),
            patience,
        }
    }
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_, _| {}).await
    }

    /// `change` is told where the model listens.
    pub(crate) async fn start_with(change: impl FnOnce(&mut Options, &ScriptedModel)) -> Self {
        let model = ScriptedModel::start().await.unwrap();
        let mut options = Options::default();
        change(&mut options, &model);
        let vars = vars(options.vars, &model);
        let system = SystemOptions {
            var: Box::new(move |name| found(&vars, name)),
            settings: Some(options.settings),
            dir: options.dir,
            ui: options.ui,
            site: options.site,
            djinn: options.djinn,
            patience: options.patience,
            ..SystemOptions::default()
        };
        let system = System::start(system).await.unwrap();
        let client = Client::new(format!("http://{}", system.address()));
        Self { client, system, model }
    }

    /// Waits until nobody drives a run that waits for people. Returns its journal.
    pub(crate) async fn settled_paused(&self, run: &str) -> Vec<Record> {
        settled_paused(self.system.ports(), run).await
    }

    /// Waits until a run owes nothing more.
    pub(crate) async fn settled(&self, run: &str) {
        settled(self.system.ports(), run).await;
    }
}

/// Waits until nobody drives a run that waits for people. Returns its journal.
pub(crate) async fn settled_paused(ports: &LocalWorld, run: &str) -> Vec<Record> {
    let key = RunKey::new(TenantId::new("local").unwrap(), RunId::new(run).unwrap());
    let parked = async {
        while ports.store.find_meta(&key).await.unwrap().unwrap().status != RunStatus::Paused {
            tokio::task::yield_now().await;
        }
        ports.store.read_from(&key, 0).await.unwrap()
    };
    tokio::time::timeout(SETTLED_WITHIN, parked).await.unwrap()
}

/// Waits until a run owes nothing more. Returns its journal.
pub(crate) async fn settled(ports: &LocalWorld, run: &str) -> Vec<Record> {
    let key = RunKey::new(TenantId::new("local").unwrap(), RunId::new(run).unwrap());
    let settled = async {
        loop {
            let records = ports.store.read_from(&key, 0).await.unwrap();
            if Journal::fold(&records).unwrap().run().due().is_empty() {
                return records;
            }
            tokio::task::yield_now().await;
        }
    };
    // Else something stays owed.
    tokio::time::timeout(SETTLED_WITHIN, settled).await.unwrap()
}

impl Deref for World {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

/// Whether every driver hands over after each record that it appends (`DJINN_ALWAYS_HAND_OVER=1`).
/// Clients come back by themselves then; see `Stream`.
#[allow(clippy::disallowed_methods, reason = "the suite is told so from outside")]
pub(crate) fn always_hands_over() -> bool {
    std::env::var("DJINN_ALWAYS_HAND_OVER").is_ok_and(|value| value == "1")
}

/// Settings with which nothing that a test waits for takes long.
pub(crate) fn quick() -> Settings {
    let soon = Duration::from_millis(2);
    let retries = |policy| RetryPolicy { base: soon, cap: soon, ..policy };
    Settings {
        mailbox_every: Duration::from_millis(20),
        follow_every: Duration::from_millis(5),
        stream_slot_every: Duration::from_millis(5),
        live_every: Duration::from_millis(5),
        renew_every: Duration::from_millis(50),
        // Each piece in a frame of its own, whatever the time.
        preview_merge_window: Duration::ZERO,
        outages: OutagePolicy {
            base: soon,
            cap: soon,
            patience: Duration::from_millis(40),
            ..OutagePolicy::DEFAULT
        },
        hold_retries: retries(RetryPolicy::HOLD),
        store_retries: retries(RetryPolicy::STORE),
        hand_over_after_record: always_hands_over(),
        ..Settings::default()
    }
}

/// Variables that lead to the scripted model, unless a test's own say otherwise.
fn vars(own: Vec<(&'static str, String)>, model: &ScriptedModel) -> Vec<(&'static str, String)> {
    let models = own.iter().any(|(name, _)| *name == "DJINN_MODELS");
    let scripted = [
        ("OPENAI_API_KEY", KEY.to_owned()),
        ("DJINN_MODELS", self::models(model, &json!({"key": "env:OPENAI_API_KEY"}))),
    ];
    own.into_iter().chain(scripted.into_iter().filter(|_| !models)).collect()
}

/// `DJINN_MODELS` with these members besides the scripted model's address.
pub(crate) fn models(model: &ScriptedModel, more: &Value) -> String {
    // A model that hangs is not given up while a test looks at its run.
    let mut settings = json!({
        "provider": "openai", "model": "scripted", "base_url": model.base_url(),
        "first_byte_timeout_s": 300, "chunk_timeout_s": 300,
    });
    for (name, value) in more.as_object().unwrap() {
        settings[name] = value.clone();
    }
    json!({"models": {"main": settings}}).to_string()
}

fn found(vars: &[(&'static str, String)], name: &str) -> Option<String> {
    vars.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
}
