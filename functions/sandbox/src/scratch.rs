//! The working folders of sandboxes, and the removal of dead processes' folders.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use tempfile::TempDir;

use crate::removal::remove_tree;
use crate::scripts;

/// The prefix of a process's folder name.
const PREFIX: &str = "process-";
/// The file in each folder that a live process keeps locked.
const LOCK: &str = "lock";

/// A folder of this process below the machine's folder. The folder is removed with the value, or by the next
/// process with the same parent.
pub(crate) struct Scratch {
    parent: PathBuf,
    /// `None` only during drop.
    own: Option<TempDir>,
    _lock: File,
}

impl Scratch {
    /// Creates `parent`, removes the folders of dead processes, and opens a new folder.
    pub(crate) fn open(parent: &Path) -> io::Result<Self> {
        fs::create_dir_all(parent)?;
        // While locked, no process removes a folder before the folder has its lock.
        let turn = create_lock(parent)?;
        turn.lock()?;
        remove_abandoned(parent)?;
        let own = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let lock = create_lock(own.path())?;
        lock.lock()?;
        let scratch = Self { parent: parent.to_owned(), own: Some(own), _lock: lock };
        scripts::lay_out(&scratch.scripts())?;
        for folder in [scratch.mount_point(), scratch.jobs(), scratch.cache()] {
            fs::create_dir_all(folder)?;
        }
        Ok(scratch)
    }

    fn path(&self) -> &Path {
        self.own.as_ref().map_or(&self.parent, TempDir::path)
    }

    /// The folder of the zygote's modules, readable by any user with access to the path.
    pub(crate) fn scripts(&self) -> PathBuf {
        self.path().join("scripts")
    }

    /// Returns an empty folder for the children's root.
    pub(crate) fn mount_point(&self) -> PathBuf {
        self.path().join("root")
    }

    /// The parent of the folders of jobs without a quota.
    pub(crate) fn jobs(&self) -> PathBuf {
        self.path().join("jobs")
    }

    /// The cache folder of the zygote's libraries, kept between processes.
    pub(crate) fn cache(&self) -> PathBuf {
        self.parent.join("cache")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let Some(own) = self.own.take() else { return };
        remove_folder(&self.parent, &own.keep());
    }
}

fn create_lock(folder: &Path) -> io::Result<File> {
    File::options().create(true).append(true).open(folder.join(LOCK))
}

/// Removes the folders of dead sandbox processes below `parent`.
///
/// # Errors
/// Returns [`io::Error`] if `parent` cannot be read.
pub fn remove_leftovers(parent: &Path) -> io::Result<()> {
    let turn = create_lock(parent)?;
    turn.lock()?;
    remove_abandoned(parent)
}

fn remove_abandoned(parent: &Path) -> io::Result<()> {
    for entry in fs::read_dir(parent)? {
        let entry = entry?;
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if !is_ours || !entry.file_type()?.is_dir() {
            continue;
        }
        let folder = entry.path();
        let is_abandoned = match File::options().append(true).open(folder.join(LOCK)) {
            Ok(lock) => lock.try_lock().is_ok(),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        if is_abandoned {
            remove_folder(parent, &folder);
        }
    }
    Ok(())
}

fn remove_folder(parent: &Path, folder: &Path) {
    let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
    let result = match (openat(CWD, parent, flags, Mode::empty()), folder.file_name()) {
        (Ok(parent), Some(name)) => remove_tree(&parent, name),
        (Ok(_), None) => Ok(()),
        (Err(error), _) => Err(error.into()),
    };
    if let Err(error) = result {
        tracing::warn!(folder = %folder.display(), %error, "a folder of the sandbox was not removed");
    }
}
