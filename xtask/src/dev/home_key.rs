//! The keys of a laptop, which sign links and seal users' keys: random, and stored in the home, so links and keys
//! stay valid after a restart.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use djinn_core::id::encode_hex;
use djinn_local::create_private_dir;

use super::advice::HomeFile;

const BYTES: usize = 32;

/// The file of the key that signs links.
pub(super) const LINKS: &str = "link-key";

/// The file of the key that seals users' keys.
pub(super) const SEALS: &str = "seal-key";

/// Returns the key in this file of `home`, created if missing.
pub(super) fn of(home: &Path, name: &str) -> Result<String> {
    let file = home.join(name);
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
            of(home, name)
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
        let key = of(home.path(), LINKS).unwrap();
        assert_eq!(key.len(), BYTES * 2);
        assert_eq!(of(home.path(), LINKS).unwrap(), key);
        assert_ne!(of(home.path(), SEALS).unwrap(), key);
        assert_ne!(of(other.path(), LINKS).unwrap(), key);
        std::fs::write(home.path().join(LINKS), "").unwrap();
        let again = of(home.path(), LINKS).unwrap();
        assert!(again.len() == BYTES * 2 && again != key);
    }
}
