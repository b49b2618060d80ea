//! Which layout a directory was written in: keys change between them, and nothing reads an older one.

use std::path::Path;

use super::StoresError;

/// The layout of today, counted from 1; those before the second left no mark.
const LAYOUT: &str = "5";

/// The file that says it.
const MARK: &str = "layout";

/// What a directory holds that was written before there were marks.
const TABLE: &str = "table.db";

/// Marks a directory that holds nothing yet, and looks whether one that does is of this layout.
pub(super) fn check_layout(dir: &Path) -> Result<(), StoresError> {
    let failed = |path: &Path, error: std::io::Error| StoresError::Dir {
        path: path.to_owned(),
        problem: error.to_string(),
    };
    let mark = dir.join(MARK);
    match std::fs::read_to_string(&mark) {
        Ok(layout) if layout.trim() == LAYOUT => Ok(()),
        // One that was cut off while it was written stands in a directory without a table.
        Ok(_) if dir.join(TABLE).exists() => Err(StoresError::Layout(dir.to_owned())),
        Ok(_) => std::fs::write(&mark, LAYOUT).map_err(|error| failed(&mark, error)),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(&mark, error)),
        Err(_) if dir.join(TABLE).exists() => Err(StoresError::Layout(dir.to_owned())),
        Err(_) => std::fs::write(&mark, LAYOUT).map_err(|error| failed(&mark, error)),
    }
}
