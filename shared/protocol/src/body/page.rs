//! The configuration of the web page.

use serde::Serialize;

/// The facts that the web page needs before a user signs in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageConfigBody<'a> {
    /// The method of signing in.
    pub sign_in: SignInMethod,
    /// For `jwt`, how the page gets a token; absent without a client for the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<PageIssuerBody<'a>>,
    /// The deployment's language.
    pub language: PageLanguage,
    /// True if the model is the demo model, which knows only a few questions.
    pub has_demo_model: bool,
    /// The maximum size of a request's body in bytes. Larger files are uploaded to a URL.
    pub max_body_bytes: usize,
    /// The version of the page's files; empty without a page.
    pub version: String,
}

/// The method of signing in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SignInMethod {
    /// All callers are the same user.
    None,
    /// By an API key.
    Key,
    /// By a token of an issuer.
    Jwt,
    /// By signatures of AWS.
    Iam,
}

/// The issuer of tokens, and the page's client there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageIssuerBody<'a> {
    /// The issuer's URL. Its endpoints are listed at `/.well-known/openid-configuration` below this URL.
    pub url: &'a str,
    /// The id of the page's client.
    pub client_id: &'a str,
    /// The scopes to ask for, separated by spaces.
    pub scopes: &'a str,
    /// The token to send to the agent.
    pub token: PageToken,
}

/// A token of an issuer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PageToken {
    /// The access token.
    Access,
    /// The ID token.
    Id,
}

/// A language of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PageLanguage {
    /// English.
    En,
    /// Chinese.
    Zh,
}
