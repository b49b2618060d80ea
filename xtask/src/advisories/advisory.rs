//! One advisory of the RustSec database: a file whose first block is TOML, and the rest for people.

use std::fmt;

use anyhow::{Context as _, Result};
use semver::{Version, VersionReq};
use serde::Deserialize;

/// What was found in a package, and in which versions.
#[derive(Debug)]
pub(super) struct Advisory {
    about: About,
    versions: Versions,
    title: String,
}

/// What a hit means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    /// It has to be mended, or excepted.
    Error,
    /// Something to know: nobody keeps the package any more, say.
    Notice,
}

#[derive(Deserialize)]
struct Block {
    advisory: About,
    #[serde(default)]
    versions: Versions,
}

#[derive(Debug, Deserialize)]
struct About {
    id: String,
    package: String,
    /// The date of the advisory is a day in the form `2025-01-18`.
    date: String,
    /// Set if it is no vulnerability: `unmaintained`, `unsound` or `notice`.
    informational: Option<String>,
    withdrawn: Option<String>,
}

/// The versions that are not concerned.
#[derive(Debug, Default, Deserialize)]
struct Versions {
    #[serde(default)]
    patched: Vec<VersionReq>,
    #[serde(default)]
    unaffected: Vec<VersionReq>,
}

impl Advisory {
    /// Reads a file. `None` if what it says was withdrawn.
    ///
    /// # Errors
    /// If it has not the form of an advisory.
    pub(super) fn parse(text: &str) -> Result<Option<Self>> {
        let block = text.trim_start().strip_prefix("```toml").context("there is no TOML block")?;
        let (block, rest) = block.split_once("```").context("the TOML block has no end")?;
        let Block { advisory: about, versions } = toml::from_str(block)?;
        if about.withdrawn.is_some() {
            return Ok(None);
        }
        let title = rest.lines().find_map(|line| line.strip_prefix("# "));
        let title = title.unwrap_or("without a title").trim().to_owned();
        Ok(Some(Self { about, versions, title }))
    }

    pub(super) fn id(&self) -> &str {
        &self.about.id
    }

    pub(super) fn date(&self) -> &str {
        &self.about.date
    }

    /// Whether it is about this version of a package.
    pub(super) fn is_about(&self, package: &str, version: &Version) -> bool {
        let Versions { patched, unaffected } = &self.versions;
        let mut others = patched.iter().chain(unaffected);
        self.about.package == package && !others.any(|other| other.matches(version))
    }

    /// Unsound code counts as a vulnerability.
    pub(super) fn severity(&self) -> Severity {
        match self.about.informational.as_deref() {
            None | Some("unsound") => Severity::Error,
            Some(_) => Severity::Notice,
        }
    }
}

impl fmt::Display for Advisory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let About { id, informational, .. } = &self.about;
        let kind = informational.as_deref().unwrap_or("vulnerability");
        write!(f, "{id} ({kind}): {}", self.title)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advisory(versions: &str) -> Advisory {
        let text = format!(
            "```toml\n[advisory]\nid = \"R-1\"\npackage = \"p\"\ndate = \"2024-05-01\"\n\n\
             [versions]\n{versions}\n```\n\n# It breaks\n"
        );
        Advisory::parse(&text).unwrap().unwrap()
    }

    #[test]
    fn versions_that_are_mended_or_never_had_it_are_not_concerned() {
        let advisory = advisory("patched = [\"^1.2.4\", \">= 2.0.1\"]\nunaffected = [\"< 1.1\"]");
        let concerned = |version: &str| advisory.is_about("p", &Version::parse(version).unwrap());
        assert!(concerned("1.1.0") && concerned("1.2.3") && concerned("2.0.0"));
        assert!(!concerned("1.0.9") && !concerned("1.2.4") && !concerned("1.9.0"));
        assert!(!concerned("2.0.1") && !advisory.is_about("q", &Version::new(1, 1, 0)));
        assert_eq!(advisory.to_string(), "R-1 (vulnerability): It breaks");
    }

    #[test]
    fn a_file_of_another_form_is_refused() {
        for text in ["# It breaks", "```toml\n[advisory]\n", "```toml\n[advisory]\n```\n"] {
            assert!(Advisory::parse(text).is_err(), "{text}");
        }
    }
}
