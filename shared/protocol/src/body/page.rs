//! The configuration of the web page.

use serde::Serialize;

/// The facts that the web page needs before a user signs in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageConfigBody {
    /// The method of signing in.
    pub sign_in: SignInMethod,
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
