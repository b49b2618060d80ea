//! Beginning to drive: what the driver before left behind.

use djinn_core::budget::Usage;
use djinn_core::effect::Effect;
use djinn_core::input::Input;
use djinn_core::tool::EffectClass;

use super::{DriveResult, Driver, MailRead};
use crate::port::Ports;

impl<P: Ports> Driver<P> {
    /// A run that was not created here may have mail, and a dead driver to be reported.
    pub(super) async fn start_driving(&mut self) -> DriveResult {
        let earlier = std::mem::take(&mut self.earlier_records);
        self.viewers.show_records(&self.run, &mut self.live_writer, &earlier, 0).await;
        self.record_resumption().await?;
        if !self.is_new && !self.run.has_ended() {
            let read = self.mail.read_now(&self.run).await;
            self.record_mail(read).await?;
        }
        Ok(())
    }

    pub(super) async fn record_mail(&mut self, read: MailRead) -> DriveResult {
        let Self { run, children, live_writer, background, .. } = self;
        let inputs = self.mail.mail_to_inputs(read, run, children, live_writer, background).await;
        self.record_inputs(inputs).await
    }

    /// Reports a driver that died, if the last one did.
    pub(super) async fn record_resumption(&mut self) -> DriveResult {
        if self.lease.has_lapsed() || self.has_orphaned_once_calls() {
            let (epoch, lost) = (self.lease.lease().epoch, self.estimate_lost_usage());
            self.record_inputs(vec![Input::Resumed { epoch, lost_usage: lost, isolated: true }])
                .await?;
        }
        Ok(())
    }

    /// Whether a call that must not be repeated was started by a driver that is gone. A hand-over
    /// waits for such calls, so this one was none.
    fn has_orphaned_once_calls(&self) -> bool {
        self.run.state().due().iter().any(|effect| {
            matches!(effect, Effect::RunTool(run) if run.class == EffectClass::Once && run.started)
        })
    }

    /// What the model calls that are owed are taken to have cost a driver that died over them.
    fn estimate_lost_usage(&self) -> Option<Usage> {
        let lost = self.run.state().due().into_iter().filter_map(|effect| match effect {
            Effect::CallModel(call) if !call.waits => self.model_execution(call).estimate_usage(),
            Effect::CallModel(_)
            | Effect::RunTool(_)
            | Effect::AwaitHuman(_)
            | Effect::Wait { .. }
            | Effect::RunChild(_)
            | Effect::SavePlan { .. }
            | Effect::Deliver(_) => None,
        });
        lost.reduce(Usage::plus)
    }
}
