//! The demo site over HTTP: its pages, and what its engine finds.

use std::path::{Path, PathBuf};

use djinn_local::DemoSite;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/site")
}

async fn get(url: &str) -> (u16, String) {
    let answer = reqwest::get(url).await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

async fn search(site: &DemoSite, query: &str) -> Vec<Value> {
    let mut url = reqwest::Url::parse(&format!("{}/search", site.base_url())).unwrap();
    url.query_pairs_mut().append_pair("q", query).append_pair("format", "json");
    let (status, body) = get(url.as_str()).await;
    assert_eq!(status, 200, "{body}");
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["query"], query);
    body["results"].as_array().unwrap().clone()
}

#[tokio::test]
async fn questions_find_the_page_that_answers_them_first() {
    let site = DemoSite::start(&folder()).await.unwrap();
    for (question, page) in [
        ("Warmwell field study seasonal performance factor median", "field-study-2022"),
        ("noise limit at night in Harrowmere", "noise-limits-harrowmere"),
        ("subsidy for heat pumps from March 2025", "subsidy-2025"),
        ("COP at -15 °C in Lindfell", "cold-weather-lindfell"),
        ("旧暖气片要不要换", "zh-radiators"),
        ("榆川市空气源热泵的费用与补贴", "zh-costs"),
        ("季节性能系数实测", "zh-field-test"),
    ] {
        let results = search(&site, question).await;
        let first = &results[0];
        assert_eq!(first["url"], format!("{}/{page}.html", site.base_url()), "{question}");
        assert!(results.len() <= 10, "{question}");
        for result in &results {
            assert_eq!(result["engine"], "demo");
            let is_filled = |member: &str| !result[member].as_str().unwrap().is_empty();
            assert!(is_filled("title") && is_filled("content"), "{result}");
            let url = result["url"].as_str().unwrap();
            assert!(!url.contains("/private/") && !url.ends_with("index.html"), "{url}");
        }
        let scores: Vec<f64> =
            results.iter().map(|result| result["score"].as_f64().unwrap()).collect();
        assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    }
    let snippet = search(&site, "price of R290 crowns left").await[0]["content"].clone();
    assert!(snippet.as_str().unwrap().contains("11,800"), "{snippet}");
}

#[tokio::test]
async fn bad_searches_are_refused_and_unknown_words_find_nothing() {
    let site = DemoSite::start(&folder()).await.unwrap();
    assert_eq!(search(&site, "zyxquv blorft").await, Vec::<Value>::new());
    assert_eq!(search(&site, "? — !").await, Vec::<Value>::new());
    for (query, status) in [
        ("", 400),
        ("?format=json", 400),
        ("?q=&format=json", 400),
        ("?q=%20&format=json", 400),
        ("?q=heat", 403),
        ("?q=heat&format=html", 403),
        ("?q=heat&format=json", 200),
        ("?q=%ff%fe&format=json", 200),
    ] {
        let (found, body) = get(&format!("{}/search{query}", site.base_url())).await;
        assert_eq!(found, status, "{query}: {body}");
    }
    let (_, second) = get(&format!("{}/search?q=heat&format=json&pageno=2", site.base_url())).await;
    assert!(second.contains(r#""results":[]"#), "{second}");
}

#[tokio::test]
async fn pages_are_served_and_nothing_outside_their_folder() {
    let site = DemoSite::start(&folder()).await.unwrap();
    for (path, part) in [
        ("/", "Thirty pages"),
        ("/robots.txt", "Disallow: /private/"),
        ("/zh-basics.html", "热泵"),
        ("/private/prices-2026-draft.html", "17,900"),
    ] {
        let (status, body) = get(&format!("{}{path}", site.base_url())).await;
        assert!(status == 200 && body.contains(part), "{path}: {status} {body}");
    }
    for path in [
        "/../sales.csv",
        "/%2e%2e/sales.csv",
        "/..%2fsales.csv",
        "/private/../../sales.csv",
        "//etc/passwd",
        "/%2fetc%2fpasswd",
        "/..\\sales.csv",
    ] {
        let address = site.base_url().replace("http://", "");
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let is_refused = answer.starts_with("HTTP/1.1 404") || answer.starts_with("HTTP/1.1 400");
        assert!(is_refused, "{path}: {answer}");
    }
}

#[tokio::test]
async fn a_dropped_site_is_gone_and_an_empty_folder_is_none() {
    let site = DemoSite::start(&folder()).await.unwrap();
    let url = site.base_url();
    assert_eq!(get(&url).await.0, 200);
    drop(site);
    tokio::task::yield_now().await;
    assert!(reqwest::get(&url).await.is_err());
    let empty = tempfile::tempdir().unwrap();
    let error = DemoSite::start(empty.path()).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    assert!(DemoSite::start(&empty.path().join("absent")).await.is_err());
}
