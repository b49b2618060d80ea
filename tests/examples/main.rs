//! The clients in `examples/`, against the system that `cargo dev` runs, through a line that breaks.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

mod cutting_proxy;
mod notes_server;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use cutting_proxy::CuttingProxy;
use djinn_local::{System, SystemOptions};
use djinn_scripted::ScriptedModel;
use serde_json::json;

const QUESTION: &str = "Which region grew fastest? Write the answer to growth.md";
const PLAN: &str = "Compare the three regions in sales.csv, one report each, then a summary";

/// The clients that do everything, by the program that runs them.
const CHATS: [[&str; 2]; 2] = [["node", "client.mjs"], ["python3", "client.py"]];

/// A client of `examples/`. Nothing stands between it and us, whatever the machine's proxies are.
fn client(words: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples"));
    command.args(&words[1..]).env("no_proxy", "*").env("NO_PROXY", "*").env_remove("DJINN_KEY");
    command
}

/// Runs a client whose user types these lines. Returns what it showed, once it has succeeded.
fn shown_by(client: &mut Command, lines: &str) -> String {
    client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = client.spawn().unwrap_or_else(|error| panic!("{client:?}: {error}"));
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{shown}\n{errors}");
    shown
}

/// Checks that every cut was made, and that the client came back behind what it had.
fn came_back(proxy: CuttingProxy, cuts: usize) {
    let (left, requests) = proxy.into_traffic();
    assert!(left.is_empty(), "never cut at {left:?}");
    assert!(requests.matches("\nlast-event-id: run_").count() >= cuts, "{requests}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs node: cargo verify --only examples"]
async fn a_chat_shows_a_plan_and_saves_its_files_whatever_is_cut() {
    for chat in CHATS {
        let system = System::start(SystemOptions::default()).await.unwrap();
        let cuts = ["\"type\":\"plan.changed\"", "event: child.ended\n", "\"kind\":\"text\""];
        let proxy = CuttingProxy::start(system.address(), cuts);
        let saved = tempfile::tempdir().unwrap();
        let mut chat = client(&chat);
        chat.args(["--url", &proxy.url, "--upload", "sales.csv", "--mode", "plan_solve", "--save"]);
        let shown = shown_by(chat.arg(saved.path()).arg(PLAN), "");
        came_back(proxy, cuts.len());
        for line in [
            "sent sales.csv",
            "Plan: Compare the regions",
            "  [x] s5 compare all regions of sales.csv in comparison.md (after s2, s3, s4)",
            "[s3.1] begins: North: write a report on this region from sales.csv",
            "[s3.1] ends: finished",
            "(finished)",
        ] {
            assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
        }
        assert_eq!(shown.matches("[s2.1] ends:").count(), 1, "{shown}");
        assert_eq!(shown.matches("All 3 regions are in comparison.md.\n(").count(), 1, "{shown}");
        let report = fs::read_to_string(saved.path().join("comparison.md")).unwrap();
        assert!(
            report.contains("| South | 2021 | 962,300 | 2024 | 1,163,900 | 20.9 % |"),
            "{report}"
        );
        assert_eq!(fs::read_dir(saved.path()).unwrap().count(), 4, "{shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs node: cargo verify --only examples"]
async fn a_chat_answers_what_the_model_and_the_run_ask() {
    for chat in CHATS {
        let model = ScriptedModel::start().await.unwrap();
        let report = json!({"command": "upload", "filename": "growth.md", "content": "East"});
        let rule = model.on(QUESTION).reason("It is unclear.").say("One moment.");
        let rule = rule.call("ask_user", json!({"questions": ["Sales or profit?"]})).then();
        let rule = rule.say("I write that down.").call("file_tool", report).then();
        rule.reply("It is noted: East – 55.9 %.").always();
        let vars = [
            ("OPENAI_API_KEY", "sk-scripted-0123456789".to_owned()),
            ("OPENAI_BASE_URL", model.base_url()),
            ("OPENAI_MODEL", "scripted".to_owned()),
        ];
        let var = move |name: &str| {
            vars.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
        };
        let options = SystemOptions { var: Box::new(var), ..SystemOptions::default() };
        let system = System::start(options).await.unwrap();
        let cuts = ["\"type\":\"call.requested\"", "event: human.resolved\n"];
        let proxy = CuttingProxy::start(system.address(), cuts);
        let saved = tempfile::tempdir().unwrap();
        let mut chat = client(&chat);
        chat.args(["--url", &proxy.url, "--approve", "--clarify", "--save"]);
        let shown = shown_by(chat.arg(saved.path()).arg(QUESTION), "Sales.\nyes\n");
        came_back(proxy, cuts.len());
        let sees = model.wait_for_request(2).await.text().to_owned();
        assert!(sees.contains("The user answers:\nSales."), "{sees}");
        for (part, times) in [
            ("It is unclear.", 1),
            ("? Sales or profit?", 1),
            ("? call file_tool {\"command\"", 1),
            ("t1.c1: say (you)", 1),
            ("t2.c1: confirm (you)", 1),
            ("+ growth.md, 4 bytes", 1),
            ("It is noted: East – 55.9 %.", 1),
        ] {
            assert_eq!(shown.matches(part).count(), times, "{part}: {shown}");
        }
        assert_eq!(fs::read_to_string(saved.path().join("growth.md")).unwrap(), "East");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs curl: cargo verify --only examples"]
async fn a_shell_script_prints_the_answer_once_whatever_is_cut() {
    let system = System::start(SystemOptions::default()).await.unwrap();
    let file = include_str!("../../examples/sales.csv");
    let file = json!({"requestId": "s1", "fileName": "sales.csv", "content": file});
    let upload = format!("http://{}/v1/file_tool/upload_file", system.address());
    let sent =
        reqwest::Client::builder().build().unwrap().post(upload).json(&file).send().await.unwrap();
    assert!(sent.status().is_success());
    let cuts =
        ["\"kind\":\"text\",\"offset\":16", "event: call.completed\ndata:", "\"answer\":true"];
    let proxy = CuttingProxy::start(system.address(), cuts);
    let mut ask = client(&["sh", "ask.sh", QUESTION]);
    let shown = shown_by(ask.env("DJINN_URL", &proxy.url).env("SESSION", "s1"), "");
    came_back(proxy, cuts.len());
    assert_eq!(
        shown,
        "First I read sales.csv to see what the figures are.\n\
         I work out how much each region grew and write it to growth.md.\n\
         East grew fastest, by 55.9 % from 2021 to 2024. All 3 regions are in growth.md.\n"
    );
}
