//! A plan with three executors: one reads a page, one runs code, one reads and writes a file.

use std::iter::repeat_with;

use djinn_scripted::ChunkGate;
use serde_json::{Value, json};

use crate::story::{PATIENCE, Story};
use crate::world::{Frame, Protocol, planner, summary};

/// The rows of a file too large for the payload of an invocation of the sandbox, even compressed.
const ROWS: usize = 120_000;

/// Reads the file, and writes a file too large for the payload of a response.
const CODE: &str = "import os, pandas as pd\nprint(len(pd.read_csv('big.csv')), 'rows')\n\
    open('noise.bin', 'wb').write(os.urandom(7_000_000))";

#[tokio::test]
#[ignore = "needs the stack: cargo verify --only stack"]
async fn steps_of_a_plan_run_at_once_in_three_executors() {
    let story = Story::open("a plan with three executors").await;
    let site = story.start_site().await;
    site.put_page("/gold", "Of gold", "Gold is warm at 4 degrees.");
    let mut random = fastrand::Rng::with_seed(32);
    let mut row = || repeat_with(|| random.alphanumeric()).take(75).collect::<String>();
    let content =
        format!("name\n{}\n", repeat_with(&mut row).take(ROWS).collect::<Vec<_>>().join("\n"));
    let upload = story.announce_file("big.csv", content.len()).await;
    let url = upload["url"].as_str().unwrap();
    assert_eq!(story.put(url, &upload["headers"], content).await, 200);
    story.announce_file("never.txt", 5).await;

    let page = site.page_url("/gold");
    let steps = [format!("Web: read {page}"), "Code: count the rows".into(), "File: sum up".into()];
    let plan = json!({
        "command": "create", "title": "Three parts", "steps": steps, "depends_on": [[], [], []],
    });
    planner(&story.model)
        .call("planning", plan)
        .then()
        .call("planning", json!({"command": "finish"}));
    let gates = script_steps(&story, &page);
    summary(&story.model).reply("All three are done.$$$parts.md");
    let question = story.question(&format!("Use {page} and big.csv")).deep();
    let (frames, ()) = tokio::join!(
        async { story.follow_run(story.user.ask(Protocol::Native, &question).await).await },
        async {
            for gate in &gates {
                let reached = tokio::time::timeout(PATIENCE, gate.wait_until_reached()).await;
                reached.expect("all three steps are at work at the same time");
            }
            let executors = story.processes("executor");
            assert!(executors.len() >= gates.len(), "each step has a process: {executors:?}");
            gates.iter().for_each(ChunkGate::open);
        },
    );

    let ended = frames.last().unwrap().json();
    assert_eq!(
        (&ended["status"], &ended["answer"]),
        (&json!("finished"), &json!("All three are done."))
    );
    let result = |path: &str| {
        let is_meant = |it: &Value| it["type"] == "call.completed" && it["path"] == path;
        let event = frames.iter().map(Frame::json).find(is_meant);
        event.unwrap_or_else(|| panic!("{path}: {frames:#?}"))["result"]["text"].to_string()
    };
    assert!(result("s1.1").contains("Gold is warm at 4 degrees."), "{}", result("s1.1"));
    let names = story.list_files().await;
    for name in ["big.csv", "noise.bin", "parts.md"] {
        assert!(names.iter().any(|it| it == name), "{name}: {names:?}");
    }
    assert!(!names.iter().any(|it| it == "never.txt"), "announced, never uploaded");
    let counted = story.model.requests();
    assert!(counted.iter().any(|request| request.text().contains(&format!("{ROWS} rows"))));
    story.close();
}

/// Scripts the three steps. Returns the gates before their first replies.
fn script_steps(story: &Story, page: &str) -> [ChunkGate; 3] {
    let web = story.at("s1.1").call("web_fetch", json!({"url": page}));
    let web_gate = web.gate(1);
    web.then().reply("The page is read.");
    let code =
        story.at("s2.1").call("code_interpreter", json!({"task": "Count the rows of big.csv"}));
    let code_gate = code.gate(1);
    code.then().reply("The rows are counted.");
    story.at("s2.1.t1.c1").call("python", json!({"code": CODE})).then().reply("They are counted.");
    let get = json!({"command": "get", "filename": "big.csv"});
    let file = story.at("s3.1").call("file_tool", get);
    let file_gate = file.gate(1);
    let parts = json!({
        "command": "upload", "filename": "parts.md", "description": "the parts", "content": "# Parts",
    });
    file.then().call("file_tool", parts).then().reply("The file is written.");
    [web_gate, code_gate, file_gate]
}
