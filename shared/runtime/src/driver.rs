//! The driver: performs a run's due effects and records their results.
//!
//! Each iteration starts due effects, waits for the next event and records the result. Slow work runs beside
//! the loop. Only journal appends are awaited: nothing may be shown or done before.
//! Each unit reports its next wake time (`next_wake_ms`), acts when due (`on_timer`), and takes the results.

mod alarm;
mod append;
mod background;
mod caller;
mod child;
mod children;
mod closing;
mod continuation;
mod costs;
mod drive;
mod driven_run;
mod hand_over;
mod idle;
mod lease;
mod live_poll;
mod live_writer;
mod mail;
mod poll_schedule;
mod resumption;
mod start;
mod store_retry;
mod timeouts;
mod viewers;
mod writer;

use djinn_core::effect::{Delivery, EffectId, Limit};
use djinn_core::input::Input;
use djinn_core::journal::Record;
use djinn_protocol::preview::Live;

use crate::port::clock::Clock;
use crate::sleep::SleepResult;
use crate::world::Ports;
use alarm::RunAlarm;
use append::append_inputs;
use background::{BackgroundWork, DriverEvent, MailRead};
use children::Children;
use closing::{leave_deliveries, limit_closing};
pub use continuation::continue_run;
use costs::RunCosts;
use drive::DriveResult;
pub(crate) use drive::{DriveEnd, DriveParams, drive_run};
use driven_run::DrivenRun;
use hand_over::HandOver;
use idle::IdleTime;
use lease::{HeldLease, RenewalResult};
use live_poll::LivePoll;
use live_writer::LiveWriter;
use mail::MailIntake;
use resumption::resumption_input;
use start::EffectStarter;
use timeouts::{next_timeout_ms, timeout_inputs};
use viewers::Viewers;
use writer::WriteReport;

struct Driver<P: Ports> {
    run: DrivenRun<P>,
    lease: HeldLease,
    mail: MailIntake,
    children: Children,
    alarm: RunAlarm,
    costs: RunCosts,
    viewers: Viewers,
    live_writer: LiveWriter,
    live_poll: LivePoll,
    idle: IdleTime,
    hand_over: HandOver,
    background: BackgroundWork,
}

impl<P: Ports> Driver<P> {
    fn new(ports: &P, drive: DriveParams) -> Self {
        let run = DrivenRun::new(ports, drive.key, drive.journal);
        Self {
            mail: MailIntake::new(&run),
            children: Children::new(&run),
            alarm: RunAlarm::new(&run),
            costs: RunCosts::new(&run, drive.lease.epoch),
            lease: HeldLease::new(drive.lease, drive.lapsed, &run),
            live_writer: LiveWriter::new(&run, drive.caller.as_ref()),
            viewers: Viewers::new(drive.client, drive.caller),
            live_poll: LivePoll::new(&run),
            idle: IdleTime::default(),
            hand_over: HandOver::new(drive.deadline, drive.hops),
            background: BackgroundWork::default(),
            run,
        }
    }

    async fn run_to_end(mut self, earlier_records: Vec<Record>, is_new: bool) -> DriveEnd {
        // Boxed here and below, because a driver needs no space for its beginning and its end while it waits.
        let end = match Box::pin(self.start_driving(earlier_records, is_new)).await {
            Err(end) => end,
            Ok(()) => loop {
                if self.run.has_ended() && self.viewers.client().is_some() {
                    return Box::pin(self.close_in_time()).await;
                }
                if let Err(end) = self.run_iteration().await {
                    break end;
                }
            },
        };
        self.costs.close(&self.run).await;
        end
    }

    /// Does what an ended run owes while its client's response may stay open, and leaves the rest to others.
    async fn close_in_time(mut self) -> DriveEnd {
        let ports = self.run.ports().clone();
        let closing = async {
            while self.run_iteration().await.is_ok() {}
            self.costs.close(&self.run).await;
        };
        limit_closing(&ports, closing).await;
        leave_deliveries(&self.run).await;
        DriveEnd::Ended
    }

    /// An existing run may have mail, and a dead driver to report.
    async fn start_driving(&mut self, earlier_records: Vec<Record>, is_new: bool) -> DriveResult {
        self.viewers.show_earlier(&self.run, &mut self.live_writer, &earlier_records).await;
        self.record_resumption().await?;
        if is_new || self.run.has_ended() {
            return Ok(());
        }
        let mail = self.mail.read_now(&self.run).await;
        self.record_mail(mail).await
    }

    /// Records `Resumed` if the last driver died.
    async fn record_resumption(&mut self) -> DriveResult {
        let resumption = resumption_input(&self.effect_starter()).await;
        self.record_inputs(resumption.into_iter().collect()).await
    }

    async fn record_mail(&mut self, mail: MailRead) -> DriveResult {
        let Self { run, children, live_writer, background, .. } = self;
        let inputs = self.mail.mail_to_inputs(mail, run, children, live_writer, background).await;
        self.record_inputs(inputs).await
    }

    async fn run_iteration(&mut self) -> DriveResult {
        self.start_due_effects().await?;
        if self.has_pending_work() {
            let inputs = self.wait_for_inputs().await?;
            self.record_inputs(inputs).await
        } else {
            Box::pin(self.wind_down()).await
        }
    }

    async fn start_due_effects(&mut self) -> DriveResult {
        if self.hand_over.is_out_of_time(&self.run) {
            self.background.cancel_repeatable();
        }
        if self.hand_over.has_begun(&self.run) {
            return Ok(());
        }
        for effect in self.effect_starter().startable_effects() {
            let Some(call) = self.effect_starter().start_effect(effect) else { continue };
            // The start of a `once` call is recorded first, so no other driver repeats the call.
            self.record_inputs(vec![call.start_input()]).await?;
            if self.run.is_owed(&call.effect_id()) {
                self.effect_starter().start_tool_call(call);
            }
        }
        Ok(())
    }

    fn effect_starter(&mut self) -> EffectStarter<'_, P> {
        EffectStarter {
            run: &self.run,
            lease: &self.lease,
            costs: &self.costs,
            hand_over: &self.hand_over,
            live_writer: &self.live_writer,
            is_inline: self.viewers.has_caller(),
            alarm: &mut self.alarm,
            children: &mut self.children,
            background: &mut self.background,
        }
    }

    fn has_pending_work(&mut self) -> bool {
        let may_start = !self.hand_over.has_begun(&self.run);
        self.background.has_effects()
            || (may_start && self.alarm.holds_driver(&self.run, self.viewers.client().is_some()))
            || (may_start
                && self.children.is_only_waiting(&self.run)
                && self.idle.can_wait(&self.run, &self.viewers, &self.hand_over))
    }

    async fn wait_for_inputs(&mut self) -> DriveResult<Vec<Input>> {
        loop {
            let wake_at_ms = self.next_wake_ms();
            let shutdown = self.run.ports().shutdown();
            let room = self.viewers.wait_for_preview_room();
            let mut news = Vec::new();
            // The order is fixed for tests. The timer comes last: under load a wake time is always due.
            tokio::select! {
                biased;
                Some(event) = self.background.next_event() => return self.on_ready_events(event).await,
                1.. = self.live_writer.receive_news(&mut news) => self.show_local_live(&news),
                () = shutdown.wait_requested(), if !shutdown.is_requested() => {}
                () = room => self.viewers.send_waiting_previews(self.run.now_ms()),
                () = self.run.ports().clock().sleep_until(wake_at_ms) => return Ok(self.on_timer()),
            }
            if self.hand_over.is_out_of_time(&self.run) {
                return Ok(Vec::new());
            }
        }
    }

    fn next_wake_ms(&self) -> i64 {
        let Self { run, viewers, children, hand_over, .. } = self;
        let now_ms = run.now_ms();
        let wakes_ms = [
            viewers.next_wake_ms(run),
            hand_over.next_wake_ms(now_ms),
            self.alarm.next_wake_ms(now_ms),
            self.live_writer.next_wake_ms(),
            self.mail.next_wake_ms(run),
            self.lease.next_wake_ms(run),
            children.next_wake_ms(run),
            self.live_poll.next_wake_ms(run, viewers, children),
            self.idle.next_wake_ms(run, viewers, hand_over),
            next_timeout_ms(run, self.mail.read_at_ms(), now_ms),
        ];
        wakes_ms.into_iter().flatten().min().unwrap_or(i64::MAX)
    }

    /// Lets each unit do due work, beside the loop. Returns the inputs of reached limits and expiries.
    fn on_timer(&mut self) -> Vec<Input> {
        let Self { run, viewers, children, background, .. } = self;
        let now_ms = run.now_ms();
        viewers.on_timer(now_ms, run);
        self.live_writer.on_timer(now_ms, run, &self.lease, background);
        self.mail.on_timer(now_ms, run, background);
        self.lease.on_timer(now_ms, run, background);
        children.on_timer(now_ms, run);
        self.live_poll.on_timer(now_ms, run, viewers, children, background);
        timeout_inputs(run, self.mail.read_at_ms(), now_ms)
    }

    /// Collects the inputs of simultaneous events for one record.
    async fn on_ready_events(&mut self, event: DriverEvent) -> DriveResult<Vec<Input>> {
        let mut inputs = Vec::new();
        let mut next = Some(event);
        while let Some(event) = next {
            match self.on_event(event).await {
                Ok(more) => inputs.extend(more),
                // Keep completed work: the journal decides who may write, not the lease.
                Err(end) => return self.record_inputs(inputs).await.and(Err(end)),
            }
            next = self.background.try_next_event();
        }
        Ok(inputs)
    }

    async fn on_event(&mut self, event: DriverEvent) -> DriveResult<Vec<Input>> {
        let now_ms = self.run.now_ms();
        match event {
            DriverEvent::EffectPerformed { id, inputs } => {
                return Ok(self.on_effect_performed(id, inputs));
            }
            DriverEvent::MailRead(mail) => {
                let Self { run, children, live_writer, background, .. } = self;
                return Ok(self.mail.on_read(mail, run, children, live_writer, background).await);
            }
            DriverEvent::LeaseRenewed { epoch, renewed: renewal } => {
                if let RenewalResult::Lost = self.lease.on_renewed(&self.run, epoch, renewal) {
                    return Err(DriveEnd::Superseded(self.viewers.take_client()));
                }
            }
            DriverEvent::AlarmSet(outcome) => self.alarm.on_set(outcome),
            DriverEvent::MailDeleted(ids) => self.mail.on_deleted(&ids),
            DriverEvent::LiveWritten => self.live_writer.on_batch_written(now_ms),
            DriverEvent::LiveRead(reader, news) => {
                self.live_poll.finish_poll(*reader, now_ms);
                self.viewers.show_remote_live(&news, now_ms);
            }
            DriverEvent::BackgroundDone => {}
        }
        Ok(Vec::new())
    }

    fn on_effect_performed(&mut self, id: EffectId, inputs: Vec<Input>) -> Vec<Input> {
        // All pieces of a reply were sent before the call ended; show the pieces first.
        let news = self.live_writer.take_received();
        self.show_local_live(&news);
        if let EffectId::Deliver(Delivery::HumanResponse(_)) = &id {
            // Dispatch a child at once after a response for it.
            self.children.redispatch_all();
        }
        self.costs.add_samples(&self.run, &inputs);
        match (inputs.is_empty(), id) {
            (false, _) => self.idle.reset(),
            (true, EffectId::Child(child)) => {
                if self.children.leave_to_others(child, &self.run) {
                    let now_ms = self.run.now_ms();
                    self.mail.expect_news(now_ms);
                    self.live_poll.expect_news(now_ms);
                }
            }
            (true, id) => self.background.give_up_effect(id),
        }
        inputs
    }

    /// Records inputs, shows the new records, and cancels effects no longer owed.
    async fn record_inputs(&mut self, inputs: Vec<Input>) -> DriveResult {
        if inputs.is_empty() {
            return Ok(());
        }
        let Self { run, lease, costs, viewers, background, .. } = self;
        let outcome = append_inputs(run, inputs, lease, costs, viewers, background).await;
        self.finish_write(outcome).await?;
        self.mail.delete_recorded(&self.run, &mut self.background);
        Ok(())
    }

    /// Shows the records added to the journal, and cancels effects no longer owed.
    async fn finish_write(&mut self, WriteReport { records, outcome }: WriteReport) -> DriveResult {
        let Self { run, viewers, live_writer, .. } = self;
        viewers.show_records(run, live_writer, &records, run.first_entry_of(&records)).await;
        if let Err(error) = outcome {
            let client = self.viewers.take_client();
            return Err(self.run.end_after(error, client).await);
        }
        self.hand_over.on_records(&self.run, &records);
        self.background.cancel_unowed(self.run.due());
        Ok(())
    }

    fn show_local_live(&mut self, news: &[Live]) {
        let now_ms = self.run.now_ms();
        let early = self.live_writer.add_news(news);
        if self.run.key().is_root() && !news.is_empty() && !self.live_writer.is_watched(now_ms) {
            self.mail.expect_viewer();
        }
        self.viewers.show_local_live(news, early, now_ms);
    }

    /// Stops an idle driver: the run has ended, waits, or continues elsewhere.
    async fn wind_down(&mut self) -> DriveResult {
        self.costs.settle_all(&self.run).await;
        if self.run.has_ended() {
            // The alarm brings the run back for deliveries that failed now.
            return Err(DriveEnd::Ended);
        }
        // A run woken by an expiry records the expiry before it sleeps again.
        if self.mail.needs_reading(&self.run) && !self.hand_over.has_begun(&self.run) {
            let mail = self.mail.read_now(&self.run).await;
            self.record_mail(mail).await?;
            if !self.mail.needs_reading(&self.run) {
                return Ok(());
            }
        }
        let timeouts = timeout_inputs(&self.run, self.mail.read_at_ms(), self.run.now_ms());
        if !timeouts.is_empty() && !self.hand_over.has_begun(&self.run) {
            return self.record_inputs(timeouts).await;
        }
        let Self { run, lease, viewers, hand_over, .. } = self;
        if self.children.is_only_waiting(run) {
            self.go_to_sleep().await
        } else if hand_over.hand_over_run(run, lease, viewers).await {
            Err(DriveEnd::HandedOver)
        } else {
            self.record_inputs(vec![Input::LimitReached { limit: Limit::Hops }]).await
        }
    }

    async fn go_to_sleep(&mut self) -> DriveResult {
        let has_client = self.viewers.client().is_some();
        match self.lease.fall_asleep(&self.run, self.mail.recorded_ids(), has_client).await {
            Ok((_, SleepResult::Asleep)) => {
                self.viewers.hand_over_client(&self.run);
                Err(DriveEnd::Asleep)
            }
            Ok((read_at_ms, SleepResult::Woken { lease, lapsed, mailbox })) => {
                if self.lease.retake(&self.run, lease, lapsed) {
                    let outcome = self.run.catch_up(self.lease.lease(), self.costs.account()).await;
                    self.finish_write(outcome).await?;
                    self.record_resumption().await?;
                }
                self.record_mail(MailRead { at_ms: read_at_ms, mailbox: Ok(mailbox) }).await
            }
            Ok((_, SleepResult::Superseded)) => {
                Err(DriveEnd::Superseded(self.viewers.take_client()))
            }
            Err(_) => Err(DriveEnd::StoreUnavailable(self.viewers.take_client())),
        }
    }
}
