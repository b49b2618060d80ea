//! The web page: its files and their headers, and what the page asks before a user signs in.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use djinn_scripted::ScriptedModel;
use reqwest::Method;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::keys::{keyed, let_in};
use crate::world::{Answer, Door, Parts, World};

const INDEX: &str = "<!doctype html><script type=\"module\" src=\"/assets/index-1.js\"></script>";
const PREVIEW: &str = "<!doctype html><body><script>run();</script></body>";
const SCRIPT: &str = "export const page = true;\n";

/// Writes a page as `cargo xtask page` does.
fn write_page() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("assets")).unwrap();
    for (name, content) in [
        ("index.html", INDEX),
        ("preview.html", PREVIEW),
        ("version", "abc123"),
        ("secret.txt", "not a part of the page"),
        ("assets/index-1.js", SCRIPT),
        ("assets/index-1.js.br", "compressed"),
    ] {
        fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

async fn start(folder: &TempDir) -> World {
    let path = folder.path().to_str().unwrap().to_owned();
    World::start_with(|options, _| options.vars.push(("DJINN_PAGE", path))).await
}

async fn send(world: &World, method: Method, path: &str) -> Answer {
    Answer::of(world.request(method, path).send().await.unwrap()).await
}

fn code(answer: &Answer) -> String {
    answer.json()["code"].as_str().unwrap().to_owned()
}

#[track_caller]
fn check_headers(answer: &Answer) {
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    assert_eq!(answer.header("referrer-policy"), "no-referrer");
    assert_eq!(answer.header("cross-origin-opener-policy"), "same-origin");
    assert_eq!(answer.header("cross-origin-resource-policy"), "same-origin");
    assert!(answer.header("permissions-policy").contains("camera=()"));
}

#[tokio::test]
async fn page_runs_no_script_but_its_own() {
    let folder = write_page();
    let world = start(&folder).await;
    let index = world.get("/").await;
    assert_eq!((index.status, index.text.as_str()), (200, INDEX));
    check_headers(&index);
    assert_eq!(index.header("cache-control"), "no-cache");
    let policy = index.header("content-security-policy");
    for rule in [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: http://127.0.0.1:*",
        "connect-src 'self' http://127.0.0.1:*",
        "frame-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    ] {
        assert!(policy.split("; ").any(|part| part == rule), "{rule}: {policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
}

#[tokio::test]
async fn assets_are_kept_forever_and_sent_compressed_to_those_who_accept_it() {
    let folder = write_page();
    let world = start(&folder).await;
    let plain = world.get("/assets/index-1.js").await;
    assert_eq!((plain.status, plain.text.as_str()), (200, SCRIPT));
    check_headers(&plain);
    assert_eq!(plain.header("cache-control"), "public, max-age=31536000, immutable");
    assert!(plain.header("content-type").starts_with("text/javascript"));
    let request = world.request(Method::GET, "/assets/index-1.js").header("accept-encoding", "br");
    let compressed = Answer::of(request.send().await.unwrap()).await;
    assert_eq!(compressed.header("content-encoding"), "br");
    assert_eq!(compressed.text, "compressed");
    let head = send(&world, Method::HEAD, "/assets/index-1.js").await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
}

#[tokio::test]
async fn frame_for_html_of_models_has_no_origin_and_one_script() {
    let folder = write_page();
    let world = start(&folder).await;
    let frame = world.get("/preview.html").await;
    assert_eq!((frame.status, frame.text.as_str()), (200, PREVIEW));
    check_headers(&frame);
    let policy = frame.header("content-security-policy");
    assert!(policy.starts_with("sandbox allow-scripts; default-src 'none'; "), "{policy}");
    let hash = STANDARD.encode(Sha256::digest("run();"));
    assert!(policy.contains(&format!("script-src 'sha256-{hash}'; ")), "{policy}");
    assert!(policy.contains("frame-ancestors 'self'"), "{policy}");
    assert!(!policy.contains("allow-same-origin") && !policy.contains("script-src 'unsafe"));
}

#[tokio::test]
async fn nothing_else_of_the_folder_is_served_and_nothing_can_be_sent_to_it() {
    let folder = write_page();
    let world = start(&folder).await;
    for path in [
        "/secret.txt",
        "/version",
        "/index.html",
        "/assets",
        "/assets/",
        "/assets/nothing.js",
        "/assets/%2e%2e/secret.txt",
        "/assets/..%2fsecret.txt",
        "/assets/index-1.js/",
    ] {
        let answer = world.get(path).await;
        assert_eq!((answer.status, code(&answer)), (404, "route_not_found".to_owned()), "{path}");
        assert!(!answer.text.contains("not a part"), "{path}");
    }
    for path in ["/", "/assets/index-1.js", "/preview.html", "/web/config"] {
        for method in [Method::POST, Method::PUT, Method::DELETE] {
            let answer = send(&world, method, path).await;
            assert_eq!((answer.status, code(&answer)), (405, "method_not_allowed".to_owned()));
        }
    }
}

#[tokio::test]
async fn without_a_folder_there_is_no_page() {
    let world = World::start().await;
    for path in ["/", "/preview.html", "/assets/index-1.js"] {
        let answer = world.get(path).await;
        assert_eq!((answer.status, code(&answer)), (404, "route_not_found".to_owned()), "{path}");
    }
    assert_eq!(world.get("/web/config").await.json()["version"], "");
}

#[tokio::test]
async fn config_tells_everybody_how_to_sign_in_and_nothing_more() {
    let folder = write_page();
    let world = start(&folder).await;
    let config = world.get("/web/config").await;
    assert_eq!(config.status, 200);
    let expected = json!({"sign_in": "none", "language": "en", "has_demo_model": false,
                          "max_body_bytes": 4_194_304, "version": "abc123"});
    assert_eq!(config.json(), expected);
    assert_eq!(code(&world.get("/web/config?x=1").await), "invalid_field");

    let model = ScriptedModel::start().await.unwrap();
    let (list, _) = keyed([("acme", "anna")]);
    let mut door = Door::open(&model, |_| {}, let_in(list));
    let config = door.listen().await.get("/web/config").await;
    assert_eq!((config.status, &config.json()["sign_in"]), (200, &json!("key")));
}

#[tokio::test]
async fn page_with_a_client_may_ask_the_issuer_for_tokens_and_nobody_else() {
    let folder = write_page();
    let model = ScriptedModel::start().await.unwrap();
    let path = folder.path().to_str().unwrap().to_owned();
    let vars = move |name: &str| {
        let value = match name {
            "DJINN_PAGE" => path.as_str(),
            "DJINN_AUTH" => "jwt",
            "DJINN_JWT_ISSUER" => "https://id.example.org/realm",
            "DJINN_JWT_AUDIENCE" => "djinn",
            "DJINN_PAGE__CLIENT_ID" => "page",
            "DJINN_PAGE__TOKEN_ORIGIN" => "https://login.example.org",
            _ => return None,
        };
        Some(value.to_owned())
    };
    let settings = agent::Settings::from_vars(&vars).unwrap();
    let change = |parts: &mut Parts| {
        parts.settings.auth = settings.auth;
        parts.settings.page = settings.page;
    };
    let mut door = Door::open(&model, |_| {}, change);
    let client = door.listen().await;
    let config = client.get("/web/config").await.json();
    assert_eq!(config["sign_in"], "jwt");
    let expected = json!({"url": "https://id.example.org/realm", "client_id": "page",
                          "scopes": "openid", "token": "access"});
    assert_eq!(config["issuer"], expected);
    let policy = client.get("/").await.header("content-security-policy").to_owned();
    let connect = policy.split("; ").find(|part| part.starts_with("connect-src ")).unwrap();
    let origins = " https://id.example.org https://login.example.org";
    assert!(connect.starts_with("connect-src 'self' ") && connect.ends_with(origins), "{policy}");
    assert_eq!(policy.matches("login.example.org").count(), 1);
}
