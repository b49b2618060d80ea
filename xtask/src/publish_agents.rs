//! `cargo xtask publish-agents`: makes the manifest by which functions read agents from the bucket.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use djinn_tools::agent_source::{MANIFEST, make_manifest};

use crate::terminal::print_line;

/// Which agents are published, and where.
#[derive(clap::Args)]
pub(crate) struct PublishArguments {
    /// The folder of their files.
    folder: PathBuf,
    /// The prefix of the bucket, as `DJINN_AGENTS` has it behind its `@`.
    #[arg(default_value = "config/agents")]
    prefix: String,
}

/// Checks the files, writes their manifest beside them, and says how both get into the bucket.
///
/// # Errors
/// The first thing that is wrong with a file.
pub(crate) fn run(PublishArguments { folder, prefix }: &PublishArguments) -> Result<()> {
    let manifest = make_manifest(folder)?;
    let path = folder.join(MANIFEST);
    fs::write(&path, manifest).with_context(|| format!("cannot write {}", path.display()))?;
    print_line(&next_steps(folder, prefix.trim_end_matches('/')));
    Ok(())
}

/// The files go first: what a manifest names has to be there.
fn next_steps(folder: &Path, prefix: &str) -> String {
    let folder = folder.display();
    format!(
        "The files are in good order, and {folder}/{MANIFEST} lists them. Publish them in this order, where BUCKET is \
         the stack's output BucketName:\n\n  \
         aws s3 cp {folder} s3://BUCKET/{prefix}/ --recursive --exclude '*' --include '*.md'\n  \
         aws s3 cp {folder}/{MANIFEST} s3://BUCKET/{prefix}/{MANIFEST}\n\n\
         Functions whose Agents has @{prefix} offer them within five seconds."
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
            prefix: "config/agents/".to_owned(),
        };
        let agent = "---\nname: pricing\ndescription: Knows prices.\ntools: [price_list]\n---\nYou know prices.\n";
        write("pricing.md", agent);
        run(&arguments).unwrap();
        let manifest = fs::read_to_string(folder.path().join(MANIFEST)).unwrap();
        assert!(manifest.contains(r#""name": "pricing.md""#), "{manifest}");
        let steps = next_steps(Path::new("own"), "config/agents");
        assert!(
            steps.contains("aws s3 cp own/manifest.json s3://BUCKET/config/agents/manifest.json")
        );

        write("a b.md", agent);
        let refused = run(&arguments).unwrap_err().to_string();
        assert!(refused.contains("`a b.md`, which is not named NAME.md"), "{refused}");
        fs::remove_file(folder.path().join("a b.md")).unwrap();
        write("twin.md", agent);
        let refused = run(&arguments).unwrap_err().to_string();
        assert!(refused.contains("twin.md:2: `name` is `pricing`"), "{refused}");
    }
}
