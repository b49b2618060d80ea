use djinn_runtime::port::outside::{
    ForeignDocument, PageAnswer, PageOutcome, PageProblemCode, PageTarget, PageText, QueryResult,
    ReadJob, SealJob, SearchAnswer, SearchHit, SearchJob,
};
use djinn_runtime::port::secret::{NoSecrets, Secret};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::settings::GatewaySettings;

fn handler(role: &'static str) -> EnvelopeHandler<NoSecrets> {
    let var = move |name: &str| (name == "DJINN_GATEWAY_ROLE").then(|| role.to_owned());
    let settings = GatewaySettings::from_vars(&var).unwrap();
    let role = settings.role;
    EnvelopeHandler::new(GatewayHandler::new(settings, NoSecrets).unwrap(), role)
}

fn envelope(job: OutsideJob) -> OutsideEnvelope {
    OutsideEnvelope { v: FORMAT, job, put_answer: None }
}

fn search(queries: &[&str]) -> OutsideJob {
    let queries = queries.iter().map(|query| (*query).to_owned()).collect();
    OutsideJob::Search(SearchJob { queries, hits: 5 })
}

fn read(urls: &[&str]) -> OutsideJob {
    OutsideJob::Read(ReadJob { pages: urls.iter().map(|url| PageTarget::new(*url)).collect() })
}

#[tokio::test]
async fn each_role_refuses_the_jobs_of_the_other() {
    for (role, job, words) in [
        ("fetch", search(&["a"]), "asks no engines"),
        ("call", read(&["https://example.com/"]), "reads no pages"),
    ] {
        let reply = handler(role).handle_job(envelope(job), None).await;
        let OutsideReply::Refused(why) = reply else { panic!("{reply:?}") };
        assert!(why.contains(words), "{why}");
    }
    let reply = handler("call").handle_job(envelope(search(&["a"])), None).await;
    let OutsideReply::Disabled(why) = reply else { panic!("{reply:?}") };
    assert!(why.contains("set `search.engines`"), "{why}");
    let other = OutsideEnvelope { v: FORMAT + 1, ..envelope(search(&["a"])) };
    let reply = handler("call").handle_job(other, None).await;
    assert!(matches!(reply, OutsideReply::Unavailable(_)), "{reply:?}");
}

#[tokio::test]
async fn a_key_is_sealed_where_tools_are_called_and_in_its_tenants_environment() {
    let seal = || {
        let owner = djinn_runtime::port::UserKey {
            tenant: "t".to_owned().try_into().unwrap(),
            user: "u".to_owned().try_into().unwrap(),
        };
        let name = "CRM".to_owned().try_into().unwrap();
        let (origin, value) = ("https://a.test".to_owned(), Secret::new("canary"));
        OutsideJob::Seal(SealJob { owner, name, origin, value })
    };
    for (role, tenant, words) in [
        ("fetch", Some("t"), "seals no keys"),
        ("call", Some("other"), "belongs to another tenant"),
    ] {
        let reply = handler(role).handle_job(envelope(seal()), tenant).await;
        let OutsideReply::Refused(why) = reply else { panic!("{reply:?}") };
        assert!(why.contains(words), "{why}");
    }
    let reply = handler("call").handle_job(envelope(seal()), Some("t")).await;
    let OutsideReply::Disabled(why) = reply else { panic!("{reply:?}") };
    assert!(why.contains("set DJINN_SEAL_KEY"), "{why}");
    let debug = format!("{:?}", envelope(seal()));
    assert!(!debug.contains("canary") && debug.contains("CRM"), "{debug}");
}

#[tokio::test]
async fn a_job_out_of_bounds_is_refused_before_anything_is_sent() {
    for (job, words) in [
        (search(&[]), "this has 0"),
        (search(&["a"; 6]), "this has 6"),
        (search(&["a", " "]), "a query is empty"),
        (search(&[&"a".repeat(401)]), "more than 400 characters"),
        (search(&["site:example.com"]), "operators only"),
        (read(&["https://example.com/"; 21]), "this has 21"),
    ] {
        let role = if matches!(job, OutsideJob::Search(_)) { "call" } else { "fetch" };
        let reply = handler(role).handle_job(envelope(job), None).await;
        let OutsideReply::Refused(why) = reply else { panic!("{reply:?}") };
        assert!(why.contains(words), "{why}");
    }
}

#[tokio::test]
async fn a_url_that_nobody_opens_is_told_of_with_its_page() {
    let urls = ["javascript:alert(1)", "data:text/html,x", "http://127.0.0.1/", "nothing"];
    let reply = handler("fetch").handle_job(envelope(read(&urls)), None).await;
    let OutsideReply::Answer(OutsideAnswer { content: OutsideContent::Read(pages), .. }) = reply
    else {
        panic!("{reply:?}")
    };
    assert_eq!(pages.iter().map(|page| page.url.as_str()).collect::<Vec<_>>(), urls);
    for PageAnswer { outcome, .. } in pages {
        let PageOutcome::Refused(problem) = outcome else { panic!("{outcome:?}") };
        assert_eq!(problem.code, PageProblemCode::Address, "{problem:?}");
        assert!(problem.sentence.starts_with("The page was not read: "), "{}", problem.sentence);
    }
}

fn document(size: usize) -> PageOutcome {
    PageOutcome::Document(ForeignDocument {
        url: "https://example.com/a.pdf".into(),
        media_type: "application/pdf".into(),
        name: "a.pdf".into(),
        content: vec![7; size],
    })
}

fn text(characters: usize) -> PageOutcome {
    PageOutcome::Page(PageText {
        text: "\u{70ed}".repeat(characters),
        total_chars: 1_000_000 + characters as u64,
        next_offset: Some(500_000 + characters as u64),
        ..PageText::default()
    })
}

fn fit(outcomes: Vec<PageOutcome>, most: usize) -> Vec<PageOutcome> {
    let page = |outcome| PageAnswer { url: "u".into(), outcome };
    let content = OutsideContent::Read(outcomes.into_iter().map(page).collect());
    let fitted = fit_answer(OutsideAnswer { v: FORMAT, content }, most);
    assert!(json_size(&fitted) <= most);
    let OutsideContent::Read(pages) = fitted.content else { panic!() };
    pages.into_iter().map(|page| page.outcome).collect()
}

#[test]
fn a_search_keeps_its_hits_and_as_many_others_as_fit() {
    let hit = |n: usize| SearchHit {
        url: format!("https://example.com/{n}"),
        snippet: "s".repeat(1_000),
        ..SearchHit::default()
    };
    let result = |others| QueryResult {
        query: "q".into(),
        hits: (0..5).map(hit).collect(),
        others: (0..others).map(hit).collect(),
        is_cut: false,
    };
    let found = SearchAnswer { results: vec![result(4_000), result(100)], problems: Vec::new() };
    let content = OutsideContent::Search(found);
    let fitted = fit_answer(OutsideAnswer { v: FORMAT, content: content.clone() }, MAX_ANSWER);
    assert!(json_size(&fitted) <= MAX_ANSWER);
    let OutsideContent::Search(found) = fitted.content else { panic!() };
    assert_eq!(found.results[0].hits.len(), 5);
    assert_eq!((found.results[0].others.len(), found.results[0].is_cut), (2_000, true));
    assert_eq!((found.results[1].others.len(), found.results[1].is_cut), (100, false));
    let whole = OutsideAnswer { v: FORMAT, content };
    assert_eq!(fit_answer(whole.clone(), MAX_STORED_ANSWER), whole);
}

#[test]
fn an_answer_that_fits_is_whole() {
    let outcomes = vec![document(1_000_000), text(50_000), document(1_000_000)];
    assert_eq!(fit(outcomes.clone(), MAX_ANSWER), outcomes);
}

#[test]
fn the_largest_documents_are_left_out_before_any_text() {
    let outcomes = vec![text(50_000), document(2_000_000), document(1_500_000), text(50_000)];
    let fitted = fit(outcomes.clone(), MAX_ANSWER);
    assert_eq!((&fitted[0], &fitted[2], &fitted[3]), (&outcomes[0], &outcomes[2], &outcomes[3]));
    let PageOutcome::Refused(problem) = &fitted[1] else { panic!("{:?}", fitted[1]) };
    assert_eq!(problem.code, PageProblemCode::TooLarge);
    assert!(problem.sentence.contains("a.pdf"), "{}", problem.sentence);
}

#[test]
fn a_text_that_is_cut_goes_on_where_it_was_cut() {
    let fitted = fit(vec![text(50_000), text(20_000)], 140_000);
    let PageOutcome::Page(page) = &fitted[0] else { panic!() };
    assert_eq!(page.text.chars().count(), 25_000);
    assert_eq!(page.next_offset, Some(525_000));
    let PageOutcome::Page(page) = &fitted[1] else { panic!() };
    assert_eq!(page.next_offset, Some(520_000));
}

#[tokio::test]
async fn a_large_answer_stays_where_no_store_can_be_reached() {
    let page = PageAnswer { url: "u".into(), outcome: document(5_000_000) };
    let answer = OutsideAnswer { v: FORMAT, content: OutsideContent::Read(vec![page]) };
    // Nobody listens there.
    let put = StoreRequest { url: "http://127.0.0.1:9/object".into(), headers: Vec::new() };
    let reply = fit_reply(answer, Some(put)).await;
    let OutsideReply::Answer(answer) = reply else { panic!("{reply:?}") };
    assert!(json_size(&answer) < MAX_ANSWER);
}

#[tokio::test]
async fn a_large_answer_goes_to_the_store_by_the_request_that_was_signed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/b/t/sandbox/1?X-Sig=2", listener.local_addr().unwrap());
    let stored = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut bytes = Vec::new();
        let (head, length) = loop {
            stream.read_buf(&mut bytes).await.unwrap();
            let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_lowercase();
            let (_, length) = head.split_once("content-length: ").unwrap();
            let length: usize = length.lines().next().unwrap().parse().unwrap();
            bytes.drain(..end + 4);
            break (head, length);
        };
        while bytes.len() < length {
            stream.read_buf(&mut bytes).await.unwrap();
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        (head, serde_json::from_slice::<OutsideAnswer>(&bytes).unwrap())
    });
    let page = PageAnswer { url: "u".into(), outcome: document(5_000_000) };
    let answer = OutsideAnswer { v: FORMAT, content: OutsideContent::Read(vec![page]) };
    let headers = vec![("x-amz-tag".to_owned(), "3".to_owned())];
    let reply = fit_reply(answer.clone(), Some(StoreRequest { url, headers })).await;
    assert_eq!(reply, OutsideReply::Stored);
    let (head, stored) = stored.await.unwrap();
    assert!(head.starts_with("put /b/t/sandbox/1?x-sig=2 "), "{head}");
    assert!(head.contains("x-amz-tag: 3"), "{head}");
    assert_eq!(stored, answer);
}
