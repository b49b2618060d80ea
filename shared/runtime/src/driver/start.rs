//! Starting what is due.

use std::sync::Arc;
use std::time::Duration;

use djinn_core::effect::{ChildDispatch, Delivery, Effect, EffectId, ModelCall, ToolInvocation};
use djinn_core::input::Input;
use djinn_core::tool::EffectClass;

use super::child::ChildExecution;
use super::store_retry::retry_store_call;
use super::{DriveResult, Driver};
use crate::perform;
use crate::perform::deliver::{ignore_too_large, make_delivery};
use crate::port::Ports;
use crate::port::model::Model;

/// How many tasks are being dispatched at once: each holds the conversation that it starts from.
const DISPATCHES_AT_ONCE: usize = 32;

impl<P: Ports> Driver<P> {
    /// Starts every effect that is due, is not in flight and may start now.
    pub(super) async fn start_due_effects(&mut self) -> DriveResult {
        if self.hand_over.is_out_of_time(&self.run) {
            self.background.cancel_repeatable();
        }
        if self.hand_over.has_begun(&self.run) {
            return Ok(());
        }
        for effect in self.run.state().due() {
            let id = effect.id();
            let is_postponed = match &id {
                EffectId::Child(task) => self.children.is_remote(task),
                id => self.background.has_given_up(id),
            };
            if self.background.contains_effect(&id) || is_postponed || effect.is_waiting() {
                continue;
            }
            match effect {
                // Moments are watched by the loop itself.
                Effect::Wait { .. } | Effect::AwaitHuman(_) => {}
                Effect::CallModel(call) => self.start_model_call(call),
                Effect::RunTool(run) => self.start_tool_call(run).await?,
                Effect::RunChild(dispatch) => self.start_child(dispatch),
                Effect::SavePlan { version } => self.start_plan_write(version),
                Effect::Deliver(delivery) => self.start_delivery(delivery),
            }
        }
        Ok(())
    }

    /// Whether something is in flight that the loop has to wait for.
    pub(super) fn has_pending_work(&mut self) -> bool {
        let may_start = !self.hand_over.has_begun(&self.run);
        self.background.has_effects()
            || (self.alarm.is_pending() && may_start)
            || (may_start
                && self.children.is_only_waiting(&self.run)
                && self.idle.can_wait(&self.run, &self.viewers, &self.hand_over))
    }

    fn start_model_call(&mut self, call: ModelCall) {
        self.alarm.ensure_set(&self.run, &mut self.background);
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

    pub(super) fn model_execution(&self, call: ModelCall) -> perform::model::ModelExecution<P> {
        perform::model::ModelExecution {
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

    async fn start_tool_call(&mut self, run: ToolInvocation) -> DriveResult {
        let limit = self.run.state().spec().settings.max_parallel_tool_calls.max(1);
        let longest = self.run.settings().tool_timeout.as_millis();
        let timeout_ms = run.timeout_ms.min(u64::try_from(longest).unwrap_or(u64::MAX));
        let Some(timeout) = self.effect_timeout(timeout_ms, run.class) else {
            return Ok(());
        };
        if self.background.tool_count() >= limit as usize
            || self.is_at_parallel_limit(&run.call.tool)
        {
            return Ok(());
        }
        // One that was approved may be the first thing that this driver does.
        self.alarm.ensure_set(&self.run, &mut self.background);
        let (id, class) =
            (EffectId::Tool(run.call.id.clone()).after_interrupts(run.interrupts), run.class);
        if class == EffectClass::Once {
            if run.started {
                // Somebody else started it, and it must not be repeated.
                return Ok(());
            }
            // From here on the run must be found again, whatever happens to this process.
            if !self.alarm.is_set() {
                return Ok(());
            }
            self.record_inputs(vec![Input::ToolStarted { call: run.call.id.clone() }]).await?;
            if !self.run.state().due().iter().any(|effect| effect.id() == id) {
                return Ok(());
            }
        }
        let (ports, key, state) =
            (self.run.ports().clone(), self.run.key().clone(), self.run.state());
        let call = perform::tool::ToolExecution::of(
            ports,
            key,
            state,
            run,
            timeout,
            self.hand_over.deadline(),
        );
        self.background.spawn_effect(id, class, call.perform());
        Ok(())
    }

    /// Whether as many calls of a tool are running as may.
    fn is_at_parallel_limit(&self, tool: &str) -> bool {
        let bounds = &self.run.state().spec().settings.max_parallel_per_tool;
        let Some(bound) = bounds.get(tool) else { return false };
        let is_running = |effect: &Effect| match effect {
            Effect::RunTool(run) => {
                run.call.tool == tool && self.background.contains_effect(&effect.id())
            }
            Effect::CallModel(_)
            | Effect::Wait { .. }
            | Effect::RunChild(_)
            | Effect::AwaitHuman(_)
            | Effect::SavePlan { .. }
            | Effect::Deliver(_) => false,
        };
        let running = self.run.state().due().iter().filter(|effect| is_running(effect)).count();
        running >= *bound as usize
    }

    /// Has a task worked on: the only one here, several by invocations of their own.
    fn start_child(&mut self, dispatch: ChildDispatch) {
        // From here on the run must be found again, whatever happens to this process.
        self.alarm.ensure_set(&self.run, &mut self.background);
        if !self.alarm.is_set() || self.background.dispatch_count() >= DISPATCHES_AT_ONCE {
            return;
        }
        let Some(spec) = self.run.state().child_spec(&dispatch.task) else { return };
        self.costs.settle_in_background(&self.run, &mut self.background);
        let may_exist = self.children.begin_dispatch(&dispatch.task);
        let id = EffectId::Child(dispatch.task.clone());
        let task = ChildExecution {
            ports: self.run.ports().clone(),
            key: self.run.key().with_task(dispatch.task),
            spec,
            is_only_child: dispatch.alone,
            may_exist,
            trusts_recent_kick: !self.lease.has_lapsed(),
            deadline: self.hand_over.deadline(),
            live_sender: self.live_writer.sender().clone(),
        };
        self.background.spawn_effect(id, EffectClass::Idempotent, task.perform());
    }

    fn start_plan_write(&mut self, version: u32) {
        let (ports, run) = (self.run.ports().clone(), self.run.state());
        let keeping = perform::plan::PlanWrite::of(ports, run, version);
        self.background.spawn_effect(
            EffectId::Plan(version),
            EffectClass::Idempotent,
            keeping.perform(),
        );
    }

    fn effect_timeout(&self, timeout_ms: u64, class: EffectClass) -> Option<Duration> {
        let is_first = !self.background.has_started_effect();
        self.hand_over.effect_timeout(&self.run, timeout_ms, class, is_first)
    }

    fn start_delivery(&mut self, delivery: Delivery) {
        // An alarm that is still being made could come after its removal.
        if self.alarm.is_pending() {
            return;
        }
        let (ports, key) = (self.run.ports().clone(), self.run.key().clone());
        let run = self.run.journal().shared_run();
        let id = EffectId::Deliver(delivery.clone());
        self.background.spawn_effect(id, EffectClass::Idempotent, async move {
            let made =
                retry_store_call(&ports, || make_delivery(&ports, &key, &run, &delivery)).await;
            let delivered = ignore_too_large(made).is_ok();
            delivered.then_some(Input::Delivered { delivery }).into_iter().collect()
        });
    }
}
