//! Starting the due effects of a run.

use std::sync::Arc;
use std::time::Duration;

use djinn_core::effect::{
    AnswerFile, ChildDispatch, Delivery, Effect, EffectId, ModelCall, ToolInvocation,
};
use djinn_core::input::Input;
use djinn_core::tool::EffectClass;

use super::alarm::RunAlarm;
use super::background::BackgroundWork;
use super::child::{ChildExecution, NamedAgent};
use super::children::Children;
use super::costs::RunCosts;
use super::driven_run::DrivenRun;
use super::hand_over::HandOver;
use super::lease::HeldLease;
use super::live_writer::LiveWriter;
use super::store_retry::retry_store_call;
use crate::perform::answer::AnswerWrite;
use crate::perform::deliver::{ignore_too_large, make_delivery};
use crate::perform::model::ModelExecution;
use crate::perform::plan::PlanWrite;
use crate::perform::tool::ToolExecution;
use crate::port::model::Model;
use crate::world::Ports;

/// The maximum number of concurrent dispatches. Each holds the conversation for its child.
const DISPATCHES_AT_ONCE: usize = 32;

/// Everything a driver needs to start effects.
pub(super) struct EffectStarter<'a, P: Ports> {
    pub(super) run: &'a DrivenRun<P>,
    pub(super) lease: &'a HeldLease,
    pub(super) costs: &'a RunCosts,
    pub(super) hand_over: &'a HandOver,
    /// The channel for previews and progress, and for a child driven here.
    pub(super) live_writer: &'a LiveWriter,
    /// True if the caller's driver is in this invocation.
    pub(super) is_inline: bool,
    pub(super) alarm: &'a mut RunAlarm,
    pub(super) children: &'a mut Children,
    pub(super) background: &'a mut BackgroundWork,
}

/// A tool call that can start now.
pub(super) struct PreparedCall {
    invocation: ToolInvocation,
    timeout: Duration,
}

impl PreparedCall {
    /// Returns the id of the call's effect.
    pub(super) fn effect_id(&self) -> EffectId {
        EffectId::Tool(self.invocation.call.id.clone()).after_interrupts(self.invocation.interrupts)
    }

    /// Returns the input to record before a `once` call starts.
    pub(super) fn start_input(&self) -> Input {
        Input::ToolStarted { call: self.invocation.call.id.clone() }
    }
}

impl<P: Ports> EffectStarter<'_, P> {
    /// Returns the due effects, without those in flight, given up, driven elsewhere or delayed.
    pub(super) fn startable_effects(&self) -> Vec<Effect> {
        let now_ms = self.run.now_ms();
        let can_start = |effect: &&Effect| {
            let is_delayed = effect.delayed_until_ms().is_some_and(|at_ms| at_ms > now_ms);
            !is_delayed && !effect.is_waiting() && !self.is_left_alone(&effect.id())
        };
        self.run.due().iter().filter(can_start).cloned().collect()
    }

    /// Starts one of the [`Self::startable_effects`]. Returns a `once` call, which must be recorded before the start.
    pub(super) fn start_effect(&mut self, effect: Effect) -> Option<PreparedCall> {
        match effect {
            // The loop itself watches these times.
            Effect::Wait { .. } | Effect::AwaitHuman(_) => {}
            Effect::CallModel(call) => self.start_model_call(call),
            Effect::RunTool(invocation) => {
                let call = self.prepare_tool_call(invocation)?;
                if call.invocation.class == EffectClass::Once {
                    return Some(call);
                }
                self.start_tool_call(call);
            }
            Effect::RunChild(dispatch) => self.start_child(dispatch),
            Effect::SavePlan { version } => self.start_plan_write(version),
            Effect::SaveAnswer(answer) => self.start_answer_write(answer),
            Effect::Deliver(delivery) => self.start_delivery(delivery),
        }
        None
    }

    fn is_left_alone(&self, id: &EffectId) -> bool {
        let is_postponed = if let EffectId::Child(child) = id {
            self.children.is_remote(child)
        } else {
            self.background.has_given_up(id)
        };
        is_postponed || self.background.contains_effect(id)
    }

    fn start_model_call(&mut self, call: ModelCall) {
        self.alarm.ensure_set(self.run, self.background);
        let limits = self.run.ports().model().limits(call.role, call.model_choice());
        let timeout = limits.map_or(Duration::ZERO, |limits| limits.call_timeout);
        let timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        if self.effect_timeout(timeout_ms, EffectClass::Read).is_none() {
            return;
        }
        let id = EffectId::Model(call.message.clone()).after_interrupts(call.interrupts);
        let call = self.model_execution(call);
        self.background.spawn_effect(id, EffectClass::Read, call.perform());
    }

    /// Returns the execution of a model call, as of now.
    pub(super) fn model_execution(&self, call: ModelCall) -> ModelExecution<P> {
        ModelExecution {
            ports: self.run.ports().clone(),
            key: self.run.key().clone(),
            run: self.run.journal().shared_run(),
            call,
            deadline: self.hand_over.deadline(),
            is_first: !self.background.has_started_effect(),
            account: Arc::clone(self.costs.account()),
            live_sender: self.live_writer.sender().clone(),
        }
    }

    /// Returns the tool call, if the call can start now.
    fn prepare_tool_call(&mut self, invocation: ToolInvocation) -> Option<PreparedCall> {
        let longest = self.run.settings().tool_timeout.as_millis();
        let timeout_ms = invocation.timeout_ms.min(u64::try_from(longest).unwrap_or(u64::MAX));
        let timeout = self.effect_timeout(timeout_ms, invocation.class)?;
        if self.is_at_parallel_limit(&invocation.call.tool) {
            return None;
        }
        // An approved call may be the first effect of this driver.
        self.alarm.ensure_set(self.run, self.background);
        // A `once` call started by another driver must not be repeated. Such a call starts after the alarm is
        // set, so the run is found again after a crash.
        let can_start = !invocation.started && !self.alarm.is_awaited(self.run.now_ms());
        let is_repeatable = invocation.class != EffectClass::Once;
        (is_repeatable || can_start).then_some(PreparedCall { invocation, timeout })
    }

    /// Starts a tool call. A `once` call must be recorded before.
    pub(super) fn start_tool_call(&mut self, call: PreparedCall) {
        let (id, PreparedCall { invocation, timeout }) = (call.effect_id(), call);
        let class = invocation.class;
        let ports = self.run.ports().clone();
        let key = self.run.key().clone();
        let run = self.run.state();
        let live_sender = self.live_writer.sender().clone();
        let call = ToolExecution::of(ports, key, run, invocation, timeout, live_sender);
        self.background.spawn_effect(id, class, call.perform());
    }

    /// Returns true if the maximum number of calls is in flight, in total or of this tool.
    fn is_at_parallel_limit(&self, tool: &str) -> bool {
        let settings = &self.run.state().spec().settings;
        if self.background.tool_count() >= settings.max_parallel_tool_calls.max(1) as usize {
            return true;
        }
        let Some(bound) = settings.max_parallel_per_tool.get(tool) else { return false };
        let is_running = |effect: &Effect| match effect {
            Effect::RunTool(run) => {
                run.call.tool == tool && self.background.contains_effect(&effect.id())
            }
            _ => false,
        };
        let running = self.run.due().iter().filter(|effect| is_running(effect)).count();
        running >= *bound as usize
    }

    /// Dispatches a child. An only child is driven here; several children have an invocation each.
    fn start_child(&mut self, dispatch: ChildDispatch) {
        // A child starts after the alarm is set, so the run is found again after a crash.
        self.alarm.ensure_set(self.run, self.background);
        let is_alarm_awaited = self.alarm.is_awaited(self.run.now_ms());
        if is_alarm_awaited || self.background.dispatch_count() >= DISPATCHES_AT_ONCE {
            return;
        }
        let Some(spec) = self.run.state().child_spec(&dispatch.child) else { return };
        let agent = self.run.state().agent_of(&dispatch.child).map(NamedAgent::of);
        self.costs.settle_in_background(self.run, self.background);
        let may_exist = self.children.begin_dispatch(&dispatch.child);
        let id = EffectId::Child(dispatch.child.clone());
        let child = ChildExecution {
            ports: self.run.ports().clone(),
            key: self.run.key().with_child(dispatch.child),
            spec,
            agent,
            is_only_child: dispatch.alone,
            may_exist,
            trusts_recent_kick: !self.lease.has_lapsed(),
            deadline: self.hand_over.deadline(),
            caller: self.live_writer.link_for_child(),
        };
        self.background.spawn_effect(id, EffectClass::Idempotent, child.perform());
    }

    fn start_plan_write(&mut self, version: u32) {
        let write = PlanWrite::of(self.run.ports().clone(), self.run.state(), version);
        let id = EffectId::Plan(version);
        self.background.spawn_effect(id, EffectClass::Idempotent, write.perform());
    }

    fn start_answer_write(&mut self, answer: AnswerFile) {
        let write = AnswerWrite::of(self.run.ports(), self.run.key(), self.run.state(), answer);
        let ports = self.run.ports().clone();
        self.background.spawn_effect(EffectId::Answer, EffectClass::Idempotent, async move {
            let outcome = retry_store_call(&ports, || write.perform(&ports)).await;
            if let Err(error) = outcome {
                tracing::warn!(%error, "the answer could not be kept");
            }
            vec![Input::AnswerSaved { file: write.into_file() }]
        });
    }

    fn start_delivery(&mut self, delivery: Delivery) {
        // An alarm being set could appear after its removal. An inline caller's driver reads the child's end
        // directly.
        let waits_for_alarm = self.alarm.is_pending()
            && (delivery == Delivery::AlarmRemoval || self.alarm.is_awaited(self.run.now_ms()));
        if waits_for_alarm || (self.is_inline && delivery == Delivery::ChildResult) {
            return;
        }
        let ports = self.run.ports().clone();
        let key = self.run.key().clone();
        let journal = self.run.journal().clone();
        let id = EffectId::Deliver(delivery.clone());
        self.background.spawn_effect(id, EffectClass::Idempotent, async move {
            let outcome =
                retry_store_call(&ports, || make_delivery(&ports, &key, &journal, &delivery)).await;
            let is_delivered = ignore_too_large(outcome).is_ok();
            is_delivered.then_some(Input::Delivered { delivery }).into_iter().collect()
        });
    }

    fn effect_timeout(&self, timeout_ms: u64, class: EffectClass) -> Option<Duration> {
        let is_first = !self.background.has_started_effect();
        self.hand_over.effect_timeout(self.run, timeout_ms, class, is_first)
    }
}
