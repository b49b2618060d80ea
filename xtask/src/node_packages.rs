//! Installs npm packages, each list in a folder under `target/`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::process::run;
use crate::terminal::print_line;
use crate::venv::Venv;
use crate::workspace;

/// Installs the packages of a lock file in a workspace folder, by version and hash, unless already installed.
///
/// Returns the folder under `target/` with the packages.
///
/// # Errors
/// Returns an error if the lock file cannot be read, or npm fails.
pub(crate) fn ensure_packages(venv: &Venv, list: &str, name: &str) -> Result<PathBuf> {
    let place = workspace::target_dir().join(name);
    let _lock = workspace::lock_folder(name)?;
    let lock = fs::read(workspace::root().join(list).join("package-lock.json"))
        .with_context(|| format!("{list} cannot be read"))?;
    let stamp = place.join("installed");
    if !fs::read(&stamp).is_ok_and(|content| content == lock) {
        print_line(&format!("    installing {list} into target/{name}"));
        fs::create_dir_all(&place)?;
        for file in ["package.json", "package-lock.json", ".npmrc"] {
            let source = workspace::root().join(list).join(file);
            if source.exists() {
                fs::copy(source, place.join(file))?;
            }
        }
        let install = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
        run(venv.program_command("npm", &install)?.current_dir(&place))?;
        fs::write(&stamp, &lock).with_context(|| format!("target/{name} cannot be written"))?;
    }
    Ok(place)
}
