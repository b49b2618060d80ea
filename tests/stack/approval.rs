//! An approval by link.

use serde_json::json;

use crate::story::Story;
use crate::world::{Answer, Frame, Protocol, planner, summary, task};

/// The deployment asks before a step that publishes; see `SETTINGS` in infra/stack/deploy.py.
const STEPS: [&str; 2] = ["Publish the price", "Publish the date"];

#[tokio::test]
#[ignore = "needs the stack: cargo verify --only stack"]
async fn paused_run_continues_after_approvals_by_link() {
    let story = Story::open("an approval by link").await;
    let plan =
        json!({"command": "create", "title": "Price", "steps": STEPS, "depends_on": [[], []]});
    planner(&story.model)
        .call("planning", plan)
        .then()
        .call("planning", json!({"command": "finish"}));
    for step in STEPS {
        task(&story.model, step).reply("It is published.");
    }
    summary(&story.model).reply("Price and date are published.");
    let question = story.question("Publish price and date").deep();
    let stream = story.user.ask(Protocol::Native, &question).await;
    let run = stream.run();
    assert_eq!(stream.status, 200);
    let frames = stream.rest().await;
    assert!(frames.last().is_some_and(Frame::is_hand_over), "{frames:#?}");
    story.wait_for_schedules(1).await; // The timer of both human requests.
    approve(&story, &run, STEPS[0]).await;
    // No client is connected: an executor performs the approved step, and moves the timer.
    story.model.wait_for_request(2).await;
    story.wait_for_status(&run, "paused").await;
    story.wait_for_schedules(1).await;
    approve(&story, &run, STEPS[1]).await;
    let frames = story.follow_run(story.user.come_back(&run, None).await).await;
    assert_eq!(frames.last().unwrap().json()["answer"], "Price and date are published.");
    story.wait_for_schedules(0).await;
    story.close();
}

/// Approves the run's first open request on the page of its link, without credentials.
async fn approve(story: &Story, run: &str, step: &str) {
    let requests = story.user.open_requests(run).await;
    let link = story.local_url(requests[0]["link"].as_str().unwrap());
    let page = Answer::of(story.anyone.http.get(&link).send().await.unwrap()).await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert!(page.text.contains(step), "{}", page.text);
    let form = story.anyone.http.post(&link).body("words=&response=confirm");
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    let accepted = Answer::of(form.send().await.unwrap()).await;
    assert_eq!(accepted.status, 200, "{}", accepted.text);
    assert!(accepted.text.contains("Your response was accepted"), "{}", accepted.text);
}
