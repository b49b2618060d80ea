//! The quota of a job's folder if the kernel enforces none: all data the job has written and still holds.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, fstat};
use rustix::process::Pid;

use crate::tree::{BLOCK_BYTES, TreeWalk};

/// Maximum bytes of a job's folder, including deleted files that are still open.
pub(crate) const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// Maximum number of entries in a job's folder.
pub(crate) const MAX_ENTRIES: usize = 2_000;
/// Maximum depth of nested folders.
const MAX_DEPTH: usize = 32;
/// Bytes counted for a deleted file that is only mapped: the maximum size of a file.
const MAPPED_BYTES: u64 = 64 * 1024 * 1024;

/// Returns true if a job's folder exceeds the quota or cannot be counted, for example because of depth or
/// missing rights. Deleted files that `process` has open or mapped count too.
pub(crate) fn exceeds_quota(folder: &OwnedFd, process: Pid) -> bool {
    let Ok(visible) = count_visible(folder) else { return true };
    let deleted_bytes = count_deleted(folder, process).unwrap_or_default();
    visible.saturating_add(deleted_bytes) > MAX_BYTES
}

fn count_visible(folder: &OwnedFd) -> io::Result<u64> {
    let mut bytes: u64 = 0;
    let mut entries = 0;
    let mut walk = TreeWalk::begin(folder)?;
    while let Some(node) = walk.next_node()? {
        entries += 1;
        if entries > MAX_ENTRIES || walk.depth() > MAX_DEPTH {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        bytes = bytes.saturating_add(node.apparent_size().max(node.disk_size()));
        if node.kind() == FileType::Directory {
            match walk.enter(&node) {
                // The entry was removed or replaced meanwhile.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                    ) => {}
                entered => entered?,
            }
        }
    }
    Ok(bytes)
}

/// Counts the bytes of deleted files held by a process in the file system of `folder`.
fn count_deleted(folder: &OwnedFd, process: Pid) -> io::Result<u64> {
    let device = fstat(folder)?.st_dev;
    let Some((thread, maps)) = find_live_thread(process)? else { return Ok(0) };
    let mut bytes: u64 = 0;
    let mut open = BTreeSet::new();
    for entry in fs::read_dir(thread.join("fd"))? {
        // The entry refers to the file itself, independent of the name.
        let Ok(status) = fs::metadata(entry?.path()) else { continue };
        let is_deleted = status.is_file() && status.st_nlink() == 0 && status.st_dev() == device;
        if is_deleted && open.insert(status.st_ino()) {
            let on_disk = status.st_blocks().saturating_mul(BLOCK_BYTES);
            bytes = bytes.saturating_add(status.st_size().max(on_disk));
        }
    }
    // The device in maps may differ from the file's device, because file systems are stacked.
    let place = fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd()))?;
    let is_deleted_here = |line: &str| {
        let path = line.strip_suffix(" (deleted)").and_then(|line| line.get(line.find('/')?..));
        path.is_some_and(|path| Path::new(path).starts_with(&place))
    };
    // proc(5): address, permissions, offset, device, inode, path.
    let inode_of = |line: &str| line.split_ascii_whitespace().nth(4)?.parse().ok();
    let mapped_inodes: BTreeSet<u64> =
        maps.lines().filter(|line| is_deleted_here(line)).filter_map(inode_of).collect();
    let mapped_only_count = mapped_inodes.difference(&open).count() as u64;
    Ok(bytes.saturating_add(mapped_only_count.saturating_mul(MAPPED_BYTES)))
}

/// Returns a live thread's folder below `/proc` and the process's maps. Threads share descriptors and memory.
/// After the first thread has ended, its folder shows neither, although other threads continue.
fn find_live_thread(process: Pid) -> io::Result<Option<(PathBuf, String)>> {
    for entry in fs::read_dir(format!("/proc/{}/task", process.as_raw_nonzero()))? {
        let thread = entry?.path();
        match fs::read_to_string(thread.join("maps")) {
            Ok(maps) if !maps.is_empty() => return Ok(Some((thread, maps))),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use rustix::fs::{CWD, FallocateFlags, Mode, OFlags, fallocate, openat};
    use tempfile::TempDir;

    use std::sync::{Mutex, MutexGuard, PoisonError};

    use super::*;

    fn open(folder: &TempDir) -> OwnedFd {
        openat(CWD, folder.path(), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap()
    }

    fn this_process() -> Pid {
        rustix::process::getpid()
    }

    /// Deleted files count for the whole process, so one test at a time may have some.
    fn be_alone() -> MutexGuard<'static, ()> {
        static ALONE: Mutex<()> = Mutex::new(());
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[test]
    fn visible_and_deleted_files_count_by_their_apparent_size() {
        let _alone = be_alone();
        let folder = TempDir::new().unwrap();
        let is_over = || exceeds_quota(&open(&folder), this_process());
        let create = |name: &str, size: u64| {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_len(size).unwrap();
            file
        };
        drop(create("sparse", MAX_BYTES / 2));
        assert!(!is_over());
        let held = create("deleted", MAX_BYTES / 2 + 1);
        assert!(is_over());
        fs::remove_file(folder.path().join("deleted")).unwrap();
        assert!(is_over());
        drop(held);
        assert!(!is_over());
        fs::hard_link(folder.path().join("sparse"), folder.path().join("second")).unwrap();
        fs::hard_link(folder.path().join("sparse"), folder.path().join("third")).unwrap();
        assert!(is_over());
    }

    #[test]
    fn disk_beyond_the_end_of_a_file_counts() {
        let _alone = be_alone();
        let folder = TempDir::new().unwrap();
        let file = File::create(folder.path().join("file")).unwrap();
        let allocate = |bytes: u64| fallocate(&file, FallocateFlags::KEEP_SIZE, 0, bytes).unwrap();
        allocate(MAX_BYTES / 2);
        assert!(!exceeds_quota(&open(&folder), this_process()));
        allocate(MAX_BYTES + 1);
        assert!(exceeds_quota(&open(&folder), this_process()));
        fs::remove_file(folder.path().join("file")).unwrap();
        assert!(exceeds_quota(&open(&folder), this_process()));
    }

    #[test]
    fn folders_that_are_too_deep_or_too_many_exceed_the_quota() {
        let _alone = be_alone();
        let folder = TempDir::new().unwrap();
        let mut path = folder.path().to_owned();
        for _ in 0..=MAX_DEPTH {
            path.push("d");
            fs::create_dir(&path).unwrap();
        }
        assert!(!exceeds_quota(&open(&folder), this_process()));
        fs::create_dir(path.join("d")).unwrap();
        assert!(exceeds_quota(&open(&folder), this_process()));
        let folder = TempDir::new().unwrap();
        for number in 0..MAX_ENTRIES {
            fs::create_dir(folder.path().join(number.to_string())).unwrap();
        }
        assert!(!exceeds_quota(&open(&folder), this_process()));
        fs::create_dir(folder.path().join("one more")).unwrap();
        assert!(exceeds_quota(&open(&folder), this_process()));
    }
}
