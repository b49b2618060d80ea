//! What calls may cost, told from what earlier ones did.
//!
//! It is for people who are asked, so only runs that ask them look and tell. What a driver's calls came
//! to is told once, when it stops: a driver that dies takes its samples with it.

use std::collections::BTreeMap;

use djinn_core::budget::Price;
use djinn_core::estimate::Estimate;
use djinn_core::input::{Input, RequestedCall};
use djinn_core::run::Run;
use djinn_core::tool::{OfferedTool, ToolResult};
use djinn_text::tokens::estimate_tokens;

use crate::port::UserKey;
use crate::port::call_history::{CallHistory, CallSample, KEPT_SAMPLES, ToolKey};
use crate::port::tool::AvailableTools;
use crate::world::Ports;

/// Calls from which an estimate is made; with fewer, what the tool declares counts.
const MIN_SAMPLES: usize = 20;

/// What the calls of one driver came to, by tool.
#[derive(Debug, Default)]
pub struct Samples(BTreeMap<String, Vec<CallSample>>);

impl Samples {
    /// Takes what calls that `run` owes came to, if people are asked about its calls. Calls that failed
    /// are none: they say little about those that do not.
    pub fn add_samples(&mut self, run: &Run, inputs: &[Input]) {
        if !run.spec().settings.human.enabled {
            return;
        }
        for input in inputs {
            let Input::ToolReturned { call, result: ToolResult::Done(observation), took_ms } =
                input
            else {
                continue;
            };
            let Some(tool) = run.owed_tool(call) else { continue };
            let tokens = estimate_tokens(observation.text.len() as u64);
            let samples = self.0.entry(tool).or_default();
            samples.push(CallSample { ms: *took_ms, tokens });
            let old = samples.len().saturating_sub(KEPT_SAMPLES);
            samples.drain(..old);
        }
    }

    /// Tells the store. A failure is logged: samples are many.
    pub async fn store_samples<P: Ports>(self, ports: &P, user: &UserKey) {
        for (tool, samples) in self.0 {
            let key = ToolKey { user: user.clone(), tool };
            if let Err(error) = ports.store().add_call_samples(&key, &samples).await {
                tracing::warn!(%error, tool = key.tool, "samples of calls are not kept");
            }
        }
    }
}

/// Estimates the called tools of a reply: by what earlier calls came to, where people are asked about
/// all calls, else as they declare; and with what a model of this price takes for reading their results.
/// Only estimates that differ from what the tools declare are returned.
pub async fn estimate_tools<P: Ports>(
    ports: &P,
    tools: &AvailableTools,
    run: &Run,
    price: Option<Price>,
    offered: &[OfferedTool],
    calls: &[RequestedCall],
) -> BTreeMap<String, Estimate> {
    let user = UserKey::of(run.spec());
    let mut estimates = BTreeMap::new();
    for tool in offered {
        let is_called = calls.iter().any(|call| call.tool == tool.name);
        if !is_called || tools.find_tool(&tool.name).is_none() {
            continue;
        }
        let declared = tool.policy.estimate;
        let estimate = match run.spec().settings.human.enabled {
            true => estimate_by_samples(ports, &user, tool).await,
            false => declared,
        };
        let estimate = estimate.with_price(price);
        if estimate != declared {
            estimates.insert(tool.name.clone(), estimate);
        }
    }
    estimates
}

async fn estimate_by_samples<P: Ports>(ports: &P, user: &UserKey, tool: &OfferedTool) -> Estimate {
    let declared = tool.policy.estimate;
    let key = ToolKey { user: user.clone(), tool: tool.name.clone() };
    match ports.store().call_samples(&key).await {
        Ok(samples) => estimate_from_samples(declared, &samples),
        Err(error) => {
            tracing::warn!(%error, tool = key.tool, "estimated as declared");
            declared
        }
    }
}

/// What a call of a tool may cost as far as earlier ones tell: their median and 95th percentile (by
/// nearest rank). Calls to others and money are as declared. With fewer than [`MIN_SAMPLES`], all is.
fn estimate_from_samples(declared: Estimate, samples: &[CallSample]) -> Estimate {
    if samples.len() < MIN_SAMPLES {
        return declared;
    }
    let of = |part: fn(&CallSample) -> u64| {
        let mut values: Vec<u64> = samples.iter().map(part).collect();
        values.sort_unstable();
        (nearest_rank(&values, 50), nearest_rank(&values, 95))
    };
    let ((ms, ms_p95), (tokens, tokens_p95)) = (of(|call| call.ms), of(|call| call.tokens));
    let samples = u32::try_from(samples.len()).unwrap_or(u32::MAX);
    Estimate { tokens, ms, ms_p95, tokens_p95, samples, ..declared }
}

/// The smallest of sorted values that so many of 100 are not above.
fn nearest_rank(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_made_of_twenty_calls_or_more_and_declared_before() {
        let declared = Estimate {
            tokens: 1_000,
            ms: 500,
            calls: 2,
            micro_usd: Some(7),
            ..Estimate::default()
        };
        let samples = |n: u64| -> Vec<CallSample> {
            (1..=n).rev().map(|nth| CallSample { ms: nth * 10, tokens: nth }).collect()
        };
        for few in [0, 1, 19] {
            assert_eq!(estimate_from_samples(declared, &samples(few)), declared);
        }
        let of = |n| estimate_from_samples(declared, &samples(n));
        let of_20 =
            Estimate { ms: 100, ms_p95: 190, tokens: 10, tokens_p95: 19, samples: 20, ..declared };
        assert_eq!(of(20), of_20);
        let of_100 =
            Estimate { ms: 500, ms_p95: 950, tokens: 50, tokens_p95: 95, samples: 100, ..declared };
        assert_eq!(of(100), of_100);
    }
}
