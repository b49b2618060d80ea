//! `cargo xtask publish`: copies a configuration folder into the bucket of a deployment.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use djinn_settings::FILE_NAME;
use djinn_tools::local_folder::{FOLDERS, MANIFEST, README, SERVERS_LOCK};

use crate::check::CheckArguments;
use crate::terminal::print_line;

/// The folder to publish, and the destination.
#[derive(clap::Args)]
pub(crate) struct PublishArguments {
    #[command(flatten)]
    check: CheckArguments,
    /// Bucket of the deployment, the stack's output `BucketName`. Without it, the commands are printed.
    #[arg(long)]
    bucket: Option<String>,
    /// Prefix in the bucket, as in `DJINN_CONFIG` after its `@`.
    #[arg(long, default_value = "config")]
    prefix: String,
}

/// Checks the folder, writes its manifest, and uploads all files, or prints the commands for the upload.
///
/// # Errors
/// Returns the number of problems, or the command that failed.
pub(crate) fn run(arguments: &PublishArguments) -> Result<()> {
    publish(arguments, Path::new("aws"))
}

/// Publishes with this program as the AWS CLI.
fn publish(
    PublishArguments { check, bucket, prefix }: &PublishArguments,
    aws: &Path,
) -> Result<()> {
    let folder = &check.folder;
    let checked = check.check_files()?;
    let path = folder.join(MANIFEST);
    fs::write(&path, checked.manifest)
        .with_context(|| format!("cannot write {}", path.display()))?;
    let files = checked.files.len();
    let place =
        format!("s3://{}/{}", bucket.as_deref().unwrap_or("BUCKET"), prefix.trim_end_matches('/'));
    let commands = list_commands(&folder.display().to_string(), &place);
    if bucket.is_none() {
        let lines = commands.iter().map(|words| format!("  aws {}\n", join_words(words)));
        print_line(&format!(
            "The files are valid, and {} lists them ({files}). Publish them in this order, where BUCKET is the \
             stack's output BucketName, or run this command again with --bucket:\n\n{}",
            path.display(),
            lines.collect::<String>()
        ));
        return Ok(());
    }
    for words in commands {
        let status = Command::new(aws).args(&words).status();
        let status = status.with_context(|| format!("cannot run {}", aws.display()))?;
        ensure!(status.success(), "`aws {}` failed: {status}", join_words(&words));
    }
    print_line(&format!(
        "Published {files} files to {place}/. Functions have them within five seconds."
    ));
    Ok(())
}

/// Returns the arguments of the AWS CLI for each step. The manifest follows the files, because it must name only
/// existing files; files that it no longer names are removed after it.
fn list_commands(folder: &str, place: &str) -> [Vec<String>; 3] {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut filters = words(&["--exclude", "*", "--include", FILE_NAME]);
    for folder in FOLDERS {
        for ending in std::iter::once(&folder.ending).chain(folder.data_endings) {
            filters.extend(["--include".to_owned(), format!("{}/*.{ending}", folder.name)]);
        }
    }
    filters.extend(words(&["--include", SERVERS_LOCK, "--exclude", &format!("*{README}")]));
    let target = format!("{place}/");
    let manifest = [format!("{folder}/{MANIFEST}"), format!("{target}{MANIFEST}")];
    let copy = words(&["s3", "cp", folder, &target, "--recursive"]);
    let remove = words(&["s3", "sync", folder, &target, "--delete"]);
    [
        [copy, filters.clone()].concat(),
        words(&["s3", "cp", &manifest[0], &manifest[1]]),
        [remove, filters].concat(),
    ]
}

/// Joins words for a shell.
fn join_words(words: &[String]) -> String {
    let quoted = words.iter().map(|word| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@".contains(&byte);
        if word.bytes().all(is_plain) { word.clone() } else { format!("'{word}'") }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::PathBuf;

    use djinn_runtime::port::text_folder::parse_manifest;

    use super::*;

    fn arguments(folder: PathBuf, bucket: Option<&str>) -> PublishArguments {
        let check = CheckArguments { folder, tools: Vec::new() };
        let bucket = bucket.map(str::to_owned);
        PublishArguments { check, bucket, prefix: "config/".to_owned() }
    }

    #[test]
    fn a_valid_folder_is_copied_its_manifest_second_and_old_files_are_removed_last() {
        let home = tempfile::tempdir().unwrap();
        let (folder, aws) = (home.path().join("own"), home.path().join("aws"));
        fs::create_dir_all(folder.join("agents")).unwrap();
        fs::write(folder.join("djinn.toml"), "[limits]\nmax_steps = 7\n").unwrap();
        fs::write(folder.join("agents/README.md"), "Ours.").unwrap();
        let agent = "---\nname: pricing\ndescription: Knows prices.\n---\nYou know prices.\n";
        fs::write(folder.join("agents/pricing.md"), agent).unwrap();
        let log = home.path().join("log");
        fs::write(&aws, format!("#!/bin/sh\necho \"$@\" >>{}\n", log.display())).unwrap();
        fs::set_permissions(&aws, fs::Permissions::from_mode(0o755)).unwrap();
        publish(&arguments(folder.clone(), Some("bucket")), &aws).unwrap();
        let manifest = parse_manifest(&fs::read(folder.join(MANIFEST)).unwrap()).unwrap();
        let names: Vec<_> = manifest.into_iter().map(|file| file.name).collect();
        assert_eq!(names, ["agents/pricing.md", "djinn.toml"]);
        let filters = "--exclude * --include djinn.toml --include agents/*.md \
                       --include connections/*.pem --include modes/*.md";
        let (own, lines) = (folder.display(), fs::read_to_string(&log).unwrap());
        for (line, begins) in lines.lines().zip([
            format!("s3 cp {own} s3://bucket/config/ --recursive {filters}"),
            format!("s3 cp {own}/manifest.json s3://bucket/config/manifest.json"),
            format!("s3 sync {own} s3://bucket/config/ --delete {filters}"),
        ]) {
            assert!(line.starts_with(&begins), "{line}");
        }
        assert_eq!(lines.lines().count(), 3);

        // A step that fails ends the rest, and an invalid folder is not copied at all.
        fs::write(&aws, "#!/bin/sh\nexit 3\n").unwrap();
        let failed = publish(&arguments(folder.clone(), Some("bucket")), &aws).unwrap_err();
        assert!(failed.to_string().starts_with("`aws s3 cp "), "{failed}");
        fs::write(folder.join("agents/twin.md"), agent).unwrap();
        let refused = publish(&arguments(folder, None), &aws).unwrap_err();
        assert_eq!(refused.to_string(), "1 problem");
    }
}
