//! `cargo dev ask` as people run it: killed at any moment and asked again, and asked by the model. And
//! `cargo xtask eval`, which asks many questions.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use djinn_local::{System, SystemOptions};
use djinn_scripted::ScriptedModel;
use serde_json::{Value, json};

/// How many processes are killed, at moments spread over the time that one takes.
const KILLS: u32 = 10;

#[test]
#[ignore = "takes half a minute: cargo verify --only kills"]
fn a_killed_ask_goes_on_with_its_run_and_ends_the_same() {
    let home = tempfile::tempdir().unwrap();
    let began = Instant::now();
    asked(home.path());
    let takes = began.elapsed();
    let whole = Left::of(home.path());
    whole.is_as_promised();
    thread::scope(|threads| {
        for kill in 0..KILLS {
            let (moment, whole) = (takes * kill / KILLS + takes / (KILLS * 2), &whole);
            threads.spawn(move || killed(moment, whole));
        }
    });
}

#[test]
fn a_question_of_the_models_is_answered_at_the_keyboard() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let model = runtime.block_on(ScriptedModel::start()).unwrap();
    let rule = model.on("What of the metal?");
    let rule = rule.call("ask_user", json!({"questions": ["Which metal?"]})).then();
    rule.reply("Copper is red.").always();
    let home = tempfile::tempdir().unwrap();
    let mut ask = command(home.path());
    ask.args([
        "dev",
        "ask",
        "--clarify",
        "What of the metal?",
        "--session",
        "s1",
        "--request-id",
        "r1",
    ])
    .env("OPENAI_API_KEY", "key")
    .env("OPENAI_BASE_URL", model.base_url())
    .env("OPENAI_MODEL", "scripted");
    let mut child =
        ask.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"Copper\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{shown}\n{errors}");
    assert!(shown.contains("? the model asks you:\n    Which metal?\n"), "{shown}");
    assert!(shown.contains("Copper is red."), "{shown}");
    let sees = runtime.block_on(model.wait_for_request(2)).text().to_owned();
    assert!(sees.contains("The user answers:\nCopper"), "{sees}");
}

#[test]
fn an_answer_is_printed_once_with_links_that_lead_where_a_system_will_listen() {
    let home = tempfile::tempdir().unwrap();
    let question = "Which region grew fastest? Write the answer to growth.md";
    let asked = |more: &[&str]| {
        let mut ask = command(home.path());
        ask.args(["dev", "ask", question, "--file", "examples/sales.csv"]).args(more);
        shown_by(&mut ask)
    };
    let first = asked(&["--port", "9100"]);
    // Its digits are nowhere else.
    assert_eq!(first.matches("55.9").count(), 1, "{first}");
    assert!(first.contains("http://127.0.0.1:9100/v1/file_tool/preview/"), "{first}");
    assert!(asked(&[]).contains("http://127.0.0.1:9000/v1/file_tool/preview/"));
    fs::write(home.path().join("last-url"), "http://127.0.0.1:9200").unwrap();
    assert!(asked(&[]).contains("http://127.0.0.1:9200/v1/file_tool/preview/"));
}

#[test]
fn an_evaluation_with_the_scripted_model_judges_every_answer_and_fails_for_none() {
    let home = tempfile::tempdir().unwrap();
    let evaluate = |suite: &str, more: &[&str]| {
        let mut eval = command(home.path());
        eval.args(["eval", "--suite", suite]).args(more);
        shown_by(&mut eval)
    };
    let growth = evaluate("code", &["--only", "3"]);
    assert!(growth.contains(" 3  fastest                  2/2          -       0"), "{growth}");
    assert!(
        growth.contains("1 questions: facts 2/2, citations -, faults 0, right 100 %"),
        "{growth}"
    );
    let report = evaluate("report", &["--only", "1", "--require", "0.8"]);
    assert!(report.contains("missing: summary; figures; outlook"), "{report}");
    let search = evaluate("search", &["--only", "1"]);
    assert!(search.contains("1 questions: facts 0/3, citations 0/1, faults 0"), "{search}");
    assert!(!search.contains("did not end"), "{search}");
    for shown in [growth, report, search] {
        assert_eq!(shown.lines().last(), Some("scripted model: plumbing only"), "{shown}");
    }
}

/// The question that README.md asks, in a process of its own.
fn ask(home: &Path) -> Command {
    let mut ask = command(home);
    let question =
        "Compare the three regions in examples/sales.csv, one report each, then a summary";
    ask.args(["dev", "ask", "--deep", question, "--file", "examples/sales.csv"]).args([
        "--session",
        "s1",
        "--request-id",
        "r1",
    ]);
    ask
}

/// The commands over a home of their own, without a model.
fn command(home: &Path) -> Command {
    let mut ask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    ask.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap())
        .env("DJINN_HOME", home)
        // No build of the page beside the system.
        .env("DJINN_PAGE", home);
    for model in ["DJINN_MODELS", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"] {
        ask.env_remove(model);
    }
    ask
}

/// Asks to the end; returns what was shown.
fn asked(home: &Path) -> String {
    shown_by(&mut ask(home))
}

fn shown_by(ask: &mut Command) -> String {
    let output = ask.output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{shown}\n{errors}");
    shown
}

/// Kills a process that asks at a moment of its life, and asks again.
fn killed(moment: Duration, whole: &Left) {
    let home = tempfile::tempdir().unwrap();
    let mut first = ask(home.path()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    thread::sleep(moment);
    first.kill().unwrap();
    first.wait().unwrap();
    let shown = asked(home.path());
    println!("killed after {moment:.1?}");
    Left::of(home.path()).is_the_same(whole, &format!("killed after {moment:?}\n{shown}"));
}

/// What a run left behind.
#[derive(Debug)]
struct Left {
    /// Its entries by id, without what tells of crashes, and of the file that came again.
    entries: BTreeMap<String, Value>,
    /// The copies of its files.
    files: BTreeMap<String, String>,
    /// The names of all files of its session.
    names: Vec<String>,
}

impl Left {
    /// Looks into a home that no process uses.
    fn of(home: &Path) -> Self {
        let (run, copies) = copies(home);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let (stream, session) = runtime.block_on(async {
            let options = SystemOptions {
                dir: Some(home.to_owned()),
                continue_runs: false,
                ..SystemOptions::default()
            };
            let system = System::start(options).await.unwrap();
            let get = async |path: &str| {
                let url = format!("http://{}{path}", system.address());
                reqwest::get(url).await.unwrap().text().await.unwrap()
            };
            (get(&format!("/runs/{run}/events")).await, get("/sessions/s1").await)
        });
        let session: Value = serde_json::from_str(&session).unwrap();
        let files = session["files"].as_array().unwrap();
        let mut names: Vec<_> = files.iter().map(|file| text(&file["name"])).collect();
        names.sort();
        Self { entries: entries(&stream), files: copies, names }
    }

    /// A plan, tasks, their files, another plan, a summary, in figures that follow the CSV.
    fn is_as_promised(&self) {
        let count =
            |kind: &str| self.entries.values().filter(|entry| entry["type"] == kind).count();
        assert!(count("plan.changed") >= 2, "{self:#?}");
        assert_eq!(count("child.ended"), 5);
        assert_eq!(self.files.len(), 4);
        assert!(text(&self.entries["end"]["answer"]).starts_with("East grew fastest, by 55.9 %"));
    }

    #[track_caller]
    fn is_the_same(&self, whole: &Self, why: &str) {
        let ids = |left: &Self| left.entries.keys().cloned().collect::<Vec<_>>();
        assert_eq!(ids(self), ids(whole), "{why}");
        let (end, expected) = (&self.entries["end"], &whole.entries["end"]);
        for part in ["status", "answer"] {
            assert_eq!(end[part], expected[part], "{why}");
        }
        assert_eq!(self.files, whole.files, "{why}");
        assert_eq!(self.names, whole.names, "{why}");
    }
}

/// The run whose files were copied, and the copies.
fn copies(home: &Path) -> (String, BTreeMap<String, String>) {
    let mut runs = fs::read_dir(home.join("files")).unwrap().map(Result::unwrap);
    let (Some(run), None) = (runs.next(), runs.next()) else { panic!("not one run") };
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    let name = |name: std::ffi::OsString| name.into_string().unwrap();
    let copies = fs::read_dir(run.path()).unwrap().map(Result::unwrap);
    let copies = copies.map(|file| (name(file.file_name()), read(&file.path()))).collect();
    (name(run.file_name()), copies)
}

/// The entries of a whole stream; each comes once, the last one ends the run.
fn entries(stream: &str) -> BTreeMap<String, Value> {
    let field = |frame: &str, name: &str| {
        frame.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
    };
    let frames = stream.split("\n\n").filter_map(|frame| {
        let entry: Value = serde_json::from_str(&field(frame, "data:")?).unwrap();
        (field(frame, "event: ")? != "preview").then_some(entry)
    });
    let told: Vec<Value> = frames.collect();
    let mut ends = told.iter().filter(|entry| entry["type"] == "run.ended");
    assert_eq!(ends.next(), told.last(), "{told:#?}");
    assert_eq!(ends.next(), None);
    let mut entries = BTreeMap::new();
    for entry in told {
        let kind = text(&entry["type"]);
        if !["run.resumed", "message.reset", "file.added"].contains(&kind.as_str()) {
            let before = entries.insert(text(&entry["id"]), entry);
            assert_eq!(before, None, "it came twice");
        }
    }
    entries
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
