//! The story of a plan: one report a region, at the same time, then a summary of them.

use djinn_scripted::{RecordedRequest, Rule, ScriptedModel};
use serde_json::{Value, json};

pub(crate) const COMPARE: &str = "Compare the three regions in sales.csv";
pub(crate) const REGIONS: [&str; 3] = ["North", "South", "East"];

/// The planner makes three steps, adds one that needs them all, and finishes; every task writes a
/// file; the summary names what the last one wrote.
pub(crate) fn script_plan(model: &ScriptedModel) {
    let steps = REGIONS.map(step);
    let compare = "Compare: put the reports side by side";
    let all: Vec<&str> = steps.iter().map(String::as_str).chain([compare]).collect();
    planner(model)
        .say("I look at each region by itself, then I compare them.")
        .call(
            "planning",
            json!({
                "command": "create", "title": "Regions", "steps": steps, "depends_on": [[], [], []],
            }),
        )
        .then()
        .say("All three are known; what is missing is the comparison.")
        .call(
            "planning",
            json!({
                "command": "update", "steps": all, "depends_on": [[], [], [], [1, 2, 3]],
            }),
        )
        .then()
        .say("That answers it.")
        .call("planning", json!({"command": "finish"}));
    for region in REGIONS {
        let content = format!("# {region}\n");
        task(model, &step(region))
            .say(format!("I write down {region}."))
            .call("file_tool", upload(&format!("{region}.md"), &content))
            .then()
            .reply(format!("{region} grew; see {region}.md."));
    }
    task(model, compare)
        .say("I put them together.")
        .call("file_tool", upload("regions.md", "# Regions\n"))
        .then()
        .reply("East leads; see regions.md.");
    employees(model).reply(r#"{"file_tool": "Reporter"}"#).always();
    summary(model).reply("East grew fastest.$$$regions.md");
}

pub(crate) fn step(region: &str) -> String {
    format!("{region}: write a report on {region}")
}

/// The requests of the planner.
#[track_caller]
pub(crate) fn planner(model: &ScriptedModel) -> Rule {
    model.on_request(|request| request.offers_tool("planning"))
}

/// The requests of the task that has these words.
#[track_caller]
pub(crate) fn task(model: &ScriptedModel, words: &str) -> Rule {
    let words = ["Your step:", "你的步骤："].map(|before| format!("{before}\n\n{words}"));
    let is_of =
        move |request: &RecordedRequest| words.iter().any(|words| request.text().contains(words));
    model.on_request(move |request| !request.offers_tool("planning") && is_of(request))
}

/// The requests for the roles of a task's tools. They need not come: a task does not wait for them.
#[track_caller]
pub(crate) fn employees(model: &ScriptedModel) -> Rule {
    let headings = ["# The tools", "# 工具"];
    model.on_request(move |request| headings.iter().any(|it| request.last_user_text().contains(it)))
}

/// The closing call of a run.
#[track_caller]
pub(crate) fn summary(model: &ScriptedModel) -> Rule {
    let headings = ["# The record of the work", "# 处理记录"];
    model.on_request(move |request| headings.iter().any(|it| request.text().contains(it)))
}

/// The task a request comes from: it is named `<run>/<task>.<message>/<attempt>`.
pub(crate) fn task_of(request: &RecordedRequest) -> Option<&str> {
    let message = request.header("djinn-call")?.split('/').nth(1)?;
    message.rsplit_once('.').map(|(task, _)| task)
}

fn upload(name: &str, content: &str) -> Value {
    json!({"command": "upload", "filename": name, "description": "a report", "content": content})
}
