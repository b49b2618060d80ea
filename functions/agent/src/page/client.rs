//! The web page's client at the issuer of tokens: `DJINN_PAGE__…`.

use djinn_protocol::body::PageToken;
use djinn_settings::table::agent::{
    JWT_ISSUER, PAGE_CLIENT_ID, PAGE_SCOPES, PAGE_TOKEN, PAGE_TOKEN_ORIGIN,
};
use djinn_settings::{InvalidSetting, VarLookup};
use reqwest::Url;

/// What the page needs to get a token, besides the endpoints that the issuer itself lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageClient {
    /// The URL of the issuer.
    pub issuer: String,
    /// The id of the client.
    pub id: String,
    /// The scopes to ask for, separated by spaces.
    pub scopes: String,
    /// The token to send to the agent.
    pub token: PageToken,
    /// The origins of the issuer's endpoints, to which the page may connect.
    pub origins: Vec<String>,
}

impl PageClient {
    /// Returns `None` without a client. On a laptop, the issuer may lack TLS.
    pub(super) fn from_vars(
        var: VarLookup<'_>,
        issuer: &str,
        local: bool,
    ) -> Result<Option<Self>, InvalidSetting> {
        let Some(id) = PAGE_CLIENT_ID.find_text(var) else {
            return Ok(None);
        };
        let expectation = "an https URL where page.client_id is set";
        let own =
            find_origin(issuer, local).ok_or_else(|| JWT_ISSUER.refuse_for(expectation, issuer))?;
        let mut origins = vec![own];
        if let Some(text) = PAGE_TOKEN_ORIGIN.find_text(var) {
            let is_bare = |origin: &String| text.trim().trim_end_matches('/') == origin;
            let origin = find_origin(&text, local).filter(is_bare);
            origins.push(origin.ok_or_else(|| PAGE_TOKEN_ORIGIN.refuse(&text))?);
        }
        origins.dedup();
        let scopes = PAGE_SCOPES.read_text(var).unwrap_or_default();
        let words: Vec<&str> = scopes.split_whitespace().collect();
        if !words.contains(&"openid") {
            return Err(PAGE_SCOPES.refuse(&scopes));
        }
        let is_id_token = PAGE_TOKEN.find_choice(var)? == Some("id");
        Ok(Some(Self {
            issuer: issuer.to_owned(),
            id: id.trim().to_owned(),
            scopes: words.join(" "),
            token: if is_id_token { PageToken::Id } else { PageToken::Access },
            origins,
        }))
    }
}

/// Returns the origin of a URL with TLS, or of any URL over HTTP on a laptop.
fn find_origin(url: &str, local: bool) -> Option<String> {
    let url = Url::parse(url.trim()).ok()?;
    let is_safe = url.scheme() == "https" || (local && url.scheme() == "http");
    (is_safe && url.has_host()).then(|| url.origin().ascii_serialization())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: (&str, &str) = ("DJINN_PAGE__CLIENT_ID", "page");

    fn client(
        vars: &[(&str, &str)],
        issuer: &str,
        local: bool,
    ) -> Result<Option<PageClient>, String> {
        let var = |name: &str| {
            let found = vars.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        PageClient::from_vars(&var, issuer, local).map_err(|error| error.to_string())
    }

    #[test]
    fn page_has_a_client_only_where_one_is_named() {
        assert_eq!(client(&[], "acme", false), Ok(None));
        let found = client(&[CLIENT], "https://id.example.org/realm", false).unwrap().unwrap();
        assert_eq!((found.id.as_str(), found.scopes.as_str()), ("page", "openid"));
        assert_eq!(found.issuer, "https://id.example.org/realm");
        assert_eq!(
            (found.token, found.origins),
            (PageToken::Access, vec!["https://id.example.org".to_owned()])
        );
        let all = [
            CLIENT,
            ("DJINN_PAGE__SCOPES", " openid  offline_access"),
            ("DJINN_PAGE__TOKEN", "id"),
            ("DJINN_PAGE__TOKEN_ORIGIN", "https://login.example.org/"),
        ];
        let found = client(&all, "https://id.example.org:444/pool", false).unwrap().unwrap();
        assert_eq!((found.token, found.scopes.as_str()), (PageToken::Id, "openid offline_access"));
        assert_eq!(found.origins, ["https://id.example.org:444", "https://login.example.org"]);
    }

    #[test]
    fn what_cannot_work_is_refused_by_its_setting() {
        for (name, value) in [
            ("DJINN_PAGE__SCOPES", "profile"),
            ("DJINN_PAGE__TOKEN", "refresh"),
            ("DJINN_PAGE__TOKEN_ORIGIN", "login.example.org"),
            ("DJINN_PAGE__TOKEN_ORIGIN", "http://login.example.org"),
            ("DJINN_PAGE__TOKEN_ORIGIN", "https://login.example.org/token"),
            ("DJINN_PAGE__TOKEN_ORIGIN", "https://a.example; script-src *"),
        ] {
            let error = client(&[CLIENT, (name, value)], "https://issuer", false).unwrap_err();
            assert!(error.starts_with(&format!("{name} must be")), "{error}");
        }
        for issuer in ["acme", "http://issuer", "ftp://issuer"] {
            let error = client(&[CLIENT], issuer, false).unwrap_err();
            assert!(error.starts_with("DJINN_JWT_ISSUER must be an https URL"), "{error}");
        }
        let origins = client(&[CLIENT], "http://127.0.0.1:7/", true).unwrap().unwrap().origins;
        assert_eq!(origins, ["http://127.0.0.1:7"]);
    }
}
