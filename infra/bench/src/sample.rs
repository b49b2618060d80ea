//! Samples of a measure.

use std::time::Duration;

/// Durations in milliseconds.
#[derive(Debug, Default)]
pub(crate) struct Sample(Vec<f64>);

impl Sample {
    /// The measurement is kept in milliseconds, with their fractions.
    pub(crate) fn add(&mut self, took: Duration) {
        self.0.push(took.as_secs_f64() * 1_000.0);
    }

    /// Returns the median.
    pub(crate) fn median(&self) -> f64 {
        self.percentile(50)
    }

    /// All but the slowest twentieth took at most this long.
    pub(crate) fn p95(&self) -> f64 {
        self.percentile(95)
    }

    /// All but the slowest hundredth took at most this long.
    pub(crate) fn p99(&self) -> f64 {
        self.percentile(99)
    }

    /// By the nearest rank; 0 of nothing.
    fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
        sorted.get(rank).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let mut sample = Sample::default();
        assert_eq!(sample.median(), 0.0);
        for ms in (1..=20).rev() {
            sample.add(Duration::from_millis(ms));
        }
        assert_eq!((sample.median(), sample.p95()), (10.0, 19.0));
    }
}
