//! Prompts that a deployment keeps in its configuration folder and changes while it runs.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::configuration::{publish, write};
use crate::world::{Frame, Protocol, Question, World};

/// A system over a home whose bucket is one directory.
pub(crate) async fn start(home: &TempDir, vars: &[(&'static str, &str)]) -> World {
    let dir = home.path().to_owned();
    World::start_with(|options, _| {
        options.dir = Some(dir);
        options.vars.extend(vars.iter().map(|(name, value)| (*name, (*value).to_owned())));
        // What has changed counts at once.
        options.settings.tool_sources_fresh = Duration::ZERO;
    })
    .await
}

/// Asks, and tells the warnings of the run's first entry.
pub(crate) async fn ask(world: &World, request: &str) -> Value {
    world.model.on_request(|_| true).reply("East.");
    let question = Question::of("Which region grew?", "s1").request(request);
    let frames = world.ask(Protocol::Native, &question).await.rest().await;
    assert_eq!(frames.last().map(|frame| frame.json()["answer"].clone()), Some(json!("East.")));
    let started = frames.iter().find(|frame| Frame::event(frame) == "run.started").unwrap().json();
    started["warnings"].clone()
}

/// What the model was told last.
fn last_system(world: &World) -> String {
    world.model.requests().last().unwrap().system().to_owned()
}

#[tokio::test]
async fn a_prompt_that_is_put_into_a_folder_counts_for_the_next_question() {
    let (home, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let file = folder.path().join("prompts/en/react/system.md");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let world = start(&home, &[("DJINN_CONFIG", folder.path().to_str().unwrap())]).await;
    assert_eq!(ask(&world, "r1").await, Value::Null);
    let ours = last_system(&world);
    assert!(ours.contains("# When to stop"), "{ours}");

    fs::write(&file, "You answer in one word. It is {{ date }}.\n").unwrap();
    assert_eq!(ask(&world, "r2").await, Value::Null);
    assert!(last_system(&world).starts_with("You answer in one word. It is "));

    // A broken one is told, and leaves the last good one.
    fs::write(&file, "You answer in one word.\nIt is {{ dat }}.\n").unwrap();
    let says = format!(
        "{}:2: the prompt uses `dat`, which it is not given: did you mean `date`?",
        file.display()
    );
    assert_eq!(ask(&world, "r3").await, json!([says]));
    assert!(last_system(&world).starts_with("You answer in one word. It is "));

    fs::remove_file(&file).unwrap();
    assert_eq!(ask(&world, "r4").await, Value::Null);
    let now = last_system(&world);
    assert_eq!(now.lines().next(), ours.lines().next());
}

#[tokio::test]
async fn the_record_of_a_run_names_the_version_of_its_prompts() {
    let (home, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let world = start(&home, &[("DJINN_CONFIG", folder.path().to_str().unwrap())]).await;
    let file = folder.path().join("prompts/en/react/system.md");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let mut versions = Vec::new();
    for (request, text) in [("r1", None), ("r2", Some("You answer.")), ("r3", None)] {
        match text {
            Some(text) => fs::write(&file, text).unwrap(),
            None => drop(fs::remove_file(&file)),
        }
        ask(&world, request).await;
        versions.push(world.system.ports().prompts.version());
    }
    assert_eq!(versions[0], versions[2]);
    assert_ne!(versions[0], versions[1]);
}

#[tokio::test]
async fn prompts_of_the_bucket_count_once_they_are_published() {
    let home = TempDir::new().unwrap();
    let folder = home.path().join("objects/djinn/config");
    write(&folder, "djinn.toml", "");
    publish(&folder);
    let world = start(&home, &[("DJINN_CONFIG", "@config")]).await;
    assert_eq!(ask(&world, "r1").await, Value::Null);

    write(&folder, "prompts/en/react/system.md", "You answer in one word.");
    publish(&folder);
    assert_eq!(ask(&world, "r2").await, Value::Null);
    assert_eq!(last_system(&world), "You answer in one word.");

    write(&folder, "prompts/en/react/systm.md", "You answer.");
    publish(&folder);
    let says = "@config/prompts/en/react/systm.md:1: there is no prompt `react/systm`: did you mean `react/system`?";
    assert_eq!(ask(&world, "r3").await, json!([says]));
    assert_eq!(last_system(&world), "You answer in one word.");

    fs::remove_file(folder.join("manifest.json")).unwrap();
    let missing = "@config/manifest.json is not there: publish the folder";
    assert_eq!(ask(&world, "r4").await, json!([missing, says]));
    assert_eq!(last_system(&world), "You answer in one word.");
}
