//! Which `cargo dev` is running, so that `cargo dev ask` uses it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// An announced system; the announcement goes with it.
pub(super) struct Running(PathBuf);

impl Running {
    /// Says where the system over `home` listens.
    pub(super) fn announce(home: &Path, url: &str) -> Result<Self> {
        let file = home.join("running");
        std::fs::write(&file, url).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(Self(file))
    }

    /// The URL of a system that runs over `home`, if one answers there.
    pub(super) async fn find(home: &Path, http: &reqwest::Client) -> Option<String> {
        let url = std::fs::read_to_string(home.join("running")).ok()?;
        let answer = http.get(format!("{url}/web/health")).send().await.ok()?;
        answer.status().is_success().then_some(url)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A stale announcement is noticed when nobody answers.
        let _ = std::fs::remove_file(&self.0);
    }
}
