//! The polling of the store for news from other processes, since no process notifies a driver.

use std::time::Duration;

use crate::settings::to_millis;

/// Milliseconds to the first poll after a reason to expect mail. No store read returns sooner.
const MAIL_SOON_MS: i64 = 10;

/// The same for the live log. Each poll sends a request to each shard of the log.
const LIVE_SOON_MS: i64 = 20;

/// The time of the next poll. A reason to expect news brings a poll soon; without news the polls slow down.
/// Each pause is half as long again as the one before. So news waits for at most a third of the time it took.
/// A wait of any length costs a dozen polls besides those of the longest pause.
#[derive(Debug, Clone, Copy)]
pub(super) struct PollSchedule {
    at_ms: i64,
    /// The end of the last poll, in Unix milliseconds.
    finished_at_ms: i64,
    pause_ms: i64,
    shortest_ms: i64,
    longest_ms: i64,
}

impl PollSchedule {
    /// Creates the schedule for mail: one poll in `longest`, until news is expected.
    pub(super) fn for_mail(longest: Duration, now_ms: i64) -> Self {
        Self::with_pauses(to_millis(longest), MAIL_SOON_MS, now_ms)
    }

    /// Creates the schedule for the live log.
    pub(super) fn for_live_log(longest: Duration, now_ms: i64) -> Self {
        Self::with_pauses(to_millis(longest), LIVE_SOON_MS, now_ms)
    }

    fn with_pauses(longest_ms: i64, soon_ms: i64, now_ms: i64) -> Self {
        let at_ms = now_ms.saturating_add(longest_ms);
        let shortest_ms = soon_ms.min(longest_ms);
        Self { at_ms, finished_at_ms: now_ms, pause_ms: longest_ms, shortest_ms, longest_ms }
    }

    /// Returns the time of the next poll, in Unix milliseconds; `i64::MAX` during a poll.
    pub(super) fn at_ms(&self) -> i64 {
        self.at_ms
    }

    /// Begins a poll if due, and returns true; then [`Self::finish_poll`] must follow.
    pub(super) fn begin_if_due(&mut self, now_ms: i64) -> bool {
        let is_due = self.at_ms <= now_ms;
        if is_due {
            self.at_ms = i64::MAX;
        }
        is_due
    }

    /// Makes a poll due now, unless a poll is in flight.
    pub(super) fn make_due(&mut self, now_ms: i64) {
        if self.at_ms < i64::MAX {
            self.at_ms = self.at_ms.min(now_ms);
        }
    }

    /// Ends a poll, and begins the next pause.
    pub(super) fn finish_poll(&mut self, now_ms: i64) {
        self.finished_at_ms = now_ms;
        self.at_ms = now_ms.saturating_add(self.pause_ms);
        self.pause_ms = (self.pause_ms + self.pause_ms / 2).min(self.longest_ms);
    }

    /// Shortens the current pause to 7/10 of the longest pause, if longer.
    pub(super) fn shorten_pause(&mut self) {
        if self.at_ms < i64::MAX {
            let at_ms = self.finished_at_ms.saturating_add(self.longest_ms / 10 * 7);
            self.at_ms = self.at_ms.min(at_ms);
        }
    }

    /// Polls soon: news is likely.
    pub(super) fn expect_news(&mut self, now_ms: i64) {
        self.pause_ms = self.shortest_ms;
        // A poll in flight schedules the next poll itself.
        if self.at_ms < i64::MAX {
            self.at_ms = self.at_ms.min(now_ms.saturating_add(self.pause_ms));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The moments of looks that take no time, up to some moment.
    fn moments(look: &mut PollSchedule, until_ms: i64) -> Vec<i64> {
        let mut moments = Vec::new();
        while look.at_ms() <= until_ms {
            let at_ms = look.at_ms();
            assert!(look.begin_if_due(at_ms));
            assert!(!look.begin_if_due(at_ms), "one at a time");
            look.finish_poll(at_ms);
            moments.push(at_ms);
        }
        moments
    }

    #[test]
    fn polls_are_regular_while_no_news_is_expected() {
        let mut look = PollSchedule::for_mail(Duration::from_secs(1), 0);
        assert_eq!(moments(&mut look, 3_500), [1_000, 2_000, 3_000]);
    }

    #[test]
    fn news_waits_for_a_third_of_the_time_it_took() {
        let mut look = PollSchedule::for_mail(Duration::from_secs(1), 0);
        look.expect_news(0);
        let moments = moments(&mut look, 3_600_000);
        assert_eq!(moments.iter().take(5).collect::<Vec<_>>(), [&10, &20, &35, &57, &90]);
        for pair in moments.windows(2) {
            let [earlier, later] = *pair else { unreachable!("windows of two") };
            assert!(
                later - earlier <= (earlier / 2 + MAIL_SOON_MS).min(1_000),
                "{earlier} {later}"
            );
        }
        assert!(moments.len() <= 3_600 + 12, "{} looks in an hour", moments.len());
    }

    #[test]
    fn news_expected_during_a_look_makes_the_next_one_soon() {
        let mut look = PollSchedule::for_mail(Duration::from_secs(1), 0);
        assert!(look.begin_if_due(1_000));
        look.expect_news(1_005);
        assert_eq!(look.at_ms(), i64::MAX);
        look.finish_poll(1_008);
        assert_eq!(look.at_ms(), 1_018);
    }

    #[test]
    fn a_poll_that_is_made_due_is_due_now_unless_one_is_under_way() {
        let mut look = PollSchedule::for_mail(Duration::from_secs(1), 0);
        look.make_due(300);
        assert_eq!(look.at_ms(), 300);
        assert!(look.begin_if_due(300));
        look.make_due(310);
        assert_eq!(look.at_ms(), i64::MAX);
    }

    #[test]
    fn shortened_pause_ends_after_seven_tenths_of_the_longest() {
        let mut look = PollSchedule::for_mail(Duration::from_secs(1), 5_000);
        look.shorten_pause();
        assert_eq!(look.at_ms(), 5_700);
        look.shorten_pause();
        assert_eq!(look.at_ms(), 5_700, "it is shortened once");
        assert!(look.begin_if_due(5_700));
        look.shorten_pause();
        assert_eq!(look.at_ms(), i64::MAX, "a look is under way");
        look.finish_poll(5_720);
        assert_eq!(look.at_ms(), 6_720, "the next pause is a whole one");
        look.expect_news(5_720);
        look.shorten_pause();
        assert_eq!(look.at_ms(), 5_730, "a shorter pause stays");
    }

    #[test]
    fn polls_are_never_further_apart_than_the_longest_pause() {
        let mut look = PollSchedule::for_mail(Duration::from_millis(5), 0);
        look.expect_news(0);
        assert_eq!(moments(&mut look, 20), [5, 10, 15, 20]);
    }
}
