//! A run with faults, until everything has ended.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use djinn_protocol::cursor::Cursor;
use djinn_runtime::question::UserQuestion;
use djinn_runtime::serve::{LoadedRun, request_stop};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::client::{FrameLog, Visit};
use super::{ALARM_EVERY, Crowd, Sim};
use crate::chaos::Chaos;
use crate::clock::PausedClock;
use crate::memory::StoreFault;
use crate::point::Fate;

/// The maximum time from the end of faults to the end of all work. This covers two alarms, the second for
/// work the first could not see, and the remaining work.
const GOOD_WEATHER: Duration = Duration::from_secs(420);

/// One client, which returns until it has received the end.
#[derive(Default)]
struct ClientVisits {
    /// The channel closes when the client has left.
    presence: Option<oneshot::Receiver<()>>,
    has_posted: bool,
}

impl ClientVisits {
    /// Waits until the present client has left.
    async fn wait_until_left(&mut self) {
        match &mut self.presence {
            Some(there) => drop(there.await),
            None => std::future::pending().await,
        }
        self.presence = None;
    }
}

impl Sim {
    /// Runs a question with faults, from one client that may leave and resume. Returns after the run has
    /// ended, the client has received the end, and no alarm or invocation is left. Create the points of this
    /// simulation with [`Chaos::draw_fate`].
    ///
    /// # Errors
    /// Returns a message about work not ended some minutes after the last fault.
    pub async fn endure_chaos(
        &mut self,
        question: &UserQuestion,
        chaos: &Chaos,
    ) -> Result<(), String> {
        self.expose_to(chaos);
        let began = Instant::now();
        let takes = self.crowd.as_ref().map_or(Duration::ZERO, Crowd::extra_time);
        let gives_up = began + chaos.duration() + GOOD_WEATHER + takes;
        let mut stops = chaos.draw_stop().map(|(after, copies)| (began + after, copies));
        let mut alarm = tokio::time::interval_at(began + ALARM_EVERY, ALARM_EVERY);
        let mut comings = ClientVisits::default();
        let mut comes_at = Some(began);
        let points = self.points.clone();
        let key = question.run_key();
        let mut people_at = self.crowd.is_some().then_some(began);
        loop {
            let never = gives_up + GOOD_WEATHER;
            let stops_at = stops.map_or(never, |(at, _)| at);
            let next = comes_at.unwrap_or(never);
            let people = people_at.unwrap_or(never);
            tokio::select! {
                biased;
                process = points.next_killed() => self.kill_process(process),
                () = tokio::time::sleep_until(gives_up) => {
                    let alarm = self.has_alarm();
                    let alive = self.alive_count();
                    let has_seen_end = self.has_seen_end();
                    return Err(format!("alarm: {alarm}, alive: {alive}, seen: {has_seen_end}"));
                }
                () = tokio::time::sleep_until(stops_at) => {
                    let (_, copies) = stops.take().unwrap_or((began, 0));
                    (0..copies).for_each(|_| self.stop_run(question));
                }
                () = tokio::time::sleep_until(next) => {
                    comes_at = None;
                    self.start_next_visit(question, chaos, &mut comings);
                }
                () = tokio::time::sleep_until(people) => people_at = self.let_people_act(&key).await,
                Some((key, hops)) = self.kicks.recv() => {
                    for after in chaos.draw_deliveries() {
                        points.add_note(&format!("{key} is kicked, coming after {after:?}"));
                        self.invoke_run(key.clone(), hops, after);
                    }
                }
                _ = alarm.tick() => {
                    points.add_note("alarms ring");
                    self.ring_alarms();
                }
                () = comings.wait_until_left() => {
                    let again = || self.delay_visit(Instant::now() + chaos.draw_absence());
                    comes_at = (!self.has_seen_end()).then(again);
                }
                Some(_) = self.invocations.join_next() => {}
            }
            let is_gone = comings.presence.is_none() && comes_at.is_none();
            if is_gone && self.alive_count() == 0 && !self.has_alarm() {
                return Ok(());
            }
        }
    }

    /// Installs the faults between processes and services.
    fn expose_to(&mut self, chaos: &Chaos) {
        self.ports.store.leave_to_chance(chaos.seed());
        self.ports.clock = Arc::new(PausedClock::new().with_jitter(chaos.seed()));
        self.host.chaos = Some(chaos.clone());
        let points = self.points.clone();
        let chaos = chaos.clone();
        self.ports.store.before_each(move |op| {
            let points = points.of(op.process);
            let chaos = chaos.clone();
            async move {
                if op.process == 0 {
                    return StoreFault::None;
                }
                points.wait_until_alive().await;
                let (before, fault) = chaos.draw_fault(&op);
                if fault != StoreFault::None {
                    points.add_note(&format!("process {} {op}: {fault:?}", op.process));
                }
                tokio::time::sleep(before).await;
                points.wait_until_alive().await;
                if !op.kind.is_write() {
                    return fault;
                }
                points.pass(format!("before {op}")).await;
                match points.reach(format!("after {op}")) {
                    Fate::Passes => fault,
                    // A rejected operation stays rejected, even if the caller is dead.
                    Fate::Dies | Fate::Freezes(_) if fault == StoreFault::NotDone => fault,
                    Fate::Dies => StoreFault::Silent,
                    Fate::Freezes(lasts) => StoreFault::Late(lasts),
                }
            }
        });
    }

    /// Starts the first or the next visit of the client.
    fn start_next_visit(
        &mut self,
        question: &UserQuestion,
        chaos: &Chaos,
        comings: &mut ClientVisits,
    ) {
        let (there, broken) = oneshot::channel();
        comings.presence = Some(broken);
        let there = Some(there);
        if !comings.has_posted && chaos.draws_posted() {
            comings.has_posted = true;
            self.points.add_note("the client posts");
            self.post_from(question.clone(), there);
            return;
        }
        // The cursor of the last frame that has one.
        let cursor = self.clients.iter().rev().find_map(|frames| {
            let frames = frames.lock().unwrap_or_else(PoisonError::into_inner);
            let ids = frames.iter().rev().filter_map(|(_, frame)| frame.strip_prefix("id: "));
            ids.filter_map(|rest| Cursor::parse(rest.lines().next()?)).next()
        });
        let frames = FrameLog::default();
        self.clients.push(Arc::clone(&frames));
        let question = question.clone();
        let stays = chaos.draw_stay();
        let from = cursor.as_ref().map(|cursor| cursor.record);
        self.points.add_note(&format!("the client comes, from {from:?}, stays {stays:?}"));
        self.spawn_visit(Visit { question, cursor, stay: stays, frames, presence: there });
    }

    /// Stops the run, through a route in a new process.
    fn stop_run(&mut self, question: &UserQuestion) {
        self.points.add_note("somebody stops the run");
        let (process, ports, serving) = self.new_invocation(question.run_key(), 0);
        let user = question.spec.user.clone();
        self.spawn_process(process, async move {
            let Ok(mut run) = LoadedRun::load(&ports, &serving.key).await else { return };
            // A rejected stop is not retried.
            let _ = request_stop(&ports, &mut run, user).await;
        });
    }

    /// Returns the time at which a visit planned for `at` may happen.
    fn delay_visit(&self, at: Instant) -> Instant {
        self.crowd.as_ref().map_or(at, |crowd| crowd.delay_visit(at))
    }

    fn has_seen_end(&self) -> bool {
        let is_end = |frame: &(i64, String)| frame.1.contains("event: run.ended\n");
        self.clients
            .iter()
            .any(|client| client.lock().unwrap_or_else(PoisonError::into_inner).iter().any(is_end))
    }
}
