//! Tools that are files: which runs are offered them, and what the guard lets them send.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::configuration::write;
use crate::own_texts::{self, ask};
use crate::world::{Question, World};

/// Nobody listens there.
const URL: &str = "http://127.0.0.1:9/weather/{city}";

/// A file of a tool with these further fields.
fn tool(fields: &str) -> String {
    format!(
        "description = \"Returns the weather of a city.\"\n{fields}\n\
         [parameters]\ntype = \"object\"\nrequired = [\"city\"]\nproperties.city = {{ type = \"string\" }}\n\
         [request]\nmethod = \"GET\"\nurl = \"{URL}\"\n"
    )
}

/// A deployment whose configuration folder has these files.
async fn start(home: &TempDir, config: &Path, files: &[(&str, &str)]) -> World {
    files.iter().for_each(|(name, text)| write(config, name, text));
    own_texts::start(home, &[("DJINN_CONFIG", config.to_str().unwrap())]).await
}

/// The listed tool of this name.
async fn listed(world: &World, name: &str) -> Value {
    let list = world.client.get("/tools").await.json();
    let tools = list["tools"].as_array().unwrap();
    tools.iter().find(|tool| tool["name"] == name).cloned().unwrap_or_default()
}

#[tokio::test]
async fn a_file_is_a_tool_of_the_next_question_until_it_is_removed() {
    let (home, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let config = folder.path();
    let world = start(&home, config, &[]).await;
    let offers = || world.model.requests().last().unwrap().offers_tool("weather");
    assert_eq!(ask(&world, "r1").await, Value::Null);
    assert!(!offers());
    write(config, "tools/weather.toml", &tool("trust = \"none\""));
    assert_eq!(ask(&world, "r2").await, Value::Null);
    assert!(offers());
    assert_eq!(
        listed(&world, "weather").await,
        json!({
            "name": "weather", "description": "Returns the weather of a city.", "risk": "high",
            "is_file": true,
        })
    );

    // A broken file stays as it was, and is named.
    write(config, "tools/weather.toml", "description = 3\n");
    let file = config.join("tools/weather.toml");
    let warnings = ask(&world, "r3").await;
    let says = format!("{}:1: `description` must be a text", file.display());
    assert!(warnings.to_string().contains(&says), "{warnings}");
    assert!(offers());

    write(config, "tools/weather.toml", &tool("trust = \"none\"\nenabled = false"));
    assert_eq!(ask(&world, "r4").await, Value::Null);
    assert!(!offers());
    assert_eq!(listed(&world, "weather").await["not_offered"], "disabled");

    write(config, "tools/weather.toml", &tool("trust = \"none\""));
    ask(&world, "r5").await;
    assert!(offers());
    fs::remove_file(file).unwrap();
    ask(&world, "r6").await;
    assert!(!offers());
    assert_eq!(listed(&world, "weather").await, Value::Null);
    assert_eq!(listed(&world, "file_tool").await["is_file"], false);
}

#[tokio::test]
async fn a_file_names_the_runs_that_are_offered_its_tool() {
    let (home, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let offer = |offer: &str| tool(&format!("trust = \"none\"\noffer = {{ {offer} }}"));
    let mode =
        |keys: &str| format!("---\nname: guide\ndescription: Guides.\n{keys}---\nYou guide.\n");
    let files = [
        ("tools/of_react.toml", offer("modes = [\"react\"]")),
        ("tools/of_guide.toml", offer("modes = [\"guide\"]")),
        ("tools/of_agent.toml", offer("agents = [\"guide\"]")),
        ("tools/of_tenant.toml", offer("tenants = [\"local\"]")),
        ("tools/of_other.toml", offer("tenants = [\"acme\"]")),
        ("tools/of_all.toml", tool("trust = \"none\"")),
        ("modes/guide.md", mode("tools: [of_react, of_guide, of_agent, of_all]\n")),
    ];
    let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let world = start(&home, folder.path(), &files).await;
    let offered = || {
        let requests = world.model.requests();
        let tools = requests.last().unwrap().tools();
        let names = tools.iter().map(|tool| tool.name.clone());
        names.filter(|name| name.starts_with("of_")).collect::<Vec<_>>()
    };
    assert_eq!(ask(&world, "r1").await, Value::Null);
    assert_eq!(offered(), ["of_all", "of_react", "of_tenant"]);

    world.model.on("Who guides?").reply("I do.");
    let body = json!({"question": "Who guides?", "mode": "guide"});
    let request = world.client.request(reqwest::Method::POST, "/runs").json(&body);
    world.client.ask_with(request).await.rest().await;
    assert_eq!(offered(), ["of_agent", "of_all", "of_guide"]);

    for (name, reason) in [
        ("of_react", Value::Null),
        ("of_guide", json!("mode")),
        ("of_agent", json!("agent")),
        ("of_tenant", Value::Null),
    ] {
        let tool = listed(&world, name).await;
        assert_eq!((&tool["name"], &tool["not_offered"]), (&json!(name), &reason));
    }
    assert_eq!(listed(&world, "of_other").await, Value::Null);
}

#[tokio::test]
async fn no_file_replaces_a_tool_or_an_agent() {
    let (home, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let config = folder.path();
    let agent = "---\nname: pricing\ndescription: Knows prices.\n---\nYou know prices.\n";
    let world = start(&home, config, &[("agents/pricing.md", agent)]).await;
    for name in ["file_tool", "planning", "researcher", "pricing"] {
        write(config, &format!("tools/{name}.toml"), &tool("trust = \"none\""));
    }
    let warnings = ask(&world, "r1").await.to_string();
    for name in ["file_tool", "planning", "researcher", "pricing"] {
        let file = config.join(format!("tools/{name}.toml"));
        let says = format!("{}:1: the name `{name}` belongs to ", file.display());
        assert!(warnings.contains(&says), "{warnings}");
    }
    let file_tool = listed(&world, "file_tool").await;
    assert_eq!(file_tool["is_file"], false);
}

#[tokio::test]
async fn trust_decides_what_a_run_sends_after_it_has_read_what_others_wrote() {
    let (home, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let short = "Oslo";
    let long = "a".repeat(1_900);
    let files = [
        ("tools/none.toml", tool("trust = \"none\"\neffect = \"read\"")),
        ("tools/reads.toml", tool("trust = \"reads\"\neffect = \"read\"")),
        ("tools/every.toml", tool("trust = \"all\"\neffect = \"read\"")),
    ];
    let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let world = start(&home, folder.path(), &files).await;
    world.client.upload("s1", "sales.csv", "region,sales\n").await;
    let rule = world.model.on("Which weather?");
    rule.say("I read.")
        .call("file_tool", json!({"command": "get", "filename": "sales.csv"}))
        .then()
        .say("I call.")
        .call("none", json!({"city": short}))
        .call("reads", json!({"city": short}))
        .call("every", json!({"city": long}))
        .then()
        .reply("Mild.");
    let ending = world.client.ending(&Question::of("Which weather?", "s1")).await;
    assert_eq!(ending["answer"], "Mild.", "{ending}");
    let requests = world.model.requests();
    let last = requests.iter().rfind(|request| !request.tools().is_empty()).unwrap();
    let results: Vec<String> = last
        .messages()
        .iter()
        .flat_map(|message| &message.results)
        .map(|result| result.text.clone())
        .collect();
    let [_, none, reads, every] = &results[..] else { panic!("{results:?}") };
    let held = "was not called";
    assert!(none.contains(held), "{none}");
    for passed in [reads, every] {
        assert!(passed.contains("failed") && !passed.contains(held), "{passed}");
    }
}
