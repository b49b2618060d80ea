//! The modes that users can start.

use axum::extract::State;
use djinn_protocol::body::{ModeBody, ModeListBody};
use djinn_protocol::request::NoParameters;

use crate::agent::{AgentPorts, SharedAgent};
use crate::identity::Caller;
use crate::mode_choice;
use crate::query::UrlQuery;
use crate::reply::{JsonReply, ReplyResult};

/// `GET /modes`: lists the modes in the deployment's language, the default mode first.
pub(crate) async fn list_modes<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    _: Caller,
    _: UrlQuery<NoParameters>,
) -> ReplyResult {
    let agent = agent.refresh().await;
    let language = agent.settings.run.language;
    let modes = mode_choice::list_modes(&agent, language);
    let bodies = modes.into_iter().map(|mode| ModeBody {
        title: mode.title.unwrap_or_else(|| mode.name.clone()),
        is_default: mode.name == agent.settings.run.mode,
        name: mode.name,
        description: mode.description,
        agent_type: mode.agent_type,
        parameters: mode.parameters,
    });
    JsonReply::json(&ModeListBody { modes: bodies.collect() })
}
