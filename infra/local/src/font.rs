//! The font that charts and documents have for Chinese, out of a package of npm.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::python::{PythonError, run};

/// The package, and the hash of its archive, which npm compares.
const PACKAGE: &str = include_str!("../../sandbox/package.json");
const LOCK: &str = include_str!("../../sandbox/package-lock.json");
/// Where the font lies in what npm installs: Noto Sans SC, regular, under the SIL Open Font License.
const INSTALLED: &str =
    "node_modules/@expo-google-fonts/noto-sans-sc/400Regular/NotoSansSC_400Regular.ttf";
/// Its name in the folder of fonts.
const NAME: &str = "NotoSansSC-Regular.ttf";

/// Brings the font into the folder `fonts` of `place`, unless it is there, and returns its path. `say` is told
/// before the download of 60 MB, of which 10 MB are kept.
///
/// # Errors
/// [`PythonError`], where there is no npm, no network or no room: code and documents work without the font.
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
    // The last step, so that a font that is there is whole.
    fs::rename(package.join(INSTALLED), &font).map_err(unwritable)?;
    fs::remove_dir_all(&package).map_err(unwritable)?;
    Ok(font)
}
