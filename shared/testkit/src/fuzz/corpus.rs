//! The inputs stored in the repository.

use std::fs;
use std::path::{Path, PathBuf};

/// The directory of all corpora, with a folder for each.
const CORPORA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpora");

/// The extension of files with one input per line.
const LINES: &str = "lines";

/// An input, with the name of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FuzzInput {
    /// The name of the file. The part before the first hyphen is the kind of input.
    pub name: String,
    /// The content for the test.
    pub bytes: Vec<u8>,
}

/// Returns all inputs of a folder, ordered by file name.
pub(super) fn read_corpus(corpus: &str) -> Result<Vec<FuzzInput>, String> {
    let folder = Path::new(CORPORA).join(corpus);
    let say = |error: std::io::Error| format!("{} cannot be read: {error}", folder.display());
    let entries = fs::read_dir(&folder).map_err(say)?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let mut inputs = Vec::new();
    for path in paths {
        let bytes = fs::read(&path).map_err(say)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.extension().is_some_and(|ending| ending == LINES) {
            let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            let input = |line: &[u8]| FuzzInput { name: name.clone(), bytes: line.to_vec() };
            inputs.extend(lines.map(input));
        } else {
            inputs.push(FuzzInput { name, bytes });
        }
    }
    if inputs.is_empty() { Err(format!("{} has no inputs", folder.display())) } else { Ok(inputs) }
}

/// Writes an input into its folder, and returns the path.
pub(super) fn keep_input(corpus: &str, input: &FuzzInput) -> Result<String, String> {
    let kind = input.name.split(['-', '.']).next().unwrap_or_default();
    let name = format!("{kind}-found-{:08x}", hash_bytes(&input.bytes));
    let path = Path::new(CORPORA).join(corpus).join(&name);
    let say = |error| format!("{} cannot be written: {error}", path.display());
    fs::write(&path, &input.bytes).map_err(say)?;
    Ok(format!("tests/corpora/{corpus}/{name}"))
}

/// Returns the FNV-1a hash, equal in every build.
pub(super) fn hash_bytes(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}
