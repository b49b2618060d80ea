//! A budget that is used up: where people are asked at all, they are offered more of it.

use super::plan_solve::Then;
use super::{Phase, Run};
use crate::agent_loop::Observed;
use crate::code::{ErrorCode, Failure};
use crate::entry::Event;
use crate::feedback::{About, Answer, Ask, Estimate, TopUp, Why, digest};
use crate::id::FeedbackId;
use crate::tool::Risk;

/// What a run was given besides its budget, and the offer of more that it waits for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ToppedUp {
    pub(super) more: TopUp,
    offers: u32,
    offered: Option<FeedbackId>,
}

impl ToppedUp {
    /// Whether no model is called before a person has answered.
    pub(super) fn holds(&self) -> bool {
        self.offered.is_some()
    }

    pub(super) fn close(&mut self) {
        self.offered = None;
    }
}

impl Run {
    /// Something of the budget is used up: more is offered, or the work is broken off.
    pub(super) fn ran_out(&mut self, failure: Failure, at_ms: i64) -> Vec<(String, Event)> {
        if self.asking.topped_up.holds() {
            return Vec::new();
        }
        match self.offer(&failure) {
            Some(ask) => self.ask(vec![ask], "", at_ms).into_iter().collect(),
            None => self.break_off(failure, at_ms),
        }
    }

    /// As much again as the run was given. Nothing is offered to a task, whose run decides.
    fn offer(&mut self, failure: &Failure) -> Option<Ask> {
        let settings = &self.asked.settings;
        let is_bought = [ErrorCode::TokensUsedUp, ErrorCode::MoneyUsedUp].contains(&failure.code);
        if !settings.feedback.enabled || self.is_task() || !is_bought {
            return None;
        }
        let more = TopUp {
            tokens: settings.budget.tokens,
            micro_usd: settings.budget.micro_usd.unwrap_or_default(),
        };
        let topped_up = &mut self.asking.topped_up;
        topped_up.offers += 1;
        let id = FeedbackId::new(format!("budget.{}", topped_up.offers)).ok()?;
        topped_up.offered = Some(id.clone());
        let about = About::Budget { used_up: failure.clone(), more };
        let money = (more.micro_usd > 0).then_some(more.micro_usd);
        let estimate = Estimate { tokens: more.tokens, micro_usd: money, ..Estimate::default() };
        Some(Ask {
            digest: digest(id.as_str(), &about.parameters()?),
            id,
            task: None,
            about,
            risk: Risk::Low,
            why: vec![Why::Budget],
            estimate,
            expires_at_ms: None,
        })
    }

    /// A person has answered an offer.
    pub(super) fn topped_up(
        &mut self,
        ask: &Ask,
        answer: &Answer,
        at_ms: i64,
    ) -> Vec<(String, Event)> {
        let About::Budget { used_up, more } = &ask.about else { return Vec::new() };
        let topped_up = &mut self.asking.topped_up;
        topped_up.offered.take_if(|offered| *offered == ask.id);
        let more = match answer {
            Answer::Confirm => Some(*more),
            Answer::Modify { arguments } => more.changed(arguments).ok(),
            Answer::Skip | Answer::Stop | Answer::Say { .. } => None,
        };
        let Some(more) = more else { return self.break_off(used_up.clone(), at_ms) };
        topped_up.more = topped_up.more.and(more);
        match (&self.phase, self.used_up()) {
            (Phase::Reacting(_), Some(failure)) => self.ran_out(failure, at_ms),
            (Phase::PlanSolving(_), _) => self.go_on(Observed::default(), Then::GoOn, at_ms),
            (Phase::Reacting(_), None) => {
                self.compact_if_due();
                Vec::new()
            }
            (Phase::Summarizing(_) | Phase::Ended(_), _) => Vec::new(),
        }
    }
}
