use djinn_runtime::port::outside::PAGE_CHARS;

use super::*;

fn page(content_type: &str, body: impl Into<Vec<u8>>) -> RawPage {
    RawPage {
        url: Url::parse("https://example.com/pumps/report").unwrap(),
        status: 200,
        content_type: Some(content_type).filter(|value| !value.is_empty()).map(str::to_owned),
        disposition: None,
        body: body.into(),
        is_cut: false,
    }
}

fn read(page: RawPage) -> PageText {
    let outcome = read_page(page, &PageTarget::new("https://example.com/"));
    let PageOutcome::Page(text) = outcome else { panic!("{outcome:?}") };
    text
}

fn refusal(page: RawPage) -> PageProblem {
    let outcome = read_page(page, &PageTarget::new("https://example.com/"));
    let PageOutcome::Refused(problem) = outcome else { panic!("{outcome:?}") };
    problem
}

#[test]
fn texts_of_other_types_are_shown_as_they_are() {
    for (content_type, text) in [
        ("text/plain", "one  two\n\tthree <b>"),
        ("application/json", "{\"a\": [1, 2]}"),
        ("application/rss+xml; charset=utf-8", "<?xml version=\"1.0\"?><rss><a>热</a></rss>"),
        ("text/csv", "year,sales\n2024,1"),
        ("", "no type at all"),
    ] {
        let page = read(page(content_type, text));
        assert_eq!((page.text.as_str(), page.notes.as_slice()), (text, [].as_slice()));
        assert_eq!((page.total_chars, page.next_offset), (text.chars().count() as u64, None));
    }
}

#[test]
fn a_long_page_is_read_in_parts() {
    let text: String = (0..3_000).map(|n| format!("{n:04} 热\n")).collect();
    let mut offset = 0;
    let mut parts = Vec::new();
    loop {
        let target = PageTarget { offset, ..PageTarget::new("u") };
        let PageOutcome::Page(part) = read_page(page("text/plain", text.as_str()), &target) else {
            panic!("no page at {offset}")
        };
        assert!(part.text.chars().count() as u64 <= PAGE_CHARS);
        parts.push(part.text);
        match part.next_offset {
            Some(next) => offset = next,
            None => break,
        }
    }
    assert_eq!((parts.len(), parts.concat().as_str()), (3, text.trim_end()));
    let greedy = PageTarget { limit: u64::MAX, ..PageTarget::new("u") };
    let long = "a".repeat(60_000);
    let PageOutcome::Page(part) = read_page(page("text/plain", long), &greedy) else { panic!() };
    assert_eq!(part.next_offset, Some(MAX_PAGE_CHARS));
}

#[test]
fn a_page_that_is_not_what_it_is_said_to_be_is_read_all_the_same() {
    let html = "<!doctype html><title>A</title><p>words";
    for content_type in ["text/plain", "application/json", "image/png"] {
        let page = read(page(content_type, html));
        assert_eq!((page.title.as_str(), page.text.as_str()), ("A", "words"));
        assert_eq!(page.notes, [PageNote::OtherType], "{content_type}");
    }
    let cut = RawPage { is_cut: true, ..page("text/html", "<p>words") };
    assert_eq!(read(cut).notes, [PageNote::Cut]);
    let broken = b"<p>w\xffrds are missing \xe4".to_vec();
    let page = read(page("text/html; charset=utf-8", broken));
    assert!(page.text.starts_with("w"), "{}", page.text);
}

#[test]
fn documents_go_on_to_the_sandbox() {
    let document = |page| {
        let outcome = read_page(page, &PageTarget::new("u"));
        let PageOutcome::Document(document) = outcome else { panic!("{outcome:?}") };
        document
    };
    let pdf = document(page("text/html", "%PDF-1.7 …"));
    assert_eq!((pdf.media_type.as_str(), pdf.name.as_str()), ("application/pdf", "report.pdf"));
    assert_eq!(pdf.content, "%PDF-1.7 …".as_bytes());
    let disposition = Some("attachment; filename=\"q3.docx\"".to_owned());
    let archive = b"PK\x03\x04....word/document.xml".to_vec();
    let word = document(RawPage { disposition, ..page("application/zip", archive) });
    assert!(word.media_type.ends_with("wordprocessingml.document"), "{word:?}");
    assert_eq!(word.name, "q3.docx");
    let cut = refusal(RawPage { is_cut: true, ..page("application/pdf", "%PDF-1.7") });
    assert_eq!(cut.code, PageProblemCode::TooLarge);
}

#[test]
fn what_cannot_be_read_is_said_in_a_sentence() {
    let status = |status| RawPage { status, ..page("text/html", "<p>No.") };
    for (page, code, words) in [
        (
            page("image/png", b"\x89PNG\r\n\x1a\n".to_vec()),
            PageProblemCode::Unsupported,
            "an image",
        ),
        (page("", b"PK\x03\x04".to_vec()), PageProblemCode::Unsupported, "is an archive"),
        (page("text/html", ""), PageProblemCode::NoText, "is empty"),
        (page("text/html", "<script>1"), PageProblemCode::NoText, "may need scripts"),
        (page("text/plain", " \n\u{200b}"), PageProblemCode::NoText, "no text"),
        (status(401), PageProblemCode::Status, "asks who reads it (status 401)"),
        (status(403), PageProblemCode::Status, "(status 403)"),
        (status(404), PageProblemCode::Status, "no such page (status 404)"),
        (status(410), PageProblemCode::Status, "(status 410)"),
        (status(429), PageProblemCode::Status, "try again later"),
        (status(503), PageProblemCode::Status, "has a fault (status 503)"),
        (status(304), PageProblemCode::Status, "status 304 and no page"),
    ] {
        let given = page.status;
        let problem = refusal(page);
        assert!(problem.sentence.contains(words) && problem.sentence.ends_with('.'), "{problem:?}");
        assert_eq!(problem.code, code, "{problem:?}");
        assert_eq!(problem.status, Some(given).filter(|_| given != 200));
    }
}

#[tokio::test]
async fn pages_are_read_beside_one_another() {
    let reader = PageReader::new();
    let read = |n: usize| {
        let text = format!("<p>page {n}</p>{}", "<div>".repeat(n * 100));
        reader.read(page("text/html", text), PageTarget::new("u"))
    };
    let outcomes = futures::future::join_all((0..10).map(read)).await;
    for (n, outcome) in outcomes.into_iter().enumerate() {
        let PageOutcome::Page(page) = outcome else { panic!("{outcome:?}") };
        assert_eq!(page.text, format!("page {n}"));
    }
}
