//! Checks the layout version of a data directory. Keys change between layouts, and older layouts cannot be
//! read.

use std::path::Path;

use super::StoresError;

/// The current layout, counted from 1; layout 1 left no mark.
const LAYOUT: &str = "5";

/// The file with the layout version.
const MARK: &str = "layout";

/// A file of every data directory, even without a mark.
const TABLE: &str = "table.db";

/// Marks an empty directory, and checks the mark of any other.
pub(super) fn check_layout(dir: &Path) -> Result<(), StoresError> {
    let to_error = |path: &Path, error: std::io::Error| StoresError::Dir {
        path: path.to_owned(),
        problem: error.to_string(),
    };
    let mark = dir.join(MARK);
    match std::fs::read_to_string(&mark) {
        Ok(layout) if layout.trim() == LAYOUT => Ok(()),
        // An incomplete mark is possible only in a directory without a table.
        Ok(_) if dir.join(TABLE).exists() => Err(StoresError::Layout(dir.to_owned())),
        Ok(_) => std::fs::write(&mark, LAYOUT).map_err(|error| to_error(&mark, error)),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(to_error(&mark, error)),
        Err(_) if dir.join(TABLE).exists() => Err(StoresError::Layout(dir.to_owned())),
        Err(_) => std::fs::write(&mark, LAYOUT).map_err(|error| to_error(&mark, error)),
    }
}
