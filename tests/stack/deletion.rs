//! A deletion.

use serde_json::json;

use crate::story::Story;
use crate::world::Protocol;

const QUESTION: &str = "Remember the number 1742 in numbers.md";

#[tokio::test]
#[ignore = "needs the stack: cargo verify --only stack"]
async fn deleted_session_leaves_no_object() {
    let story = Story::open("a deletion").await;
    let file = json!({
        "command": "upload", "filename": "numbers.md", "description": "numbers", "content": "1742",
    });
    story.model.on(QUESTION).call("file_tool", file).then().reply("Done.");
    let earlier_objects = story.objects().await;
    let stream = story.user.ask(Protocol::Native, &story.question(QUESTION)).await;
    let run = stream.run();
    let frames = story.follow_run(stream).await;
    let ended = frames.last().unwrap().json();
    let link = story.local_url(ended["files"][0]["download_url"].as_str().unwrap());
    assert_eq!(story.anyone.follow(&link).await.text, "1742");
    assert_ne!(story.objects().await, earlier_objects);
    let session = format!("/sessions/{}", story.session);

    assert_eq!(story.user.delete(&session).await.status, 204);
    for path in [format!("/runs/{run}"), session] {
        assert_eq!(story.user.get(&path).await.status, 404, "{path}");
    }
    assert_eq!(story.objects().await, earlier_objects);
    let redirect = story.anyone.http.get(link).send().await.unwrap();
    assert_ne!(redirect.status(), 200);
    story.close();
}
