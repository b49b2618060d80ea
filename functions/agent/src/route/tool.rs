//! The tools of runs.

use std::collections::BTreeMap;

use axum::extract::State;
use djinn_core::tool::{Risk, ToolSpec};
use djinn_outside::WithheldReason;
use djinn_protocol::body::{NotOfferedWord, ToolBody, ToolListBody};
use djinn_protocol::request::NoParameters;
use djinn_runtime::configuration::{OfferProblem, check_offer};
use djinn_runtime::port::sealed_key::SealedKeys;
use djinn_runtime::port::tool::ToolAudience;

use crate::agent::{AgentPorts, SharedAgent};
use crate::identity::Caller;
use crate::mode_choice;
use crate::query::UrlQuery;
use crate::reply::{JsonReply, ReplyResult};

/// `GET /tools`: lists the tools of the caller's runs in the default mode, and the files that are no tools of them.
pub(crate) async fn list_tools<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    _: UrlQuery<NoParameters>,
) -> ReplyResult {
    let agent = agent.refresh().await;
    let language = agent.settings.run.language;
    let modes = mode_choice::list_modes(&agent, language);
    let mode = modes.into_iter().next();
    let name = mode.as_ref().map(|mode| mode.name.clone()).unwrap_or_default();
    let audience = ToolAudience { user: caller.user_key(), mode: name, output_style: None };
    let available = agent.ports.tools().list_tools(agent.ports.clock(), &audience).await;
    let offered = mode.map(|mode| available.specs_for_mode(&mode, language)).unwrap_or_default();
    let to_body = |spec: ToolSpec| ToolBody {
        name: spec.name,
        description: spec.description,
        risk: spec.policy.risk,
        is_file: false,
        is_gone: false,
        not_offered: None,
        missing_key: None,
    };
    let mut tools: BTreeMap<String, ToolBody> =
        offered.into_iter().map(|spec| (spec.name.clone(), to_body(spec))).collect();
    let in_files = agent.ports.configured_tools();
    let needs_keys = in_files.callable.iter().any(|tool| tool.needed_key().is_some());
    let keys = if needs_keys {
        agent.ports.store().list_sealed_keys(&caller.user_key()).await?
    } else {
        Vec::new()
    };
    for configured in &*in_files.callable {
        let not_offered = match configured.check_audience(&audience) {
            Ok(()) => NotOfferedWord::Agent,
            Err(OfferProblem::Disabled) => NotOfferedWord::Disabled,
            // Other tenants' tools are none of the caller's business.
            Err(OfferProblem::Tenant) => continue,
            Err(OfferProblem::Mode) => NotOfferedWord::Mode,
        };
        let spec = configured.tool.spec(language);
        let is_offered = tools.contains_key(&spec.name);
        let not_offered = Some(not_offered).filter(|_| !is_offered);
        let needed = configured.needed_key();
        let missing_key = needed.filter(|needed| {
            !keys.iter().any(|key| key.name == needed.name && key.origin == needed.origin)
        });
        let missing_key = missing_key.map(|needed| needed.name.to_string());
        let is_gone = in_files.is_gone(configured);
        let body = ToolBody { is_file: true, is_gone, not_offered, missing_key, ..to_body(spec) };
        tools.insert(body.name.clone(), body);
    }
    for withheld in &*in_files.withheld {
        if check_offer(&withheld.offer, &audience) == Err(OfferProblem::Tenant) {
            continue;
        }
        let not_offered = match withheld.reason {
            WithheldReason::NotLocked => NotOfferedWord::NotLocked,
            WithheldReason::RejectedSchema => NotOfferedWord::RejectedSchema,
        };
        tools.entry(withheld.name.clone()).or_insert_with(|| ToolBody {
            name: withheld.name.clone(),
            description: String::new(),
            risk: Risk::High,
            is_file: true,
            is_gone: false,
            not_offered: Some(not_offered),
            missing_key: None,
        });
    }
    JsonReply::json(&ToolListBody { tools: tools.into_values().collect() })
}
