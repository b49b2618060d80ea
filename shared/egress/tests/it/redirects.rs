//! Redirects: how many, where to, and what is sent along.

use std::process::Command;

use djinn_egress::{AddressProblem, AddressRange, EgressError, EgressLimits, EgressRequest};

use super::server::{Received, TestServer, page, redirect};
use super::world::{Watch, local_client};

/// Leads from `/5` to `/4` and so on up to `/0`, which is a page.
async fn start_chain() -> TestServer {
    TestServer::start(|received| match received.path[1..].parse::<u32>() {
        Ok(0) => page("the end"),
        Ok(number) => redirect("302 Found", &format!("/{}", number - 1)),
        Err(_) => redirect("301 Moved Permanently", &received.path),
    })
    .await
}

#[tokio::test]
async fn five_redirects_are_followed() {
    let server = start_chain().await;
    let client = local_client(&[&server.origin], EgressLimits::default());
    let response = client.send(EgressRequest::get(&server.url("/5"))).await.unwrap();
    assert_eq!((response.status, response.body.as_slice()), (200, b"the end".as_slice()));
    assert_eq!(response.url.as_str(), server.url("/0"));
    assert_eq!(response.content_type.as_deref(), Some("text/html"));
    assert!(!response.is_cut);
}

#[tokio::test]
async fn six_redirects_and_loops_are_not() {
    let server = start_chain().await;
    let client = local_client(&[&server.origin], EgressLimits::default());
    for path in ["/6", "/loop"] {
        let url = server.url(path);
        let error = client.send(EgressRequest::get(&url)).await.unwrap_err();
        assert_eq!(error, EgressError::TooManyRedirects { url, redirects: 5 });
    }
    assert_eq!(server.received().len(), 12);
}

#[tokio::test]
async fn a_redirect_is_the_response_where_none_are_wanted() {
    let server = start_chain().await;
    let client = local_client(&[&server.origin], EgressLimits::default());
    let request =
        EgressRequest { accept_redirects: false, ..EgressRequest::get(&server.url("/3")) };
    let response = client.send(request).await.unwrap();
    assert_eq!((response.status, response.find_header("Location")), (302, Some("/2")));
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn a_request_with_a_key_follows_no_redirect() {
    let away = TestServer::start(|_| page("away")).await;
    let server = {
        let away = away.url("/");
        TestServer::start(move |received| match received.path.as_str() {
            "/away" => redirect("307 Temporary Redirect", &away),
            "/within" => redirect("302 Found", "/page"),
            _ => page("here"),
        })
        .await
    };
    let client = local_client(&[&server.origin, &away.origin], EgressLimits::default());
    for (path, status) in [("/away", 307), ("/within", 302), ("/page", 200)] {
        let request = EgressRequest::get(&server.url(path)).with_key("Authorization", "canary");
        assert!(request.accept_redirects && !format!("{request:?}").contains("canary"));
        let response = client.send(request).await.unwrap();
        assert_eq!((response.status, response.is_redirect()), (status, status != 200));
    }
    let received = server.received();
    assert_eq!(received.len(), 3);
    assert!(received.iter().all(|request| request.header("authorization") == Some("canary")));
    assert_eq!(away.received(), []);
}

#[tokio::test]
async fn a_redirect_to_what_is_not_public_is_refused() {
    let watch = Watch::start().await;
    let port = watch.port;
    let server = TestServer::start(move |received| {
        redirect("307 Temporary Redirect", &format!("{}:{port}/", &received.path[1..]))
    })
    .await;
    let client = local_client(&[&server.origin], EgressLimits::default());
    for (location, why) in [
        ("http://127.0.0.1", AddressProblem::Literal(AddressRange::Loopback)),
        ("http://10.0.0.1", AddressProblem::Literal(AddressRange::Private)),
        ("//169.254.169.254", AddressProblem::Literal(AddressRange::LinkLocal)),
        ("//localhost", AddressProblem::LocalName),
        ("file://127.0.0.1", AddressProblem::Scheme),
        ("http://a:b@127.0.0.1", AddressProblem::UserInfo),
    ] {
        let request = EgressRequest::get(&server.url(&format!("/{location}")));
        match client.send(request).await.unwrap_err() {
            EgressError::Address { why: found, .. } => assert!(
                found == why || (location.starts_with("file") && found == AddressProblem::NotAUrl),
                "{location}: {found}"
            ),
            error => panic!("{location}: {error}"),
        }
    }
    assert_eq!(watch.count_connects().await, 0);
}

/// A request with all that could be a key.
fn request_with_keys(url: &str) -> EgressRequest {
    EgressRequest::get(url)
        .with_header("Authorization", "Bearer canary")
        .with_header("Cookie", "session=canary")
        .with_header("X-API-Key", "canary")
        .with_header("X-Subscription-Token", "canary")
        .with_header("Referer", "https://canary.example/")
        .with_header("Accept", "application/json")
        .with_header("Accept-Language", "en")
}

fn names(received: &Received) -> Vec<&str> {
    let mut names: Vec<_> = received.headers.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names
}

#[tokio::test]
async fn credentials_do_not_go_to_another_origin_nor_come_back() {
    let away = TestServer::start(|received| redirect("302 Found", &received.path[1..])).await;
    let home = {
        let away = away.origin.clone();
        TestServer::start(move |received| match received.path.as_str() {
            "/within" => redirect("302 Found", "/out"),
            "/out" => {
                let back = format!("http://{}/back", received.header("host").unwrap());
                redirect("302 Found", &format!("{away}/{back}"))
            }
            _ => page("home"),
        })
        .await
    };
    let client = local_client(&[&home.origin, &away.origin], EgressLimits::default());
    let response = client.send(request_with_keys(&home.url("/within"))).await.unwrap();
    assert_eq!(response.url.as_str(), home.url("/back"));
    let at_home = home.received();
    let all = [
        "accept",
        "accept-encoding",
        "accept-language",
        "authorization",
        "cookie",
        "host",
        "referer",
        "user-agent",
        "x-api-key",
        "x-subscription-token",
    ];
    let harmless = ["accept", "accept-encoding", "accept-language", "host", "user-agent"];
    assert_eq!([names(&at_home[0]), names(&at_home[1])], [all, all]);
    assert_eq!(names(&at_home[2]), harmless);
    assert_eq!(names(&away.received()[0]), harmless);
    assert!(!format!("{:?}", away.received()).contains("canary"));
}

#[tokio::test]
async fn a_body_stays_with_its_origin() {
    let away = TestServer::start(|_| page("away")).await;
    let home = {
        let away = away.url("/away");
        TestServer::start(move |received| match received.path.as_str() {
            "/see-other" => redirect("303 See Other", "/done"),
            "/found" => redirect("302 Found", "/done"),
            "/again" => redirect("307 Temporary Redirect", "/done"),
            "/elsewhere" => redirect("308 Permanent Redirect", &away),
            "/read-elsewhere" => redirect("303 See Other", &away),
            _ => page("done"),
        })
        .await
    };
    let client = local_client(&[&home.origin, &away.origin], EgressLimits::default());
    let post = |path: &str| {
        let request = EgressRequest::post(&home.url(path), b"{\"query\":\"canary\"}".to_vec());
        client.send(request.with_header("Content-Type", "application/json"))
    };
    for (path, method, body) in [
        ("/see-other", "GET", ""),
        ("/found", "GET", ""),
        ("/again", "POST", "{\"query\":\"canary\"}"),
    ] {
        assert_eq!(post(path).await.unwrap().body, b"done");
        let last = home.received().pop().unwrap();
        assert_eq!((last.method.as_str(), last.body.as_slice()), (method, body.as_bytes()));
        assert_eq!(last.header("content-type").is_some(), method == "POST");
    }
    let (url, why) = (away.url("/away"), AddressProblem::BodyElsewhere);
    assert_eq!(post("/elsewhere").await.unwrap_err(), EgressError::Address { url, why });
    assert_eq!(post("/read-elsewhere").await.unwrap().body, b"away");
    assert_eq!(away.received()[0].body, b"");
}

#[tokio::test]
async fn a_proxy_of_the_environment_is_not_asked() {
    let watch = Watch::start().await;
    let proxy = format!("http://127.0.0.1:{}", watch.port);
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "redirects::five_redirects_are_followed"]);
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "ALL_PROXY"] {
        child.env(name, &proxy);
    }
    child.env_remove("no_proxy").env_remove("NO_PROXY");
    let output = tokio::task::spawn_blocking(move || child.output()).await.unwrap().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    assert_eq!(watch.count_connects().await, 0);
}
