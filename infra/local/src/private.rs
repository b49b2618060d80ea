//! Creates files and folders of the home without access for other users of the machine.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

/// Folders of the home that the users of jobs read. Each keeps the rights needed for this. No other user can pass
/// through the home to these folders.
const OF_JOBS: [&str; 2] = ["python", "sandbox"];

/// Creates a folder and missing parents, accessible only to the current user. An existing folder loses other
/// users' rights.
///
/// # Errors
/// Returns the operating system's error.
pub fn create_private_dir(dir: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(dir)?;
    narrow(dir);
    Ok(())
}

/// Creates an empty file readable and writable only by the current user, if the file does not exist.
pub(crate) fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Removes other users' rights from all entries of a home. Symbolic links and their targets stay unchanged.
pub(crate) fn narrow_home(home: &Path) -> io::Result<()> {
    for entry in fs::read_dir(home)? {
        let entry = entry?;
        let is_of_jobs = OF_JOBS.iter().any(|name| entry.file_name() == *name);
        if !is_of_jobs && !entry.file_type()?.is_symlink() {
            narrow(&entry.path());
        }
    }
    Ok(())
}

/// Removes other users' rights, except from a folder shared on purpose (with the sticky bit, as `/tmp`).
/// A failure is only logged, because some file systems have no rights.
fn narrow(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        const OTHERS: u32 = 0o077;
        const STICKY: u32 = 0o1000;
        let result = fs::metadata(path).and_then(|metadata| {
            let mode = metadata.permissions().mode();
            if mode & OTHERS == 0 || mode & STICKY != 0 {
                return Ok(());
            }
            fs::set_permissions(path, fs::Permissions::from_mode(mode & !OTHERS))
        });
        if let Err(error) = result {
            tracing::warn!(path = %path.display(), %error, "other users may have rights");
        }
    }
    #[cfg(not(unix))]
    let _ = path;
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn created_and_found_folders_are_private() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().join("a/home");
        create_private_dir(&home).unwrap();
        assert_eq!((mode(&home), mode(&place.path().join("a"))), (0o700, 0o700));
        for (before, after) in [(0o755, 0o700), (0o2770, 0o2700), (0o500, 0o500), (0o1777, 0o1777)]
        {
            set_mode(&home, before);
            create_private_dir(&home).unwrap();
            assert_eq!(mode(&home), after, "{before:o}");
        }
    }

    #[test]
    fn home_is_narrowed_but_for_folders_of_jobs_and_what_links_lead_to() {
        let home = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        for folder in ["objects", "python", "sandbox"] {
            fs::create_dir(at(folder)).unwrap();
            set_mode(&at(folder), 0o755);
        }
        set_mode(elsewhere.path(), 0o755);
        symlink(elsewhere.path(), at("agents")).unwrap();
        symlink("/no/such/file", at("models.json")).unwrap();
        fs::write(at("table.db"), "").unwrap();
        set_mode(&at("table.db"), 0o664);
        narrow_home(home.path()).unwrap();
        let modes =
            ["objects", "python", "sandbox", "agents", "table.db"].map(|name| mode(&at(name)));
        assert_eq!(modes, [0o700, 0o755, 0o755, 0o755, 0o600]);
    }

    #[test]
    fn created_file_is_private_and_keeps_what_it_holds() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("table.db");
        drop(create_private_file(&file).unwrap());
        assert_eq!(mode(&file), 0o600);
        fs::write(&file, "kept").unwrap();
        drop(create_private_file(&file).unwrap());
        assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
    }
}
