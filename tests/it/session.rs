//! A conversation over several questions.

use serde_json::json;

use crate::world::{Protocol, Question, World, model_sees};

#[tokio::test]
async fn the_second_question_sees_the_first_and_its_answer() {
    let world = World::start().await;
    world.model.on("Which region grew fastest?").reply("East.");
    world.told(&Question::new("Which region grew fastest?").session("s1").request("r1")).await;
    world.model.on("And slowest?").reply("West.");
    let second = Question::new("And slowest?").session("s1").request("r2");
    assert_eq!(world.ending(&second).await["answer"], "West.");
    let requests = world.model.requests();
    insta::assert_snapshot!("model_sees_the_second_question", model_sees(&requests[1..]));
}

#[tokio::test]
async fn a_conversation_goes_on_across_protocols_and_stays_in_its_session() {
    let world = World::start().await;
    for (nth, protocol) in Protocol::ALL.into_iter().enumerate() {
        world.model.on(format!("Question {nth}?")).reply(format!("Answer {nth}."));
        let question = Question::new(&format!("Question {nth}?")).session("s1");
        world.ask(protocol, &question).await.rest().await;
    }
    world.model.on("A stranger's?").reply("Nothing before.");
    world.told(&Question::new("A stranger's?").session("s2")).await;
    let requests = world.model.requests();
    assert_eq!(
        requests[2].text(),
        "user Question 0?\nassistant Answer 0.\nuser Question 1?\nassistant Answer 1.\nuser Question 2?"
    );
    assert_eq!(requests[3].text(), "user A stranger's?");
}

#[tokio::test]
async fn earlier_questions_and_answers_are_seen_as_they_were() {
    let world = World::start().await;
    world.model.on_request(|_| true).reply("Yes.").always();
    for nth in 0..12 {
        let text = format!("Is it {nth}?");
        world.told(&Question::new(&text).session("s1").request(&format!("r{nth}"))).await;
    }
    let last = world.model.last_request().unwrap();
    assert_eq!(last.messages().len(), 23);
    assert_eq!(last.messages()[0].text, "Is it 0?");
}

#[tokio::test]
async fn an_answer_that_failed_is_part_of_the_conversation_too() {
    let world = World::start().await;
    world.model.on("What is wrong?").status(401);
    world.told(&Question::new("What is wrong?").session("s1").request("r1")).await;
    world.model.on("Why?").reply("The key.");
    world.told(&Question::new("Why?").session("s1").request("r2")).await;
    let request = world.model.last_request().unwrap();
    let texts: Vec<_> = request.messages().iter().map(|message| message.text.as_str()).collect();
    assert!(texts[1].contains("rejected the API key"), "{texts:?}");
}

#[tokio::test]
async fn output_style_and_instructions_reach_the_model() {
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_BASE_PROMPT", "Always mention the tea.".to_owned()));
    })
    .await;
    world.model.on("Show me.").reply("Tea.");
    let body = json!({
        "question": "Show me.", "output_style": "table", "base_prompt": "And the coffee.",
    });
    let request = world.request(reqwest::Method::POST, "/runs").json(&body);
    world.ask_with(request).await.rest().await;
    let system = world.model.last_request().unwrap().system().to_owned();
    let table = include_str!("../../prompts/en/style/table.md").trim();
    for words in ["Always mention the tea.", "And the coffee.", table] {
        assert!(system.contains(words), "{words}: {system}");
    }
}

#[tokio::test]
async fn in_chinese_our_own_words_are_chinese() {
    let world =
        World::start_with(|options, _| options.vars.push(("DJINN_LANGUAGE", "zh".to_owned())))
            .await;
    world.model.on("哪个地区").reply("东部。");
    world.told(&Question::of("哪个地区增长最快？", "s1")).await;
    insta::assert_snapshot!("model_sees_chinese", model_sees(&world.model.requests()));
    let refused = world.ask(Protocol::Ui, &Question::new("").session("s1")).await.rest().await;
    assert!(refused[0].json()["response"].as_str().unwrap().contains("问题缺失或为空"));
}
