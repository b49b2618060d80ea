//! The walls around model-written code on this machine.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use djinn_runtime::port::sandbox::SandboxKind;
use serde::Deserialize;
use serde_json::json;
use tempfile::TempDir;

use crate::scratch::Scratch;

/// The walls around a zygote's children.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Walls {
    /// The version of Python.
    pub python: String,
    /// The version of Landlock's ABI; 0 without Landlock.
    pub landlock: u32,
    /// True if the kernel accepts seccomp programs.
    pub seccomp: bool,
    /// True if a child sees no files but Python's and its own, and the kernel enforces a quota on the child's
    /// folder.
    pub private_root: bool,
    /// True if a child's threads and signals are counted separately.
    pub own_user: bool,
}

impl Walls {
    /// Detects the walls of this kernel with any Python from 3.11 on; takes about 0.1 s.
    ///
    /// # Errors
    /// Returns [`io::Error`] if Python cannot be run.
    pub fn probe(python: &Path) -> io::Result<Self> {
        let parent = TempDir::new()?;
        let scratch = Scratch::open(parent.path())?;
        let settings = json!({
            "sandbox": SandboxKind::Code, "programs": [], "fonts": [], "needs_file_wall": false,
            "max_landlock": u32::MAX, "mount_point": scratch.mount_point(),
        });
        let mut command = Command::new(python);
        command.args(["-I", "-B"]).arg(scratch.scripts().join("zygote.py"));
        command.arg("--walls").arg(settings.to_string()).env_clear().stdin(Stdio::null());
        let output = command.output()?;
        serde_json::from_slice(&output.stdout).map_err(io::Error::other)
    }

    /// Returns a missing wall that disables code, if any. A wall around files is required only if
    /// `needs_file_wall`.
    #[must_use]
    pub fn missing(&self, needs_file_wall: bool) -> Option<&'static str> {
        match self {
            Self { seccomp: false, .. } => Some("seccomp"),
            Self { landlock: 0, private_root: false, .. } if needs_file_wall => {
                Some("Landlock and no namespaces")
            }
            Self { .. } => None,
        }
    }
}
