//! Estimates of calls' costs from earlier calls.
//!
//! Estimates are for users who approve calls, so only runs with human requests read and write samples. A
//! driver stores its samples once, when it stops: a dead driver's samples are lost.

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

/// The minimum number of samples for an estimate; with fewer samples, the tool's declaration counts.
const MIN_SAMPLES: usize = 20;

/// The measured costs of one driver's calls, by tool.
#[derive(Debug, Default)]
pub struct Samples(BTreeMap<String, Vec<CallSample>>);

impl Samples {
    /// Adds samples of calls that `run` owes, if the run has human requests. Failed calls are no samples:
    /// their cost says little about successful calls.
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

    /// Stores the samples. A failure is only logged: samples are many.
    pub async fn store_samples<P: Ports>(self, ports: &P, user: &UserKey) {
        for (tool, samples) in self.0 {
            let key = ToolKey { user: user.clone(), tool };
            if let Err(error) = ports.store().add_call_samples(&key, &samples).await {
                tracing::warn!(%error, tool = key.tool, "samples of calls are not kept");
            }
        }
    }
}

/// Estimates the called tools of a reply: from samples if the run has human requests, otherwise from the
/// tools' declarations. Adds the cost of reading the results at this model's price. Returns only estimates
/// that differ from the declarations.
pub async fn estimate_tools<P: Ports>(
    ports: &P,
    tools: &AvailableTools,
    run: &Run,
    price: Option<Price>,
    offers: &[OfferedTool],
    calls: &[RequestedCall],
) -> BTreeMap<String, Estimate> {
    let user = UserKey::of(run.spec());
    let mut estimates = BTreeMap::new();
    for tool in offers {
        let is_called = calls.iter().any(|call| call.tool == tool.name);
        if !is_called || tools.find_tool(&tool.name).is_none() {
            continue;
        }
        let own_estimate = tool.policy.estimate;
        let estimate = if run.spec().settings.human.enabled {
            estimate_by_samples(ports, &user, tool).await
        } else {
            own_estimate
        };
        let estimate = estimate.with_price(price);
        if estimate != own_estimate {
            estimates.insert(tool.name.clone(), estimate);
        }
    }
    estimates
}

async fn estimate_by_samples<P: Ports>(ports: &P, user: &UserKey, tool: &OfferedTool) -> Estimate {
    let own_estimate = tool.policy.estimate;
    let key = ToolKey { user: user.clone(), tool: tool.name.clone() };
    match ports.store().call_samples(&key).await {
        Ok(samples) => estimate_from_samples(own_estimate, &samples),
        Err(error) => {
            tracing::warn!(%error, tool = key.tool, "estimated as declared");
            own_estimate
        }
    }
}

/// Estimates a call from samples: median and 95th percentile (by nearest rank). Calls to others and money are
/// as declared. With fewer than [`MIN_SAMPLES`], everything is as declared.
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

/// Returns the percentile of sorted values by nearest rank.
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
