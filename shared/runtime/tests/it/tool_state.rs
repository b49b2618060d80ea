//! The state of a tool between its calls.

use std::sync::{Arc, Mutex, PoisonError};

use djinn_core::language::Language;
use djinn_core::settings::RunSettings;
use djinn_core::tool::{EffectClass, ToolOutput, ToolState};
use djinn_runtime::port::tool::{ToolContext, ToolError, Toolbox};
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use djinn_tools::{ToolAdapter, ToolDefinition, TypedTool};
use serde_json::json;

/// The states that calls received, as `TOOL CALL STATE`.
type Received = Arc<Mutex<Vec<String>>>;

/// A tool that keeps the id of its newest call, or reads the state of another tool and may replace it.
struct Keeper {
    name: &'static str,
    reads: Option<&'static str>,
    replaces: Option<&'static str>,
    received: Received,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct NoArguments {}

impl TypedTool for Keeper {
    type Arguments = NoArguments;

    fn definition(&self, _: Language) -> ToolDefinition {
        ToolDefinition {
            state_owner: self.reads.map(str::to_owned),
            ..ToolDefinition::new(self.name, "Keeps a state.", EffectClass::Read)
        }
    }

    async fn run(&self, context: &ToolContext, _: NoArguments) -> Result<ToolOutput, ToolError> {
        let state = context.state.as_ref().map_or("-", |state| &state.object);
        let line = format!("{} {} {state}", self.name, context.call);
        self.received.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        let owner = self.replaces.map(str::to_owned);
        let own = || Box::new(ToolState { object: context.call.to_string(), size: 1, owner });
        let state = (self.reads == self.replaces).then(own);
        Ok(ToolOutput { state, ..ToolOutput::from_text("done") })
    }
}

#[tokio::test(start_paused = true)]
async fn tool_receives_its_own_state_or_that_of_the_tool_it_names() {
    let received = Received::default();
    let keeper = |name, reads, replaces| {
        ToolAdapter::new(Keeper { name, reads, replaces, received: Arc::clone(&received) })
    };
    let tools = Toolbox::default()
        .with_tool(keeper("first", None, None))
        .with_tool(keeper("second", None, None))
        .with_tool(keeper("reader", Some("first"), None))
        .with_tool(keeper("writer", Some("first"), Some("first")));
    let call = |name: &str| StoryLine::say("Next.").with_call(name, json!({}));
    let lines = vec![
        ("t1", call("reader")),
        ("t2", call("first").with_call("first", json!({}))),
        ("t3", call("second")),
        ("t4", call("first").with_call("second", json!({})).with_call("reader", json!({}))),
        ("t5", call("writer")),
        ("t6", call("reader")),
        ("t7", StoryLine::say("All states were read.")),
    ];
    let points = Points::new();
    let mut sim = Sim::new(StoryModel::new(lines, points.clone()), tools, points);
    let question = sim.make_question(RunSettings::default());
    sim.run_to_end(&question).await.unwrap();
    let mut lines = received.lock().unwrap_or_else(PoisonError::into_inner).clone();
    lines.sort_by_key(|line| line.split(' ').nth(1).map(str::to_owned));
    let expected = [
        "reader t1.c1 -",
        "first t2.c1 -",
        "first t2.c2 -",
        "second t3.c1 -",
        "first t4.c1 t2.c2",
        "second t4.c2 t3.c1",
        "reader t4.c3 t2.c2",
        "writer t5.c1 t4.c1",
        "reader t6.c1 t5.c1",
    ];
    assert_eq!(lines, expected);
}
