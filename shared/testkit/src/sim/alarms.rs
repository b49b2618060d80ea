//! The alarms and timers of a simulation.

use std::time::Duration;

use djinn_runtime::port::RunKey;
use djinn_runtime::port::clock::Clock;

use super::Sim;

impl Sim {
    /// Returns true if nothing brings the run back any more.
    #[must_use]
    pub fn has_alarm(&self) -> bool {
        !self.host.lock_alarms().is_empty() || !self.host.lock_timers().is_empty()
    }

    /// Lets the removal of an alarm take this long.
    pub fn delay_alarm_removal(&self, takes: Duration) {
        // Said twice, the first counts.
        let _ = self.host.removal_takes.set(takes);
    }

    /// Every alarm, and every timer that is due, invokes its run at once and stays set.
    pub fn ring_alarms(&mut self) {
        let set: Vec<RunKey> = self.host.lock_alarms().iter().cloned().collect();
        set.into_iter().for_each(|key| self.invoke_run(key, 0, Duration::ZERO));
        self.ring_timers();
    }

    /// Invokes every run whose timer has come, each once while nobody drives it.
    pub fn ring_timers(&mut self) {
        let now_ms = self.ports.clock.now_ms();
        let timers = self.host.lock_timers().clone();
        let due = timers.into_iter().filter(|(_, at_ms)| *at_ms <= now_ms);
        due.for_each(|(key, _)| self.invoke_run(key, 0, Duration::ZERO));
    }
}
