use std::sync::Mutex;

use djinn_runtime::port::outside::{EngineProblem, Outside, OutsideError, SearchAnswer, SearchJob};
use djinn_runtime::port::secret::{NoSecrets, Secret, SecretError, Secrets};
use gateway::LocalGateway;
use serde_json::{Value, json};

use crate::site::{RawAnswer, SentRequest, Site, answer};
use crate::{context, settings};

/// The header in which each engine takes its key.
const KEYS: [(&str, &str, &str); 6] = [
    ("bing", "ocp-apim-subscription-key", "k1"),
    ("brave", "x-subscription-token", "k1"),
    ("jina", "authorization", "Bearer k1"),
    ("searxng", "authorization", "Bearer k1"),
    ("serper", "x-api-key", "k1"),
    ("tavily", "authorization", "Bearer k1"),
];

/// What was asked for, in whichever place the engine has for it.
fn query_of(request: &SentRequest) -> String {
    if let Ok(body) = serde_json::from_slice::<Value>(&request.body) {
        let query = body.get("query").or(body.get("q"));
        return query.and_then(Value::as_str).unwrap_or_default().to_owned();
    }
    let url = url::Url::parse(&format!("http://e{}", request.target)).unwrap();
    let (_, query) = url.query_pairs().find(|(name, _)| name == "q").unwrap();
    query.into_owned()
}

/// A server that speaks as all engines do, each below its name. It finds two pages for each query: one of the
/// engine's own, and one that all engines find.
fn speak(request: &SentRequest) -> RawAnswer {
    let engine = request.target.trim_start_matches('/').split(['/', '?']).next().unwrap();
    let (_, header, key) = KEYS.iter().find(|(name, ..)| *name == engine).unwrap();
    if request.headers.get(*header).is_none_or(|found| found != key) {
        return answer(401, "application/json", r#"{"message": "who?"}"#);
    }
    let query = query_of(request);
    let own = format!("https://{engine}.example/{}?utm_source={engine}", query.replace(' ', "-"));
    let urls = [own, "https://all.example/pumps/".to_owned()];
    let pages = |title: &str, url: &str, snippet: &str| -> Value {
        let page = |link: &String| json!({title: format!("On {query}"), url: link, snippet: "S."});
        urls.iter().map(page).collect()
    };
    let found = match engine {
        "bing" => json!({"webPages": {"value": pages("name", "url", "snippet")}}),
        "brave" => json!({"web": {"results": pages("title", "url", "description")}}),
        "jina" => json!({"code": 200, "data": pages("title", "url", "description")}),
        "serper" => json!({"organic": pages("title", "link", "snippet")}),
        _ => json!({"results": pages("title", "url", "content")}),
    };
    answer(200, "application/json", found.to_string())
}

/// All engines of a site, each below its name.
fn engines_of(site: &Site, names: &[&str], key: &str) -> String {
    let engine =
        |name: &&str| json!({"engine": name, "url": site.url(&format!("/{name}")), "key": key});
    Value::from_iter(names.iter().map(engine)).to_string()
}

fn gateway_of(site: &Site, names: &[&str]) -> LocalGateway<NoSecrets> {
    let engines = engines_of(site, names, "env:ENGINE_KEY");
    LocalGateway::new(settings(&[site], Some(engines)), NoSecrets).unwrap()
}

async fn search(gateway: &impl Outside, queries: &[&str]) -> Result<SearchAnswer, OutsideError> {
    let queries = queries.iter().map(|query| (*query).to_owned()).collect();
    gateway.search_web(&context(), SearchJob { queries, hits: 5 }).await
}

fn problem(engine: &str, why: &str) -> EngineProblem {
    EngineProblem { engine: engine.to_owned(), why: why.to_owned() }
}

#[tokio::test]
async fn all_engines_are_asked_for_all_queries_and_results_stay_with_theirs() {
    let site = Site::start(speak).await;
    let names = KEYS.map(|(name, ..)| name);
    let gateway = gateway_of(&site, &names);
    let queries = ["热泵 cost", "noise & neighbours", "subsidies"];
    let answer = search(&gateway, &queries).await.unwrap();
    assert_eq!(answer.problems, []);
    let found: Vec<_> = answer.results.iter().map(|result| result.query.as_str()).collect();
    assert_eq!(found, queries);
    for (number, result) in answer.results.iter().enumerate() {
        let engines: Vec<_> = result.hits.iter().map(|hit| hit.engine.as_str()).collect();
        // What all of them found is named once, with the first query and by the first engine.
        let shared = ["bing"].into_iter().filter(|_| number == 0);
        assert_eq!(engines, names.into_iter().chain(shared).collect::<Vec<_>>());
        for hit in &result.hits {
            assert_eq!((&hit.title, hit.snippet.as_str()), (&format!("On {}", result.query), "S."));
        }
    }
    let requests = site.requests();
    assert_eq!(requests.len(), names.len() * queries.len());
    for request in requests {
        let posts = ["/serper", "/tavily"].contains(&request.target.as_str());
        assert_eq!(request.method, if posts { "POST" } else { "GET" }, "{}", request.target);
    }
}

#[tokio::test]
async fn an_engine_that_fails_is_a_problem_and_all_are_an_error() {
    let site = Site::start(|request| {
        let query = query_of(request);
        match request.target.trim_start_matches('/').split('?').next().unwrap() {
            "serper" if query == "two" => answer(429, "text/plain", "slow down"),
            "brave" => answer(500, "text/html", "<p>k1"),
            "jina" => answer(200, "text/html", "<p>k1"),
            "bing" => answer(302, "text/plain", ""),
            "searxng" => answer(200, "application/json", "{\"error\": \"k1\"}"),
            "tavily" if query == "large" => answer(200, "application/json", vec![b' '; 6_000_000]),
            _ => speak(request),
        }
    })
    .await;
    let names = ["serper", "brave", "jina", "bing", "searxng"];
    let answer = search(&gateway_of(&site, &names), &["one", "two"]).await.unwrap();
    assert_eq!(
        answer.problems,
        [
            problem("serper", "it is asked too often (status 429), for 1 of 2 queries"),
            problem("brave", "it has a fault (status 500)"),
            problem("jina", "it answered what is no JSON"),
            problem("bing", "it answered with status 302"),
            problem("searxng", "it answered without `results`"),
        ]
    );
    assert_eq!((answer.results[0].hits.len(), answer.results[1].hits.len()), (2, 0));
    let error = search(&gateway_of(&site, &["brave", "jina"]), &["one", "two"]).await.unwrap_err();
    let why = "no search engine answered (brave: it has a fault (status 500); jina: it answered what is \
               no JSON)";
    assert_eq!(error, OutsideError::Unavailable(why.to_owned()));
    let error = search(&gateway_of(&site, &["tavily"]), &["large"]).await.unwrap_err().to_string();
    assert!(
        error.contains("tavily: what 127.0.0.1 sent is not whole after 5000000 bytes"),
        "{error}"
    );
    let alone = LocalGateway::new(settings(&[&site], None), NoSecrets).unwrap();
    let error = search(&alone, &["one"]).await.unwrap_err();
    let OutsideError::Disabled(why) = error else { panic!("{error:?}") };
    assert!(why.contains("set `search.engines`"), "{why}");
}

#[tokio::test]
async fn of_an_answer_of_twenty_megabytes_what_is_read_counts() {
    let site = Site::start(|request| {
        let page = |n: usize| {
            let url = format!("https://{}.example/{n}", query_of(request));
            json!({"title": format!("Page {n}"), "url": url, "content": "s".repeat(900)})
        };
        let pages = if query_of(request) == "vast" { 20_000 } else { 10_000 };
        let mut pages: Vec<Value> = (0..pages).map(page).collect();
        if pages.len() == 10_000 {
            pages.iter_mut().for_each(|page| page["content"] = json!("S."));
        }
        answer(200, "application/json", json!({ "results": pages }).to_string())
    })
    .await;
    let gateway = gateway_of(&site, &["tavily"]);
    let found = search(&gateway, &["many", "vast"]).await.unwrap();
    assert_eq!(found.problems, []);
    let [many, vast] = found.results.as_slice() else { panic!("{found:?}") };
    assert_eq!((many.hits.len(), many.others.len(), many.is_cut), (5, 9_995, false));
    assert_eq!(many.others[9_994].url, "https://many.example/9999");
    assert_eq!((vast.hits.len(), vast.is_cut), (5, true));
    assert!((3_000..6_000).contains(&vast.others.len()), "{}", vast.others.len());
}

#[tokio::test]
async fn an_engine_at_an_address_that_is_not_public_is_not_asked() {
    let (site, other) = (Site::start(speak).await, Site::start(speak).await);
    let engines = engines_of(&site, &["bing", "tavily"], "env:ENGINE_KEY");
    let gateway = LocalGateway::new(settings(&[&other], Some(engines)), NoSecrets).unwrap();
    let error = search(&gateway, &["secrets"]).await.unwrap_err().to_string();
    assert_eq!(error.matches("its address is not opened").count(), 2, "{error}");
    // It is logged, and the URL of the first holds the query.
    assert!(!error.contains("secrets"), "{error}");
    assert!(site.requests().is_empty());
}

/// Secrets that change after the first reading.
struct ChangingSecrets(Mutex<Vec<&'static str>>);

impl Secrets for &ChangingSecrets {
    async fn read_secret(&self, name: &str) -> Result<Secret, SecretError> {
        assert_eq!(name, "djinn/tools/tavily");
        let key = self.0.lock().unwrap().pop();
        key.map(Secret::new).ok_or_else(|| SecretError::Missing(format!("there is no `{name}`")))
    }
}

#[tokio::test]
async fn a_stored_key_is_kept_until_it_is_refused() {
    let site = Site::start(speak).await;
    let secrets = ChangingSecrets(Mutex::new(vec!["k2", "k1", "k0"]));
    let engines = engines_of(&site, &["tavily"], "secret:djinn/tools/tavily");
    let gateway = LocalGateway::new(settings(&[&site], Some(engines)), &secrets).unwrap();
    for _ in 0..3 {
        assert_eq!(search(&gateway, &["one"]).await.unwrap().problems, []);
    }
    assert_eq!(*secrets.0.lock().unwrap(), ["k2"]);
    assert_eq!(site.requests().len(), 4);
    let none = ChangingSecrets(Mutex::default());
    let engines = engines_of(&site, &["tavily"], "secret:djinn/tools/tavily");
    let gateway = LocalGateway::new(settings(&[&site], Some(engines)), &none).unwrap();
    let error = search(&gateway, &["one"]).await.unwrap_err().to_string();
    assert_eq!(error, "no search engine answered (tavily: there is no `djinn/tools/tavily`)");
}
