//! The folder of a job: its files before, and its products after. Everything in it is reached from descriptors that
//! were opened before the job began.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use djinn_core::id::FileName;
use djinn_runtime::port::sandbox::{MAX_PRODUCT, MAX_PRODUCT_BYTES, MAX_PRODUCTS, SandboxFile};
use rustix::fs::{CWD, FileType, Mode, OFlags, fchmod, mkdirat, openat};
use sha2::{Digest, Sha256};

use crate::removal::remove_tree;
use crate::tree::{TreeEntry, TreeWalk};

/// Folders within each other that are looked into.
const MAX_DEPTH: usize = 4;
/// Entries of the folder that are looked at.
const MAX_ENTRIES: usize = 4_000;
/// Files that are left out by name; nobody could read a longer list.
const MAX_LEFT_OUT: usize = 50;

/// The folder of one job, with `work`, where its code is, and `tmp`. It is removed with the value.
pub(crate) struct JobFolder {
    root: OwnedFd,
    work: OwnedFd,
    /// Whether the job has a user of its own, who must be able to change its files.
    has_own_user: bool,
    /// The files that were laid out, by name.
    given: BTreeMap<String, GivenFile>,
    _removal: Option<Removal>,
}

/// A file that was laid out.
struct GivenFile {
    size: u64,
    hash: Vec<u8>,
}

/// The products of a job.
#[derive(Default)]
pub(crate) struct Products {
    pub(crate) files: Vec<SandboxFile>,
    pub(crate) left_out: Vec<String>,
}

impl JobFolder {
    /// Creates a folder below `parent`, for a child that has no file system of its own.
    pub(crate) fn create(parent: &Path) -> io::Result<Self> {
        let parent = openat(CWD, parent, folder_flags(), Mode::empty())?;
        let name = format!("job-{:016x}", fastrand::u64(..));
        mkdirat(&parent, &name, Mode::RWXU)?;
        let root = openat(&parent, &name, folder_flags(), Mode::empty())?;
        let removal = Removal { parent, name };
        mkdirat(&root, "tmp", Mode::RWXU)?;
        mkdirat(&root, "work", Mode::RWXU)?;
        Self::open(root, false, Some(removal))
    }

    /// The folder that a zygote created for a child in a file system that ends with both.
    pub(crate) fn of_private_root(root: OwnedFd) -> io::Result<Self> {
        Self::open(root, true, None)
    }

    fn open(root: OwnedFd, has_own_user: bool, removal: Option<Removal>) -> io::Result<Self> {
        let work = openat(&root, "work", folder_flags(), Mode::empty())?;
        Ok(Self { root, work, has_own_user, given: BTreeMap::new(), _removal: removal })
    }

    /// The descriptor of the folder itself.
    pub(crate) fn root(&self) -> &OwnedFd {
        &self.root
    }

    /// Writes files where the job finds them, before it begins.
    pub(crate) fn lay_out(&mut self, files: &[SandboxFile]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        for SandboxFile { name, content } in files {
            // A file name has no slash and is not `..`, by its type.
            let name = name.as_str();
            let mut file = File::from(openat(&self.work, name, flags, Mode::RUSR | Mode::WUSR)?);
            file.write_all(content)?;
            if self.has_own_user {
                fchmod(&file, Mode::from_raw_mode(0o666))?;
            }
            let hash = Sha256::digest(content).to_vec();
            self.given.insert(name.to_owned(), GivenFile { size: content.len() as u64, hash });
        }
        Ok(())
    }

    /// Reads the regular files that are new in `work` or differ from those that were laid out, in the order of their
    /// paths, as many as a job may make. Whatever else changes the folder meanwhile can hide a file, and add none from
    /// elsewhere.
    pub(crate) fn collect_products(&self) -> io::Result<Products> {
        let mut products = Products::default();
        let mut names = BTreeSet::new();
        let mut room = MAX_PRODUCT_BYTES;
        let mut files = FileWalk::begin(&self.work)?;
        while let Some(node) = files.next_file()? {
            let path = node.path.to_string_lossy().into_owned();
            if self.is_unchanged(&path, &node)? {
                continue;
            }
            let name = FileName::new(path.replace('/', "-")).ok();
            let name = name.filter(|name| !names.contains(name.as_str()));
            // What cannot be a product is not read: foreign code makes thousands of large files in no time.
            let Some(name) = name.filter(|_| products.files.len() < MAX_PRODUCTS) else {
                products.leave_out(path);
                continue;
            };
            let Some(content) = read_regular_file(&node, MAX_PRODUCT.min(room))? else {
                products.leave_out(path);
                continue;
            };
            room = room.saturating_sub(content.len() as u64);
            names.insert(name.as_str().to_owned());
            products.files.push(SandboxFile { name, content });
        }
        Ok(products)
    }

    /// Returns true if a file is as it was laid out.
    fn is_unchanged(&self, path: &str, node: &TreeEntry) -> io::Result<bool> {
        let Some(given) = self.given.get(path) else { return Ok(false) };
        if node.apparent_size() != given.size {
            return Ok(false);
        }
        let content = read_regular_file(node, given.size)?;
        Ok(content.is_some_and(|content| *Sha256::digest(&content) == *given.hash))
    }
}

/// A walk through what is in `work` and is no folder that can be looked into, nor hidden, nor compiled by Python.
struct FileWalk {
    tree: TreeWalk,
    passed: usize,
}

impl FileWalk {
    fn begin(work: &OwnedFd) -> io::Result<Self> {
        Ok(Self { tree: TreeWalk::begin(work)?, passed: 0 })
    }

    fn next_file(&mut self) -> io::Result<Option<TreeEntry>> {
        while self.passed < MAX_ENTRIES
            && let Some(node) = self.tree.next_node()?
        {
            self.passed += 1;
            let is_hidden = node.path.file_name().is_some_and(|name| {
                name.to_string_lossy().starts_with('.') || name == "__pycache__"
            });
            let is_folder = node.kind() == FileType::Directory;
            if is_hidden {
                continue;
            }
            let can_enter = is_folder && self.tree.depth() < MAX_DEPTH;
            if can_enter && self.tree.enter(&node).is_ok() {
                continue;
            }
            return Ok(Some(node));
        }
        Ok(None)
    }
}

impl Products {
    fn leave_out(&mut self, path: String) {
        if self.left_out.len() < MAX_LEFT_OUT {
            self.left_out.push(path);
        }
    }
}

/// Reads a regular file of at most so many bytes; `None` for anything else.
fn read_regular_file(node: &TreeEntry, most: u64) -> io::Result<Option<Vec<u8>>> {
    if node.apparent_size() > most {
        return Ok(None);
    }
    let Some(opened) = node.open_regular_file()? else { return Ok(None) };
    let mut content = Vec::with_capacity(usize::try_from(node.apparent_size()).unwrap_or_default());
    File::from(opened).take(most + 1).read_to_end(&mut content)?;
    Ok((content.len() as u64 <= most).then_some(content))
}

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// Removes a folder when it is dropped.
struct Removal {
    parent: OwnedFd,
    name: String,
}

impl Drop for Removal {
    fn drop(&mut self) {
        if let Err(error) = remove_tree(&self.parent, self.name.as_ref()) {
            tracing::warn!(folder = self.name, %error, "a job's folder was not removed");
        }
    }
}

#[cfg(test)]
mod tests;
