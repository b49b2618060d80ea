//! A budget that is used up: where people are asked at all, they are offered more of it.

use super::plan_solve::Next;
use super::{Phase, Run};
use crate::agent_loop::TurnUpdate;
use crate::entry::Event;
use crate::error_code::{ErrorCode, Failure};
use crate::human::{Estimate, HumanRequest, HumanResponse, Reason, Subject, TopUp, digest_call};
use crate::id::HumanRequestId;
use crate::tool::Risk;

/// What a run was given besides its budget, and the offer of more that it waits for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TopUps {
    pub(super) granted: TopUp,
    offer_count: u32,
    open_offer: Option<HumanRequestId>,
}

impl TopUps {
    /// Whether no model is called before a person has answered.
    pub(super) fn has_open_offer(&self) -> bool {
        self.open_offer.is_some()
    }

    pub(super) fn close(&mut self) {
        self.open_offer = None;
    }
}

impl Run {
    /// Something of the budget is used up: more is offered, or the work is broken off.
    pub(super) fn budget_exhausted(
        &mut self,
        failure: Failure,
        at_ms: i64,
    ) -> Vec<(String, Event)> {
        if self.human_requests.top_ups.has_open_offer() {
            return Vec::new();
        }
        match self.offer_top_up(&failure) {
            Some(ask) => self.request_humans(vec![ask], "", at_ms).into_iter().collect(),
            None => self.break_off(failure, at_ms),
        }
    }

    /// As much again as the run was given. Nothing is offered to a task, whose run decides.
    fn offer_top_up(&mut self, failure: &Failure) -> Option<HumanRequest> {
        let settings = &self.spec.settings;
        let is_bought = [ErrorCode::TokensUsedUp, ErrorCode::MoneyUsedUp].contains(&failure.code);
        if !settings.human.enabled || self.is_child() || !is_bought {
            return None;
        }
        let more = TopUp {
            tokens: settings.budget.tokens,
            micro_usd: settings.budget.micro_usd.unwrap_or_default(),
        };
        let topped_up = &mut self.human_requests.top_ups;
        topped_up.offer_count += 1;
        let id = HumanRequestId::new(format!("budget.{}", topped_up.offer_count)).ok()?;
        topped_up.open_offer = Some(id.clone());
        let about = Subject::BudgetExtension { used_up: failure.clone(), offer: more };
        let money = (more.micro_usd > 0).then_some(more.micro_usd);
        let estimate = Estimate { tokens: more.tokens, micro_usd: money, ..Estimate::default() };
        Some(HumanRequest {
            digest: digest_call(id.as_str(), &about.parameters()?),
            id,
            task: None,
            subject: about,
            risk: Risk::Low,
            reasons: vec![Reason::Budget],
            estimate,
            expires_at_ms: None,
        })
    }

    /// A person has answered an offer.
    pub(super) fn resolve_top_up(
        &mut self,
        ask: &HumanRequest,
        answer: &HumanResponse,
        at_ms: i64,
    ) -> Vec<(String, Event)> {
        let Subject::BudgetExtension { used_up, offer: more } = &ask.subject else {
            return Vec::new();
        };
        let topped_up = &mut self.human_requests.top_ups;
        topped_up.open_offer.take_if(|offered| *offered == ask.id);
        let more = match answer {
            HumanResponse::Confirm => Some(*more),
            HumanResponse::Modify { arguments } => more.parse_amount(arguments).ok(),
            HumanResponse::Skip | HumanResponse::Stop | HumanResponse::Say { .. } => None,
        };
        let Some(more) = more else { return self.break_off(used_up.clone(), at_ms) };
        topped_up.granted = topped_up.granted.saturating_add(more);
        match (&self.phase, self.budget_failure()) {
            (Phase::Reacting(_), Some(failure)) => self.budget_exhausted(failure, at_ms),
            (Phase::PlanSolving(_), _) => self.settle(TurnUpdate::default(), Next::Continue, at_ms),
            (Phase::Reacting(_), None) => {
                self.compact_if_due();
                Vec::new()
            }
            (Phase::Summarizing(_) | Phase::Ended(_), _) => Vec::new(),
        }
    }
}
