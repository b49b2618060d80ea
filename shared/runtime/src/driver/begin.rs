//! Beginning to drive: what the driver before left behind.

use djinn_core::budget::Usage;
use djinn_core::effect::Effect;
use djinn_core::input::Input;
use djinn_core::tool::EffectClass;

use super::{Driver, Pass};
use crate::port::Ports;

impl<P: Ports> Driver<P> {
    /// A run that was not created here may have mail, and a dead driver to be reported.
    pub(super) async fn begin(&mut self) -> Pass {
        let mut nth = 0;
        for record in std::mem::take(&mut self.before) {
            self.show_record(&record, nth).await;
            nth += record.entries.len() as u64;
        }
        self.resume().await?;
        if !self.fresh && !self.has_ended() {
            self.hear().await?;
        }
        Ok(())
    }

    /// Reads the mailbox before anything else is done.
    pub(super) async fn hear(&mut self) -> Pass {
        let read_at_ms = self.now_ms();
        let mail = self.mailbox().await;
        let inputs = self.read_mail(read_at_ms, mail).await;
        self.record(inputs).await
    }

    /// Reports a driver that died, if the last one did.
    pub(super) async fn resume(&mut self) -> Pass {
        if self.lapsed || self.finds_started_once_calls() {
            let (epoch, lost) = (self.lease.epoch, self.lost_usage());
            self.record(vec![Input::Resumed { epoch, lost, apart: true }]).await?;
        }
        Ok(())
    }

    /// Whether a call that must not be repeated was started by a driver that is gone. A hand-over
    /// waits for such calls, so this one was none.
    fn finds_started_once_calls(&self) -> bool {
        self.writer.run().due().iter().any(|effect| {
            matches!(effect, Effect::RunTool(run) if run.class == EffectClass::Once && run.started)
        })
    }

    /// What the model calls that are owed are taken to have cost a driver that died over them.
    fn lost_usage(&self) -> Option<Usage> {
        let lost = self.writer.run().due().into_iter().filter_map(|effect| match effect {
            Effect::CallModel(call) if !call.waits => self.model_call(call).estimate(),
            Effect::CallModel(_)
            | Effect::RunTool(_)
            | Effect::AskHuman(_)
            | Effect::Wait { .. }
            | Effect::Dispatch(_)
            | Effect::KeepPlan { .. }
            | Effect::Deliver(_) => None,
        });
        lost.reduce(Usage::plus)
    }
}
