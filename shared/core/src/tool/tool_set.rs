//! Tool sets by name: a turn's record need not repeat a set from an earlier record of its journal.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{OfferedTool, canonical_json};
use crate::estimate::Estimate;
use crate::id::sha256_hex;

/// Hex digits of a hash: 128 bits, enough to rule out accidental collisions.
const HASH_DIGITS: usize = 32;

/// The name of a tool set: the first half of the SHA-256 of the tools' canonical JSON, in hex.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolSetHash(String);

impl ToolSetHash {
    /// Computes the hash of these tools in this order, including their declarations.
    #[must_use]
    pub fn of(tools: &[OfferedTool]) -> Self {
        let tools = serde_json::to_value(tools).unwrap_or_default();
        let mut hash = sha256_hex(canonical_json(&tools).as_bytes());
        hash.truncate(HASH_DIGITS);
        Self(hash)
    }
}

impl fmt::Display for ToolSetHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The tool set of a request, with the estimates that apply to this turn only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSetRef {
    /// The hash of the tools with their declared values.
    pub hash: ToolSetHash,
    /// The estimates of this turn that differ from the declarations, by tool name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub estimates: BTreeMap<String, Estimate>,
}

impl ToolSetRef {
    /// Returns the reference to these tools; `None` without tools.
    #[must_use]
    pub fn of(tools: &[OfferedTool], estimates: BTreeMap<String, Estimate>) -> Option<Self> {
        let hash = (!tools.is_empty()).then(|| ToolSetHash::of(tools));
        hash.map(|hash| Self { hash, estimates })
    }

    /// Returns these tools with the estimates of this turn.
    #[must_use]
    pub fn with_estimates(&self, tools: &[OfferedTool]) -> Vec<OfferedTool> {
        let mut tools = tools.to_vec();
        for tool in &mut tools {
            if let Some(estimate) = self.estimates.get(&tool.name) {
                tool.policy.estimate = *estimate;
            }
        }
        tools
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::{EffectClass, Risk, ToolPolicy};

    fn tool(name: &str) -> OfferedTool {
        OfferedTool {
            name: name.to_owned(),
            schema_hash: "hash".to_owned(),
            effect: EffectClass::Read,
            timeout_ms: 1_000,
            visible: true,
            policy: ToolPolicy::default(),
        }
    }

    #[test]
    fn a_set_has_another_hash_when_anything_that_it_declares_is_another() {
        let known = [tool("read"), tool("send")];
        let hash = ToolSetHash::of(&known);
        assert_eq!(hash, ToolSetHash::of(&known));
        assert_eq!(hash.to_string().len(), HASH_DIGITS);
        let changes: [fn(&mut OfferedTool); 6] = [
            |tool| tool.name.push('s'),
            |tool| tool.schema_hash.push('s'),
            |tool| tool.effect = EffectClass::Once,
            |tool| tool.timeout_ms += 1,
            |tool| tool.visible = false,
            |tool| tool.policy.risk = Risk::High,
        ];
        for change in changes {
            let mut others = known.clone();
            change(&mut others[1]);
            assert_ne!(hash, ToolSetHash::of(&others), "{others:?}");
        }
        assert_ne!(hash, ToolSetHash::of(&known[..1]));
    }

    #[test]
    fn what_differs_in_a_turn_stands_beside_the_set() {
        let known = [tool("read"), tool("send")];
        let dear = Estimate { tokens: 7, ..Estimate::default() };
        let estimates = BTreeMap::from([("send".to_owned(), dear)]);
        let named = ToolSetRef::of(&known, estimates).unwrap();
        assert_eq!(named.hash, ToolSetHash::of(&known));
        let shown: Vec<_> =
            named.with_estimates(&known).iter().map(|tool| tool.policy.estimate.tokens).collect();
        assert_eq!(shown, [0, 7]);
        assert_eq!(ToolSetRef::of(&[], BTreeMap::new()), None, "nothing is offered");
    }
}
