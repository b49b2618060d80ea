//! Removes folder trees created by foreign code.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fchmod, fstat, openat, statat, unlinkat};
use rustix::io::Errno;

/// Removes the folder `name` in `parent` with all contents, at any depth, with three descriptors at a time
/// and without recursion. No process may use the folder.
pub(crate) fn remove_tree(parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let name = CString::new(name.as_bytes())?;
    let mut folder = open_for_removal(parent, &name)?;
    let mut names = vec![name];
    while let Some(current) = names.last() {
        if let Some(inner) = remove_files(&folder)? {
            folder = open_for_removal(&folder, &inner)?;
            names.push(inner);
            continue;
        }
        if names.len() == 1 {
            return Ok(unlinkat(parent, current, AtFlags::REMOVEDIR)?);
        }
        // Nothing moves in the tree, so the parent is the folder entered before.
        let above = openat(&folder, "..", folder_flags(), Mode::empty())?;
        unlinkat(&above, current, AtFlags::REMOVEDIR)?;
        folder = above;
        names.pop();
    }
    Ok(())
}

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// Opens a folder for removing its contents, and restores the rights if the creator has removed them.
fn open_for_removal(parent: &OwnedFd, name: &CString) -> io::Result<OwnedFd> {
    let result = openat(parent, name, folder_flags(), Mode::empty());
    let folder = match result {
        Err(Errno::ACCESS) => {
            rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::empty())?;
            openat(parent, name, folder_flags(), Mode::empty())?
        }
        result => result?,
    };
    if !Mode::from_raw_mode(fstat(&folder)?.st_mode).contains(Mode::RWXU) {
        fchmod(&folder, Mode::RWXU)?;
    }
    Ok(folder)
}

/// Removes the entries of a folder up to the first subfolder, and returns the subfolder's name.
fn remove_files(folder: &OwnedFd) -> io::Result<Option<CString>> {
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let mut kind = entry.file_type();
        if kind == FileType::Unknown {
            let status = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
            kind = FileType::from_raw_mode(status.st_mode);
        }
        if kind == FileType::Directory {
            return Ok(Some(name.to_owned()));
        }
        unlinkat(folder, name, AtFlags::empty())?;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use rustix::fs::{CWD, mkdirat};
    use tempfile::TempDir;

    use super::*;

    fn open(path: &std::path::Path) -> OwnedFd {
        openat(CWD, path, folder_flags(), Mode::empty()).unwrap()
    }

    #[test]
    fn tree_of_60_000_nested_folders_is_removed() {
        // In memory, where there is such a folder: a disk takes a minute for it.
        let memory = TempDir::new_in("/dev/shm");
        let parent = memory.unwrap_or_else(|_| TempDir::new().unwrap());
        fs::create_dir(parent.path().join("job")).unwrap();
        let mut folder = open(&parent.path().join("job"));
        for _ in 0..60_000 {
            mkdirat(&folder, "d", Mode::RWXU).unwrap();
            folder = openat(&folder, "d", folder_flags(), Mode::empty()).unwrap();
        }
        // The kernel walks all the way up for each folder below which one is still open.
        drop(folder);
        remove_tree(&open(parent.path()), OsStr::new("job")).unwrap();
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_links_lead_to_stays_and_locked_folders_go() {
        let parent = TempDir::new().unwrap();
        let outside = TempDir::new().unwrap();
        fs::write(outside.path().join("kept"), "kept").unwrap();
        let job = parent.path().join("job");
        fs::create_dir_all(job.join("a/b")).unwrap();
        fs::write(job.join("a/b/file"), "x").unwrap();
        symlink(outside.path(), job.join("a/link")).unwrap();
        symlink(outside.path().join("kept"), job.join("link")).unwrap();
        fs::set_permissions(job.join("a/b"), Permissions::from_mode(0o000)).unwrap();
        fs::set_permissions(job.join("a"), Permissions::from_mode(0o500)).unwrap();
        remove_tree(&open(parent.path()), OsStr::new("job")).unwrap();
        assert!(!job.exists());
        assert_eq!(fs::read_to_string(outside.path().join("kept")).unwrap(), "kept");
    }
}
