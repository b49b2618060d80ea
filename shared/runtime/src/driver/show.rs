//! Showing what happens: to our client, and to the driver of the run that this is a task of.

use djinn_core::journal::Record;
use djinn_core::preview::{Live, Preview};

use super::Driver;
use crate::client::ClientStream;
use crate::history::show_record;
use crate::port::{Ports, StoreError};

impl<P: Ports> Driver<P> {
    /// Shows a record. `nth` is the place of its first entry among those of the journal.
    pub(super) async fn show_record(&mut self, record: &Record, nth: u64) {
        for live in self.live_writer.add_record(record, nth) {
            self.send_to_parent(live);
        }
        if let Some(client) = &mut self.client {
            show_record(self.run.ports(), self.run.key(), client, record).await;
        }
    }

    /// Shows what tasks in other invocations are writing.
    pub(super) fn show_remote_live(&mut self, read: &Result<Vec<Live>, StoreError>) {
        let now_ms = self.run.now_ms();
        self.live_poll.finish_poll(now_ms);
        if let Some(client) = &mut self.client {
            let tasks = read.iter().flatten().filter(|live| live.child().is_some());
            client.send_live(tasks, now_ms);
        }
    }

    /// Shows what is written here: pieces that came together, together.
    pub(super) fn show_local_live(&mut self, news: &[Live]) {
        for live in news {
            // A task that is driven here writes to the live log by itself.
            if let Live::Preview(preview) = live
                && preview.child.is_none()
            {
                self.live_writer.add_preview(preview);
                if let Some(task) = &self.run.key().task {
                    let within = Some(task.clone());
                    self.send_to_parent(Live::Preview(Preview {
                        child: within,
                        ..preview.clone()
                    }));
                }
            }
        }
        let now_ms = self.run.now_ms();
        if let Some(client) = &mut self.client {
            client.send_live(news, now_ms);
        }
    }

    /// Returns when the client has room for what waits for some.
    pub(super) fn wait_for_preview_room(&self) -> impl Future<Output = ()> + use<P> {
        let room = self.client.as_ref().map(ClientStream::wait_for_preview_room);
        async move {
            match room {
                Some(room) => room.await,
                None => std::future::pending().await,
            }
        }
    }

    /// Shows the client what it had no room for before.
    pub(super) fn send_waiting_previews(&mut self) {
        let now_ms = self.run.now_ms();
        if let Some(client) = &mut self.client {
            client.send_previews(now_ms);
        }
    }

    /// Shows the driver of our run, if it is in this invocation, what this task does.
    fn send_to_parent(&self, live: Live) {
        if let Some(parent) = &self.parent {
            // The run's driver may be gone; the task goes on.
            let _ = parent.send(live);
        }
    }
}
