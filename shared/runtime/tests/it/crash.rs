//! A process that dies at any point changes nothing that a viewer sees, except where a call that
//! must not be repeated was cut off: that one is reported as uncertain.

use djinn_testkit::ledger::Ledger;
use djinn_testkit::point::Points;

use crate::story::{TOLD, UNCERTAIN, sim, told, visible};

#[tokio::test(start_paused = true)]
async fn a_run_survives_a_crash_at_every_point() {
    let ledger = Ledger::default();
    let points = Points::new();
    assert_eq!(visible(&told(&mut sim(points.clone(), &ledger)).await), TOLD);
    let names = points.point_names();
    assert!(names.len() >= 34, "only {} points: {names:?}", names.len());
    assert_eq!(ledger.count("send t2.c1"), 1);

    // Between its start in the journal and its result there, nobody knows whether it happened.
    let started = nth(&names, "after Append 5");
    let returned = nth(&names, "after Append 6");
    for (at, name) in names.iter().enumerate() {
        let ledger = Ledger::default();
        let mut sim = sim(Points::killing_at(at), &ledger);
        let seen = visible(&told(&mut sim).await);
        let expected = if (started..returned).contains(&at) { UNCERTAIN } else { TOLD };
        // Calls of one turn return in the order they happen to end in.
        assert_eq!(sorted(&seen), sorted(&expected), "killed at {at}, {name}");
        assert!(ledger.count("send t2.c1") <= 1, "sent twice when killed at {at}, {name}");
        assert!(!sim.has_alarm(), "an alarm is left when killed at {at}, {name}");
    }
}

pub(crate) fn sorted<T: ToString>(lines: &[T]) -> Vec<String> {
    let mut lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    lines.sort();
    lines
}

fn nth(names: &[String], name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| panic!("{name} in {names:#?}"))
}
