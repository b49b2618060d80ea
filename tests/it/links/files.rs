//! Links to files: whoever has one opens that content of that file in any browser, until the day after.

use std::sync::Arc;
use std::time::Duration;

use agent::{Agent, Auth, FileGrant, IamUser, build_router};
use djinn_core::id::{FileName, SessionId};
use djinn_local::LocalWorld;
use djinn_runtime::port::SessionKey;
use djinn_runtime::port::file_url::Folder;
use djinn_runtime::world::World as Ports;
use djinn_testkit::clock::ManualClock;
use percent_encoding::percent_decode_str;
use tokio::net::TcpListener;

use super::*;
use crate::keys::{keyed, let_in};
use crate::world::{Door, Logged, Parts, caller_v1, caller_v2, not_local};

const HOUR: Duration = Duration::from_secs(60 * 60);

/// A deployment whose callers have keys, with Anna's client and one of somebody who has none.
pub(super) async fn deployed(model: Option<&ScriptedModel>) -> (Door, Client, Client) {
    let (list, [anna]) = keyed([("acme", "anna")]);
    let keyed = let_in(list);
    let mut door = Door::open(
        model,
        |_| {},
        |parts| {
            keyed(parts);
            parts.settings.links = Some(link_settings());
            // As on a laptop: the origin is the host that is asked.
            parts.settings.local = true;
        },
    );
    let client = door.listen().await;
    (door, client.clone().bearing(&anna), client)
}

/// The same URL for downloading, as JoyAgent's UI makes it.
fn download_of(preview: &str) -> String {
    preview.replacen("preview", "download", 1)
}

fn token_of(url: &str) -> &str {
    url.rsplit('/').nth(1).unwrap()
}

/// What a link to a file grants.
pub(crate) fn granted_file(url: &str) -> FileGrant {
    let (_, name) = url.rsplit_once('/').unwrap();
    let name = percent_decode_str(name).decode_utf8().unwrap();
    keys().verify_file(token_of(url), &name, 0).unwrap()
}

/// The same link for another grant.
pub(super) fn granting(url: &str, grant: &FileGrant) -> String {
    url.replace(token_of(url), &keys().sign_file(grant).unwrap())
}

/// The answer to a browser, which sends no credentials and shows pages.
async fn browsed(url: &str) -> Answer {
    let request = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    let request = request.build().unwrap().get(url).header("accept", "text/html,*/*;q=0.8");
    Answer::of(request.send().await.unwrap()).await
}

#[tokio::test]
async fn a_link_to_a_report_opens_in_a_browser_and_keeps_what_it_was_made_for() {
    let (_door, anna, stranger) = deployed(None).await;
    let place = anna.upload("s1", "报告 1.html", "<h1>Old</h1>").await.json();
    let old = place["domainUrl"].as_str().unwrap().to_owned();
    assert_eq!(
        (&place["downloadUrl"], &place["ossUrl"]),
        (&json!(download_of(&old)), &place["downloadUrl"])
    );
    let (before, _) = old.split_once("preview/").unwrap();
    assert_eq!(before, format!("{}/v1/file_tool/", stranger.url));
    for (url, disposition) in [(old.clone(), "inline"), (download_of(&old), "attachment")] {
        let answer = stranger.follow(&url).await;
        assert_eq!((answer.status, answer.text.as_str()), (200, "<h1>Old</h1>"));
        assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
        assert!(answer.header("content-disposition").starts_with(disposition));
        assert!(answer.header("content-security-policy").starts_with("default-src 'none'; "));
        assert!(answer.header("content-security-policy").ends_with("; sandbox"));
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(browsed(&url).await.header("cache-control"), "no-store");
    }
    // The function sends the page, and the bucket what is saved.
    assert_eq!(browsed(&old).await.status, 200);
    let redirect = browsed(&download_of(&old)).await;
    assert_eq!(redirect.status, 302);
    assert!(!redirect.header("location").starts_with(&stranger.url));
    // The same content keeps its URL, and another one has another.
    let file = json!({"requestId": "s1", "fileName": "报告 1.html"});
    let find =
        async || anna.post("/v1/file_tool/get_file", &file).await.json()["domainUrl"].clone();
    assert_eq!(find().await, json!(old));
    anna.upload("s1", "报告 1.html", "<h1>New</h1>").await;
    let new = find().await;
    assert_ne!(new, json!(old));
    assert_eq!(stranger.follow(new.as_str().unwrap()).await.text, "<h1>New</h1>");
    assert_eq!(stranger.follow(&old).await.text, "<h1>Old</h1>");
    anna.upload("s1", "报告 1.html", "<h1>Old</h1>").await;
    assert_eq!(find().await, json!(old));
}

#[tokio::test]
async fn every_place_that_names_a_file_has_a_link_that_needs_no_credentials() {
    let model = ScriptedModel::start().await.unwrap();
    let (_door, anna, stranger) = deployed(Some(&model)).await;
    anna.upload("s1", "sales.csv", SALES).await;
    script(&model, QUESTION).always();
    let question = Question::of(QUESTION, "s1");
    let stream = anna.ask(Protocol::Native, &question).await;
    let (run, frames) = (stream.run(), stream.rest().await);
    let mut urls: Vec<Value> = frames.iter().map(Frame::json).collect();
    for protocol in [Protocol::Raw, Protocol::Ui] {
        urls.extend(anna.ask(protocol, &question).await.rest().await.iter().map(Frame::json));
    }
    let list = json!({"requestId": "s1", "pageSize": 10});
    urls.push(anna.post("/v1/file_tool/get_file_list", &list).await.json());
    let announced = json!({"requestId": "s1", "fileName": "sales.csv", "fileSize": 5});
    for path in [format!("/runs/{run}"), "/sessions/s1".to_owned()] {
        urls.push(anna.get(&path).await.json());
    }
    let mut tried = 0;
    for told in &urls {
        let mut links = Vec::new();
        links_in(told, &mut links);
        for link in links {
            assert_eq!(granted_file(&link).folder, folder_of("acme", "anna", "s1"), "{link}");
            let status = stranger.get(link.strip_prefix(&stranger.url).unwrap()).await.status;
            assert!([200, 302].contains(&status), "{link}: {status}");
            tried += 1;
        }
    }
    assert!(tried > 20, "{tried}");
    let coming = anna.post("/v1/file_tool/upload_url", &announced).await.json();
    let link = coming["domainUrl"].as_str().unwrap();
    let early = browsed(link).await;
    assert_eq!((early.status, code(&early.text)), (404, "link_not_found"), "it is not there yet");
    let put = stranger.http.put(coming["uploadUrl"].as_str().unwrap());
    let put = put.header("content-type", "text/csv").header("if-none-match", "*").body("a,b,c");
    assert_eq!(put.send().await.unwrap().status(), 200);
    assert_eq!(stranger.follow(link).await.text, "a,b,c");
}

/// Every link to a file in an answer.
fn links_in(told: &Value, links: &mut Vec<String>) {
    match told {
        Value::String(text) if text.contains("/v1/file_tool/") => links.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| links_in(item, links)),
        Value::Object(members) => members.values().for_each(|member| links_in(member, links)),
        _ => {}
    }
}

/// The routes of a door in a time of its own.
async fn timed(door: &Door, clock: &ManualClock) -> Client {
    let LocalWorld { store, model, alarms, invoker, tools, prompts, content, .. } =
        door.ports.clone();
    let LocalWorld { sandbox, outside, tables, settings, .. } = door.ports.clone();
    let http = model.http();
    let (clock, configuration) = (Arc::new(clock.clone()), None);
    let ports = Ports {
        store,
        model,
        alarms,
        invoker,
        clock,
        tools,
        prompts,
        content,
        sandbox,
        outside,
        tables,
        settings,
        shutdown: djinn_runtime::shutdown::Shutdown::default(),
        rate_limits: djinn_runtime::rate_limits::RateLimits::default(),
        variables: Arc::new(|_| None),
        configuration,
    };
    let var = |name: &str| match name {
        "DJINN_LOCAL" => Some("1".to_owned()),
        "DJINN_LINK_KEY" => Some(LINK_KEY.to_owned()),
        _ => None,
    };
    let agent = Agent { ports, settings: agent::Settings::from_vars(&var).unwrap() };
    let routes = build_router(agent, door.aws.secrets(), http);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
    Client::new(url)
}

#[tokio::test]
async fn a_link_is_the_same_for_a_day_and_refused_a_day_and_a_half_later() {
    let door = Door::open(None, |_| {}, |_| {});
    // It begins at midnight.
    let clock = ManualClock::new();
    let client = timed(&door, &clock).await;
    client.upload("s1", "growth.html", "<h1>Growth</h1>").await;
    let find = async || {
        let file = json!({"requestId": "s1", "fileName": "growth.html"});
        let found = client.post("/v1/file_tool/get_file", &file).await.json();
        found["domainUrl"].as_str().unwrap().to_owned()
    };
    let first = find().await;
    assert!(first.len() < 200, "{} letters: {first}", first.len());
    clock.advance(HOUR * 24 - Duration::from_millis(1));
    let late = find().await;
    assert_eq!(late, first);
    clock.advance(Duration::from_millis(1));
    let next = find().await;
    assert_ne!(next, first, "the next day has a link of its own");
    clock.advance(HOUR * 12 - Duration::from_millis(1));
    assert_eq!(browsed(&first).await.status, 200);
    clock.advance(Duration::from_millis(1));
    for url in [first.clone(), download_of(&first)] {
        let page = browsed(&url).await;
        assert_eq!((page.status, code(&page.text)), (410, "link_expired"));
        assert!(page.header("x-frame-options").is_empty(), "it may stand in a frame");
        let told = client.get(url.strip_prefix(&client.url).unwrap()).await;
        assert_eq!((told.status, &told.json()["code"]), (410, &json!("link_expired")));
    }
    assert_eq!(browsed(&next).await.status, 200);
    assert_eq!(find().await, next);
}

#[tokio::test]
async fn a_link_opens_that_file_and_nothing_else() {
    let model = ScriptedModel::start().await.unwrap();
    let (door, anna, stranger) = deployed(Some(&model)).await;
    let place = anna.upload("s1", "mine.md", "Mine.").await.json();
    let link = place["domainUrl"].as_str().unwrap().to_owned();
    anna.upload("s1", "other.md", "Other.").await;
    let good = granted_file(&link);
    let answer = ResponseGrant {
        tenant: good.folder.tenant.clone(),
        ..grant_of(&format!("run_{}", "0".repeat(32)), "t1.c1", &"0".repeat(64))
    };
    let _ = door.aws.request_counter().take_counts();
    for (what, url) in [
        ("under another name", link.replace("mine.md", "other.md")),
        ("for answers", link.replace(token_of(&link), &keys().sign_response(&answer).unwrap())),
        ("of another key", {
            let keys = LinkKeys::parse(&"another deployment's key".repeat(2)).unwrap();
            link.replace(token_of(&link), &keys.sign_file(&good).unwrap())
        }),
    ] {
        let page = browsed(&url).await;
        assert_eq!((page.status, code(&page.text)), (404, "link_not_found"), "{what}");
    }
    assert!(door.aws.request_counter().take_counts().is_empty(), "no store was asked");
    for (what, grant) in [
        ("of another tenant", {
            FileGrant { folder: folder_of("evil", "anna", "s1"), ..good.clone() }
        }),
        ("of another session", {
            FileGrant { folder: folder_of("acme", "anna", "s2"), ..good.clone() }
        }),
        ("of content that never was", {
            FileGrant { object: format!("files/{}", "0".repeat(64)), ..good.clone() }
        }),
    ] {
        let page = browsed(&granting(&link, &grant)).await;
        assert_eq!((page.status, code(&page.text)), (404, "link_not_found"), "{what}");
    }
    let as_answer = stranger.get(&format!("/respond/{}", token_of(&link))).await;
    assert_eq!((as_answer.status, code(&as_answer.text)), (404, "link_not_found"));
    // It is no key, and leads nowhere else.
    let bearing = stranger.clone().bearing(token_of(&link));
    assert_eq!(bearing.get("/sessions/s1").await.status, 401);
    let label = stranger.get("/v1/file_tool/preview/s1/mine.md").await;
    assert_eq!((label.status, &label.json()["code"]), (401, &json!("credentials_missing")));
    assert_eq!(anna.get("/v1/file_tool/preview/s1/mine.md").await.status, 302);
    let path = link.strip_prefix(&stranger.url).unwrap();
    for method in [Method::POST, Method::PUT, Method::DELETE] {
        assert_eq!(stranger.request(method, path).send().await.unwrap().status(), 405);
    }
    assert_eq!(stranger.get(&format!("{path}/more")).await.status, 401);
    assert_eq!(stranger.get(path).await.status, 302);

    // What is deleted is gone for those who have links, too.
    model.on("Hello?").reply("Hello.");
    anna.told(&Question::of("Hello?", "s1")).await;
    assert_eq!(anna.delete("/sessions/s1").await.status, 204);
    let page = browsed(&link).await;
    assert_eq!((page.status, code(&page.text)), (404, "link_not_found"));
}

#[tokio::test]
async fn a_link_opens_however_its_name_is_encoded_and_under_no_other_name() {
    let (_door, anna, stranger) = deployed(None).await;
    let place = anna.upload("s1", "报告 (1)!.md", "Mine.").await.json();
    let link = place["domainUrl"].as_str().unwrap();
    let (start, name) = link.rsplit_once('/').unwrap();
    for same in [
        name,
        &name.to_lowercase(),
        // As JavaScript's encodeURIComponent writes it, and with more encoded than must be.
        "%E6%8A%A5%E5%91%8A%20(1)!.md",
        "%E6%8A%A5%E5%91%8A%20%281%29%21%2E%6D%64",
    ] {
        assert_eq!(stranger.follow(&format!("{start}/{same}")).await.text, "Mine.", "{same}");
    }
    for other in
        ["%E6%8A%A5%E5%91%8A%20(1).md", "(1)!.md", &format!("{name}%00"), &format!("{name}%2F")]
    {
        let page = browsed(&format!("{start}/{other}")).await;
        assert_eq!((page.status, code(&page.text)), (404, "link_not_found"), "{other}");
    }
}

#[tokio::test]
async fn a_thousand_mutated_links_open_nothing_and_ask_no_store() {
    let (door, anna, stranger) = deployed(None).await;
    let place = anna.upload("s1", "mine.md", "Mine.").await.json();
    let link = place["domainUrl"].as_str().unwrap().to_owned();
    let mut random = fastrand::Rng::with_seed(11);
    let logged = Logged::start();
    let _ = door.aws.request_counter().take_counts();
    let mut tried = 0;
    while tried < 1_000 {
        let mutated = refused::mutated(token_of(&link), &mut random);
        // What is no longer than a label is taken for one.
        if mutated == token_of(&link) || mutated.len() <= 128 {
            continue;
        }
        let path = format!("/v1/file_tool/preview/{mutated}/mine.md");
        let told = stranger.get(&path).await;
        assert_eq!((told.status, &told.json()["code"]), (404, &json!("link_not_found")), "{path}");
        tried += 1;
    }
    assert!(door.aws.request_counter().take_counts().is_empty(), "no store was asked");
    assert_eq!(stranger.follow(&link).await.text, "Mine.");
    assert!(!json!(logged.lines()).to_string().contains(token_of(&link)));
}

#[tokio::test]
async fn links_to_files_are_open_behind_aws_too() {
    let opened = |parts: &mut Parts| {
        not_local(parts);
        parts.settings.auth = Auth::Iam(IamUser::Session);
        let mut links = link_settings();
        links.url = Some("https://open.example.org/live".to_owned());
        parts.settings.links = Some(links);
    };
    let door = Door::open(None, |_| {}, opened);
    let arn = Some("arn:aws:sts::123456789012:assumed-role/Analyst/anna");
    let file = json!({"requestId": "s1", "fileName": "a.pdf", "content": "%PDF"});
    let upload = caller_v2(arn, "POST", "/v1/file_tool/upload_file", &file);
    let (_, place) = door.status_and_json(upload).await;
    let url = place["domainUrl"].as_str().unwrap();
    let path = url.strip_prefix("https://open.example.org/live").unwrap();
    for caller in [caller_v1, caller_v2] {
        for path in [path.to_owned(), download_of(path)] {
            let answer = door.answer(caller(None, "GET", &path, &json!({}))).await;
            assert_eq!(answer.status(), 302);
            let location = answer.headers()["location"].to_str().unwrap();
            assert!(location.contains("response-content-type=application%2Fpdf"), "{location}");
        }
        let label = caller(None, "GET", "/v1/file_tool/preview/s1/a.pdf", &json!({}));
        assert_eq!(door.status_and_json(label).await.0, 503);
    }
}

/// A text with what its links to files grant in the place of their tokens.
pub(crate) fn unsigned(text: &str) -> String {
    const FILES: &str = "/v1/file_tool/";
    let mut parts = text.split(FILES);
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut pieces = part.splitn(3, '/');
        let signed = match [pieces.next(), pieces.next(), pieces.next()] {
            [Some(verb), Some(token), Some(rest)] if token.len() > 128 => {
                let is_end =
                    |letter: char| !(letter.is_ascii_alphanumeric() || "-._~%".contains(letter));
                let name = rest.split(is_end).next().unwrap_or_default();
                let link = format!("{token}/{name}");
                let Folder { tenant, owner, session } = granted_file(&link).folder;
                let [owner, session] = [owner, session].map(String::from);
                Some(format!("{verb}/{tenant}:{owner}:{session}/{rest}"))
            }
            _ => None,
        };
        shown = format!("{shown}{FILES}{}", signed.as_deref().unwrap_or(part));
    }
    shown
}

fn folder_of(tenant: &str, owner: &str, session: &str) -> Folder {
    let (tenant, owner) = (TenantId::new(tenant).unwrap(), UserId::new(owner).unwrap());
    let session = SessionId::new(session).unwrap();
    Folder::from(&SessionKey { tenant, owner, session })
}

/// A grant of a file of the laptop's user that is not there.
pub(crate) fn file_grant() -> FileGrant {
    FileGrant {
        folder: folder_of("local", "you", "s1"),
        name: FileName::new("mine.md").unwrap(),
        object: format!("files/{}", "0".repeat(64)),
        expires_at_ms: i64::MAX,
    }
}
