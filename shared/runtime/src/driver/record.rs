//! Recording: what happened is appended, then shown, and what is owed no longer is dropped.

use djinn_core::input::Input;

use super::timers::renew_lease;
use super::writer::{WriteError, WriteReport};
use super::{DriveEnd, DriveResult, Driver};
use crate::client::ClientStream;
use crate::ending::abandon_run;
use crate::port::Ports;
use crate::port::clock::Clock;
use crate::settings::to_millis;

impl<P: Ports> Driver<P> {
    /// Records inputs, shows what they made of the run, and drops what is owed no longer.
    pub(super) async fn record_inputs(&mut self, inputs: Vec<Input>) -> DriveResult {
        if inputs.is_empty() {
            return Ok(());
        }
        let written = self.append_inputs(inputs).await;
        self.finish_write(written).await?;
        self.delete_recorded_mail();
        Ok(())
    }

    /// Shows what joined the journal, and drops what is owed no longer.
    pub(super) async fn finish_write(&mut self, written: WriteReport) -> DriveResult {
        let WriteReport { records, outcome } = written;
        let joined: u64 = records.iter().map(|record| record.entries.len() as u64).sum();
        let mut nth = self.writer.journal().entry_count().saturating_sub(joined);
        for record in &records {
            self.show_record(record, nth).await;
            nth += record.entries.len() as u64;
        }
        if let Err(reason) = outcome {
            let client = self.client.take();
            return Err(match reason {
                WriteError::Superseded => DriveEnd::Superseded(client),
                WriteError::StoreUnavailable => DriveEnd::StoreUnavailable(client),
                WriteError::TooLarge => {
                    self.give_up_run().await;
                    DriveEnd::StoreUnavailable(client)
                }
            });
        }
        self.must_hand_over |= self.ports.settings().hand_over_after_record && !records.is_empty();
        let due = self.writer.run().due();
        self.background.cancel_except(|id, _| due.iter().any(|effect| effect.id() == *id));
        Ok(())
    }

    /// The run has failed: what it has to be told next cannot be kept, whoever drives it.
    async fn give_up_run(&mut self) {
        tracing::error!(run_id = %self.key.run, "given up: its next record is too large");
        if let Err(error) = abandon_run(&self.ports, &self.key).await {
            tracing::warn!(%error, "the run is given up by its next driver");
        }
    }

    /// Appends, and keeps the client and the lease alive while the store takes its time.
    async fn append_inputs(&mut self, inputs: Vec<Input>) -> WriteReport {
        let heartbeat_every = to_millis(self.ports.settings().heartbeat_every);
        let renew_every = to_millis(self.ports.settings().renew_every);
        let clock = self.ports.clock();
        let mut renew_at_ms = self.now_ms().saturating_add(renew_every);
        let attached = self.client.as_ref().is_some_and(ClientStream::reaches_asker);
        let mut writing = std::pin::pin!(self.writer.record_inputs(inputs, attached));
        loop {
            let client = self.client.as_mut();
            let beat_at_ms =
                client.as_ref().map_or(i64::MAX, |client| client.heartbeat_at_ms(heartbeat_every));
            tokio::select! {
                biased;
                written = &mut writing => return written,
                () = clock.sleep_until(beat_at_ms.min(renew_at_ms)) => {
                    let now_ms = clock.now_ms();
                    if let Some(client) = client.filter(|_| beat_at_ms <= now_ms) {
                        client.send_heartbeat(now_ms);
                    }
                    if renew_at_ms <= now_ms {
                        renew_at_ms = now_ms.saturating_add(renew_every);
                        self.background.spawn_background(renew_lease(&self.ports, &self.key, &self.lease));
                    }
                }
            }
        }
    }
}
