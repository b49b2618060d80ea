//! Files of agents that lie in the deployment's bucket and change while it runs, and what clients hear of broken ones.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use djinn_runtime::port::text_folder::MANIFEST;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agents::{add_agent, at, write_agent};
use crate::configuration;
use crate::world::{Frame, Protocol, Question, World};

const QUESTION: &str = "Which region grew?";

/// A prefix of the bucket of a system that offers every agent.
struct Published {
    home: TempDir,
}

impl Published {
    /// An empty folder.
    fn new() -> Self {
        let published = Self { home: TempDir::new().unwrap() };
        fs::create_dir_all(published.folder()).unwrap();
        published.publish();
        published
    }

    /// Where `cargo dev` keeps the objects below the prefix, one file each.
    fn folder(&self) -> PathBuf {
        self.home.path().join("objects/djinn/config")
    }

    async fn start(&self) -> World {
        let dir = self.home.path().to_owned();
        World::start_with(|options, _| {
            options.dir = Some(dir);
            let offered = "all".to_owned();
            options.vars.push(("DJINN_AGENTS__OFFERED", offered));
            options.vars.push(("DJINN_CONFIG", "@config".to_owned()));
            options.settings.tool_sources_fresh = Duration::ZERO;
        })
        .await
    }

    fn write_agent(&self, name: &str, prompt: &str) {
        let text = format!("---\nname: {name}\ndescription: Knows.\n---\n{prompt}\n");
        configuration::write(&self.folder(), &format!("agents/{name}.md"), &text);
    }

    /// Lists the files as they are.
    fn publish(&self) {
        configuration::publish(&self.folder());
    }
}

/// What a run's first entry warns of.
async fn warnings_of(world: &World, question: &Question) -> (Vec<Frame>, Value) {
    let frames = world.ask(Protocol::Native, question).await.rest().await;
    let started = frames.iter().find(|frame| frame.event() == "run.started").unwrap().json();
    let warnings = started["warnings"].clone();
    (frames, warnings)
}

fn ask(request: &str) -> Question {
    Question::of(QUESTION, "s1").request(request)
}

fn answer_of(frames: &[Frame]) -> Value {
    frames.last().unwrap().json()["answer"].clone()
}

#[tokio::test]
async fn an_agent_that_is_added_to_the_bucket_is_called_by_the_next_question() {
    let published = Published::new();
    let world = published.start().await;
    at(&world.model, "").reply("Nobody knows.");
    let (frames, warnings) = warnings_of(&world, &ask("r1")).await;
    assert_eq!(answer_of(&frames), "Nobody knows.");
    assert_eq!(warnings, Value::Null);
    let first = &world.model.requests()[0];
    assert!(first.offers_tool("researcher") && !first.offers_tool("oracle"));

    published.write_agent("oracle", "You know.");
    published.publish();
    at(&world.model, "").call("oracle", json!({"task": "Which?"})).then().reply("East.");
    at(&world.model, "t1.c1").reply("It is East.");
    let (frames, warnings) = warnings_of(&world, &ask("r2")).await;
    assert_eq!((answer_of(&frames), warnings), (json!("East."), Value::Null));
}

#[tokio::test]
async fn a_broken_file_is_told_at_the_start_and_its_last_good_state_is_called() {
    let published = Published::new();
    published.write_agent("oracle", "You know all.");
    published.publish();
    let world = published.start().await;
    at(&world.model, "").reply("Nobody knows.");
    assert_eq!(warnings_of(&world, &ask("r1")).await.1, Value::Null);

    let file = published.folder().join("agents/oracle.md");
    fs::write(&file, "---\nname: oracle\ndescription: Knows.\nmax_steps: many\n---\nNo.\n")
        .unwrap();
    published.publish();
    at(&world.model, "").call("oracle", json!({"task": "Which?"})).then().reply("East.");
    at(&world.model, "t1.c1").reply("It is East.");
    let question = ask("r2");
    let (frames, warnings) = warnings_of(&world, &question).await;
    let warning = warnings[0].as_str().unwrap();
    assert!(warning.starts_with("@config/agents/oracle.md:4: `max_steps` "), "{warning}");
    assert_eq!((answer_of(&frames), warnings.as_array().unwrap().len()), (json!("East."), 1));
    let requests = world.model.requests();
    assert!(requests.iter().any(|request| request.system().contains("You know all.")));

    // A run's start says what was then, however often it is read.
    published.write_agent("oracle", "You know all.");
    published.publish();
    assert_eq!(warnings_of(&world, &question).await.1, warnings);
    at(&world.model, "").reply("Nobody knows.");
    assert_eq!(warnings_of(&world, &ask("r3")).await.1, Value::Null);
}

#[tokio::test]
async fn a_text_that_has_not_the_hash_of_its_manifest_is_left_out_and_the_others_stay() {
    let published = Published::new();
    published.write_agent("oracle", "You know.");
    published.write_agent("analyst", "You analyse.");
    published.publish();
    published.write_agent("oracle", "You know better.");
    let world = published.start().await;
    at(&world.model, "").reply("Nobody knows.").always();
    let (_, warnings) = warnings_of(&world, &ask("r1")).await;
    let says = "@config/agents/oracle.md:1: it is not the text that manifest.json names: publish the folder again";
    assert_eq!(warnings, json!([says]));
    let offered = |request: usize, name: &str| world.model.requests()[request].offers_tool(name);
    assert!(offered(0, "analyst") && !offered(0, "oracle"));

    fs::write(published.folder().join(MANIFEST), "{").unwrap();
    let (_, warnings) = warnings_of(&world, &ask("r2")).await;
    let warning = warnings[0].as_str().unwrap();
    assert!(warning.starts_with("@config/manifest.json is not a list of files: "), "{warning}");
    assert!(offered(1, "analyst"), "the last good state stays");
    published.publish();
    assert_eq!(warnings_of(&world, &ask("r3")).await.1, Value::Null);
    assert!(offered(2, "oracle") && offered(2, "analyst"));
}

#[tokio::test]
async fn twenty_sentences_are_told_of_a_folder_on_the_disk() {
    let folder = TempDir::new().unwrap();
    let world = crate::agents::start(&folder).await;
    add_agent(&folder, "good", "", "You are good.");
    for nth in 0..30 {
        let key = format!("{}: 1", "k".repeat(nth * 20));
        write_agent(&folder, &format!("broken{nth:02}"), &format!("---\n{key}\n---\n"));
    }
    at(&world.model, "").reply("Nobody knows.");
    let (_, warnings) = warnings_of(&world, &ask("r1")).await;
    let warnings = warnings.as_array().unwrap();
    let lengths = warnings.iter().map(|warning| warning.as_str().unwrap().chars().count());
    assert_eq!((warnings.len(), lengths.filter(|length| *length > 300).count()), (20, 0));
    assert!(world.model.requests()[0].offers_tool("good"));
}
