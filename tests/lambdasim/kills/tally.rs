//! What many killed runs went through.

use std::fmt;

use super::ledger::Marks;
use crate::client::Seen;

/// Sums over all runs of one test.
#[derive(Debug, Default)]
pub(super) struct Tally {
    runs: usize,
    /// Processes that were killed, or stood still.
    blows: usize,
    /// When each run was first struck, as a part of its life.
    moments: Vec<f64>,
    /// Runs whose history tells of a driver that died.
    resumed: usize,
    /// Calls that were done again, and whose repeat their receiver ignores.
    repeated: usize,
    /// `once` calls that may or may not have been done.
    uncertain: usize,
    /// Runs that were told again because the machine stood still.
    stood_still: u32,
}

impl Tally {
    /// The tally of one run, before its blows are counted.
    pub(super) fn of(seen: &Seen, marks: &Marks, uncertain: usize) -> Self {
        let resumed = usize::from(seen.count("run.resumed") > 0);
        Self { runs: 1, resumed, repeated: marks.repeated(), uncertain, ..Self::default() }
    }

    /// With its blows, when the first of them was, and how often it was told in vain before.
    pub(super) fn struck(self, blows: usize, moment: f64, stood_still: u32) -> Self {
        Self { blows, moments: vec![moment], stood_still, ..self }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.blows += other.blows;
        self.moments.extend(other.moments);
        self.resumed += other.resumed;
        self.repeated += other.repeated;
        self.uncertain += other.uncertain;
        self.stood_still += other.stood_still;
    }

    /// Checks that the runs, if they are many, were really disturbed, in each tenth of a life;
    /// `takes_over` is whether others go on with what was struck.
    pub(super) fn is_telling(&self, takes_over: bool) {
        if self.runs < 100 {
            return;
        }
        if takes_over {
            assert!(self.resumed * 3 >= self.runs, "few drivers died");
            assert!(self.repeated + self.uncertain > 0, "no tool was killed at its work");
        } else {
            assert_eq!((self.resumed, self.uncertain), (0, 0), "it was given up");
        }
        let least = self.tenths().into_iter().min().unwrap();
        assert!(least * 20 >= self.runs, "few kills in a part of life: {:?}", self.tenths());
    }

    /// How many runs were first struck in each tenth of a life.
    fn tenths(&self) -> [usize; 10] {
        let tenth = |moment: &f64| (1..10).filter(|part| moment * 10.0 >= f64::from(*part)).count();
        let mut tenths = [0; 10];
        self.moments.iter().for_each(|moment| tenths[tenth(moment)] += 1);
        tenths
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { runs, blows, resumed, repeated, uncertain, stood_still, .. } = self;
        let tenths = self.tenths();
        write!(
            f,
            "{runs} runs, {blows} processes struck, first in the tenths of a life {tenths:?}; \
             {resumed} runs resumed, {repeated} calls repeated, {uncertain} uncertain, \
             {stood_still} runs told again"
        )
    }
}
