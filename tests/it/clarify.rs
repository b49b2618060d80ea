//! A model that asks its user for what is missing, and reads the answer.

use serde_json::{Value, json};

use crate::human_requests::ending;
use crate::world::{Frame, Options, Protocol, Question, World, model_sees, planner, summary, task};

/// A deployment that lets models ask, and waits for ever.
async fn world(language: &'static str) -> World {
    let change = move |options: &mut Options, _: &djinn_scripted::ScriptedModel| {
        let clarify = r#"{"clarify": true, "timeout": 0}"#;
        options.vars.push(("DJINN_PEOPLE__REQUESTS", clarify.to_owned()));
        options.vars.push(("DJINN_LANGUAGE", language.to_owned()));
    };
    World::start_with(change).await
}

fn questions(question: &str) -> Value {
    json!({"questions": [question]})
}

/// The run that asks, and what it asks.
async fn asked(world: &World, question: &Question) -> (String, Value) {
    let stream = world.ask(Protocol::Native, question).await;
    let (run, frames) = (stream.run(), stream.rest().await);
    let asked = frames.iter().find(|frame| frame.event() == "human.requested");
    let asked = asked.unwrap_or_else(|| panic!("{frames:#?}")).json();
    assert_eq!(frames.last().unwrap().event(), "run.handed_over");
    (run, asked["requests"][0].clone())
}

async fn says(world: &World, run: &str, words: &str) -> Value {
    let answer = world.respond(run, "t1.c1", &json!({"response": words})).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    ending(world, run).await
}

#[tokio::test]
async fn an_agent_without_a_plan_asks_before_anything_else_and_reads_the_answer() {
    for (language, question, asks, answer, name) in [
        ("en", "Note the price of the metal.", "Which metal?", "The red one.", "an_answer"),
        ("zh", "记下这种金属的价格。", "哪种金属？", "红色的那种。", "an_answer_in_chinese"),
    ] {
        let world = world(language).await;
        let note = json!({"command": "upload", "filename": "copper.md", "content": "9"});
        let rule = world.model.on(question).say("…").call("ask_user", questions(asks));
        rule.then().say("…").call("file_tool", note).then().reply("9").always();
        let (run, ask) = asked(&world, &Question::of(question, "s1")).await;
        assert_eq!(
            (&ask["reasons"], &ask["tool"]),
            (&json!(["clarification"]), &json!("ask_user"))
        );
        let end = says(&world, &run, answer).await;
        assert_eq!((&end["status"], &end["answer"]), (&json!("finished"), &json!("9")));
        let requests = world.model.requests();
        let offers: Vec<bool> =
            requests.iter().take(3).map(|request| request.offers_tool("ask_user")).collect();
        assert_eq!(offers, [true, true, false], "only before it has begun");
        insta::assert_snapshot!(format!("model_sees_{name}"), model_sees(&requests[..2]));
        let frames = world.come_back(&run, None).await.rest().await;
        let completed = frames.iter().find(|frame| frame.event() == "call.completed").unwrap();
        assert_eq!(completed.json()["result"]["status"], "done");
        assert_eq!(completed.json()["result"]["text"], answer);
    }
}

#[tokio::test]
async fn a_model_whose_question_is_not_answered_goes_on_and_says_what_it_took_for_granted() {
    let world = world("en").await;
    let rule = world.model.on("What of the metal?").call("ask_user", questions("Which metal?"));
    rule.then().reply("I took it to be gold.").always();
    let (run, _) = asked(&world, &Question::of("What of the metal?", "s1")).await;
    assert_eq!(says(&world, &run, "skip").await["answer"], "I took it to be gold.");
    let sees = world.model.wait_for_request(2).await.text().to_owned();
    assert!(sees.contains("The user did not answer."), "{sees}");
    assert!(!sees.contains("was not run"), "{sees}");
}

#[tokio::test]
async fn whatever_is_said_to_a_question_is_its_answer_word_for_word_on_every_way() {
    for words in ["修改", "modify", "Yes.", "改成 East", r#"{"region": "East"}"#] {
        for in_chat in [false, true] {
            let world = world("zh").await;
            let rule = world.model.on("Which region?").call("ask_user", questions("Which one?"));
            rule.then().reply("East it is.").always();
            let (run, _) = asked(&world, &Question::of("Which region?", "s1")).await;
            let end = if in_chat {
                world.told(&Question::new(words).session("s1").request("r2")).await;
                ending(&world, &run).await
            } else {
                says(&world, &run, words).await
            };
            assert_eq!(end["answer"], "East it is.", "{words}, in a chat: {in_chat}");
            let sees = world.model.wait_for_request(2).await.text().to_owned();
            assert!(sees.contains(words), "{words}, in a chat: {in_chat}: {sees}");
        }
    }
    // As fields.
    let world = world("en").await;
    let rule = world.model.on("Which region?").call("ask_user", questions("Which one?"));
    rule.then().reply("East it is.").always();
    let (run, _) = asked(&world, &Question::of("Which region?", "s1")).await;
    let body = json!({"feedbackId": "t1.c1", "feedback": {"region": "East"}});
    let answer = world.post(&format!("/api/feedback/{run}"), &body).await;
    assert_eq!((answer.status, &answer.json()["data"]["answer"]), (200, &json!("say")));
    ending(&world, &run).await;
    assert!(world.model.wait_for_request(2).await.text().contains(r#"{"region":"East"}"#));
}

#[tokio::test]
async fn a_planner_reads_the_answer_to_its_question_and_its_tasks_ask_nothing() {
    let world = world("en").await;
    planner(&world.model)
        .call("ask_user", questions("Which metal?"))
        .then()
        .say("Then so.")
        .call("planning", json!({"command": "create", "steps": ["look at copper"]}))
        .then()
        .call("planning", json!({"command": "finish"}));
    task(&world.model, "look at copper").reply("It is red.");
    summary(&world.model).reply("Copper is red.");
    let (run, _) = asked(&world, &Question::of("What of the metal?", "s1").deep()).await;
    assert_eq!(says(&world, &run, "The red one.").await["answer"], "Copper is red.");
    let requests = world.model.requests();
    assert!(requests[1].text().contains("The user answers:\nThe red one."));
    let task = requests.iter().find(|request| request.text().contains("Your step:")).unwrap();
    assert!(!task.offers_tool("ask_user"));
    world.model.assert_done();
}

#[tokio::test]
async fn a_question_in_another_form_is_shown_and_never_an_empty_line() {
    for arguments in [
        json!({"questions": "Which metal?"}),
        json!({"question": "Which metal?"}),
        json!({"questions": [{"question": "Which metal?"}]}),
        json!({"ask": "Which metal?"}),
    ] {
        let world = world("en").await;
        let rule = world.model.on("What of the metal?").call("ask_user", arguments.clone());
        rule.then().reply("Red.").always();
        let question = Question::of("What of the metal?", "s1");
        let frames = world.ask(Protocol::Ui, &question).await.rest().await;
        let last = frames.last().map(Frame::raw).unwrap();
        assert!(last["result"].as_str().unwrap().contains("Which metal?"), "{arguments}: {last}");
    }
}

#[tokio::test]
async fn question_with_choices_takes_a_choice_or_other_words() {
    for answer in ["gold", "The red one."] {
        let world = world("en").await;
        let offer = json!({"question": "Which metal?", "choices": ["gold", "zinc"]});
        let asks = json!({"questions": [offer, "Which year?"]});
        let rule = world.model.on("What of the metal?").call("ask_user", asks.clone());
        rule.then().reply("So be it.").always();
        let (run, ask) = asked(&world, &Question::of("What of the metal?", "s1")).await;
        assert_eq!(ask["arguments"], asks);
        assert_eq!(says(&world, &run, answer).await["answer"], "So be it.");
        assert!(world.model.wait_for_request(2).await.text().contains(answer), "{answer}");
        // The tool takes texts and questions with choices alike.
        let requests = world.model.requests();
        let tool = requests[0].tools().iter().find(|tool| tool.name == "ask_user").unwrap();
        let forms = &tool.schema["properties"]["questions"]["items"]["anyOf"];
        assert_eq!(forms[0]["type"], "string");
        assert_eq!(forms[1]["required"], json!(["question", "choices"]));
    }
    // A client that shows texts alone shows the choices, too.
    let world = world("en").await;
    let offer = json!({"questions": [{"question": "Which metal?", "choices": ["gold", "zinc"]}]});
    let rule = world.model.on("What of the metal?").call("ask_user", offer);
    rule.then().reply("Red.").always();
    let frames =
        world.ask(Protocol::Ui, &Question::of("What of the metal?", "s1")).await.rest().await;
    let last = frames.last().map(Frame::raw).unwrap();
    assert!(last["result"].as_str().unwrap().contains("- Which metal? (gold / zinc)"), "{last}");
}
