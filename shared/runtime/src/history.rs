//! A run's history: the entries of its records, and of its tasks where they ended.

use djinn_core::entry::{Entry, Event};
use djinn_core::input::Input;
use djinn_core::journal::Record;

use crate::client::ClientStream;
use crate::port::clock::Clock;
use crate::port::journal::Journals;
use crate::port::{Ports, RunKey, StoreError};

/// Shows a record to a client, the entries of the tasks that ended with it first.
///
/// What a task did is in its own journal. If that cannot be read, the client is cut: it comes back
/// at its cursor.
pub async fn show<P: Ports>(ports: &P, key: &RunKey, client: &mut ClientStream, record: &Record) {
    if !client.is_open() || record.n != client.connection().wants() {
        return;
    }
    let entries = task_entries(ports, key, record).await;
    let now_ms = ports.clock().now_ms();
    match entries {
        Ok(entries) => client.record(record, &entries, now_ms),
        Err(error) => {
            tracing::warn!(%error, "task not shown");
            client.hand_over(now_ms);
        }
    }
}

/// The entries of the tasks that ended with a record, as they stand in its run's history. Of a task
/// that its run gave up, those of until then: nobody waits for what came after.
///
/// # Errors
/// [`StoreError`] when a task's journal cannot be read.
pub async fn task_entries<P: Ports>(
    ports: &P,
    key: &RunKey,
    record: &Record,
) -> Result<Vec<Entry>, StoreError> {
    let mut entries = Vec::new();
    for entry in &record.entries {
        let Event::TaskEnded { task, .. } = &entry.event else { continue };
        let is_it = |input: &Input| matches!(input, Input::TaskEnded(e) if e.report.task == *task);
        let until_ms = match record.inputs.iter().any(is_it) {
            true => i64::MAX,
            false => record.at_ms,
        };
        let records = ports.store().read(&key.with_task(task.clone()), 0).await?;
        let of_task = records.into_iter().filter(|of_task| of_task.at_ms <= until_ms);
        let of_task = of_task.flat_map(|record| record.entries);
        entries.extend(of_task.map(|entry| entry.within(task)));
    }
    Ok(entries)
}
