//! Parses published keys of issuers (JWK, RFC 7517).

use jsonwebtoken::jwk::{
    AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse,
};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

/// A public key with the only algorithm for its form.
#[derive(Debug, Clone)]
pub(super) struct VerifyingKey {
    pub(super) id: Option<String>,
    pub(super) algorithm: Algorithm,
    pub(super) key: DecodingKey,
}

/// A published set. Each key is parsed by itself, because one unknown key does not make the set invalid.
#[derive(Deserialize)]
struct PublishedKeys {
    keys: Vec<Value>,
}

/// Parses the usable keys of a set: RSA for RS256 and P-256 for ES256, unless `use`, `key_ops` or `alg`
/// exclude the use. Other keys are ignored, as the standard requires.
pub(super) fn parse_key_set(set: &[u8]) -> Result<Vec<VerifyingKey>, String> {
    let set: PublishedKeys = serde_json::from_slice(set)
        .map_err(|error| format!("it is not JSON with a list `keys`: {error}"))?;
    Ok(set.keys.iter().filter_map(parse_key).collect())
}

fn parse_key(key: &Value) -> Option<VerifyingKey> {
    // The library takes `null` for an absent member.
    if ["alg", "use", "key_ops", "kid"].iter().any(|name| key.get(name) == Some(&Value::Null)) {
        return None;
    }
    let jwk = Jwk::deserialize(key).ok()?;
    let (algorithm, name) = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => (Algorithm::RS256, KeyAlgorithm::RS256),
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => {
            (Algorithm::ES256, KeyAlgorithm::ES256)
        }
        _ => return None,
    };
    let key = DecodingKey::from_jwk(&jwk).ok()?;
    let common = jwk.common;
    let verifies = common.key_algorithm.is_none_or(|algorithm| algorithm == name)
        && common.public_key_use.is_none_or(|intent| intent == PublicKeyUse::Signature)
        && common.key_operations.is_none_or(|names| names.contains(&KeyOperations::Verify));
    verifies.then_some(VerifyingKey { id: common.key_id, algorithm, key })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The public keys of RFC 7517, appendix A.1 (the RSA one cut short: none of these is used).
    fn rsa() -> Value {
        json!({"kty": "RSA", "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4", "e": "AQAB",
            "alg": "RS256", "use": "sig", "kid": "2011-04-29"})
    }

    fn ec() -> Value {
        json!({"kty": "EC", "crv": "P-256", "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
            "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM", "kid": "1"})
    }

    fn usable(keys: &[Value]) -> Vec<(Option<String>, Algorithm)> {
        let set = json!({"keys": keys}).to_string();
        let keys = super::parse_key_set(set.as_bytes()).unwrap();
        keys.into_iter().map(|key| (key.id, key.algorithm)).collect()
    }

    #[test]
    fn a_key_is_for_the_algorithm_that_its_form_allows() {
        let rs = Algorithm::RS256;
        let es = Algorithm::ES256;
        let id = |text: &str| Some(text.to_owned());
        assert_eq!(usable(&[rsa(), ec()]), [(id("2011-04-29"), rs), (id("1"), es)]);
        let mut nameless = ec();
        nameless.as_object_mut().unwrap().remove("kid");
        nameless["key_ops"] = json!(["verify"]);
        assert_eq!(usable(&[nameless]), [(None, es)]);
    }

    #[test]
    fn a_key_that_is_for_something_else_is_passed_over() {
        for (name, value) in [
            ("kty", json!("oct")),
            ("kty", json!("OKP")),
            ("kty", json!(null)),
            ("alg", json!("HS256")),
            ("alg", json!("PS256")),
            ("alg", json!(null)),
            ("use", json!("enc")),
            ("use", json!(["sig"])),
            ("key_ops", json!(["encrypt"])),
            ("key_ops", json!("verify")),
            ("kid", json!(1)),
        ] {
            for mut key in [rsa(), ec()] {
                key[name] = value.clone();
                assert_eq!(usable(&[key, ec()]).len(), 1, "{name} {value}");
            }
        }
        for (name, value) in [("crv", json!("P-384")), ("x", json!("+")), ("y", json!(null))] {
            let mut key = ec();
            key[name] = value;
            assert_eq!(usable(&[key]), []);
        }
        let mut other = ec();
        other["alg"] = "RS256".into();
        let odd =
            [json!({"kty": "oct", "k": "AAAA", "alg": "HS256"}), json!(null), json!("key"), other];
        assert_eq!(usable(&odd), []);
    }

    #[test]
    fn what_is_no_set_of_keys_is_told_from_an_empty_one() {
        assert!(parse_key_set(br#"{"keys": []}"#).unwrap().is_empty());
        for wrong in ["", "<html>", "[]", "{}", r#"{"keys": {}}"#] {
            assert!(parse_key_set(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
