//! The first lock of an MCP server whose file appears while `cargo dev` runs.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::{Duration, Instant};

use djinn_local::{NewServer, ServerLock};
use djinn_outside::McpServer;
use djinn_tools::local_folder::SERVERS_LOCK;

use crate::terminal::print_line;

/// The time between two looks at the folder, and the first wait for a server that cannot be listed.
const EVERY: Duration = Duration::from_secs(2);

/// The longest wait for a server that cannot be listed.
const LONGEST: Duration = Duration::from_secs(60);

/// Locks each server without any entry in the lock file, as long as `cargo dev` runs. A reason against it is printed
/// when it changes.
pub(super) async fn lock_new_servers(lock: &ServerLock) -> Infallible {
    let mut retries = Retries::default();
    let start = Instant::now();
    loop {
        let now = start.elapsed();
        for new in lock.lock_due_servers(|server| retries.is_due(server, now)).await {
            if let Some(line) = retries.record(&new, start.elapsed()) {
                print_line(&line);
            }
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// The servers that cannot be listed, by name.
#[derive(Default)]
struct Retries(BTreeMap<String, Retry>);

/// The next attempt to list a server.
struct Retry {
    /// The file of the server. A changed file is tried at once.
    server: McpServer,
    wait: Duration,
    /// The time of the next attempt, since the start of `cargo dev`.
    next: Duration,
    /// The reason that was printed last.
    reason: String,
}

impl Retries {
    fn is_due(&self, server: &McpServer, now: Duration) -> bool {
        let retry = self.0.get(&server.name);
        retry.is_none_or(|retry| retry.server != *server || now >= retry.next)
    }

    /// Records an attempt. Returns the line to print if the state of the server has changed.
    fn record(
        &mut self,
        NewServer { server, outcome }: &NewServer,
        now: Duration,
    ) -> Option<String> {
        let name = &server.name;
        let before = self.0.remove(name);
        let reason = match outcome {
            Ok(entry) => {
                return Some(format!(
                    "The server `{name}` is new, and its {} tools are in {SERVERS_LOCK} now ({} rejected).\n\
                     A later change counts only after `cargo xtask tools lock {name}`.",
                    entry.tools.len(),
                    entry.rejected.len()
                ));
            }
            Err(reason) => reason.clone(),
        };
        let before = before.filter(|before| before.server == *server);
        let wait = before.as_ref().map_or(EVERY, |before| LONGEST.min(before.wait * 2));
        let is_known = before.is_some_and(|before| before.reason == reason);
        let line = format!(
            "The server `{name}` is not locked, so no run is offered its tools: {reason}.\n\
             It is tried again, at least every {} seconds (docs/outside-tools.md).",
            LONGEST.as_secs()
        );
        let retry = Retry { server: server.clone(), wait, next: now + wait, reason };
        self.0.insert(name.clone(), retry);
        (!is_known).then_some(line)
    }
}

#[cfg(test)]
mod tests {
    use djinn_outside::{LockedServer, ServerTransport};

    use super::*;

    fn server(url: &str) -> McpServer {
        let text = format!("url = \"{url}\"\ntrust = \"none\"\n");
        McpServer::read("notes", "notes.toml", &text).unwrap()
    }

    #[test]
    fn a_dead_server_is_tried_after_growing_waits_and_a_changed_file_at_once() {
        let (mut retries, mut now) = (Retries::default(), Duration::ZERO);
        let dead = server("http://127.0.0.1:9/mcp");
        let fail = |retries: &mut Retries, server: &McpServer, reason: &str, now| {
            let outcome = Err(reason.to_owned());
            retries.record(&NewServer { server: server.clone(), outcome }, now)
        };
        for (attempt, wait) in [2, 4, 8, 16, 32, 60, 60].into_iter().enumerate() {
            assert!(retries.is_due(&dead, now), "{wait}");
            let line = fail(&mut retries, &dead, "it is unreachable", now);
            assert_eq!(line.is_some(), attempt == 0, "{line:?}");
            let wait = Duration::from_secs(wait);
            assert!(!retries.is_due(&dead, now + wait.saturating_sub(Duration::from_millis(1))));
            now += wait;
        }
        // Another reason, another file, and the end.
        let line = fail(&mut retries, &dead, "it is too slow", now).unwrap();
        assert!(line.starts_with("The server `notes` is not locked, so") && line.contains("slow"));
        let moved = server("http://127.0.0.1:9/moved");
        assert!(!retries.is_due(&dead, now) && retries.is_due(&moved, now));
        assert!(fail(&mut retries, &moved, "it is too slow", now).is_some());
        assert!(!retries.is_due(&moved, now) && retries.is_due(&moved, now + EVERY));
        let transport = ServerTransport::StreamableHttp;
        let entry = LockedServer::from_listing(&moved, transport, "2025-11-25", &[]);
        let line = retries.record(&NewServer { server: moved.clone(), outcome: Ok(entry) }, now);
        assert!(line.unwrap().starts_with("The server `notes` is new, and its 0 tools"));
        assert!(retries.is_due(&moved, now));
    }
}
