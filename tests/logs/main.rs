//! What a run writes into the log: ids and counts, and nothing that was said. A process of its own,
//! because a process has one log.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "a test that cannot go on has failed"
)]

#[allow(dead_code, unused_imports, reason = "other tests use the rest")]
#[path = "../it"]
mod it {
    pub(crate) mod world;
}

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Arc, Mutex};

use agent::{Auth, KeyList};
use agent::{KEY_BYTES, KeyHash, KeyHolder, format_key};
use djinn_core::id::{TenantId, UserId};
use djinn_scripted::ScriptedModel;
use it::world::{Door, KEY, Protocol, QUESTION, Question, SALES, World, script};
use serde_json::{Value, json};
use tokio::sync::Notify;

#[derive(Clone, Default)]
struct Log {
    bytes: Arc<Mutex<Vec<u8>>>,
    grew: Arc<Notify>,
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes.lock().unwrap().extend_from_slice(bytes);
        self.grew.notify_one();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// Keeps what this process logs.
    fn start() -> Self {
        let log = Self::default();
        let writer = log.clone();
        djinn_runtime::telemetry::init(Some("debug"), move || writer.clone());
        log
    }

    fn lines(&self) -> Vec<Value> {
        let text = String::from_utf8(self.bytes.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Every line, once so many drivers have stopped: they outlive what they stream.
    async fn of_drivers(&self, drivers: usize) -> Vec<Value> {
        loop {
            let lines = self.lines();
            let stopped = lines.iter().filter(|line| line["message"] == "driver stopped").count();
            if stopped >= drivers {
                return lines;
            }
            self.grew.notified().await;
        }
    }
}

/// Words of the question, the file, the answers and the calls, and the key.
const SAID: [&str; 12] = [
    "region",
    "grew",
    "1284000",
    "North",
    "I read",
    "East",
    "55.9",
    "# Growth",
    "Growth by",
    "You are Djinn",
    "sales.csv",
    KEY,
];

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// The spans around a line, outermost first.
fn spans(line: &Value) -> &[Value] {
    line["spans"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn span<'a>(line: &'a Value, name: &str) -> Option<&'a Value> {
    spans(line).iter().find(|span| span["name"] == name)
}

/// A line with what stays the same from run to run.
fn shown(line: &Value) -> String {
    let mut line = line.clone();
    for value in line["spans"].as_array_mut().into_iter().flatten() {
        normalise(value);
    }
    normalise(&mut line);
    line.to_string()
}

fn normalise(value: &mut Value) {
    let members = value.as_object_mut().unwrap();
    members.shift_remove("timestamp");
    for name in ["took_ms", "run_id", "call"] {
        if let Some(member) = members.get_mut(name) {
            *member = match member.as_str().and_then(|text| text.split_once('/')) {
                Some((_, call)) => format!("run_…/{call}").into(),
                None => "…".into(),
            };
        }
    }
}

#[tokio::test]
async fn a_run_is_logged_by_ids_and_counts_and_nothing_that_was_said() {
    let log = Log::start();
    // Else its start says that the model has no price, which is about no run.
    let price = r#"{"scripted": {"input": 2, "cached_input": 1, "output": 8}}"#;
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_PRICES", price.to_owned()));
    })
    .await;
    world.upload("s1", "sales.csv", SALES).await;
    script(&world.model, QUESTION);
    world.told(&Question::of(QUESTION, "s1")).await;
    let lines = log.of_drivers(1).await;
    let lines: Vec<String> = lines.iter().filter(|line| is_above_debug(line)).map(shown).collect();
    insta::assert_snapshot!(lines.join("\n"));

    what_goes_wrong(&world).await;
    let lines = log.of_drivers(3).await;
    assert!(lines.iter().any(|line| line["level"] == "DEBUG"));
    let mut seen = BTreeSet::new();
    for line in lines.iter().filter(|line| is_above_debug(line)) {
        check(line);
        seen.insert(text(line, "message").to_owned());
    }
    let wanted =
        ["driver stopped", "model call failed", "model replied", "tool failed", "tool returned"];
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), wanted);
    a_callers_key_comes_and_goes(&log).await;
    the_model_that_answered_is_named(&log).await;
}

/// The one whose key is refused, and its fallback.
async fn the_model_that_answered_is_named(log: &Log) {
    let backup = ScriptedModel::start().await.unwrap();
    let world = World::start_with(|options, main| {
        let model =
            |name: &str, url: String| json!({"provider": "openai", "model": name, "base_url": url});
        let models = json!({
            "default": "main", "fallback": "backup",
            "models": {
                "main": model("main-model", main.base_url()),
                "backup": model("backup-model", backup.base_url()),
            },
        });
        options.vars.push(("DJINN_MODELS", models.to_string()));
    })
    .await;
    let before = log.lines().len();
    world.model.on("Is it grown?").status(401);
    backup.on("Is it grown?").reply("It is grown.");
    world.told(&Question::of("Is it grown?", "s1")).await;
    let lines = log.lines().split_off(before);
    let line = |message: &str| lines.iter().find(|line| line["message"] == message).unwrap();
    let changed = line("model changed");
    let told = ["from", "to", "code"].map(|name| text(changed, name));
    assert_eq!(told, ["main", "backup", "model_key_refused"]);
    let chat = span(line("model replied"), "gen_ai.chat").unwrap();
    assert_eq!(
        [text(chat, "model"), text(chat, "gen_ai.request.model")],
        ["backup", "backup-model"]
    );
}

/// A key that is good, and one that is not: neither is in a line of any level.
async fn a_callers_key_comes_and_goes(log: &Log) {
    let (good, wrong) = (format_key(&[0xab; KEY_BYTES]), format_key(&[0xcd; KEY_BYTES]));
    let holder = KeyHolder {
        sha256: KeyHash::of(&good).unwrap(),
        tenant: TenantId::new("acme").unwrap(),
        user: UserId::new("anna").unwrap(),
    };
    let mut door = Door::open(
        None,
        |_| {},
        |parts| {
            parts.settings.auth = Auth::Key(KeyList::Inline(vec![holder]));
        },
    );
    let client = door.listen().await;
    let before = log.lines().len();
    for (key, status) in [(&good, 200), (&wrong, 401)] {
        assert_eq!(client.clone().bearing(key).get("/runs").await.status, status);
    }
    let lines = log.lines();
    assert!(lines.len() > before, "nothing was logged of these requests");
    for line in lines {
        assert!(!line.to_string().contains("abababab") && !line.to_string().contains("cdcdcdcd"));
    }
}

fn is_above_debug(line: &Value) -> bool {
    line["level"] != "DEBUG"
}

/// A line names its run, and its call where there is one, and quotes nobody.
fn check(line: &Value) {
    // A time and a random id may hold the digits of a figure that was said.
    let written = shown(line);
    let quoted = SAID.iter().find(|words| written.contains(*words));
    assert_eq!(quoted, None, "{line}");
    let names = |id: &str| spans(line).iter().chain([line]).any(|it| it[id].is_string());
    assert!(names("run_id"), "it names no run: {line}");
    if let Some(tool) = span(line, "execute_tool") {
        assert!(text(tool, "gen_ai.tool.call.id").starts_with('t'), "{line}");
        assert_eq!(tool["gen_ai.operation.name"], "execute_tool");
    }
    if let Some(chat) = span(line, "gen_ai.chat") {
        assert_eq!(chat["gen_ai.provider.name"], "openai");
        assert!(chat["gen_ai.usage.output_tokens"].is_number(), "{line}");
    }
    if text(line, "message").starts_with("model") {
        assert!(names("call"), "it names no call: {line}");
    }
}

/// Faults, refusals, failing calls, and a stop.
async fn what_goes_wrong(world: &World) {
    let get = |name: &str| json!({"command": "get", "filename": name});
    let rule = world.model.on("Which region grew slowest?").status(500).then();
    let rule = rule.reply("North grew slowest.").cut_after(2).then();
    let rule = rule.say("I read North.").call("file_tool", get("North.csv")).then();
    let rule = rule.call_text("file_tool", "East").call_unknown("East", json!({})).then();
    rule.error(400, "invalid_request_error", None, format!("North region {KEY}"));
    let question = Question::new("Which region grew slowest?").session("s1").request("r2");
    for protocol in [Protocol::Ui, Protocol::Raw] {
        world.ask(protocol, &question).await.rest().await;
    }
    world.model.on("Which region grew at all?").reply("East grew.").hang_after(2);
    let question = Question::new("Which region grew at all?").session("s1").request("r3");
    let mut stream = world.ask(Protocol::Native, &question).await;
    stream.until(|frame| frame.event() == "preview").await;
    world.stop(&stream.run()).await;
    stream.rest().await;
}
