//! The delays of a stream's events between writing and arrival.

/// Minimum span of a stream, in milliseconds. In a shorter stream, a buffer is not visible.
pub(super) const MEASURABLE_MS: u64 = 300;

/// The times of a stream's events, in milliseconds.
#[derive(Debug, Default)]
pub(super) struct StreamTiming {
    /// Times by the server's clock, each with the time of arrival by this machine's clock.
    events: Vec<(i64, i64)>,
}

impl StreamTiming {
    /// Adds an event: `written_ms` is its `at_ms`, `arrived_ms` the time of arrival. The two clocks may differ.
    pub(super) fn add_event(&mut self, written_ms: u64, arrived_ms: u64) {
        self.events.push((written_ms.cast_signed(), arrived_ms.cast_signed()));
    }

    pub(super) fn event_count(&self) -> usize {
        self.events.len()
    }

    /// Returns the milliseconds between the first and the last event, by the server's clock.
    pub(super) fn span_ms(&self) -> u64 {
        let first = self.events.iter().map(|(written, _)| *written).min().unwrap_or_default();
        let last = self.events.iter().map(|(written, _)| *written).max().unwrap_or_default();
        last.abs_diff(first)
    }

    /// Returns the mean delay in milliseconds. The event with the smallest delay counts as immediate, because
    /// the difference of the clocks is unknown.
    pub(super) fn mean_delay_ms(&self) -> u64 {
        let delays = || self.events.iter().map(|(written, arrived)| arrived - written);
        let least = delays().min().unwrap_or_default();
        self.mean(delays().map(|delay| delay.abs_diff(least)))
    }

    /// Returns true if the mean delay is more than half of the mean delay of events that wait for the last one.
    pub(super) fn is_buffered(&self) -> bool {
        let last = self.events.iter().map(|(written, _)| *written).max().unwrap_or_default();
        let longest_waits = self.events.iter().map(|(written, _)| last.abs_diff(*written));
        self.mean_delay_ms() * 2 > self.mean(longest_waits)
    }

    fn mean(&self, values: impl Iterator<Item = u64>) -> u64 {
        values.sum::<u64>() / (self.events.len() as u64).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(events: &[(u64, u64)]) -> StreamTiming {
        let mut timing = StreamTiming::default();
        for (written_ms, arrived_ms) in events {
            timing.add_event(*written_ms, *arrived_ms);
        }
        timing
    }

    #[test]
    fn a_stream_that_arrives_at_once_is_buffered() {
        for (events, is_buffered) in [
            // As written, with clocks that differ.
            (&[(9_000, 10), (9_100, 112), (9_400, 409)][..], false),
            (&[(10, 9_000), (110, 9_100), (410, 9_450)], false),
            // All at once, and all at once after the first.
            (&[(9_000, 410), (9_100, 410), (9_400, 411)], true),
            (&[(9_000, 10), (9_100, 410), (9_200, 410), (9_300, 410), (9_400, 410)], true),
            // A single pause of the network.
            (&[(0, 0), (100, 100), (200, 300), (300, 300), (400, 400), (500, 500)], false),
            // A slow model with a fast stream, and the same held back.
            (&[(0, 0), (900, 905), (1_000, 1_003), (1_100, 1_100), (1_200, 1_204)], false),
            (&[(0, 1_204), (900, 1_204), (1_000, 1_204), (1_100, 1_204), (1_200, 1_204)], true),
            (&[(0, 0), (900, 905)], false),
            (&[(0, 905), (900, 905)], true),
        ] {
            assert_eq!(timing(events).is_buffered(), is_buffered, "{events:?}");
        }
    }

    #[test]
    fn span_and_delay_are_those_of_the_servers_clock() {
        let timing = timing(&[(9_000, 50), (9_100, 160), (9_400, 450)]);
        assert_eq!((timing.event_count(), timing.span_ms(), timing.mean_delay_ms()), (3, 400, 3));
        assert_eq!(StreamTiming::default().span_ms(), 0);
        assert_eq!(StreamTiming::default().mean_delay_ms(), 0);
    }
}
