//! Tokens (JWT) of one issuer.
//!
//! Only RS256 and ES256 are accepted, and only keys published by the issuer. From a token's own statements
//! about keys, only the key id is used.

mod endpoint;
mod jwk;
mod key_set;
mod settings;

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{TenantId, UserId};
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, Header, Validation};
use serde_json::{Map, Value};

use super::Caller;
pub(super) use endpoint::HttpEndpoint;
use endpoint::JwksEndpoint;
use key_set::{KeyQuery, KeySet, READ_TIMEOUT};
pub use settings::TokenSettings;

/// Maximum size of a token, in bytes.
const MAX_TOKEN: usize = 16 * 1024;
/// Maximum difference between the issuer's clock and this machine's.
const LEEWAY_MS: i64 = 60 * 1000;
/// The accepted types of a token. Other types, such as `logout+jwt`, are rejected.
const TYPES: [&str; 4] = ["jwt", "at+jwt", "application/jwt", "application/at+jwt"];

type Claims = Map<String, Value>;

/// The reason a token is rejected. No message repeats the token's content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum TokenError {
    #[error("it is longer than {MAX_TOKEN} bytes")]
    TooLong,
    #[error("it is not a token signed with RS256 or ES256")]
    Malformed,
    #[error("it is a token of another kind, or requires extensions (`crit`)")]
    OtherKind,
    #[error("its issuer has no key with the named id for its algorithm")]
    UnknownKey,
    #[error("its signature is wrong")]
    Signature,
    #[error("its claims cannot be read")]
    Claims,
    #[error("it has no usable claim `{0}`")]
    Claim(String),
    #[error("it was issued by another issuer")]
    Issuer,
    #[error("it is for another audience")]
    Audience,
    #[error("it has expired")]
    Expired,
    #[error("it is not valid yet")]
    NotYet,
}

impl From<TokenError> for Failure {
    fn from(bad: TokenError) -> Self {
        Self::new(ErrorCode::CredentialsRefused, bad.to_string())
    }
}

/// Converts the library's error for a token whose header has already been read.
impl From<jsonwebtoken::errors::Error> for TokenError {
    fn from(error: jsonwebtoken::errors::Error) -> Self {
        let kind = error.kind();
        if let ErrorKind::MissingRequiredClaim(name) = kind {
            Self::Claim(name.clone())
        } else if matches!(kind, ErrorKind::InvalidIssuer) {
            Self::Issuer
        } else if matches!(kind, ErrorKind::InvalidAudience) {
            Self::Audience
        } else if matches!(kind, ErrorKind::Json(_)) {
            Self::Claims
        } else {
            Self::Signature
        }
    }
}

/// Verifies tokens against the settings and the issuer's keys.
pub(crate) struct TokenVerifier<E> {
    settings: TokenSettings,
    keys: KeySet<E>,
}

impl<E: JwksEndpoint + 'static> TokenVerifier<E> {
    pub(super) fn new(settings: TokenSettings, endpoint: E) -> Self {
        Self { settings, keys: KeySet::new(endpoint, READ_TIMEOUT) }
    }

    /// Returns the holder of the request's token. A text without the form of an acceptable token causes no
    /// request for keys.
    pub(super) async fn authenticate(
        &self,
        token: Option<&str>,
        now_ms: i64,
    ) -> Result<Caller, Failure> {
        let Some(token) = token else {
            let how = "send a token of this deployment's issuer as `Authorization: Bearer …`";
            return Err(Failure::new(ErrorCode::CredentialsMissing, how));
        };
        let query = parse_key_query(token)?;
        let algorithm = query.algorithm;
        let key = self.keys.find_key(query, now_ms).await?.ok_or(TokenError::UnknownKey)?;
        let mut validation = Validation::new(algorithm);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        validation.set_issuer(&[&self.settings.issuer]);
        validation.set_audience(&self.settings.audiences);
        // `caller_from_claims` checks the expiry with Djinn's own clock, which tests can move.
        validation.validate_exp = false;
        let token = jsonwebtoken::decode::<Claims>(token, &key, &validation);
        let claims = token.map_err(TokenError::from)?.claims;
        Ok(caller_from_claims(&claims, &self.settings, now_ms)?)
    }
}

/// Returns the key id and algorithm of a token.
fn parse_key_query(token: &str) -> Result<KeyQuery, TokenError> {
    if token.len() > MAX_TOKEN {
        return Err(TokenError::TooLong);
    }
    let header = jsonwebtoken::decode_header(token).map_err(|_| TokenError::Malformed)?;
    let Header { typ, alg, kid, crit, enc, zip, .. } = header;
    if !matches!(alg, Algorithm::RS256 | Algorithm::ES256) {
        return Err(TokenError::Malformed);
    }
    let is_accepted = |kind: String| TYPES.iter().any(|name| name.eq_ignore_ascii_case(&kind));
    if crit.is_some() || enc.is_some() || zip.is_some() || !typ.is_none_or(is_accepted) {
        return Err(TokenError::OtherKind);
    }
    Ok(KeyQuery { id: kid, algorithm: alg })
}

/// Returns the token's holder, if the token is valid now. The library has checked the issuer, but also
/// accepts lists of issuers.
fn caller_from_claims(
    claims: &Claims,
    settings: &TokenSettings,
    now_ms: i64,
) -> Result<Caller, TokenError> {
    let unusable = |name: &str| TokenError::Claim(name.to_owned());
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    let time_ms = |name: &str| match claims.get(name) {
        None => Ok(None),
        Some(time) => time.as_f64().map(|seconds| Some(seconds * 1000.0)).ok_or(unusable(name)),
    };
    let moment = |ms: i64| ms as f64;
    if text("iss") != Some(&settings.issuer) {
        return Err(TokenError::Issuer);
    }
    if time_ms("exp")?.ok_or(unusable("exp"))? <= moment(now_ms - LEEWAY_MS) {
        return Err(TokenError::Expired);
    }
    if time_ms("nbf")?.is_some_and(|from| from > moment(now_ms + LEEWAY_MS)) {
        return Err(TokenError::NotYet);
    }
    if text("sub").is_none_or(str::is_empty) {
        return Err(unusable("sub"));
    }
    let tenant = &settings.tenant_claim;
    let user = &settings.user_claim;
    let required_text = |name: &str| text(name).ok_or(unusable(name));
    Ok(Caller {
        tenant: TenantId::new(required_text(tenant)?).map_err(|_| unusable(tenant))?,
        user: UserId::new(required_text(user)?).map_err(|_| unusable(user))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOW_MS: i64 = 1_700_000_000_000;

    fn settings() -> TokenSettings {
        TokenSettings {
            issuer: "https://issuer".to_owned(),
            audiences: vec!["djinn".to_owned()],
            keys_url: "https://issuer/keys".to_owned(),
            tenant_claim: "tenant".to_owned(),
            user_claim: "sub".to_owned(),
        }
    }

    /// Returns the holder of a token with this claim in place of the valid claim.
    fn with(name: &str, value: Value) -> Result<(String, String), TokenError> {
        let mut claims = json!({"iss": "https://issuer", "aud": "djinn", "sub": "auth0|anna",
            "tenant": "acme", "exp": 1_700_000_001});
        claims[name] = value;
        if claims[name] == json!("ABSENT") {
            claims.as_object_mut().unwrap().remove(name);
        }
        caller_from_claims(claims.as_object().unwrap(), &settings(), NOW_MS)
            .map(|caller| (caller.tenant.to_string(), caller.user.to_string()))
    }

    #[test]
    fn a_token_counts_from_its_beginning_to_its_end_and_a_minute_more() {
        let anna = Ok(("acme".to_owned(), "auth0|anna".to_owned()));
        for (name, value, outcome) in [
            ("exp", json!(1_700_000_001), anna.clone()),
            ("exp", json!(1_699_999_941), anna.clone()),
            ("exp", json!(1_699_999_940.5), anna.clone()),
            ("exp", json!(1_699_999_940), Err(TokenError::Expired)),
            ("exp", json!(-1), Err(TokenError::Expired)),
            ("exp", json!(0), Err(TokenError::Expired)),
            ("nbf", json!(1_700_000_060), anna),
            ("nbf", json!(1_700_000_061), Err(TokenError::NotYet)),
            ("nbf", json!(1e300), Err(TokenError::NotYet)),
        ] {
            assert_eq!(with(name, value.clone()), outcome, "{name} {value}");
        }
        for (name, wrong) in [
            ("exp", json!("1700000001")),
            ("exp", json!(null)),
            ("exp", json!([1_700_000_001])),
            ("exp", json!("ABSENT")),
            ("nbf", json!("1")),
            ("nbf", json!(null)),
            ("nbf", json!({})),
        ] {
            let outcome = Err(TokenError::Claim(name.to_owned()));
            assert_eq!(with(name, wrong.clone()), outcome, "{name} {wrong}");
        }
    }

    #[test]
    fn tenant_and_user_are_what_the_claims_say_to_the_letter_or_nobody() {
        for wrong in [
            json!("ABSENT"),
            json!(null),
            json!(""),
            json!(7),
            json!(["acme"]),
            json!("ac me"),
            json!("ac#me"),
            json!("a".repeat(300)),
        ] {
            for name in ["tenant", "sub"] {
                let outcome = Err(TokenError::Claim(name.to_owned()));
                assert_eq!(with(name, wrong.clone()), outcome, "{name} {wrong}");
            }
        }
        for wrong in [json!(["https://issuer"]), json!("https://issuer/"), json!("ABSENT")] {
            assert_eq!(with("iss", wrong.clone()), Err(TokenError::Issuer), "{wrong}");
        }
    }

    #[test]
    fn what_has_not_the_form_of_a_token_is_refused_by_its_form() {
        // {"alg":"none"}, {"alg":"HS256"}, {"alg":"ES256"}, {"alg":"RS256","crit":["b64"]},
        // {"alg":"RS256","typ":"logout+jwt"}, {"alg":"RS256","b64":false}
        let malformed = Some(TokenError::Malformed);
        for (token, outcome) in [
            ("", malformed.clone()),
            ("..", malformed.clone()),
            ("djinn_1", malformed.clone()),
            ("eyJhbGciOiJub25lIn0.e30.", malformed.clone()),
            ("eyJhbGciOiJIUzI1NiJ9.e30.AA", malformed.clone()),
            ("eyJhbGciOiJFUzI1NiJ9.e30", malformed.clone()),
            ("eyJhbGciOiJFUzI1NiJ9.e30.AA.AA", malformed.clone()),
            ("eyJhbGciOiJSUzI1NiIsImI2NCI6ZmFsc2V9.e30.AA", malformed),
            ("eyJhbGciOiJSUzI1NiIsImNyaXQiOlsiYjY0Il19.e30.AA", Some(TokenError::OtherKind)),
            ("eyJhbGciOiJSUzI1NiIsInR5cCI6ImxvZ291dCtqd3QifQ.e30.AA", Some(TokenError::OtherKind)),
            ("eyJhbGciOiJFUzI1NiJ9.e30.AA", None),
        ] {
            assert_eq!(parse_key_query(token).err(), outcome, "{token}");
        }
        let long = format!("eyJhbGciOiJFUzI1NiJ9.{}.AA", "A".repeat(MAX_TOKEN));
        assert_eq!(parse_key_query(&long).err(), Some(TokenError::TooLong));
    }
}
