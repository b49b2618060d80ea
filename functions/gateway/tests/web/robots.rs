use djinn_runtime::port::outside::{PageAnswer, PageOutcome, PageProblemCode, PageTarget};

use crate::site::{Site, answer, redirect};
use crate::{gateway_to, problem_of, read_all};

const ROBOTS: &str = "User-agent: DjinnBot\nDisallow: /private\n";

async fn site_with(status: u16) -> Site {
    Site::start(move |request| match request.target.as_str() {
        "/robots.txt" => answer(status, "text/plain", ROBOTS),
        path => answer(200, "text/html", format!("<p>This is {path}.")),
    })
    .await
}

fn targets(site: &Site, paths: &[&str], heeds_robots: bool) -> Vec<PageTarget> {
    let target = |path: &&str| PageTarget { heeds_robots, ..PageTarget::new(site.url(path)) };
    paths.iter().map(target).collect()
}

fn count_robots(site: &Site) -> usize {
    site.requests().iter().filter(|request| request.target == "/robots.txt").count()
}

#[tokio::test]
async fn robots_are_asked_for_once_and_only_where_they_are_heeded() {
    let site = site_with(200).await;
    let gateway = gateway_to(&[&site]);
    let paths = ["/private/a", "/b", "/c", "/d", "/e", "/f"];
    for answer in read_all(&gateway, targets(&site, &paths, false)).await {
        assert!(matches!(answer.outcome, PageOutcome::Page(_)), "{answer:?}");
    }
    assert_eq!(count_robots(&site), 0);
    for _ in 0..2 {
        let mut answers = read_all(&gateway, targets(&site, &paths, true)).await;
        let problem = problem_of(answers.remove(0).outcome);
        assert_eq!(problem.code, PageProblemCode::Robots);
        assert_eq!(
            problem.sentence,
            "The robots.txt of 127.0.0.1 asks programs not to read this page."
        );
        for answer in answers {
            assert!(matches!(answer.outcome, PageOutcome::Page(_)), "{answer:?}");
        }
    }
    assert_eq!(count_robots(&site), 1);
    let private = |request: &&crate::site::SentRequest| request.target == "/private/a";
    assert_eq!(site.requests().iter().filter(private).count(), 1);
}

#[tokio::test]
async fn a_site_without_robots_lets_all_read_and_one_with_a_fault_nobody() {
    let (without, faulty) = (site_with(404).await, site_with(500).await);
    let gateway = gateway_to(&[&without, &faulty]);
    let read = read_all(&gateway, targets(&without, &["/private"], true)).await.remove(0);
    assert!(matches!(read.outcome, PageOutcome::Page(_)), "{read:?}");
    let read = read_all(&gateway, targets(&faulty, &["/a"], true)).await.remove(0);
    let problem = problem_of(read.outcome);
    assert_eq!(problem.code, PageProblemCode::Robots);
    assert!(problem.sentence.contains("(status 500): try again later"), "{problem:?}");
    assert_eq!(faulty.requests().len(), 1);
}

#[tokio::test]
async fn where_a_page_leads_robots_are_heeded_too() {
    let other = site_with(200).await;
    let (private, open) = (other.url("/private"), other.url("/open"));
    let site = Site::start(move |request| match request.target.as_str() {
        "/to-private" => redirect(&private),
        "/to-open" => redirect(&open),
        "/to-own" => redirect("/own"),
        "/robots.txt" => answer(200, "text/plain", "User-agent: *\nDisallow: /own"),
        _ => answer(200, "text/html", "<p>It is our own."),
    })
    .await;
    let gateway = gateway_to(&[&site, &other]);
    let paths = ["/to-private", "/to-open", "/to-own"];
    let codes = async |heeds_robots| {
        let answers = read_all(&gateway, targets(&site, &paths, heeds_robots)).await;
        let code = |answer: PageAnswer| match answer.outcome {
            PageOutcome::Refused(problem) => Some(problem.code),
            PageOutcome::Page(_) | PageOutcome::Document(_) => None,
        };
        answers.into_iter().map(code).collect::<Vec<_>>()
    };
    assert_eq!(codes(false).await, [None, None, None]);
    let robots = Some(PageProblemCode::Robots);
    assert_eq!(codes(true).await, [robots, None, robots]);
    assert_eq!((count_robots(&site), count_robots(&other)), (1, 1));
}
