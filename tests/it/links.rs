//! Links by which people answer what a run asks, and open files, without credentials: each is good for one
//! ask or one content of a file, until it ends, and for nothing else.

mod active;
mod attached;
pub(crate) mod files;
mod refused;

use agent::{LinkKeys, LinkSettings, ResponseGrant};
use djinn_core::id::{RunId, TenantId, UserId};
use djinn_scripted::ScriptedModel;
use futures::future::join_all;
use reqwest::Method;
use reqwest::header::{ACCEPT_LANGUAGE, CONTENT_TYPE};
use serde_json::{Value, json};

use crate::human_requests::{APPROVAL, ending, waiting, waiting_about};
use crate::world::{
    Answer, Client, Frame, Options, Protocol, QUESTION, Question, SALES, World, employees, planner,
    script, settled, summary, task,
};

pub(crate) const LINK_KEY: &str = "0123456789abcdef0123456789abcdef-of-a-test";
const FORM: &str = "application/x-www-form-urlencoded";

/// Asks before files are written, waits for ever, and hands out links.
async fn linking() -> World {
    let on = |options: &mut Options, _: &ScriptedModel| {
        let human_requests = ("DJINN_PEOPLE__REQUESTS", APPROVAL.to_owned());
        options.vars.push(("DJINN_LINK_KEY", LINK_KEY.to_owned()));
        options.vars.push(human_requests);
    };
    let world = World::start_with(on).await;
    world.upload("s1", "sales.csv", SALES).await;
    script(&world.model, QUESTION).always();
    world
}

/// What a deployment with these links reads of its variables.
pub(crate) fn link_settings() -> LinkSettings {
    let var = |name: &str| (name == "DJINN_LINK_KEY").then(|| LINK_KEY.to_owned());
    LinkSettings::from_vars(&var).unwrap().unwrap()
}

fn keys() -> LinkKeys {
    LinkKeys::parse(LINK_KEY).unwrap()
}

/// The path of the link to an ask.
async fn link(client: &Client, run: &str, request: &str) -> String {
    let request = client.open_request(run, request).await;
    let link = request["link"].as_str().unwrap();
    link.strip_prefix(&client.url).unwrap().to_owned()
}

fn token(path: &str) -> &str {
    path.strip_prefix("/respond/").unwrap()
}

/// What a link grants.
fn granted(path: &str) -> ResponseGrant {
    keys().verify_response(token(path), 0).unwrap()
}

pub(crate) async fn post(client: &Client, path: &str, form: &[(&str, &str)]) -> Answer {
    let encoded = |text: &str| djinn_protocol::link::percent_encode(text);
    let pairs = form.iter().map(|(name, value)| format!("{name}={}", encoded(value)));
    let body = pairs.collect::<Vec<_>>().join("&");
    let request = client.request(Method::POST, path).header(CONTENT_TYPE, FORM).body(body);
    Answer::of(request.send().await.unwrap()).await
}

/// The code that a page carries for programs; empty if it carries none.
pub(crate) fn code(page: &str) -> &str {
    let (_, rest) = page.split_once("<meta name=\"code\" content=\"").unwrap_or_default();
    rest.split('"').next().unwrap_or_default()
}

/// A page without what differs between two runs of a test.
fn dated(page: &str) -> String {
    let (before, rest) = page.rsplit_once(" UTC").unwrap();
    let date = before.len() - "2026-11-21 21:47".len();
    format!("{}DATE UTC{rest}", &before[..date])
}

#[tokio::test]
async fn a_page_shows_what_is_asked_and_only_its_form_answers() {
    let world = linking().await;
    let (run, asked) = waiting(&world).await;
    let path = link(&world, &run, "t2.c1").await;
    let ask = &asked["requests"][0];
    let early = ask["link"].as_str().unwrap().strip_prefix(&world.url).unwrap();
    let (early, now) = (granted(early), granted(&path));
    assert_eq!((early.run.as_str(), now.digest.as_str()), (&*run, ask["digest"].as_str().unwrap()));
    let week_ms = 7 * 24 * 60 * 60 * 1000;
    let expiry_ms = asked["at_ms"].as_i64().unwrap() + week_ms;
    assert_eq!(early.expires_at_ms, expiry_ms / 1_000 * 1_000, "tokens count whole seconds");
    assert!((0..600_000).contains(&(now.expires_at_ms - early.expires_at_ms)));

    let before = world.settled_paused(&run).await;
    let _ = world.system.aws().request_counter().take_counts();
    let page = world.get(&path).await;
    for method in [Method::HEAD, Method::GET] {
        let again = Answer::of(world.request(method, &path).send().await.unwrap()).await;
        assert_eq!(again.status, 200);
    }
    let made = world.system.aws().request_counter().take_counts();
    assert!(made.keys().all(|name| ["GetItem", "Query"].contains(&name.as_str())), "{made:?}");
    assert_eq!(world.settled_paused(&run).await, before, "looking answers nothing");
    insta::assert_snapshot!("page_of_a_call", dated(&page.text));
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
        ("x-frame-options", "DENY"),
        ("x-content-type-options", "nosniff"),
        ("content-language", "en"),
    ] {
        assert_eq!(page.header(name), value, "{name}");
    }
    let policy = page.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe") && !page.text.contains("<script"), "{policy}");

    let form = [("words", "By\nmail."), ("instead", "{}"), ("response", "confirm")];
    let taken = post(&world, &path, &form).await;
    assert_eq!(taken.status, 200, "{}", taken.text);
    assert!(taken.text.contains("Your response was accepted"), "{}", taken.text);
    assert_eq!(ending(&world, &run).await["status"], "finished");
    let late = post(&world, &path, &[("response", "stop")]).await;
    assert_eq!((late.status, code(&late.text)), (409, "request_resolved"));
    assert!(late.text.contains("This request has a response: confirm"), "{}", late.text);
    assert!(late.text.contains("changed nothing") && !late.text.contains("you<"));
    let seen = world.get(&path).await;
    assert_eq!((seen.status, code(&seen.text)), (200, ""));
    assert!(
        seen.text.contains("This request has a response: confirm") && !seen.text.contains("<form")
    );

    let audit = world.get(&format!("/runs/{run}/audit")).await.text;
    let lines: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let answered = lines.iter().find(|line| line["what"] == "human.resolved").unwrap();
    let detail = &answered["detail"];
    assert_eq!((&detail["by"], &detail["via"]), (&json!("you"), &json!("link")));
    assert_eq!(detail["comment"], "By\nmail.");
    let journal = json!(settled(world.system.ports(), &run).await).to_string();
    assert!(!journal.contains(token(&path)) && !journal.contains("/respond/"), "{journal}");
}

#[tokio::test]
async fn a_page_speaks_the_runs_language_or_the_browsers() {
    let world = linking().await;
    let question = "哪个地区增长最快？";
    script(&world.model, question).always();
    let (run, _) = waiting_about(&world, question).await;
    let path = link(&world, &run, "t2.c1").await;
    let page = world.get(&path).await;
    assert_eq!(page.header("content-language"), "zh");
    insta::assert_snapshot!("page_of_a_call_in_chinese", dated(&page.text));
    let request = world.request(Method::GET, &path).header(ACCEPT_LANGUAGE, "en-GB, zh;q=0.5");
    let page = Answer::of(request.send().await.unwrap()).await;
    assert!(page.text.contains("<html lang=\"en\">"), "{}", page.text);
}

#[tokio::test]
async fn arguments_are_changed_by_a_link_and_wrong_ones_leave_it_waiting() {
    let world = linking().await;
    let (run, asked) = waiting(&world).await;
    let path = link(&world, &run, "t2.c1").await;
    let mut arguments = asked["requests"][0]["arguments"].clone();
    arguments["command"] = json!("dance");
    let wrong = arguments.to_string();
    for (given, part) in [
        (wrong.as_str(), "are invalid for `file_tool`"),
        ("{\"command\":", "are not valid JSON"),
        ("[]", "must be a JSON object"),
    ] {
        let form = [("response", "modify"), ("instead", given), ("words", "Better <so>.")];
        let page = post(&world, &path, &form).await;
        assert_eq!((page.status, code(&page.text)), (400, "invalid_field"), "{}", page.text);
        assert!(page.text.contains(part), "{given}: {}", page.text);
        assert!(page.text.contains(">\nBetter &lt;so&gt;.</textarea>"), "{}", page.text);
    }
    for (kind, status, code_of) in
        [("application/json", 415, "unsupported_body"), ("", 415, "unsupported_body")]
    {
        let request = world.request(Method::POST, &path).header(CONTENT_TYPE, kind);
        let page = Answer::of(request.body("response=confirm").send().await.unwrap()).await;
        assert_eq!((page.status, code(&page.text)), (status, code_of), "{kind}");
    }
    let long = "x".repeat(600_000);
    let page = post(&world, &path, &[("response", "say"), ("words", &long)]).await;
    assert_eq!((page.status, code(&page.text)), (413, "body_too_large"));
    let page = post(&world, &path, &[]).await;
    assert_eq!((page.status, code(&page.text)), (400, "invalid_field"));
    assert!(world.open_request(&run, "t2.c1").await.is_object(), "it waits on");

    (arguments["command"], arguments["filename"]) = (json!("upload"), json!("east.md"));
    let form = [("response", "modify"), ("instead", &*arguments.to_string())];
    assert_eq!(post(&world, &path, &form).await.status, 200);
    assert_eq!(ending(&world, &run).await["status"], "finished");
    let files = world.get("/sessions/s1").await.json()["files"].to_string();
    assert!(files.contains("east.md") && !files.contains("growth.md"), "{files}");
}

#[tokio::test]
async fn a_run_is_stopped_and_a_model_is_told_words_by_link() {
    let world = linking().await;
    let (run, _) = waiting(&world).await;
    let path = link(&world, &run, "t2.c1").await;
    assert_eq!(post(&world, &path, &[("response", "stop")]).await.status, 200);
    assert_eq!(ending(&world, &run).await["status"], "stopped");

    let world = linking().await;
    let (run, _) = waiting(&world).await;
    let path = link(&world, &run, "t2.c1").await;
    let form = [("response", "say"), ("words", "Use a table instead.")];
    assert_eq!(post(&world, &path, &form).await.status, 200);
    assert_eq!(ending(&world, &run).await["status"], "finished");
    assert!(world.model.wait_for_request(3).await.text().contains("Use a table instead."));
}

#[tokio::test]
async fn of_many_answers_by_the_same_link_one_counts() {
    let world = linking().await;
    let (run, _) = waiting(&world).await;
    let path = link(&world, &run, "t2.c1").await;
    let form = [("response", "confirm")];
    let answers = join_all((0..20).map(|_| post(&world, &path, &form))).await;
    let taken = answers.iter().filter(|answer| answer.status == 200).count();
    let late = answers.iter().filter(|answer| code(&answer.text) == "request_resolved").count();
    assert_eq!((taken, late), (1, 19));
    assert_eq!(ending(&world, &run).await["status"], "finished");
}

#[tokio::test]
async fn an_answer_elsewhere_ends_a_link_and_so_does_the_end_of_its_run() {
    let world = linking().await;
    let (run, _) = waiting(&world).await;
    let path = link(&world, &run, "t2.c1").await;
    assert_eq!(world.delete(&format!("/runs/{run}/requests/t2.c1")).await.status, 200);
    let late = post(&world, &path, &[("response", "confirm")]).await;
    assert_eq!((late.status, code(&late.text)), (409, "request_resolved"));
    assert!(late.text.contains("This request has a response: skip"), "{}", late.text);

    let world = linking().await;
    let (run, _) = waiting(&world).await;
    let path = link(&world, &run, "t2.c1").await;
    world.stop(&run).await;
    assert_eq!(ending(&world, &run).await["status"], "stopped");
    for page in [world.get(&path).await, post(&world, &path, &[("response", "confirm")]).await] {
        assert_eq!((page.status, code(&page.text)), (409, "request_closed"), "{}", page.text);
    }
    assert_eq!(world.delete("/sessions/s1").await.status, 204);
    assert_eq!(world.get(&path).await.status, 404, "what was deleted is not there");
}

/// What a browser makes of a text in HTML.
fn unescaped(html: &str) -> String {
    let marks = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#x27;", "'"),
        ("&#x2f;", "/"),
        ("&amp;", "&"),
    ];
    marks.iter().fold(html.to_owned(), |text, (mark, sign)| text.replace(mark, sign))
}

#[tokio::test]
async fn what_a_model_wrote_is_shown_and_never_obeyed() {
    let world = linking().await;
    let evil = "</pre></textarea><script>alert(1)</script>\u{202e}&#34;' onload=x";
    let upload = json!({"command": "upload", "filename": "a.md", "content": evil});
    let rule = world.model.on("Write it.").say(evil).call("file_tool", upload);
    rule.then().reply("Done.").always();
    let stream = world.ask(Protocol::Native, &Question::of("Write it.", "s2")).await;
    let (run, _) = (stream.run(), stream.rest().await);
    let path = link(&world, &run, "t1.c1").await;
    let page = world.get(&path).await.text;
    assert!(!page.contains("<script") && !page.contains('\u{202e}'), "{page}");
    for element in ["</pre>", "</textarea>", "</form>"] {
        let expected = if element == "</textarea>" { 2 } else { 1 };
        assert_eq!(page.matches(element).count(), expected, "{element} in {page}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)") && page.contains("\\u202e&amp;#34;"), "{page}");
    // What the page holds at first is what is asked about.
    let (_, rest) = page.split_once("name=\"instead\"").unwrap();
    let held = rest.split_once(">\n").unwrap().1.split_once("</textarea>").unwrap().0;
    let held: Value = serde_json::from_str(&unescaped(held)).unwrap();
    assert_eq!(held["content"], evil);
}

#[tokio::test]
async fn what_stopped_goes_on_by_link() {
    let world = linking().await;
    let rule = world.model.on("Anything new?").error(402, "x", None, "Insufficient Balance");
    rule.then().reply("Nothing new.");
    let stream = world.ask(Protocol::Native, &Question::of("Anything new?", "s2")).await;
    let (run, frames) = (stream.run(), stream.rest().await);
    let asked = frames.iter().find(|frame| frame.event() == "human.requested").map(Frame::json);
    let request = asked.unwrap()["requests"][0]["id"].as_str().unwrap().to_owned();
    let path = link(&world, &run, &request).await;
    let page = world.get(&path).await.text;
    assert!(page.contains("Add credit") && page.contains(">Continue</button>"), "{page}");
    assert!(!page.contains("name=\"instead\""), "{page}");
    assert_eq!(post(&world, &path, &[("response", "confirm")]).await.status, 200);
    assert_eq!(ending(&world, &run).await["answer"], "Nothing new.");
}

#[tokio::test]
async fn joyagents_clients_get_links_too_and_none_outlives_its_question() {
    let human_requests = r#"{"enabled": true, "timeout": 3600}"#;
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_PEOPLE__REQUESTS", human_requests.to_owned()));
        options.vars.push(("DJINN_LINK_KEY", format!("{LINK_KEY},{}", "o".repeat(32))));
        options.vars.push(("DJINN_LINK_URL", "https://answers.example.org/live/".to_owned()));
    })
    .await;
    world.upload("s1", "sales.csv", SALES).await;
    script(&world.model, QUESTION).always();
    let frames = world.ask(Protocol::Raw, &Question::of(QUESTION, "s1")).await.rest().await;
    let raw: Vec<Value> = frames.iter().map(Frame::raw).collect();
    let request = raw.iter().find(|event| event["messageType"] == "human_feedback_request");
    let request = &request.unwrap()["resultMap"];
    let link = request["link"].as_str().unwrap();
    let path = link.strip_prefix("https://answers.example.org/live").unwrap();
    let until_ms = request["timestamp"].as_i64().unwrap() + 3_600_000;
    assert_eq!(granted(path).expires_at_ms, until_ms / 1_000 * 1_000);
    let pending = world.get("/api/feedback/pending/s1").await.json();
    assert_eq!(pending["data"]["t2.c1"]["link"], link, "until then it is the same");
    assert_eq!(post(&world, path, &[("response", "skip")]).await.status, 200);
}

/// A grant of the laptop's user.
pub(crate) fn grant_of(run: &str, request: &str, digest: &str) -> ResponseGrant {
    ResponseGrant {
        tenant: TenantId::new("local").unwrap(),
        user: UserId::new("you").unwrap(),
        run: RunId::new(run).unwrap(),
        human_request: djinn_core::id::HumanRequestId::new(request).unwrap(),
        digest: digest.to_owned(),
        expires_at_ms: i64::MAX,
    }
}

#[tokio::test]
async fn steps_and_their_results_are_looked_at_by_link() {
    let human_requests = r#"{"confirm_steps": ["gold"], "confirm_results": true, "timeout": 0}"#;
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_PEOPLE__REQUESTS", human_requests.to_owned()));
        options.vars.push(("DJINN_LINK_KEY", LINK_KEY.to_owned()));
    })
    .await;
    planner(&world.model)
        .call("planning", json!({"command": "create", "title": "Gold", "steps": ["look at gold"]}))
        .then()
        .call("planning", json!({"command": "finish"}));
    employees(&world.model).reply("{}").always();
    let report = json!({"command": "upload", "filename": "silver.html", "content": "<h1>1</h1>"});
    let rule = task(&world.model, "look at\nsilver").call("file_tool", report);
    rule.then().reply("It is cheap.");
    summary(&world.model).reply("Silver is <not> dear.");
    let question = Question::of("What is the price of gold?", "s1").deep();
    let stream = world.ask(Protocol::Native, &question).await;
    let (run, _) = (stream.run(), stream.rest().await);
    let mut answers = [
        ("look at gold", "Confirm", "look at\r\nsilver"),
        ("It is cheap.", "Yes, continue", "It is <not> dear."),
    ]
    .into_iter();
    let mut asked = 0;
    while asked < 2 {
        let open = world.open_requests(&run).await;
        let Some(id) = open.first().and_then(|request| request["id"].as_str()) else {
            let _ = world.come_back(&run, None).await.rest().await;
            continue;
        };
        let path = link(&world, &run, id).await;
        let page = world.get(&path).await.text;
        let (shown, button, instead) = answers.next().unwrap();
        assert!(page.contains(&format!("<pre>{shown}</pre>")), "{page}");
        assert!(page.contains(&format!(">{button}</button>")), "{page}");
        if asked == 1 {
            let (_, url) = page.split_once("href=\"").unwrap();
            let url = unescaped(url.split('"').next().unwrap());
            assert_eq!(world.follow(&url).await.text, "<h1>1</h1>", "who judges a result sees it");
        }
        let empty = post(&world, &path, &[("response", "modify"), ("instead", "")]).await;
        assert_eq!((empty.status, code(&empty.text)), (400, "invalid_field"), "{}", empty.text);
        let given = post(&world, &path, &[("response", "modify"), ("instead", instead)]).await;
        assert_eq!(given.status, 200, "{}", given.text);
        asked += 1;
    }
    assert_eq!(ending(&world, &run).await["answer"], "Silver is <not> dear.");
    assert!(world.model.last_request().unwrap().text().contains("It is <not> dear."));
}

#[tokio::test]
async fn a_budget_is_topped_up_by_link_with_no_more_than_is_offered() {
    let world = World::start_with(|options, _| {
        let human_requests = r#"{"enabled": true, "timeout": 0}"#;
        options.vars.push(("DJINN_PEOPLE__REQUESTS", human_requests.to_owned()));
        options.vars.push(("DJINN_LIMITS__MAX_TOKENS", "1000".to_owned()));
        options.vars.push(("DJINN_LINK_KEY", LINK_KEY.to_owned()));
    })
    .await;
    world.upload("s1", "sales.csv", SALES).await;
    let read = json!({"command": "get", "filename": "sales.csv"});
    let rule = world.model.on("How did it go?").call("file_tool", read).usage(900, 200, 0);
    rule.then().reply("It went well, in short.");
    let stream = world.ask(Protocol::Native, &Question::of("How did it go?", "s1")).await;
    let (run, _) = (stream.run(), stream.rest().await);
    let path = link(&world, &run, "budget.1").await;
    let page = world.get(&path).await.text;
    assert!(page.contains("&quot;tokens&quot;: 1000,"), "{page}");
    assert!(page.contains(">Summarize the results so far</button>"), "{page}");
    let form = |tokens| json!({"tokens": tokens}).to_string();
    let too_much = post(&world, &path, &[("response", "modify"), ("instead", &form(1_001))]).await;
    assert_eq!((too_much.status, code(&too_much.text)), (400, "invalid_field"));
    assert_eq!(world.model.requests().len(), 1, "nothing is bought unasked");
    let enough = post(&world, &path, &[("response", "modify"), ("instead", &form(500))]).await;
    assert_eq!(enough.status, 200, "{}", enough.text);
    assert_eq!(ending(&world, &run).await["answer"], "It went well, in short.");
}
