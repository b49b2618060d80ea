use djinn_runtime::port::outside::{PageNote, PageOutcome, PageProblemCode, PageTarget};
use encoding_rs::Encoding;

use crate::site::{Site, answer, answer_with, redirect};
use crate::{gateway_to, problem_of, read_all, read_one, text_of};

const CHINESE: &str = "热泵把室外的热量送进室内,比电暖器省电三倍。";
const JAPANESE: &str = "ヒートポンプは外の熱を部屋に運びます。";
const WESTERN: &str = "Wärmepumpen heizen Häuser – für wenig Geld.";

#[tokio::test]
async fn a_page_is_found_where_it_leads_to() {
    let site = Site::with_pages(vec![
        ("/", redirect("/a?x=1")),
        ("/a", redirect("b/")),
        ("/b/", answer(200, "text/html", "<title>B</title><p>Words and <a href='c'>more</a>.")),
        ("/loop", redirect("/loop")),
        ("/inside", redirect("http://127.0.0.1:9/")),
        ("/file", redirect("file:///etc/passwd")),
    ])
    .await;
    let gateway = gateway_to(&[&site]);
    let page = text_of(read_one(&gateway, site.url("/")).await);
    assert_eq!((page.url, page.title.as_str()), (site.url("/b/"), "B"));
    assert_eq!(page.text, format!("Words and [more]({}).", site.url("/b/c")));
    assert_eq!(page.links[0].url, site.url("/b/c"));
    for (path, code) in [
        ("/loop", PageProblemCode::TooManyRedirects),
        ("/inside", PageProblemCode::Address),
        ("/file", PageProblemCode::Address),
    ] {
        let problem = problem_of(read_one(&gateway, site.url(path)).await);
        assert_eq!(problem.code, code, "{problem:?}");
    }
    let agent = &site.requests()[0].headers["user-agent"];
    assert!(agent.contains("DjinnBot"), "{agent}");
}

#[tokio::test]
async fn pages_are_read_in_five_charsets() {
    let encode = |label: &str, text: &str| {
        let text = format!("<meta charset={label}><title>{text}</title><p>{text}");
        Encoding::for_label(label.as_bytes()).unwrap().encode(&text).0.into_owned()
    };
    let wide: Vec<u8> = format!("\u{feff}<title>{CHINESE}</title><p>{CHINESE}")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let site = Site::with_pages(vec![
        ("/utf-8", answer(200, "text/html; charset=utf-8", encode("utf-8", CHINESE))),
        ("/gbk", answer(200, "text/html; charset=gbk", encode("gbk", CHINESE))),
        ("/shift_jis", answer(200, "text/html", encode("shift_jis", JAPANESE))),
        ("/windows-1252", answer(200, "text/html", encode("windows-1252", WESTERN))),
        ("/utf-16", answer(200, "text/html", wide)),
        ("/lie", answer(200, "text/html; charset=utf-8", encode("gbk", CHINESE))),
    ])
    .await;
    let gateway = gateway_to(&[&site]);
    for (path, text) in [
        ("/utf-8", CHINESE),
        ("/gbk", CHINESE),
        ("/shift_jis", JAPANESE),
        ("/windows-1252", WESTERN),
        ("/utf-16", CHINESE),
        ("/lie", CHINESE),
    ] {
        let page = text_of(read_one(&gateway, site.url(path)).await);
        assert_eq!((page.title.as_str(), page.text.as_str()), (text, text), "{path}");
        assert_eq!(page.notes, [], "{path}");
    }
}

#[tokio::test]
async fn pages_that_lie_are_read_as_far_as_they_can_be() {
    let large = format!("<title>L</title><p>{}", "words ".repeat(1_200_000));
    let page = "<!doctype html><title>P</title><p>Words.";
    let long = [("content-type", "text/html"), ("content-length", "5000")];
    let site = Site::with_pages(vec![
        ("/large", answer(200, "text/html", &large)),
        ("/long", answer_with(200, &long, page)),
        ("/typed", answer(200, "application/json", page)),
        ("/untyped", answer_with(200, &[("content-length", "40")], page)),
        ("/image", answer(200, "text/html", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")),
        ("/zip", answer(200, "application/zip", b"PK\x03\x04\x14\0\0\0")),
        ("/empty", answer(200, "text/html", "")),
        ("/scripts", answer(200, "text/html", "<div id=root></div><script>run()</script>")),
        ("/login", answer(401, "text/html", "<p>Log in.")),
        ("/fault", answer(503, "text/html", "<p>Later.")),
    ])
    .await;
    let gateway = gateway_to(&[&site]);
    for (path, title, notes) in [
        ("/large", "L", [PageNote::Cut].as_slice()),
        ("/long", "P", &[PageNote::Cut]),
        ("/typed", "P", &[PageNote::OtherType]),
        ("/untyped", "P", &[]),
    ] {
        let page = text_of(read_one(&gateway, site.url(path)).await);
        assert_eq!((page.title.as_str(), page.notes.as_slice()), (title, notes), "{path}");
    }
    for (path, code, words) in [
        ("/image", PageProblemCode::Unsupported, "an image"),
        ("/zip", PageProblemCode::Unsupported, "an archive"),
        ("/empty", PageProblemCode::NoText, "empty"),
        ("/scripts", PageProblemCode::NoText, "may need scripts"),
        ("/login", PageProblemCode::Status, "401"),
        ("/none", PageProblemCode::Status, "404"),
        ("/fault", PageProblemCode::Status, "503"),
    ] {
        let problem = problem_of(read_one(&gateway, site.url(path)).await);
        assert_eq!(problem.code, code, "{problem:?}");
        assert!(problem.sentence.contains(words), "{problem:?}");
    }
}

#[tokio::test]
async fn documents_come_whole_or_not_at_all() {
    let pdf = [b"%PDF-1.7\n".as_slice(), &vec![7; 2_000_000]].concat();
    let large = [b"%PDF-1.7\n".as_slice(), &vec![7; 6_000_000]].concat();
    let length = pdf.len().to_string();
    let headers = [
        ("content-type", "application/octet-stream"),
        ("content-disposition", "attachment; filename=\"heat pumps.pdf\""),
        ("content-length", &length),
    ];
    let site = Site::with_pages(vec![
        ("/pdf", answer_with(200, &headers, &pdf)),
        ("/large.pdf", answer(200, "application/pdf", &large)),
    ])
    .await;
    let gateway = gateway_to(&[&site]);
    let outcome = read_one(&gateway, site.url("/pdf")).await;
    let PageOutcome::Document(document) = outcome else { panic!("{outcome:?}") };
    assert_eq!(document.name, "heat pumps.pdf");
    assert_eq!((document.media_type.as_str(), document.content), ("application/pdf", pdf));
    let problem = problem_of(read_one(&gateway, site.url("/large.pdf")).await);
    assert_eq!(problem.code, PageProblemCode::TooLarge, "{problem:?}");
}

#[tokio::test]
async fn twenty_pages_are_read_in_their_order() {
    let site = Site::start(|request| {
        answer(200, "text/html", format!("<p>This is page {}.", request.target))
    })
    .await;
    let gateway = gateway_to(&[&site]);
    let targets = (0..20).map(|n| PageTarget::new(site.url(&format!("/{n}"))));
    let answers = read_all(&gateway, targets.collect()).await;
    for (n, answer) in answers.into_iter().enumerate() {
        assert_eq!(answer.url, site.url(&format!("/{n}")));
        assert_eq!(text_of(answer.outcome).text, format!("This is page /{n}."));
    }
}
