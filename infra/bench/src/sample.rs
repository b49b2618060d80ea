//! Samples of a measure.

use std::time::Duration;

/// Durations in milliseconds.
#[derive(Debug, Default)]
pub(crate) struct Sample(Vec<f64>);

impl Sample {
    /// Adds a duration, stored in milliseconds with fractions.
    pub(crate) fn add(&mut self, took: Duration) {
        self.0.push(took.as_secs_f64() * 1_000.0);
    }

    /// Returns the median.
    pub(crate) fn median(&self) -> f64 {
        self.percentile(50)
    }

    /// Returns the 95th percentile.
    pub(crate) fn p95(&self) -> f64 {
        self.percentile(95)
    }

    /// Returns the 99th percentile.
    pub(crate) fn p99(&self) -> f64 {
        self.percentile(99)
    }

    /// Returns a percentile by nearest rank; 0 for an empty sample.
    fn percentile(&self, percent: usize) -> f64 {
        let mut values = self.0.clone();
        values.sort_by(f64::total_cmp);
        let rank = (values.len() * percent).div_ceil(100).saturating_sub(1);
        values.get(rank).copied().unwrap_or_default()
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
