//! A run, from its question over its deaths to its end.

use std::time::Duration;

use djinn_testkit::lambdasim::Invocation;
use serde_json::Value;

use super::{Field, Run};
use crate::client::Client;

/// When and how a run is killed. It follows from a seed, so that the moments of many seeds lie evenly
/// over the whole life of a run.
pub(super) struct Plan {
    /// The first blow, as a part of the run's life.
    moment: f64,
    /// The run's life, or an earlier part of it when the run was too quick before.
    life: Duration,
    /// Whether all of its processes are struck, or one of them.
    all: bool,
    blow: Blow,
    random: fastrand::Rng,
}

/// What is done to the processes, and what comes then.
#[derive(Clone, Copy)]
enum Blow {
    /// They are killed, and the client comes back.
    Kill,
    /// The same again, when that has brought something new: no effect may die three times, which
    /// would be the end of it.
    Kills,
    /// They are killed, and the client stays away until the run's alarm has brought the run to its
    /// end.
    Desertion,
    /// They stand still for so long, and then go on as if nothing had happened.
    Freeze(Duration),
}

impl Plan {
    /// A run that is killed.
    pub(super) fn to_kill(seed: u64, life: Duration) -> Self {
        let mut plan = Self::to_freeze(seed, life, Duration::ZERO);
        let blows = [Blow::Kill, Blow::Kills, Blow::Desertion];
        plan.blow = blows[plan.random.usize(..blows.len())];
        plan
    }

    /// A run whose processes stand still for so long.
    pub(super) fn to_freeze(seed: u64, life: Duration, for_long: Duration) -> Self {
        const GOLDEN: f64 = 0.618_033_988_749_895;
        let mut random = fastrand::Rng::with_seed(seed);
        #[allow(clippy::cast_precision_loss, reason = "seeds are small")]
        let moment = (seed as f64 * GOLDEN).fract();
        Self { moment, life, all: random.bool(), blow: Blow::Freeze(for_long), random }
    }

    /// The first blow, as a part of the run's life.
    pub(super) fn moment(&self) -> f64 {
        self.moment
    }
}

/// What was done to a run.
#[derive(Debug, Default)]
pub(super) struct Blows {
    /// The number of blows that hit a process at work.
    pub(super) times: usize,
    /// The number of processes that they hit.
    pub(super) processes: usize,
}

impl Blows {
    fn and(self, pids: &[u32]) -> Self {
        let times = self.times + usize::from(!pids.is_empty());
        Self { times, processes: self.processes + pids.len() }
    }
}

/// Asks, does what is planned, and waits for the run's end.
pub(super) async fn live(field: &Field, run: &Run, plan: &Plan) -> Blows {
    let mut random = plan.random.clone();
    let (host, session, story) = (&field.host, &run.session, field.story);
    let client = match plan.blow {
        Blow::Kill | Blow::Kills | Blow::Freeze(_) => Client::ask(host, session, story),
        Blow::Desertion => Client::ask_once(host, session, story),
    };
    host.lambda.wait_until(|all| all.iter().any(|known| run.is_worked_on_by(known))).await;
    tokio::time::sleep(plan.life.mul_f64(plan.moment)).await;
    let struck = working(field, run, plan.all, &mut random);
    let mut blows = Blows::default().and(&struck);
    match plan.blow {
        Blow::Kill => kill(field, &struck),
        Blow::Kills => {
            kill(field, &struck);
            let results = client.results() + 1;
            if blows.times > 0 && client.has_seen_results(results).await {
                tokio::time::sleep(plan.life.mul_f64(random.f64() / 2.0)).await;
                let struck = working(field, run, plan.all, &mut random);
                kill(field, &struck);
                blows = blows.and(&struck);
            }
        }
        Blow::Desertion => {
            kill(field, &struck);
            if !client.until_gone().await {
                is_ended_by_the_alarm(field, run).await;
            }
            return blows;
        }
        Blow::Freeze(_) if struck.is_empty() => {}
        Blow::Freeze(for_long) => {
            struck.iter().for_each(|pid| field.host.lambda.freeze(*pid));
            tokio::time::sleep(for_long).await;
            struck.iter().for_each(|pid| field.host.lambda.thaw(*pid));
        }
    }
    client.end().await;
    blows
}

fn kill(field: &Field, pids: &[u32]) {
    pids.iter().for_each(|pid| field.host.lambda.kill(*pid));
}

/// What works on the run: all of it, or one process.
fn working(field: &Field, run: &Run, all: bool, random: &mut fastrand::Rng) -> Vec<u32> {
    let mut working = field.host.lambda.running_invocations();
    working.retain(|invocation| run.is_worked_on_by(invocation));
    if !all && !working.is_empty() {
        working = vec![working.swap_remove(random.usize(..working.len()))];
    }
    working.into_iter().map(|invocation| invocation.pid).collect()
}

/// Waits until an invocation of the executor has ended with the run at its end. A run that was killed
/// before it existed has no alarm.
async fn is_ended_by_the_alarm(field: &Field, run: &Run) {
    let is_its = |known: &Invocation| {
        let payload = &known.payload;
        payload["run"] == run.id.as_str() && payload["path"].is_null() && known.outcome.is_some()
    };
    let count = |all: &[Invocation]| all.iter().filter(|known| is_its(known)).count();
    let mut before = 0;
    while matches!(status(field, run).await.as_str(), Some("queued" | "running")) {
        field.host.lambda.wait_until(|all| count(all) > before).await;
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
