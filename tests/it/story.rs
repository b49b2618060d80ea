//! The main story: a file is handed in, a question is asked of it, and the answer is a file.

use serde_json::json;

use crate::world::{Protocol, QUESTION, Question, SALES, World, model_sees, script, shown};

async fn told(protocol: Protocol) -> (World, String) {
    let world = World::start().await;
    script(&world.model, QUESTION);
    world.upload("s1", "sales.csv", SALES).await;
    let stream = world.ask(protocol, &Question::of(QUESTION, "s1")).await;
    assert_eq!(stream.status, 200);
    assert_eq!(stream.header("content-type"), "text/event-stream; charset=utf-8");
    let frames = stream.rest().await;
    world.model.assert_done();
    let text = shown(&frames, &world.url);
    (world, text)
}

#[tokio::test]
async fn the_story_in_our_own_protocol() {
    let (_, text) = told(Protocol::Native).await;
    insta::assert_snapshot!(text);
}

#[tokio::test]
async fn the_story_in_joyagents_raw_protocol() {
    let (_, text) = told(Protocol::Raw).await;
    insta::assert_snapshot!(text);
}

#[tokio::test]
async fn the_story_in_the_protocol_of_joyagents_ui() {
    let (_, text) = told(Protocol::Ui).await;
    insta::assert_snapshot!(text);
}

#[tokio::test]
async fn without_streaming_the_same_events_come_without_deltas() {
    let world = World::start().await;
    script(&world.model, QUESTION);
    world.upload("s1", "sales.csv", SALES).await;
    let mut body = Protocol::Raw.body(&Question::of(QUESTION, "s1"));
    body["isStream"] = false.into();
    let request = world.request(reqwest::Method::POST, Protocol::Raw.path()).json(&body);
    let frames = world.ask_with(request).await.rest().await;
    insta::assert_snapshot!(shown(&frames, &world.url));
}

#[tokio::test]
async fn what_the_model_sees() {
    let (world, _) = told(Protocol::Native).await;
    let requests = world.model.requests();
    let run = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.run();
    let calls: Vec<_> =
        requests.iter().filter_map(|request| request.header("djinn-call")).collect();
    let expected = ["t1/1", "t2/1", "t3/1"].map(|call| format!("{run}/{call}"));
    assert_eq!(calls, expected);
    insta::assert_snapshot!("model_sees_the_story", model_sees(&requests));
}

#[tokio::test]
async fn the_file_that_was_written_opens_under_both_links() {
    let (world, _) = told(Protocol::Native).await;
    let ending = world.ending(&Question::of(QUESTION, "s1")).await;
    let file = &ending["files"][0];
    for (link, disposition) in [("preview_url", "inline"), ("download_url", "attachment")] {
        let answer = world.follow(file[link].as_str().unwrap()).await;
        assert_eq!(answer.text, "# Growth\n\nEast: +55.9 %\n");
        assert!(answer.header("content-disposition").starts_with(disposition));
        assert_eq!(answer.header("content-type"), "text/markdown; charset=utf-8");
    }
}

#[tokio::test]
async fn the_answer_hands_over_the_files_it_names() {
    let world = World::start().await;
    let upload = |(name, content): (&str, &str)| json!({"command": "upload", "filename": name, "content": content});
    let rule = world.model.on("写三个文件");
    let rule = [("草稿.md", "?"), ("增长 2024.md", "增长"), ("b.csv", "region\nNorth\n")]
        .into_iter()
        .fold(rule, |rule, file| rule.say("我来写。").call("file_tool", upload(file)).then());
    rule.reply("写好了，见 增长 2024.md 和b.csv。");
    let question = Question::of("写三个文件", "s1");
    for protocol in Protocol::ALL {
        let frames = world.ask(protocol, &question).await.rest().await;
        let last = frames.last().unwrap();
        let (files, name, link) = match protocol {
            Protocol::Native => (last.json()["files"].clone(), "name", "preview_url"),
            _ => (last.raw()["resultMap"]["fileList"].clone(), "fileName", "domainUrl"),
        };
        let names: Vec<_> = files.as_array().unwrap().iter().map(|file| &file[name]).collect();
        assert_eq!(names, ["b.csv", "增长 2024.md"], "{protocol:?}: the newest first");
        let answer = world.follow(files[1][link].as_str().unwrap()).await;
        assert_eq!(answer.text, "增长");
    }
}
