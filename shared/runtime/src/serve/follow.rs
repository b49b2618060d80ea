//! Following a run with a driver elsewhere: its journal, and previews from the live log.

use std::collections::VecDeque;

use djinn_core::journal::Record;
use djinn_core::status::RunStatus;
use djinn_protocol::preview::Live;

use crate::client::ClientStream;
use crate::history::{ChildHistory, child_histories, show_record};
use crate::leased_run::{LeasedRun, ServeContext, take_over};
use crate::live_reader::{ChildrenAtWork, LiveReader};
use crate::mailbox::read_mailbox;
use crate::pages::{JournalPages, read_journal};
use crate::port::alarm::Invoker;
use crate::port::clock::Clock;
use crate::port::journal::{Journals, RunMeta};
use crate::port::live::LiveLog;
use crate::port::page::PageSize;
use crate::port::{RunKey, StoreError};
use crate::reconnect::{MIN_STREAM, PAUSED};
use crate::settings::to_millis;
use crate::world::Ports;

/// The reason for the end of following.
pub(super) enum FollowEnd {
    /// The run had no driver: this invocation drives from now on.
    TakenOver { client: ClientStream, leased_run: Box<LeasedRun> },
    /// The run has ended, the client has disconnected, or this response must end.
    Ended,
}

/// The maximum number of consecutive failed polls before the client must reconnect.
const MAX_FAILURES: u32 = 20;

pub(super) async fn follow_run<P: Ports>(
    ports: &P,
    serving: &ServeContext,
    client: ClientStream,
) -> FollowEnd {
    let mut follower = Follower {
        ports: ports.clone(),
        serving,
        client,
        live_reader: LiveReader::default(),
        unshown: VecDeque::new(),
        child_histories: None,
        children_at_work: Some(ChildrenAtWork::default()),
        next_lease_check_ms: 0,
        started_ms: ports.clock().now_ms(),
        watched_until_ms: 0,
        failures: 0,
    };
    loop {
        if follower.client.connection().has_ended() || !follower.client.is_open() {
            if follower.client.is_first_with_end() {
                let end_shown = follower.client.end_shown();
                mark_end_shown(ports, &serving.key, end_shown).await;
            }
            return FollowEnd::Ended;
        }
        let now_ms = ports.clock().now_ms();
        let out_of_time = serving.deadline.left_ms(now_ms) == Some(0);
        let out_of_time = out_of_time || ports.shutdown().is_requested();
        let has_to_end = out_of_time || follower.client.is_hand_over_requested(now_ms);
        if has_to_end || follower.failures > MAX_FAILURES {
            // A response with an end of its own shows the whole journal until then.
            if follower.client.is_brief() && !out_of_time && follower.catch_up_to_end().await {
                continue;
            }
            follower.client.hand_over(now_ms);
            return FollowEnd::Ended;
        }
        match follower.poll_run().await {
            Ok(Some(leased_run)) => {
                return FollowEnd::TakenOver { client: follower.client, leased_run };
            }
            Ok(None) => follower.failures = 0,
            Err(error) => {
                tracing::warn!(%error, run_id = %serving.key.run, "run not followed");
                follower.failures += 1;
            }
        }
        // The client waits for the end of the stream.
        if !follower.client.connection().has_ended() {
            ports.clock().sleep(ports.settings().follow_every).await;
        }
    }
}

struct Follower<'a, P: Ports> {
    ports: P,
    serving: &'a ServeContext,
    client: ClientStream,
    live_reader: LiveReader,
    /// Records read but not yet shown, at most one page.
    unshown: VecDeque<Record>,
    /// The histories left to show of children ended by the first unshown record, once looked up.
    child_histories: Option<VecDeque<ChildHistory>>,
    /// Earlier entries of children at work when the client came, until all are shown.
    children_at_work: Option<ChildrenAtWork>,
    next_lease_check_ms: i64,
    started_ms: i64,
    watched_until_ms: i64,
    failures: u32,
}

impl<P: Ports> Follower<'_, P> {
    /// Polls the run once. Returns the run if it has no driver.
    async fn poll_run(&mut self) -> Result<Option<Box<LeasedRun>>, StoreError> {
        let ports = self.ports.clone();
        let serving = self.serving;
        let key = &serving.key;
        let store = ports.store();
        let settings = ports.settings();
        // Read nothing for a client that does not read.
        if !self.wait_for_room().await {
            return Ok(None);
        }
        let now_ms = self.ports.clock().now_ms();
        if self.watched_until_ms.saturating_sub(now_ms) < to_millis(settings.watch_for) / 2 {
            self.watched_until_ms = now_ms.saturating_add(to_millis(settings.watch_for));
            store.mark_watched(key, self.watched_until_ms).await?;
        }
        // Items lost here follow later from the journal.
        let misses = self.client.missing_entries();
        let live = self.live_reader.read_new(&ports, key, &misses).await.unwrap_or_else(|error| {
            tracing::debug!(%error, run_id = %key.run, "live log not read");
            Vec::new()
        });
        // Send pieces before the record that completes their text. Send entries of children, and the summary,
        // after the records before them.
        let (pieces, later): (Vec<Live>, Vec<Live>) = live.into_iter().partition(is_of_turn);
        self.client.send_live(&pieces, now_ms);
        let is_behind = !self.catch_up().await?;
        self.client.send_live(&later, now_ms);
        if !is_behind {
            self.show_children_at_work().await;
        }
        if self.client.heartbeat_at_ms(to_millis(settings.heartbeat_every)) <= now_ms {
            self.client.send_heartbeat(now_ms);
        }
        if is_behind || self.client.connection().has_ended() || now_ms < self.next_lease_check_ms {
            return Ok(None);
        }
        self.next_lease_check_ms = now_ms.saturating_add(to_millis(settings.mailbox_every));
        let meta = store.find_meta(key).await?;
        self.handle_meta(meta, now_ms).await
    }

    /// Shows earlier entries of children at work when the client came, at the pace of the client.
    async fn show_children_at_work(&mut self) {
        let Some(mut children) = self.children_at_work.take() else { return };
        while !children.show_next(&self.ports, &self.serving.key, &mut self.client).await {
            let enough = self.ports.clock().sleep(self.ports.settings().follow_every);
            tokio::select! {
                () = self.client.wait_for_preview_room() => {}
                () = enough => {}
            }
            if !self.client.has_preview_room() {
                self.children_at_work = Some(children);
                return;
            }
        }
    }

    /// Acts on the run's current metadata. Returns the run if it has no driver.
    async fn handle_meta(
        &mut self,
        meta: Option<RunMeta>,
        now_ms: i64,
    ) -> Result<Option<Box<LeasedRun>>, StoreError> {
        let ports = self.ports.clone();
        let serving = self.serving;
        let key = &serving.key;
        match meta {
            Some(meta) if is_idle(&ports, key, &meta, now_ms).await? => {
                let next_number = self.client.connection().next_record_number();
                let ends_at_ms = self.started_ms.saturating_add(to_millis(MIN_STREAM));
                ports.clock().sleep_until(ends_at_ms).await;
                let has_all = self.catch_up().await?;
                // New records may end the pause: the next look at the metadata decides.
                if has_all && self.client.connection().next_record_number() == next_number {
                    self.client.hand_over_for(Some(PAUSED), ports.clock().now_ms());
                }
                Ok(None)
            }
            Some(meta)
                if self.client.is_brief()
                    && !meta.status.has_ended()
                    && !meta.is_driven(now_ms) =>
            {
                // The driver of a new run may be on its way.
                let patience_ms = to_millis(ports.settings().mailbox_every);
                if now_ms.saturating_sub(self.started_ms) >= patience_ms {
                    ports.invoker().kick_run(key, 0).await?;
                }
                Ok(None)
            }
            Some(meta) if !meta.status.has_ended() && !meta.is_driven(now_ms) => {
                let next_number = self.client.connection().next_record_number();
                let Some((driving, records)) = take_over(&ports, serving, next_number).await?
                else {
                    return Ok(None);
                };
                // The last driver may have written more records before leaving.
                for record in &records {
                    show_record(&ports, key, &mut self.client, record).await;
                }
                Ok(Some(driving))
            }
            // The final entry of an ended run is in the journal, unless expired meanwhile.
            Some(meta) if meta.status.has_ended() => {
                self.client.set_end_shown(meta.end_shown);
                if self.catch_up().await? && !self.client.connection().has_ended() {
                    self.client.hand_over(now_ms);
                }
                Ok(None)
            }
            Some(_) => Ok(None),
            // The run was deleted; a reconnecting client gets an error.
            None => {
                self.client.hand_over(now_ms);
                Ok(None)
            }
        }
    }

    /// Shows the journal page by page, at the pace of the client. Waits for the client until the next poll at
    /// most. Returns true if everything was shown.
    async fn catch_up(&mut self) -> Result<bool, StoreError> {
        let mut pages = None;
        loop {
            if !self.show_unshown().await? {
                return Ok(false);
            }
            if !self.client.is_open() {
                return Ok(true);
            }
            let next_number = self.client.connection().next_record_number();
            let pages = pages.get_or_insert_with(|| {
                JournalPages::starting_at(next_number, PageSize::FOR_VIEWER)
            });
            match pages.next_page(&self.ports, &self.serving.key).await? {
                None => return Ok(true),
                // The rest has expired meanwhile.
                Some(records)
                    if records.first().is_some_and(|first| first.number > next_number) =>
                {
                    self.client.hand_over(self.ports.clock().now_ms());
                    return Ok(true);
                }
                Some(records) => self.unshown.extend(records),
            }
        }
    }

    /// Shows the rest of the journal. Returns true if the run has ended.
    async fn catch_up_to_end(&mut self) -> bool {
        if let Err(error) = self.catch_up().await {
            tracing::warn!(%error, run_id = %self.serving.key.run, "journal not read to its end");
        }
        self.client.connection().has_ended()
    }

    /// Shows the records already read. Returns true if all were shown.
    async fn show_unshown(&mut self) -> Result<bool, StoreError> {
        while !self.unshown.is_empty() {
            if !self.wait_for_room().await {
                return Ok(false);
            }
            self.show_next().await?;
        }
        Ok(true)
    }

    /// Shows part of the first unshown record, or the rest of it.
    async fn show_next(&mut self) -> Result<(), StoreError> {
        let Some(record) = self.unshown.front() else { return Ok(()) };
        let key = &self.serving.key;
        let ending = self.child_histories.get_or_insert_with(|| child_histories(key, record));
        if let Some(child) = ending.front_mut() {
            match child.next_entries(&self.ports).await? {
                Some(entries) => {
                    self.client.send_child_entries(&entries, self.ports.clock().now_ms());
                }
                None => {
                    ending.pop_front();
                }
            }
            return Ok(());
        }
        self.client.send_record(record, &[], self.ports.clock().now_ms());
        self.unshown.pop_front();
        self.child_histories = None;
        Ok(())
    }

    /// Waits a while for room in the client's buffer. Returns true if an entry of the journal can be sent.
    async fn wait_for_room(&mut self) -> bool {
        if self.client.is_open() && !self.client.has_preview_room() {
            let enough = self.ports.clock().sleep(self.ports.settings().follow_every);
            tokio::select! {
                () = self.client.wait_for_journal_room() => {}
                () = enough => {}
            }
        }
        self.client.has_preview_room()
    }
}

/// Returns true for a piece of a turn, which always waits for the records before it.
fn is_of_turn(live: &Live) -> bool {
    match live {
        Live::Preview(preview) => preview.message.turn_number().is_some(),
        Live::Progress(_) => true,
        Live::Entry(_) => false,
    }
}

/// Notes that a client of the asker received the run's end, unless already noted. Without the note the end is
/// only shown once more. `known_state` is the note at the time the metadata was read, for an ended run.
async fn mark_end_shown<P: Ports>(ports: &P, key: &RunKey, known_state: Option<bool>) {
    let marking = async {
        let is_shown = match known_state {
            Some(is_shown) => is_shown,
            None => ports.store().find_meta(key).await?.is_none_or(|meta| meta.end_shown),
        };
        if is_shown { Ok(()) } else { ports.store().mark_end_shown(key).await }
    };
    if let Err(error) = marking.await {
        tracing::warn!(%error, run_id = %key.run, "it is not noted that the end was shown");
    }
}

/// Returns true if a run waits for users and has no news: no driver is needed then.
async fn is_idle<P: Ports>(
    ports: &P,
    key: &RunKey,
    meta: &RunMeta,
    now_ms: i64,
) -> Result<bool, StoreError> {
    if meta.status != RunStatus::Paused || meta.is_driven(now_ms) {
        return Ok(false);
    }
    if !read_mailbox(ports, key, &meta.session_key(&key.tenant)).await?.mail.is_empty() {
        return Ok(false);
    }
    let journal = read_journal(ports, key).await?;
    Ok(journal.run().next_expiry().is_none_or(|(_, at_ms)| at_ms > now_ms))
}
