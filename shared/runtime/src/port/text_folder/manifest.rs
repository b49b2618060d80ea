//! The manifest of a configuration folder whose files are expensive to list: one object with the name and hash of
//! every file.

use std::collections::BTreeSet;

use djinn_core::id::sha256_hex;
use serde::{Deserialize, Serialize};

use super::FolderText;
use super::layout::{check_name, is_data};

/// The name of the manifest in its folder.
pub const MANIFEST: &str = "manifest.json";

/// The maximum size of a manifest, in bytes.
pub const MAX_MANIFEST: usize = 256 * 1024;

/// The maximum number of texts in a configuration folder.
pub const MAX_LISTED: usize = 500;

/// A text in a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedText {
    /// The name below the folder, valid for [`check_name`].
    pub name: String,
    /// The SHA-256 of the file's bytes, in lower-case hex.
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
    /// A name is not that of a configuration file; with the rule.
    #[error("lists the file `{0}`, which {1}")]
    Name(String, String),
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
pub fn list_texts(texts: &[FolderText]) -> Result<String, ManifestError> {
    let entries = texts.iter().filter_map(|FolderText { name, text }| {
        let text = text.as_ref().ok()?;
        let sha256 = if is_data(name) { text.to_string() } else { sha256_hex(text.as_bytes()) };
        Some(ListedText { name: name.clone(), sha256 })
    });
    write_manifest(entries.collect())
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
pub fn parse_manifest(bytes: &[u8]) -> Result<Vec<ListedText>, ManifestError> {
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
        check_name(name).map_err(|rule| ManifestError::Name(shorten_words(name), rule))?;
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
pub fn write_manifest(files: Vec<ListedText>) -> Result<String, ManifestError> {
    let json = serde_json::to_string_pretty(&Manifest { files })
        .map_err(|error| ManifestError::Form(error.to_string()))?;
    parse_manifest(json.as_bytes())?;
    Ok(json + "\n")
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

    use super::*;

    const HASH: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn listing(names: &[&str]) -> Value {
        let file = |name: &&str| json!({"name": name, "sha256": HASH});
        json!({"files": names.iter().map(file).collect::<Vec<_>>()})
    }

    #[test]
    fn a_manifest_lists_texts_by_name() {
        let names = ["modes/zh/b.md", "djinn.toml", "agents/en/b.md"];
        let listed = parse_manifest(listing(&names).to_string().as_bytes());
        let names: Vec<_> = listed.clone().unwrap().into_iter().map(|file| file.name).collect();
        assert_eq!(names, ["agents/en/b.md", "djinn.toml", "modes/zh/b.md"]);
        let written = write_manifest(listed.clone().unwrap()).unwrap();
        assert_eq!(parse_manifest(written.as_bytes()), listed);
        assert_eq!(parse_manifest(br#"{"files": []}"#), Ok(Vec::new()));
    }

    #[test]
    fn five_hundred_texts_fit_into_a_manifest() {
        let name = |nth: usize| format!("prompts/en/{nth:0>100}.md");
        let files =
            |count| (0..count).map(|nth| ListedText { name: name(nth), sha256: HASH.to_owned() });
        let json = write_manifest(files(MAX_LISTED).collect()).unwrap();
        assert!(json.len() <= MAX_MANIFEST, "{}", json.len());
        assert_eq!(write_manifest(files(501).collect()), Err(ManifestError::TooMany(501)));
    }

    #[test]
    fn what_is_wrong_with_a_manifest_is_a_sentence() {
        let named = |name: &str| listing(&[name]).to_string();
        let hashed =
            |hash: &str| json!({"files": [{"name": "djinn.toml", "sha256": hash}]}).to_string();
        let long = format!("agents/{}.md", "a".repeat(101));
        let form = "is not a list of files: ";
        let unnamed = "which is not named agents/NAME.md, agents/en/NAME.md or agents/zh/NAME.md";
        for (manifest, says) in [
            (String::new(), form),
            ("not JSON".to_owned(), form),
            (r#"{"files": ["#.to_owned(), form),
            ("[]".to_owned(), form),
            ("{}".to_owned(), "missing field `files`"),
            (r#"{"files": [], "more": 1}"#.to_owned(), "unknown field `more`"),
            (r#"{"files": [{"name": "djinn.toml"}]}"#.to_owned(), "missing field `sha256`"),
            (r#"{"files": ["djinn.toml"]}"#.to_owned(), form),
            (named("agents/../a.md"), unnamed),
            (named("agents/价格.md"), unnamed),
            (named(&long), unnamed),
            (named("../a.md"), "which is neither djinn.toml nor a file in "),
            (listing(&["djinn.toml", "djinn.toml"]).to_string(), "lists `djinn.toml` twice"),
            (listing(&["djinn.toml"; 501]).to_string(), "lists 501 files: the limit is 500"),
            (hashed(""), "has no SHA-256 of `djinn.toml` in lower-case hex"),
            (hashed(&HASH.to_uppercase()), "has no SHA-256 of `djinn.toml`"),
            (hashed(&HASH[1..]), "has no SHA-256 of `djinn.toml`"),
            (" ".repeat(MAX_MANIFEST + 1), "has more than 262144 bytes"),
        ] {
            let error = parse_manifest(manifest.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(says) && error.len() < 250, "{manifest}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
