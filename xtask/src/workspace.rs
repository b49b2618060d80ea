//! The paths here are those of the workspace, and of what is built in it.

use std::path::{Path, PathBuf};

/// The root is the parent of xtask's own directory, as it was when xtask was compiled.
pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// Where cargo puts what it builds in a profile.
pub(crate) fn profile_dir(profile: &str) -> PathBuf {
    #[allow(clippy::disallowed_methods, reason = "it is how cargo is told, and so are we")]
    let elsewhere = std::env::var_os("CARGO_TARGET_DIR");
    elsewhere.map_or_else(target_dir, |dir| root().join(dir)).join(profile)
}

/// Where everything else that is made lies.
pub(crate) fn target_dir() -> PathBuf {
    root().join("target")
}
