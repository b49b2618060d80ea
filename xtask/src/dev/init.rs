//! `cargo dev init`: writes a configuration folder.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use djinn_local::create_private_dir;
use djinn_settings::FILE_NAME;

use crate::terminal::print_line;

/// The first `djinn.toml`, which sets no more than a system without the file.
const FIRST_FILE: &str = r#"# The settings of this system; docs/configuration.md explains them, and examples/config has more.
# A change counts for the next question.

# base_prompt = "Answer in one paragraph."

[agents]
offered = "all"

# [limits]
# max_steps = 40

# [models.main]
# provider = "anthropic"
# model = "claude-sonnet-5"
# key = "env:ANTHROPIC_API_KEY"
"#;

/// Writes a minimal configuration folder at `folder`.
///
/// # Errors
/// Returns an error if the folder has a `djinn.toml`, or cannot be written.
pub(super) fn write_folder(folder: &Path) -> Result<()> {
    let file = folder.join(FILE_NAME);
    if file.exists() {
        bail!("{} exists already; change it, or remove it first", file.display());
    }
    create_private_dir(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    fs::write(&file, FIRST_FILE).with_context(|| format!("cannot write {}", file.display()))?;
    print_line(&format!(
        "Wrote {}, for the next `cargo dev`. docs/configuration.md lists its fields.",
        file.display()
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(folder: &Path) {
        let djinn = djinn_local::Djinn::new().with_settings_check(djinn_local::check_settings);
        let checked = djinn_local::check_folder(&djinn, folder, &[]).unwrap();
        assert_eq!(checked.files, [FILE_NAME]);
    }

    #[test]
    fn a_first_folder_is_valid_and_is_never_written_over() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("config");
        write_folder(&folder).unwrap();
        check(&folder);
        let error = write_folder(&folder).unwrap_err().to_string();
        assert!(error.contains("exists already"), "{error}");
    }

    #[test]
    fn each_line_of_the_first_file_is_a_setting_without_its_hash() {
        let folder = tempfile::tempdir().unwrap();
        let settings: String = FIRST_FILE
            .lines()
            .skip(3)
            .map(|line| line.trim_start_matches("# ").to_owned() + "\n")
            .collect();
        fs::write(folder.path().join(FILE_NAME), settings).unwrap();
        check(folder.path());
    }
}
