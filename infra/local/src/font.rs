//! Installs the Chinese font for charts and documents from an npm package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::python::{PythonError, run};

/// The package, and its lock file with the archive's hash, verified by npm.
const PACKAGE: &str = include_str!("../../sandbox/package.json");
const LOCK: &str = include_str!("../../sandbox/package-lock.json");
/// The font's path in the npm installation: Noto Sans SC, regular, under the SIL Open Font License.
const INSTALLED: &str =
    "node_modules/@expo-google-fonts/noto-sans-sc/400Regular/NotoSansSC_400Regular.ttf";
/// The font's file name in the fonts folder.
const NAME: &str = "NotoSansSC-Regular.ttf";

/// Installs the font in the folder `fonts` of `place`, unless already installed, and returns the font's path.
/// Calls `say` before the download of 60 MB, of which 10 MB are kept.
///
/// # Errors
/// Returns [`PythonError`] without npm, network or disk space. Code and documents also work without the font.
pub fn prepare_font(place: &Path, say: &dyn Fn(&str)) -> Result<PathBuf, PythonError> {
    let folder = place.join("fonts");
    let font = folder.join(NAME);
    if font.is_file() {
        return Ok(font);
    }
    say("fetching the font for Chinese in charts and documents");
    let unwritable = |error| PythonError::Unwritable(folder.display().to_string(), error);
    let package = folder.join("package");
    fs::create_dir_all(&package).map_err(unwritable)?;
    fs::write(package.join("package.json"), PACKAGE).map_err(unwritable)?;
    fs::write(package.join("package-lock.json"), LOCK).map_err(unwritable)?;
    let install =
        ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--logs-max=0"];
    run(Command::new("npm").args(install).current_dir(&package))?;
    // The rename comes last, so an existing font is complete.
    fs::rename(package.join(INSTALLED), &font).map_err(unwritable)?;
    fs::remove_dir_all(&package).map_err(unwritable)?;
    Ok(font)
}
