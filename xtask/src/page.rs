//! `cargo xtask page`: builds the web page from `web/` into `target/web`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

use crate::node_packages;
use crate::process::run;
use crate::terminal::print_line;
use crate::venv::{self, Venv};
use crate::workspace;

/// The sources of the page.
const SOURCES: &str = "web";

/// The sources outside `web/`: the contract, and the sentences of errors.
const CONTRACT: [&str; 4] =
    ["docs/events.schema.json", "docs/openapi.json", "messages/en.toml", "messages/zh.toml"];

/// Folders below `web/` that are not sources.
const GENERATED: [&str; 2] = ["node_modules", "generated"];

/// The file in the built page with its version.
const VERSION: &str = "version";

/// Returns the folder of the built page.
pub(crate) fn folder() -> PathBuf {
    workspace::target_dir().join("web")
}

/// Returns true if the built page comes from the current sources.
///
/// # Errors
/// Returns an error if the sources cannot be read.
pub(crate) fn is_current() -> Result<bool> {
    let version = source_version()?;
    Ok(fs::read_to_string(folder().join(VERSION)).is_ok_and(|built| built == version))
}

/// Builds the page unless it is current. Returns its folder, which is replaced as a whole.
///
/// # Errors
/// Returns an error without Python or packages, or if the sources do not compile.
pub(crate) fn build() -> Result<PathBuf> {
    let folder = folder();
    let _lock = workspace::lock_folder("web")?;
    if is_current()? {
        return Ok(folder);
    }
    let version = source_version()?;
    let venv = venv::ensure_venv()?;
    install_packages(&venv, SOURCES, "page")?;
    print_line("    building web into target/web");
    let next = workspace::target_dir().join(format!("web-{version}-{}", std::process::id()));
    let node = |script: &str, arguments: &[&str]| -> Result<()> {
        let words: Vec<&str> = std::iter::once(script).chain(arguments.iter().copied()).collect();
        let mut command = venv.program_command("node", &words)?;
        command.current_dir(workspace::root().join(SOURCES));
        run(command.env("PAGE_OUT", &next).env("VITE_PAGE_VERSION", &version))
    };
    node("build/generate.mjs", &[])?;
    node("node_modules/vite/bin/vite.js", &["build", "--logLevel", "error"])?;
    node("build/compress.mjs", &[])?;
    fs::write(next.join(VERSION), &version)?;
    replace_folder(&folder, &next)?;
    Ok(folder)
}

/// Installs the packages of a folder below `target/`, and links them from the folder, where Node looks for them.
///
/// # Errors
/// Returns an error if npm fails, for example without a registry.
pub(crate) fn install_packages(venv: &Venv, folder: &str, name: &str) -> Result<()> {
    let place = node_packages::ensure_packages(venv, folder, name)?;
    let _lock = workspace::lock_folder(name)?;
    let link = workspace::root().join(folder).join("node_modules");
    if fs::symlink_metadata(&link).is_err() {
        symlink(place.join("node_modules"), &link)
            .with_context(|| format!("{folder}/node_modules cannot be created"))?;
    }
    Ok(())
}

/// Replaces a folder by another in one step for readers.
fn replace_folder(folder: &Path, next: &Path) -> Result<()> {
    let old = next.with_extension("old");
    if folder.exists() {
        fs::rename(folder, &old)?;
    }
    fs::rename(next, folder).context("target/web cannot be replaced")?;
    if old.exists() {
        fs::remove_dir_all(&old)?;
    }
    Ok(())
}

/// Returns the hash of all sources: 16 hexadecimal digits.
fn source_version() -> Result<String> {
    let mut files = CONTRACT.map(|path| workspace::root().join(path)).to_vec();
    list_sources(&workspace::root().join(SOURCES), &mut files)?;
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        let content = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let name = file.strip_prefix(workspace::root()).unwrap_or(&file);
        hash.update(name.to_string_lossy().as_bytes());
        hash.update([0]);
        hash.update(Sha256::digest(&content));
    }
    let digits = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    Ok(digits.chars().take(16).collect())
}

fn list_sources(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("no {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let is_generated = GENERATED.iter().any(|name| path.ends_with(name));
        if is_generated {
            continue;
        }
        if path.is_dir() {
            list_sources(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_file_has_hashes_and_no_registry() {
        let lock = fs::read_to_string(workspace::root().join("web/package-lock.json")).unwrap();
        assert!(!lock.contains("\"resolved\"") && !lock.contains("https://registry"));
        let packages = lock.matches("\"node_modules/").count();
        assert_eq!(lock.matches("\"integrity\": \"sha512-").count(), packages);
    }

    #[test]
    fn version_is_the_hash_of_all_sources() {
        let version = source_version().unwrap();
        assert_eq!(version.len(), 16);
        assert_eq!(version, source_version().unwrap());
    }
}
