//! The run's ledger: what it may use up, what it has used, and the offer of more that people are made.
//!
//! A run whose tokens or money are used up asks people for as much again, where people are asked at
//! all; a child leaves that to its run.

use crate::budget::{Budget, BudgetShare, Spending, Usage, format_dollars};
use crate::effect::Effect;
use crate::error_code::{ErrorCode, Failure};
use crate::estimate::Estimate;
use crate::human::{HumanRequest, HumanResponse, Reason, Subject, TopUp, digest_call};
use crate::id::HumanRequestId;
use crate::input::RunSpec;
use crate::settings::Mode;
use crate::tool::Risk;

/// What a run has used, and what people gave it besides its budget.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Ledger {
    spending: Spending,
    granted: TopUp,
    offer_count: u32,
    open_offer: Option<HumanRequestId>,
}

impl Ledger {
    /// What the run has used up, with its children.
    pub(super) fn spending(&self) -> &Spending {
        &self.spending
    }

    /// Counts a model call that came to an end.
    pub(super) fn charge_call(&mut self, usage: &Usage) {
        self.spending.add_model_call(usage);
    }

    /// Charges the model calls that were owed when a driver died, at what they are taken to have cost.
    pub(super) fn charge_lost_calls(&mut self, due: &[Effect], estimate: &Usage) {
        let died = |owed: &&Effect| matches!(owed, Effect::CallModel(call) if !call.waits);
        let calls = due.iter().filter(died).count();
        self.spending.add_lost_calls(u32::try_from(calls).unwrap_or(u32::MAX), estimate);
    }

    /// Counts a turn of the run's own agent.
    pub(super) fn count_turn(&mut self) {
        self.spending.steps += 1;
    }

    /// Counts a call that its tool answered.
    pub(super) fn count_tool_call(&mut self) {
        self.spending.tool_calls += 1;
    }

    /// Counts what a child used up.
    pub(super) fn add_child(&mut self, spent: &Spending) {
        self.spending.add_child(spent);
    }

    /// What the run may use up, its children included: its budget, and what people gave it besides.
    pub(super) fn budget(&self, spec: &RunSpec) -> Budget {
        let settings = &spec.settings;
        let (steps, tool_calls) = match (&spec.child, settings.mode) {
            // Each of its children counts its own calls.
            (None, Mode::PlanSolve) => (settings.plan.max_run_turns, u32::MAX),
            (Some(_), _) | (None, Mode::React) => {
                (settings.budget.steps, settings.budget.tool_calls)
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

    /// What of the budget is left.
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

    /// How many calls the next reply of the run's agent may make.
    pub(super) fn max_calls_of_next_reply(&self, spec: &RunSpec) -> u32 {
        let left = self.budget(spec).tool_calls.saturating_sub(self.spending.tool_calls);
        let own = spec.agent().and_then(|agent| agent.max_calls).unwrap_or(u32::MAX);
        left.min(spec.settings.max_tool_calls_per_turn).min(own)
    }

    /// What of the budget is used up, if anything is.
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

    /// Whether people are offered more and have not answered: no model is called until they have.
    pub(super) fn has_open_offer(&self) -> bool {
        self.open_offer.is_some()
    }

    /// Whether an effect waits for the answer to an offer.
    pub(super) fn is_held(&self, effect: &Effect) -> bool {
        matches!(effect, Effect::CallModel(_)) && self.has_open_offer()
    }

    /// Offers people as much again as the run was given. `None` where that is no choice of theirs.
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

    /// Takes a person's answer to an offer. Whether the run was given more.
    pub(super) fn resolve_offer(
        &mut self,
        request: &HumanRequestId,
        offer: TopUp,
        answer: &HumanResponse,
    ) -> bool {
        self.open_offer.take_if(|open| open == request);
        let granted = match answer {
            HumanResponse::Confirm => Some(offer),
            HumanResponse::Modify { arguments } => offer.parse_amount(arguments).ok(),
            HumanResponse::Skip | HumanResponse::Stop | HumanResponse::Say { .. } => None,
        };
        if let Some(granted) = granted {
            self.granted = self.granted.saturating_add(granted);
        }
        granted.is_some()
    }

    /// Withdraws an offer that nobody has answered.
    pub(super) fn close_offer(&mut self) {
        self.open_offer = None;
    }
}
