//! Showing what happens: to our client, and to the driver of the run that this is a task of.

use djinn_core::journal::Record;
use djinn_core::preview::{Live, Preview};

use super::Driver;
use crate::client::ClientStream;
use crate::history::show;
use crate::port::{Ports, StoreError};

impl<P: Ports> Driver<P> {
    /// Shows a record. `nth` is the place of its first entry among those of the journal.
    pub(super) async fn show_record(&mut self, record: &Record, nth: u64) {
        for live in self.live.record(record, nth) {
            self.show_parent(live);
        }
        if let Some(client) = &mut self.client {
            show(&self.ports, &self.key, client, record).await;
        }
    }

    /// Shows what tasks in other invocations are writing.
    pub(super) fn show_live(&mut self, read: &Result<Vec<Live>, StoreError>) {
        let now_ms = self.now_ms();
        self.live_look.looked(now_ms);
        if let Some(client) = &mut self.client {
            let tasks = read.iter().flatten().filter(|live| live.within().is_some());
            client.live(tasks, now_ms);
        }
    }

    /// Shows what is written here: pieces that came together, together.
    pub(super) fn show_written(&mut self, news: &[Live]) {
        for live in news {
            // A task that is driven here writes to the live log by itself.
            if let Live::Piece(preview) = live
                && preview.within.is_none()
            {
                self.live.preview(preview);
                if let Some(task) = &self.key.task {
                    let within = Some(task.clone());
                    self.show_parent(Live::Piece(Preview { within, ..preview.clone() }));
                }
            }
        }
        let now_ms = self.now_ms();
        if let Some(client) = &mut self.client {
            client.live(news, now_ms);
        }
    }

    /// Returns when the client has room for what waits for some.
    pub(super) fn preview_room(&self) -> impl Future<Output = ()> + use<P> {
        let room = self.client.as_ref().map(ClientStream::preview_room);
        async move {
            match room {
                Some(room) => room.await,
                None => std::future::pending().await,
            }
        }
    }

    /// Shows the client what it had no room for before.
    pub(super) fn show_waiting(&mut self) {
        let now_ms = self.now_ms();
        if let Some(client) = &mut self.client {
            client.send_previews(now_ms);
        }
    }

    /// Shows the driver of our run, if it is in this invocation, what this task does.
    fn show_parent(&self, live: Live) {
        if let Some(parent) = &self.parent {
            // The run's driver may be gone; the task goes on.
            let _ = parent.send(live);
        }
    }
}
