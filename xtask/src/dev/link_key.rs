//! The signing key of a laptop's links: random, and stored in the home, so links stay valid after a restart.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use djinn_core::id::encode_hex;
use djinn_local::create_private_dir;

use super::advice::HomeFile;

const BYTES: usize = 32;

/// Returns the key of the system over `home`, created if missing.
pub(super) fn of(home: &Path) -> Result<String> {
    let file = home.join("link-key");
    let at = || HomeFile(file.clone());
    create_private_dir(home).with_context(at)?;
    let mut new = OpenOptions::new();
    new.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut new, 0o600);
    match new.open(&file) {
        Ok(mut key_file) => {
            let mut chance = [0; BYTES];
            getrandom::fill(&mut chance)
                .context("the operating system provides no random bytes")?;
            let key = encode_hex(&chance);
            key_file.write_all(key.as_bytes()).with_context(at)?;
            Ok(key)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let key = std::fs::read_to_string(&file).with_context(at)?;
            if key.len() == BYTES * 2 {
                return Ok(key);
            }
            // The process that created the file died before writing the key.
            std::fs::remove_file(&file).with_context(at)?;
            of(home)
        }
        Err(error) => Err(error).with_context(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_keeps_its_key_and_no_other_has_it() {
        let home = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        let key = of(home.path()).unwrap();
        assert_eq!(key.len(), BYTES * 2);
        assert_eq!(of(home.path()).unwrap(), key);
        assert_ne!(of(other.path()).unwrap(), key);
        std::fs::write(home.path().join("link-key"), "").unwrap();
        let again = of(home.path()).unwrap();
        assert!(again.len() == BYTES * 2 && again != key);
    }
}
