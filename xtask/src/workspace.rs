//! Where things lie.

use std::path::{Path, PathBuf};

/// The workspace's root.
pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// Where everything that is made lies.
pub(crate) fn target() -> PathBuf {
    root().join("target")
}
