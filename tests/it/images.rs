//! Images that tools answer with: a model that sees is shown them, any other is told their names.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use djinn_local::{Stores, StoresOptions};
use djinn_scripted::{RecordedRequest, ScriptedModel};
use serde_json::{Value, json};

use crate::world::{Camera, Door, KEY, Protocol, Question, models, settled};

/// A system with a camera, whose model is set so besides.
fn door(model: &ScriptedModel, more: &Value, loses_them: bool) -> Door {
    door_with(model, more, loses_them, &[])
}

/// The same with more variables.
fn door_with(
    model: &ScriptedModel,
    more: &Value,
    loses_them: bool,
    variables: &[(&'static str, &str)],
) -> Door {
    let stores = Stores::start(StoresOptions::default()).unwrap();
    let aws = stores.settings().clone();
    let mut settings = json!({"key": "env:OPENAI_API_KEY"});
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let vars = vec![("OPENAI_API_KEY", KEY.to_owned()), ("DJINN_MODELS", models(model, &settings))];
    let more = variables.iter().map(|(name, value)| (*name, (*value).to_owned()));
    let vars = vars.into_iter().chain(more).collect();
    Door::onto(stores, aws, vars, |parts| {
        let camera = Camera { store: parts.ports.store.clone(), loses_them };
        parts.ports.tools = parts.ports.tools.clone().with_tool(camera);
    })
}

/// Asks for pictures of these names, each in a turn of its own, and returns the requests and the journal.
async fn look(
    model: &ScriptedModel,
    door: &mut Door,
    names: &[&str],
) -> (Vec<RecordedRequest>, String) {
    let client = door.listen().await;
    let mut rule = model.on("What is there?");
    for name in names {
        rule = rule.say("I look.").call("camera", json!({"name": name})).then();
    }
    rule.reply("A cat.");
    let question = Question::of("What is there?", "s1");
    let stream = client.ask(Protocol::Native, &question).await;
    let run = stream.run();
    assert_eq!(stream.rest().await.last().unwrap().json()["answer"], "A cat.");
    let journal = settled(&door.ports, &run).await;
    let requests = model.requests().into_iter().filter(|request| !request.tools().is_empty());
    (requests.collect(), serde_json::to_string(&journal).unwrap())
}

/// The names of the images that a request shows.
fn shown(request: &RecordedRequest) -> Vec<String> {
    let name = |content: &str| {
        let bytes = STANDARD.decode(content).unwrap();
        String::from_utf8(bytes[8..].to_vec()).unwrap()
    };
    request.images().map(|image| name(&image.content)).collect()
}

#[tokio::test]
async fn the_next_calls_of_a_model_that_sees_show_it_the_images_whoever_serves_it() {
    for provider in ["openai", "anthropic", "ollama"] {
        let model = ScriptedModel::start().await.unwrap();
        let mut more = json!({"provider": provider, "images": true});
        if provider == "ollama" {
            more["base_url"] = model.ollama_url().into();
        }
        let mut door = door(&model, &more, false);
        let (requests, journal) = look(&model, &mut door, &["cat.png", "dog.png"]).await;
        let images: Vec<Vec<String>> = requests.iter().map(shown).collect();
        assert_eq!(images, [vec![], vec!["cat.png"], vec!["cat.png", "dog.png"]], "{provider}");
        let message =
            requests[1].messages().iter().find(|message| !message.images.is_empty()).unwrap();
        assert!(message.text.contains("number 1 (`camera`)"), "{}", message.text);
        assert!(message.text.contains("cat.png"), "{}", message.text);
        let types: Vec<&str> = requests[1].images().map(|it| it.media_type.as_str()).collect();
        assert_eq!(types, [if provider == "ollama" { "" } else { "image/png" }]);
        // Their names are kept, and nothing of what they hold.
        assert!(journal.contains("cat.png") && !journal.contains(&STANDARD.encode("\u{89}PNG")));
    }
}

#[tokio::test]
async fn a_model_that_does_not_see_is_told_their_names() {
    let model = ScriptedModel::start().await.unwrap();
    let mut door = door(&model, &json!({}), false);
    let (requests, _) = look(&model, &mut door, &["cat.png"]).await;
    assert_eq!(requests[1].images().count(), 0);
    let told = requests[1].results_for("camera").next().unwrap().text.clone();
    assert!(told.contains("Click.") && told.contains("Images of this result:"), "{told}");
    assert!(told.contains("cat.png"), "{told}");
}

#[tokio::test]
async fn a_run_whose_results_are_masked_shows_no_images() {
    let model = ScriptedModel::start().await.unwrap();
    let masked = [("DJINN_SAFETY__MASK_PII", "1")];
    let mut door = door_with(&model, &json!({"images": true}), false, &masked);
    let (requests, _) = look(&model, &mut door, &["cat.png"]).await;
    assert_eq!(requests[1].images().count(), 0);
    assert!(requests[1].results_for("camera").next().unwrap().text.contains("cat.png"));
}

#[tokio::test]
async fn what_is_no_image_or_cannot_be_read_is_not_shown_and_the_run_goes_on() {
    let model = ScriptedModel::start().await.unwrap();
    let mut seeing = door(&model, &json!({"images": true}), false);
    let (requests, _) = look(&model, &mut seeing, &["notes.txt"]).await;
    assert_eq!(requests[1].images().count(), 0);
    assert!(!requests[1].results_for("camera").next().unwrap().text.contains("Images"));

    let model = ScriptedModel::start().await.unwrap();
    let mut losing = door(&model, &json!({"images": true}), true);
    let (requests, _) = look(&model, &mut losing, &["cat.png"]).await;
    assert_eq!(requests[1].images().count(), 0);
    assert!(requests[1].text().contains("1 of these images could not be read"));
}

#[tokio::test]
async fn the_newest_twenty_images_are_shown() {
    let model = ScriptedModel::start().await.unwrap();
    let mut door = door(&model, &json!({"images": true}), false);
    let names: Vec<String> = (1..=22).map(|nth| format!("{nth:02}.png")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (requests, _) = look(&model, &mut door, &names).await;
    assert_eq!(shown(requests.last().unwrap()), names[2..]);
}
