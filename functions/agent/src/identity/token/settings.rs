//! The accepted tokens: `DJINN_JWT_…`.

use djinn_settings::table::agent::{
    JWT_AUDIENCE, JWT_ISSUER, JWT_JWKS, JWT_TENANT_CLAIM, JWT_USER_CLAIM,
};
use djinn_settings::{InvalidSetting, Setting, VarLookup};
use reqwest::Url;

/// The accepted issuer of tokens, and the claims of tenant and user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenSettings {
    /// The exact `iss` of accepted tokens.
    pub issuer: String,
    /// The accepted audiences: `aud` is or contains one of these.
    pub audiences: Vec<String>,
    /// The URL of the issuer's keys (JWKS).
    pub keys_url: String,
    /// The claim with the tenant.
    pub tenant_claim: String,
    /// The claim with the user.
    pub user_claim: String,
}

impl TokenSettings {
    /// Reads the accepted tokens. On a laptop, the URL of the keys may lack TLS.
    pub(in crate::identity) fn from_vars(
        var: VarLookup<'_>,
        local: bool,
    ) -> Result<Self, InvalidSetting> {
        let text_of = |setting: &Setting| {
            let text = setting.read_text(var).unwrap_or_default();
            text.trim().to_owned()
        };
        let issuer = text_of(&JWT_ISSUER);
        if issuer.is_empty() {
            return Err(JWT_ISSUER.refuse(""));
        }
        let audiences: Vec<String> = text_of(&JWT_AUDIENCE)
            .split(',')
            .map(|audience| audience.trim().to_owned())
            .filter(|audience| !audience.is_empty())
            .collect();
        if audiences.is_empty() {
            return Err(JWT_AUDIENCE.refuse(""));
        }
        Ok(Self {
            keys_url: parse_keys_url(JWT_JWKS.find_text(var), &issuer, local)?,
            issuer,
            audiences,
            tenant_claim: text_of(&JWT_TENANT_CLAIM),
            user_claim: text_of(&JWT_USER_CLAIM),
        })
    }
}

/// Returns the URL of the keys; by default the path that most issuers use.
fn parse_keys_url(
    url_setting: Option<String>,
    issuer: &str,
    local: bool,
) -> Result<String, InvalidSetting> {
    let default_url = || format!("{}/.well-known/jwks.json", issuer.trim_end_matches('/'));
    let text = url_setting.map_or_else(default_url, |url| url.trim().to_owned());
    let is_usable = |url: &Url| {
        let is_safe = url.scheme() == "https" || (local && url.scheme() == "http");
        is_safe && url.has_host() && url.username().is_empty() && url.password().is_none()
    };
    match Url::parse(&text).ok().filter(is_usable) {
        Some(_) => Ok(text),
        None => Err(JWT_JWKS.refuse(&text)),
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
        let least = [(JWT_ISSUER.name, "https://issuer/"), (JWT_AUDIENCE.name, "djinn")];
        let known = settings(&least, false).unwrap();
        assert_eq!(known.issuer, "https://issuer/");
        assert_eq!(known.keys_url, "https://issuer/.well-known/jwks.json");
        assert_eq!((known.tenant_claim.as_str(), known.user_claim.as_str()), ("tenant", "sub"));
        for (missing, left) in [(JWT_AUDIENCE.name, &least[..1]), (JWT_ISSUER.name, &least[1..])] {
            let error = settings(left, true).unwrap_err();
            assert!(error.starts_with(&format!("{missing} must be")), "{error}");
        }
        assert!(settings(&[(JWT_ISSUER.name, "i"), (JWT_AUDIENCE.name, " , ")], true).is_err());
        let all = [
            (JWT_ISSUER.name, "https://issuer"),
            (JWT_AUDIENCE.name, "web, mobile"),
            (JWT_JWKS.name, "https://issuer/certs"),
            (JWT_TENANT_CLAIM.name, "custom:tenant"),
            (JWT_USER_CLAIM.name, "email"),
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
            let vars =
                [(JWT_ISSUER.name, "acme"), (JWT_AUDIENCE.name, "djinn"), (JWT_JWKS.name, url)];
            settings(&vars, local).map(|settings| settings.keys_url)
        };
        assert_eq!(with("https://i/k", false).as_deref(), Ok("https://i/k"));
        assert_eq!(with("http://127.0.0.1:1/k", true).as_deref(), Ok("http://127.0.0.1:1/k"));
        for local in [true, false] {
            for wrong in ["", "keys.json", "file:///etc/keys", "https://u:p@i/k", "ftp://i/k"] {
                let error = with(wrong, local).unwrap_err();
                assert!(error.starts_with("DJINN_JWT_JWKS must be the https URL"), "{error}");
            }
        }
        assert!(with("http://i/k", false).is_err());
    }
}
