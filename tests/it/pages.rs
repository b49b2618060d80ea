//! What pages of other sites can do in the browser of whoever runs `cargo dev`: nothing.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::human_requests::{APPROVAL, waiting};
use crate::world::{Answer, Client, Protocol, QUESTION, Question, SALES, World, script};

const EVIL: &str = "https://evil.example";

async fn sent(request: RequestBuilder, headers: &[(&str, &str)]) -> Answer {
    let request =
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    Answer::of(request.send().await.unwrap()).await
}

/// How a request was refused, and that no page may read even that.
#[track_caller]
fn refusal(answer: &Answer) -> (u16, Value) {
    assert!(!answer.headers.contains_key("access-control-allow-origin"), "{answer:?}");
    (answer.status, answer.json()["code"].clone())
}

#[tokio::test]
async fn a_page_of_another_site_reads_nothing_and_answers_nothing() {
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_PEOPLE__REQUESTS", APPROVAL.to_owned()));
    })
    .await;
    world.upload("s1", "sales.csv", SALES).await;
    script(&world.model, QUESTION).always();
    let (run, _) = waiting(&world).await;
    let refused = (403, json!("origin_refused"));
    let from_evil = [
        &[("origin", EVIL)][..],
        &[("origin", EVIL), ("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")],
        &[("origin", "null")],
    ];
    for headers in from_evil {
        for path in ["/sessions", "/sessions/s1", &format!("/runs/{run}/events")] {
            let answer = sent(world.request(Method::GET, path), headers).await;
            assert_eq!(refusal(&answer), refused, "{path} {headers:?}");
        }
        let path = format!("/runs/{run}/requests/t2.c1/response");
        // What a page may send without asking for leave, and what it may not.
        for kind in ["text/plain", "application/json"] {
            let confirm = json!({"response": "confirm"});
            let request = world.request(Method::POST, &path).header("content-type", kind);
            let answer = sent(request.body(confirm.to_string()), headers).await;
            assert_eq!(refusal(&answer), refused, "{kind} {headers:?}");
        }
        let stop = world.request(Method::POST, &format!("/runs/{run}/stop"));
        assert_eq!(refusal(&sent(stop, headers).await), refused);
    }
    assert!(world.open_request(&run, "t2.c1").await.is_object());
    assert_eq!(world.get("/runs?status=paused").await.json()["runs"][0]["run"], json!(run));
    let leave = world
        .request(Method::OPTIONS, "/sessions")
        .header("access-control-request-method", "DELETE");
    let leave = sent(leave, &[("origin", EVIL)]).await;
    assert!(!leave.headers.contains_key("access-control-allow-origin"), "{leave:?}");
}

#[tokio::test]
async fn a_name_that_was_made_to_lead_here_is_not_answered() {
    let world = World::start().await;
    let rebound = [("host", "evil.example:9000"), ("sec-fetch-site", "same-origin")];
    let request = world.request(Method::GET, "/sessions");
    assert_eq!(refusal(&sent(request, &rebound).await), (403, json!("host_refused")));
    let request = world.request(Method::POST, "/runs").json(&json!({"question": "Hello?"}));
    let answer = sent(request, &rebound).await;
    assert_eq!(refusal(&answer), (403, json!("host_refused")));
    let message = answer.json()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("DJINN_LOCAL_ORIGINS") && message.contains("evil.example:9000"));
    let port = world.url.rsplit(':').next().unwrap();
    for ours in [format!("localhost:{port}"), format!("[::1]:{port}"), "127.0.0.1".to_owned()] {
        let request = world.request(Method::GET, "/sessions");
        assert_eq!(sent(request, &[("host", &ours)]).await.status, 200, "{ours}");
    }
    assert_eq!(world.model.requests().len(), 0);
}

#[tokio::test]
async fn the_machines_own_pages_and_named_ones_ask() {
    let world = World::start_with(|options, _| {
        let vars = [
            ("DJINN_LOCAL_ORIGINS", "https://chat.example.org, http://box:3000"),
            ("DJINN_PUBLIC_URL", "https://djinn.example.org/v2"),
        ];
        options.vars.extend(vars.map(|(name, value)| (name, value.to_owned())));
    })
    .await;
    world.model.on("Hello?").reply("Hello.").always();
    for origin in [
        "http://localhost:3000",
        "http://127.0.0.1:5173",
        "http://[::1]:3000",
        "https://chat.example.org",
        "http://box:3000",
        "https://djinn.example.org",
    ] {
        for protocol in Protocol::ALL {
            let body = protocol.body(&Question::new("Hello?"));
            let request = world.request(Method::POST, protocol.path()).json(&body);
            let request = request.header("sec-fetch-site", "cross-site").header("origin", origin);
            let stream = world.ask_with(request).await;
            assert_eq!(stream.status, 200, "{origin}");
            assert_eq!(stream.header("access-control-allow-origin"), origin);
            assert_eq!(stream.header("access-control-allow-credentials"), "true");
            stream.rest().await;
        }
    }
    for host in ["chat.example.org", "djinn.example.org", "box:9000"] {
        let request = world.request(Method::GET, "/sessions");
        assert_eq!(sent(request, &[("host", host)]).await.status, 200, "{host}");
    }
    for other in ["http://chat.example.org", "https://chat.example.org:444", "http://box"] {
        let request = world.request(Method::GET, "/sessions");
        let answer = sent(request, &[("origin", other)]).await;
        assert_eq!(refusal(&answer), (403, json!("origin_refused")), "{other}");
    }
}

#[tokio::test]
async fn links_lead_here_from_everywhere_and_frames_from_our_pages_only() {
    let world = World::start().await;
    world.upload("s1", "a.html", "<p>A</p>").await;
    let path = "/v1/file_tool/preview/s1/a.html";
    let shown = async |client: &Client, headers: &[(&str, &str)]| {
        let crossing = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
        let headers = [&crossing[..], headers].concat();
        sent(client.request(Method::GET, path), &headers).await.status
    };
    assert_eq!(shown(&world, &[("sec-fetch-dest", "document")]).await, 200);
    let frame = ("sec-fetch-dest", "iframe");
    assert_eq!(shown(&world, &[frame, ("referer", "http://localhost:3000/")]).await, 200);
    assert_eq!(shown(&world, &[frame, ("referer", "https://evil.example/")]).await, 403);
    assert_eq!(shown(&world, &[frame]).await, 403);
}
