//! How long a driver waits for what, and how often it tries.

mod outage_policy;
mod test_settings;
mod user;

use std::time::Duration;

use djinn_core::run::Run;
use djinn_settings::VarLookup;
use djinn_settings::table::runtime::{
    HAND_OVER_MARGIN_SECONDS, IDLE_STREAM_SECONDS, PROVIDER_PATIENCE_SECONDS, RETENTION_DAYS,
};

/// What makes of a variable, also of one of a deployment's own tools, a reason not to start.
pub use djinn_settings::InvalidSetting;
pub use outage_policy::{NextAttempt, OutagePolicy, PassingFailure};
pub use user::UserLimits;

/// The driver's periods and bounds. Tests shorten them; a deployment changes the margin and the
/// retention.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How long a lease holds without renewal.
    pub lease: Duration,
    /// How often it is renewed; a third of the lease leaves two tries.
    pub renew_every: Duration,
    /// How often the mailbox is read while anything is in flight, at least: children at work elsewhere have
    /// it read more often.
    pub mailbox_every: Duration,
    /// Longest a client hears nothing. Below every idle limit on the way (an edge-optimised API
    /// Gateway cuts at 30 s, and some proxies far sooner); the original's is 10 s.
    pub heartbeat_every: Duration,
    /// How long before its deadline a driver starts to hand over.
    pub hand_over_margin: Duration,
    /// How often one writer adds to the live log at most.
    pub live_every: Duration,
    /// How often a viewer looks for news.
    pub follow_every: Duration,
    /// How often a response that follows a run looks whether it still has its place among its user's
    /// streams, where their number has a bound.
    pub stream_slot_every: Duration,
    /// How often a child that somebody else works on is looked after: one that nobody drives is
    /// dispatched again.
    pub dispatch_every: Duration,
    /// How long a response goes on whose driver only waits for children that others work on, after the last
    /// entry or preview that was sent. Then it ends with how to go on: a function that waits costs as much
    /// as one that works. Of no interest where an invocation has no deadline.
    pub idle_stream: Duration,
    /// The same for clients whose protocol does not say that they come back.
    pub idle_stream_unresumable: Duration,
    /// How long one look of a viewer keeps the driver writing previews.
    pub watch_for: Duration,
    /// Bytes that wait for a slow client before an entry has no room: then its response ends with how
    /// to go on.
    pub client_buffer: usize,
    /// How long pieces of a message are collected before they are sent as one, to clients whose protocol
    /// asks for it.
    pub preview_merge_window: Duration,
    /// The waits for a model's provider that fails in a way that passes.
    pub outages: OutagePolicy,
    /// The waits for a reservation that others hold, and for alarms.
    pub hold_retries: RetryPolicy,
    /// Retries of a store operation, on top of those of the client library.
    pub store_retries: RetryPolicy,
    /// How long a journal is kept after its run ended.
    pub retention: Duration,
    /// How long an answer of a tool source holds before it is asked again.
    pub tool_sources_fresh: Duration,
    /// The most that a tool call may take, whatever its tool declares.
    pub tool_timeout: Duration,
    /// What one user may do.
    pub user: UserLimits,
    /// For tests only: a driver that has appended a record starts nothing more, and hands over when
    /// what it has started is done.
    pub hand_over_after_record: bool,
}

/// What is left of a function's fifteen minutes less the margin of the hand-over, rounded down.
const MAX_IDLE_STREAM: Duration = Duration::from_secs(840);

impl Settings {
    /// The settings of a deployment, of which the rest are the defaults. On a laptop, where `DJINN_LOCAL` is
    /// 1, tests change others through `DJINN_TEST_SETTINGS`; anywhere else that is refused.
    ///
    /// # Errors
    /// [`InvalidSetting`] names the variable.
    pub fn from_vars(var: VarLookup<'_>) -> Result<Self, InvalidSetting> {
        let days: u64 = RETENTION_DAYS.read_number(var)?;
        let patience = Duration::from_secs(PROVIDER_PATIENCE_SECONDS.read_number(var)?);
        let mut settings = Self {
            hand_over_margin: Duration::from_secs(HAND_OVER_MARGIN_SECONDS.read_number(var)?),
            idle_stream: Duration::from_secs(IDLE_STREAM_SECONDS.read_number(var)?),
            outages: OutagePolicy { patience, ..OutagePolicy::DEFAULT },
            retention: Duration::from_secs(days * 24 * 60 * 60),
            user: UserLimits::from_vars(var)?,
            ..Self::default()
        };
        test_settings::apply_test_settings(&mut settings, var)?;
        Ok(settings)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(15),
            renew_every: Duration::from_secs(5),
            mailbox_every: Duration::from_secs(1),
            heartbeat_every: Duration::from_secs(5),
            hand_over_margin: Duration::from_secs(30),
            live_every: Duration::from_millis(250),
            follow_every: Duration::from_millis(250),
            stream_slot_every: Duration::from_secs(10),
            dispatch_every: Duration::from_secs(30),
            idle_stream: Duration::from_secs(120),
            idle_stream_unresumable: MAX_IDLE_STREAM,
            watch_for: Duration::from_secs(20),
            client_buffer: 256 * 1024,
            preview_merge_window: Duration::from_millis(50),
            outages: OutagePolicy::DEFAULT,
            hold_retries: RetryPolicy::HOLD,
            store_retries: RetryPolicy::STORE,
            retention: Duration::from_secs(30 * 24 * 60 * 60),
            tool_sources_fresh: Duration::from_secs(5),
            tool_timeout: Duration::MAX,
            user: UserLimits::default(),
            hand_over_after_record: false,
        }
    }
}

/// How often something is tried, and how long is waited in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Tries in all, at least 1.
    pub attempts: u32,
    /// The most that is waited before the second try; doubled for each one after.
    pub base: Duration,
    /// The most that is ever waited.
    pub cap: Duration,
}

impl RetryPolicy {
    /// Reservations that others hold, and alarms: 3 attempts, 0.5 s base, 8 s cap.
    pub const HOLD: Self =
        Self { attempts: 3, base: Duration::from_millis(500), cap: Duration::from_secs(8) };

    /// Store operations: 4 attempts, 50 ms base, 1 s cap.
    pub const STORE: Self =
        Self { attempts: 4, base: Duration::from_millis(50), cap: Duration::from_secs(1) };

    /// How long to wait after `failed` tries (from 1) before the next one, or `None` when there is
    /// none left. Full jitter: `jitter` in `0.0..1.0` chooses a point between nothing and the most,
    /// after "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015).
    #[must_use]
    pub fn delay_after(&self, failed: u32, jitter: f64) -> Option<Duration> {
        if failed >= self.attempts {
            return None;
        }
        let doubled = self.base.saturating_mul(1 << failed.saturating_sub(1).min(16));
        Some(doubled.min(self.cap).mul_f64(jitter.clamp(0.0, 1.0)))
    }
}

/// A duration in milliseconds.
#[must_use]
pub fn to_millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// When the records of a run may be deleted, Unix seconds: its retention after the last moment it
/// can end at. (A record is written once, so its expiry cannot wait for the real end.)
#[must_use]
pub fn expiry_s(settings: &Settings, ends_at_ms: i64) -> i64 {
    ends_at_ms.saturating_add(to_millis(settings.retention)).div_euclid(1000)
}

/// How long a run may wait for people: as long as its metadata is kept.
const MAX_PAUSE: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// When the records of this run may be deleted, Unix seconds. One that asks people may wait for long
/// in its middle, and its first records must be there when it goes on.
#[must_use]
pub fn journal_expiry_s(settings: &Settings, run: &Run) -> i64 {
    let pause = if run.spec().settings.human.enabled { MAX_PAUSE } else { Duration::ZERO };
    let ends_at_ms = run.wall_time_deadline_ms().saturating_add(to_millis(pause));
    expiry_s(settings, ends_at_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_cap_and_attempts_run_out() {
        let policy = RetryPolicy { attempts: 9, ..RetryPolicy::HOLD };
        let most: Vec<_> = (1..9).map(|n| policy.delay_after(n, 1.0).unwrap()).collect();
        let ms = [500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000, 8_000];
        assert_eq!(most, ms.map(Duration::from_millis));
        assert_eq!(policy.delay_after(1, 0.5), Some(Duration::from_millis(250)));
        assert_eq!(policy.delay_after(9, 0.5), None);
    }

    #[test]
    fn a_setting_that_cannot_be_used_is_named() {
        let error = Settings::from_vars(&|name| {
            (name == "DJINN_RETENTION_DAYS").then(|| "many".to_owned())
        });
        let sentence = "DJINN_RETENTION_DAYS must be a whole number from 1 to 365, got `many`";
        assert_eq!(error.unwrap_err().to_string(), sentence);
        assert_eq!(Settings::from_vars(&|_| None), Ok(Settings::default()));
    }

    #[test]
    fn how_long_a_stream_may_idle_is_a_setting() {
        let read = |seconds: &'static str| {
            let set = |name: &str| name == "DJINN_IDLE_STREAM_SECONDS";
            Settings::from_vars(&|name| set(name).then(|| seconds.to_owned()))
        };
        for (seconds, idle_s) in [("10", 10), ("840", 840), ("", 120)] {
            let settings = read(seconds).unwrap();
            assert_eq!(settings.idle_stream, Duration::from_secs(idle_s));
            assert_eq!(settings.idle_stream_unresumable, Duration::from_secs(840));
        }
        let error = read("9").unwrap_err().to_string();
        let sentence = "DJINN_IDLE_STREAM_SECONDS must be a whole number from 10 to 840, got `9`";
        assert_eq!(error, sentence);
    }
}
