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
        let Self { run, lease, costs, viewers, background, .. } = self;
        let written = run.append_inputs(inputs, lease, costs, viewers, background).await;
        self.finish_write(written).await?;
        self.mail.delete_recorded(&self.run, &mut self.background);
        Ok(())
    }

    /// Shows what joined the journal, and drops what is owed no longer.
    pub(super) async fn finish_write(&mut self, written: WriteReport) -> DriveResult {
        let WriteReport { records, outcome } = written;
        let Self { run, viewers, live_writer, .. } = self;
        viewers.show_records(run, live_writer, &records, run.first_entry_of(&records)).await;
        if let Err(error) = outcome {
            let client = self.viewers.take_client();
            return Err(self.run.end_after(error, client).await);
        }
        self.hand_over.on_records(&self.run, &records);
        self.background.cancel_unowed(self.run.state());
        Ok(())
    }
}
