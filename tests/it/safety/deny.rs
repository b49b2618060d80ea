//! Denied phrases: neither asked nor answered.

use serde_json::{Value, json};

use crate::world::{Frame, Protocol, Question, SETTLED_WITHIN, World};

async fn world() -> World {
    world_that_sums_up("when_needed").await
}

async fn world_that_sums_up(when: &str) -> World {
    World::start_with(|options, _| {
        let list = json!(["make a bomb", "炸弹"]).to_string();
        options.vars.push(("DJINN_SAFETY__DENY_LIST", list));
        options.vars.push(("DJINN_MODES__SUMMARY", when.to_owned()));
    })
    .await
}

/// Everything that viewers of any kind were sent.
fn sent(frames: &[Frame]) -> String {
    frames.iter().map(|frame| frame.json().to_string()).collect()
}

#[tokio::test]
async fn a_question_with_a_denied_phrase_starts_no_run() {
    let world = world().await;
    for protocol in Protocol::ALL {
        let question = json!({
            protocol.member("query"): "How do I MAKE  a\nbomb?",
            protocol.member("sessionId"): "s1", protocol.member("requestId"): "r1",
        });
        let answer = world.post(protocol.path(), &question).await;
        assert_eq!(answer.status, 422, "{}", answer.text);
        assert!(answer.text.contains("content_refused"), "{}", answer.text);
        assert!(answer.text.contains("This deployment blocks"), "{}", answer.text);
    }
    assert!(world.model.requests().is_empty());
    world.model.on("How do I bake").reply("With flour.");
    let ending = world.ending(&Question::of("How do I bake?", "s1")).await;
    assert_eq!(ending["answer"], "With flour.");
}

#[tokio::test]
async fn an_answer_with_a_denied_phrase_ends_the_run_and_nothing_of_it_is_seen() {
    for protocol in Protocol::ALL {
        for chars in [1, 7, 1_000] {
            let world = world().await;
            let answer = "Well. First you mA\u{200b}ke a  bomb, then";
            world.model.on("Tell me").reply(answer).delta_chars(chars);
            let question = Question::of("Tell me a story.", "s1");
            let frames = world.ask(protocol, &question).await.rest().await;
            let last = frames.last().unwrap();
            assert!(last.is_final(), "{frames:?}");
            let seen = sent(&frames);
            for piece in ["mA", "bomb", "then"] {
                assert!(!seen.contains(piece), "{piece} in {seen}");
            }
            assert!(seen.contains("This deployment blocks") || seen.contains("content_refused"));
            if protocol == Protocol::Native {
                let ending = last.json();
                assert_eq!(ending["status"], "failed");
                assert_eq!(ending["failure"]["code"], "content_refused");
                assert_eq!(ending["answer"], "");
                assert!(ending["spent"]["model_calls"] == 1, "what it cost is counted: {ending}");
            }
            // Whoever comes later sees no more, and the next question is answered.
            let again = world.told(&question).await;
            assert!(!sent(&again).contains("bomb"));
            world.model.on("And now").reply("Once upon a time.");
            let next = Question::of("And now?", "s1").request("r2");
            assert_eq!(world.ending(&next).await["answer"], "Once upon a time.");
        }
    }
}

#[tokio::test]
async fn a_call_with_a_denied_phrase_is_not_made() {
    let world = world().await;
    let page = json!({"command": "upload", "filename": "a.md", "content": "如何制作炸弹"});
    let rule = world.model.on("Write").say("I write.").call("file_tool", page);
    rule.then().reply("I may not.");
    let frames = world.told(&Question::of("Write it down.", "s1")).await;
    let ending = frames.last().unwrap().json();
    assert_eq!((&ending["status"], &ending["answer"]), (&json!("finished"), &json!("I may not.")));
    assert!(!sent(&frames).contains("炸弹"));
    let files = world.post("/v1/file_tool/get_file_list", &json!({"requestId": "s1"})).await.json();
    assert_eq!(files["results"].as_array().map(Vec::len), Some(0), "{files}");
}

#[tokio::test]
async fn a_summary_with_a_denied_phrase_is_not_replaced_by_earlier_words() {
    let world = world_that_sums_up("always").await;
    let get = json!({"command": "get", "filename": "a.md"});
    world.upload("s1", "a.md", "A").await;
    let rule =
        world.model.on("What").say("I look.").call("file_tool", get).then().reply("It is A.");
    rule.then().reply("Make a bomb$$$a.md");
    let ending = world.ending(&Question::of("What is in it?", "s1")).await;
    let expected = ("failed", "", "content_refused");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let found =
        (text(&ending["status"]), text(&ending["answer"]), text(&ending["failure"]["code"]));
    assert_eq!((found.0.as_str(), found.1.as_str(), found.2.as_str()), expected);
}

#[tokio::test]
async fn a_persons_answer_with_a_denied_phrase_is_not_taken_and_may_be_given_again() {
    let world = World::start_with(|options, _| {
        let list = json!(["make a bomb"]).to_string();
        options.vars.push(("DJINN_SAFETY__DENY_LIST", list));
        let human_requests = json!({"enabled": true, "require-confirmation-tools": ["file_tool"]});
        options.vars.push(("DJINN_PEOPLE__REQUESTS", human_requests.to_string()));
    })
    .await;
    let page = json!({"command": "upload", "filename": "a.md", "content": "A"});
    let rule = world.model.on("Write").say("I write.").call("file_tool", page);
    rule.then().reply("Not written.");
    let question = Question::of("Write it down.", "s1");
    let stream = world.ask(Protocol::Native, &question).await;
    let run = stream.run();
    drop(stream);
    let path = format!("/runs/{run}/requests");
    let asked = async {
        loop {
            let pending = world.request(reqwest::Method::GET, &path).send().await.unwrap();
            let pending: Value = pending.json().await.unwrap();
            if let Some(id) = pending["requests"][0]["id"].as_str() {
                return id.to_owned();
            }
            tokio::task::yield_now().await;
        }
    };
    let ask = tokio::time::timeout(SETTLED_WITHIN, asked).await.unwrap();
    let denied = [
        json!({"response": "Make a BOMB instead"}),
        json!({"response": "modify", "parameters":
            {"command": "upload", "filename": "a.md", "content": "make a bomb"}}),
    ];
    for answer in denied {
        let refused = world.respond(&run, &ask, &answer).await;
        assert_eq!(refused.status, 422, "{}", refused.text);
        assert_eq!(refused.json()["code"], "content_refused");
    }
    let given = world.respond(&run, &ask, &json!({"response": "skip"})).await;
    assert!([200, 202].contains(&given.status), "{}", given.text);
    assert_eq!(world.ending(&question).await["answer"], "Not written.");
}
