//! Installs the fonts for charts and documents from npm packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::python::{PythonError, run};

/// The packages, and their lock file with the hashes of the archives, verified by npm.
const PACKAGE: &str = include_str!("../../sandbox/package.json");
const LOCK: &str = include_str!("../../sandbox/package-lock.json");
/// The fonts in the order of preference, each as its path below `node_modules/@expo-google-fonts` and its file name in
/// the fonts folder: Noto Sans with the scripts that documents show, and emoji, under the SIL Open Font License.
const FONTS: [(&str, &str); 16] = [
    ("noto-sans-sc/400Regular/NotoSansSC_400Regular.ttf", "NotoSansSC-Regular.ttf"),
    ("noto-sans-kr/400Regular/NotoSansKR_400Regular.ttf", "NotoSansKR-Regular.ttf"),
    ("noto-emoji/400Regular/NotoEmoji_400Regular.ttf", "NotoEmoji-Regular.ttf"),
    ("noto-sans-sc/700Bold/NotoSansSC_700Bold.ttf", "NotoSansSC-Bold.ttf"),
    ("noto-sans/400Regular/NotoSans_400Regular.ttf", "NotoSans-Regular.ttf"),
    ("noto-sans/700Bold/NotoSans_700Bold.ttf", "NotoSans-Bold.ttf"),
    ("noto-sans/400Regular_Italic/NotoSans_400Regular_Italic.ttf", "NotoSans-Italic.ttf"),
    ("noto-sans/700Bold_Italic/NotoSans_700Bold_Italic.ttf", "NotoSans-BoldItalic.ttf"),
    ("noto-sans-arabic/400Regular/NotoSansArabic_400Regular.ttf", "NotoSansArabic-Regular.ttf"),
    ("noto-sans-arabic/700Bold/NotoSansArabic_700Bold.ttf", "NotoSansArabic-Bold.ttf"),
    ("noto-sans-hebrew/400Regular/NotoSansHebrew_400Regular.ttf", "NotoSansHebrew-Regular.ttf"),
    ("noto-sans-hebrew/700Bold/NotoSansHebrew_700Bold.ttf", "NotoSansHebrew-Bold.ttf"),
    ("noto-sans-thai/400Regular/NotoSansThai_400Regular.ttf", "NotoSansThai-Regular.ttf"),
    ("noto-sans-thai/700Bold/NotoSansThai_700Bold.ttf", "NotoSansThai-Bold.ttf"),
    ("noto-sans-bengali/400Regular/NotoSansBengali_400Regular.ttf", "NotoSansBengali-Regular.ttf"),
    ("noto-sans-bengali/700Bold/NotoSansBengali_700Bold.ttf", "NotoSansBengali-Bold.ttf"),
];

/// Installs the fonts in the folder `fonts` of `place`, unless already installed, and returns their paths.
/// Calls `say` before the download of 101 MB, of which 32 MB are kept.
///
/// # Errors
/// Returns [`PythonError`] without npm, network or disk space. Code and documents also work without the fonts.
pub fn prepare_fonts(place: &Path, say: &dyn Fn(&str)) -> Result<Vec<PathBuf>, PythonError> {
    let folder = place.join("fonts");
    let fonts = FONTS.map(|(_, name)| folder.join(name));
    if fonts.iter().all(|font| font.is_file()) {
        return Ok(fonts.into());
    }
    say("fetching the fonts of charts and documents");
    let unwritable = |error| PythonError::Unwritable(folder.display().to_string(), error);
    let package = folder.join("package");
    fs::create_dir_all(&package).map_err(unwritable)?;
    fs::write(package.join("package.json"), PACKAGE).map_err(unwritable)?;
    fs::write(package.join("package-lock.json"), LOCK).map_err(unwritable)?;
    let install =
        ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--logs-max=0"];
    run(Command::new("npm").args(install).current_dir(&package))?;
    // A rename comes last, so an existing font is complete.
    let installed = package.join("node_modules/@expo-google-fonts");
    for ((path, _), font) in FONTS.iter().zip(&fonts) {
        fs::rename(installed.join(path), font).map_err(unwritable)?;
    }
    fs::remove_dir_all(&package).map_err(unwritable)?;
    Ok(fonts.into())
}
