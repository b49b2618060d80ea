//! Installs the fonts for charts and documents from npm packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::python::{PythonError, run};

/// The packages, and their lock file with the hashes of the archives, verified by npm.
const PACKAGE: &str = include_str!("../../sandbox/package.json");
const LOCK: &str = include_str!("../../sandbox/package-lock.json");
/// The fonts in the order of preference, each as its path in the npm installation and its file name in the fonts
/// folder: Noto Sans SC and KR, regular, under the SIL Open Font License.
const FONTS: [(&str, &str); 2] = [
    (
        "node_modules/@expo-google-fonts/noto-sans-sc/400Regular/NotoSansSC_400Regular.ttf",
        "NotoSansSC-Regular.ttf",
    ),
    (
        "node_modules/@expo-google-fonts/noto-sans-kr/400Regular/NotoSansKR_400Regular.ttf",
        "NotoSansKR-Regular.ttf",
    ),
];

/// Installs the fonts in the folder `fonts` of `place`, unless already installed, and returns their paths.
/// Calls `say` before the download of 85 MB, of which 17 MB are kept.
///
/// # Errors
/// Returns [`PythonError`] without npm, network or disk space. Code and documents also work without the fonts.
pub fn prepare_fonts(place: &Path, say: &dyn Fn(&str)) -> Result<Vec<PathBuf>, PythonError> {
    let folder = place.join("fonts");
    let fonts = FONTS.map(|(_, name)| folder.join(name));
    if fonts.iter().all(|font| font.is_file()) {
        return Ok(fonts.into());
    }
    say("fetching the fonts for Chinese and Korean in charts and documents");
    let unwritable = |error| PythonError::Unwritable(folder.display().to_string(), error);
    let package = folder.join("package");
    fs::create_dir_all(&package).map_err(unwritable)?;
    fs::write(package.join("package.json"), PACKAGE).map_err(unwritable)?;
    fs::write(package.join("package-lock.json"), LOCK).map_err(unwritable)?;
    let install =
        ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--logs-max=0"];
    run(Command::new("npm").args(install).current_dir(&package))?;
    // A rename comes last, so an existing font is complete.
    for ((installed, _), font) in FONTS.iter().zip(&fonts) {
        fs::rename(package.join(installed), font).map_err(unwritable)?;
    }
    fs::remove_dir_all(&package).map_err(unwritable)?;
    Ok(fonts.into())
}
