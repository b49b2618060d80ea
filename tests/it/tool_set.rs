//! A hundred tools over HTTP: what a turn of them costs the table, and that a call runs only what its turn
//! was offered.

use std::sync::Arc;

use djinn_core::language::Language;
use djinn_core::tool::EffectClass;
use djinn_runtime::port::tool::{
    BoxFuture, Tool, ToolAudience, ToolSource, ToolSourceError, Toolbox,
};
use djinn_scripted::{ScriptedModel, ScriptedResponse};
use djinn_testkit::versioned::{ToolVersion, VersionedTool};
use djinn_tools::agent_files::AgentFiles;
use dynoxide::Database;
use dynoxide::actions::scan::ScanRequest;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::table::made;
use crate::template::transformed;
use crate::world::{Door, Question};

/// Bytes of an item that cost two write units.
const TWO_UNITS: usize = 2_048;

/// A tenant's own tools, of which one is another in each version.
struct Catalogue(ToolVersion);

impl ToolSource for Catalogue {
    fn name(&self) -> &'static str {
        "catalogue"
    }

    fn list_tools<'a>(
        &'a self,
        audience: &'a ToolAudience,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolSourceError>> {
        let tenant = audience.user.tenant.clone();
        let tool = move |nth| {
            Arc::new(VersionedTool::new(format!("{tenant}_tool_{nth:03}"))) as Arc<dyn Tool>
        };
        let versions = vec![(EffectClass::Read, "string"), (EffectClass::Once, "string")];
        let version = self.0.clone();
        let changing = VersionedTool { version, versions, ..VersionedTool::new("changing") };
        let tools = (0..99).map(tool).chain([Arc::new(changing) as Arc<dyn Tool>]).collect();
        Box::pin(async { Ok(tools) })
    }
}

/// The bytes of the records in which a model replied, in order: of their names and their values, as DynamoDB
/// counts them but for a few.
fn turn_sizes(database: &Database) -> Vec<usize> {
    let scan: ScanRequest =
        serde_json::from_value(json!({"TableName": djinn_local::TABLE})).unwrap();
    let items = json!(database.scan(scan).unwrap().items);
    let is_turn = |item: &&Value| item["body"].to_string().contains("model.replied");
    let mut turns: Vec<&Value> = items.as_array().unwrap().iter().filter(is_turn).collect();
    turns.sort_by_key(|item| item["sk"]["S"].as_str().unwrap().to_owned());
    turns.into_iter().map(item_size).collect()
}

fn item_size(item: &Value) -> usize {
    match item {
        Value::Object(members) => {
            members.iter().map(|(name, value)| name.len() + item_size(value)).sum()
        }
        Value::Array(values) => values.iter().map(item_size).sum(),
        Value::String(text) => text.len(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

#[tokio::test]
async fn a_hundred_tools_cost_a_turn_two_units_and_a_call_runs_only_what_was_offered() {
    let database = made(&transformed()["Resources"]["Table"]["Properties"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(dynoxide::server::serve_on(listener, database.clone()));
    let model = ScriptedModel::start().await.unwrap();
    let version = ToolVersion::default();
    let catalogue = Arc::new(Catalogue(version.clone()));
    let at = |settings: &mut djinn_aws::Settings| settings.endpoints.dynamodb = Some(url);
    let mut door = Door::open(&model, at, |parts| {
        // Modes are agents, which may name our own tools.
        let tools = parts.ports.tools.own_tools().map(|tool| tool.spec(Language::En).name);
        let modes = AgentFiles::new(tools.collect()).read("", &[]).agents;
        let tools = Toolbox::default().with_agents(modes.into());
        parts.ports.tools = tools.with_source(catalogue);
    });
    let client = door.listen().await;
    model
        .on("What is new?")
        .say("I look.")
        .call("local_tool_007", json!({"of": "it"}))
        .then()
        .say("Again.")
        .call("local_tool_042", json!({"of": "it"}))
        .then()
        // Somebody deploys another tool of that name while the model thinks of a call of it.
        .respond_with(move |_| {
            version.advance();
            ScriptedResponse::default().say("I change it.").call("changing", json!({"of": "it"}))
        })
        .then()
        .reply("Nothing.");
    let frames = client.told(&Question::of("What is new?", "s1")).await;
    assert_eq!(frames.last().unwrap().json()["answer"], "Nothing.");
    let results: Vec<Value> = frames
        .iter()
        .map(|frame| frame.json())
        .filter(|event| event["type"] == "call.completed")
        .map(|event| event["result"].clone())
        .collect();
    assert_eq!((&results[0]["status"], &results[1]["status"]), (&json!("done"), &json!("done")));
    let changed = json!({"status": "failed", "reason": "changed", "detail": ""});
    assert_eq!(results[2], changed);
    let requests = model.requests();
    assert!(requests.iter().all(|request| request.tools().len() == 100));
    let told = requests.last().unwrap().text();
    assert!(told.contains("changing was not run: it has changed since it was offered."), "{told}");
    let sizes = turn_sizes(&database);
    assert!(sizes[0] > TWO_UNITS, "the first turn holds the set: {sizes:?}");
    assert!(sizes[1..3].iter().all(|bytes| *bytes <= TWO_UNITS), "{sizes:?}");
    assert_eq!(sizes.len(), 4);
}
