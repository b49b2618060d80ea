//! The folder of a job: what lies in it before, and what of it is a product after.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use djinn_core::id::FileName;
use djinn_runtime::port::sandbox::{MAX_PRODUCT, MAX_PRODUCTS, SandboxFile, SandboxJob};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// Bytes of the variables that a block leaves; what Python keeps is bounded by 50 MB.
const MAX_STATE: u64 = 64 * 1024 * 1024;
/// Folders within each other that are looked into.
const MAX_DEPTH: usize = 4;
/// Names that are left out by name; of the others nobody could read a list.
const MAX_LEFT_OUT: usize = 50;

/// The folder of one job, which is removed with it: `work`, where code is, and its variables beside that.
pub(crate) struct WorkFolder {
    root: TempDir,
    given: BTreeMap<String, Vec<u8>>,
}

/// What a job made.
#[derive(Default)]
pub(crate) struct Made {
    pub(crate) products: Vec<SandboxFile>,
    pub(crate) left_out: Vec<String>,
}

impl WorkFolder {
    /// Lays out the files of a job in a new folder below `parent`.
    pub(crate) fn lay_out(parent: &Path, job: &SandboxJob) -> io::Result<Self> {
        let root = tempfile::Builder::new().prefix("job-").tempdir_in(parent)?;
        let work = root.path().join("work");
        fs::create_dir(&work)?;
        let mut given = BTreeMap::new();
        for file in &job.files {
            // A file name has no slash and is not `..`, by its type.
            fs::write(work.join(file.name.as_str()), &file.content)?;
            given.insert(file.name.as_str().to_owned(), Sha256::digest(&file.content).to_vec());
        }
        if !job.state.is_empty() {
            fs::write(root.path().join("state"), &job.state)?;
        }
        Ok(Self { root, given })
    }

    /// The path of the folder itself.
    pub(crate) fn path(&self) -> &Path {
        self.root.path()
    }

    /// The variables that the job left, nothing if there are none.
    pub(crate) fn read_state(&self) -> Vec<u8> {
        let state = open_folder(self.path())
            .and_then(|root| read_beneath(&root, Path::new("state"), MAX_STATE));
        state.ok().flatten().unwrap_or_default()
    }

    /// What is new in the folder, or other than it was given, by name. The job is over by now: nobody
    /// changes the folder while it is read.
    pub(crate) fn collect_products(&self) -> io::Result<Made> {
        let work = open_folder(&self.path().join("work"))?;
        let mut made = Made::default();
        for path in list_files(&self.path().join("work"))? {
            let shown = path.to_string_lossy().into_owned();
            let name = FileName::new(shown.replace('/', "-")).ok();
            let content = read_beneath(&work, &path, MAX_PRODUCT)?;
            let (Some(name), Some(content)) = (name, content) else {
                made.leave_out(shown);
                continue;
            };
            if self.given.get(&shown).is_some_and(|hash| *hash == Sha256::digest(&content).to_vec())
            {
                continue;
            }
            if made.products.len() < MAX_PRODUCTS {
                made.products.push(SandboxFile { name, content });
            } else {
                made.leave_out(shown);
            }
        }
        Ok(made)
    }
}

impl Made {
    fn leave_out(&mut self, name: String) {
        if self.left_out.len() < MAX_LEFT_OUT {
            self.left_out.push(name);
        }
    }
}

/// What lies below a folder and is no folder, nor hidden, nor what Python compiled; in order.
fn list_files(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![(PathBuf::new(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let name = entry.file_name();
            if name.to_string_lossy().starts_with('.') || name == "__pycache__" {
                continue;
            }
            // Not of what a link leads to.
            let is_folder = entry.file_type()?.is_dir();
            if is_folder && depth < MAX_DEPTH {
                folders.push((folder.join(&name), depth + 1));
            } else {
                files.push(folder.join(&name));
            }
        }
    }
    files.sort();
    Ok(files)
}

fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
    Ok(openat(CWD, path, flags, Mode::empty())?)
}

/// A regular file beneath a folder, to which no link leads; `None` for anything else.
fn read_beneath(folder: &OwnedFd, path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    // Without O_NONBLOCK a pipe would be waited for.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let Ok(opened) = openat2(folder, path, flags, Mode::empty(), beneath) else {
        return Ok(None);
    };
    let status = fstat(&opened)?;
    let size = u64::try_from(status.st_size).unwrap_or(u64::MAX);
    let is_regular = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
    // A second name may be that of a file elsewhere.
    if !is_regular || status.st_nlink > 1 || size > most {
        return Ok(None);
    }
    let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    File::from(opened).take(most).read_to_end(&mut content)?;
    Ok(Some(content))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use djinn_core::language::Language;
    use djinn_runtime::port::sandbox::SandboxWork;

    use super::*;

    fn folder_with(files: &[(&str, &str)]) -> (TempDir, WorkFolder) {
        let parent = TempDir::new().unwrap();
        let files = files.iter().map(|(name, text)| SandboxFile {
            name: FileName::new(*name).unwrap(),
            content: text.as_bytes().to_vec(),
        });
        let job = SandboxJob {
            work: SandboxWork::Look { names: Vec::new(), language: Language::En },
            files: files.collect(),
            state: b"kept".to_vec(),
        };
        let folder = WorkFolder::lay_out(parent.path(), &job).unwrap();
        (parent, folder)
    }

    fn names(made: &Made) -> Vec<&str> {
        made.products.iter().map(|file| file.name.as_str()).collect()
    }

    #[test]
    fn what_is_new_or_changed_is_a_product_and_what_was_given_is_none() {
        let (_parent, folder) = folder_with(&[("given.csv", "a"), ("changed.csv", "a")]);
        let work = folder.path().join("work");
        fs::write(work.join("changed.csv"), "b").unwrap();
        fs::create_dir_all(work.join("charts/by region")).unwrap();
        fs::write(work.join("charts/by region/north.png"), "png").unwrap();
        fs::write(work.join(".hidden"), "x").unwrap();
        let made = folder.collect_products().unwrap();
        assert_eq!(names(&made), ["changed.csv", "charts-by region-north.png"]);
        assert!(made.left_out.is_empty());
        assert_eq!(folder.read_state(), b"kept");
    }

    #[test]
    fn links_pipes_and_large_files_are_left_out_by_name() {
        let (parent, folder) = folder_with(&[]);
        let work = folder.path().join("work");
        let canary = parent.path().join("canary");
        fs::write(&canary, "secret").unwrap();
        symlink(&canary, work.join("soft")).unwrap();
        fs::hard_link(&canary, work.join("hard")).unwrap();
        symlink(parent.path(), work.join("folder")).unwrap();
        rustix::fs::mknodat(CWD, work.join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        File::create(work.join("large")).unwrap().set_len(MAX_PRODUCT + 1).unwrap();
        let made = folder.collect_products().unwrap();
        assert!(made.products.is_empty());
        assert_eq!(made.left_out, ["folder", "hard", "large", "pipe", "soft"]);
    }

    #[test]
    fn twenty_products_are_taken_and_the_others_named() {
        let (_parent, folder) = folder_with(&[]);
        for number in 0..23 {
            fs::write(folder.path().join(format!("work/{number:02}.txt")), "x").unwrap();
        }
        let made = folder.collect_products().unwrap();
        assert_eq!(made.products.len(), MAX_PRODUCTS);
        assert_eq!(made.left_out, ["20.txt", "21.txt", "22.txt"]);
    }
}
