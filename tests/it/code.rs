//! Code that an agent writes: where it is run, what is shown of it, and what is said where it cannot be.

mod chain;
mod function;
mod images;
mod installation;
mod notebook;
mod page;
mod queue;
mod real_files;
mod tables;

use std::path::PathBuf;
use std::sync::Arc;

use djinn_local::{Djinn, System, SystemOptions};
use sandbox::{LocalSandbox, WallChoice, ZygoteSettings};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agents::{at, path_of};
use crate::world::{Client, Frame, Protocol, Question, SALES, World, quick};

const QUESTION: &str = "Which region sells most?";
const NEEDS_PYTHON: &str = "SANDBOX_PYTHON names a Python: run `cargo verify --only sandbox`";

/// A world whose code runs in the sandbox of this machine.
async fn start(scratch: &TempDir) -> World {
    let sandbox = open_sandbox(scratch);
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_AGENTS__OFFERED", "all".to_owned()));
        options.djinn = Djinn::new().with_sandbox(sandbox);
    });
    world.await
}

/// The sandbox of this machine, on the Python that `cargo verify` has made.
pub(crate) fn open_sandbox(scratch: &TempDir) -> Arc<LocalSandbox> {
    let settings = sandbox_settings(WallChoice::default());
    Arc::new(LocalSandbox::new(settings, scratch.path().to_owned()))
}

fn sandbox_settings(walls: WallChoice) -> ZygoteSettings {
    ZygoteSettings {
        python: find_python(),
        packages: None,
        fonts: Vec::new(),
        needs_file_wall: true,
        walls,
    }
}

/// The Python that `cargo verify` has made.
fn find_python() -> PathBuf {
    #[allow(clippy::disallowed_methods, reason = "what `cargo verify` tells its tests")]
    let python = std::env::var_os("SANDBOX_PYTHON").unwrap_or_else(|| panic!("{NEEDS_PYTHON}"));
    PathBuf::from(python)
}

fn ask_for_code(world: &World) {
    at(&world.model, "")
        .call("code_interpreter", json!({"task": "Draw sales.csv by region."}))
        .then()
        .reply("See sales.png.");
}

pub(crate) fn completed<'a>(frames: &'a [Frame], id: &str) -> Vec<&'a Frame> {
    let is_meant = |frame: &&Frame| frame.event() == "call.completed" && frame.json()["id"] == id;
    frames.iter().filter(is_meant).collect()
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn after_an_exception_the_agent_writes_a_better_block_and_its_chart_is_a_file() {
    let scratch = TempDir::new().unwrap();
    let world = start(&scratch).await;
    world.upload("s1", "sales.csv", SALES).await;
    ask_for_code(&world);
    let good = "# Sales by region\nimport pandas as pd, matplotlib.pyplot as plt\n\
        table = pd.read_csv('sales.csv')\n\
        table.groupby('region').sales.sum().plot.bar()\nplt.savefig('sales.png')\n\
        print(len(table), 'rows')";
    at(&world.model, "t1.c1")
        .call("python", json!({"code": "import pandas as pd\npd.read_csv('sale.csv')"}))
        .then()
        .call("python", json!({"code": good}))
        .then()
        .reply("The chart is sales.png.");
    let frames = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;
    let ended = frames.last().unwrap().json();
    assert_eq!(
        (&ended["status"], &ended["answer"]),
        (&json!("finished"), &json!("See sales.png."))
    );
    assert_eq!(ended["files"][0]["name"], "sales.png");
    let failed = completed(&frames, "t1.c1.t1.c1.result")[0].json();
    let text = failed["result"]["text"].as_str().unwrap();
    assert!(text.contains("FileNotFoundError") && text.contains("(line 2)"), "{text}");
    let drawn = completed(&frames, "t1.c1.t2.c1.result")[0].json();
    assert!(drawn["result"]["text"].as_str().unwrap().contains(" rows\n"), "{drawn}");
    let file = &drawn["result"]["files"][0];
    assert_eq!(file["description"], "Sales by region");
    assert_eq!(file["media_type"], "image/png");
    // Before its first turn the agent saw what stands in the file.
    let requests = world.model.requests();
    let first = requests.iter().find(|r| path_of(r).as_deref() == Some("t1.c1")).unwrap();
    for words in ["# sales.csv", "columns", "- region: ", "| region |"] {
        assert!(first.text().contains(words), "{words}: {}", first.text());
    }
    assert!(first.offers_tool("python") && !first.offers_tool("look"));
    let root = requests.iter().find(|r| path_of(r).as_deref() == Some("")).unwrap();
    assert!(root.offers_tool("code_interpreter") && !root.offers_tool("python"));
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn joyagents_clients_see_each_block_its_files_and_what_came_of_it() {
    let scratch = TempDir::new().unwrap();
    let world = start(&scratch).await;
    ask_for_code(&world);
    let code = "open('one.txt', 'w').write('1'); open('two.csv', 'w').write('a\\n1\\n'); print(1)";
    at(&world.model, "t1.c1").call("python", json!({"code": code})).then().reply("One and two.");
    let frames = world.ask(Protocol::Raw, &Question::of(QUESTION, "s1")).await.rest().await;
    let kinds = ["code", "file", "data_analysis"].map(Value::from);
    let events = frames.iter().map(Frame::raw);
    let shown: Vec<Value> = events.filter(|event| kinds.contains(&event["messageType"])).collect();
    let kinds: Vec<_> = shown.iter().map(|event| event["messageType"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["code", "file", "file", "data_analysis"]);
    assert_eq!(shown[0]["resultMap"]["code"], code);
    assert_eq!(shown[0]["resultMap"]["fileInfo"], json!([]));
    assert_eq!(shown[0]["digitalEmployee"], "code_interpreter");
    let names = [1, 2].map(|nth| shown[nth]["resultMap"]["fileInfo"][0]["fileName"].clone());
    assert_eq!(names, ["one.txt", "two.csv"]);
    let output = &shown[3]["resultMap"];
    assert_eq!((&output["data"], &output["isFinal"]), (&json!("One and two."), &json!(true)));
    assert_eq!(output["task"], "Draw sales.csv by region.");
    assert_eq!(output["fileInfo"].as_array().unwrap().len(), 2);
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn a_workbook_that_code_wrote_is_read_as_text() {
    let scratch = TempDir::new().unwrap();
    let world = start(&scratch).await;
    let code = "import pandas as pd\n\
        pd.DataFrame({'region': ['北'], 'sales': [7]}).to_excel('a.xlsx', index=False)\n\
        open('b.xlsx', 'wb').write(b'PK\\x03\\x04\\xff no')";
    at(&world.model, "")
        .call("code_interpreter", json!({"task": "Write a.xlsx."}))
        .then()
        .call("file_tool", json!({"command": "get", "filename": "a.xlsx"}))
        .call("file_tool", json!({"command": "get", "filename": "b.xlsx"}))
        .then()
        .reply("Seven.");
    at(&world.model, "t1.c1").call("python", json!({"code": code})).then().reply("Written.");
    let frames = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;
    let whole = completed(&frames, "t2.c1.result")[0].json();
    let text = whole["result"]["text"].as_str().unwrap_or_else(|| panic!("{whole}"));
    assert!(text.contains("Sheet1") && text.contains("region\tsales\n北\t7"), "{text}");
    let broken = completed(&frames, "t2.c2.result")[0].json();
    let detail = broken["result"]["detail"].as_str().unwrap_or_else(|| panic!("{broken}"));
    assert!(detail.contains("It is broken"), "{detail}");
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn the_demo_has_a_chart_drawn_of_the_file_that_is_there() {
    let scratch = TempDir::new().unwrap();
    let options = SystemOptions {
        djinn: Djinn::new().with_sandbox(open_sandbox(&scratch)),
        var: Box::new(|name| (name == "DJINN_AGENTS__OFFERED").then(|| "all".to_owned())),
        settings: Some(quick()),
        ..SystemOptions::default()
    };
    let system = System::start(options).await.unwrap();
    let client = Client::new(format!("http://{}", system.address()));
    client.upload("s1", "sales.csv", SALES).await;
    for (question, chart, word) in [
        ("Draw the sales of each region over the years", "sales-by-region.png", "East"),
        ("画出各地区历年的销售额", "各地区销售额.png", "East"),
    ] {
        let question = Question { request: None, ..Question::of(question, "s1") };
        let stream = client.ask(Protocol::Native, &question).await;
        assert_eq!(stream.status, 200, "{question:?}");
        let frames = stream.rest().await;
        let ended = frames.last().unwrap().json();
        assert_eq!(ended["files"][0]["name"], chart, "{ended}");
        let answer = ended["answer"].as_str().unwrap();
        assert!(answer.contains(chart) && answer.contains(word), "{answer}");
    }
}

#[tokio::test]
async fn where_there_is_no_sandbox_the_agent_is_told_so_and_says_it() {
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_AGENTS__OFFERED", "all".to_owned()));
    })
    .await;
    ask_for_code(&world);
    at(&world.model, "t1.c1")
        .call("python", json!({"code": "print(1)"}))
        .then()
        .reply("Code is disabled here.");
    let frames = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;
    let result = completed(&frames, "t1.c1.t1.c1.result")[0].json();
    let detail = result["result"]["detail"].as_str().unwrap();
    assert!(detail.contains("Code is disabled here: this deployment has no sandbox"), "{detail}");
    let agent = completed(&frames, "t1.c1.result")[0].json();
    assert_eq!(agent["result"]["text"], "Code is disabled here.");
}
