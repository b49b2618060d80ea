//! Tools as the model meets them: results of every kind, cut ones, and several at once.

use djinn_core::tool::EffectClass;
use djinn_scripted::ScriptedModel;
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::point::Points;
use serde_json::json;

use crate::world::{Door, Protocol, Question, Slow, World};

/// What the model was told of its calls, in the newest request of the loop.
fn told(requests: &[djinn_scripted::RecordedRequest]) -> Vec<String> {
    let of_the_loop = |request: &&djinn_scripted::RecordedRequest| !request.tools().is_empty();
    let last = requests.iter().rfind(of_the_loop).unwrap();
    let results = last.messages().iter().flat_map(|message| &message.results);
    results.map(|result| result.text.clone()).collect()
}

/// The same without the frames that say that it is data.
fn results(requests: &[djinn_scripted::RecordedRequest]) -> Vec<String> {
    let frame = ["<untrusted>\n", "\n</untrusted>"];
    let bare = |text: String| frame.iter().fold(text, |text, mark| text.replacen(mark, "", 1));
    told(requests).into_iter().map(bare).collect()
}

#[tokio::test]
async fn whatever_is_wrong_with_a_call_is_a_result_and_the_run_goes_on() {
    let world = World::start().await;
    world.upload("s1", "sales.csv", "region,sales\n").await;
    let get = |name: &str| json!({"command": "get", "filename": name});
    let upload = |name: &str| json!({"command": "upload", "filename": name});
    let form = json!({"requestId": "s1", "fileName": "image.png", "content": "\u{0}PNG"});
    world.post("/v1/file_tool/upload_file", &form).await;
    world
        .model
        .on("What goes wrong?")
        .say("I try everything.")
        .call_unknown("web_fetch", json!({"url": "https://example.com"}))
        .call_text("file_tool", "get me the file, please")
        .call_text("file_tool", "[1, 2]")
        .call("file_tool", json!({"command": "delete", "filename": 5}))
        .call("file_tool", json!({}))
        .call("file_tool", get("missing.csv"))
        .call("file_tool", get("image.png"))
        .call("file_tool", upload("no-content.md"))
        .call("file_tool", json!({"command": "upload", "filename": "../x", "content": "x"}))
        .call("file_tool", get("sales.csv"))
        .then()
        .reply("Nearly everything.");
    let question = Question::of("What goes wrong?", "s1");
    assert_eq!(world.ending(&question).await["status"], "finished");
    insta::assert_snapshot!(told(&world.model.requests()).join("\n\n"));
}

#[tokio::test]
async fn calls_of_one_reply_run_at_the_same_time_and_are_told_in_their_order() {
    let model = ScriptedModel::start().await.unwrap();
    let slow = Slow::new();
    let mut door = Door::open(
        &model,
        |_| {},
        |parts| {
            parts.ports.tools = parts.ports.tools.clone().with_tool(slow.clone());
        },
    );
    let client = door.listen().await;
    let calls = (1..=6).map(|nth| ("slow", json!({"nth": nth})));
    model.on("Do six things.").say("I do six things.").calls(calls).then().reply("Done.");
    let stream = client.ask(Protocol::Native, &Question::of("Do six things.", "s1")).await;
    // Four is the most that run at once; none has been let go on.
    slow.started.acquire_many(4).await.unwrap().forget();
    slow.go_on.add_permits(1);
    slow.started.acquire().await.unwrap().forget();
    slow.go_on.add_permits(5);
    let frames = stream.rest().await;
    let ended = frames.last().unwrap().json();
    assert_eq!((&ended["status"], &ended["spent"]["tool_calls"]), (&json!("finished"), &json!(6)));
    assert_eq!(results(&model.requests()), ["It worked."; 6]);
    let call = |nth: usize| format!("{{\"nth\":{nth}}}");
    let told = model.requests()[1].text().to_owned();
    let at: Vec<_> = (1..=6).map(|nth| told.find(&call(nth)).unwrap()).collect();
    assert!(at.is_sorted(), "{told}");
}

#[tokio::test]
async fn a_long_result_is_cut_for_the_model_and_kept_whole() {
    let model = ScriptedModel::start().await.unwrap();
    let lines: Vec<String> = (0..5_000).map(|nth| format!("line {nth:04}")).collect();
    let long = lines.join("\n");
    let tool = LedgerTool {
        answer: long.clone(),
        ..LedgerTool::new("survey", EffectClass::Read, &Ledger::default(), &Points::new())
    };
    let with_tool = |parts: &mut crate::world::Parts| {
        parts.ports.tools = parts.ports.tools.clone().with_tool(tool);
    };
    let mut door = Door::open(&model, |_| {}, with_tool);
    let client = door.listen().await;
    let rule = model.on("What does the survey say?").say("I ask.").call("survey", json!({}));
    let read_on = |request: &djinn_scripted::RecordedRequest| {
        let (_, file) = request.text().split_once("The whole is in the file ").unwrap();
        let (file, _) = file.split_once(';').unwrap();
        let get = json!({"command": "get", "filename": file, "offset": 10_000});
        djinn_scripted::ScriptedResponse::default().say("I read on.").call("file_tool", get)
    };
    rule.then().respond_with(read_on).then().reply("Much.");
    let question = Question::of("What does the survey say?", "s1");
    let frames = client.told(&question).await;
    assert_eq!(frames.last().unwrap().json()["answer"], "Much.");

    let results = results(&model.requests());
    let (cut, note) = results[0].split_once("\n\n[Cut: ").unwrap();
    assert_eq!(cut, &long[..10_000]);
    assert!(note.contains("the first 10000 of 49999 characters"), "{note}");
    assert!(results[1].contains(&long[10_000..19_000]), "{}", &results[1][..200]);
    assert!(results[1].contains("the next part starts at offset 19400"), "{}", &results[1][..200]);

    let list = client.post("/v1/file_tool/get_file_list", &json!({"requestId": "s1"})).await.json();
    let file = &list["results"][0];
    assert_eq!(file["isInternalFile"], true);
    assert_eq!(client.follow(file["downloadUrl"].as_str().unwrap()).await.text, long);
}

#[tokio::test]
async fn a_long_file_is_read_in_parts() {
    let world = World::start().await;
    let lines: Vec<String> = (0..5_000).map(|nth| format!("line {nth:04}")).collect();
    let long = lines.join("\n");
    world.upload("s1", "long.txt", &long).await;
    let get = |offset: usize| json!({"command": "get", "filename": "long.txt", "offset": offset});
    let mut rule = world.model.on("What is in it?");
    for offset in (0..6).map(|nth| nth * 9_400) {
        rule = rule.say("I read.").call("file_tool", get(offset)).then();
    }
    rule.reply("Lines.");
    assert_eq!(world.ending(&Question::of("What is in it?", "s1")).await["answer"], "Lines.");
    let results = results(&world.model.requests());
    assert!(results.iter().all(|part| part.chars().count() <= 10_000));
    let parts: Vec<_> = results.iter().map(|part| part.split_once("\n\n").unwrap().1).collect();
    assert_eq!(parts.concat(), long);
    assert!(results[5].starts_with("long.txt, characters 47000 to 49999 of 49999. What"));
}
