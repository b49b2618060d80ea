//! A run, from its question over its deaths to its end.

use std::time::Duration;

use djinn_testkit::lambdasim::Invocation;
use serde_json::Value;

use super::{Field, Run};
use crate::client::Client;

/// When and how a run is killed. It follows from a seed, so that the moments of many seeds lie evenly
/// over the whole life of a run.
pub(super) struct Plan {
    /// The first kill, as a part of the run's life.
    moment: f64,
    /// The run's life, or an earlier part of it when the run was too quick before.
    life: Duration,
    /// Whether all of its processes die, or one of them.
    all: bool,
    /// What comes after the first kill.
    then: Then,
    random: fastrand::Rng,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    /// The client comes back.
    ComesBack,
    /// It does, and the run is killed again when that has brought something new: no effect may die
    /// three times, which would be the end of it.
    ComesBackTwice,
    /// It stays away until the run's alarm has brought the run to its end.
    StaysAway,
}

impl Plan {
    pub(super) fn new(seed: u64, life: Duration, attempt: u32) -> Self {
        const GOLDEN: f64 = 0.618_033_988_749_895;
        let mut random = fastrand::Rng::with_seed(seed);
        #[allow(clippy::cast_precision_loss, reason = "seeds are small")]
        let moment = (seed as f64 * GOLDEN).fract();
        let thens = [Then::ComesBack, Then::ComesBackTwice, Then::StaysAway];
        Self {
            moment,
            life: life.mul_f64(0.75_f64.powi(i32::try_from(attempt).unwrap())),
            all: random.bool(),
            then: thens[random.usize(..thens.len())],
            random,
        }
    }

    /// The first kill, as a part of the run's life.
    pub(super) fn moment(&self) -> f64 {
        self.moment
    }
}

/// Asks, kills as planned, and waits for the run's end; returns how often it was killed.
pub(super) async fn live(field: &Field, run: &Run, plan: &Plan) -> usize {
    let mut random = plan.random.clone();
    let (host, session, story) = (&field.host, &run.session, field.story);
    let client = match plan.then {
        Then::ComesBack | Then::ComesBackTwice => Client::ask(host, session, story),
        Then::StaysAway => Client::ask_once(host, session, story),
    };
    host.lambda.until(|all| all.iter().any(|known| run.is_worked_on_by(known))).await;
    tokio::time::sleep(plan.life.mul_f64(plan.moment)).await;
    let mut kills = kill(field, run, plan.all, &mut random);
    match plan.then {
        Then::ComesBack => {}
        Then::ComesBackTwice => {
            let results = client.results() + 1;
            if kills > 0 && client.has_seen_results(results).await {
                tokio::time::sleep(plan.life.mul_f64(random.f64() / 2.0)).await;
                kills += kill(field, run, plan.all, &mut random);
            }
        }
        Then::StaysAway => {
            if !client.until_gone().await {
                is_ended_by_the_alarm(field, run).await;
            }
            return kills;
        }
    }
    client.end().await;
    kills
}

/// Kills what works on the run: all of it, or one process.
fn kill(field: &Field, run: &Run, all: bool, random: &mut fastrand::Rng) -> usize {
    let mut working = field.host.lambda.running();
    working.retain(|invocation| run.is_worked_on_by(invocation));
    if !all && !working.is_empty() {
        working = vec![working.swap_remove(random.usize(..working.len()))];
    }
    working.iter().for_each(|invocation| field.host.lambda.kill(invocation.pid));
    working.len()
}

/// Waits until an invocation of the executor has ended with the run at its end. A run that was killed
/// before it existed has no alarm.
async fn is_ended_by_the_alarm(field: &Field, run: &Run) {
    let is_its = |known: &Invocation| {
        let payload = &known.payload;
        payload["run"] == run.id.as_str() && payload["task"].is_null() && known.outcome.is_some()
    };
    let count = |all: &[Invocation]| all.iter().filter(|known| is_its(known)).count();
    let mut before = 0;
    while matches!(status(field, run).await.as_str(), Some("queued" | "running")) {
        field.host.lambda.until(|all| count(all) > before).await;
        before = count(&field.host.lambda.invocations());
    }
}

/// What a run is, if there is one. One that finds no process, or one that dies, is asked for again.
async fn status(field: &Field, run: &Run) -> Value {
    loop {
        let answer = reqwest::get(format!("{}/runs/{}", field.host.url, run.id)).await.unwrap();
        if !matches!(answer.status().as_u16(), 429 | 502) {
            let mut status: Value = answer.json().await.unwrap();
            return status["status"].take();
        }
    }
}
