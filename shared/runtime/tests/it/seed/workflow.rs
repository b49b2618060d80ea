//! A workflow in bad weather.

use djinn_core::entry::Event;
use djinn_testkit::chaos::Chaos;
use djinn_testkit::ledger::Ledger;
use djinn_testkit::point::{Fate, Points};

use super::outcome::{Outcome, Undisturbed};
use crate::market::seen;
use crate::workflow::{ONCE, ask, sim};

/// How many are tried.
const SEEDS: u64 = 60;

#[test]
fn a_workflow_ends_as_it_should_in_any_weather() {
    let of = |part: u64| (0..SEEDS).filter(move |seed| seed % 2 == part);
    std::thread::scope(|threads| {
        let parts = [of(0), of(1)];
        let parts =
            parts.map(|seeds| threads.spawn(|| seeds.for_each(|seed| endured(seed).check())));
        parts.into_iter().for_each(|part| part.join().expect("a seed failed, see above"));
    });
}

fn endured(seed: u64) -> Outcome {
    println!("seed {seed} began");
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let chaos = Chaos::of(seed);
        let weather = chaos.clone();
        let points = Points::with_decision(move |_, point| match point.process {
            0 => Fate::Passes,
            _ => weather.draw_fate(),
        });
        let ledger = Ledger::default();
        let mut sim = sim(points, &ledger);
        let question = ask(&sim, false);
        let ended = sim.endure_chaos(&question, &chaos).await;
        Outcome::of(&sim, &question.run_key(), ended, &ledger, undisturbed().await).await
    })
}

async fn undisturbed() -> Undisturbed {
    let mut sim = sim(Points::new(), &Ledger::default());
    let entries = sim.run_to_end(&ask(&sim, false)).await.unwrap();
    let Event::RunEnded(ending) = &entries.last().unwrap().event else { panic!("no end") };
    Undisturbed { once: ONCE.to_vec(), seen: seen(&entries), status: ending.status }
}
