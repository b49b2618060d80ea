//! `cargo xtask publish-agents` and `publish-prompts`: creates the manifest for reading texts from the
//! bucket.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use djinn_tools::agent_source::{self, MANIFEST};
use djinn_tools::prompt_source;

use crate::terminal::print_line;

/// The kind of texts in a folder.
#[derive(Clone, Copy)]
pub(crate) enum PublishedTexts {
    Agents,
    Prompts,
}

impl PublishedTexts {
    /// Returns the template's parameter for the folder.
    fn parameter(self) -> &'static str {
        match self {
            Self::Agents => "Agents",
            Self::Prompts => "Prompts",
        }
    }

    fn make_manifest(self, folder: &Path) -> Result<String> {
        Ok(match self {
            Self::Agents => agent_source::make_manifest(folder)?,
            Self::Prompts => prompt_source::make_manifest(folder)?,
        })
    }
}

/// The texts to publish, and their prefix in the bucket.
#[derive(clap::Args)]
pub(crate) struct PublishArguments {
    /// Folder with the files.
    folder: PathBuf,
    /// Prefix in the bucket, as in the setting after its `@`: `config/agents` or `config/prompts`.
    prefix: Option<String>,
}

/// Checks the files, writes the manifest next to the files, and prints the upload commands.
///
/// # Errors
/// Returns the first problem in a file.
pub(crate) fn run(
    kind: PublishedTexts,
    PublishArguments { folder, prefix }: &PublishArguments,
) -> Result<()> {
    let manifest = kind.make_manifest(folder)?;
    let path = folder.join(MANIFEST);
    fs::write(&path, manifest).with_context(|| format!("cannot write {}", path.display()))?;
    let default_prefix = match kind {
        PublishedTexts::Agents => "config/agents",
        PublishedTexts::Prompts => "config/prompts",
    };
    let prefix = prefix.as_deref().unwrap_or(default_prefix);
    print_line(&next_steps(kind, folder, prefix.trim_end_matches('/')));
    Ok(())
}

/// Returns the commands, files first: a manifest must name only existing files.
fn next_steps(kind: PublishedTexts, folder: &Path, prefix: &str) -> String {
    let folder = folder.display();
    let parameter = kind.parameter();
    format!(
        "The files are valid, and {folder}/{MANIFEST} lists them. Publish them in this order, where BUCKET is \
         the stack's output BucketName:\n\n  \
         aws s3 cp {folder} s3://BUCKET/{prefix}/ --recursive --exclude '*' --include '*.md'\n  \
         aws s3 cp {folder}/{MANIFEST} s3://BUCKET/{prefix}/{MANIFEST}\n\n\
         Functions whose {parameter} has @{prefix} have them within five seconds."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_good_order_get_a_manifest_and_others_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        let arguments = PublishArguments {
            folder: folder.path().to_owned(),
            prefix: Some("config/agents/".to_owned()),
        };
        let agent = "---\nname: pricing\ndescription: Knows prices.\ntools: [price_list]\n---\nYou know prices.\n";
        write("pricing.md", agent);
        run(PublishedTexts::Agents, &arguments).unwrap();
        let manifest = fs::read_to_string(folder.path().join(MANIFEST)).unwrap();
        assert!(manifest.contains(r#""name": "pricing.md""#), "{manifest}");
        let steps = next_steps(PublishedTexts::Agents, Path::new("own"), "config/agents");
        assert!(
            steps.contains("aws s3 cp own/manifest.json s3://BUCKET/config/agents/manifest.json")
        );

        write("a b.md", agent);
        let refused = run(PublishedTexts::Agents, &arguments).unwrap_err().to_string();
        assert!(refused.contains("`a b.md`, which is not named NAME.md"), "{refused}");
        fs::remove_file(folder.path().join("a b.md")).unwrap();
        write("twin.md", agent);
        let refused = run(PublishedTexts::Agents, &arguments).unwrap_err().to_string();
        assert!(refused.contains("twin.md:2: `name` is `pricing`"), "{refused}");
    }

    #[test]
    fn prompts_are_listed_below_their_languages() {
        let folder = tempfile::tempdir().unwrap();
        let group = folder.path().join("en/react");
        let arguments = PublishArguments { folder: folder.path().to_owned(), prefix: None };
        fs::create_dir_all(&group).unwrap();
        fs::write(folder.path().join("README.md"), "Ours.").unwrap();
        fs::write(group.join("system.md"), "You are brief. {{ date }}").unwrap();
        run(PublishedTexts::Prompts, &arguments).unwrap();
        let manifest = fs::read_to_string(folder.path().join(MANIFEST)).unwrap();
        assert!(manifest.contains(r#""name": "en/react/system.md""#), "{manifest}");
        assert!(!manifest.contains("README"), "{manifest}");
        let steps = next_steps(PublishedTexts::Prompts, Path::new("own"), "config/prompts");
        assert!(steps.contains("whose Prompts has @config/prompts"), "{steps}");

        fs::write(group.join("sytem.md"), "").unwrap();
        let refused = run(PublishedTexts::Prompts, &arguments).unwrap_err().to_string();
        assert!(refused.ends_with("did you mean `react/system`?"), "{refused}");
    }
}
