//! Announces a running `cargo dev`, for `cargo dev ask`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::advice::HomeFile;

/// Timeout for a system's health check.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// The file with the last system's URL.
const LAST: &str = "last-url";

/// The announcement of a running system, removed on drop.
pub(super) struct Announcement(PathBuf);

impl Announcement {
    /// Announces the URL of the system over `home`.
    pub(super) fn announce_url(home: &Path, url: &str) -> Result<Self> {
        let file = home.join("running");
        for file in [&file, &home.join(LAST)] {
            std::fs::write(file, url).with_context(|| HomeFile(file.clone()))?;
        }
        Ok(Self(file))
    }

    /// Returns the URL of the last system over `home`, running or not.
    pub(super) fn last_url(home: &Path) -> Option<String> {
        std::fs::read_to_string(home.join(LAST)).ok()
    }

    /// Returns the URL of a running system over `home`, if the health check succeeds.
    pub(super) async fn find_running(home: &Path, http: &reqwest::Client) -> Option<String> {
        let url = std::fs::read_to_string(home.join("running")).ok()?;
        let health = http.get(format!("{url}/web/health")).timeout(ANSWERS_WITHIN);
        let answer = health.send().await.ok()?;
        answer.status().is_success().then_some(url)
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        // A stale announcement fails the health check.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_system_listened_last_is_known_when_it_is_gone() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(Announcement::last_url(home.path()), None);
        for url in ["http://127.0.0.1:9000", "http://127.0.0.1:9100"] {
            drop(Announcement::announce_url(home.path(), url).unwrap());
            assert_eq!(Announcement::last_url(home.path()).as_deref(), Some(url));
            assert!(!home.path().join("running").exists());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_takes_connections_and_says_nothing_is_no_running_system() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", silent.local_addr().unwrap());
        let home = tempfile::tempdir().unwrap();
        let _running = Announcement::announce_url(home.path(), &url).unwrap();
        let http = reqwest::Client::builder().build().unwrap();
        let found = tokio::time::timeout(
            ANSWERS_WITHIN * 2,
            Announcement::find_running(home.path(), &http),
        )
        .await;
        assert_eq!(found, Ok(None));
    }
}
