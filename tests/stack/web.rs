//! A web search and a page read, through the two functions of the gateway. The web is a site on this machine:
//! no parameter of the template allows a loopback address, so the deployment sets two variables of the gateway.

use serde_json::json;

use crate::story::Story;

const QUESTION: &str = "How warm is gold?";
/// See infra/stack/deploy.py.
const ENGINE_KEY: &str = "tvly-0123456789";

#[tokio::test]
#[ignore = "needs the stack: cargo verify --only stack"]
async fn search_is_cited_and_a_page_is_read() {
    let story = Story::open("a web search and a page read").await;
    let site = story.start_site().await;
    site.put_page("/gold", "Of gold", "Gold is warm at 4 degrees.");
    site.put_page("/iron", "Of iron", "Iron is warm at 9 degrees.");
    let iron = site.page_url("/iron");
    story
        .at("")
        .call("deep_search", json!({"query": QUESTION}))
        .then()
        .call("web_fetch", json!({"url": iron}))
        .then()
        .reply("Gold at 4, iron at 9.");
    let round = json!({"queries": ["gold"]});
    story.at("t1.c1").call("search_round", round).then().reply("Gold 4 [1].");
    let frames = story.ask(&story.question(&format!("{QUESTION} See {iron}"))).await;

    assert_eq!(frames.last().unwrap().json()["answer"], "Gold at 4, iron at 9.");
    let result = |call: &str| {
        let id = format!("{call}.result");
        let frame = frames.iter().find(|frame| frame.json()["id"] == id);
        frame.unwrap_or_else(|| panic!("{frames:#?}")).json()["result"]["text"].to_string()
    };
    let cited =
        format!("Gold 4 [1].\\n\\n## Sources\\n\\n- [1] [Of gold]({})", site.page_url("/gold"));
    assert!(result("t1.c1").contains(&cited), "{}", result("t1.c1"));
    assert!(result("t2.c1").contains("Iron is warm at 9 degrees."), "{}", result("t2.c1"));
    let has_key = |text: &str| text.contains(ENGINE_KEY);
    for request in site.requests() {
        let is_engine = request.target == "/engine";
        assert_eq!(has_key(&request.headers) || has_key(&request.body), is_engine, "{request:?}");
    }
    story.close();
}
