//! The demo as a user sees it: the system without a model of its own, asked to plan.

use djinn_local::{System, SystemOptions};
use serde_json::Value;

use crate::world::{Client, Frame, Protocol, Question, quick};

const QUESTION: &str = "Compare the three regions in sales.csv, one report each, then a summary";

/// A system with the demo model, and what came of the question about this file.
async fn told(question: &str, file: &str, csv: &str) -> (System, Client, Vec<Frame>) {
    told_with(SystemOptions::default(), question, file, csv).await
}

async fn told_with(
    options: SystemOptions,
    question: &str,
    file: &str,
    csv: &str,
) -> (System, Client, Vec<Frame>) {
    let options = SystemOptions { settings: Some(quick()), ..options };
    let system = System::start(options).await.unwrap();
    let client = Client::new(format!("http://{}", system.address()));
    client.upload("s1", file, csv).await;
    let question = Question::of(question, "s1").deep();
    let frames = client.ask(Protocol::Native, &question).await.rest().await;
    (system, client, frames)
}

fn of<'a>(frames: &'a [Frame], event: &str) -> Vec<Value> {
    let is = move |frame: &&'a Frame| frame.received().is_some() && frame.event() == event;
    frames.iter().filter(is).map(Frame::json).collect()
}

#[tokio::test]
async fn each_region_gets_a_report_and_the_figures_follow_the_file() {
    let csv = "region,year,sales\nNorth,2021,100\nNorth,2024,150\nSouth,2021,200\nSouth,2024,210\n\
               East,2021,80\nEast,2024,40\n";
    let (_system, client, frames) = told(QUESTION, "sales.csv", csv).await;
    let plans = of(&frames, "plan.changed");
    let steps = |plan: &Value| plan["plan"]["steps"].as_array().unwrap().len();
    assert_eq!((steps(&plans[0]), steps(plans.last().unwrap())), (1, 5), "the plan grew");
    let tasks: Vec<_> =
        of(&frames, "child.started").iter().map(|task| task["description"].to_string()).collect();
    assert_eq!(tasks.len(), 5);
    assert!(tasks[1].starts_with("\"East: "), "{tasks:?}");
    let ending = frames.last().unwrap().json();
    let answer = "North grew fastest, by 50.0 % from 2021 to 2024. All 3 regions are in \
                  comparison.md.";
    assert_eq!(ending["answer"], answer);
    let files: Vec<_> = ending["files"].as_array().unwrap().iter().collect();
    let mut names: Vec<_> = files.iter().map(|file| file["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["comparison.md", "east.md", "north.md", "south.md"]);
    for (name, says) in [
        ("east.md", "East shrank by 50.0 %, from 80 in 2021 to 40 in 2024."),
        ("north.md", "North grew by 50.0 %, from 100 in 2021 to 150 in 2024."),
        ("south.md", "| 2024 | 210 |"),
        ("comparison.md", "| South | 2021 | 200 | 2024 | 210 | 5.0 % |"),
    ] {
        let file = files.iter().find(|file| file["name"] == name).unwrap();
        let text = client.follow(file["preview_url"].as_str().unwrap()).await.text;
        assert!(text.contains(says), "{name}: {text}");
    }
}

#[tokio::test]
async fn where_agents_are_offered_one_looks_and_another_writes_the_document() {
    let options = || SystemOptions {
        var: Box::new(|name| (name == "DJINN_AGENTS__OFFERED").then(|| "all".to_owned())),
        ..SystemOptions::default()
    };
    let csv = "region,year,sales\nNorth,2021,100\nNorth,2024,150\nSouth,2021,200\nSouth,2024,210\n";
    let (_system, client, frames) = told_with(options(), QUESTION, "sales.csv", csv).await;
    let agents = |frames: &[Frame]| {
        let started = of(frames, "child.started");
        let agent = |child: &Value| child["agent"].as_str().unwrap_or_default().to_owned();
        started.iter().map(agent).collect::<Vec<_>>()
    };
    assert_eq!(agents(&frames), ["researcher", "", "", "writer"]);
    let question = "比较sales.csv中的各个地区，写入对比.md";
    let (_system, _, in_chinese) = told_with(options(), question, "sales.csv", csv).await;
    assert_eq!(agents(&in_chinese), ["researcher", "", "", "writer"]);
    let ending = frames.last().unwrap().json();
    assert_eq!(ending["answer"], "North grew fastest, by 50.0 % from 2021 to 2024.");
    let files = ending["files"].as_array().unwrap();
    let document = files.iter().find(|file| file["name"] == "comparison.md");
    let document = document.unwrap_or_else(|| panic!("{ending}"));
    let text = client.follow(document["preview_url"].as_str().unwrap()).await.text;
    assert!(text.contains("| South | 2021 | 200 | 2024 | 210 | 5.0 % |"), "{text}");
}

#[tokio::test]
async fn the_demo_is_no_model_of_a_folder_that_has_its_own() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().to_str().unwrap().to_owned();
    let start = async || {
        let config = path.clone();
        let var = move |name: &str| (name == "DJINN_CONFIG").then(|| config.clone());
        System::start(SystemOptions { var: Box::new(var), ..SystemOptions::default() }).await
    };
    assert!(start().await.unwrap().demo_model().is_some());
    let own = "[models.main]\nprovider = \"ollama\"\nmodel = \"own\"\n";
    std::fs::write(folder.path().join("djinn.toml"), own).unwrap();
    assert!(start().await.unwrap().demo_model().is_none());
}

#[tokio::test]
async fn the_demo_plans_in_chinese_too() {
    let csv = "Region,Year,Sales\n华东,2021,5\n华东,2022,6\n华南,2021,5\n华南,2022,4\n";
    let (_system, _, frames) =
        told("比较各地区.csv中的各个地区，写入对比.md", "各地区.csv", csv).await;
    let ending = frames.last().unwrap().json();
    assert_eq!(
        ending["answer"],
        "华东增长最快，从 2021 年到 2022 年增长了 20.0%。全部 2 个地区的表格见 对比.md。"
    );
}

#[tokio::test]
async fn without_a_file_the_planner_says_so() {
    let (_system, _, frames) = told(QUESTION, "notes.txt", "nothing").await;
    let ending = frames.last().unwrap().json();
    assert!(ending["answer"].as_str().unwrap().contains("could not read sales.csv"), "{ending}");
}
