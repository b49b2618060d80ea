//! Callers who are known by a key (`DJINN_AUTH=key`).

use agent::{Auth, KeyList};
use agent::{KeyHash, KeyHolder, format_key};
use djinn_core::id::{TenantId, UserId};
use djinn_scripted::ScriptedModel;
use reqwest::Method;
use serde_json::json;

use crate::world::{Answer, Client, Door, Parts, Question};

/// A deployment on AWS whose callers have keys, and the key of each of them.
pub(crate) fn keyed<const N: usize>(holders: [(&str, &str); N]) -> (KeyList, [String; N]) {
    let mut chance = 0;
    let keys = holders.map(|_| {
        chance += 1;
        format_key(&[chance; 32])
    });
    let list = holders.iter().zip(&keys).map(|((tenant, user), key)| KeyHolder {
        sha256: KeyHash::of(key).unwrap(),
        tenant: TenantId::new(*tenant).unwrap(),
        user: UserId::new(*user).unwrap(),
    });
    (KeyList::Inline(list.collect()), keys)
}

/// Lets in who has a key of this list, and nobody else.
pub(crate) fn let_in(list: KeyList) -> impl FnOnce(&mut Parts) {
    |parts| {
        parts.settings.local = false;
        parts.settings.auth = Auth::Key(list);
    }
}

async fn get(client: &Client, path: &str, headers: &[(&str, &str)]) -> Answer {
    let request = client.request(Method::GET, path);
    let request =
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    Answer::of(request.send().await.unwrap()).await
}

#[tokio::test]
async fn a_key_lets_its_holder_in_and_says_whose_a_run_is() {
    let model = ScriptedModel::start().await.unwrap();
    let (list, [anna, bert]) = keyed([("acme", "anna"), ("acme", "bert")]);
    let mut door = Door::open(&model, |_| {}, let_in(list));
    let client = door.listen().await;
    model.on("Who am I?").reply("Anna.");
    let holder = client.clone().bearing(&anna);
    let told = holder.told(&Question::of("Who am I?", "s1")).await;
    assert_eq!(told.last().unwrap().json()["answer"], "Anna.");
    let bearer = format!("bearer  {anna} ");
    let signed = ("authorization", "AWS4-HMAC-SHA256 Credential=A, Signature=b");
    for headers in [
        &[("authorization", bearer.as_str())][..],
        &[("x-api-key", anna.as_str())],
        // Behind AWS_IAM too, where that header is AWS's.
        &[signed, ("x-api-key", anna.as_str())],
    ] {
        let runs = get(&client, "/runs", headers).await;
        assert_eq!(runs.status, 200, "{headers:?}");
        assert_eq!(runs.json()["runs"].as_array().unwrap().len(), 1);
    }
    let runs = get(&client, "/runs", &[("x-api-key", &bert)]).await;
    assert_eq!((runs.status, &runs.json()["runs"]), (200, &json!([])));
}

#[tokio::test]
async fn who_has_no_key_is_told_how_to_get_one_and_gets_to_the_health_check_only() {
    let (list, [anna]) = keyed([("acme", "anna")]);
    let mut door = Door::open(None, |_| {}, let_in(list));
    let client = door.listen().await;
    let health = get(&client, "/web/health", &[]).await;
    assert_eq!((health.status, health.text.as_str()), (200, "ok"));
    let missing = get(&client, "/runs", &[]).await;
    assert_eq!((missing.status, &missing.json()["code"]), (401, &json!("credentials_missing")));
    assert_eq!(missing.header("www-authenticate"), "Bearer realm=\"djinn\"");
    assert!(!missing.header("djinn-request-id").is_empty());
    assert!(missing.json()["message"].as_str().unwrap().contains("cargo xtask key"));
    for path in ["/nowhere", "/data/allModels"] {
        assert_eq!(get(&client, path, &[]).await.status, 401, "{path}");
    }
    let twice = [("authorization", format!("Bearer {anna}")), ("x-api-key", anna.clone())];
    let twice = twice.each_ref().map(|(name, value)| (*name, value.as_str()));
    let several = get(&client, "/runs", &twice).await;
    assert_eq!((several.status, &several.json()["code"]), (400, &json!("invalid_field")));
    let basic = get(&client, "/runs", &[("authorization", "Basic YTpi")]).await;
    assert_eq!((basic.status, &basic.json()["code"]), (401, &json!("credentials_missing")));
    let ui = "/web/api/v1/gpt/queryAgentStreamIncr";
    let refused = client.post(ui, &json!({"query": "Who am I?"})).await;
    assert_eq!(refused.status, 401);
    assert!(refused.text.contains("\"finished\":true"), "{}", refused.text);
}

#[tokio::test]
async fn of_a_thousand_mutated_keys_none_is_accepted() {
    let model = ScriptedModel::start().await.unwrap();
    let (list, [key]) = keyed([("acme", "anna")]);
    let mut door = Door::open(&model, |_| {}, let_in(list));
    let client = door.listen().await;
    let path = "/runs";
    assert_eq!(get(&client, path, &[("x-api-key", &key)]).await.status, 200);
    let mut chance = fastrand::Rng::with_seed(4);
    let mut tried = 0;
    while tried < 1_000 {
        let wrong = mutated(&key, &mut chance);
        // White space around it is no part of a key.
        if wrong.trim() == key {
            continue;
        }
        let bearer = format!("Bearer {wrong}");
        let header = match tried % 2 {
            0 => ("authorization", bearer.as_str()),
            _ => ("x-api-key", wrong.as_str()),
        };
        let answer = get(&client, path, &[header]).await;
        assert_eq!(answer.status, 401, "{header:?}");
        assert!(!answer.text.contains(wrong.trim()) || wrong.trim().len() < 20, "{}", answer.text);
        tried += 1;
    }
    assert_eq!(
        door.aws.request_counter().counts().values().sum::<u64>(),
        1,
        "only the list that was allowed is read"
    );
}

/// A key with one to three changes, all of them letters that a header may hold.
fn mutated(key: &str, chance: &mut fastrand::Rng) -> String {
    let mut letters: Vec<char> = key.chars().collect();
    for _ in 0..chance.usize(1..=3) {
        let at = chance.usize(0..letters.len());
        let letter = char::from(chance.u8(b' '..=b'~'));
        match chance.u8(0..6) {
            0 => letters[at] = letter,
            1 => letters.insert(at, letter),
            2 => drop(letters.remove(at)),
            3 => letters.truncate(at.max(1)),
            4 => letters[at] = letters[at].to_ascii_uppercase(),
            _ => letters.rotate_left(at),
        }
    }
    letters.into_iter().collect()
}
