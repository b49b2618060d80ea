//! The viewers of a driver: its client, and the driver of its caller.

use djinn_core::journal::Record;
use djinn_protocol::connection::MissingEntry;
use djinn_protocol::preview::Live;

use super::caller::CallerLink;
use super::driven_run::DrivenRun;
use super::live_writer::LiveWriter;
use crate::client::ClientStream;
use crate::history::show_record;
use crate::live_reader::ChildrenAtWork;
use crate::port::StoreError;
use crate::reconnect::reconnect_delay;
use crate::settings::to_millis;
use crate::world::Ports;

/// The client of a driver, and the caller's driver, if any.
pub(super) struct Viewers {
    client: Option<ClientStream>,
    caller: Option<CallerLink>,
}

impl Viewers {
    pub(super) fn new(client: Option<ClientStream>, caller: Option<CallerLink>) -> Self {
        Self { client, caller }
    }

    /// Returns true if the caller's driver is in this invocation.
    pub(super) fn has_caller(&self) -> bool {
        self.caller.is_some()
    }

    /// Returns the time of the next heartbeat or preview, in Unix milliseconds.
    pub(super) fn next_wake_ms<P: Ports>(&self, run: &DrivenRun<P>) -> Option<i64> {
        let client = self.client.as_ref()?;
        let heartbeat_at_ms = client.heartbeat_at_ms(to_millis(run.settings().heartbeat_every));
        let previews_at_ms = client.next_preview_at_ms();
        Some(heartbeat_at_ms.min(previews_at_ms.unwrap_or(i64::MAX)))
    }

    pub(super) fn on_timer<P: Ports>(&mut self, now_ms: i64, run: &DrivenRun<P>) {
        self.send_waiting_previews(now_ms);
        if self.heartbeat_at_ms(to_millis(run.settings().heartbeat_every)) <= now_ms {
            self.send_heartbeat(now_ms);
        }
    }

    /// Returns the client, even if disconnected.
    pub(super) fn client(&self) -> Option<&ClientStream> {
        self.client.as_ref()
    }

    /// Takes the client, for another driver or a follower.
    pub(super) fn take_client(&mut self) -> Option<ClientStream> {
        self.client.take()
    }

    /// Returns the client while it can receive frames.
    pub(super) fn open_client(&self) -> Option<&ClientStream> {
        self.client.as_ref().filter(|client| client.is_open())
    }

    /// Returns true if the asker would receive an entry now.
    pub(super) fn reaches_asker(&self) -> bool {
        self.client.as_ref().is_some_and(ClientStream::reaches_asker)
    }

    /// Returns the entries of children that the client misses; see [`ClientStream::missing_entries`].
    pub(super) fn missing_entries(&self) -> Vec<MissingEntry> {
        self.client.as_ref().map(ClientStream::missing_entries).unwrap_or_default()
    }

    /// Returns the time of the client's next heartbeat, in Unix milliseconds; `i64::MAX` without a client.
    pub(super) fn heartbeat_at_ms(&self, every_ms: i64) -> i64 {
        self.client.as_ref().map_or(i64::MAX, |client| client.heartbeat_at_ms(every_ms))
    }

    pub(super) fn send_heartbeat(&mut self, now_ms: i64) {
        if let Some(client) = &mut self.client {
            client.send_heartbeat(now_ms);
        }
    }

    /// Shows earlier records, starting with the first, and the entries of children at work.
    pub(super) async fn show_earlier<P: Ports>(
        &mut self,
        run: &DrivenRun<P>,
        live_writer: &mut LiveWriter,
        records: &[Record],
    ) {
        self.show_records(run, live_writer, records, 0).await;
        if let Some(client) = &mut self.client {
            let mut children = ChildrenAtWork::default();
            children.show_next(run.ports(), run.key(), client).await;
            children.leave_rest(client);
        }
    }

    /// Shows records. `first` is the index of their first entry in the journal.
    pub(super) async fn show_records<P: Ports>(
        &mut self,
        run: &DrivenRun<P>,
        live_writer: &mut LiveWriter,
        records: &[Record],
        first: u64,
    ) {
        let mut nth = first;
        for record in records {
            self.send_to_caller(live_writer.add_record(record, nth));
            if let Some(client) = &mut self.client {
                show_record(run.ports(), run.key(), client, record).await;
            }
            nth += record.entries.len() as u64;
        }
    }

    /// Shows pieces written here; pieces received together are shown together. `early` goes to the caller's
    /// driver.
    pub(super) fn show_local_live(&mut self, news: &[Live], early: Vec<Live>, now_ms: i64) {
        self.send_to_caller(early);
        if let Some(client) = &mut self.client {
            client.send_live(news, now_ms);
        }
    }

    /// Shows previews and entries of children in other invocations.
    pub(super) fn show_remote_live(&mut self, news: &Result<Vec<Live>, StoreError>, now_ms: i64) {
        if let Some(client) = &mut self.client {
            let children = news.iter().flatten().filter(|live| !live.path().is_root());
            client.send_live(children, now_ms);
        }
    }

    /// Waits until the client has room for waiting previews and early entries.
    pub(super) fn wait_for_preview_room(&self) -> impl Future<Output = ()> + use<> {
        let room = self.client.as_ref().map(ClientStream::wait_for_preview_room);
        async move {
            match room {
                Some(room) => room.await,
                None => std::future::pending().await,
            }
        }
    }

    /// Shows the client previews and early entries that had no room before.
    pub(super) fn send_waiting_previews(&mut self, now_ms: i64) {
        if let Some(client) = &mut self.client {
            client.send_previews(now_ms);
        }
    }

    /// Sends the client instructions to resume, with the delay of the reconnect, and ends the response.
    pub(super) fn hand_over_client<P: Ports>(&mut self, run: &DrivenRun<P>) {
        if let Some(client) = &mut self.client {
            let now_ms = run.now_ms();
            client.hand_over_for(reconnect_delay(run.state(), now_ms), now_ms);
        }
    }

    /// Sends the child's previews and entries to the caller's driver, if in this invocation.
    fn send_to_caller(&self, early: Vec<Live>) {
        let Some(caller) = &self.caller else { return };
        for live in early {
            // The caller's driver may be gone; the child continues.
            let _ = caller.live_sender.send(live);
        }
    }
}
