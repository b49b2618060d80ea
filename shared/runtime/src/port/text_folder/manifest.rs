//! The manifest of a folder whose texts are expensive to list: one object with the name and hash of every
//! text.

use std::collections::BTreeSet;

use djinn_core::id::sha256_hex;
use serde::{Deserialize, Serialize};

use super::FolderText;

/// The name of the manifest in its folder.
pub const MANIFEST: &str = "manifest.json";

/// The maximum size of a manifest, in bytes.
pub const MAX_MANIFEST: usize = 64 * 1024;

/// The maximum number of texts in a manifest.
pub const MAX_LISTED: usize = 200;

/// The maximum length of a name without its language prefix, in characters.
const MAX_NAME: usize = 100;

/// The rule for the names of a folder's texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameDepth {
    /// `NAME.md`, `en/NAME.md` and `zh/NAME.md`, as for files of agents.
    Language,
    /// Up to two folders before the name: `en/GROUP/NAME.md`, as for prompts.
    Group,
}

impl NameDepth {
    fn pattern(self) -> &'static str {
        match self {
            Self::Language => "NAME.md, en/NAME.md or zh/NAME.md",
            Self::Group => "en/GROUP/NAME.md or zh/GROUP/NAME.md",
        }
    }

    /// Returns true if a name is valid: within its folder, and not too deep.
    fn allows(self, name: &str) -> bool {
        let file = ["en/", "zh/"].into_iter().find_map(|language| name.strip_prefix(language));
        let Some(stem) = file.unwrap_or(name).strip_suffix(".md") else { return false };
        let most = match (self, file) {
            (Self::Language, _) => 1,
            (Self::Group, Some(_)) => 2,
            (Self::Group, None) => 3,
        };
        (1..=MAX_NAME).contains(&stem.len())
            && !name.contains("..")
            && stem.split('/').count() <= most
            && stem.split('/').all(is_segment)
    }
}

/// A text in a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedText {
    /// The name below the folder, valid for the folder's [`NameDepth`].
    pub name: String,
    /// The SHA-256 of the text's bytes, in lower-case hex.
    pub sha256: String,
}

/// The problem with a manifest, as the rest of a sentence that begins with the manifest's path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// The manifest is too long.
    #[error("has more than {MAX_MANIFEST} bytes")]
    TooLong,
    /// The manifest is no JSON, or has another form.
    #[error("is not a list of files: {0}")]
    Form(String),
    /// The manifest lists too many texts.
    #[error("lists {0} files: the limit is {MAX_LISTED}")]
    TooMany(usize),
    /// A name is invalid for the folder.
    #[error("lists the file `{0}`, which is not named {1}")]
    Name(String, &'static str),
    /// A name is listed more than once.
    #[error("lists `{0}` twice")]
    Twice(String),
    /// A hash is invalid.
    #[error("has no SHA-256 of `{0}` in lower-case hex")]
    Hash(String),
}

/// Returns the manifest of these texts, as a file. Unreadable texts are left out.
///
/// # Errors
/// Returns [`ManifestError`] if a reader would reject the manifest.
pub fn list_texts(texts: &[FolderText], depth: NameDepth) -> Result<String, ManifestError> {
    let entries = texts.iter().filter_map(|FolderText { name, text }| {
        let sha256 = sha256_hex(text.as_ref().ok()?.as_bytes());
        Some(ListedText { name: name.clone(), sha256 })
    });
    write_manifest(entries.collect(), depth)
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    files: Vec<ListedText>,
}

/// Parses a manifest and returns its texts, sorted by name.
///
/// # Errors
/// Returns [`ManifestError`] for the first problem.
pub fn parse_manifest(bytes: &[u8], depth: NameDepth) -> Result<Vec<ListedText>, ManifestError> {
    if bytes.len() > MAX_MANIFEST {
        return Err(ManifestError::TooLong);
    }
    let Manifest { mut files } = serde_json::from_slice(bytes)
        .map_err(|error| ManifestError::Form(shorten_words(&error.to_string())))?;
    if files.len() > MAX_LISTED {
        return Err(ManifestError::TooMany(files.len()));
    }
    let mut names = BTreeSet::new();
    for ListedText { name, sha256 } in &files {
        if !depth.allows(name) {
            return Err(ManifestError::Name(shorten_words(name), depth.pattern()));
        }
        if !is_sha256(sha256) {
            return Err(ManifestError::Hash(name.clone()));
        }
        if !names.insert(name) {
            return Err(ManifestError::Twice(name.clone()));
        }
    }
    files.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(files)
}

/// Returns the manifest with these texts, as a file.
///
/// # Errors
/// Returns [`ManifestError`] if a reader would reject the manifest.
pub fn write_manifest(files: Vec<ListedText>, depth: NameDepth) -> Result<String, ManifestError> {
    let json = serde_json::to_string_pretty(&Manifest { files })
        .map_err(|error| ManifestError::Form(error.to_string()))?;
    parse_manifest(json.as_bytes(), depth)?;
    Ok(json + "\n")
}

fn is_segment(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    !name.is_empty() && !name.starts_with('.') && name.bytes().all(is_allowed)
}

fn is_sha256(text: &str) -> bool {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == 64 && text.bytes().all(is_hex)
}

/// Shortens quoted content of a manifest to one line of limited length.
fn shorten_words(words: &str) -> String {
    words.chars().take(120).flat_map(char::escape_debug).collect::<String>().replace("\\\"", "\"")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::NameDepth::{Group, Language};
    use super::*;

    const HASH: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn listing(names: &[&str]) -> Value {
        let file = |name: &&str| json!({"name": name, "sha256": HASH});
        json!({"files": names.iter().map(file).collect::<Vec<_>>()})
    }

    fn parse(manifest: &[u8]) -> Result<Vec<ListedText>, ManifestError> {
        parse_manifest(manifest, Language)
    }

    #[test]
    fn names_of_prompts_have_two_folders_before_them_at_most() {
        for name in ["en/react/system.md", "zh/a/b.md", "a.md", "en/a.md", "fr/a/b.md", "a/b.md"] {
            assert!(Group.allows(name), "{name}");
        }
        for name in [
            "en/a/b/c.md",
            "a/b/c/d.md",
            "en/.a/b.md",
            "en//b.md",
            "/a/b.md",
            "../a.md",
            "en/a/..md",
            "en/a/b.txt",
            "en/a b/c.md",
            "en/",
            "",
        ] {
            assert!(!Group.allows(name), "{name}");
        }
        let refused = parse_manifest(listing(&["en/a/b/c.md"]).to_string().as_bytes(), Group);
        let says =
            "lists the file `en/a/b/c.md`, which is not named en/GROUP/NAME.md or zh/GROUP/NAME.md";
        assert_eq!(refused.unwrap_err().to_string(), says);
    }

    #[test]
    fn a_manifest_lists_texts_by_name() {
        let listed = parse(listing(&["zh/b.md", "a-1_x.v2.md", "en/b.md"]).to_string().as_bytes());
        let names: Vec<_> = listed.clone().unwrap().into_iter().map(|file| file.name).collect();
        assert_eq!(names, ["a-1_x.v2.md", "en/b.md", "zh/b.md"]);
        let written = write_manifest(listed.clone().unwrap(), Language).unwrap();
        assert_eq!(parse(written.as_bytes()), listed);
        assert_eq!(parse(br#"{"files": []}"#), Ok(Vec::new()));
    }

    #[test]
    fn two_hundred_texts_fit_into_a_manifest() {
        let name = |nth: usize| format!("en/{nth:0>100}.md");
        let files =
            |count| (0..count).map(|nth| ListedText { name: name(nth), sha256: HASH.to_owned() });
        let json = write_manifest(files(MAX_LISTED).collect(), Language).unwrap();
        assert!(json.len() <= MAX_MANIFEST, "{}", json.len());
        assert_eq!(
            write_manifest(files(201).collect(), Language),
            Err(ManifestError::TooMany(201))
        );
    }

    #[test]
    fn what_is_wrong_with_a_manifest_is_a_sentence() {
        let named = |name: &str| listing(&[name]).to_string();
        let hashed = |hash: &str| json!({"files": [{"name": "a.md", "sha256": hash}]}).to_string();
        let long = format!("{}.md", "a".repeat(101));
        let form = "is not a list of files: ";
        let unnamed = "which is not named NAME.md, en/NAME.md or zh/NAME.md";
        for (manifest, says) in [
            (String::new(), form),
            ("not JSON".to_owned(), form),
            (r#"{"files": ["#.to_owned(), form),
            ("[]".to_owned(), form),
            ("{}".to_owned(), "missing field `files`"),
            (r#"{"files": [], "more": 1}"#.to_owned(), "unknown field `more`"),
            (r#"{"files": [{"name": "a.md"}]}"#.to_owned(), "missing field `sha256`"),
            (r#"{"files": ["a.md"]}"#.to_owned(), form),
            (named("../a.md"), unnamed),
            (named("en/../a.md"), unnamed),
            (named("en/zh/a.md"), unnamed),
            (named("/etc/a.md"), unnamed),
            (named("fr/a.md"), unnamed),
            (named("a\\b.md"), unnamed),
            (named("a.txt"), unnamed),
            (named(".md"), unnamed),
            (named(".hidden.md"), unnamed),
            (named("a b.md"), unnamed),
            (named("价格.md"), unnamed),
            (named("a..md"), "lists the file `a..md`"),
            (named(&long), unnamed),
            (listing(&["a.md", "a.md"]).to_string(), "lists `a.md` twice"),
            (listing(&["a.md"; 201]).to_string(), "lists 201 files: the limit is 200"),
            (hashed(""), "has no SHA-256 of `a.md` in lower-case hex"),
            (hashed(&HASH.to_uppercase()), "has no SHA-256 of `a.md`"),
            (hashed(&HASH[1..]), "has no SHA-256 of `a.md`"),
            (" ".repeat(MAX_MANIFEST + 1), "has more than 65536 bytes"),
        ] {
            let error = parse(manifest.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(says) && error.len() < 250, "{manifest}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
