//! Product files: what a run makes and what a user hands in.

use serde::{Deserialize, Serialize};

use djinn_ids::FileName;

/// A file of a session, as the journal and the clients know it. Its bytes lie in object storage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProductFile {
    /// Unique within the session; writing it again replaces it.
    pub name: FileName,
    /// One line for people and for the model; up to 1 500 characters.
    pub description: String,
    /// The size of its content in bytes.
    pub size: u64,
    /// An intermediate result: the agent may read it, the user is not offered it.
    pub internal: bool,
    /// The media type it is served with.
    pub media_type: String,
    /// Where its bytes lie. Opaque here; names one content, so a rewritten file gets another.
    pub object: String,
    /// Of a CSV file whether it has a row below its header, if that was looked at when it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_rows: Option<bool>,
    /// Whether a user handed it in: any other is the work of a run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uploaded: bool,
}

/// A file that came with a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// The name of the file, which is one of the session's.
    pub name: FileName,
    /// What a model that sees is shown of it; nothing of what is no image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<AttachedImage>,
}

/// What a model that sees is shown of an image that came with a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachedImage {
    /// This content, which may be a smaller copy, under the name of the file.
    Shown(ProductFile),
    /// The parts of a very long image in order, each under a name of its own.
    Parts(Vec<ProductFile>),
    /// Nothing: it is too large, or could not be read.
    Unseen,
}

/// The files of a session in the order they were last written, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileList(Vec<ProductFile>);

impl FileList {
    /// A list of these files, each replacing an earlier one of its name.
    #[must_use]
    pub fn of(files: impl IntoIterator<Item = ProductFile>) -> Self {
        let mut list = Self::default();
        for file in files {
            list.insert(file);
        }
        list
    }

    /// Adds a file, or replaces the one of that name; either way it is the newest now.
    pub fn insert(&mut self, file: ProductFile) {
        self.0.retain(|known| known.name != file.name);
        self.0.push(file);
    }

    /// All files, oldest first.
    #[must_use]
    pub fn all(&self) -> &[ProductFile] {
        &self.0
    }

    /// The files a user would be offered, newest first.
    #[must_use]
    pub fn deliverable_files(&self) -> Vec<ProductFile> {
        self.0.iter().rev().filter(|file| !file.internal).cloned().collect()
    }
}

/// Endings of names with the media types that they suggest; of a type's endings the usual one first.
const TYPES: [(&str, &str); 22] = [
    ("txt", "text/plain"),
    ("log", "text/plain"),
    ("md", "text/markdown"),
    ("markdown", "text/markdown"),
    ("csv", "text/csv"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("json", "application/json"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("svg", "image/svg+xml"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("zip", "application/zip"),
];

/// The media type a file name suggests; `application/octet-stream` when it suggests none.
#[must_use]
pub fn media_type_of(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let known = TYPES.iter().find(|(known, _)| ending.eq_ignore_ascii_case(known));
    known.map_or("application/octet-stream", |(_, media_type)| media_type)
}

/// The ending of a name that suggests this media type; `bin` when none does.
#[must_use]
pub fn ending_of(media_type: &str) -> &'static str {
    let known = TYPES.iter().find(|(_, known)| *known == media_type);
    known.map_or("bin", |(ending, _)| ending)
}

/// The media types that every model which sees images can be shown.
pub const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/// The one of [`IMAGE_TYPES`] as which a content begins.
#[must_use]
pub fn image_type_of(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, internal: bool) -> ProductFile {
        ProductFile {
            name: FileName::new(name).unwrap(),
            description: String::new(),
            size: 1,
            internal,
            media_type: media_type_of(name).to_owned(),
            object: format!("o-{name}"),
            has_rows: None,
            uploaded: false,
        }
    }

    #[test]
    fn a_rewritten_file_is_the_newest_and_internal_ones_are_not_offered() {
        let list = FileList::of([file("a.md", false), file("b.txt", true), file("c.md", false)]);
        let list = FileList::of(list.all().iter().cloned().chain([file("a.md", false)]));
        let names: Vec<_> = list.deliverable_files().iter().map(|f| f.name.to_string()).collect();
        assert_eq!(names, ["a.md", "c.md"]);
        assert_eq!(list.all().len(), 3);
    }

    #[test]
    fn an_image_is_told_by_how_it_begins() {
        for (bytes, media_type) in [
            (b"\x89PNG\r\n\x1a\n...".as_slice(), "image/png"),
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"GIF89a", "image/gif"),
            (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        ] {
            assert_eq!(image_type_of(bytes), Some(media_type));
            assert!(IMAGE_TYPES.contains(&media_type));
        }
        for none in [b"".as_slice(), b"<html>", b"\x89PNG", b"RIFF\0\0\0\0WAVE"] {
            assert_eq!(image_type_of(none), None);
        }
    }

    #[test]
    fn a_name_suggests_a_type_and_a_type_an_ending() {
        for (name, media_type) in [
            ("a.csv", "text/csv"),
            ("a.b.JPEG", "image/jpeg"),
            ("csv", "application/octet-stream"),
            ("a.", "application/octet-stream"),
        ] {
            assert_eq!(media_type_of(name), media_type, "{name}");
        }
        for (ending, media_type) in [("jpg", "image/jpeg"), ("txt", "text/plain"), ("bin", "x/y")] {
            assert_eq!(ending_of(media_type), ending);
        }
    }
}
