//! The configuration of the web page.

use axum::extract::State;
use djinn_core::language::Language;
use djinn_protocol::body::{PageConfigBody, PageIssuerBody, PageLanguage, SignInMethod};
use djinn_protocol::request::NoParameters;

use crate::agent::{AgentPorts, SharedAgent};
use crate::body::MAX_BODY;
use crate::identity::Auth;
use crate::query::UrlQuery;
use crate::reply::{JsonReply, ReplyResult};

/// `GET /web/config`: the facts that the page needs before a user signs in. Open to all callers.
pub(crate) async fn show_page_config<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    _: UrlQuery<NoParameters>,
) -> ReplyResult {
    let settings = &agent.settings;
    let sign_in = match settings.auth {
        Auth::None => SignInMethod::None,
        Auth::Key(_) => SignInMethod::Key,
        Auth::Jwt(_) => SignInMethod::Jwt,
        Auth::Iam(_) => SignInMethod::Iam,
    };
    let language = match settings.run.language {
        Language::En => PageLanguage::En,
        Language::Zh => PageLanguage::Zh,
    };
    let issuer = settings.page.client.as_ref().map(|client| PageIssuerBody {
        url: &client.issuer,
        client_id: &client.id,
        scopes: &client.scopes,
        token: client.token,
    });
    let version = settings.page.read_version().await;
    JsonReply::json(&PageConfigBody {
        sign_in,
        issuer,
        language,
        has_demo_model: settings.page.has_demo_model,
        max_body_bytes: MAX_BODY,
        version: version.unwrap_or_default(),
    })
}
