//! Reading the live log for our client: previews and entries of children in other invocations.

use super::background::{BackgroundWork, DriverEvent};
use super::children::Children;
use super::driven_run::DrivenRun;
use super::poll_schedule::PollSchedule;
use super::viewers::Viewers;
use crate::live_reader::LiveReader;
use crate::world::Ports;

/// The schedule and the position of live-log reads.
pub(super) struct LivePoll {
    poll: PollSchedule,
    reader: LiveReader,
}

impl LivePoll {
    pub(super) fn new<P: Ports>(run: &DrivenRun<P>) -> Self {
        let poll = PollSchedule::for_live_log(run.settings().follow_every, run.now_ms());
        Self { poll, reader: LiveReader::default() }
    }

    /// Returns the time of the next read, in Unix milliseconds. `None` if the client needs nothing from the
    /// log.
    pub(super) fn next_wake_ms<P: Ports>(
        &self,
        run: &DrivenRun<P>,
        viewers: &Viewers,
        children: &Children,
    ) -> Option<i64> {
        is_needed(run, viewers, children).then(|| self.poll.at_ms())
    }

    pub(super) fn on_timer<P: Ports>(
        &mut self,
        now_ms: i64,
        run: &DrivenRun<P>,
        viewers: &Viewers,
        children: &Children,
        background: &mut BackgroundWork,
    ) {
        if is_needed(run, viewers, children) && self.poll.begin_if_due(now_ms) {
            let ports = run.ports().clone();
            let key = run.key().clone();
            let misses = viewers.missing_entries();
            let mut reader = std::mem::take(&mut self.reader);
            background.spawn_background(async move {
                let news = reader.read_new(&ports, &key, &misses).await;
                DriverEvent::LiveRead(Box::new(reader), news)
            });
        }
    }

    /// Ends a poll. The next poll continues with `reader`.
    pub(super) fn finish_poll(&mut self, reader: LiveReader, now_ms: i64) {
        self.reader = reader;
        self.poll.finish_poll(now_ms);
    }

    /// Polls soon: children are likely to write.
    pub(super) fn expect_news(&mut self, now_ms: i64) {
        self.poll.expect_news(now_ms);
    }
}

/// Returns true if children work in other invocations, or if the client misses entries of a child.
fn is_needed<P: Ports>(run: &DrivenRun<P>, viewers: &Viewers, children: &Children) -> bool {
    let Some(client) = viewers.open_client().filter(|_| !run.has_ended()) else { return false };
    children.has_remote(run) || client.has_missing_entries()
}
