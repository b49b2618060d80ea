//! What many killed runs went through.

use std::fmt;

use super::ledger::Marks;
use crate::client::Seen;

/// Sums over runs.
#[derive(Debug, Default)]
pub(super) struct Tally {
    runs: usize,
    /// Processes killed.
    kills: usize,
    /// When each run was first killed, as a part of its life.
    moments: Vec<f64>,
    /// Runs whose history tells of a driver that died.
    resumed: usize,
    /// Calls that were done again, and whose repeat their receiver ignores.
    repeated: usize,
    /// `once` calls that may or may not have been done.
    uncertain: usize,
}

impl Tally {
    /// One run's.
    pub(super) fn of(seen: &Seen, marks: &Marks, uncertain: usize) -> Self {
        let resumed = usize::from(seen.count("run.resumed") > 0);
        Self { runs: 1, resumed, repeated: marks.repeated(), uncertain, ..Self::default() }
    }

    /// With its kills, and when the first of them was.
    pub(super) fn killed(self, kills: usize, moment: f64) -> Self {
        Self { kills, moments: vec![moment], ..self }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.kills += other.kills;
        self.moments.extend(other.moments);
        self.resumed += other.resumed;
        self.repeated += other.repeated;
        self.uncertain += other.uncertain;
    }

    /// Checks that the runs, if they are many, were really disturbed, in each tenth of a life.
    pub(super) fn is_telling(&self) {
        if self.runs < 100 {
            return;
        }
        assert!(self.resumed * 3 >= self.runs, "few drivers died");
        assert!(self.repeated > 0 && self.uncertain > 0, "no tool was killed at its work");
        let least = self.tenths().into_iter().min().unwrap();
        assert!(least * 20 >= self.runs, "few kills in a part of life: {:?}", self.tenths());
    }

    /// How many runs were first killed in each tenth of a life.
    fn tenths(&self) -> [usize; 10] {
        let tenth = |moment: &f64| (1..10).filter(|part| moment * 10.0 >= f64::from(*part)).count();
        let mut tenths = [0; 10];
        self.moments.iter().for_each(|moment| tenths[tenth(moment)] += 1);
        tenths
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { runs, kills, resumed, repeated, uncertain, .. } = self;
        let tenths = self.tenths();
        write!(
            f,
            "{runs} runs, {kills} processes killed, first in the tenths of a life {tenths:?}; \
             {resumed} runs resumed, {repeated} calls repeated, {uncertain} uncertain"
        )
    }
}
