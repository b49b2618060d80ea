//! What a user of JoyAgent's page sees and can do, over HTTP: its own reducers read our streams.

#[path = "../../shared/protocol/tests/it/page.rs"]
mod page;

use djinn_scripted::ScriptedModel;
use serde_json::{Value, json};

use crate::human_requests::APPROVAL;
use crate::world::{
    COMPARE, Frame, Options, Protocol, QUESTION, Question, SALES, World, employees, planner,
    script, script_plan, summary, task,
};
use page::{Chip, Page};

/// The page after these frames.
pub(crate) fn shown(protocol: Protocol, deep: bool, frames: &[Frame]) -> Page {
    let data = frames.iter().filter_map(Frame::received).map(|frame| frame.data.as_str());
    match protocol {
        Protocol::Ui => Page::of_ui(deep, data),
        Protocol::Raw => Page::of_raw(deep, data),
        Protocol::Native => unreachable!("no protocol of JoyAgent's"),
    }
}

fn only_lane(page: &Page) -> Vec<Chip> {
    let mut lanes = page.lanes();
    assert_eq!(lanes.len(), 1, "{page:#?}");
    lanes.swap_remove(0).chips
}

async fn asked(world: &World, body: Value) -> Vec<Frame> {
    let request = world.request(reqwest::Method::POST, Protocol::Ui.path()).json(&body);
    world.ask_with(request).await.rest().await
}

fn write(name: &str, content: &str) -> Value {
    json!({"command": "upload", "filename": name, "description": "", "content": content})
}

#[tokio::test]
async fn pages_and_slides_are_rendered_and_a_table_without_rows_breaks_nothing() {
    for (style, kind) in [("html", "html"), ("ppt", "ppt")] {
        let world = World::start().await;
        world.upload("s1", "given.csv", "a,b\r\n").await;
        let pages = world.model.on("A page?").say("I write.");
        pages
            .call("file_tool", write("page.html", "<h1>Gold</h1>"))
            .call("file_tool", write("empty.csv", "region,year\n"))
            .call("file_tool", write("full.csv", "region,year\nEast,2024\n"))
            .call("file_tool", write("slides.ppt", "Gold"))
            .call("file_tool", json!({"command": "get", "filename": "given.csv"}))
            .then()
            .reply("It is in page.html and empty.csv.")
            .always();
        let body = json!({
            "query": "A page?", "sessionId": "s1", "requestId": "r1", "deepThink": 0,
            "outputStyle": style,
        });
        let frames = asked(&world, body).await;
        let page = shown(Protocol::Ui, false, &frames);
        page.check_unlocked();
        let chips = only_lane(&page);
        let of = |name: &str| {
            let named = |chip: &&Chip| chip.files.iter().any(|file| file == name);
            chips.iter().find(named).unwrap_or_else(|| panic!("no {name} in {chips:#?}"))
        };
        assert_eq!(of("page.html").kind, kind);
        assert_eq!(of("full.csv").kind, "file");
        assert_eq!(of("slides.ppt.txt").kind, "file");
        assert_eq!(of("empty.csv.txt").kind, "markdown");
        assert_eq!(of("given.csv.txt").kind, "markdown");
        // One click on a name opens what is called a table as one: its viewer breaks where no row is.
        let files = files_of(&frames);
        assert!(files.iter().filter(|(name, _)| name.starts_with("empty.csv")).count() >= 2);
        for (name, link) in files {
            if name.ends_with(".csv") {
                let table = world.follow(&link).await.text;
                assert!(table.lines().filter(|line| !line.trim().is_empty()).count() > 1, "{name}");
            }
        }
        let event = frames.iter().map(Frame::raw).find(|event| event["messageType"] == kind);
        let info = event.unwrap()["resultMap"]["fileInfo"][0].clone();
        let preview = info["domainUrl"].as_str().unwrap();
        assert!(preview.contains("/preview/") && preview.ends_with("page.html"), "{preview}");
    }
}

/// The names of all files that frames tell of, and where they are looked at.
fn files_of(frames: &[Frame]) -> Vec<(String, String)> {
    let lists = frames
        .iter()
        .map(Frame::raw)
        .flat_map(|event| ["fileInfo", "fileList"].map(|list| event["resultMap"][list].clone()));
    let files = lists.flat_map(|list| list.as_array().cloned().unwrap_or_default());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    files.map(|file| (text(&file["fileName"]), text(&file["domainUrl"]))).collect()
}

#[tokio::test]
async fn a_deep_run_is_a_page_of_lanes_with_all_thoughts_and_every_text_once() {
    for protocol in [Protocol::Ui, Protocol::Raw] {
        let world = World::start().await;
        script_plan(&world.model);
        world.upload("s1", "sales.csv", SALES).await;
        let question = Question::of(COMPARE, "s1").deep();
        let frames = world.ask(protocol, &question).await.rest().await;
        let page = shown(protocol, true, &frames);
        page.check_unlocked();
        for thought in ["each region by itself", "what is missing", "That answers it."] {
            assert!(page.thought.contains(thought), "{}", page.thought);
        }
        let lanes = page.lanes();
        let of_tasks: Vec<_> = lanes.iter().filter(|lane| !lane.title.is_empty()).collect();
        assert_eq!(of_tasks.len(), 4, "{lanes:#?}");
        assert_eq!(page.plan["steps"].as_array().unwrap().len(), 4);
        for lane in of_tasks {
            let results = lane.chips.iter().filter(|chip| chip.kind == "task_summary");
            assert_eq!(results.count(), 1, "{lane:#?}");
        }
        assert_eq!(page.conclusion().unwrap().files, ["regions.md"]);
    }
}

#[tokio::test]
async fn what_a_model_thinks_and_what_fails_is_shown_while_it_works() {
    for protocol in [Protocol::Ui, Protocol::Raw] {
        let world = World::start().await;
        let rule = world.model.on("Why?").reason("Let me think of x.").say("I look.");
        rule.call("file_tool", json!({"command": "get", "filename": "nowhere.md"}))
            .call_unknown("dance", json!({}))
            .then()
            .reason("So it is four.")
            .reply("Four.")
            .then()
            .reply("It is four.");
        let question = Question::of("Why?", &format!("{protocol:?}"));
        let frames = world.ask(protocol, &question).await.rest().await;
        let page = shown(protocol, false, &frames);
        page.check_unlocked();
        let chips = only_lane(&page);
        let texts: Vec<&str> = chips.iter().map(|chip| chip.text.as_str()).collect();
        for wanted in ["Let me think of x.", "I look.", "`file_tool`: ", "`dance`: no such tool"] {
            assert!(texts.iter().any(|text| text.contains(wanted)), "no {wanted} in {texts:#?}");
        }
    }
}

#[tokio::test]
async fn a_text_that_was_cut_says_so_in_every_protocol() {
    let world = World::start().await;
    let rule = world.model.on("A story?").say("Once upon a time").finish("content_filter");
    rule.always();
    for protocol in Protocol::ALL {
        let session = format!("{protocol:?}");
        let question = Question::of("A story?", &session);
        let stream = world.ask(protocol, &question).await;
        let (run, frames) = (stream.run(), stream.rest().await);
        let last = frames.last().unwrap();
        if protocol == Protocol::Native {
            assert_eq!(
                (&last.json()["answer"], &last.json()["finish"]),
                (&json!("Once upon a time"), &json!("filtered"))
            );
            let view = world.get(&format!("/runs/{run}")).await.json();
            assert_eq!(view["finish"], "filtered", "{view}");
        } else {
            let result = last.raw()["result"].as_str().unwrap().to_owned();
            assert_eq!(result, "Once upon a time\n\n[Cut: by the provider's content filter.]");
            shown(protocol, false, &frames).check_unlocked();
        }
    }
}

#[tokio::test]
async fn a_tasks_text_that_was_cut_says_so_in_its_lane() {
    let world = World::start().await;
    let plan = json!({"command": "create", "title": "t", "steps": ["Tell: a story"]});
    planner(&world.model)
        .say("One step.")
        .call("planning", plan)
        .then()
        .say("Done.")
        .call("planning", json!({"command": "finish"}));
    task(&world.model, "Tell: a story").say("Once upon").finish("content_filter");
    employees(&world.model).reply("{}").always();
    summary(&world.model).reply("A story was begun.");
    let question = Question::of("Tell me a story", "s1").deep();
    let frames = world.ask(Protocol::Ui, &question).await.rest().await;
    let page = shown(Protocol::Ui, true, &frames);
    page.check_unlocked();
    let lanes = page.lanes();
    let result = lanes[0].chips.iter().find(|chip| chip.kind == "task_summary").unwrap();
    assert!(result.text.starts_with("Once upon\n\n[Cut: "), "{result:?}");
}

/// The question in Chinese: the deployment speaks English, and answers in the words of its asker.
const CHINESE_QUESTION: &str = "哪个地区增长最快？";

async fn approving(question: &str) -> World {
    let on = move |options: &mut Options, _: &ScriptedModel| {
        options.vars.push(("DJINN_PEOPLE__REQUESTS", APPROVAL.to_owned()));
    };
    let world = World::start_with(on).await;
    world.upload("s1", "sales.csv", SALES).await;
    script(&world.model, question).always();
    world
}

fn of_kind(frames: &[Frame], kind: &str) -> Option<Value> {
    let mut raw = frames.iter().map(Frame::raw);
    raw.find(|event| event["messageType"] == kind).map(|event| event["resultMap"].clone())
}

/// Says something in the session's chat, and follows until the run has ended.
async fn said(world: &World, protocol: Protocol, text: &str, request: &str) -> Vec<Frame> {
    let words = Question::new(text).session("s1").request(request);
    let mut frames = world.ask(protocol, &words).await.rest().await;
    for nth in 0..20 {
        if frames.last().unwrap().raw()["messageId"].as_str().unwrap().ends_with(".end") {
            break;
        }
        let on = Question::new("继续").session("s1").request(&format!("{request}.{nth}"));
        frames = world.ask(protocol, &on).await.rest().await;
    }
    frames
}

#[tokio::test]
async fn people_answer_in_chinese_and_see_what_follows_the_question() {
    for protocol in [Protocol::Ui, Protocol::Raw] {
        let world = approving(CHINESE_QUESTION).await;
        let frames = world.ask(protocol, &Question::of(CHINESE_QUESTION, "s1")).await.rest().await;
        let page = shown(protocol, false, &frames);
        page.check();
        let last = frames.last().unwrap().raw()["result"].as_str().unwrap().to_owned();
        assert!(last.contains("请回复“同意”“跳过”或“停止”"), "{last}");
        assert!(last.contains("修改 {"), "{last}");
        assert!(last.contains("\n  - filename: growth.md\n"), "{last}");
        let fields = of_kind(&frames, "parameter_modification_request").unwrap();
        let fields = fields["modifiableFields"].as_array().unwrap().clone();
        assert!(fields.iter().all(|field| field["description"] != ""), "{fields:#?}");

        // Who follows it once more is asked by the label that an answer can be sent to.
        for (nth, words) in ["继续", "继续。", " Continue! "].into_iter().enumerate() {
            let on = Question::new(words).session("s1").request(&format!("r2.{nth}"));
            let again = world.ask(protocol, &on).await.rest().await;
            let request = of_kind(&again, "human_feedback_request").unwrap();
            assert_eq!(request["requestId"], "r1", "{words}: {request}");
            shown(protocol, false, &again).check();
        }
        let files = world.get("/sessions/s1").await.json();
        assert_eq!(files["files"].as_array().unwrap().len(), 1, "nobody has consented");

        let frames = said(&world, protocol, "同意", "r3").await;
        let page = shown(protocol, false, &frames);
        page.check_unlocked();
        assert!(page.conclusion().unwrap().text.contains("East grew fastest"));
        let text: String = frames.iter().map(|frame| frame.raw().to_string()).collect();
        assert!(!text.contains("I read the sales first."), "what was before is told again");
        let files = world.get("/sessions/s1").await.json();
        assert_eq!(files["files"].as_array().unwrap().len(), 2);
    }
}

#[tokio::test]
async fn an_answer_is_an_event_and_every_word_of_it_is_understood() {
    for (words, taken) in [
        ("跳过", "skip"),
        ("停止", "stop"),
        ("取消", "stop"),
        (r#"修改 {"filename": "east.md"}"#, "modify"),
        ("请用表格", "say"),
    ] {
        let world = approving(CHINESE_QUESTION).await;
        world.ask(Protocol::Ui, &Question::of(CHINESE_QUESTION, "s1")).await.rest().await;
        let words = Question::new(words).session("s1").request("r2");
        let frames = world.ask(Protocol::Ui, &words).await.rest().await;
        let answered = of_kind(&frames, "human_feedback_answered");
        let answered = answered.unwrap_or_else(|| panic!("{words:?}: {frames:#?}"));
        assert_eq!(
            (&answered["feedback"], &answered["requestId"], &answered["feedbackId"]),
            (&json!(taken), &json!("r1"), &json!("t2.c1")),
        );
        if taken == "modify" {
            assert_eq!(answered["parameters"]["filename"], "east.md");
            assert_eq!(answered["parameters"]["command"], "upload", "the rest stays");
        }
    }
}

#[tokio::test]
async fn change_of_an_argument_that_the_tool_does_not_have_is_an_error() {
    let world = approving(CHINESE_QUESTION).await;
    world.ask(Protocol::Ui, &Question::of(CHINESE_QUESTION, "s1")).await.rest().await;
    let words = Question::new(r#"修改 {"nope": 1}"#).session("s1").request("r2");
    let frames = world.ask(Protocol::Ui, &words).await.rest().await;
    let page = shown(Protocol::Ui, false, &frames);
    page.check_unlocked();
    let told = page.conclusion().unwrap().text;
    assert!(told.contains("未知参数：nope") && told.contains("filename"), "{told}");
    let body = json!({"feedbackId": "t2.c1", "feedback": {"command": "list", "nope": 1}});
    let answer = world.post("/api/feedback/r1", &body).await;
    assert_eq!((answer.status, &answer.json()["code"]), (400, &json!("invalid_field")));
    let files = world.get("/sessions/s1").await.json();
    assert_eq!(files["files"].as_array().unwrap().len(), 1, "the call is not made");
    // It is still asked, and the right name is taken.
    let words = Question::new(r#"修改 {"filename": "east.md"}"#).session("s1").request("r3");
    let frames = world.ask(Protocol::Ui, &words).await.rest().await;
    assert!(of_kind(&frames, "human_feedback_answered").is_some(), "{frames:#?}");
}

#[tokio::test]
async fn feedback_routes_find_a_run_by_its_request_or_its_session() {
    let world = approving(QUESTION).await;
    let stream = world.ask(Protocol::Raw, &Question::of(QUESTION, "s1")).await;
    let run = stream.run();
    stream.rest().await;
    for label in ["r1", "s1", run.as_str()] {
        let pending = world.get(&format!("/api/feedback/pending/{label}")).await.json();
        assert_eq!((&pending["success"], &pending["run"]), (&json!(true), &json!(run)), "{label}");
        assert_eq!(pending["data"]["t2.c1"]["id"], "t2.c1", "{label}");
    }
    let missing = world.delete("/api/feedback/r1/t9.c9").await;
    let (code, success) = (missing.json()["code"].clone(), missing.json()["success"].clone());
    assert_eq!((missing.status, code, success), (404, json!("request_not_found"), json!(false)));
    let skipped = world.delete("/api/feedback/r1/t2.c1").await;
    assert_eq!((skipped.status, &skipped.json()["data"]["answer"]), (200, &json!("skip")));
    let late = world.delete("/api/feedback/s1/t2.c1").await;
    assert!([404, 409].contains(&late.status), "{}", late.text);
}

#[tokio::test]
async fn parameters_in_the_place_of_an_answer_change_the_call_and_the_model_is_told_why() {
    for as_text in [true, false] {
        let world = approving(QUESTION).await;
        let frames = world.ask(Protocol::Ui, &Question::of(QUESTION, "s1")).await.rest().await;
        let asked = of_kind(&frames, "parameter_modification_request").unwrap();
        let mut parameters = asked["currentParameters"].clone();
        parameters["filename"] = json!("east.md");
        let feedback = if as_text { json!(parameters.to_string()) } else { parameters };
        let body =
            json!({"feedbackId": "t2.c1", "feedback": feedback, "comment": "A better name."});
        let answer = world.post("/api/feedback/r1", &body).await;
        assert_eq!((answer.status, &answer.json()["data"]["answer"]), (200, &json!("modify")));
        said(&world, Protocol::Ui, "continue", "r2").await;
        let told = world.model.wait_for_request(3).await.text().to_owned();
        assert!(told.contains("The user changed the arguments"), "{told}");
        assert!(told.contains("A better name."), "{told}");
    }
}

#[tokio::test]
async fn a_plan_that_is_to_be_looked_at_is_a_list() {
    let world = World::start_with(|options, _| {
        let confirm = r#"{"enabled": true, "timeout": 0, "risk": "high", "confirm_plan": true}"#;
        options.vars.push(("DJINN_PEOPLE__REQUESTS", confirm.to_owned()));
        options.vars.push(("DJINN_LANGUAGE", "zh".to_owned()));
    })
    .await;
    let plan = json!({
        "command": "create", "title": "金价", "steps": ["查询：收集金价", "报告：写成网页"],
    });
    planner(&world.model).say("先查后写。").call("planning", plan);
    let question = Question::of("黄金走势？", "s1").deep();
    let frames = world.ask(Protocol::Ui, &question).await.rest().await;
    shown(Protocol::Ui, true, &frames).check_unlocked();
    let asked = frames.last().unwrap().raw()["result"].as_str().unwrap().to_owned();
    assert!(asked.contains("请确认计划：金价\n1. 查询"), "{asked}");
    assert!(asked.contains("\n2. 报告") && !asked.contains("\"command\""), "{asked}");
}

#[tokio::test]
async fn our_own_words_have_the_language_of_the_question() {
    for (deployment, question, below, is_chinese) in [
        ("en", "哪个地区增长最快？", "回答见下方", true),
        ("zh", "Which region grew fastest?", "The answer is below.", false),
        // This tells no language.
        ("zh", "2+2=?", "回答见下方", true),
    ] {
        let world = World::start_with(|options, _| {
            options.vars.push(("DJINN_LANGUAGE", deployment.to_owned()));
        })
        .await;
        world.model.on(question).reply("North.").always();
        let frames = world.ask(Protocol::Ui, &Question::of(question, "s1")).await.rest().await;
        let page = shown(Protocol::Ui, false, &frames);
        page.check_unlocked();
        let texts: Vec<String> = only_lane(&page).into_iter().map(|chip| chip.text).collect();
        assert!(
            texts.iter().any(|text| text.contains(below)),
            "{deployment} {question}: {texts:?}"
        );
        // So do refusals of a question, and what the model is told.
        let body = json!({"question": question, "session_id": "s 2/"});
        let problem = world.post("/runs", &body).await.json()["message"].to_string();
        assert_eq!(problem.contains('。'), is_chinese, "{problem}");
        let system = world.model.requests()[0].system().to_owned();
        assert_eq!(system.contains('。'), is_chinese, "{system}");
    }
}
