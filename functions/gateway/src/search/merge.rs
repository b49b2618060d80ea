//! Merges the pages of several engines into one list for each query.

use std::collections::BTreeSet;

use djinn_runtime::port::outside::{MAX_OTHER_BYTES, MAX_URL_BYTES, QueryResult, SearchHit};
use url::Url;

use crate::canonical::canonicalize_url;
use crate::engine::FoundPage;
use crate::words::clean_words;

/// Maximum length of a title, in characters.
const MAX_TITLE: usize = 300;
/// Maximum length of a snippet, in characters.
const MAX_SNIPPET: usize = 1_000;

/// An engine's pages for a query.
pub(super) struct EnginePages {
    pub engine: &'static str,
    pub pages: Vec<FoundPage>,
    /// True if the engine found more pages than were read.
    pub is_cut: bool,
}

/// Search hits, each with its canonical URL.
type UsableHits = Vec<(String, SearchHit)>;

/// Returns the hits of each query: the first hit of every engine, then the second hits, and so on. Each page
/// appears once, with the first query that found the page. Pages beyond `hits` per engine are listed
/// separately.
pub(super) fn merge_pages(
    queries: Vec<String>,
    pages_by_query: Vec<Vec<EnginePages>>,
    hits: usize,
) -> Vec<QueryResult> {
    let mut known_urls = BTreeSet::new();
    let pairs = queries.into_iter().zip(pages_by_query).map(|(query, engines)| {
        let is_cut = engines.iter().any(|engine| engine.is_cut);
        let (first, rest) = rank_hits(&engines, hits);
        let fresh = first.into_iter().filter(|(canonical, _)| known_urls.insert(canonical.clone()));
        let hits = fresh.map(|(_, hit)| hit).collect();
        (QueryResult { query, hits, others: Vec::new(), is_cut }, rest)
    });
    // Other pages are added last: a page beyond the hits of one query may be a hit of the next.
    let pairs: Vec<_> = pairs.collect();
    let with_others = pairs.into_iter().map(|(mut result, rest)| {
        let fresh = rest.into_iter().filter(|(canonical, _)| known_urls.insert(canonical.clone()));
        let mut bytes = 0;
        for (_, hit) in fresh {
            bytes += hit.count_bytes();
            if bytes > MAX_OTHER_BYTES {
                result.is_cut = true;
                break;
            }
            result.others.push(hit);
        }
        result
    });
    with_others.collect()
}

/// Returns the usable hits in two lists, best first: up to `hits` of each engine, and all others.
fn rank_hits(engines: &[EnginePages], hits: usize) -> (UsableHits, UsableHits) {
    let mut first = Vec::new();
    let mut rest = Vec::new();
    for EnginePages { engine, pages, .. } in engines {
        let usable = pages.iter().filter_map(|page| {
            let url = Url::parse(page.url.trim()).ok();
            let url = url.filter(|url| url.as_str().len() <= MAX_URL_BYTES)?;
            let canonical = canonicalize_url(&url)?;
            let title = clean_words(&page.title, MAX_TITLE);
            let has_title = !title.is_empty();
            let hit = SearchHit {
                title: if has_title {
                    title
                } else {
                    url.host_str().unwrap_or_default().to_owned()
                },
                url: url.into(),
                snippet: clean_words(&page.snippet, MAX_SNIPPET),
                engine: (*engine).to_owned(),
            };
            Some((canonical, hit))
        });
        for (rank, hit) in usable.enumerate() {
            if rank < hits { first.push((rank, hit)) } else { rest.push(hit) }
        }
    }
    // The sort is stable, so engines of equal rank keep their order.
    first.sort_by_key(|(rank, _)| *rank);
    (first.into_iter().map(|(_, hit)| hit).collect(), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(engine: &'static str, urls: &[&str]) -> EnginePages {
        let page = |url: &&str| FoundPage { url: (*url).to_owned(), ..FoundPage::default() };
        EnginePages { engine, pages: urls.iter().map(page).collect(), is_cut: false }
    }

    #[test]
    fn results_stay_with_their_query_and_a_page_is_named_once() {
        let found = vec![
            vec![
                pages("a", &["https://x.example/1", "https://x.example/2", "https://x.example/3"]),
                pages("b", &["http://X.example/2/?utm_source=b", "https://y.example/"]),
            ],
            vec![pages("b", &["https://y.example/#top", "https://z.example/"]), pages("a", &[])],
            vec![],
        ];
        let queries = ["one", "two", "three"].map(str::to_owned).to_vec();
        let merged = merge_pages(queries, found, 2);
        let shown: Vec<_> = merged
            .iter()
            .map(|result| {
                let hits = result.hits.iter().map(|hit| (hit.engine.as_str(), hit.url.as_str()));
                (result.query.as_str(), hits.collect::<Vec<_>>())
            })
            .collect();
        let first = vec![
            ("a", "https://x.example/1"),
            ("b", "http://x.example/2/?utm_source=b"),
            ("b", "https://y.example/"),
        ];
        assert_eq!(shown[0], ("one", first));
        assert_eq!(shown[1], ("two", vec![("b", "https://z.example/")]));
        assert_eq!(shown[2], ("three", Vec::new()));
    }

    #[test]
    fn a_hit_leads_to_a_page_and_has_words_of_a_bounded_length() {
        let long = format!("https://x.example/{}", "a".repeat(MAX_URL_BYTES));
        let bad = ["", "x", "javascript:alert(1)", "data:text/html,x", "ftp://x.example/", &long];
        let page = FoundPage {
            title: format!("<b>Heat</b> &amp; pumps\u{200b} {}", "t".repeat(400)),
            url: " https://x.example/ ".into(),
            snippet: "s ".repeat(2_000),
        };
        let mut all = pages("a", &bad);
        all.pages.push(page);
        all.pages.extend(pages("a", &["https://y.example/untitled"]).pages);
        let merged = merge_pages(vec!["q".into()], vec![vec![all]], 5);
        let [first, second] = merged[0].hits.as_slice() else { panic!("{merged:?}") };
        assert!(first.title.starts_with("Heat & pumps ttt"), "{}", first.title);
        assert_eq!(first.title.chars().count(), 300);
        assert_eq!(first.snippet.chars().count(), 1_000 - 1);
        assert_eq!(first.url, "https://x.example/");
        assert_eq!((second.title.as_str(), second.snippet.as_str()), ("y.example", ""));
    }

    #[test]
    fn of_ten_thousand_hits_a_few_are_wanted_and_the_others_stand_apart() {
        let urls: Vec<_> = (0..10_000).map(|n| format!("https://x.example/{n}")).collect();
        let urls: Vec<_> = urls.iter().map(String::as_str).collect();
        let all = pages("a", &urls);
        let second = pages("b", &["https://x.example/9999"]);
        let queries = vec!["q".into(), "r".into()];
        let merged = merge_pages(queries, vec![vec![all], vec![second]], 5);
        assert_eq!((merged[0].hits.len(), merged[0].others.len()), (5, 9_994));
        assert_eq!(merged[0].others[0].url, "https://x.example/5");
        assert!(!merged[0].is_cut);
        // The last page of the first query's is a hit of the second one's.
        assert_eq!((merged[1].hits.len(), merged[1].others.len()), (1, 0));
    }

    #[test]
    fn there_is_room_for_so_many_others_and_no_more() {
        let page = |n| FoundPage {
            url: format!("https://x.example/{n}"),
            snippet: "s".repeat(1_000),
            ..FoundPage::default()
        };
        let all = EnginePages { pages: (0..10_000).map(page).collect(), ..pages("a", &[]) };
        let merged = merge_pages(vec!["q".into()], vec![vec![all]], 5);
        assert!(merged[0].is_cut && merged[0].others.len() > 3_000, "{}", merged[0].others.len());
        let bytes: usize = merged[0].others.iter().map(SearchHit::count_bytes).sum();
        assert!(bytes <= MAX_OTHER_BYTES, "{bytes}");
    }
}
