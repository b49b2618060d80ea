//! The caller's own keys for tools: `/keys`. No route returns the value of a key.

use axum::extract::State;
use djinn_core::id::KeyName;
use djinn_protocol::body::{KeyBody, KeyListBody};
use djinn_protocol::request::{KeyRequest, NoParameters};
use djinn_runtime::port::secret::Secret;
use djinn_runtime::serve::{UserKeyState, delete_user_key, list_user_keys, put_user_key};
use djinn_runtime::world::Ports;

use crate::agent::SharedAgent;
use crate::body::OwnBody;
use crate::identity::Caller;
use crate::path::PathId;
use crate::query::UrlQuery;
use crate::reply::{JsonReply, ReplyResult};

/// `GET /keys`: lists the names of the caller's keys, and the tools that need them.
pub(crate) async fn list_keys<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    _: UrlQuery<NoParameters>,
) -> ReplyResult {
    let agent = agent.refresh().await;
    let keys = list_user_keys(&agent.ports, &caller.user_key()).await?;
    let to_body = |key: UserKeyState| KeyBody {
        name: key.name.to_string(),
        origin: key.origin,
        tools: key.tools,
        is_set: key.set_at_ms.is_some(),
        set_at_ms: key.set_at_ms,
    };
    JsonReply::json(&KeyListBody { keys: keys.into_iter().map(to_body).collect() })
}

/// `PUT /keys/{name}`: stores a key, in place of an earlier one.
pub(crate) async fn put_key<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    PathId(name): PathId<KeyName>,
    _: UrlQuery<NoParameters>,
    OwnBody(KeyRequest { value, origin }): OwnBody<KeyRequest>,
) -> ReplyResult {
    let agent = agent.refresh().await;
    let user = caller.user_key();
    let origin = origin.as_deref().filter(|origin| !origin.is_empty());
    put_user_key(&agent.ports, &user, name, origin, &Secret::new(&value)).await?;
    Ok(JsonReply::no_content())
}

/// `DELETE /keys/{name}`: deletes the caller's keys of this name.
pub(crate) async fn remove_key<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    PathId(name): PathId<KeyName>,
    _: UrlQuery<NoParameters>,
) -> ReplyResult {
    delete_user_key(&agent.ports, &caller.user_key(), &name).await?;
    Ok(JsonReply::no_content())
}
