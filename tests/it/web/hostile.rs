//! Pages that are made to cost work: each is answered once, in time, and others are read beside it.

use super::*;

/// A gzip member that decodes to nothing.
const EMPTY_MEMBER: [u8; 20] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Fetches pages of a site, all in one turn, and returns the result of each call and the status of the run.
async fn fetch_all(site: &Site, paths: &[&str]) -> (Vec<String>, Value) {
    let world = start(site, &site.engine("searxng")).await;
    let urls: Vec<_> = paths.iter().map(|path| site.page_url(path)).collect();
    let calls = urls.iter().map(|url| ("web_fetch", json!({"url": url})));
    at(&world.model, "").calls(calls).then().reply("So.");
    let question = format!("What do these say? {}", urls.join(" "));
    let frames = world.ask(Protocol::Native, &Question::of(&question, "s1")).await.rest().await;
    let results = (1..=paths.len()).map(|nth| text_of(&frames, &format!("t1.c{nth}"))).collect();
    (results, frames.last().unwrap().json()["status"].clone())
}

/// The number of requests for a page.
fn count_requests(site: &Site, path: &str) -> usize {
    site.requests().iter().filter(|request| request.target == path).count()
}

#[tokio::test]
async fn a_page_of_empty_gzip_members_or_blocks_is_an_error_and_is_fetched_once() {
    let site = Site::start().await;
    let put = |path, bytes: &[u8]| site.put_encoded(path, "text/html", "gzip", bytes);
    put("/members", &EMPTY_MEMBER.repeat(200_000));
    let header = EMPTY_MEMBER[..10].to_vec();
    put("/stored", &[header.as_slice(), &[0, 0, 0, 0xff, 0xff].repeat(800_000)].concat());
    // Four empty blocks with fixed codes are five bytes.
    let fixed = [0x02, 0x08, 0x20, 0x80, 0x00].repeat(800_000);
    put("/fixed", &[header.as_slice(), &fixed].concat());
    site.put_page("/gold", "Of gold", "Gold is warm at 4 degrees.");
    let floods = ["/members", "/stored", "/fixed"];
    let (results, status) = fetch_all(&site, &["/members", "/stored", "/fixed", "/gold"]).await;
    for (path, result) in floods.iter().zip(&results) {
        assert!(result.contains("compressed in more pieces than are decoded"), "{path}: {result}");
        assert_eq!(count_requests(&site, path), 1, "{path}");
    }
    assert!(results[3].contains("Gold is warm at 4 degrees."), "{}", results[3]);
    assert_eq!(status, "finished");
}

#[tokio::test]
async fn a_page_whose_conversion_would_take_minutes_is_read_as_plain_text() {
    let site = Site::start().await;
    let put = |path, html: &str| site.put(path, "text/html; charset=utf-8", html);
    let quotes = "<blockquote>".repeat(240);
    put("/quotes", &format!("<p>Gold is warm.{quotes}<pre>{}", "a\n".repeat(2_000_000)));
    put("/escapes", &format!("<p>Gold is warm.{}", "&".repeat(1_000_000)));
    let links = "<a href=y>z</a>".repeat(90_000);
    put("/base", &format!("<p>Gold is warm.<base href='/{}/'>{links}", "x".repeat(2_000_000)));
    let paths = ["/quotes", "/escapes", "/base"];
    let (results, status) = fetch_all(&site, &paths).await;
    for (path, result) in paths.iter().zip(&results) {
        assert!(result.contains("Gold is warm."), "{path}: {result:.300}");
        assert_eq!(count_requests(&site, path), 1, "{path}");
    }
    assert_eq!(status, "finished");
}
