//! The driver's periods, limits and retries.

mod outage_policy;
mod test_settings;
mod user;

use std::time::Duration;

use djinn_core::run::Run;
use djinn_settings::VarLookup;
use djinn_settings::table::runtime::{
    HAND_OVER_MARGIN_SECONDS, IDLE_STREAM_SECONDS, PROVIDER_PATIENCE_SECONDS, RETENTION_DAYS,
};

/// The error for an invalid variable, also of a deployment's own tools: the process does not start.
pub use djinn_settings::InvalidSetting;
pub use outage_policy::{NextAttempt, OutagePolicy, PassingFailure};
pub use user::UserLimits;

/// The driver's periods and limits. Tests shorten the periods. A deployment sets the handoff margin, the idle
/// time of streams, the patience with providers, the retention and the limits of users.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The time until a lease lapses without renewal (default 15 s).
    pub lease: Duration,
    /// The time between two renewals (default 5 s); a third of the lease leaves two tries.
    pub renew_every: Duration,
    /// The maximum time between two reads of the mailbox while an effect runs (default 1 s). Children with
    /// another driver shorten the time.
    pub mailbox_every: Duration,
    /// The maximum silence of a stream (default 5 s). Below every idle limit on the way: an edge-optimised
    /// API Gateway cuts at 30 s, and some proxies far sooner. The original's heartbeat is 10 s.
    pub heartbeat_every: Duration,
    /// The time before its deadline at which a driver starts the handoff (default 30 s).
    pub hand_over_margin: Duration,
    /// The minimum time between two additions of a writer to the live log (default 250 ms).
    pub live_every: Duration,
    /// The time between two polls of a viewer (default 250 ms).
    pub follow_every: Duration,
    /// The time between two checks that a following response still has its place among its user's streams
    /// (default 10 s). Applies if the number of streams is limited.
    pub stream_slot_every: Duration,
    /// The time between two checks of a child with another driver (default 30 s). A child without a driver is
    /// dispatched again.
    pub dispatch_every: Duration,
    /// The time after the last sent entry or preview for which a response stays open, if its driver only
    /// waits for children with other drivers (default 120 s). The response then ends with instructions to
    /// resume: a waiting function costs as much as a working function. Irrelevant for invocations without a
    /// deadline.
    pub idle_stream: Duration,
    /// The same time for clients whose protocol does not promise a reconnect (default 840 s).
    pub idle_stream_unresumable: Duration,
    /// The time for which a viewer's poll keeps the driver writing previews (default 20 s).
    pub watch_for: Duration,
    /// The bytes buffered for a slow client, above which an entry has no room (default 256 KiB). The response
    /// then ends with instructions to resume.
    pub client_buffer: usize,
    /// The time for which pieces of a message are merged, for clients whose protocol requires this (default
    /// 50 ms). With zero, the driver shows a piece of any protocol without waiting for those that follow at once.
    pub preview_merge_window: Duration,
    /// The waits for a model provider with a transient failure.
    pub outages: OutagePolicy,
    /// The waits for reservations held by other calls, and for alarms.
    pub hold_retries: RetryPolicy,
    /// Retries of a store operation, in addition to the client library's.
    pub store_retries: RetryPolicy,
    /// The time for which a journal is kept after its run's end (default 30 days).
    pub retention: Duration,
    /// The time for which a tool source's answer is cached (default 5 s).
    pub tool_sources_fresh: Duration,
    /// The maximum time of a tool call, whatever the tool declares (default unlimited).
    pub tool_timeout: Duration,
    /// The limits of one user.
    pub user: UserLimits,
    /// For tests only: after appending a record a driver starts no more work, and hands over when the started
    /// work is done.
    pub hand_over_after_record: bool,
}

/// A function's fifteen minutes less the default handoff margin, rounded down.
const MAX_IDLE_STREAM: Duration = Duration::from_secs(840);

impl Settings {
    /// Reads a deployment's settings; the rest have their defaults. If `DJINN_LOCAL` is 1, tests change other
    /// settings through `DJINN_TEST_SETTINGS`, which is an error anywhere else.
    ///
    /// # Errors
    /// Returns [`InvalidSetting`] with the name of an invalid variable.
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

    /// Returns these settings with the values of `djinn.toml`, as read later.
    #[must_use]
    pub fn apply_configured(&self, configured: &Self) -> Self {
        let outages = OutagePolicy { patience: configured.outages.patience, ..self.outages };
        Self {
            hand_over_margin: configured.hand_over_margin,
            idle_stream: configured.idle_stream,
            outages,
            retention: configured.retention,
            user: configured.user,
            ..self.clone()
        }
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

/// The number of attempts and the waits between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The number of attempts in all, at least 1.
    pub attempts: u32,
    /// The maximum wait before the second attempt; doubled for each later attempt.
    pub base: Duration,
    /// The upper limit of every wait.
    pub cap: Duration,
}

impl RetryPolicy {
    /// Reservations held by other calls, and alarms: 3 attempts, 0.5 s base, 8 s cap.
    pub const HOLD: Self =
        Self { attempts: 3, base: Duration::from_millis(500), cap: Duration::from_secs(8) };

    /// Store operations: 4 attempts, 50 ms base, 1 s cap.
    pub const STORE: Self =
        Self { attempts: 4, base: Duration::from_millis(50), cap: Duration::from_secs(1) };

    /// Returns the wait after `failed` attempts (from 1), or `None` after the last attempt. Full jitter:
    /// `jitter` in `0.0..1.0` scales the maximum wait, after "Exponential Backoff And Jitter" (AWS
    /// Architecture Blog, 2015).
    #[must_use]
    pub fn delay_after(&self, failed: u32, jitter: f64) -> Option<Duration> {
        if failed >= self.attempts {
            return None;
        }
        let delay = self.base.saturating_mul(1 << failed.saturating_sub(1).min(16));
        Some(delay.min(self.cap).mul_f64(jitter.clamp(0.0, 1.0)))
    }
}

/// Converts a duration to milliseconds.
#[must_use]
pub fn to_millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Returns the time after which a run's records may be deleted, in Unix seconds: the retention after the
/// latest possible end. (A record is written once, so its expiry cannot wait for the real end.)
#[must_use]
pub fn expiry_s(settings: &Settings, ends_at_ms: i64) -> i64 {
    ends_at_ms.saturating_add(to_millis(settings.retention)).div_euclid(1000)
}

/// The maximum pause of a run for human requests: the lifetime of its metadata.
const MAX_PAUSE: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// Returns the time after which this run's records may be deleted, in Unix seconds. A run with human requests
/// can pause for long, and its first records must still exist when it resumes.
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
            (name == "DJINN_LIMITS__RETENTION_DAYS").then(|| "many".to_owned())
        });
        let sentence =
            "DJINN_LIMITS__RETENTION_DAYS must be a whole number from 1 to 365, got `many`";
        assert_eq!(error.unwrap_err().to_string(), sentence);
        let on_laptop = |name: &str| (name == "DJINN_LOCAL").then(|| "1".to_owned());
        assert_eq!(Settings::from_vars(&on_laptop), Ok(Settings::default()));
    }

    #[test]
    fn how_long_a_stream_may_idle_is_a_setting() {
        let read = |seconds: &'static str| {
            let set = |name: &str| name == "DJINN_LIMITS__IDLE_STREAM_SECONDS";
            Settings::from_vars(&|name| set(name).then(|| seconds.to_owned()))
        };
        for (seconds, idle_s) in [("10", 10), ("840", 840), ("", 120)] {
            let settings = read(seconds).unwrap();
            assert_eq!(settings.idle_stream, Duration::from_secs(idle_s));
            assert_eq!(settings.idle_stream_unresumable, Duration::from_secs(840));
        }
        let error = read("9").unwrap_err().to_string();
        let sentence =
            "DJINN_LIMITS__IDLE_STREAM_SECONDS must be a whole number from 10 to 840, got `9`";
        assert_eq!(error, sentence);
    }
}
