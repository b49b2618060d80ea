use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const NOW: i64 = 1_700_000_000_000;

fn keys(text: &str) -> LinkKeys {
    LinkKeys::parse(text).unwrap()
}

fn key(letter: &str) -> String {
    letter.repeat(MIN_KEY)
}

fn grant() -> ResponseGrant {
    ResponseGrant {
        tenant: TenantId::new("acme").unwrap(),
        user: UserId::new("arn:aws:sts::123456789012:assumed-role/Analyst/anna").unwrap(),
        run: RunId::new("run_0123456789abcdef0123456789abcdef").unwrap(),
        human_request: HumanRequestId::new("s2.1.t3.c1").unwrap(),
        digest: "5e".repeat(32),
        expires_at_ms: NOW + 1_000,
    }
}

/// Returns the reason a response link's token is rejected.
fn problem(keys: &LinkKeys, token: &str) -> Option<BadLink> {
    keys.verify_response(token, NOW).err()
}

fn encoded(json: &Value) -> String {
    URL_SAFE_NO_PAD.encode(json.to_string())
}

fn claims_of(token: &str) -> Value {
    let claims = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap()
}

/// These claims under this algorithm, by somebody who knows the key.
fn signed(algorithm: Algorithm, claims: &Value, key: &str) -> String {
    let key = EncodingKey::from_secret(key.as_bytes());
    jsonwebtoken::encode(&Header::new(algorithm), claims, &key).unwrap()
}

#[test]
fn a_token_is_one_path_segment_and_counts_until_its_moment() {
    let keys = keys(&key("k"));
    let token = keys.sign_response(&grant()).unwrap();
    assert!(token.len() < 450, "{}", token.len());
    assert!(token.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)), "{token}");
    assert_eq!(
        keys.sign_response(&grant()),
        Some(token.clone()),
        "the same grant has the same token"
    );
    assert_eq!(keys.verify_response(&token, NOW + 999), Ok(grant()));
    assert_eq!(keys.verify_response(&token, NOW + 1_000), Err(BadLink::Expired));
    let precise = ResponseGrant { expires_at_ms: NOW + 1_999, ..grant() };
    assert_eq!(keys.sign_response(&precise), Some(token), "a link lasts no longer than was said");
}

#[test]
fn a_link_is_good_for_nothing_that_it_was_not_made_for() {
    let keys = keys(&key("k"));
    // Not even with all that a response needs.
    let mut claims = claims_of(&keys.sign_response(&grant()).unwrap());
    for audience in
        [json!("file"), json!(["response", "file"]), json!("Response"), json!(""), json!(null)]
    {
        claims["aud"] = audience.clone();
        let token = signed(Algorithm::HS256, &claims, &key("k"));
        assert_eq!(problem(&keys, &token), Some(BadLink::NotOurs), "{audience}");
    }
    claims["aud"] = json!("response");
    assert_eq!(problem(&keys, &signed(Algorithm::HS256, &claims, &key("k"))), None);
    for needed in ["exp", "aud", "sub", "tenant", "run", "human_request", "digest"] {
        let mut claims = claims.clone();
        claims.as_object_mut().unwrap().shift_remove(needed);
        let token = signed(Algorithm::HS256, &claims, &key("k"));
        assert_eq!(problem(&keys, &token), Some(BadLink::NotOurs), "without {needed}");
    }
    for (name, wrong) in
        [("exp", json!("9999999999")), ("tenant", json!("a/b")), ("run", json!("r"))]
    {
        let mut claims = claims.clone();
        claims[name] = wrong;
        let token = signed(Algorithm::HS256, &claims, &key("k"));
        assert_eq!(problem(&keys, &token), Some(BadLink::NotOurs), "{name}");
    }
}

#[test]
fn no_other_algorithm_counts_and_least_of_all_none() {
    let keys = keys(&key("k"));
    let token = keys.sign_response(&grant()).unwrap();
    let (_, rest) = token.split_once('.').unwrap();
    let (claims, signature) = rest.split_once('.').unwrap();
    for header in [
        json!({"alg": "none"}),
        json!({"typ": "JWT", "alg": "none"}),
        json!({"alg": "None"}),
        json!({"alg": "HS384"}),
        json!({"alg": "RS256"}),
        json!({"alg": "ES256"}),
        json!({"typ": "JWT"}),
        json!({}),
        json!(null),
    ] {
        for signature in [signature, ""] {
            let token = format!("{}.{claims}.{signature}", encoded(&header));
            assert_eq!(problem(&keys, &token), Some(BadLink::NotOurs), "{header}");
        }
    }
    for algorithm in [Algorithm::HS384, Algorithm::HS512] {
        let token = signed(algorithm, &claims_of(&token), &key("k"));
        assert_eq!(problem(&keys, &token), Some(BadLink::NotOurs), "{algorithm:?}");
    }
}

#[test]
fn the_first_key_signs_all_verify_and_none_but_those() {
    let old = keys(&key("o"));
    let new = keys(&key("n"));
    let both = keys(&format!("{}, {}\n", key("n"), key("o")));
    let (of_old, of_both) =
        (old.sign_response(&grant()).unwrap(), both.sign_response(&grant()).unwrap());
    assert_eq!(both.verify_response(&of_old, NOW), Ok(grant()));
    assert_eq!(new.verify_response(&of_both, NOW), Ok(grant()));
    for (keys, token) in [(&old, &of_both), (&new, &of_old)] {
        assert_eq!(problem(keys, token), Some(BadLink::NotOurs));
        let late = keys.verify_response(token, grant().expires_at_ms);
        assert_eq!(late, Err(BadLink::NotOurs), "nor is it called expired");
    }
}

#[test]
fn keys_that_are_short_or_many_are_refused_without_being_repeated() {
    let short = "0123456789abcdef";
    for text in ["", ",", short, &format!("{},{short}", key("k")), &format!("{},", key("k"))] {
        let problem = LinkKeys::parse(text).unwrap_err();
        assert!(problem.contains(" bytes") && !problem.contains(short), "{problem}");
    }
    assert!(LinkKeys::parse(&vec![key("k"); MAX_KEYS].join(",")).is_ok());
    assert!(LinkKeys::parse(&vec![key("k"); MAX_KEYS + 1].join(",")).is_err());
    assert_eq!(format!("{:?}", keys(&key("k"))), "LinkKeys([***])");
}

#[test]
fn no_bit_of_a_token_may_be_another() {
    let keys = keys(&key("k"));
    let token = keys.sign_response(&grant()).unwrap();
    let parts: Vec<&str> = token.split('.').collect();
    for nth in 0..parts.len() {
        let bytes = URL_SAFE_NO_PAD.decode(parts[nth]).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let mut parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
            parts[nth] = URL_SAFE_NO_PAD.encode(&bytes);
            let flipped = parts.join(".");
            assert_eq!(problem(&keys, &flipped), Some(BadLink::NotOurs), "part {nth} bit {bit}");
        }
    }
    for end in 0..token.len() {
        assert_eq!(problem(&keys, &token[..end]), Some(BadLink::NotOurs), "{end} letters");
    }
    for more in ["A", "AA", "AAAA", "=", "==", " ", "\n", "%00", "é", ".", ".A"] {
        for longer in [format!("{token}{more}"), format!("{more}{token}")] {
            assert_eq!(problem(&keys, &longer), Some(BadLink::NotOurs), "{more:?} around it");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_token_of_anybody_elses_making_is_none(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        text in "[A-Za-z0-9_.-]{0,300}",
    ) {
        let keys = keys(&key("k"));
        let token = keys.sign_response(&grant()).unwrap();
        let mut letters = token.clone().into_bytes();
        for (place, letter) in places {
            let place = place.index(letters.len());
            letters[place] = letter;
        }
        let mutated = String::from_utf8_lossy(&letters).into_owned();
        if mutated != token {
            prop_assert_eq!(problem(&keys, &mutated), Some(BadLink::NotOurs));
        }
        prop_assert_eq!(problem(&keys, &text), Some(BadLink::NotOurs));
    }
}
