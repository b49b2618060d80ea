//! `cargo xtask advisories`: compares `Cargo.lock` with the RustSec database.
//!
//! The database changes without the code and needs the network, so it is no step of `cargo verify`.
//! A hit that concerns nobody here is named in `deny.toml`, with the reason.

mod advisory;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, bail, ensure};
use semver::Version;
use serde::Deserialize;

use crate::process::{command_output, program_command, run};
use crate::terminal::print_line;
use crate::workspace;
use advisory::{Advisory, Severity};

const DATABASE: &str = "https://github.com/RustSec/advisory-db";

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A package that is locked.
#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    version: Version,
    /// `None` for the workspace's own.
    source: Option<String>,
}

/// `Cargo.lock`, as far as it is read here.
#[derive(Deserialize)]
struct Lock {
    package: Vec<Package>,
}

/// `deny.toml`, as far as it is read here.
#[derive(Deserialize)]
struct Exceptions {
    #[serde(default)]
    advisories: Ignored,
}

#[derive(Default, Deserialize)]
struct Ignored {
    #[serde(default)]
    ignore: Vec<Exception>,
}

#[derive(Deserialize)]
struct Exception {
    id: String,
}

/// An advisory about a locked version.
struct Hit<'a> {
    package: &'a Package,
    advisory: &'a Advisory,
}

/// Compares with the database in the directory that is named, or with a fetched one.
///
/// # Errors
/// If an advisory other than a notice concerns what is locked; without a database.
pub(crate) fn run_check(arguments: &[&str]) -> Result<()> {
    let place = match arguments {
        [] => fetch_database()?,
        [path] => PathBuf::from(path),
        _ => bail!("cargo xtask advisories takes nothing but the directory of a RustSec database"),
    };
    let advisories = read_all(&place.join("crates"))?;
    print_line(&format!("{} advisories, {}", advisories.len(), database_age(&place, &advisories)?));
    let lock = fs::read_to_string(workspace::root().join("Cargo.lock"))?;
    let Lock { package: packages } = toml::from_str(&lock).context("Cargo.lock cannot be read")?;
    let hits = find_hits(&packages, &advisories, &read_ignored()?);
    for Hit { package, advisory } in &hits {
        print_line(&format!("{} {}: {advisory}", package.name, package.version));
    }
    let grave = hits.iter().filter(|hit| hit.advisory.severity() == Severity::Error).count();
    ensure!(grave == 0, "{grave} advisories concern what Cargo.lock names");
    print_line(&format!("none concerns the {} packages of Cargo.lock", packages.len()));
    Ok(())
}

/// The database under `target/`, brought up to date.
fn fetch_database() -> Result<PathBuf> {
    let place = workspace::target_dir().join("advisory-db");
    let path = place.to_str().context("the workspace's path is not UTF-8")?;
    let clone = ["clone", "--quiet", "--depth", "1", DATABASE, path];
    let pull = ["-C", path, "pull", "--quiet", "--ff-only", "--depth", "1"];
    let words = if place.join(".git").is_dir() { &pull[..] } else { &clone[..] };
    run(&mut program_command("git", words)).with_context(|| {
        format!("{DATABASE} cannot be reached; name a copy: cargo xtask advisories DIRECTORY")
    })?;
    Ok(place)
}

/// Every advisory that was not withdrawn, in directories by package.
fn read_all(place: &Path) -> Result<Vec<Advisory>> {
    let missing = || format!("{} is no RustSec database", place.display());
    let mut advisories = Vec::new();
    for package in fs::read_dir(place).with_context(missing)? {
        for file in fs::read_dir(package?.path())? {
            let path = file?.path();
            if path.extension().is_some_and(|extension| extension == "md") {
                let text = fs::read_to_string(&path)?;
                let advisory = Advisory::parse(&text);
                advisories
                    .extend(advisory.with_context(|| format!("{} is unclear", path.display()))?);
            }
        }
    }
    ensure!(!advisories.is_empty(), missing());
    Ok(advisories)
}

fn read_ignored() -> Result<BTreeSet<String>> {
    let text = fs::read_to_string(workspace::root().join("deny.toml"))?;
    let Exceptions { advisories } = toml::from_str(&text).context("deny.toml cannot be read")?;
    Ok(advisories.ignore.into_iter().map(|exception| exception.id).collect())
}

fn find_hits<'a>(
    packages: &'a [Package],
    advisories: &'a [Advisory],
    ignored: &BTreeSet<String>,
) -> Vec<Hit<'a>> {
    let foreign = packages.iter().filter(|package| package.source.is_some());
    let hits = foreign.flat_map(|package| {
        let about = advisories.iter().filter(|advisory| {
            advisory.is_about(&package.name, &package.version) && !ignored.contains(advisory.id())
        });
        about.map(move |advisory| Hit { package, advisory })
    });
    hits.collect()
}

/// How old the database is: by its last commit, or by its newest advisory where it is only a copy.
fn database_age(place: &Path, advisories: &[Advisory]) -> Result<String> {
    let path = place.to_string_lossy();
    let top =
        command_output(&mut program_command("git", &["-C", &path, "rev-parse", "--show-toplevel"]));
    let is_repository = place.canonicalize().is_ok_and(|place| {
        top.is_ok_and(|top| Path::new(&top).canonicalize().is_ok_and(|top| top == place))
    });
    if !is_repository {
        let newest = advisories.iter().map(Advisory::date).max().unwrap_or_default();
        return Ok(format!("the newest of {newest}"));
    }
    let seconds =
        command_output(&mut program_command("git", &["-C", &path, "log", "-1", "--format=%ct"]))?;
    let committed = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.parse()?);
    #[allow(clippy::disallowed_methods, reason = "a command line tool may look at the clock")]
    let passed = SystemTime::now().duration_since(committed).unwrap_or_default();
    Ok(format!("{} days old", passed.as_secs() / DAY.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"
        [[package]]
        name = "openssl"
        version = "0.10.54"
        source = "registry+https://github.com/rust-lang/crates.io-index"

        [[package]]
        name = "time"
        version = "0.3.55"
        source = "registry+https://github.com/rust-lang/crates.io-index"

        [[package]]
        name = "agent"
        version = "0.0.0"
    "#;

    fn database() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let advisory = |package: &str, name: &str, lines: &str| {
            let place = dir.path().join("crates").join(package);
            fs::create_dir_all(&place).unwrap();
            let text = format!(
                "```toml\n[advisory]\nid = \"{name}\"\npackage = \"{package}\"\ndate = \
                 \"2024-05-01\"\n{lines}\n```\n\n# It breaks\n\nBadly.\n"
            );
            fs::write(place.join(format!("{name}.md")), text).unwrap();
        };
        advisory("openssl", "RUSTSEC-1", "[versions]\npatched = [\">= 0.10.55\"]");
        advisory("openssl", "RUSTSEC-2", "withdrawn = \"2024-06-01\"\n[versions]\npatched = []");
        advisory("time", "RUSTSEC-3", "[versions]\npatched = [\">= 0.2.23\"]");
        advisory("time", "RUSTSEC-4", "informational = \"unmaintained\"\n[versions]\npatched = []");
        advisory("agent", "RUSTSEC-5", "[versions]\npatched = []");
        dir
    }

    #[test]
    fn what_is_locked_is_compared_with_the_database() {
        let dir = database();
        let advisories = read_all(&dir.path().join("crates")).unwrap();
        let Lock { package: packages } = toml::from_str(LOCK).unwrap();
        let said = |ignored: &[&str]| {
            let ignored = ignored.iter().map(|id| (*id).to_owned()).collect();
            let mut said: Vec<_> = find_hits(&packages, &advisories, &ignored)
                .iter()
                .map(|hit| format!("{} {:?}", hit.advisory.id(), hit.advisory.severity()))
                .collect();
            said.sort();
            said
        };
        assert_eq!(said(&[]), ["RUSTSEC-1 Error", "RUSTSEC-4 Notice"]);
        assert_eq!(said(&["RUSTSEC-1"]), ["RUSTSEC-4 Notice"]);
        assert_eq!(database_age(dir.path(), &advisories).unwrap(), "the newest of 2024-05-01");
    }

    #[test]
    fn without_a_database_it_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let error = run_check(&[dir.path().to_str().unwrap()]).unwrap_err().to_string();
        assert!(error.ends_with("is no RustSec database"), "{error}");
    }
}
