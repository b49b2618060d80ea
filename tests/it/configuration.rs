//! The configuration folder: settings, models, agents and prompts as files that change while a deployment runs.

use std::fs;
use std::path::Path;

use djinn_runtime::port::text_folder::{MANIFEST, list_texts};
use djinn_tools::local_folder::LocalFolder;
use futures::future::join_all;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::own_texts::{self, ask};
use crate::world::{KEY, Protocol, Question, World, models};

/// A deployment with the configuration folder `config`, whose changes count at once.
async fn start(home: &TempDir, config: &str) -> World {
    own_texts::start(home, &[("DJINN_CONFIG", config), ("OWN_KEY", KEY)]).await
}

pub(crate) fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Lists the files of a folder in the bucket as they are now.
pub(crate) fn publish(folder: &Path) {
    let texts = LocalFolder::new(folder).read_now().unwrap();
    fs::write(folder.join(MANIFEST), list_texts(&texts).unwrap()).unwrap();
}

#[tokio::test]
async fn changed_settings_models_agents_and_prompts_count_for_the_next_question() {
    let (home, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let config = folder.path();
    write(
        config,
        "djinn.toml",
        "base_prompt = \"You like rivers.\"\n[agents]\noffered = \"all\"\n",
    );
    let world = start(&home, config.to_str().unwrap()).await;
    let last = || world.model.requests().last().unwrap().clone();
    ask(&world, "r1").await;
    assert!(last().system().contains("You like rivers."), "{}", last().system());

    write(config, "djinn.toml", "base_prompt = \"You like hills.\"\n[agents]\noffered = \"all\"\n");
    ask(&world, "r2").await;
    assert!(last().system().contains("You like hills."), "{}", last().system());

    let agent = "---\nname: pricing\ndescription: Knows prices.\n---\nYou know prices.\n";
    write(config, "agents/pricing.md", agent);
    ask(&world, "r3").await;
    assert!(last().offers_tool("pricing"), "{:?}", last().tools().len());

    let mode = "---\nname: guide\ndescription: Guides.\n---\nYou guide.\n";
    write(config, "modes/guide.md", mode);
    let modes = world.client.get("/modes").await.json()["modes"].clone();
    assert!(modes.as_array().unwrap().iter().any(|mode| mode["name"] == "guide"), "{modes}");

    write(config, "prompts/en/react/system.md", "You answer in one word.\n");
    ask(&world, "r4").await;
    assert!(last().system().starts_with("You answer in one word."), "{}", last().system());

    write(config, "djinn.toml", &models_table(&world.model, "second"));
    ask(&world, "r5").await;
    assert_eq!(last().model(), "second");
}

#[tokio::test]
async fn a_broken_file_leaves_the_earlier_settings_and_is_named_to_clients() {
    let (home, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let config = folder.path();
    let world = start(&home, config.to_str().unwrap()).await;
    assert_eq!(ask(&world, "r1").await, Value::Null);
    let file = config.join("djinn.toml").display().to_string();
    for (request, text, problem) in [
        ("r2", "base_prompt = \"You like hills.\"", None),
        ("r3", "base_prompt = 3", Some(":1: base_prompt must be a text, got `3`")),
        (
            "r4",
            "[limits]\nmax_step = 3",
            Some(":2: `limits.max_step` is not a setting: did you mean `limits.max_steps`?"),
        ),
        (
            "r5",
            "[models.main]\nprovider = \"openai\"\nmodel = \"m\"\nkey = \"env:NOT_SET\"",
            Some(":4: models.main.key names the variable NOT_SET, which is not set"),
        ),
        ("r6", "[people.requests]\nplan = \"sometimes\"", Some(":1: people.requests must be ")),
    ] {
        write(config, "djinn.toml", text);
        let warnings = ask(&world, request).await;
        match problem {
            None => assert_eq!(warnings, Value::Null),
            Some(problem) => {
                let warning = warnings[0].as_str().unwrap_or_default();
                assert!(warning.starts_with(&format!("{file}{problem}")), "{warning}");
            }
        }
        let system = world.model.requests().last().unwrap().system().to_owned();
        assert!(system.contains("You like hills."), "{system}");
    }
}

#[tokio::test]
async fn a_folder_of_the_bucket_is_read_before_the_first_question() {
    let home = TempDir::new().unwrap();
    let config = home.path().join("objects/djinn/config");
    write(&config, "djinn.toml", "base_prompt = \"You like rivers.\"");
    publish(&config);
    let world = start(&home, "@config").await;
    ask(&world, "r1").await;
    let system = world.model.requests().last().unwrap().system().to_owned();
    assert!(system.contains("You like rivers."), "{system}");
}

#[tokio::test]
async fn no_question_is_answered_before_the_settings_of_the_bucket_were_read() {
    let home = TempDir::new().unwrap();
    let config = home.path().join("objects/djinn/config");
    write(&config, "djinn.toml", "[safety]\ndeny_lst = [\"rivers\"]");
    let world = start(&home, "@config").await;
    let question = Question::of("Which region grew?", "s1").request("r1");
    publish(&config);
    assert_eq!(world.ask(Protocol::Native, &question).await.status, 503);
    write(&config, "djinn.toml", "[safety]\ndeny_list = [\"rivers\"]");
    // The manifest still lists the earlier text.
    assert_eq!(world.ask(Protocol::Native, &question).await.status, 503);
    publish(&config);
    ask(&world, "r1").await;
}

#[tokio::test]
async fn words_denied_in_the_file_are_denied_in_messages_too() {
    let (home, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let config = folder.path();
    let world = start(&home, config.to_str().unwrap()).await;
    ask(&world, "r1").await;
    let file = json!({"name": "rivers.csv", "size": 9_000_000});
    assert_eq!(world.client.post("/sessions/s1/files", &file).await.status, 202);
    write(config, "djinn.toml", "[safety]\ndeny_list = [\"rivers\"]");
    let rejected = world.client.post("/sessions/s1/files", &file).await;
    assert_eq!(rejected.status, 422, "{}", rejected.text);
    assert_eq!(rejected.json()["code"], "content_refused");
}

#[tokio::test]
async fn a_configuration_that_changes_while_fifty_runs_are_at_work_disturbs_none() {
    let (home, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let config = folder.path();
    // A file is replaced as a whole, as an editor does.
    let replace = |version: usize| {
        let offered = if version.is_multiple_of(2) { "all" } else { "writer" };
        let settings =
            format!("base_prompt = \"SettingsV{version}.\"\n[agents]\noffered = \"{offered}\"\n");
        let agent = format!("---\nname: pricing\ndescription: Knows.\n---\nAgent {version}.\n");
        for (name, text) in [
            ("djinn.toml", settings),
            ("agents/pricing.md", agent),
            ("prompts/en/react/system.md", format!("PromptV{version}. {{{{ base_prompt }}}}\n")),
        ] {
            write(config, ".new", &text);
            fs::create_dir_all(config.join(name).parent().unwrap()).unwrap();
            fs::rename(config.join(".new"), config.join(name)).unwrap();
        }
    };
    replace(0);
    let world = start(&home, config.to_str().unwrap()).await;
    world.model.on_request(|_| true).reply("East.").always();
    let ask_one = async |nth: usize| {
        let question = Question::of("Which region grew?", &format!("s{nth}"));
        let question = question.request(&format!("r{nth}"));
        let frames = world.ask(Protocol::Native, &question).await.rest().await;
        assert_eq!(frames.last().unwrap().json()["answer"], "East.");
        let started = frames.iter().find(|frame| frame.event() == "run.started").unwrap().json();
        assert_eq!(started["warnings"], Value::Null);
        replace(nth);
    };
    join_all((1..=50).map(ask_one)).await;
    let requests = world.model.requests();
    assert!(requests.len() >= 50, "{}", requests.len());
    for request in &requests {
        let system = request.system();
        let versions = |word: &str| system.matches(word).count();
        assert_eq!((versions("PromptV"), versions("SettingsV")), (1, 1), "{system}");
    }
}

/// The scripted model as the only model of a `djinn.toml`.
fn models_table(model: &djinn_scripted::ScriptedModel, name: &str) -> String {
    let settings = json!({"key": "env:OWN_KEY", "model": name});
    let settings: Value = serde_json::from_str(&models(model, &settings)).unwrap();
    let (name, model) = settings["models"].as_object().unwrap().iter().next().unwrap();
    format!(
        "[models.{name}]\nprovider = {}\nmodel = {}\nbase_url = {}\nkey = {}\n",
        model["provider"], model["model"], model["base_url"], model["key"]
    )
}
