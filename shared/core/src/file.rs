//! Product files: files written by runs and files added by users.

use serde::{Deserialize, Serialize};

use crate::id::FileName;

/// A file of a session, as the journal and the clients know it. Object storage holds its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProductFile {
    /// The name, unique within the session. Writing the name again replaces the file.
    pub name: FileName,
    /// A description in one line for users and the model; up to 1 500 characters.
    pub description: String,
    /// The size of the content in bytes.
    pub size: u64,
    /// True for an intermediate result: the agent may read the file, but the user does not see it.
    pub internal: bool,
    /// The media type of the content in responses.
    pub media_type: String,
    /// The key of the content in object storage, opaque here. A rewritten file has another key.
    pub object: String,
    /// True if a CSV file has a row below its header. `None` if this was not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_rows: Option<bool>,
    /// True if a user added the file; false if a run wrote it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uploaded: bool,
}

/// A file that came with a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// The name of the file in the session.
    pub name: FileName,
    /// The image for a model that reads images; `None` for other files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<AttachedImage>,
}

/// The form of an attached image for a model that reads images.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachedImage {
    /// This content under the name of the file, possibly a smaller copy.
    Shown(ProductFile),
    /// The parts of a very long image in order, each with its own name.
    Parts(Vec<ProductFile>),
    /// No content: the image is too large or could not be read.
    Unseen,
}

/// The files of a session in the order of their last writes, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileList(Vec<ProductFile>);

impl FileList {
    /// Creates a list of these files. A later file replaces an earlier file with the same name.
    #[must_use]
    pub fn of(files: impl IntoIterator<Item = ProductFile>) -> Self {
        let mut list = Self::default();
        for file in files {
            list.insert(file);
        }
        list
    }

    /// Adds a file, or replaces the file with the same name, as the newest file.
    pub fn insert(&mut self, file: ProductFile) {
        self.0.retain(|other| other.name != file.name);
        self.0.push(file);
    }

    /// Returns all files, oldest first.
    #[must_use]
    pub fn all(&self) -> &[ProductFile] {
        &self.0
    }

    /// Returns the files that a user sees, newest first.
    #[must_use]
    pub fn deliverable_files(&self) -> Vec<ProductFile> {
        self.0.iter().rev().filter(|file| !file.internal).cloned().collect()
    }
}

/// File extensions with their media types; the usual extension of a type is first.
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

/// Returns the media type of a file name by its extension, `application/octet-stream` by default.
#[must_use]
pub fn media_type_of(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let entry = TYPES.iter().find(|(extension, _)| ending.eq_ignore_ascii_case(extension));
    entry.map_or("application/octet-stream", |(_, media_type)| media_type)
}

/// Returns the file extension of a media type, `bin` by default.
#[must_use]
pub fn ending_of(media_type: &str) -> &'static str {
    let entry = TYPES.iter().find(|(_, own_type)| *own_type == media_type);
    entry.map_or("bin", |(ending, _)| ending)
}

/// The media types that every model with image input accepts.
pub const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/// Returns the type in [`IMAGE_TYPES`] that matches the first bytes of a content.
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
