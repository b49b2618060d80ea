//! A walk through a folder of foreign code, by descriptors.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;
use std::vec;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;

/// Bytes of a block, the unit of a file's disk usage (stat(3type)).
pub(crate) const BLOCK_BYTES: u64 = 512;

/// Maximum number of entries per folder in a walk, above the limit of any folder.
const MAX_ENTRIES: usize = 5_000;

/// A walk through the entries of a folder and of entered subfolders, sorted by name. The walk follows no
/// link, crosses no mount, and holds one folder open per level.
pub(crate) struct TreeWalk {
    device: u64,
    levels: Vec<Level>,
}

struct Level {
    folder: Rc<OwnedFd>,
    names: vec::IntoIter<CString>,
    path: PathBuf,
}

/// An entry with its open folder.
pub(crate) struct TreeEntry {
    folder: Rc<OwnedFd>,
    name: CString,
    /// The path from the walk's root.
    pub(crate) path: PathBuf,
    /// The status of the entry itself, not of a link's target.
    pub(crate) status: Stat,
}

impl TreeWalk {
    /// Begins a walk through `root`.
    pub(crate) fn begin(root: &OwnedFd) -> io::Result<Self> {
        let folder = open_folder(root, c".")?;
        let device = fstat(&folder)?.st_dev;
        let level = Level::new(folder, PathBuf::new())?;
        Ok(Self { device, levels: vec![level] })
    }

    /// Returns the next entry, first from the last entered folder. Vanished entries are skipped.
    pub(crate) fn next_node(&mut self) -> io::Result<Option<TreeEntry>> {
        while let Some(level) = self.levels.last_mut() {
            let Some(name) = level.names.next() else {
                self.levels.pop();
                continue;
            };
            let status = match statat(&*level.folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => continue,
                status => status?,
            };
            let path = level.path.join(name.to_string_lossy().as_ref());
            return Ok(Some(TreeEntry { folder: Rc::clone(&level.folder), name, path, status }));
        }
        Ok(None)
    }

    /// Returns the number of folders between the root and the next entries; 0 for entries of the root.
    pub(crate) fn depth(&self) -> usize {
        self.levels.len().saturating_sub(1)
    }

    /// Enters a folder, whose entries follow next.
    pub(crate) fn enter(&mut self, node: &TreeEntry) -> io::Result<()> {
        let folder = open_folder(&node.folder, &node.name)?;
        if fstat(&folder)?.st_dev != self.device {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
        self.levels.push(Level::new(folder, node.path.clone())?);
        Ok(())
    }
}

impl Level {
    fn new(folder: OwnedFd, path: PathBuf) -> io::Result<Self> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&folder)? {
            let name = entry?.file_name().to_owned();
            if !matches!(name.to_bytes(), b"." | b"..") {
                names.push(name);
            }
            if names.len() >= MAX_ENTRIES {
                break;
            }
        }
        names.sort();
        Ok(Self { folder: Rc::new(folder), names: names.into_iter(), path })
    }
}

impl TreeEntry {
    pub(crate) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.status.st_mode)
    }

    /// Returns the apparent size in bytes. Holes count, and every name of a file counts.
    pub(crate) fn apparent_size(&self) -> u64 {
        u64::try_from(self.status.st_size).unwrap_or(u64::MAX)
    }

    /// Returns the bytes on disk, including blocks beyond the end of the file.
    pub(crate) fn disk_size(&self) -> u64 {
        u64::try_from(self.status.st_blocks).unwrap_or(u64::MAX).saturating_mul(BLOCK_BYTES)
    }

    /// Opens the entry for reading if the entry is a regular file with a single name; `None` for anything
    /// else.
    pub(crate) fn open_regular_file(&self) -> io::Result<Option<OwnedFd>> {
        // Without these flags, opening a pipe in the file's place would block.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = match openat(&*self.folder, &self.name, flags | OFlags::CLOEXEC, Mode::empty()) {
            Err(Errno::NOENT | Errno::LOOP | Errno::ACCESS | Errno::NXIO) => return Ok(None),
            file => file?,
        };
        let status = fstat(&file)?;
        let is_regular = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
        Ok((is_regular && status.st_nlink == 1 && status.st_dev == self.status.st_dev)
            .then_some(file))
    }
}

/// Opens a folder without changing the access time, which would show foreign code when to hide files from the
/// walk.
fn open_folder(parent: &OwnedFd, name: &CStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = flags | OFlags::CLOEXEC;
    match openat(parent, name, flags | OFlags::NOATIME, Mode::empty()) {
        // Another user owns the folder.
        Err(Errno::PERM) => openat(parent, name, flags, Mode::empty()),
        opened => opened,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::MetadataExt;

    use rustix::fs::{CWD, Timespec, Timestamps, futimens};
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn walk_leaves_no_time_of_access() {
        let root = TempDir::new().unwrap();
        let inner = root.path().join("inner");
        fs::create_dir(&inner).unwrap();
        fs::write(inner.join("file"), "x").unwrap();
        let epoch = Timespec { tv_sec: 0, tv_nsec: 0 };
        let written = Timespec { tv_sec: 1, ..epoch };
        for folder in [root.path(), &inner] {
            let times = Timestamps { last_access: epoch, last_modification: written };
            futimens(File::open(folder).unwrap(), &times).unwrap();
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let opened = openat(CWD, root.path(), flags, Mode::empty()).unwrap();
        let mut walk = TreeWalk::begin(&opened).unwrap();
        let folder = walk.next_node().unwrap().unwrap();
        walk.enter(&folder).unwrap();
        assert_eq!(walk.next_node().unwrap().unwrap().path.to_str(), Some("inner/file"));
        assert!(walk.next_node().unwrap().is_none());
        for folder in [root.path(), &inner] {
            assert_eq!(fs::metadata(folder).unwrap().atime(), 0, "{}", folder.display());
        }
    }
}
