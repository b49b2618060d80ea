//! What a browser on another origin is allowed, on a laptop.

use reqwest::Method;

use crate::world::{Protocol, Question, World};

const ORIGIN: &str = "http://localhost:3000";

#[tokio::test]
async fn a_preflight_allows_credentials_and_what_was_asked_for() {
    let world = World::start().await;
    for path in Protocol::ALL.map(Protocol::path).into_iter().chain(["/v1/file_tool/get_file"]) {
        let preflight = world
            .request(Method::OPTIONS, path)
            .header("origin", ORIGIN)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "content-type,cache-control");
        let answer = preflight.send().await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("access-control-allow-origin"), ORIGIN);
        assert_eq!(header("access-control-allow-credentials"), "true");
        assert_eq!(header("access-control-allow-methods"), "POST");
        assert_eq!(header("access-control-allow-headers"), "content-type,cache-control");
    }
}

#[tokio::test]
async fn answers_echo_the_origin_and_expose_our_headers_also_where_they_refuse() {
    let world = World::start().await;
    world.model.on("Hello?").reply("Hello.").always();
    for protocol in Protocol::ALL {
        for (text, status) in [("Hello?", 200), ("", 400)] {
            let body = protocol.body(&Question::new(text));
            let request = world.request(Method::POST, protocol.path()).json(&body);
            let stream = world.ask_with(request.header("origin", ORIGIN)).await;
            assert_eq!(stream.status, status);
            assert_eq!(stream.header("access-control-allow-origin"), ORIGIN);
            assert_eq!(stream.header("access-control-allow-credentials"), "true");
            let exposed = stream.header("access-control-expose-headers");
            assert!(exposed.contains("djinn-run-id") && exposed.contains("djinn-request-id"));
            assert!(!stream.header("djinn-request-id").is_empty());
            assert_eq!(stream.headers.get_all("access-control-allow-origin").iter().count(), 1);
            stream.rest().await;
        }
    }
}
