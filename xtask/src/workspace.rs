//! Paths of the workspace and of the builds.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Returns the workspace's root: the parent of xtask's directory at compile time.
pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// Returns cargo's output folder for a profile.
pub(crate) fn profile_dir(profile: &str) -> PathBuf {
    #[allow(clippy::disallowed_methods, reason = "it is how cargo is told, and so are we")]
    let elsewhere = std::env::var_os("CARGO_TARGET_DIR");
    elsewhere.map_or_else(target_dir, |dir| root().join(dir)).join(profile)
}

/// Returns the folder for all other generated files.
pub(crate) fn target_dir() -> PathBuf {
    root().join("target")
}

/// Waits until no other process changes a folder under `target/`, and reserves it until the returned file is dropped.
///
/// # Errors
/// Returns an error if the lock file cannot be written.
pub(crate) fn lock_folder(name: &str) -> io::Result<File> {
    fs::create_dir_all(target_dir())?;
    let file = File::create(target_dir().join(format!("{name}.lock")))?;
    file.lock()?;
    Ok(file)
}
