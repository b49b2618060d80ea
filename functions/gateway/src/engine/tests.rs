use djinn_egress::HttpMethod;
use serde_json::json;

use super::*;

/// A real answer's shape, shortened; each names two pages.
const ANSWERS: [(&str, &str); 6] = [
    (
        "bing",
        r#"{"_type": "SearchResponse", "queryContext": {"originalQuery": "heat pumps"}, "webPages": {
            "webSearchUrl": "https://www.bing.com/search?q=heat+pumps", "totalEstimatedMatches": 12, "value": [
            {"id": "https://api.example/api/v7/#WebPages.0", "name": "Heat pumps", "url": "https://example.com/a",
             "isFamilyFriendly": true, "displayUrl": "https://example.com/a", "snippet": "They warm.",
             "dateLastCrawled": "2026-10-01T00:00:00.0000000Z", "language": "en"},
            {"id": "WebPages.1", "name": "Pumps", "url": "https://example.org/b", "snippet": "They pump."}]},
            "rankingResponse": {"mainline": {"items": []}}}"#,
    ),
    (
        "brave",
        r#"{"query": {"original": "heat pumps", "more_results_available": true}, "mixed": {"type": "mixed"},
            "type": "search", "web": {"type": "search", "results": [
            {"title": "Heat pumps", "url": "https://example.com/a", "is_source_local": false,
             "description": "They warm.", "profile": {"name": "Example"}, "language": "en",
             "meta_url": {"hostname": "example.com"}, "extra_snippets": ["More."]},
            {"title": "Pumps", "url": "https://example.org/b", "description": "They pump."}],
            "family_friendly": true}}"#,
    ),
    (
        "jina",
        r#"{"code": 200, "status": 20000, "data": [
            {"title": "Heat pumps", "url": "https://example.com/a", "description": "They warm.", "content": "",
             "usage": {"tokens": 1000}},
            {"title": "Pumps", "url": "https://example.org/b", "description": "", "content": "They pump."}],
            "meta": {"usage": {"tokens": 10000}}}"#,
    ),
    (
        "searxng",
        r#"{"query": "heat pumps", "number_of_results": 0, "results": [
            {"url": "https://example.com/a", "title": "Heat pumps", "content": "They warm.", "engine": "duckduckgo",
             "parsed_url": ["https", "example.com", "/a", "", "", ""], "engines": ["duckduckgo"],
             "positions": [1], "score": 1.0, "category": "general", "publishedDate": null},
            {"url": "https://example.org/b", "title": "Pumps", "content": "They pump.", "engine": "brave"}],
            "answers": [], "corrections": [], "infoboxes": [], "suggestions": [],
            "unresponsive_engines": [["google", "timeout"]]}"#,
    ),
    (
        "serper",
        r#"{"searchParameters": {"q": "heat pumps", "type": "search", "num": 5, "engine": "google"}, "organic": [
            {"title": "Heat pumps", "link": "https://example.com/a", "snippet": "They warm.", "position": 1,
             "sitelinks": [{"title": "More", "link": "https://example.com/a/more"}]},
            {"title": "Pumps", "link": "https://example.org/b", "snippet": "They pump.", "position": 2}],
            "peopleAlsoAsk": [{"question": "Why?", "snippet": "So.", "link": "https://example.net/"}],
            "credits": 1}"#,
    ),
    (
        "tavily",
        r#"{"query": "heat pumps", "follow_up_questions": null, "answer": null, "images": [], "results": [
            {"url": "https://example.com/a", "title": "Heat pumps", "content": "They warm.", "score": 0.9,
             "raw_content": null},
            {"url": "https://example.org/b", "title": "Pumps", "content": "They pump.", "score": 0.8}],
            "response_time": 1.2, "request_id": "4b1e"}"#,
    ),
];

fn engine(name: &str) -> &'static dyn SearchEngine {
    *ENGINES.iter().find(|engine| engine.name() == name).unwrap()
}

#[test]
fn every_engine_is_asked_as_it_wants_to_be() {
    let key = Secret::new("k1");
    let get = HttpMethod::Get;
    let post = HttpMethod::Post;
    for (name, method, url, header, body) in [
        (
            "bing",
            get,
            "https://e.example/?q=heat+%26+pumps&count=5&responseFilter=Webpages",
            ("Ocp-Apim-Subscription-Key", "k1"),
            None,
        ),
        (
            "brave",
            get,
            "https://e.example/?q=heat+%26+pumps&count=5&result_filter=web&text_decorations=false",
            ("X-Subscription-Token", "k1"),
            None,
        ),
        (
            "jina",
            get,
            "https://e.example/?q=heat+%26+pumps&num=5",
            ("Authorization", "Bearer k1"),
            None,
        ),
        (
            "searxng",
            get,
            "https://e.example/?q=heat+%26+pumps&format=json",
            ("Authorization", "Bearer k1"),
            None,
        ),
        (
            "serper",
            post,
            "https://e.example/",
            ("X-API-KEY", "k1"),
            Some(json!({"q": "heat & pumps", "num": 5})),
        ),
        (
            "tavily",
            post,
            "https://e.example/",
            ("Authorization", "Bearer k1"),
            Some(json!({"query": "heat & pumps", "max_results": 5, "search_depth": "basic"})),
        ),
    ] {
        let at = Url::parse("https://e.example").unwrap();
        let mut question =
            EngineQuestion { url: &at, key: Some(&key), query: "heat & pumps", hits: 5 };
        let request = engine(name).request(&question);
        assert_eq!((request.method, request.url.as_str()), (method, url), "{name}");
        let (header, value) = (header.0.to_owned(), header.1.to_owned());
        assert!(request.keys.contains(&(header.clone(), value)), "{name}");
        let sent = request.body.map(|body| serde_json::from_slice::<Value>(&body).unwrap());
        assert_eq!(sent, body, "{name}");
        assert!(!request.accept_redirects, "{name} would send its key on");
        question.key = None;
        let request = engine(name).request(&question);
        assert!(request.headers.iter().all(|(name, _)| *name != header), "{name}");
        assert_eq!(request.keys, [], "{name}");
    }
}

#[test]
fn every_answer_is_read_in_its_order() {
    let page = |title: &str, url: &str, snippet: &str| FoundPage {
        title: title.to_owned(),
        url: url.to_owned(),
        snippet: snippet.to_owned(),
    };
    let expected = vec![
        page("Heat pumps", "https://example.com/a", "They warm."),
        page("Pumps", "https://example.org/b", "They pump."),
    ];
    assert_eq!(ANSWERS.len(), ENGINES.len());
    for (name, answer) in ANSWERS {
        assert_eq!(engine(name).read(answer.as_bytes()).as_ref(), Ok(&expected), "{name}");
    }
}

#[test]
fn an_answer_without_pages_is_none_or_says_what_is_missing() {
    for engine in ENGINES {
        let name = engine.name();
        assert_eq!(engine.read(b"<html>"), Err(AnswerError::Json), "{name}");
        assert!(matches!(engine.read(b"[]"), Err(AnswerError::Missing(_))), "{name}");
        let empty = engine.read(b"{}");
        let expected = match name {
            "bing" | "brave" | "serper" => Ok(Vec::new()),
            "jina" => Err(AnswerError::Missing("data")),
            _ => Err(AnswerError::Missing("results")),
        };
        assert_eq!(empty, expected, "{name}");
    }
    let odd = r#"{"results": [null, 1, {"url": 2}, {"url": "u", "title": null}]}"#;
    let pages = engine("tavily").read(odd.as_bytes()).unwrap();
    let urls: Vec<_> = pages.iter().map(|page| page.url.as_str()).collect();
    assert_eq!(urls, ["", "", "", "u"]);
}

#[test]
fn every_engine_has_an_address_or_asks_for_one() {
    let mut names: Vec<_> = ENGINES.iter().map(|engine| engine.name()).collect();
    assert!(names.is_sorted());
    names.dedup();
    assert_eq!(names.len(), ENGINES.len());
    for engine in ENGINES {
        let url = engine.service_url().map(|url| Url::parse(url).unwrap());
        assert!(url.is_none_or(|url| url.scheme() == "https" && url.path() == "/"));
        assert!(engine.usual_path().starts_with('/'));
    }
}
