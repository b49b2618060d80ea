//! Long URLs over HTTP: the model sees placeholders, everybody else the URLs.

use serde_json::{Value, json};

use crate::world::{Frame, Question, World, always_hands_over, model_sees};

const PICTURE: &str = "https://cdn.example.com/design/summer-sale-poster-final.jpg?auth_key=abc123def456ghi789abc123def456ghi789abc123def456ghi789abc123def456ghi78";
const LOGO: &str = "https://cdn.example.com/brand/logo%20(new).svg?x-amz-signature=0123456789abcdef0123456789abcdef&expires=86400";

async fn world(language: &'static str, compress: &'static str) -> World {
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_LANGUAGE", language.to_owned()));
        options.vars.push(("DJINN_MEMORY__COMPRESS_URLS", compress.to_owned()));
        options.vars.push(("DJINN_MODES__SUMMARY", "always".to_owned()));
    })
    .await;
    world.upload("s1", "logo.md", &format!("The logo is [here]({LOGO}).\n")).await;
    world
}

/// The model meets one URL in the question and another in a file, writes both into a page, and tells
/// of a third that it made up. Its words come a character at a time.
fn script(world: &World, question: &str) {
    let page = json!({"command": "upload", "filename": "page.md", "description": "with https://0",
        "content": "# Sale\n\n![](https://0) ![](https://1)\n\nNot https://7, nor https://0/x.\n"});
    let rule = world.model.on(question).say("I look at https://0 first.");
    let rule = rule.call("file_tool", get("logo.md")).delta_chars(1).then();
    let rule = rule.say("Now https://1, https://0.").call("file_tool", page).delta_chars(1).then();
    let rule = rule.reply("See https://1 and https://7").delta_chars(1).then();
    rule.reply("It shows https://0$$$page.md").delta_chars(1);
}

fn get(name: &str) -> Value {
    json!({"command": "get", "filename": name})
}

fn entries<'a>(frames: &'a [Frame], event: &'a str) -> impl Iterator<Item = Value> + 'a {
    frames.iter().filter(move |frame| frame.event() == event).map(Frame::json)
}

/// Whether the previews of a message are the pieces of this text that they say they are. Whoever is
/// handed over in between may miss some.
fn is_previewed(frames: &[Frame], message: &str, whole: &str) -> bool {
    let mut pieces = entries(frames, "preview").filter(|preview| preview["message"] == message);
    let mut shown = 0;
    let fit = pieces.all(|preview| {
        let offset = usize::try_from(preview["offset"].as_u64().unwrap()).unwrap();
        let text = preview["text"].as_str().unwrap();
        shown += text.len();
        whole.get(offset..offset + text.len()) == Some(text)
    });
    fit && (shown == whole.len() || always_hands_over())
}

#[tokio::test]
async fn the_model_works_with_placeholders_and_everybody_else_gets_the_urls() {
    let world = world("en", "").await;
    let question = format!("Make a page with this picture: {PICTURE}.");
    script(&world, "Make a page");
    let frames = world.told(&Question::of(&question, "s1")).await;
    world.model.assert_done();

    for request in world.model.requests() {
        assert!(!request.text().contains("cdn.example.com"), "{}", request.transcript());
    }
    let said = [
        ("t1", format!("I look at {PICTURE} first.")),
        ("t2", format!("Now {LOGO}, {PICTURE}.")),
        ("t3", format!("See {LOGO} and https://7")),
        ("summary", format!("It shows {PICTURE}")),
    ];
    let completed: Vec<Value> = entries(&frames, "message.completed").collect();
    for (nth, (message, text)) in said.iter().enumerate() {
        assert!(is_previewed(&frames, message, text), "{message}");
        let whole = completed[nth]["text"].as_str().unwrap();
        assert_eq!(whole.split("$$$").next().unwrap(), text);
    }
    let content =
        format!("# Sale\n\n![]({PICTURE}) ![]({LOGO})\n\nNot https://7, nor https://0/x.\n");
    let call = entries(&frames, "call.requested").nth(1).unwrap();
    assert_eq!(call["arguments"]["content"], content.as_str());
    let ending = entries(&frames, "run.ended").next().unwrap();
    assert_eq!(ending["answer"], said[3].1.as_str());
    assert_eq!(ending["files"][0]["description"], format!("with {PICTURE}"));
    let page = world.follow(ending["files"][0]["download_url"].as_str().unwrap()).await;
    assert_eq!(page.text, content);
}

#[tokio::test]
async fn what_the_model_sees_of_urls() {
    for (language, begins, name) in
        [("en", "Make a page", "urls"), ("zh", "制作网页", "urls_in_chinese")]
    {
        let world = world(language, "1").await;
        script(&world, begins);
        let question = format!("{begins}：{PICTURE}。");
        world.told(&Question::of(&question, "s1")).await;
        insta::assert_snapshot!(format!("model_sees_{name}"), model_sees(&world.model.requests()));
    }
}

#[tokio::test]
async fn the_switch_shows_the_model_urls_as_they_are() {
    let world = world("en", "0").await;
    world.model.on("Which picture").reply("The one at https://0.");
    let ending = world.ending(&Question::of(&format!("Which picture? {PICTURE}"), "s1")).await;
    assert_eq!(ending["answer"], "The one at https://0.");
    let request = &world.model.requests()[0];
    assert!(request.text().contains(PICTURE), "{}", request.transcript());
    assert!(!request.text().contains("short form"), "{}", request.transcript());
}
