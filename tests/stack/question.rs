//! A question with a file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::json;

use crate::story::Story;
use crate::world::Protocol;

const QUESTION: &str = "Which region grew fastest? Write the answer to growth.md";
const SALES: &str = include_str!("../../examples/sales.csv");
const REPORT: &str = "# Growth\n\nEast: +55.9 %\n";

#[tokio::test]
#[ignore = "needs the stack: cargo verify --only stack"]
async fn question_with_a_file_is_answered_with_a_file() {
    let story = Story::open("a question with a file").await;
    let report = json!({
        "command": "upload", "filename": "growth.md", "description": "Growth by region", "content": REPORT,
    });
    story
        .model
        .on(QUESTION)
        .call("file_tool", json!({"command": "get", "filename": "sales.csv"}))
        .then()
        .call("file_tool", report)
        .then()
        .reply("East grew fastest.");
    let mut body = Protocol::Native.body(&story.question(QUESTION));
    let uri = format!("data:text/csv;base64,{}", STANDARD.encode(SALES));
    body["attachments"] = json!([{"uri": uri, "name": "sales.csv"}]);
    let request = story.user.request(Method::POST, "/runs").json(&body);
    let frames = story.follow_run(story.user.ask_with(request).await).await;

    let ended = frames.last().unwrap().json();
    assert_eq!(
        (&ended["status"], &ended["answer"]),
        (&json!("finished"), &json!("East grew fastest."))
    );
    let requests = story.model.requests();
    assert!(requests[1].results_for("file_tool").next().unwrap().text.contains("East"));
    let link = story.local_url(ended["files"][0]["download_url"].as_str().unwrap());
    assert_eq!(story.anyone.follow(&link).await.text, REPORT, "a link needs no key");
    story.wait_for_schedules(0).await;
    story.close();
}
