//! A run in bad weather, to the end of everything.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use djinn_core::wire::cursor::Cursor;
use djinn_runtime::serve::{Question, stop};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::client::{Frames, Visit};
use super::{ALARM_EVERY, Crowd, Sim};
use crate::chaos::Chaos;
use crate::clock::PausedClock;
use crate::memory::Fault;
use crate::point::Fate;

/// How long after the weather is good again everything has come to its end: two rings of the alarm,
/// the second of which finds what the first could not see yet, and the work that was left.
const GOOD_WEATHER: Duration = Duration::from_secs(420);

/// One client, which comes back until it has seen the end.
#[derive(Default)]
struct Comings {
    /// Broken when it is there no longer.
    there: Option<oneshot::Receiver<()>>,
    has_posted: bool,
}

impl Comings {
    /// Returns when the client, which is there, has left.
    async fn left(&mut self) {
        match &mut self.there {
            Some(there) => drop(there.await),
            None => std::future::pending().await,
        }
        self.there = None;
    }
}

impl Sim {
    /// Lets a run be asked for in this weather, by one client that may leave and comes back where it
    /// was. Returns when the run has ended, the client has seen it, nothing brings the run back and
    /// nothing is alive. Stands in the points of this simulation: make those with [`Chaos::fate`].
    ///
    /// # Errors
    /// What has not come to its end some minutes after the weather became good.
    pub async fn endure(&mut self, question: &Question, chaos: &Chaos) -> Result<(), String> {
        self.expose(chaos);
        let began = Instant::now();
        let takes = self.crowd.as_ref().map_or(Duration::ZERO, Crowd::takes);
        let gives_up = began + chaos.lasts() + GOOD_WEATHER + takes;
        let mut stops = chaos.stop().map(|(after, copies)| (began + after, copies));
        let mut alarm = tokio::time::interval_at(began + ALARM_EVERY, ALARM_EVERY);
        let (mut comings, mut comes_at) = (Comings::default(), Some(began));
        let points = self.points.clone();
        let (key, mut people_at) = (question.run_key(), self.crowd.is_some().then_some(began));
        loop {
            let never = gives_up + GOOD_WEATHER;
            let (stops_at, next) = (stops.map_or(never, |(at, _)| at), comes_at.unwrap_or(never));
            let people = people_at.unwrap_or(never);
            tokio::select! {
                biased;
                process = points.killed() => self.kill(process),
                () = tokio::time::sleep_until(gives_up) => {
                    let (alarm, alive) = (self.has_alarm(), self.alive());
                    let seen = self.has_seen_the_end();
                    return Err(format!("alarm: {alarm}, alive: {alive}, seen: {seen}"));
                }
                () = tokio::time::sleep_until(stops_at) => {
                    let (_, copies) = stops.take().unwrap_or((began, 0));
                    (0..copies).for_each(|_| self.stop(question));
                }
                () = tokio::time::sleep_until(next) => {
                    comes_at = None;
                    self.come_in(question, chaos, &mut comings);
                }
                () = tokio::time::sleep_until(people) => people_at = self.people(&key).await,
                Some((key, hops)) = self.kicks.recv() => {
                    for after in chaos.deliveries() {
                        points.note(&format!("{key} is kicked, coming after {after:?}"));
                        self.invoke(key.clone(), hops, after);
                    }
                }
                _ = alarm.tick() => {
                    points.note("alarms ring");
                    self.ring();
                }
                () = comings.left() => {
                    let again = || self.let_come(Instant::now() + chaos.stays_away());
                    comes_at = (!self.has_seen_the_end()).then(again);
                }
                Some(_) = self.invocations.join_next() => {}
            }
            let is_gone = comings.there.is_none() && comes_at.is_none();
            if is_gone && self.alive() == 0 && !self.has_alarm() {
                return Ok(());
            }
        }
    }

    /// Puts the weather between the processes and everything else.
    fn expose(&mut self, chaos: &Chaos) {
        self.ports.store.leave_to_chance(chaos.seed());
        self.ports.clock = Arc::new(PausedClock::new().with_jitter(chaos.seed()));
        self.host.chaos = Some(chaos.clone());
        let (points, chaos) = (self.points.clone(), chaos.clone());
        self.ports.store.before_each(move |op| {
            let (points, chaos) = (points.of(op.process), chaos.clone());
            async move {
                if op.process == 0 {
                    return Fault::None;
                }
                points.alive().await;
                let (before, fault) = chaos.fault(&op);
                if fault != Fault::None {
                    points.note(&format!("process {} {op}: {fault:?}", op.process));
                }
                tokio::time::sleep(before).await;
                points.alive().await;
                if !op.kind.is_write() {
                    return fault;
                }
                points.pass(format!("before {op}")).await;
                match points.reach(format!("after {op}")) {
                    Fate::Passes => fault,
                    // What is refused is refused, whoever hears of it.
                    Fate::Dies | Fate::Freezes(_) if fault == Fault::NotDone => fault,
                    Fate::Dies => Fault::Silent,
                    Fate::Freezes(lasts) => Fault::Late(lasts),
                }
            }
        });
    }

    /// The client comes, for the first time or again.
    fn come_in(&mut self, question: &Question, chaos: &Chaos, comings: &mut Comings) {
        let (there, broken) = oneshot::channel();
        comings.there = Some(broken);
        let there = Some(there);
        if !comings.has_posted && chaos.is_posted() {
            comings.has_posted = true;
            self.points.note("the client posts");
            self.post_from(question.clone(), there);
            return;
        }
        let cursor = self.clients.iter().rev().find_map(cursor_of);
        let frames = Frames::default();
        self.clients.push(Arc::clone(&frames));
        let (question, stays) = (question.clone(), chaos.stays());
        let from = cursor.as_ref().map(|cursor| cursor.record);
        self.points.note(&format!("the client comes, from {from:?}, stays {stays:?}"));
        self.visit(Visit { question, cursor, stays, frames, there });
    }

    /// Somebody stops the run, through a route in a process of its own.
    fn stop(&mut self, question: &Question) {
        self.points.note("somebody stops the run");
        let (process, ports, serving) = self.invocation_of(question.run_key(), 0);
        let user = question.user.clone();
        self.spawn(process, async move {
            // A stop that is refused is not tried again.
            let _ = stop(&ports, &serving.key, user).await;
        });
    }

    /// When a client comes that would at this moment.
    fn let_come(&self, at: Instant) -> Instant {
        self.crowd.as_ref().map_or(at, |crowd| crowd.lets_come(at))
    }

    fn has_seen_the_end(&self) -> bool {
        let is_end = |frame: &(i64, String)| frame.1.contains("event: run.ended\n");
        self.clients
            .iter()
            .any(|client| client.lock().unwrap_or_else(PoisonError::into_inner).iter().any(is_end))
    }
}

/// Where the last frame that names a place says that it is.
fn cursor_of(frames: &Frames) -> Option<Cursor> {
    let frames = frames.lock().unwrap_or_else(PoisonError::into_inner);
    let ids = frames.iter().rev().filter_map(|(_, frame)| frame.strip_prefix("id: "));
    ids.filter_map(|rest| Cursor::parse(rest.lines().next()?)).next()
}
