//! The alarms and timers of a simulation.

use std::time::Duration;

use djinn_runtime::port::RunKey;
use djinn_runtime::port::clock::Clock;

use super::Sim;

impl Sim {
    /// Returns true while an alarm or a timer is set.
    #[must_use]
    pub fn has_alarm(&self) -> bool {
        !self.host.lock_alarms().is_empty() || !self.host.lock_timers().is_empty()
    }

    /// Delays the removal of alarms by this time.
    pub fn delay_alarm_removal(&self, takes: Duration) {
        // Of two calls, the first counts.
        let _ = self.host.removal_takes.set(takes);
    }

    /// Fires all alarms and due timers: each invokes its run at once, and stays set.
    pub fn ring_alarms(&mut self) {
        let set: Vec<RunKey> = self.host.lock_alarms().iter().cloned().collect();
        set.into_iter().for_each(|key| self.invoke_run(key, 0, Duration::ZERO));
        self.ring_timers();
    }

    /// Fires all due timers, without removing them.
    pub fn ring_timers(&mut self) {
        let now_ms = self.ports.clock.now_ms();
        let timers = self.host.lock_timers().clone();
        let due = timers.into_iter().filter(|(_, at_ms)| *at_ms <= now_ms);
        due.for_each(|(key, _)| self.invoke_run(key, 0, Duration::ZERO));
    }
}
