//! The run's ledger: its budget, its spending, and the offer of a budget extension.
//!
//! If the settings allow human requests, a run that has used up its tokens or money offers an extension of
//! the size of its budget. A child leaves the offer to its run.

use crate::agent::AgentSpec;
use crate::budget::{Budget, BudgetShare, Spending, Usage, format_dollars};
use crate::effect::Effect;
use crate::error_code::{ErrorCode, Failure};
use crate::estimate::Estimate;
use crate::human::{HumanRequest, HumanResponse, Reason, Subject, TopUp, digest_call};
use crate::id::HumanRequestId;
use crate::input::RunSpec;
use crate::tool::Risk;

/// The spending of a run, and its top-ups.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Ledger {
    spending: Spending,
    granted: TopUp,
    offer_count: u32,
    open_offer: Option<HumanRequestId>,
}

impl Ledger {
    /// Returns the spending of the run and its children.
    pub(super) fn spending(&self) -> &Spending {
        &self.spending
    }

    /// Counts a model call that has ended.
    pub(super) fn charge_call(&mut self, usage: &Usage) {
        self.spending.add_model_call(usage);
    }

    /// Charges the estimated cost of the model calls that were due at a crash.
    pub(super) fn charge_lost_calls(&mut self, due: &[Effect], estimate: &Usage) {
        let is_lost = |owed: &&Effect| matches!(owed, Effect::CallModel(call) if !call.waits);
        let calls = due.iter().filter(is_lost).count();
        self.spending.add_lost_calls(u32::try_from(calls).unwrap_or(u32::MAX), estimate);
    }

    /// Counts a turn of the run's own agent.
    pub(super) fn count_turn(&mut self) {
        self.spending.steps += 1;
    }

    /// Counts a tool call with a result.
    pub(super) fn count_tool_call(&mut self) {
        self.spending.tool_calls += 1;
    }

    /// Adds the spending of a child.
    pub(super) fn add_child(&mut self, spent: &Spending) {
        self.spending.add_child(spent);
    }

    /// Returns the budget of the run and its children, including top-ups.
    pub(super) fn budget(&self, spec: &RunSpec) -> Budget {
        let settings = &spec.settings;
        let Budget { steps, tool_calls, .. } = settings.budget;
        let (steps, tool_calls) = match &spec.child {
            Some(_) => (steps, tool_calls),
            // Each child counts its own tool calls.
            None if spec.machine().has_plan() => (settings.plan.max_run_turns, u32::MAX),
            None => {
                let agents = spec.agent().map_or(1, AgentSpec::ensemble_size);
                (steps.saturating_mul(agents), tool_calls.saturating_mul(agents))
            }
        };
        let money = settings.budget.micro_usd;
        Budget {
            steps,
            tool_calls,
            tokens: settings.budget.tokens.saturating_add(self.granted.tokens),
            micro_usd: money.map(|money| money.saturating_add(self.granted.micro_usd)),
            ..settings.budget
        }
    }

    /// Returns the remaining budget.
    pub(super) fn remaining(&self, spec: &RunSpec) -> BudgetShare {
        let Budget { steps, tool_calls, tokens, micro_usd, .. } = self.budget(spec);
        let spent = BudgetShare {
            steps: self.spending.steps,
            tool_calls: self.spending.tool_calls,
            tokens: self.spending.tokens(),
            micro_usd: Some(self.spending.usage.micro_usd),
        };
        BudgetShare { steps, tool_calls, tokens, micro_usd }.minus(spent)
    }

    /// Returns the maximum number of calls in the next reply of the run's agent.
    pub(super) fn max_calls_of_next_reply(&self, spec: &RunSpec) -> u32 {
        let remaining = self.budget(spec).tool_calls.saturating_sub(self.spending.tool_calls);
        let own = spec.agent().and_then(|agent| agent.max_calls).unwrap_or(u32::MAX);
        remaining.min(spec.settings.max_tool_calls_per_turn).min(own)
    }

    /// Returns the failure for a used-up part of the budget, if any.
    pub(super) fn failure(&self, spec: &RunSpec) -> Option<Failure> {
        let budget = self.budget(spec);
        if self.spending.steps >= budget.steps {
            Some(Failure::new(ErrorCode::StepsUsedUp, budget.steps.to_string()))
        } else if self.spending.tool_calls >= budget.tool_calls {
            Some(Failure::new(ErrorCode::ToolCallsUsedUp, budget.tool_calls.to_string()))
        } else if self.spending.tokens() >= budget.tokens {
            Some(Failure::new(ErrorCode::TokensUsedUp, budget.tokens.to_string()))
        } else {
            let money = budget.micro_usd.filter(|money| self.spending.usage.micro_usd >= *money)?;
            Some(Failure::new(ErrorCode::MoneyUsedUp, format_dollars(money)))
        }
    }

    /// Returns true if an offer waits for a response; no model is called until then.
    pub(super) fn has_open_offer(&self) -> bool {
        self.open_offer.is_some()
    }

    /// Returns true if an effect waits for the response to an offer.
    pub(super) fn is_held(&self, effect: &Effect) -> bool {
        matches!(effect, Effect::CallModel(_)) && self.has_open_offer()
    }

    /// Offers an extension of the size of the budget. `None` if users cannot extend the budget.
    pub(super) fn offer_top_up(
        &mut self,
        failure: &Failure,
        spec: &RunSpec,
    ) -> Option<HumanRequest> {
        let settings = &spec.settings;
        let is_bought = [ErrorCode::TokensUsedUp, ErrorCode::MoneyUsedUp].contains(&failure.code);
        if !settings.human.enabled || spec.child.is_some() || !is_bought {
            return None;
        }
        let offer = TopUp {
            tokens: settings.budget.tokens,
            micro_usd: settings.budget.micro_usd.unwrap_or_default(),
        };
        self.offer_count += 1;
        let id = HumanRequestId::of_budget(self.offer_count);
        self.open_offer = Some(id.clone());
        let subject = Subject::BudgetExtension { used_up: failure.clone(), offer };
        let money = (offer.micro_usd > 0).then_some(offer.micro_usd);
        let estimate = Estimate { tokens: offer.tokens, micro_usd: money, ..Estimate::default() };
        Some(HumanRequest {
            digest: digest_call(&id.to_string(), &subject.parameters()?),
            id,
            child: None,
            subject,
            risk: Risk::Low,
            reasons: vec![Reason::Budget],
            estimate,
            expires_at_ms: None,
        })
    }

    /// Processes the response to an offer. Returns true if the run received a top-up.
    pub(super) fn resolve_offer(
        &mut self,
        request: &HumanRequestId,
        offer: TopUp,
        answer: &HumanResponse,
    ) -> bool {
        self.open_offer.take_if(|open| open == request);
        let amount = match answer {
            HumanResponse::Confirm => Some(offer),
            HumanResponse::Modify { arguments } => offer.parse_amount(arguments).ok(),
            _ => None,
        };
        if let Some(amount) = amount {
            self.granted = self.granted.saturating_add(amount);
        }
        amount.is_some()
    }

    /// Withdraws an offer without a response.
    pub(super) fn close_offer(&mut self) {
        self.open_offer = None;
    }
}
