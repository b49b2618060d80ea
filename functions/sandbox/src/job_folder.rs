//! The folder of a job, with files before and products after the job. All access uses descriptors opened
//! before the job.

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

/// Maximum depth of nested folders that are read.
const MAX_DEPTH: usize = 4;
/// Maximum number of entries examined.
const MAX_ENTRIES: usize = 4_000;
/// Maximum number of left-out files listed by name.
const MAX_LEFT_OUT: usize = 50;

/// The folder of a job, with `work` for the code, and `tmp`. Dropping the value removes the folder.
pub(crate) struct JobFolder {
    root: OwnedFd,
    work: OwnedFd,
    /// True if the job runs as a separate user, who needs write access to the files.
    has_own_user: bool,
    /// The input files by name.
    given_files: BTreeMap<String, GivenFile>,
    _removal: Option<Removal>,
}

/// An input file.
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
    /// Creates a folder below `parent`, for a child without a private file system.
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

    /// Opens the folder created by a zygote in the private file system of a child. The folder disappears with
    /// the file system.
    pub(crate) fn of_private_root(root: OwnedFd) -> io::Result<Self> {
        Self::open(root, true, None)
    }

    fn open(root: OwnedFd, has_own_user: bool, removal: Option<Removal>) -> io::Result<Self> {
        let work = openat(&root, "work", folder_flags(), Mode::empty())?;
        Ok(Self { root, work, has_own_user, given_files: BTreeMap::new(), _removal: removal })
    }

    /// The descriptor of the folder itself.
    pub(crate) fn root(&self) -> &OwnedFd {
        &self.root
    }

    /// Writes the input files of a job before the start.
    pub(crate) fn lay_out(&mut self, files: &[SandboxFile]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        for SandboxFile { name, content } in files {
            // By its type, a file name has no slash and is not `..`.
            let name = name.as_str();
            let mut file = File::from(openat(&self.work, name, flags, Mode::RUSR | Mode::WUSR)?);
            file.write_all(content)?;
            if self.has_own_user {
                fchmod(&file, Mode::from_raw_mode(0o666))?;
            }
            let hash = Sha256::digest(content).to_vec();
            self.given_files
                .insert(name.to_owned(), GivenFile { size: content.len() as u64, hash });
        }
        Ok(())
    }

    /// Reads new and changed regular files in `work`, sorted by path, up to the limits of a job. Concurrent
    /// changes of the folder can hide a file, but never add a file from elsewhere.
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
            // Files beyond the limits are not read: foreign code can quickly create thousands of large files.
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

    /// Returns true if a file equals the input file.
    fn is_unchanged(&self, path: &str, node: &TreeEntry) -> io::Result<bool> {
        let Some(original) = self.given_files.get(path) else { return Ok(false) };
        if node.apparent_size() != original.size {
            return Ok(false);
        }
        let content = read_regular_file(node, original.size)?;
        Ok(content.is_some_and(|content| *Sha256::digest(&content) == *original.hash))
    }
}

/// A walk through the entries of `work`. Entered folders, hidden entries and compiled Python files are skipped.
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

/// Reads a regular file of at most `most` bytes; `None` for anything else.
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

/// Removes a folder on drop.
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
