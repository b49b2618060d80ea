//! Waiting for others with a client attached: its response is paid for, so it ends when nothing was to
//! be shown for a while.

use djinn_core::status::RunStatus;

use super::Driver;
use crate::client::ClientStream;
use crate::port::Ports;
use crate::settings::to_millis;

impl<P: Ports> Driver<P> {
    /// Whether it only waits for others and has a client to wait with, for some time yet. Looking
    /// after tasks is no work; what it performs by itself, and whatever the client is shown, has it begin
    /// anew.
    pub(super) fn can_idle(&mut self) -> bool {
        let attached = self.client.as_ref().is_some_and(ClientStream::is_open);
        // People take their time: nobody waits for them with a function.
        let paused = self.run.state().status() == RunStatus::Paused;
        if !attached || paused || self.is_handing_over() || !self.is_only_waiting() {
            return false;
        }
        let now_ms = self.run.now_ms();
        self.idle_since_ms.get_or_insert(now_ms);
        self.idle_until_ms().is_some()
    }

    /// Until when it waits, Unix milliseconds; `None` if it does not, or no longer.
    pub(super) fn idle_until_ms(&self) -> Option<i64> {
        let (client, idle_since_ms) = (self.client.as_ref()?, self.idle_since_ms?);
        if !self.deadline.is_known() {
            // A laptop is not paid for by the second.
            return Some(i64::MAX);
        }
        let settings = self.run.settings();
        let longest = match client.connection().can_resume() {
            true => settings.idle_stream,
            false => settings.idle_stream_unresumable,
        };
        let since_ms = idle_since_ms.max(client.last_shown_ms());
        let until_ms = since_ms.saturating_add(to_millis(longest));
        (until_ms > self.run.now_ms()).then_some(until_ms)
    }
}
