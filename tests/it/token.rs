//! Callers who are known by a token of an issuer (`DJINN_AUTH=jwt`).

use djinn_scripted::ScriptedModel;
use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::world::{
    AUDIENCE, Answer, Client, Door, Issuer, Question, SigningKey, encoded, signed_with_secret,
};

async fn get(client: &Client, headers: &[(&str, &str)]) -> Answer {
    let request = client.request(Method::GET, "/runs");
    let request =
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    Answer::of(request.send().await.unwrap()).await
}

/// What a request with this token is answered.
async fn with(client: &Client, token: &str) -> Answer {
    get(client, &[("authorization", &format!("Bearer {token}"))]).await
}

/// The status, the code and what the sentence says of the token.
#[track_caller]
fn refusal(answer: &Answer) -> (u16, String, String) {
    let body = answer.json();
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    (answer.status, text("code"), text("detail"))
}

/// A set of claims with one of them changed; null takes it out.
fn changed(claims: &Value, name: &str, value: Value) -> Value {
    let mut claims = claims.clone();
    match value {
        Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
        value => claims[name] = value,
    }
    claims
}

#[tokio::test]
async fn a_token_lets_its_holder_in_and_says_whose_a_run_is() {
    let model = ScriptedModel::start().await.unwrap();
    let (rsa, ec) = (SigningKey::rsa("r1"), SigningKey::ec("e1"));
    let issuer = Issuer::start(&[&rsa, &ec]).await;
    let mut door = Door::open(&model, |_| {}, issuer.lets_in());
    let client = door.listen().await;
    assert_eq!(issuer.asked(), 0, "keys are read with the first token that comes");
    model.on("Who am I?").reply("Anna.");
    let anna = issuer.claims("acme", "auth0|anna");
    let holder = client.clone().bearing(&rsa.token(&anna));
    let told = holder.told(&Question::of("Who am I?", "s1")).await;
    assert_eq!(told.last().unwrap().json()["answer"], "Anna.");
    let nameless = json!({"alg": "ES256"});
    for token in [
        ec.token(&anna),
        ec.signed(&nameless, &anna.to_string()),
        rsa.token(&changed(&anna, "aud", json!(["somebody", AUDIENCE]))),
        rsa.token(&changed(&anna, "nbf", Value::Null)),
        // The issuer's clock is ahead of ours.
        rsa.token(&changed(&anna, "nbf", (anna["iat"].as_i64().unwrap() + 30).into())),
    ] {
        let runs = with(&client, &token).await;
        assert_eq!(runs.status, 200, "{}", runs.text);
        assert_eq!(runs.json()["runs"].as_array().unwrap().len(), 1);
    }
    for (tenant, user) in [("acme", "auth0|bert"), ("evil", "auth0|anna")] {
        let runs = with(&client, &ec.token(&issuer.claims(tenant, user))).await;
        assert_eq!((runs.status, &runs.json()["runs"]), (200, &json!([])), "{tenant} {user}");
    }
    assert_eq!(issuer.asked(), 1);
}

#[tokio::test]
async fn who_has_no_token_is_told_to_send_one_and_gets_to_the_health_check_only() {
    let key = SigningKey::ec("e1");
    let issuer = Issuer::start(&[&key]).await;
    let mut door = Door::open(None, |_| {}, issuer.lets_in());
    let client = door.listen().await;
    let health = client.get("/web/health").await;
    assert_eq!((health.status, health.text.as_str()), (200, "ok"));
    let token = key.token(&issuer.claims("acme", "anna"));
    let basic = format!("Basic {token}");
    let bare = token.as_str();
    let none: &[(&str, &str)] = &[];
    for headers in
        [none, &[("authorization", &basic)], &[("x-api-key", bare)], &[("authorization", bare)]]
    {
        let missing = get(&client, headers).await;
        assert_eq!((missing.status, &missing.json()["code"]), (401, &json!("credentials_missing")));
        assert_eq!(missing.header("www-authenticate"), "Bearer realm=\"djinn\"");
    }
    let bearer = format!("Bearer {token}");
    let twice = get(&client, &[("authorization", &bearer), ("authorization", &bearer)]).await;
    assert_eq!((twice.status, &twice.json()["code"]), (400, &json!("invalid_field")));
    let ui = "/web/api/v1/gpt/queryAgentStreamIncr";
    let refused = client.post(ui, &json!({"query": "Who am I?"})).await;
    assert_eq!(refused.status, 401);
    assert!(refused.text.contains("\"finished\":true"), "{}", refused.text);
    assert_eq!(issuer.asked(), 0, "what is no token costs no request");
    let spaced = format!("bearer  {token} ");
    assert_eq!(get(&client, &[("authorization", &spaced), ("x-api-key", "x")]).await.status, 200);
}

#[tokio::test]
async fn a_token_that_says_something_else_is_refused_and_not_repeated() {
    let (rsa, ec, other) = (SigningKey::rsa("r1"), SigningKey::ec("e1"), SigningKey::ec("e1"));
    let issuer = Issuer::start(&[&rsa, &ec]).await;
    let mut door = Door::open(None, |_| {}, issuer.lets_in());
    let client = door.listen().await;
    let anna = issuer.claims("acme", "anna");
    let now = anna["iat"].as_i64().unwrap();
    let but = |name, value| rsa.token(&changed(&anna, name, value));
    let headed = |key: &SigningKey, name, value| {
        key.signed(&changed(&key.header(), name, value), &anna.to_string())
    };
    let unsigned = |algorithm: &str| {
        let header = encoded(json!({"alg": algorithm, "kid": "r1"}).to_string().as_bytes());
        format!("{header}.{}.", encoded(anna.to_string().as_bytes()))
    };
    let whole = ec.token(&anna);
    let unsigned_whole = whole.rsplit_once('.').unwrap().0;
    let no_token = "it is not a token signed with RS256 or ES256";
    let other_kind = "it is a token of another kind, or requires extensions (`crit`)";
    let no_key = "its issuer has no key with the named id for its algorithm";
    let (bad, another) = ("its signature is wrong", "it was issued by another issuer");
    let (audience, unreadable) = ("it is for another audience", "its claims cannot be read");
    for (what, token, why) in [
        ("expired", but("exp", json!(now - 61)), "it has expired"),
        ("not valid yet", but("nbf", json!(now + 120)), "it is not valid yet"),
        ("another issuer", but("iss", json!("https://evil.example")), another),
        ("a path below the issuer", but("iss", json!(format!("{}/", issuer.url()))), another),
        ("several issuers", but("iss", json!([issuer.url()])), another),
        ("another audience", but("aud", json!("other-app")), audience),
        ("no audience in a list", but("aud", json!([])), audience),
        ("an audience's beginning", but("aud", json!("djinn")), audience),
        ("no end", but("exp", Value::Null), "it has no usable claim `exp`"),
        ("no issuer", but("iss", Value::Null), "it has no usable claim `iss`"),
        ("no audience", but("aud", Value::Null), "it has no usable claim `aud`"),
        ("no subject", but("sub", Value::Null), "it has no usable claim `sub`"),
        ("no tenant", but("tenant", Value::Null), "it has no usable claim `tenant`"),
        ("an end in letters", but("exp", json!("never")), "it has no usable claim `exp`"),
        (
            "an end as text",
            but("exp", json!((now + 300).to_string())),
            "it has no usable claim `exp`",
        ),
        ("a beginning as text", but("nbf", json!("0")), "it has no usable claim `nbf`"),
        (
            "a tenant of another's key",
            but("tenant", json!("acme#RUN")),
            "it has no usable claim `tenant`",
        ),
        ("a tenant that leads up", but("tenant", json!("..")), "it has no usable claim `tenant`"),
        ("several tenants", but("tenant", json!(["acme"])), "it has no usable claim `tenant`"),
        ("an empty subject", but("sub", json!("")), "it has no usable claim `sub`"),
        ("alg none", unsigned("none"), no_token),
        ("alg NONE", unsigned("NONE"), no_token),
        ("no signature", unsigned("RS256"), bad),
        ("a signature cut off", format!("{unsigned_whole}."), bad),
        ("no third part", unsigned_whole.to_owned(), no_token),
        ("five parts", format!("{whole}.e30.e30"), no_token),
        ("another key of that name", other.token(&anna), bad),
        ("another's algorithm", headed(&ec, "alg", json!("RS256")), no_key),
        ("RS512 by the right key", headed(&rsa, "alg", json!("RS512")), no_token),
        ("the other key's name", headed(&ec, "kid", json!("r1")), no_key),
        ("no such key", headed(&ec, "kid", json!("e2")), no_key),
        ("a path for a key", headed(&ec, "kid", json!("../../e1")), no_key),
        ("a key in the token", headed(&other, "jwk", other.jwk()), bad),
        ("keys elsewhere", headed(&other, "jku", json!(format!("{}/mine", issuer.url()))), bad),
        ("crit", headed(&ec, "crit", json!(["exp"])), other_kind),
        ("an empty crit", headed(&ec, "crit", json!([])), other_kind),
        ("a token for logging out", headed(&ec, "typ", json!("logout+jwt")), other_kind),
        ("twice the same claim", ec.signed(&ec.header(), &twice(&anna)), unreadable),
        ("claims that are no object", ec.signed(&ec.header(), "[]"), unreadable),
        ("a long one", but("more", json!("x".repeat(20_000))), "it is longer than 16384 bytes"),
    ] {
        let answer = with(&client, &token).await;
        let refused = (401, "credentials_refused".to_owned(), why.to_owned());
        assert_eq!(refusal(&answer), refused, "{what}");
        let challenge = answer.header("www-authenticate");
        assert_eq!(challenge, "Bearer realm=\"djinn\", error=\"invalid_token\"", "{what}");
    }
    for key in [&rsa, &ec] {
        for secret in key.public_bytes() {
            for algorithm in ["HS256", "RS256", "ES256"] {
                let header = changed(&key.header(), "alg", json!(algorithm));
                let token = signed_with_secret(&header, &anna, &secret);
                assert_eq!(with(&client, &token).await.status, 401, "{algorithm}");
            }
        }
    }
    assert_eq!(with(&client, &whole).await.status, 200, "the one that the others are made of");
    assert!(issuer.asked() <= 2, "{}", issuer.asked());
}

/// The claims with a second subject.
fn twice(claims: &Value) -> String {
    claims.to_string().replacen('{', "{\"sub\": \"root\", ", 1)
}

#[tokio::test]
async fn a_key_that_is_for_something_else_verifies_nothing() {
    let (rsa, ec) = (SigningKey::rsa("r1"), SigningKey::ec("e1"));
    for (key, name, value) in [
        (&rsa, "use", json!("enc")),
        (&rsa, "alg", json!("RS512")),
        (&rsa, "alg", json!("RSA-OAEP")),
        (&rsa, "kty", json!("EC")),
        (&rsa, "key_ops", json!(["wrapKey"])),
        (&rsa, "kid", json!("r2")),
        (&ec, "crv", json!("P-384")),
        (&ec, "kty", json!("oct")),
        (&ec, "alg", json!("HS256")),
    ] {
        let issuer = Issuer::start(&[]).await;
        let mut door = Door::open(None, |_| {}, issuer.lets_in());
        let client = door.listen().await;
        issuer.publish(&[changed(&key.jwk(), name, value.clone())]);
        let token = key.token(&issuer.claims("acme", "anna"));
        assert_eq!(with(&client, &token).await.status, 401, "{name} {value}");
        issuer.publish(&[key.jwk()]);
        // The next token whose key is unknown has it looked for.
        let mut door = Door::open(None, |_| {}, issuer.lets_in());
        let client = door.listen().await;
        assert_eq!(with(&client, &token).await.status, 200, "{name} {value}");
    }
}

#[tokio::test]
async fn a_new_key_is_found_and_a_flood_of_unknown_ones_is_no_flood_of_requests() {
    let (old, new, newer) = (SigningKey::ec("e1"), SigningKey::ec("e2"), SigningKey::ec("e3"));
    let issuer = Issuer::start(&[&old]).await;
    let mut door = Door::open(None, |_| {}, issuer.lets_in());
    let client = door.listen().await;
    let anna = issuer.claims("acme", "anna");
    assert_eq!(with(&client, &old.token(&anna)).await.status, 200);
    issuer.publish(&[old.jwk(), new.jwk()]);
    for key in [&new, &old, &new] {
        assert_eq!(with(&client, &key.token(&anna)).await.status, 200);
    }
    assert_eq!(issuer.asked(), 2);
    issuer.publish(&[newer.jwk()]);
    let strangers: Vec<_> = (0..200)
        .map(|n| newer.signed(&changed(&newer.header(), "kid", json!(format!("x{n}"))), "{}"))
        .collect();
    let answers = join_all(strangers.iter().map(|token| with(&client, token))).await;
    assert!(answers.iter().all(|answer| answer.status == 401));
    assert_eq!(with(&client, &newer.token(&anna)).await.status, 401, "within the same minute");
    assert_eq!(with(&client, &new.token(&anna)).await.status, 200, "what was known still is");
    assert_eq!(issuer.asked(), 2);
}

#[tokio::test]
async fn without_keys_nobody_is_let_in_and_with_them_their_endpoint_may_be_down() {
    let key = SigningKey::rsa("r1");
    let issuer = Issuer::start(&[&key]).await;
    let token = key.token(&issuer.claims("acme", "anna"));
    let published = json!({"keys": [key.jwk()]}).to_string();
    issuer.with_header("location", &format!("{}/.well-known/jwks.json", issuer.url()));
    let padded = format!("{published}{}", " ".repeat(300_000));
    for (status, body) in [
        (500, published.as_str()),
        (404, &published),
        (302, &published),
        (204, ""),
        (200, ""),
        (200, "<html>"),
        (200, "{\"keys\": {}}"),
        (200, &padded),
    ] {
        let mut door = Door::open(None, |_| {}, issuer.lets_in());
        let client = door.listen().await;
        issuer.answer(status, body);
        let asked = issuer.asked();
        for token in [&token, &token, &key.token(&issuer.claims("acme", "bert"))] {
            let answer = with(&client, token).await;
            let (status, code, _) = refusal(&answer);
            assert_eq!((status, code.as_str()), (503, "identity_unavailable"), "{}", answer.text);
            assert_eq!(answer.json()["retryable"], true);
        }
        assert_eq!(issuer.asked(), asked + 1, "{status} {body:.20}");
    }
    issuer.answer(200, &published);
    let mut door = Door::open(None, |_| {}, issuer.lets_in());
    let client = door.listen().await;
    assert_eq!(with(&client, &token).await.status, 200);
    issuer.answer(500, "");
    let unknown = SigningKey::rsa("r2").token(&issuer.claims("acme", "anna"));
    assert_eq!(with(&client, &unknown).await.status, 401);
    assert_eq!(with(&client, &token).await.status, 200, "its key is known");
}

#[tokio::test]
async fn where_no_issuer_listens_nobody_is_let_in() {
    let key = SigningKey::ec("e1");
    let issuer = Issuer::start(&[&key]).await;
    let token = key.token(&issuer.claims("acme", "anna"));
    let let_in = issuer.lets_in();
    let mut door = Door::open(
        None,
        |_| {},
        |parts| {
            let_in(parts);
            if let agent::Auth::Jwt(settings) = &mut parts.settings.auth {
                // A port that is never given to a server.
                "http://127.0.0.1:1/keys".clone_into(&mut settings.keys_url);
            }
        },
    );
    let client = door.listen().await;
    let answer = with(&client, &token).await;
    assert_eq!((answer.status, &answer.json()["code"]), (503, &json!("identity_unavailable")));
    assert!(!answer.text.contains("127.0.0.1"), "{}", answer.text);
}

#[tokio::test]
async fn of_a_thousand_mutated_tokens_none_is_accepted() {
    let (rsa, ec) = (SigningKey::rsa("r1"), SigningKey::ec("e1"));
    let issuer = Issuer::start(&[&rsa, &ec]).await;
    let mut door = Door::open(None, |_| {}, issuer.lets_in());
    let client = door.listen().await;
    let anna = issuer.claims("acme", "anna");
    let tokens = [rsa.token(&anna), ec.token(&anna)];
    for token in &tokens {
        assert_eq!(with(&client, token).await.status, 200);
    }
    let before = door.aws.request_counter().counts().values().sum::<u64>();
    let mut chance = fastrand::Rng::with_seed(4);
    let mut tried = 0;
    while tried < 1_000 {
        let whole = &tokens[tried % 2];
        let wrong = mutated(whole, &mut chance);
        // White space around it is no part of a token.
        if wrong.trim() == whole {
            continue;
        }
        let answer = with(&client, &wrong).await;
        assert_eq!(answer.status, 401, "{wrong}");
        let says = |part: &str| part.len() > 20 && answer.text.contains(part);
        assert!(!wrong.split('.').any(says), "{}", answer.text);
        tried += 1;
    }
    assert_eq!(
        door.aws.request_counter().counts().values().sum::<u64>(),
        before,
        "nothing was read"
    );
    assert!(issuer.asked() <= 2, "{}", issuer.asked());
}

/// A token with one to three changes, each to a letter, a part or what a part says.
fn mutated(token: &str, chance: &mut fastrand::Rng) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ ";
    let mut letters: Vec<char> = token.chars().collect();
    for _ in 0..chance.usize(1..=3) {
        if letters.len() < 2 {
            break;
        }
        let at = chance.usize(0..letters.len());
        let letter = char::from(LETTERS[chance.usize(0..LETTERS.len())]);
        match chance.u8(0..6) {
            0 => letters[at] = letter,
            1 => letters.insert(at, letter),
            2 => drop(letters.remove(at)),
            3 => letters.truncate(at.max(1)),
            4 => letters.swap(at, 0),
            _ => letters = resaid(&letters, chance),
        }
    }
    letters.into_iter().collect()
}

/// The token with another header or other claims over the same signature.
fn resaid(token: &[char], chance: &mut fastrand::Rng) -> Vec<char> {
    let text: String = token.iter().collect();
    let mut parts: Vec<String> = text.split('.').map(str::to_owned).collect();
    let said = [
        r#"{"alg":"none"}"#,
        r#"{"alg":"HS256","kid":"r1"}"#,
        r#"{"alg":"ES256","kid":"r1"}"#,
        r#"{"sub":"root","tenant":"acme","exp":9999999999}"#,
        "{}",
    ];
    let at = chance.usize(0..parts.len());
    parts[at] = encoded(said[chance.usize(0..said.len())].as_bytes());
    parts.join(".").chars().collect()
}
