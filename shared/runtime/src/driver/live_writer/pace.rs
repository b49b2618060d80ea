//! The pace at which each writer adds to a run's live log.
//!
//! A store counts log writes in units of 1 KB, and each partition takes 1 000 units a second. The total of
//! all writers stays far below the capacity of a log's partitions. So no partition is throttled, even if
//! chance gives it more writers than others.

/// Units a second for all writers of a log.
const UNITS_PER_S: u64 = 1_200;

/// Units a second for one writer, the maximum even with few writers.
const UNITS_OF_ONE_PER_S: u64 = 40;

/// Units of one write, at most.
const MAX_UNITS: u64 = 100;

/// Bytes of a unit, and bytes of a write besides its contents.
const UNIT: u64 = 1024;
const OVERHEAD: u64 = 250;

/// The pace of one writer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    every_ms: i64,
    writers: u64,
}

impl Pace {
    /// Returns the pace of one of `writers` writers, at most one write in `every_ms`.
    pub(super) fn of(every_ms: i64, writers: u32) -> Self {
        Self { every_ms, writers: u64::from(writers.max(1)) }
    }

    /// Returns the minimum milliseconds between two writes.
    pub(super) fn every_ms(self) -> i64 {
        self.every_ms
    }

    /// Returns the maximum bytes of one write.
    pub(super) fn max_bytes(self) -> usize {
        let units = (UNITS_PER_S / self.writers).clamp(1, MAX_UNITS);
        usize::try_from(units * UNIT - OVERHEAD).unwrap_or(usize::MAX)
    }

    /// Returns the milliseconds to wait after a write with `free_bytes` of [`Self::max_bytes`] unused.
    pub(super) fn pause_ms(self, free_bytes: usize) -> i64 {
        let bytes = self.max_bytes().saturating_sub(free_bytes) as u64 + OVERHEAD;
        let units = bytes.div_ceil(UNIT);
        let pause_of_all = units * 1000 * self.writers / UNITS_PER_S;
        let pause_of_one = units * 1000 / UNITS_OF_ONE_PER_S;
        self.every_ms.max(i64::try_from(pause_of_all.max(pause_of_one)).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Of a log's writers, at most this share writes to one partition; the store's own test.
    const MOST_IN_ONE: f64 = 0.4;

    proptest! {
        #[test]
        fn no_partition_takes_more_than_a_thousand_units_in_any_second(
            writers in 30u32..=1_000, sizes in proptest::collection::vec(0usize..200_000, 1..20),
        ) {
            // A writer that always has more to write, in pieces of these sizes.
            let pace = Pace::of(250, writers);
            let mut writes: Vec<(i64, u64)> = Vec::new();
            let mut at_ms = 0;
            for size in sizes.iter().cycle().take(60) {
                let written = (*size).min(pace.max_bytes());
                writes.push((at_ms, (written as u64 + OVERHEAD).div_ceil(UNIT)));
                at_ms += pace.pause_ms(pace.max_bytes() - written);
            }
            for (from, _) in &writes {
                let second = writes.iter().filter(|(at, _)| (*from..from + 1000).contains(at));
                let units: u64 = second.map(|(_, units)| units).sum();
                let in_one = f64::from(writers) * MOST_IN_ONE;
                prop_assert!(units as f64 * in_one <= 1_000.0, "{units} units of each");
            }
        }
    }

    #[test]
    fn a_few_writers_are_not_slowed_by_what_people_and_models_write() {
        for writers in [1, 10] {
            let pace = Pace::of(250, writers);
            assert!(pace.max_bytes() > 90_000);
            assert_eq!(pace.pause_ms(pace.max_bytes() - 5_000), 250);
        }
        // A thousand write a little less than a kilobyte, once a second.
        let pace = Pace::of(250, 1_000);
        assert_eq!((pace.max_bytes(), pace.pause_ms(0)), (774, 833));
    }
}
