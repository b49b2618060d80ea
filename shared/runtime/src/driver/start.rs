//! Starting what is due.

use std::sync::Arc;
use std::time::Duration;

use djinn_core::effect::{Delivery, Dispatch, Effect, EffectId, ModelCall, ToolRun};
use djinn_core::input::Input;
use djinn_core::tool::EffectClass;

use super::happening::Happening;
use super::{Alarm, Driver, Pass};
use crate::perform;
use crate::perform::deliver::{deliver, given_up_if_too_large};
use crate::port::alarm::Alarms;
use crate::port::clock::Clock;
use crate::port::model::Model;
use crate::port::{Ports, StoreError};
use crate::settings::RetryPolicy;

/// How many tasks are being dispatched at once: each holds the conversation that it starts from.
const DISPATCHES_AT_ONCE: usize = 32;

/// How often making or removing an alarm is tried in a row: for about half a minute.
const ALARM_RETRIES: RetryPolicy = RetryPolicy { attempts: 6, ..RetryPolicy::MODEL };

impl<P: Ports> Driver<P> {
    /// Starts every effect that is due, is not in flight and may start now.
    pub(super) async fn start_due(&mut self) -> Pass {
        if self.is_out_of_time() {
            // A task that is driven here hands over by itself, at the same moment.
            let stays = |id: &EffectId, class| {
                class == EffectClass::Once || matches!(id, EffectId::Task(_))
            };
            self.in_flight.cancel_all_but(stays);
        }
        if self.is_handing_over() {
            return Ok(());
        }
        for effect in self.writer.run().due() {
            let id = effect.id();
            if self.in_flight.contains(&id) || self.postponed.contains(&id) || effect.waits() {
                continue;
            }
            match effect {
                // Moments are watched by the loop itself.
                Effect::Wait { .. } | Effect::AskHuman(_) => {}
                Effect::CallModel(call) => self.start_model_call(call),
                Effect::RunTool(run) => self.start_tool(run).await?,
                Effect::Dispatch(dispatch) => self.start_task(dispatch),
                Effect::KeepPlan { version } => self.start_keeping(version),
                Effect::Deliver(delivery) => self.start_delivery(delivery),
            }
        }
        Ok(())
    }

    /// Whether something is in flight that the loop has to wait for.
    pub(super) fn has_something_to_wait_for(&mut self) -> bool {
        let alarm = self.alarm == Alarm::Setting && !self.is_handing_over();
        self.in_flight.is_performing() || alarm || self.idles()
    }

    /// Whether all that the run owes is to hear of moments and of tasks that others work on: it
    /// waits for a message.
    pub(super) fn only_waits(&self) -> bool {
        let waits = |effect: &Effect| match effect {
            Effect::Wait { .. } | Effect::AskHuman(_) => true,
            Effect::Dispatch(dispatch) => dispatch.waits || self.postponed.contains(&effect.id()),
            Effect::CallModel(_)
            | Effect::RunTool(_)
            | Effect::KeepPlan { .. }
            | Effect::Deliver(_) => false,
        };
        !self.has_ended() && self.writer.run().due().iter().all(waits)
    }

    /// Whether nothing may start here any more. One that leaves after a record has the time to wait
    /// for what it has started.
    pub(super) fn is_handing_over(&self) -> bool {
        self.is_out_of_time() || (self.leaves_after_record && !self.has_ended())
    }

    /// Whether its invocation is nearly over.
    pub(super) fn is_out_of_time(&self) -> bool {
        !self.has_ended() && self.deadline.hand_over_at_ms().is_some_and(|at| at <= self.now_ms())
    }

    fn start_model_call(&mut self, call: ModelCall) {
        self.set_alarm();
        let limits = self.ports.model().limits(call.role, call.choice());
        let timeout = limits.map_or(Duration::ZERO, |limits| limits.call_timeout);
        let timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        if self.time_for(timeout_ms, EffectClass::Read).is_none() {
            return;
        }
        let id = EffectId::Model(call.message.clone()).again(call.round);
        let call = self.model_call(call);
        self.perform(id, EffectClass::Read, call.perform());
    }

    pub(super) fn model_call(&self, call: ModelCall) -> perform::model::Call<P> {
        perform::model::Call {
            ports: self.ports.clone(),
            key: self.key.clone(),
            run: self.writer.journal().shared_run(),
            call,
            deadline: self.deadline,
            is_first: !self.performed_any,
            account: Arc::clone(&self.account),
            previews: self.live_sender.clone(),
        }
    }

    async fn start_tool(&mut self, run: ToolRun) -> Pass {
        let limit = self.writer.run().asked().settings.max_parallel_tool_calls.max(1);
        let longest = self.ports.settings().tool_timeout.as_millis();
        let timeout_ms = run.timeout_ms.min(u64::try_from(longest).unwrap_or(u64::MAX));
        let Some(timeout) = self.time_for(timeout_ms, run.class) else {
            return Ok(());
        };
        if self.in_flight.tools() >= limit as usize || self.is_at_its_bound(&run.call.tool) {
            return Ok(());
        }
        // One that was approved may be the first thing that this driver does.
        self.set_alarm();
        let (id, class) = (EffectId::Tool(run.call.id.clone()).again(run.round), run.class);
        if class == EffectClass::Once {
            if run.started {
                // Somebody else started it, and it must not be repeated.
                return Ok(());
            }
            // From here on the run must be found again, whatever happens to this process.
            if self.alarm != Alarm::Set {
                return Ok(());
            }
            self.record(vec![Input::ToolStarted { call: run.call.id.clone() }]).await?;
            if !self.writer.run().due().iter().any(|effect| effect.id() == id) {
                return Ok(());
            }
        }
        let (ports, key, state) = (self.ports.clone(), self.key.clone(), self.writer.run());
        let call = perform::tool::Call::of(ports, key, state, run, timeout, self.deadline);
        self.perform(id, class, call.perform());
        Ok(())
    }

    /// Whether as many calls of a tool are running as may.
    fn is_at_its_bound(&self, tool: &str) -> bool {
        let bounds = &self.writer.run().asked().settings.max_parallel_per_tool;
        let Some(bound) = bounds.get(tool) else { return false };
        let is_running = |effect: &Effect| match effect {
            Effect::RunTool(run) => run.call.tool == tool && self.in_flight.contains(&effect.id()),
            Effect::CallModel(_)
            | Effect::Wait { .. }
            | Effect::Dispatch(_)
            | Effect::AskHuman(_)
            | Effect::KeepPlan { .. }
            | Effect::Deliver(_) => false,
        };
        let running = self.writer.run().due().iter().filter(|effect| is_running(effect)).count();
        running >= *bound as usize
    }

    /// Has a task worked on: the only one here, several by invocations of their own.
    fn start_task(&mut self, dispatch: Dispatch) {
        // From here on the run must be found again, whatever happens to this process.
        self.set_alarm();
        if self.alarm != Alarm::Set || self.in_flight.dispatches() >= DISPATCHES_AT_ONCE {
            return;
        }
        let Some(asked) = self.writer.run().task(&dispatch.task) else { return };
        self.settle_beside();
        let known = !self.dispatched.insert(dispatch.task.clone());
        let id = EffectId::Task(dispatch.task.clone());
        let task = perform::task::Task {
            ports: self.ports.clone(),
            key: self.key.with_task(dispatch.task),
            asked,
            alone: dispatch.alone,
            known,
            waits: !self.lapsed,
            deadline: self.deadline,
            live: self.live_sender.clone(),
        };
        self.perform(id, EffectClass::Idempotent, task.perform());
    }

    /// The planner's next call may be far away, and its tasks may need what its last one did not.
    fn settle_beside(&mut self) {
        if self.account.may_be_left() {
            let (ports, account) = (self.ports.clone(), Arc::clone(&self.account));
            self.in_flight.beside(async move {
                account.leave(&ports).await;
                Happening::Nothing
            });
        }
    }

    fn start_keeping(&mut self, version: u32) {
        let (ports, run) = (self.ports.clone(), self.writer.run());
        let keeping = perform::plan::Keeping::of(ports, run, version);
        self.perform(EffectId::Plan(version), EffectClass::Idempotent, keeping.perform());
    }

    /// How long an effect may take if it starts now: its own time-out, or what is left of a fresh
    /// invocation, so that no time-out is too long to ever start. `None`: not in this one.
    fn time_for(&self, timeout_ms: u64, class: EffectClass) -> Option<Duration> {
        let now_ms = self.now_ms();
        if self.deadline.fits(timeout_ms, now_ms) {
            return Some(Duration::from_millis(timeout_ms));
        }
        let left_ms = self.deadline.left_ms(now_ms).filter(|left_ms| *left_ms > 0)?;
        // A hand-over waits for what must not be repeated, so that may use up half of its margin.
        let margin_ms = match class {
            EffectClass::Once => self.deadline.margin_ms() / 2,
            EffectClass::Read | EffectClass::Idempotent => 0,
        };
        (!self.performed_any).then(|| Duration::from_millis(left_ms + margin_ms))
    }

    fn perform(
        &mut self,
        id: EffectId,
        class: EffectClass,
        performance: impl Future<Output = Vec<Input>> + Send + 'static,
    ) {
        tracing::debug!(effect = %id, "effect started");
        self.performed_any = true;
        self.in_flight.perform(id, class, performance);
    }

    fn start_delivery(&mut self, delivery: Delivery) {
        // An alarm that is still being made could come after its removal.
        if self.alarm == Alarm::Setting {
            return;
        }
        let (ports, key) = (self.ports.clone(), self.key.clone());
        let run = self.writer.journal().shared_run();
        let id = EffectId::Deliver(delivery.clone());
        self.perform(id, EffectClass::Idempotent, async move {
            let made = retried(&ports, || deliver(&ports, &key, &run, &delivery)).await;
            let delivered = given_up_if_too_large(made).is_ok();
            delivered.then_some(Input::Delivered { delivery }).into_iter().collect()
        });
    }

    /// Has the run's alarm made, once in this invocation; again if that failed.
    fn set_alarm(&mut self) {
        if self.alarm == Alarm::Unset {
            self.alarm = Alarm::Setting;
            let (ports, key) = (self.ports.clone(), self.key.clone());
            self.in_flight.beside(async move {
                let set = retried(&ports, || ports.alarms().set_alarm(&key)).await;
                Happening::AlarmSet(set.is_ok())
            });
        }
    }
}

async fn retried<P, F, T>(ports: &P, attempt: F) -> Result<(), StoreError>
where
    P: Ports,
    F: Fn() -> T,
    T: Future<Output = Result<(), StoreError>>,
{
    let mut failed = 0;
    while let Err(error) = attempt().await {
        failed += 1;
        tracing::warn!(%error, failed, "alarm or mailbox not reached");
        let clock = ports.clock();
        let delay = ALARM_RETRIES.delay_after(failed, None, clock.jitter());
        let Some(delay) = delay.filter(|_| error.may_pass()) else {
            return Err(error);
        };
        clock.sleep(delay).await;
    }
    Ok(())
}
