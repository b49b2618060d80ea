//! Links that are none, or none any more.

use std::collections::BTreeSet;

use agent::{Auth, IamUser, KeyList};
use djinn_core::id::HumanRequestId;

use super::*;
use crate::keys::{keyed, let_in};
use crate::world::{Door, Logged, not_local};

/// A letter of a token's alphabet.
fn letter(random: &mut fastrand::Rng) -> char {
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
    alphabet.chars().nth(random.usize(..alphabet.len())).unwrap()
}

/// Something else that looks like a token.
pub(super) fn mutated(token: &str, random: &mut fastrand::Rng) -> String {
    let mut letters: Vec<char> = token.chars().collect();
    let place = random.usize(..letters.len());
    match random.u8(..5) {
        0 => drop(letters.remove(place)),
        1 => letters.insert(place, letter(random)),
        2 => letters.swap(place, token.len() - 1 - place),
        3 => letters.truncate(place),
        _ => letters[place] = letter(random),
    }
    letters.into_iter().collect()
}

#[tokio::test]
async fn a_thousand_mutated_tokens_are_all_told_the_same() {
    let world = linking().await;
    let (run, _) = waiting(&world).await;
    let path = link(&world, &run, "t2.c1").await;
    let other = LinkKeys::parse(&"another deployment's key".repeat(2)).unwrap();
    let mut tokens =
        BTreeSet::from([other.sign_response(&granted(&path)).unwrap(), "x".to_owned()]);
    let mut random = fastrand::Rng::with_seed(7);
    while tokens.len() < 1_002 {
        tokens.insert(mutated(token(&path), &mut random));
    }
    tokens.remove(token(&path));
    tokens.remove("");
    let _ = world.system.aws().request_counter().take_counts();
    let mut pages = BTreeSet::new();
    let mut tried = 0;
    for token in &tokens {
        let path = format!("/respond/{token}");
        let page = match tried % 2 {
            0 => world.get(&path).await,
            _ => post(&world, &path, &[("response", "stop")]).await,
        };
        assert_eq!((page.status, code(&page.text)), (404, "link_not_found"), "{token}");
        pages.insert(page.text);
        tried += 1;
    }
    assert!(tried >= 1_000 && pages.len() == 1, "{tried} tried, {} pages", pages.len());
    assert!(world.system.aws().request_counter().take_counts().is_empty(), "no store was asked");
    assert_eq!(world.get(&path).await.status, 200, "it waits on");
}

#[tokio::test]
async fn a_link_that_is_ours_is_good_for_its_own_ask_and_time_only() {
    let world = linking().await;
    let (run, asked) = waiting(&world).await;
    let digest = asked["requests"][0]["digest"].as_str().unwrap();
    let good = grant_of(&run, "t2.c1", digest);
    let request_id = |text: &str| HumanRequestId::new(text).unwrap();
    let nobody = format!("run_{}", "0".repeat(32));
    for (what, grant, status, told) in [
        ("expired", ResponseGrant { expires_at_ms: 1, ..good.clone() }, 410, "link_expired"),
        (
            "of another user",
            ResponseGrant { user: UserId::new("bob").unwrap(), ..good.clone() },
            404,
            "link_not_found",
        ),
        (
            "of another tenant",
            ResponseGrant { tenant: TenantId::new("evil").unwrap(), ..good.clone() },
            404,
            "link_not_found",
        ),
        (
            "of a run that is not there",
            ResponseGrant { run: RunId::new(nobody).unwrap(), ..good.clone() },
            404,
            "link_not_found",
        ),
        (
            "of all of a turn",
            ResponseGrant { human_request: request_id("t2"), ..good.clone() },
            409,
            "request_closed",
        ),
        (
            "never asked",
            ResponseGrant { human_request: request_id("t9.c1"), ..good.clone() },
            409,
            "request_closed",
        ),
        (
            "of other arguments",
            ResponseGrant { digest: "0".repeat(64), ..good.clone() },
            409,
            "request_stale",
        ),
    ] {
        let path = format!("/respond/{}", keys().sign_response(&grant).unwrap());
        let form = [("response", "confirm")];
        for page in [world.get(&path).await, post(&world, &path, &form).await] {
            assert_eq!((page.status, code(&page.text)), (status, told), "{what}: {}", page.text);
            assert!(!page.text.contains("file_tool"), "{what}: {}", page.text);
            assert!(!page.text.contains("<form"), "{what}: {}", page.text);
        }
    }
    let path = format!("/respond/{}", keys().sign_response(&good).unwrap());
    assert_eq!(post(&world, &path, &[("response", "confirm")]).await.status, 200);
    assert_eq!(ending(&world, &run).await["status"], "finished");
}

#[tokio::test]
async fn whoever_has_a_link_needs_no_credentials_and_gets_no_further() {
    let model = ScriptedModel::start().await.unwrap();
    let (list, [anna]) = keyed([("acme", "anna")]);
    let keyed = let_in(list);
    let mut door = Door::open(
        &model,
        |_| {},
        |parts| {
            keyed(parts);
            parts.settings.links = Some(link_settings());
            parts.settings.public_url = Some("https://djinn.example.org".to_owned());
        },
    );
    let client = door.listen().await;
    let anna = client.clone().bearing(&anna);
    anna.upload("s1", "sales.csv", SALES).await;
    script(&model, QUESTION).always();
    let logged = Logged::start();
    let question = json!({
        "question": QUESTION, "session_id": "s1", "request_id": "r1",
        "human_requests": {"enabled": true, "timeout": 0},
    });
    let stream = anna.ask_with(anna.request(Method::POST, "/runs").json(&question)).await;
    let (run, _) = (stream.run(), stream.rest().await);
    let request = anna.open_request(&run, "t2.c1").await;
    let link = request["link"].as_str().unwrap().to_owned();
    let path = link.strip_prefix("https://djinn.example.org").unwrap();
    assert_eq!(client.get(path).await.status, 200);
    assert_eq!(client.get(&format!("{path}x")).await.status, 404);
    let below = client.get(&format!("{path}/runs")).await;
    assert_eq!((below.status, &below.json()["code"]), (401, &json!("credentials_missing")));
    for method in [Method::PUT, Method::DELETE, Method::PATCH] {
        let answer = client.request(method, path).send().await.unwrap();
        assert_eq!(answer.status(), 405);
    }
    // A link is no key.
    let bearing = client.clone().bearing(token(path));
    assert_eq!(bearing.get(&format!("/runs/{run}")).await.status, 401);
    assert_eq!(client.get(&format!("/runs/{run}")).await.status, 401);
    assert_eq!(post(&client, path, &[("response", "confirm")]).await.status, 200);
    assert_eq!(ending(&anna, &run).await["status"], "finished");
    let lines = json!(logged.lines()).to_string();
    assert!(lines.contains(&run), "{lines}");
    assert!(!lines.contains(token(path)) && !lines.contains("/respond/"), "{lines}");
}

#[tokio::test]
async fn links_are_open_under_every_way_of_telling_callers_apart() {
    let digest = "0".repeat(64);
    let nobody = grant_of(&format!("run_{}", "0".repeat(32)), "t1.c1", &digest);
    let expired = ResponseGrant { expires_at_ms: 1, ..nobody };
    let path = format!("/respond/{}", keys().sign_response(&expired).unwrap());
    for auth in [Auth::Iam(IamUser::Role), Auth::Key(KeyList::Inline(Vec::new())), Auth::None] {
        let mut door = Door::open(
            None,
            |_| {},
            |parts| {
                not_local(parts);
                parts.settings.auth = auth.clone();
                parts.settings.links = Some(link_settings());
            },
        );
        let client = door.listen().await;
        let page = client.get(&path).await;
        assert_eq!((page.status, code(&page.text)), (410, "link_expired"), "{auth:?}");
    }
}

#[tokio::test]
async fn without_a_key_there_are_no_links_and_no_such_route() {
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_PEOPLE__REQUESTS", APPROVAL.to_owned()));
        options.vars.push(("DJINN_LINK_KEY", " ".to_owned()));
    })
    .await;
    world.upload("s1", "sales.csv", SALES).await;
    script(&world.model, QUESTION).always();
    let (run, asked) = waiting(&world).await;
    assert_eq!(asked["requests"][0].get("link"), None);
    assert_eq!(world.open_request(&run, "t2.c1").await.get("link"), None);
    let digest = asked["requests"][0]["digest"].as_str().unwrap();
    let token = keys().sign_response(&grant_of(&run, "t2.c1", digest)).unwrap();
    let nowhere = world.get("/nowhere/x").await;
    for path in [format!("/respond/{token}"), "/respond/x".to_owned()] {
        let answers = [world.get(&path).await, post(&world, &path, &[("response", "stop")]).await];
        for answer in answers {
            assert_eq!((answer.status, &answer.text), (404, &nowhere.text));
        }
    }
}
