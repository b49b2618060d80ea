//! The web: pages that are read, searches that cite, and what no page can have a run send out.

mod hostile;
mod injected;
mod large;

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agents::{at, path_of};
use crate::code::completed;
use crate::configuration::write;
use crate::world::{Frame, Protocol, Question, Site, World};

const QUESTION: &str = "How warm is it?";

/// A system whose engine is the site's, and which reads its pages.
async fn start(site: &Site, engines: &str) -> World {
    World::start_with(|options, _| {
        options.vars.push(("DJINN_AGENTS__OFFERED", "all".to_owned()));
        options.vars.push(("DJINN_SEARCH__ENGINES", engines.to_owned()));
        options.vars.push(("DJINN_EGRESS_ORIGINS", site.url.clone()));
        options.vars.push(("ENGINE_KEY", "engine-key-1".to_owned()));
    })
    .await
}

/// The text that a call came to.
fn text_of(frames: &[Frame], call: &str) -> String {
    let result = completed(frames, &format!("{call}.result"))[0].json()["result"].clone();
    let text = result["text"].as_str().or(result["detail"].as_str());
    text.unwrap_or_else(|| panic!("{result}")).to_owned()
}

fn search() -> Value {
    json!({"query": QUESTION})
}

#[tokio::test]
async fn an_answer_cites_pages_that_were_read_in_two_rounds() {
    let site = Site::start().await;
    site.put_page("/gold", "Of gold", "Gold is warm at 4 degrees. Buy now.");
    site.put_page("/iron", "Of iron", "Iron is warm at 9 degrees.");
    site.put_page("/zinc", "Of zinc", "Zinc is cold.");
    site.put("/robots.txt", "text/plain", "User-agent: *\nDisallow: /zinc");
    let world = start(&site, &site.engine("searxng")).await;
    at(&world.model, "").call("deep_search", search()).then().reply("It is 4.");
    at(&world.model, "t1.c1")
        .call("search_round", json!({"queries": ["gold", "iron"]}))
        .then()
        .call("search_round", json!({"queries": ["zinc gold"]}))
        .then()
        .reply("Gold 4 [1], iron 9 [2], zinc [3].");
    let frames = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;
    assert_eq!(frames.last().unwrap().json()["status"], "finished");
    let (gold, iron) = (site.page_url("/gold"), site.page_url("/iron"));
    let expected = format!(
        "Gold 4 [1], iron 9 [2], zinc.\n\n## Sources\n\n- [1] [Of gold]({gold})\n- [2] [Of iron]({iron})\n\n\
         *Citations that were taken out, since no page of their number was read: 1.*"
    );
    assert_eq!(text_of(&frames, "t1.c1"), expected);
    let sources = json!([
        {"n": 1, "title": "Of gold", "url": gold}, {"n": 2, "title": "Of iron", "url": iron},
    ]);
    let result = completed(&frames, "t1.c1.result")[0].json()["result"].clone();
    assert_eq!(result["citations"], sources);
    // What the searching agent was told, round by round.
    let first = text_of(&frames, "t1.c1.t1.c1");
    assert!(
        first.contains("# Query: gold") && first.contains("Gold is warm at 4 degrees."),
        "{first}"
    );
    let second = text_of(&frames, "t1.c1.t2.c1");
    assert!(second.contains(&format!("[1] {gold} was read before")), "{second}");
    assert!(second.contains("The site does not allow programs to read it"), "{second}");
    // What clients are shown.
    let round = completed(&frames, "t1.c1.t1.c1.result")[0].json();
    let view = &round["result"]["view"];
    assert_eq!((&view["kind"], &view["results"][1]["query"]), (&json!("searched"), &json!("iron")));
    assert_eq!(view["results"][1]["pages"][0]["url"], iron);
    let listed = json!({"requestId": "s1", "page": 1, "pageSize": 9});
    let listed = world.post("/v1/file_tool/get_file_list", &listed).await.text;
    for name in ["search results - How warm is it.md", "How warm is it_search_result.txt"] {
        assert!(listed.contains(name), "{name}: {listed}");
    }
}

#[tokio::test]
async fn answer_with_a_list_of_sources_names_them_in_every_form() {
    let world = World::start().await;
    let answer = "Gold is warm [1].\n\n## Sources\n\n- [1] [\\[Of\\] gold](https://a.test/gold)\n\
                  - [2] [Not a page](javascript:alert)";
    let note = json!({"command": "upload", "filename": "gold.md", "content": "Warm."});
    at(&world.model, "").call("file_tool", note).then().reply(answer);
    let frames = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;
    let ended = frames.last().unwrap().json();
    let sources = json!([{"n": 1, "title": "[Of] gold", "url": "https://a.test/gold"}]);
    assert_eq!((&ended["answer"], &ended["citations"]), (&json!(answer), &sources));
    let turn = world.get("/sessions/s1").await.json()["turns"][0].clone();
    assert_eq!((&turn["citations"], &turn["files"]), (&sources, &json!(["gold.md"])), "{turn}");
    let run = world.get(&format!("/runs/{}", turn["run"].as_str().unwrap())).await.json();
    assert_eq!(run["citations"], sources, "{run}");
    // An answer without sources has no field for them.
    at(&world.model, "").reply("It is 4 [1].");
    let frames = world.ask(Protocol::Native, &Question::of(QUESTION, "s2")).await.rest().await;
    let ended = frames.last().unwrap().json();
    assert_eq!((&ended["status"], ended.get("citations")), (&json!("finished"), None));
    let turn = world.get("/sessions/s2").await.json()["turns"][0].clone();
    assert_eq!((turn.get("citations"), turn.get("files")), (None, None), "{turn}");
}

#[tokio::test]
async fn changed_engines_of_the_file_count_for_the_next_search() {
    let (first, second) = (Site::start().await, Site::start().await);
    first.put_page("/gold", "Of gold", "Gold is warm at 4 degrees.");
    second.put_page("/iron", "Of iron", "Iron and gold are warm at 9 degrees.");
    let folder = TempDir::new().unwrap();
    let use_engine = |site: &Site| {
        let engine = format!(
            "[[search.engines]]\nengine = \"tavily\"\nurl = \"{}\"\nkey = \"env:ENGINE_KEY\"\n",
            site.page_url("/engine")
        );
        write(folder.path(), "djinn.toml", &format!("[agents]\noffered = \"all\"\n{engine}"));
    };
    use_engine(&first);
    let world = World::start_with(|options, _| {
        let config = folder.path().to_str().unwrap();
        options.vars.push(("DJINN_CONFIG", config.to_owned()));
        options.vars.push(("DJINN_EGRESS_ORIGINS", format!("{},{}", first.url, second.url)));
        options.vars.push(("ENGINE_KEY", "engine-key-1".to_owned()));
        options.settings.tool_sources_fresh = Duration::ZERO;
    })
    .await;
    for (site, session, page) in [(&first, "s1", "/gold"), (&second, "s2", "/iron")] {
        use_engine(site);
        at(&world.model, "").call("deep_search", search()).then().reply("It is warm.");
        at(&world.model, "t1.c1")
            .call("search_round", json!({"queries": ["gold"]}))
            .then()
            .reply("Warm [1].");
        let question = Question::of(QUESTION, session);
        let frames = world.ask(Protocol::Native, &question).await.rest().await;
        let answer = text_of(&frames, "t1.c1");
        assert!(answer.contains(&site.page_url(page)), "{answer}");
    }
    for site in [&first, &second] {
        let requests = site.requests();
        assert_eq!(requests.iter().filter(|request| request.target == "/engine").count(), 1);
    }
}

#[tokio::test]
async fn configured_origins_are_read_beside_the_demo_site() {
    let site = Site::start().await;
    site.put_page("/gold", "Of gold", "Gold is warm at 4 degrees.");
    let world = World::start_with(|options, _| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        options.site = Some(root.join("examples/site"));
        options.vars.push(("DJINN_EGRESS_ORIGINS", site.url.clone()));
    })
    .await;
    let demo = world.system.demo_site().unwrap().base_url();
    let urls = [site.page_url("/gold"), format!("{demo}/defrosting.html")];
    let fetches = urls.iter().map(|url| ("web_fetch", json!({ "url": url })));
    at(&world.model, "").calls(fetches).then().reply("Both.");
    let question = format!("Read {} and {}", urls[0], urls[1]);
    let frames = world.ask(Protocol::Native, &Question::of(&question, "s1")).await.rest().await;
    let gold = text_of(&frames, "t1.c1");
    assert!(gold.contains("Gold is warm at 4 degrees."), "{gold}");
    let defrosting = text_of(&frames, "t1.c2");
    assert!(defrosting.contains("defrost"), "{defrosting}");
}

#[tokio::test]
async fn an_engine_of_tavilys_shape_is_asked_with_its_key_and_nobody_else_is_told_it() {
    let site = Site::start().await;
    site.put_page("/gold", "Of gold", "Gold is warm at 4 degrees.");
    let world = start(&site, &site.engine("tavily")).await;
    at(&world.model, "").call("deep_search", search()).then().reply("It is 4.");
    at(&world.model, "t1.c1")
        .call("search_round", json!({"queries": ["gold"]}))
        .then()
        .reply("Gold 4 [1].");
    let frames = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;
    assert!(text_of(&frames, "t1.c1").starts_with("Gold 4 [1].\n\n## Sources\n\n- [1] [Of gold]("));
    let has_key = |words: &str| words.contains("engine-key-1");
    let (asked, others): (Vec<_>, Vec<_>) =
        site.requests().into_iter().partition(|request| request.target == "/engine");
    assert!(asked.iter().all(|request| has_key(&request.headers) || has_key(&request.body)));
    assert_eq!(asked.len(), 1);
    assert!(others.iter().all(|request| !has_key(&request.headers) && !has_key(&request.target)));
    assert!(world.model.requests().iter().all(|request| !has_key(request.text())));
}

#[tokio::test]
async fn one_engine_that_fails_is_a_note_and_all_that_do_are_an_error() {
    let site = Site::start().await;
    site.put_page("/gold", "Of gold", "Gold is warm.");
    let broken =
        json!({"engine": "tavily", "url": site.page_url("/broken"), "key": "env:ENGINE_KEY"});
    let good = json!({"engine": "searxng", "url": site.page_url("/search")});
    for (engines, says) in [
        (json!([broken, good]), "Did not answer: tavily ("),
        (json!([broken]), "The web cannot be reached now."),
    ] {
        let world = start(&site, &engines.to_string()).await;
        at(&world.model, "").call("deep_search", search()).then().reply("It is.");
        at(&world.model, "t1.c1")
            .call("search_round", json!({"queries": ["gold"]}))
            .then()
            .reply("So.");
        let frames = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;
        let told = text_of(&frames, "t1.c1.t1.c1");
        assert!(told.contains(says), "{told}");
    }
}

#[tokio::test]
async fn without_an_engine_the_setting_is_named() {
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_AGENTS__OFFERED", "all".to_owned()));
    })
    .await;
    at(&world.model, "").call("deep_search", search()).then().reply("I cannot.");
    at(&world.model, "t1.c1")
        .call("search_round", json!({"queries": ["gold"]}))
        .then()
        .reply("No.");
    let frames = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;
    let told = text_of(&frames, "t1.c1.t1.c1");
    assert!(told.contains("set `search.engines` in djinn.toml"), "{told}");
    assert!(text_of(&frames, "t1.c1").contains("No page could be read"), "the answer says so, too");
}

#[tokio::test]
async fn what_is_wrong_with_a_query_or_an_address_is_told_to_the_model() {
    let site = Site::start().await;
    site.put("/photo.bin", "application/octet-stream", "\u{0}\u{1}\u{2}");
    let world = start(&site, &site.engine("searxng")).await;
    let long = format!("https://a.test/{}", "a".repeat(2_040));
    let fetches = [
        (json!({"url": "javascript:alert(1)"}), "Only pages of the public web"),
        (json!({"url": "data:text/html,x"}), "Only pages of the public web"),
        (json!({"url": "http://169.254.169.254/latest/meta-data"}), "Only pages of the public web"),
        (json!({"url": long}), "/url"),
        (json!({"url": site.page_url("/none")}), "There is no such page (status 404)"),
        (json!({"url": site.page_url("/photo.bin")}), "neither a text nor a readable document"),
    ];
    let calls = fetches.iter().map(|(arguments, _)| ("web_fetch", arguments.clone()));
    at(&world.model, "").calls(calls).then().call("deep_search", search()).then().reply("No.");
    let queries = [
        (json!([""]), "1 to 400 characters"),
        (json!(["site:a.test"]), "words to look for"),
        (json!(["a".repeat(401)]), "1 to 400 characters"),
        (json!(["a", "b", "c", "d", "e", "f"]), "/queries"),
    ];
    let mut rule = at(&world.model, "t2.c1");
    for (queries, _) in &queries[..3] {
        rule = rule.call("search_round", json!({"queries": queries})).then();
    }
    rule.reply("Nothing.");
    let frames = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;
    for (nth, (arguments, says)) in fetches.iter().enumerate() {
        let told = text_of(&frames, &format!("t1.c{}", nth + 1));
        assert!(told.contains(says), "{arguments}: {told}");
    }
    for (nth, (queries, says)) in queries[..3].iter().enumerate() {
        let told = text_of(&frames, &format!("t2.c1.t{}.c1", nth + 1));
        assert!(told.contains(says), "{queries}: {told}");
    }
    let asked = site.requests();
    assert!(asked.iter().all(|request| !request.target.starts_with("/search")), "{asked:?}");
}

#[tokio::test]
async fn a_long_page_is_read_on_from_where_its_part_ends() {
    let site = Site::start().await;
    let text: String = (0..20_000).map(|nth| format!("word{nth} ")).collect();
    site.put("/long.txt", "text/plain", &text);
    let world = start(&site, &site.engine("searxng")).await;
    let url = site.page_url("/long.txt");
    let question = format!("What does {url} say?");
    at(&world.model, "")
        .call("web_fetch", json!({"url": url}))
        .then()
        .call("web_fetch", json!({"url": url, "offset": 1_000}))
        .then()
        .reply("Words.");
    let frames = world.ask(Protocol::Native, &Question::of(&question, "s1")).await.rest().await;
    let first = text_of(&frames, "t1.c1");
    assert!(
        first.contains("word0 word1 ") && first.contains("the next part starts at offset "),
        "{first:.300}"
    );
    let second = text_of(&frames, "t2.c1");
    assert!(second.contains("Characters 1000 to ") && !second.contains("word0 "), "{second:.300}");
    assert_eq!(frames.last().unwrap().json()["status"], "finished");
    assert!(world.model.requests().iter().all(|request| path_of(request).as_deref() == Some("")));
}
