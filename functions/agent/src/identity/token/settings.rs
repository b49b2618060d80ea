//! Whose tokens are accepted: `DJINN_JWT_…`.

use djinn_runtime::settings::InvalidSetting;
use reqwest::Url;

const ISSUER: &str = "DJINN_JWT_ISSUER";
const AUDIENCE: &str = "DJINN_JWT_AUDIENCE";
const KEYS_URL: &str = "DJINN_JWT_JWKS";
const TENANT_CLAIM: &str = "DJINN_JWT_TENANT_CLAIM";
const USER_CLAIM: &str = "DJINN_JWT_USER_CLAIM";

/// Whose tokens are accepted, and what they say of their holders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenSettings {
    /// Their `iss`, to the letter.
    pub issuer: String,
    /// Who they must be meant for: `aud` is, or has, one of these.
    pub audiences: Vec<String>,
    /// Where the issuer publishes its keys (JWKS).
    pub keys_url: String,
    /// The claim that names the tenant.
    pub tenant_claim: String,
    /// The claim that names the user.
    pub user_claim: String,
}

impl TokenSettings {
    /// Reads `DJINN_JWT_ISSUER`, `DJINN_JWT_AUDIENCE`, `DJINN_JWT_JWKS`, `DJINN_JWT_TENANT_CLAIM` and
    /// `DJINN_JWT_USER_CLAIM`. On a laptop keys may come without TLS.
    pub(in crate::identity) fn from_vars(
        var: &dyn Fn(&str) -> Option<String>,
        local: bool,
    ) -> Result<Self, InvalidSetting> {
        let given = |name| {
            let text = var(name).unwrap_or_default();
            Some(text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        let issuer = given(ISSUER).ok_or_else(|| {
            InvalidSetting::new(ISSUER, "what your issuer's tokens have as their `iss`", "")
        })?;
        let audiences: Vec<String> = given(AUDIENCE)
            .unwrap_or_default()
            .split(',')
            .map(|audience| audience.trim().to_owned())
            .filter(|audience| !audience.is_empty())
            .collect();
        if audiences.is_empty() {
            let wanted = "what tokens for this deployment have as their `aud`, several with commas";
            return Err(InvalidSetting::new(AUDIENCE, wanted, ""));
        }
        Ok(Self {
            keys_url: parse_keys_url(given(KEYS_URL), &issuer, local)?,
            issuer,
            audiences,
            tenant_claim: given(TENANT_CLAIM).unwrap_or_else(|| "tenant".to_owned()),
            user_claim: given(USER_CLAIM).unwrap_or_else(|| "sub".to_owned()),
        })
    }
}

/// Where the keys are, if it is not said: where most issuers have them.
fn parse_keys_url(
    given: Option<String>,
    issuer: &str,
    local: bool,
) -> Result<String, InvalidSetting> {
    let derived = || format!("{}/.well-known/jwks.json", issuer.trim_end_matches('/'));
    let text = given.unwrap_or_else(derived);
    let is_usable = |url: &Url| {
        let is_safe = url.scheme() == "https" || (local && url.scheme() == "http");
        is_safe && url.has_host() && url.username().is_empty() && url.password().is_none()
    };
    match Url::parse(&text).ok().filter(is_usable) {
        Some(_) => Ok(text),
        None => {
            let wanted = "an https URL of the issuer's keys (JWKS), or unset if it is the issuer's \
                          with /.well-known/jwks.json";
            Err(InvalidSetting::new(KEYS_URL, wanted, text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(vars: &[(&str, &str)], local: bool) -> Result<TokenSettings, String> {
        let var = |name: &str| {
            let found = vars.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        TokenSettings::from_vars(&var, local).map_err(|error| error.to_string())
    }

    #[test]
    fn issuer_and_audience_are_needed_and_the_rest_has_defaults() {
        let least = [(ISSUER, "https://issuer/"), (AUDIENCE, "djinn")];
        let known = settings(&least, false).unwrap();
        assert_eq!(known.issuer, "https://issuer/");
        assert_eq!(known.keys_url, "https://issuer/.well-known/jwks.json");
        assert_eq!((known.tenant_claim.as_str(), known.user_claim.as_str()), ("tenant", "sub"));
        for (missing, left) in [(AUDIENCE, &least[..1]), (ISSUER, &least[1..])] {
            let error = settings(left, true).unwrap_err();
            assert!(error.starts_with(&format!("{missing} must be")), "{error}");
        }
        assert!(settings(&[(ISSUER, "i"), (AUDIENCE, " , ")], true).is_err());
        let all = [
            (ISSUER, "https://issuer"),
            (AUDIENCE, "web, mobile"),
            (KEYS_URL, "https://issuer/certs"),
            (TENANT_CLAIM, "custom:tenant"),
            (USER_CLAIM, "email"),
        ];
        let known = settings(&all, false).unwrap();
        assert_eq!(known.audiences, ["web", "mobile"]);
        assert_eq!(known.keys_url, "https://issuer/certs");
        assert_eq!(
            (known.tenant_claim.as_str(), known.user_claim.as_str()),
            ("custom:tenant", "email")
        );
    }

    #[test]
    fn keys_come_over_tls_or_on_a_laptop() {
        let with = |url, local| {
            let vars = [(ISSUER, "acme"), (AUDIENCE, "djinn"), (KEYS_URL, url)];
            settings(&vars, local).map(|settings| settings.keys_url)
        };
        assert_eq!(with("https://i/k", false).as_deref(), Ok("https://i/k"));
        assert_eq!(with("http://127.0.0.1:1/k", true).as_deref(), Ok("http://127.0.0.1:1/k"));
        for local in [true, false] {
            for wrong in ["", "keys.json", "file:///etc/keys", "https://u:p@i/k", "ftp://i/k"] {
                let error = with(wrong, local).unwrap_err();
                assert!(error.starts_with("DJINN_JWT_JWKS must be an https URL"), "{error}");
            }
        }
        assert!(with("http://i/k", false).is_err());
    }
}
