//! Recording: what happened is appended, then shown, and what is owed no longer is dropped.

use djinn_core::input::Input;

use super::writer::WriteReport;
use super::{DriveResult, Driver};
use crate::port::Ports;

impl<P: Ports> Driver<P> {
    /// Records inputs, shows what they made of the run, and drops what is owed no longer.
    pub(super) async fn record_inputs(&mut self, inputs: Vec<Input>) -> DriveResult {
        if inputs.is_empty() {
            return Ok(());
        }
        let Self { run, lease, costs, client, background, .. } = self;
        let written = run.append_inputs(inputs, lease, costs, client, background).await;
        self.finish_write(written).await?;
        self.delete_recorded_mail();
        Ok(())
    }

    /// Shows what joined the journal, and drops what is owed no longer.
    pub(super) async fn finish_write(&mut self, written: WriteReport) -> DriveResult {
        let WriteReport { records, outcome } = written;
        let mut nth = self.run.first_entry_of(&records);
        for record in &records {
            self.show_record(record, nth).await;
            nth += record.entries.len() as u64;
        }
        if let Err(error) = outcome {
            let client = self.client.take();
            return Err(self.run.end_after(error, client).await);
        }
        self.must_hand_over |= self.run.settings().hand_over_after_record && !records.is_empty();
        let due = self.run.state().due();
        self.background.cancel_except(|id, _| due.iter().any(|effect| effect.id() == *id));
        Ok(())
    }
}
