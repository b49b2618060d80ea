//! A driver that goes to sleep and somebody who has something to say to its run, in every order that
//! their store operations can have: the run always goes on, though no alarm rings and nobody asks
//! again. The orders are generated: each is run, and where both could be next, the other comes first
//! in another run.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use djinn_core::settings::{Machine, RunSettings};
use djinn_runtime::port::tool::Toolbox;
use djinn_runtime::serve::{LoadedRun, request_stop};
use djinn_testkit::memory::{Op, OpKind, StoreFault};
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use serde_json::json;
use tokio::sync::oneshot;

use crate::story::visible;

/// Three steps at once, each of which takes longer than the one before; then the planner is done.
fn three_steps() -> Sim {
    let points = Points::new();
    let steps = ["one", "two", "three"];
    let plan = json!({"command": "create", "steps": steps, "depends_on": [[], [], []]});
    let model = StoryModel::new(
        [
            ("t1", StoryLine::say("I plan.").with_call("planning", plan)),
            ("s1.1.t1", StoryLine::say("One.").with_latency(Duration::from_millis(200))),
            ("s2.1.t1", StoryLine::say("Two.").with_latency(Duration::from_millis(500))),
            ("s3.1.t1", StoryLine::say("Three.").with_latency(Duration::from_millis(900))),
            (
                "t2",
                StoryLine::say("I am done.").with_call("planning", json!({"command": "finish"})),
            ),
            ("summary", StoryLine::say("One, two, three.")),
        ],
        points.clone(),
    );
    Sim::new(model, Toolbox::default(), points)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Actor {
    Sleeper,
    Sender,
}

use Actor::{Sender, Sleeper};

/// Lets the operations of two processes on one run pass one at a time, in the order of a schedule,
/// from the moment on at which both have one.
#[derive(Clone)]
struct Turns(Arc<Mutex<State>>);

struct State {
    /// What makes a process one of the two: the nth operation of this kind on the run.
    begin: [(Actor, OpKind, usize); 2],
    seen: Vec<(OpKind, u64)>,
    processes: Vec<(u64, Actor)>,
    waiting: [VecDeque<(String, oneshot::Sender<()>)>; 2],
    has_begun: bool,
    /// Who comes first, wherever both could; the sleeper where it does not say.
    schedule: VecDeque<Actor>,
    chosen: Vec<Actor>,
    order: Vec<String>,
}

impl Turns {
    fn new(begin: [(Actor, OpKind, usize); 2], schedule: &[Actor]) -> Self {
        Self(Arc::new(Mutex::new(State {
            begin,
            seen: Vec::new(),
            processes: Vec::new(),
            waiting: Default::default(),
            has_begun: false,
            schedule: schedule.iter().copied().collect(),
            chosen: Vec::new(),
            order: Vec::new(),
        })))
    }

    /// Waits for this operation's turn, if it is one of theirs.
    fn wait(&self, op: &Op) -> Option<oneshot::Receiver<()>> {
        let mut state = self.0.lock().unwrap();
        let actor = state.actor(op)?;
        let (turn, waits) = oneshot::channel();
        state.waiting[actor as usize].push_back((format!("{actor:?} {op}"), turn));
        Some(waits)
    }

    /// Gives turns as long as anybody takes them. Time only moves on when nobody can.
    async fn give(self) {
        loop {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let mut state = self.0.lock().unwrap();
            let both = state.waiting.iter().all(|waiting| !waiting.is_empty());
            state.has_begun |= both;
            if !state.has_begun {
                continue;
            }
            let next = match both {
                true => {
                    let next = state.schedule.pop_front().unwrap_or(Sleeper);
                    state.chosen.push(next);
                    next
                }
                false if state.waiting[Sleeper as usize].is_empty() => Sender,
                false => Sleeper,
            };
            if let Some((name, turn)) = state.waiting[next as usize].pop_front() {
                state.order.push(name);
                let _ = turn.send(());
            }
        }
    }
}

impl State {
    fn actor(&mut self, op: &Op) -> Option<Actor> {
        if !op.run.as_ref()?.is_root() {
            return None;
        }
        if let Some((_, actor)) = self.processes.iter().find(|(of, _)| *of == op.process) {
            return Some(*actor);
        }
        self.seen.push((op.kind, op.process));
        let nth = self.seen.iter().filter(|(kind, _)| *kind == op.kind).count();
        let (actor, ..) =
            *self.begin.iter().find(|(_, kind, at)| (*kind, *at) == (op.kind, nth))?;
        self.processes.push((op.process, actor));
        Some(actor)
    }
}

/// The schedule that differs from `chosen` at the last place where it can; `None` after the last one.
fn following(mut chosen: Vec<Actor>) -> Option<Vec<Actor>> {
    while chosen.pop_if(|last| *last == Sender).is_some() {}
    *chosen.last_mut()? = Sender;
    Some(chosen)
}

/// Runs every order of the two from there on, and returns them with how the run ended.
fn every_order(
    begin: [(Actor, OpKind, usize); 2],
    stop_after: Option<Duration>,
) -> BTreeSet<Vec<String>> {
    let mut orders = BTreeSet::new();
    let mut schedule = Some(Vec::new());
    while let Some(next) = schedule {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().unwrap();
        let turns = Turns::new(begin, &next);
        runtime.block_on(in_order(&turns, stop_after));
        let state = turns.0.lock().unwrap();
        assert!(state.has_begun, "they never met: {:?}", state.seen);
        assert!(orders.insert(state.order.clone()), "twice: {:?}", state.order);
        schedule = following(state.chosen.clone());
    }
    println!("{} orders", orders.len());
    orders
}

/// Runs the story in the order of the turns.
async fn in_order(turns: &Turns, stop_after: Option<Duration>) {
    let mut sim = three_steps();
    let giving = tokio::spawn(turns.clone().give());
    let hook = turns.clone();
    sim.ports.store.before_each(move |op| {
        let turn = hook.wait(&op);
        async move {
            if let Some(turn) = turn {
                turn.await.unwrap();
            }
            StoreFault::None
        }
    });
    let settings = RunSettings { mode: Machine::PlanSolve.into(), ..RunSettings::default() };
    let question = sim.make_question(settings);
    if let Some(after) = stop_after {
        let (ports, key, user) =
            (sim.ports.clone(), question.run_key(), question.spec.user.clone());
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            let mut run = LoadedRun::load(&ports, &key).await.unwrap();
            request_stop(&ports, &mut run, user).await.unwrap();
        });
    }
    // Sooner than any alarm would ring.
    let ended = sim.run_alone(&question, Duration::from_secs(60)).await;
    giving.abort();
    let order = turns.0.lock().unwrap().order.clone();
    let entries = ended.unwrap_or_else(|error| panic!("{order:#?}: {error}"));
    let last = visible(&entries).pop().unwrap();
    let expected =
        if stop_after.is_some() { "end stopped: " } else { "end finished: One, two, three." };
    assert!(last.starts_with(expected), "{order:#?}: {last}");
    assert_eq!(sim.alive_count(), 0);
}

/// Whether any of these orders has these operations in a row, others between them left out.
fn has(orders: &BTreeSet<Vec<String>>, wanted: &[&str]) -> bool {
    orders.iter().any(|order| {
        let mut order = order.iter();
        wanted.iter().all(|wanted| order.any(|name| name == wanted))
    })
}

#[test]
fn an_outcome_finds_its_run_falling_asleep() {
    let begin = [(Sleeper, OpKind::ReleaseLease, 1), (Sender, OpKind::PutMail, 1)];
    let orders = every_order(begin, None);
    // Both ways to go on are among them: a kick, and the sleeper's own look.
    assert!(has(&orders, &["Sleeper ReleaseLease", "Sleeper Mail", "Sender PutMail"]));
    assert!(has(&orders, &["Sender PutMail", "Sender Meta", "Sleeper ReleaseLease"]));
    assert!(orders.len() >= 10, "{orders:#?}");
}

#[test]
fn an_outcome_finds_its_run_woken_by_another_and_falling_asleep_again() {
    let begin = [(Sleeper, OpKind::TakeLease, 2), (Sender, OpKind::PutMail, 2)];
    let orders = every_order(begin, None);
    assert!(has(
        &orders,
        &["Sleeper Mail", "Sender PutMail", "Sender Meta", "Sleeper ReleaseLease"]
    ));
    assert!(orders.len() >= 30, "{orders:#?}");
}

#[test]
fn a_stop_finds_its_run_falling_asleep() {
    let begin = [(Sleeper, OpKind::ReleaseLease, 1), (Sender, OpKind::PutMail, 1)];
    let orders = every_order(begin, Some(Duration::from_millis(100)));
    assert!(has(&orders, &["Sleeper Mail", "Sender PutMail", "Sender Meta"]));
    assert!(has(&orders, &["Sender PutMail", "Sender Meta", "Sleeper ReleaseLease"]));
    assert!(orders.len() >= 10, "{orders:#?}");
}
