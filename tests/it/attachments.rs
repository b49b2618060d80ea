//! Files that come with a question: they become files of its session, and images are shown to models that see.

mod scaling;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use djinn_scripted::RecordedRequest;
use djinn_wiring::Djinn;
use reqwest::Method;
use serde_json::{Value, json};

use crate::world::{
    Answer, Camera, Client, KEY, Options, Protocol, QUESTION, Question, SALES, Scaler, Stream,
    World, model_sees, models, script_plan, settled, task_of,
};

const SEES: &str = "What is in it?";

/// What an image of this name holds.
fn image(name: &str) -> Vec<u8> {
    Camera::content(name)
}

fn data_uri(media_type: &str, content: &[u8]) -> String {
    format!("data:{media_type};base64,{}", STANDARD.encode(content))
}

/// An image in the request itself.
fn attached_image(name: &str) -> Value {
    json!({"uri": data_uri("image/png", &image(name)), "name": name})
}

/// A world whose model sees, with these variables besides, and perhaps with a sandbox.
async fn seeing(vars: &[(&'static str, &str)], sandbox: Option<Scaler>) -> World {
    let more = vars.iter().map(|(name, value)| (*name, (*value).to_owned()));
    World::start_with(|options: &mut Options, model| {
        let sees = models(model, &json!({"key": "env:OPENAI_API_KEY", "images": true}));
        options.vars.extend([("OPENAI_API_KEY", KEY.to_owned()), ("DJINN_MODELS", sees)]);
        options.vars.extend(more);
        if let Some(sandbox) = sandbox {
            options.djinn = Djinn::new().with_sandbox(Arc::new(sandbox));
        }
    })
    .await
}

/// Asks with these members besides.
async fn ask(client: &Client, protocol: Protocol, question: &Question, more: &Value) -> Stream {
    let mut body = protocol.body(question);
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    client.ask_with(client.request(Method::POST, protocol.path()).json(&body)).await
}

async fn refused(client: &Client, question: &Question, attachments: Value) -> Answer {
    let mut body = Protocol::Native.body(question);
    body["attachments"] = attachments;
    client.post("/runs", &body).await
}

/// The names of a session's files, with those that are for agents alone.
async fn listed(client: &Client, session: &str) -> Vec<String> {
    let body = json!({"requestId": session, "pageSize": 100});
    let list = client.post("/v1/file_tool/get_file_list", &body).await.json();
    let results = list["results"].as_array().unwrap();
    results.iter().map(|file| file["fileName"].as_str().unwrap().to_owned()).collect()
}

/// The content of a file.
async fn content(client: &Client, session: &str, name: &str) -> Vec<u8> {
    let file = json!({"requestId": session, "fileName": name});
    let place = client.post("/v1/file_tool/get_file", &file).await.json();
    let redirect = client.http.get(place["ossUrl"].as_str().unwrap()).send().await.unwrap();
    let location = redirect.headers()["location"].to_str().unwrap().to_owned();
    client.http.get(location).send().await.unwrap().bytes().await.unwrap().to_vec()
}

/// What the images of a request hold.
fn shown(request: &RecordedRequest) -> Vec<Vec<u8>> {
    request.images().map(|image| STANDARD.decode(&image.content).unwrap()).collect()
}

#[tokio::test]
async fn a_table_in_the_request_is_a_file_that_the_agent_reads() {
    let world = World::start().await;
    world
        .model
        .on(QUESTION)
        .call("file_tool", json!({"command": "get", "filename": "sales.csv"}))
        .then()
        .reply("East.");
    let attachments = json!([{
        "uri": data_uri("text/csv", SALES.as_bytes()), "type": "text/csv", "name": "sales.csv",
    }]);
    let more = json!({"attachments": attachments});
    let stream = ask(&world, Protocol::Native, &Question::of(QUESTION, "s1"), &more).await;
    let run = stream.run();
    let frames = stream.rest().await;
    let started = frames.iter().find(|frame| frame.event() == "run.started").unwrap().json();
    assert_eq!(started["attachments"], json!(["sales.csv"]));
    assert_eq!(frames.last().unwrap().json()["answer"], "East.");
    let requests = world.model.requests();
    let asked = &requests[0].messages()[0].text;
    assert!(asked.starts_with(QUESTION) && asked.contains("sales.csv"), "{asked}");
    assert!(requests[0].system().contains("- sales.csv ("), "{}", requests[0].system());
    assert!(requests[1].results_for("file_tool").next().unwrap().text.contains("East"));
    assert_eq!(content(&world, "s1", "sales.csv").await, SALES.as_bytes());
    let journal = settled(world.system.ports(), &run).await;
    let first = serde_json::to_value(&journal[0]).unwrap().to_string();
    assert!(first.contains(r#""attachments":[{"name":"sales.csv"}]"#), "{first}");
}

#[tokio::test]
async fn a_model_that_sees_is_shown_the_images_behind_the_question() {
    for (question, snapshot) in
        [(SEES, "model_sees_images"), ("图里是什么？", "model_sees_images_chinese")]
    {
        let world = seeing(&[], None).await;
        world.model.on(question).reply("Cats.");
        let attachments = json!([
            attached_image("cat.png"),
            {"uri": "data:text/csv,a%2Cb", "name": "cats.csv"},
            {"uri": data_uri("image/png", &image("kitten.png"))},
        ]);
        let more = json!({"attachments": attachments});
        let stream = ask(&world, Protocol::Native, &Question::of(question, "s1"), &more).await;
        assert_eq!(stream.rest().await.last().unwrap().json()["answer"], "Cats.");
        let requests = world.model.requests();
        assert_eq!(shown(&requests[0]), [image("cat.png"), image("kitten.png")]);
        let messages = requests[0].messages();
        assert!(messages[0].images.is_empty() && messages[1].images.len() == 2);
        assert_eq!(listed(&world, "s1").await, ["cat.png", "cats.csv", "attachment-3.png"]);
        insta::assert_snapshot!(snapshot, model_sees(&requests));
    }
}

#[tokio::test]
async fn a_model_that_does_not_see_and_a_masked_run_are_told_the_names() {
    let more = json!({"attachments": [attached_image("cat.png")]});
    let blind = World::start().await;
    let masked = seeing(&[("DJINN_SAFETY__MASK_PII", "1")], Some(Scaler::default())).await;
    for world in [blind, masked] {
        world.model.on(SEES).reply("No idea.");
        ask(&world, Protocol::Native, &Question::of(SEES, "s1"), &more).await.rest().await;
        let request = world.model.last_request().unwrap();
        assert_eq!(request.images().count(), 0);
        assert_eq!(request.messages().len(), 1);
        assert!(request.messages()[0].text.contains("cat.png"), "{}", request.text());
    }
}

#[tokio::test]
async fn a_file_of_the_session_is_attached_by_its_name_or_its_url() {
    let world = World::start().await;
    world.model.on("").reply("Read.").always();
    let place = world.upload("s1", "sales 1.csv", SALES).await.json();
    let size = SALES.len();
    for (nth, uri) in [json!("sales 1.csv"), place["domainUrl"].clone(), place["ossUrl"].clone()]
        .iter()
        .enumerate()
    {
        let more = json!({"attachments": [{"uri": uri}]});
        let question = Question::of("What?", "s1").request(&format!("r{nth}"));
        let stream = ask(&world, Protocol::Native, &question, &more).await;
        assert_eq!(stream.rest().await.last().unwrap().json()["status"], "finished", "{uri}");
        let request = world.model.last_request().unwrap();
        let asked = &request.messages().last().unwrap().text;
        assert!(asked.contains("sales 1.csv"), "{asked}");
        assert!(request.system().contains(&format!("- sales 1.csv ({size} bytes)")));
    }
    assert_eq!(listed(&world, "s1").await, ["sales 1.csv"]);
}

#[tokio::test]
async fn urls_of_other_sessions_and_of_others_are_refused() {
    let world = World::start().await;
    let other = world.upload("s2", "a.csv", SALES).await.json()["domainUrl"].clone();
    let own = world.upload("s1", "a.csv", SALES).await.json()["domainUrl"].clone();
    let own = own.as_str().unwrap();
    let elsewhere = own.replace(&world.url, "https://evil.example");
    let missing = own.replace("a.csv", "b.csv");
    for (uri, words) in [
        (other.as_str().unwrap(), "another session"),
        (&elsewhere, "upload the file first"),
        (&missing, "upload the file first"),
    ] {
        let answer = refused(&world, &Question::of("What?", "s1"), json!([{"uri": uri}])).await;
        assert_eq!(answer.status, 400, "{}", answer.text);
        let body = answer.json();
        assert_eq!(body["field"], "attachments[0].uri");
        assert!(body["message"].as_str().unwrap().contains(words), "{}", answer.text);
    }
    assert!(world.model.requests().is_empty());
}

#[tokio::test]
async fn joyagents_clients_name_the_files_of_their_messages() {
    let world = World::start().await;
    world.model.on("What?").reply("Read.").always();
    let mut place = world.upload("s1", "sales.csv", SALES).await.json();
    place["fileDesc"] = "sales".into();
    world.upload("s1", "notes.md", "# Notes").await;
    let by_url = json!({"domainUrl": place["domainUrl"], "fileType": "csv"});
    let foreign = json!({"fileName": "gone.csv", "ossUrl": "http://127.0.0.1:1601/gone.csv"});
    let messages = |files: &[&Value]| {
        json!({"messages": [
            {"role": "user", "content": "Before.", "commandCode": null, "files": files},
            {"role": "user", "content": "What?", "uploadFile": [{"originFileName": "notes.md"}]},
        ]})
    };
    for (nth, (files, names, ignored)) in [
        (vec![&place], "sales.csv, notes.md", ""),
        (vec![&by_url, &place], "sales.csv, notes.md", ""),
        (vec![&foreign], "notes.md", "messages"),
    ]
    .into_iter()
    .enumerate()
    {
        let question = Question::of("What?", "s1").request(&format!("r{nth}"));
        let stream = ask(&world, Protocol::Raw, &question, &messages(&files)).await;
        assert_eq!(stream.header("djinn-ignored"), ignored);
        stream.rest().await;
        let request = world.model.last_request().unwrap();
        let asked = &request.messages().last().unwrap().text;
        assert!(asked.contains(&format!("\n{names}\n")), "{asked}");
    }
    for member in ["files", "attachments"] {
        let question = Question::of("What?", "s3").request(member);
        let more = json!({member: [{"uri": "data:text/csv,a", "name": "a.csv"}, foreign]});
        let stream = ask(&world, Protocol::Ui, &question, &more).await;
        assert_eq!(stream.header("djinn-ignored"), member);
        stream.rest().await;
        assert!(world.model.last_request().unwrap().text().contains("a.csv"));
    }
    assert_eq!(listed(&world, "s3").await, ["a.csv"]);
}

#[tokio::test]
async fn the_same_request_with_the_same_files_is_the_same_run() {
    let world = World::start().await;
    world.model.on("What?").reply("Read.");
    world.upload("s1", "old.csv", "old").await;
    let attachments = |content: &str| {
        json!({"attachments": [
            {"uri": data_uri("text/csv", content.as_bytes()), "name": "new.csv"}, {"uri": "old.csv"},
        ]})
    };
    let question = Question::of("What?", "s1");
    let first = ask(&world, Protocol::Native, &question, &attachments("new")).await;
    let run = first.run();
    first.rest().await;
    world.upload("s1", "new.csv", "newest").await;
    let again = ask(&world, Protocol::Native, &question, &attachments("new")).await;
    assert_eq!(again.run(), run);
    assert_eq!(again.rest().await.last().unwrap().json()["answer"], "Read.");
    for other in
        [attachments("other")["attachments"].clone(), json!([{"uri": "old.csv"}]), json!([])]
    {
        let answer = refused(&world, &question, other).await;
        assert_eq!((answer.status, &answer.json()["code"]), (409, &json!("request_id_reused")));
    }
    assert_eq!(content(&world, "s1", "new.csv").await, b"newest", "nothing was written anew");
    assert_eq!(world.model.requests().len(), 1);
}

#[tokio::test]
async fn a_question_with_files_is_no_answer_and_leaves_a_session_at_work_alone() {
    let world = World::start().await;
    world.model.on("What?").hang();
    let stream = ask(&world, Protocol::Native, &Question::of("What?", "s1"), &json!({})).await;
    let file = json!([{"uri": "data:text/csv,a", "name": "a.csv"}]);
    let answer = refused(&world, &Question::of("And?", "s1").request("r2"), file.clone()).await;
    assert_eq!((answer.status, &answer.json()["code"]), (409, &json!("session_busy")));
    let answer = refused(&world, &Question::of("continue", "s1").request("r3"), file).await;
    assert_eq!((answer.status, &answer.json()["field"]), (400, &json!("attachments")));
    assert!(listed(&world, "s1").await.is_empty());
    world.stop(&stream.run()).await;
    stream.rest().await;
}

#[tokio::test]
async fn the_tasks_of_a_plan_see_the_images_as_well() {
    let world = seeing(&[], None).await;
    script_plan(&world.model);
    let question = Question::of("Compare the three regions in sales.csv", "s1").deep();
    let more = json!({"attachments": [attached_image("map.png")]});
    let stream = ask(&world, Protocol::Native, &question, &more).await;
    assert_eq!(stream.rest().await.last().unwrap().json()["status"], "finished");
    let requests = world.model.requests();
    let of_tasks = requests.iter().filter(|it| task_of(it).is_some() && !it.tools().is_empty());
    let of_planner = requests.iter().filter(|it| it.offers_tool("planning"));
    assert!(of_tasks.clone().count() >= 8 && of_planner.clone().count() == 3);
    for request in of_tasks.chain(of_planner) {
        assert_eq!(shown(request), [image("map.png")]);
        assert!(request.messages()[0].text.contains("map.png"), "{}", request.text());
    }
}
