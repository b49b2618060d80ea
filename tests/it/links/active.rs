//! Files that browsers would execute: they are shown without a way to load, send or execute anything, whoever
//! wrote them, on a laptop and on AWS alike.

use agent::{Auth, IamUser};
use axum::body::to_bytes;

use super::*;
use crate::world::{Door, Parts, caller_v1, caller_v2, not_local};

const STRICT: &str = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; \
    base-uri 'none'; form-action 'none'; sandbox";

/// A page as `report_tool` renders it, with this behind its title.
fn rendered(rest: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html class=\"djinn-deck\" lang=\"en\">\n<head>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>T</title>\n{rest}"
    )
}

/// What a browser that shows a file by itself is sent.
async fn navigate(client: &Client, path: &str) -> Answer {
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build();
    let request = http.unwrap().get(format!("{}{path}", client.url));
    Answer::of(request.header("accept", "text/html,image/*;q=0.8").send().await.unwrap()).await
}

#[tokio::test]
async fn no_file_acts_in_the_browser_of_a_reader() {
    let world = World::start().await;
    let svg = "<svg xmlns='http://www.w3.org/2000/svg' xmlns:h='http://www.w3.org/1999/xhtml'>\
        <h:link rel='preconnect' href='https://evil.test'/></svg>";
    let html = "text/html; charset=utf-8";
    let text = "text/plain; charset=utf-8";
    // Name and content, and the type and the beginning of the body that are sent.
    for (name, content, media_type, body) in [
        ("a.html", "<script>fetch('//evil.test')</script>", html, "<script>fetch"),
        ("b.HTM", "<link rel=dns-prefetch href=//evil.test>", html, "<x-link rel=dns-prefetch"),
        ("c.html", "<IFRAME src=//evil.test>", html, "<x-IFRAME src"),
        ("d.html", "<meta http-equiv=refresh content=0>", html, "<meta x-http-equiv=refresh"),
        (
            "e.svg",
            svg,
            html,
            "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>e.svg</title>",
        ),
        ("f.xml", "<?xml version='1.0'?><a/>", text, "<?xml version"),
        ("g.xhtml", "<html xmlns='x'/>", "application/octet-stream", "<html xmlns"),
        ("h.txt", "<!doctype html><p>", text, "<!doctype html><p>"),
        ("i.csv", " \n<script>1</script>", "text/csv; charset=utf-8", " \n<script>"),
        ("j.json", "<p>", "application/json", "<p>"),
        ("k.png", "<svg/>", "image/png", "<svg/>"),
    ] {
        world.upload("s1", name, content).await;
        let answer = navigate(&world, &format!("/v1/file_tool/preview/s1/{name}")).await;
        assert_eq!(answer.status, 200, "{name}");
        assert_eq!(answer.header("content-type"), media_type, "{name}");
        assert_eq!(answer.header("content-security-policy"), STRICT, "{name}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{name}");
        assert_eq!(answer.header("x-dns-prefetch-control"), "off", "{name}");
        assert_eq!(answer.header("referrer-policy"), "no-referrer", "{name}");
        assert!(answer.text.starts_with(body), "{name}: {}", answer.text);
        // Whoever saves a file gets it as it is.
        let saved = format!("{}/v1/file_tool/download/s1/{name}", world.url);
        let saved = world.follow(&saved).await;
        assert_eq!(saved.text, content);
        assert!(saved.header("content-disposition").starts_with("attachment"), "{name}");
        assert_eq!(saved.header("content-security-policy"), "default-src 'none'; sandbox");
    }
    // Within a page a drawing is an image, in which nothing acts.
    let drawing = world.get("/v1/file_tool/preview/s1/e.svg").await;
    assert_eq!((drawing.text.as_str(), drawing.header("content-type")), (svg, "image/svg+xml"));
    assert_eq!(
        (drawing.header("content-security-policy"), drawing.header("vary")),
        (STRICT, "accept")
    );
    // What no browser executes is read from the bucket.
    for (name, content) in
        [("a.md", "# A"), ("a.csv", "a,b"), ("a.txt", "a < b"), ("a.pdf", "%PDF")]
    {
        world.upload("s2", name, content).await;
        let answer = navigate(&world, &format!("/v1/file_tool/preview/s2/{name}")).await;
        assert_eq!(answer.status, 302, "{name}");
    }
    // So is what is too large to be shown, to be saved.
    world.upload("s2", "large.html", &"<p>".repeat(1_100_000)).await;
    let answer = navigate(&world, "/v1/file_tool/preview/s2/large.html").await;
    assert_eq!(answer.status, 200, "below the bound");
}

#[tokio::test]
async fn decks_turn_their_pages_and_nothing_else_is_executed() {
    let world = World::start().await;
    let policy = async |name: &str, page: &str| {
        world.upload("s1", name, page).await;
        let answer = navigate(&world, &format!("/v1/file_tool/preview/s1/{name}")).await;
        answer.header("content-security-policy").to_owned()
    };
    let deck = policy("deck.html", &rendered("</head><body><script>turn()</script>")).await;
    assert!(
        deck.contains("; script-src 'sha256-") && !deck.contains("unsafe-inline'; script"),
        "{deck}"
    );
    assert!(deck.ends_with("; sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox"));
    assert_eq!(deck.matches("'sha256-").count(), 1, "our script alone");
    let rest = "<script src=//evil.test integrity=sha256-x></script>";
    assert_eq!(policy("forged.html", &rendered(rest)).await, STRICT);
    let rest = "<meta http-equiv=refresh content='0;url=//evil.test'>";
    assert_eq!(policy("forged.html", &rendered(rest)).await, STRICT);
}

#[tokio::test]
async fn pages_are_confined_behind_aws_too() {
    let on_aws = |parts: &mut Parts| {
        not_local(parts);
        parts.settings.auth = Auth::Iam(IamUser::Session);
        parts.settings.links = Some(link_settings());
    };
    let door = Door::open(None, |_| {}, on_aws);
    let arn = Some("arn:aws:sts::123456789012:assumed-role/Analyst/anna");
    for (name, content) in [("a.html", "<p>A</p>"), ("a.svg", "<svg/>")] {
        let file = json!({"requestId": "s1", "fileName": name, "content": content});
        let upload = caller_v2(arn, "POST", "/v1/file_tool/upload_file", &file);
        let (_, place) = door.status_and_json(upload).await;
        let url = place["domainUrl"].as_str().unwrap();
        let path = url.get(url.find("/v1/").unwrap()..).unwrap();
        for caller in [caller_v1, caller_v2] {
            let answer = door.answer(caller(None, "GET", path, &json!({}))).await;
            assert_eq!(answer.status(), 200);
            assert_eq!(answer.headers()["content-security-policy"], STRICT);
            assert_eq!(answer.headers()["x-content-type-options"], "nosniff");
            let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
            assert_eq!(body, content);
            let saved = path.replacen("preview", "download", 1);
            let answer = door.answer(caller(None, "GET", &saved, &json!({}))).await;
            assert_eq!(answer.status(), 302);
            let location = answer.headers()["location"].to_str().unwrap();
            assert!(location.contains("response-content-disposition=attachment"), "{location}");
        }
    }
}
