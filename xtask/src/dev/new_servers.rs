//! The first lock of an MCP server whose file appears while `cargo dev` runs.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;

use djinn_local::{NewServer, ServerLock};
use djinn_tools::local_folder::SERVERS_LOCK;

use crate::terminal::print_line;

/// The time between two looks at the folder.
const EVERY: Duration = Duration::from_secs(2);

/// Locks each server without any entry in the lock file, as long as `cargo dev` runs. A reason against it is printed
/// once.
pub(super) async fn lock_new_servers(lock: &ServerLock) -> Infallible {
    let mut printed = BTreeSet::new();
    loop {
        for new in lock.lock_new_servers().await {
            let line = describe(&new);
            if printed.insert(line.clone()) {
                print_line(&line);
            }
        }
        tokio::time::sleep(EVERY).await;
    }
}

fn describe(NewServer { name, outcome }: &NewServer) -> String {
    match outcome {
        Ok(entry) => format!(
            "The server `{name}` is new, and its {} tools are in {SERVERS_LOCK} now ({} rejected).\n\
             A later change counts only after `cargo xtask tools lock {name}`.",
            entry.tools.len(),
            entry.rejected.len()
        ),
        Err(reason) => format!(
            "The server `{name}` is not locked, so no run is offered its tools: {reason}.\n\
             It is tried again every few seconds (docs/outside-tools.md)."
        ),
    }
}
