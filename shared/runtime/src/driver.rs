//! The driver: performs what a run owes and records what came of it.
//!
//! One loop, one decision a pass: start what is due, wait for the next thing that happens, record
//! it. Everything slow runs beside the loop, in tasks that die with it; only journal appends are
//! waited for, because nothing may be shown or done before they are in.

mod begin;
mod happening;
mod idle;
mod leave;
mod live;
mod look;
mod mail;
mod moment;
mod record;
mod show;
mod start;
mod writer;

use std::collections::BTreeSet;
use std::sync::Arc;

use djinn_core::effect::{Delivery, EffectId};
use djinn_core::id::TaskId;
use djinn_core::input::Input;
use djinn_core::journal::{Journal, Record};
use djinn_core::preview::Live;
use tokio::sync::mpsc;
use tracing::Instrument as _;

use crate::account::Account;
use crate::client::ClientStream;
use crate::deadline::Deadline;
use crate::estimates::Samples;
use crate::live::LiveReader;
use crate::port::catalog::UserKey;
use crate::port::clock::Clock;
use crate::port::journal::Lease;
use crate::port::lease::Renewed;
use crate::port::{Ports, RunKey};
use crate::settings::milliseconds;
use happening::{Happening, InFlight};
use live::LiveWriter;
use look::Look;
pub(crate) use mail::read_mailbox;
use writer::JournalWriter;
pub(crate) use writer::run_end;

/// Pieces and entries that are shown together, if so many have come.
const SHOWN_AT_ONCE: usize = 256;

/// A run to be driven: its journal as it was read under the lease.
pub struct Drive {
    /// The run.
    pub key: RunKey,
    /// Its journal.
    pub journal: Journal,
    /// The lease it is driven under.
    pub lease: Lease,
    /// Whether the earlier driver died: `Resumed` is recorded first then.
    pub lapsed: bool,
    /// Whether this invocation has just created it: nobody can have written to it yet.
    pub fresh: bool,
    /// Of a task what was recorded before: viewers may not have been shown all of it, since who drove it
    /// last took with them what they had not written to the live log.
    pub before: Vec<Record>,
    /// The client that the response streams to, if there is one.
    pub client: Option<ClientStream>,
    /// Where entries and pieces of text go besides: to the driver of the run that this is a task of, if
    /// both are in one invocation.
    pub parent: Option<mpsc::UnboundedSender<Live>>,
    /// Until when.
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
    Interrupted(Option<ClientStream>),
}

impl DriveEnd {
    fn name(&self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::HandedOver => "handed_over",
            Self::Asleep => "asleep",
            Self::Superseded(_) => "superseded",
            Self::Interrupted(_) => "interrupted",
        }
    }
}

/// Drives a run until it has ended, is handed over, or is somebody else's.
pub async fn drive<P: Ports>(ports: &P, drive: Drive) -> DriveEnd {
    let span = tracing::info_span!(
        "run.drive",
        run_id = %drive.key.run,
        task_id = drive.key.task.as_ref().map(tracing::field::display),
        epoch = drive.lease.epoch,
        hops = drive.hops,
    );
    async {
        // In a box, since every future around it would hold room for it, and one that moves it twice.
        let end = Box::pin(Driver::new(ports, drive).run()).await;
        tracing::info!(outcome = end.name(), "driver stopped");
        end
    }
    .instrument(span)
    .await
}

/// What a pass of the loop gives, or why there is no further one.
type Pass<T = ()> = Result<T, DriveEnd>;

struct Driver<P: Ports> {
    ports: P,
    key: RunKey,
    writer: JournalWriter<P>,
    account: Arc<Account>,
    samples: Samples,
    lease: Lease,
    lapsed: bool,
    fresh: bool,
    before: Vec<Record>,
    client: Option<ClientStream>,
    parent: Option<mpsc::UnboundedSender<Live>>,
    deadline: Deadline,
    hops: u32,
    in_flight: InFlight,
    /// Effects whose performance gave up in this invocation.
    postponed: BTreeSet<EffectId>,
    performed_any: bool,
    /// Since when it only waits for others, Unix milliseconds.
    idle_since_ms: Option<i64>,
    /// It has appended a record, and that is all it may.
    leaves_after_record: bool,
    alarm: Alarm,
    /// What is written here, by this driver's model calls and by a task that is driven here.
    written: mpsc::UnboundedReceiver<Live>,
    live_sender: mpsc::UnboundedSender<Live>,
    live: LiveWriter,
    /// What tasks in other invocations write: when to look, and how.
    live_look: Look,
    live_reader: LiveReader,
    /// Tasks that somebody has dispatched before, as far as is known here.
    dispatched: BTreeSet<TaskId>,
    /// When tasks that others work on are looked after.
    dispatch_at_ms: i64,
    mail_look: Look,
    /// What was put into the mailbox before this moment was read, Unix milliseconds.
    mail_read_at_ms: i64,
    mail_to_delete: Vec<String>,
    /// Mail that was recorded here, by its ids; its deletion may have failed.
    heard: BTreeSet<String>,
    /// What is being deleted of it.
    deleting: BTreeSet<String>,
    renew_at_ms: i64,
}

/// The run's recurring alarm, as far as this driver knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alarm {
    Unset,
    Setting,
    Set,
}

impl<P: Ports> Driver<P> {
    fn new(ports: &P, drive: Drive) -> Self {
        let Drive { key, journal, lease, lapsed, fresh, before, client, parent, deadline, hops } =
            drive;
        let settings = ports.settings();
        let now_ms = ports.clock().now_ms();
        let (live_sender, written) = mpsc::unbounded_channel();
        let asked = journal.run().asked();
        let account = Account::new(settings.user, key.clone(), asked, lease.epoch);
        let account = Arc::new(account);
        let paying = Arc::clone(&account);
        Self {
            mail_look: Look::for_mail(settings.mailbox_every, now_ms),
            mail_read_at_ms: i64::MIN,
            renew_at_ms: now_ms.saturating_add(milliseconds(settings.renew_every)),
            live: LiveWriter::new(milliseconds(settings.live_every), journal.run().asked()),
            dispatched: journal.run().running_tasks().into_iter().collect(),
            live_look: Look::at_live_log(settings.follow_every, now_ms),
            live_reader: LiveReader::default(),
            dispatch_at_ms: now_ms.saturating_add(milliseconds(settings.dispatch_every)),
            // Its run's alarm brings a task back.
            alarm: if key.task.is_some() { Alarm::Set } else { Alarm::Unset },
            writer: JournalWriter::new(ports.clone(), key.clone(), journal, lease.clone(), paying),
            account,
            samples: Samples::default(),
            mail_to_delete: Vec::new(),
            heard: BTreeSet::new(),
            deleting: BTreeSet::new(),
            ports: ports.clone(),
            key,
            lease,
            lapsed,
            fresh,
            before,
            client,
            parent,
            deadline,
            hops,
            in_flight: InFlight::default(),
            postponed: BTreeSet::new(),
            performed_any: false,
            idle_since_ms: None,
            leaves_after_record: false,
            written,
            live_sender,
        }
    }

    async fn run(mut self) -> DriveEnd {
        let end = match self.begin().await {
            Err(end) => end,
            Ok(()) => loop {
                if let Err(end) = self.pass().await {
                    break end;
                }
            },
        };
        self.account.leave(&self.ports).await;
        let user = UserKey::of(self.writer.run().asked());
        Box::pin(self.samples.keep(&self.ports, &user)).await;
        end
    }

    async fn pass(&mut self) -> Pass {
        self.start_due().await?;
        if self.has_something_to_wait_for() {
            let inputs = self.wait().await?;
            self.record(inputs).await
        } else {
            self.leave().await
        }
    }

    /// Waits for the next thing that happens and says what the run is to be told of it. What is only
    /// shown changes nothing of what is due.
    async fn wait(&mut self) -> Pass<Vec<Input>> {
        loop {
            let clock = self.ports.clock();
            let wake_at_ms = self.next_moment_ms().min(self.idle_until_ms().unwrap_or(i64::MAX));
            let room = self.preview_room();
            let mut news = Vec::new();
            // In a fixed order, so that a test can repeat what happened. Moments last: under load there
            // always is one.
            tokio::select! {
                biased;
                Some(happening) = self.in_flight.next() => return self.all_happened(happening).await,
                1.. = self.written.recv_many(&mut news, SHOWN_AT_ONCE) => self.show_written(&news),
                () = room => self.show_waiting(),
                () = clock.sleep_until(wake_at_ms) => return Ok(self.moment_came()),
            }
            if self.is_out_of_time() {
                return Ok(Vec::new());
            }
        }
    }

    /// What happened at the same moment goes into the same record.
    async fn all_happened(&mut self, happening: Happening) -> Pass<Vec<Input>> {
        let mut inputs = Vec::new();
        let mut happening = Some(happening);
        while let Some(happened) = happening {
            match self.happened(happened).await {
                Ok(more) => inputs.extend(more),
                // What was done is kept: the journal decides who may write, not the lease.
                Err(end) => return self.record(inputs).await.and(Err(end)),
            }
            happening = self.in_flight.already();
        }
        Ok(inputs)
    }

    async fn happened(&mut self, happening: Happening) -> Pass<Vec<Input>> {
        match happening {
            Happening::Performed { id, inputs } => {
                // All pieces of a reply were sent before its task ended; they go first.
                let news: Vec<Live> = std::iter::from_fn(|| self.written.try_recv().ok()).collect();
                self.show_written(&news);
                if let EffectId::Deliver(Delivery::Answer(_)) = &id {
                    // A task that was answered is to be worked on at once.
                    self.postponed.retain(|id| !matches!(id, EffectId::Task(_)));
                }
                self.samples.take(self.writer.run(), &inputs);
                match inputs.is_empty() {
                    true => self.postpone(id),
                    false => self.idle_since_ms = None,
                }
                return Ok(inputs);
            }
            Happening::Mail(read_at_ms, mail) => {
                self.mail_look.looked(self.now_ms());
                let mut inputs = self.read_mail(read_at_ms, mail).await;
                inputs.extend(self.expired(self.now_ms()));
                return Ok(inputs);
            }
            // One that was under way when this driver nearly fell asleep.
            Happening::Renewed { epoch, .. } if epoch != self.lease.epoch => {}
            Happening::Renewed { renewed, .. } => {
                self.renew_at_ms = self.after_ms(self.ports.settings().renew_every);
                match renewed {
                    Ok(Renewed::Ours { watched_until_ms }) => {
                        self.live.watched_until(watched_until_ms);
                    }
                    // Its end took the lease off the run; what it still owes needs none.
                    Ok(Renewed::Lost) if self.has_ended() => {}
                    Ok(Renewed::Lost) => {
                        return Err(DriveEnd::Superseded(self.client.take()));
                    }
                    // The journal decides, not the lease: drive on, and try again soon.
                    Err(error) => tracing::warn!(%error, "lease not renewed"),
                }
            }
            Happening::AlarmSet(set) => {
                self.alarm = if set { Alarm::Set } else { Alarm::Unset };
            }
            Happening::MailDeleted(ids) => ids.iter().for_each(|id| {
                self.deleting.remove(id);
            }),
            Happening::LiveWritten => self.live.written(self.now_ms()),
            Happening::LiveRead(reader, read) => {
                self.live_reader = *reader;
                self.show_live(&read);
            }
            Happening::Nothing => {}
        }
        Ok(Vec::new())
    }

    fn has_ended(&self) -> bool {
        self.writer.run().status().has_ended()
    }

    fn now_ms(&self) -> i64 {
        self.ports.clock().now_ms()
    }

    fn after_ms(&self, after: std::time::Duration) -> i64 {
        self.now_ms().saturating_add(milliseconds(after))
    }
}
