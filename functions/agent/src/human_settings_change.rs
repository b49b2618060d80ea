//! Changes of the settings of human requests, by a deployment or a request.

use std::collections::BTreeSet;

use djinn_core::human::{CostThreshold, HumanSettings, TimeoutAction};
use djinn_core::tool::Risk;
use djinn_protocol::request::HumanSettingsRequest;
use serde::Deserialize;

/// A change of the settings by a deployment, for one or all agents, or by a request.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct HumanSettingsChange {
    enabled: Option<bool>,
    /// Timeout in seconds, at most a year; 0 waits forever.
    timeout: Option<u64>,
    #[serde(alias = "onTimeout")]
    on_timeout: Option<TimeoutAction>,
    #[serde(alias = "autoConfirmTools", alias = "auto-confirm-tools")]
    auto_confirm_tools: Option<BTreeSet<String>>,
    #[serde(alias = "requireConfirmationTools", alias = "require-confirmation-tools")]
    require_confirmation_tools: Option<BTreeSet<String>>,
    #[serde(alias = "highRiskTools", alias = "high-risk-tools")]
    high_risk_tools: Option<BTreeSet<String>>,
    risk: Option<Risk>,
    #[serde(alias = "costThreshold", alias = "cost-threshold")]
    cost_threshold: Option<CostThreshold>,
    guard: Option<bool>,
    /// Settable only by a deployment.
    #[serde(alias = "trustedTools", alias = "trusted-tools")]
    trusted_tools: Option<BTreeSet<String>>,
    #[serde(alias = "confirmPlan", alias = "confirm-plan")]
    confirm_plan: Option<bool>,
    #[serde(alias = "confirmSteps", alias = "confirm-steps")]
    confirm_steps: Option<BTreeSet<String>>,
    #[serde(alias = "confirmResults", alias = "confirm-results")]
    confirm_results: Option<bool>,
    clarify: Option<bool>,
}

/// Maximum timeout in seconds: a year.
const MAX_TIMEOUT_S: u64 = 31_536_000;

/// Maximum number of names in a list of tools.
const MAX_LIST_ITEMS: usize = 100;

/// Maximum length of a tool's name, in bytes.
const MAX_TOOL_BYTES: usize = 200;

impl HumanSettingsChange {
    /// Returns the first value out of range, as a problem.
    pub(crate) fn find_problem(&self) -> Option<&'static str> {
        let lists = [
            &self.auto_confirm_tools,
            &self.require_confirmation_tools,
            &self.high_risk_tools,
            &self.trusted_tools,
        ];
        let is_tool = |name: &str| name.len() <= MAX_TOOL_BYTES;
        let is_step = |step: &str| (1..=200).contains(&step.chars().count());
        if self.timeout.is_some_and(|seconds| seconds > MAX_TIMEOUT_S) {
            Some("`timeout` is 0 to 31536000 seconds")
        } else if !lists.into_iter().flatten().all(|names| is_valid_list(names, is_tool)) {
            Some("a list of tools has at most 100 names, each of at most 200 bytes")
        } else if !self.confirm_steps.iter().all(|steps| is_valid_list(steps, is_step)) {
            Some("`confirm_steps` are at most 100, each of 1 to 200 characters")
        } else {
            None
        }
    }

    /// Applies the change of a deployment to the settings.
    pub(crate) fn apply_to(self, to: HumanSettings) -> HumanSettings {
        HumanSettings {
            enabled: self.enabled.unwrap_or(to.enabled),
            timeout_s: self.timeout.unwrap_or(to.timeout_s),
            on_timeout: self.on_timeout.unwrap_or(to.on_timeout),
            auto_confirm: self.auto_confirm_tools.unwrap_or(to.auto_confirm),
            require: self.require_confirmation_tools.unwrap_or(to.require),
            high_risk: self.high_risk_tools.unwrap_or(to.high_risk),
            risk: self.risk.unwrap_or(to.risk),
            cost: self.cost_threshold.unwrap_or(to.cost),
            guard: self.guard.unwrap_or(to.guard),
            trusted: self.trusted_tools.unwrap_or(to.trusted),
            confirm_plan: self.confirm_plan.unwrap_or(to.confirm_plan),
            confirm_steps: self.confirm_steps.unwrap_or(to.confirm_steps),
            confirm_results: self.confirm_results.unwrap_or(to.confirm_results),
            clarify: self.clarify.unwrap_or(to.clarify),
        }
    }

    /// Applies the change of a request to the settings. A request can add human requests to the deployment's,
    /// but cannot remove any.
    pub(crate) fn tighten_settings(self, of: HumanSettings) -> HumanSettings {
        let guard = of.guard || self.guard.unwrap_or_default();
        let confirm_plan = of.confirm_plan || self.confirm_plan.unwrap_or_default();
        let confirm_results = of.confirm_results || self.confirm_results.unwrap_or_default();
        let clarify = self.clarify.unwrap_or(of.clarify);
        let with = |base: &BTreeSet<String>, more: Option<BTreeSet<String>>| {
            base.iter().cloned().chain(more.into_iter().flatten()).collect()
        };
        let confirm_steps = with(&of.confirm_steps, self.confirm_steps.clone());
        // A request cannot turn a timeout into consent.
        let on_timeout = self.on_timeout.filter(|own| *own != TimeoutAction::Confirm);
        let on_timeout = on_timeout.unwrap_or(of.on_timeout);
        let timeout_s = match on_timeout {
            TimeoutAction::Confirm => of.timeout_s,
            TimeoutAction::Skip | TimeoutAction::Stop => self.timeout.unwrap_or(of.timeout_s),
        };
        if !of.enabled {
            let own = self.apply_to(of);
            return HumanSettings {
                guard,
                confirm_plan,
                confirm_steps,
                confirm_results,
                on_timeout,
                timeout_s,
                ..own
            };
        }
        let cost = of.cost;
        let own = self.cost_threshold.unwrap_or(of.cost);
        HumanSettings {
            enabled: true,
            timeout_s,
            on_timeout,
            auto_confirm: of.auto_confirm,
            require: with(&of.require, self.require_confirmation_tools),
            high_risk: with(&of.high_risk, self.high_risk_tools),
            risk: self.risk.map_or(of.risk, |own| own.min(of.risk)),
            cost: CostThreshold {
                token: cost.token.min(own.token),
                time: cost.time.min(own.time),
                api: cost.api.min(own.api),
            },
            guard,
            trusted: of.trusted,
            confirm_plan,
            confirm_steps,
            confirm_results,
            clarify,
        }
    }
}

impl From<HumanSettingsRequest> for HumanSettingsChange {
    fn from(request: HumanSettingsRequest) -> Self {
        Self {
            enabled: request.enabled,
            timeout: request.timeout,
            on_timeout: request.on_timeout.map(TimeoutAction::from),
            auto_confirm_tools: request.auto_confirm_tools.map(BTreeSet::from_iter),
            require_confirmation_tools: request.require_confirmation_tools.map(BTreeSet::from_iter),
            high_risk_tools: request.high_risk_tools.map(BTreeSet::from_iter),
            risk: request.risk.map(Risk::from),
            cost_threshold: request.cost_threshold.map(CostThreshold::from),
            guard: request.guard,
            trusted_tools: None,
            confirm_plan: request.confirm_plan,
            confirm_steps: request.confirm_steps.map(BTreeSet::from_iter),
            confirm_results: request.confirm_results,
            clarify: request.clarify,
        }
    }
}

fn is_valid_list(items: &BTreeSet<String>, is_valid: impl Fn(&str) -> bool) -> bool {
    items.len() <= MAX_LIST_ITEMS && items.iter().all(|item| is_valid(item))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_request_says_when_people_are_asked_in_the_words_of_a_deployment() {
        for said in [
            json!({}),
            json!({
                "enabled": true, "timeout": 60, "on_timeout": "stop", "auto_confirm_tools": ["a"],
                "require_confirmation_tools": ["b"], "high_risk_tools": ["c"], "risk": "high",
                "cost_threshold": {"token": 5}, "guard": false, "confirm_plan": true,
                "confirm_steps": ["*"], "confirm_results": true, "clarify": true,
            }),
            json!({"onTimeout": "confirm", "autoConfirmTools": ["a"], "confirmPlan": false,
                "confirm-steps": ["s1"], "cost-threshold": {"api": 1, "time": 2}, "risk": "low"}),
            json!({"on_timeout": "skip", "risk": "medium", "highRiskTools": [], "guard": true}),
        ] {
            let request: HumanSettingsRequest = serde_json::from_value(said.clone()).unwrap();
            let change: HumanSettingsChange = serde_json::from_value(said).unwrap();
            assert_eq!(HumanSettingsChange::from(request), change);
        }
    }
}
