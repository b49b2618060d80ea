//! The driver: performs what a run owes and records what came of it.
//!
//! One loop, one decision a pass: start what is due, wait for the next thing that happens, record
//! it. Everything slow runs beside the loop, in tasks that die with it; only journal appends are
//! waited for, because nothing may be shown or done before they are in.

mod alarm;
mod background;
mod begin;
mod child;
mod children;
mod continuation;
mod costs;
mod driven_run;
mod hand_over;
mod idle;
mod lease;
mod live_poll;
mod live_writer;
mod mail;
mod poll_schedule;
mod record;
mod start;
mod store_retry;
mod timeouts;
mod viewers;
mod wind_down;
mod writer;

use djinn_core::effect::{Delivery, EffectId};
use djinn_core::input::Input;
use djinn_core::journal::{Journal, Record};
use djinn_core::preview::Live;
use tokio::sync::mpsc;
use tracing::Instrument as _;

use crate::client::ClientStream;
use crate::deadline::Deadline;
use crate::port::clock::Clock;
use crate::port::journal::Lease;
use crate::port::{Ports, RunKey};
use alarm::RunAlarm;
use background::{BackgroundWork, DriverEvent};
use children::Children;
pub use continuation::continue_run;
use costs::RunCosts;
use driven_run::DrivenRun;
use hand_over::HandOver;
use idle::IdleTime;
use lease::{HeldLease, RenewalResult};
use live_poll::LivePoll;
use live_writer::LiveWriter;
use mail::{MailIntake, MailRead};
use timeouts::{next_timeout_ms, timeout_inputs};
use viewers::Viewers;

/// A run to be driven: its journal as it was read under the lease.
pub struct DriveParams {
    /// The run or the task that is driven.
    pub key: RunKey,
    /// The journal up to its newest record.
    pub journal: Journal,
    /// The lease it is driven under.
    pub lease: Lease,
    /// Whether the earlier driver died: `Resumed` is recorded first then.
    pub lapsed: bool,
    /// Whether this invocation has just created it: nobody can have written to it yet.
    pub is_new: bool,
    /// Of a task what was recorded before: viewers may not have been shown all of it, since who drove it
    /// last took with them what they had not written to the live log.
    pub earlier_records: Vec<Record>,
    /// The client that the response streams to, if there is one.
    pub client: Option<ClientStream>,
    /// Where entries and pieces of text go besides: to the driver of the run that this is a task of, if
    /// both are in one invocation.
    pub parent: Option<mpsc::UnboundedSender<Live>>,
    /// The end of the invocation, before which the driver hands over.
    pub deadline: Deadline,
    /// How often the run was handed over so far.
    pub hops: u32,
}

/// Why a driver stopped.
pub enum DriveEnd {
    /// The run has ended, and what it owed is delivered.
    Ended,
    /// There was no time left: a fresh invocation was asked to go on.
    HandedOver,
    /// The run waits for a message; whoever puts it wakes the run.
    Asleep,
    /// Somebody else drives now; the client may follow.
    Superseded(Option<ClientStream>),
    /// The store cannot be reached or read: whoever comes next goes on.
    StoreUnavailable(Option<ClientStream>),
}

impl DriveEnd {
    fn as_str(&self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::HandedOver => "handed_over",
            Self::Asleep => "asleep",
            Self::Superseded(_) => "superseded",
            Self::StoreUnavailable(_) => "store_unavailable",
        }
    }
}

/// Drives a run until it has ended, is handed over, or is somebody else's.
pub async fn drive_run<P: Ports>(ports: &P, drive: DriveParams) -> DriveEnd {
    let span = tracing::info_span!(
        "run.drive",
        run_id = %drive.key.run,
        task_id = drive.key.task.as_ref().map(tracing::field::display),
        epoch = drive.lease.epoch,
        hops = drive.hops,
    );
    async {
        // In a box, since every future around it would hold room for it, and one that moves it twice.
        let end = Box::pin(Driver::new(ports, drive).run_to_end()).await;
        tracing::info!(outcome = end.as_str(), "driver stopped");
        end
    }
    .instrument(span)
    .await
}

/// What a pass of the loop gives, or why there is no further one.
type DriveResult<T = ()> = Result<T, DriveEnd>;

struct Driver<P: Ports> {
    run: DrivenRun<P>,
    lease: HeldLease,
    costs: RunCosts,
    alarm: RunAlarm,
    is_new: bool,
    earlier_records: Vec<Record>,
    viewers: Viewers,
    hand_over: HandOver,
    idle: IdleTime,
    background: BackgroundWork,
    mail: MailIntake,
    children: Children,
    live_writer: LiveWriter,
    live_poll: LivePoll,
}

impl<P: Ports> Driver<P> {
    fn new(ports: &P, drive: DriveParams) -> Self {
        let DriveParams {
            key,
            journal,
            lease,
            lapsed,
            is_new,
            earlier_records,
            client,
            parent,
            deadline,
            hops,
        } = drive;
        let run = DrivenRun::new(ports, key, journal);
        Self {
            mail: MailIntake::new(&run),
            children: Children::new(&run),
            live_writer: LiveWriter::new(&run),
            live_poll: LivePoll::new(&run),
            alarm: RunAlarm::new(&run),
            costs: RunCosts::new(&run, lease.epoch),
            lease: HeldLease::new(lease, lapsed, &run),
            run,
            is_new,
            earlier_records,
            viewers: Viewers::new(client, parent),
            hand_over: HandOver::new(deadline, hops),
            idle: IdleTime::default(),
            background: BackgroundWork::default(),
        }
    }

    async fn run_to_end(mut self) -> DriveEnd {
        let end = match self.start_driving().await {
            Err(end) => end,
            Ok(()) => loop {
                if let Err(end) = self.run_iteration().await {
                    break end;
                }
            },
        };
        self.costs.close(&self.run).await;
        end
    }

    async fn run_iteration(&mut self) -> DriveResult {
        self.start_due_effects().await?;
        if self.has_pending_work() {
            let inputs = self.wait_for_inputs().await?;
            self.record_inputs(inputs).await
        } else {
            self.wind_down().await
        }
    }

    /// Waits for the next thing that happens and says what the run is to be told of it. What is only
    /// shown changes nothing of what is due.
    async fn wait_for_inputs(&mut self) -> DriveResult<Vec<Input>> {
        loop {
            let wake_at_ms = self.next_wake_ms();
            let clock = self.run.ports().clock();
            let room = self.viewers.wait_for_preview_room();
            let mut news = Vec::new();
            // In a fixed order, so that a test can repeat what happened. Moments last: under load there
            // always is one.
            tokio::select! {
                biased;
                Some(happening) = self.background.next_event() => return self.on_ready_events(happening).await,
                1.. = self.live_writer.receive_news(&mut news) => self.show_local_live(&news),
                () = room => self.viewers.send_waiting_previews(self.run.now_ms()),
                () = clock.sleep_until(wake_at_ms) => return Ok(self.on_timer()),
            }
            if self.hand_over.is_out_of_time(&self.run) {
                return Ok(Vec::new());
            }
        }
    }

    /// What happened at the same moment goes into the same record.
    async fn on_ready_events(&mut self, event: DriverEvent) -> DriveResult<Vec<Input>> {
        let mut inputs = Vec::new();
        let mut happening = Some(event);
        while let Some(happened) = happening {
            match self.on_event(happened).await {
                Ok(more) => inputs.extend(more),
                // What was done is kept: the journal decides who may write, not the lease.
                Err(end) => return self.record_inputs(inputs).await.and(Err(end)),
            }
            happening = self.background.try_next_event();
        }
        Ok(inputs)
    }
    async fn on_event(&mut self, event: DriverEvent) -> DriveResult<Vec<Input>> {
        let now_ms = self.run.now_ms();
        match event {
            DriverEvent::EffectPerformed { id, inputs } => {
                return Ok(self.on_effect_performed(id, inputs));
            }
            DriverEvent::MailRead(read) => {
                let Self { run, children, live_writer, background, .. } = self;
                return Ok(self.mail.on_read(read, run, children, live_writer, background).await);
            }
            DriverEvent::LeaseRenewed { epoch, renewed } => {
                match self.lease.on_renewed(&self.run, epoch, renewed) {
                    RenewalResult::WatchedUntil(at_ms) => self.live_writer.set_watched_until(at_ms),
                    RenewalResult::Lost => {
                        return Err(DriveEnd::Superseded(self.viewers.take_client()));
                    }
                    RenewalResult::Ignored => {}
                }
            }
            DriverEvent::AlarmSet(is_set) => self.alarm.on_set(is_set),
            DriverEvent::MailDeleted(ids) => self.mail.on_deleted(&ids),
            DriverEvent::LiveWritten => self.live_writer.on_batch_written(now_ms),
            DriverEvent::LiveRead(reader, read) => {
                self.live_poll.finish_poll(*reader, now_ms);
                self.viewers.show_remote_live(&read, now_ms);
            }
            DriverEvent::BackgroundDone => {}
        }
        Ok(Vec::new())
    }

    fn on_effect_performed(&mut self, id: EffectId, inputs: Vec<Input>) -> Vec<Input> {
        // All pieces of a reply were sent before its task ended; they go first.
        let news = self.live_writer.take_received();
        self.show_local_live(&news);
        if let EffectId::Deliver(Delivery::HumanResponse(_)) = &id {
            // A task that was answered is to be worked on at once.
            self.children.redispatch_all();
        }
        self.costs.add_samples(&self.run, &inputs);
        match (inputs.is_empty(), id) {
            (false, _) => self.idle.reset(),
            (true, EffectId::Child(task)) => {
                if self.children.leave_to_others(task, &self.run) {
                    let now_ms = self.run.now_ms();
                    self.mail.expect_news(now_ms);
                    self.live_poll.expect_news(now_ms);
                }
            }
            (true, id) => self.background.give_up_effect(id),
        }
        inputs
    }

    fn show_local_live(&mut self, news: &[Live]) {
        let early = self.live_writer.add_news(news);
        self.viewers.show_local_live(news, early, self.run.now_ms());
    }

    /// When the loop has to look around even if nothing happens.
    fn next_wake_ms(&self) -> i64 {
        let Self { run, viewers, children, hand_over, .. } = self;
        let now_ms = run.now_ms();
        let wakes_ms = [
            viewers.next_wake_ms(run),
            hand_over.next_wake_ms(now_ms),
            self.live_writer.next_wake_ms(),
            self.mail.next_wake_ms(run),
            self.lease.next_wake_ms(run),
            children.next_wake_ms(run),
            self.live_poll.next_wake_ms(run, viewers, children),
            self.idle.next_wake_ms(run, viewers, hand_over),
            next_timeout_ms(run, &self.mail, now_ms),
        ];
        wakes_ms.into_iter().flatten().min().unwrap_or(i64::MAX)
    }

    /// Has each unit do what is to be done at this moment, beside the loop.
    fn on_timer(&mut self) -> Vec<Input> {
        let Self { run, viewers, children, background, .. } = self;
        let now_ms = run.now_ms();
        viewers.on_timer(now_ms, run);
        self.live_writer.on_timer(now_ms, run, &self.lease, background);
        self.mail.on_timer(now_ms, run, background);
        self.lease.on_timer(now_ms, run, background);
        children.on_timer(now_ms, run);
        self.live_poll.on_timer(now_ms, run, viewers, children, background);
        timeout_inputs(run, &self.mail, now_ms)
    }
}
