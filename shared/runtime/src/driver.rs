//! The driver: performs what a run owes and records what came of it.
//!
//! One loop, one decision a pass: start what is due, wait for the next thing that happens, record
//! it. Everything slow runs beside the loop, in tasks that die with it; only journal appends are
//! waited for, because nothing may be shown or done before they are in.

mod alarm;
mod background;
mod begin;
mod child;
mod continuation;
mod costs;
mod driven_run;
mod hand_over;
mod idle;
mod lease;
mod live_writer;
mod mail;
mod poll_schedule;
mod record;
mod show;
mod start;
mod store_retry;
mod timers;
mod viewers;
mod wind_down;
mod writer;

use std::collections::BTreeSet;

use djinn_core::effect::{Delivery, EffectId};
use djinn_core::id::TaskId;
use djinn_core::input::Input;
use djinn_core::journal::{Journal, Record};
use djinn_core::preview::Live;
use tokio::sync::mpsc;
use tracing::Instrument as _;

use crate::client::ClientStream;
use crate::deadline::Deadline;
use crate::live_reader::LiveReader;
use crate::port::clock::Clock;
use crate::port::journal::Lease;
use crate::port::{Ports, RunKey};
use crate::settings::to_millis;
use alarm::RunAlarm;
use background::{BackgroundWork, DriverEvent};
pub use continuation::continue_run;
use costs::RunCosts;
use driven_run::DrivenRun;
use hand_over::HandOver;
use idle::IdleTime;
use lease::{HeldLease, RenewalResult};
use live_writer::LiveWriter;
use poll_schedule::PollSchedule;
use viewers::Viewers;

/// Pieces and entries that are shown together, if so many have come.
const MAX_LIVE_BATCH: usize = 256;

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
    /// Effects whose performance gave up in this invocation.
    postponed: BTreeSet<EffectId>,
    has_performed_effect: bool,
    /// What is written here, by this driver's model calls and by a task that is driven here.
    live_receiver: mpsc::UnboundedReceiver<Live>,
    live_sender: mpsc::UnboundedSender<Live>,
    live_writer: LiveWriter,
    /// What tasks in other invocations write: when to look, and how.
    live_poll: PollSchedule,
    live_reader: LiveReader,
    /// Tasks that somebody has dispatched before, as far as is known here.
    dispatched_children: BTreeSet<TaskId>,
    /// When tasks that others work on are looked after.
    redispatch_at_ms: i64,
    mail_poll: PollSchedule,
    /// What was put into the mailbox before this moment was read, Unix milliseconds.
    mail_read_at_ms: i64,
    mail_to_delete: Vec<String>,
    /// Mail that was recorded here, by its ids; its deletion may have failed.
    recorded_mail: BTreeSet<String>,
    /// What is being deleted of it.
    mail_being_deleted: BTreeSet<String>,
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
        let settings = run.settings();
        let now_ms = run.now_ms();
        let (live_sender, live_receiver) = mpsc::unbounded_channel();
        Self {
            mail_poll: PollSchedule::for_mail(settings.mailbox_every, now_ms),
            mail_read_at_ms: i64::MIN,
            live_writer: LiveWriter::new(to_millis(settings.live_every), run.state().spec()),
            dispatched_children: run.state().running_tasks().into_iter().collect(),
            live_poll: PollSchedule::for_live_log(settings.follow_every, now_ms),
            live_reader: LiveReader::default(),
            redispatch_at_ms: run.after_ms(settings.dispatch_every),
            alarm: RunAlarm::new(&run),
            costs: RunCosts::new(&run, lease.epoch),
            lease: HeldLease::new(lease, lapsed, &run),
            run,
            mail_to_delete: Vec::new(),
            recorded_mail: BTreeSet::new(),
            mail_being_deleted: BTreeSet::new(),
            is_new,
            earlier_records,
            viewers: Viewers::new(client, parent),
            hand_over: HandOver::new(deadline, hops),
            idle: IdleTime::default(),
            background: BackgroundWork::default(),
            postponed: BTreeSet::new(),
            has_performed_effect: false,
            live_receiver,
            live_sender,
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
                1.. = self.live_receiver.recv_many(&mut news, MAX_LIVE_BATCH) => self.show_local_live(&news),
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
        match event {
            DriverEvent::EffectPerformed { id, inputs } => {
                // All pieces of a reply were sent before its task ended; they go first.
                let news: Vec<Live> =
                    std::iter::from_fn(|| self.live_receiver.try_recv().ok()).collect();
                self.show_local_live(&news);
                if let EffectId::Deliver(Delivery::HumanResponse(_)) = &id {
                    // A task that was answered is to be worked on at once.
                    self.postponed.retain(|id| !matches!(id, EffectId::Child(_)));
                }
                self.costs.add_samples(&self.run, &inputs);
                match inputs.is_empty() {
                    true => self.postpone_effect(id),
                    false => self.idle.reset(),
                }
                return Ok(inputs);
            }
            DriverEvent::MailRead(read_at_ms, mail) => {
                self.mail_poll.finish_poll(self.run.now_ms());
                let mut inputs = self.mail_to_inputs(read_at_ms, mail).await;
                inputs.extend(self.expiry_input(self.run.now_ms()));
                return Ok(inputs);
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
            DriverEvent::MailDeleted(ids) => ids.iter().for_each(|id| {
                self.mail_being_deleted.remove(id);
            }),
            DriverEvent::LiveWritten => self.live_writer.on_batch_written(self.run.now_ms()),
            DriverEvent::LiveRead(reader, read) => {
                self.live_reader = *reader;
                let now_ms = self.run.now_ms();
                self.live_poll.finish_poll(now_ms);
                self.viewers.show_remote_live(&read, now_ms);
            }
            DriverEvent::BackgroundDone => {}
        }
        Ok(Vec::new())
    }
}
