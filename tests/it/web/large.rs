//! Answers of engines and pages that are far larger than what is read: cut with a note, and whole in a file as far as
//! they were read, which is 5 MB of each.

use super::*;

/// An engine's answer that names so many pages, of which the first one is there.
fn name_pages(site: &Site, pages: usize, snippet: &str) -> String {
    let page = |nth: usize| {
        let url = site.page_url(&format!("/page{nth}"));
        json!({"title": format!("Page {nth}"), "url": url, "content": snippet})
    };
    json!({"results": (0..pages).map(page).collect::<Vec<_>>()}).to_string()
}

/// A system whose engine answers every query with what this page of the site holds.
async fn start_with_answer(site: &Site, path: &str, answer: &str) -> World {
    site.put(path, "application/json", answer);
    let engine = json!([{"engine": "searxng", "url": site.page_url(path)}]);
    start(site, &engine.to_string()).await
}

/// Searches once, and says what the searching agent was told and what stands in the internal file.
async fn search_once(world: &World) -> (String, Value) {
    at(&world.model, "").call("deep_search", search()).then().reply("It is.");
    at(&world.model, "t1.c1")
        .call("search_round", json!({"queries": ["gold"]}))
        .then()
        .reply("Warm [1].");
    let frames = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;
    assert_eq!(frames.last().unwrap().json()["status"], "finished");
    let round = completed(&frames, "t1.c1.t1.c1.result")[0].json();
    let shown = &round["result"]["view"]["results"][0]["pages"];
    assert_eq!(shown.as_array().map(Vec::len), Some(5), "people are shown what was wanted");
    let file = json!({"requestId": "s1", "fileName": "How warm is it_search_result.txt"});
    let place = world.post("/v1/file_tool/get_file", &file).await.json();
    let found = world.follow(place["downloadUrl"].as_str().unwrap()).await;
    (text_of(&frames, "t1.c1.t1.c1"), serde_json::from_str(&found.text).unwrap())
}

#[tokio::test]
async fn of_ten_thousand_results_five_are_told_and_all_are_in_the_file() {
    let site = Site::start().await;
    let text = "Gold is warm at 4 degrees. ".repeat(100);
    site.put_page("/page0", "Of gold", &text);
    let answer = name_pages(&site, 10_000, "some words");
    let world = start_with_answer(&site, "/many", &answer).await;
    let (told, found) = search_once(&world).await;
    assert!(told.contains("Gold is warm") && !told.contains("/page9\n"), "{told}");
    assert!(told.contains("The engines named 9995 more pages for this query."), "{told}");
    assert!(!told.contains("still more"), "{told}");
    assert_eq!(found["gold"].as_array().map(Vec::len), Some(5));
    assert!(found["gold"][0]["content"].as_str().unwrap().len() > 2_000, "the page's text");
    let others = found["gold (+)"].as_array().unwrap();
    assert_eq!((others.len(), &others[9_994]["title"]), (9_995, &json!("Page 9999")));
}

#[tokio::test]
async fn of_an_answer_of_twenty_megabytes_the_end_is_missing_and_that_is_said() {
    let site = Site::start().await;
    site.put_page("/page0", "Of gold", "Gold is warm at 4 degrees.");
    let answer = name_pages(&site, 20_000, &"words ".repeat(160));
    assert!(answer.len() > 20_000_000);
    let world = start_with_answer(&site, "/vast", &answer).await;
    let (told, found) = search_once(&world).await;
    assert!(told.contains("Gold is warm"), "{told}");
    assert!(told.contains("the end of an answer is missing"), "{told}");
    let others = found["gold (+)"].as_array().unwrap();
    // 5 MB of answers of 1 KB each.
    assert!((4_000..5_000).contains(&others.len()), "{}", others.len());
    assert_eq!(others.last(), Some(&json!({"doc_type": "end_missing"})));
}

#[tokio::test]
async fn a_page_of_twenty_megabytes_is_read_in_parts_up_to_its_bound() {
    let site = Site::start().await;
    let text: String = (0..2_000_000).map(|nth| format!("{nth:08} ")).collect();
    site.put("/long.txt", "text/plain", &format!("gold {text}"));
    let world = start(&site, &site.engine("searxng")).await;
    let url = site.page_url("/long.txt");
    let question = format!("What does {url} say?");
    at(&world.model, "")
        .call("web_fetch", json!({"url": url}))
        .then()
        .call("web_fetch", json!({"url": url, "offset": 4_999_000}))
        .then()
        .call("deep_search", search())
        .then()
        .reply("Numbers.");
    at(&world.model, "t3.c1")
        .call("search_round", json!({"queries": ["gold"]}))
        .then()
        .reply("Numbers [1].");
    let frames = world.ask(Protocol::Native, &Question::of(&question, "s1")).await.rest().await;
    assert_eq!(frames.last().unwrap().json()["status"], "finished");
    let first = text_of(&frames, "t1.c1");
    assert!(first.contains("00000000 00000001 ") && first.contains(" of 4999999;"), "{first:.300}");
    assert!(first.contains("its end is missing"), "{first:.600}");
    let last = text_of(&frames, "t2.c1");
    assert!(last.contains(" 00555550 ") && !last.contains("next part"), "{last}");
    let round = text_of(&frames, "t3.c1.t1.c1");
    assert!(round.contains("00000000 00000001 ") && round.len() < 10_000, "{}", round.len());
}
