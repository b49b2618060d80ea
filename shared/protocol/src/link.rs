//! URLs of files, and links for human responses.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use djinn_core::file::ProductFile;
use djinn_core::human::HumanRequest;
use djinn_core::id::SessionName;

/// The URLs of a session's files and human requests. `preview` and `download` are sibling paths, because the
/// original UI replaces the first `preview` in a URL by `download`.
#[derive(Debug, Clone)]
pub struct SessionLinks {
    base: String,
    session: SessionName,
    response_links: Option<ResponseLinks>,
    file_links: Option<FileLinks>,
    /// The newest known time.
    at_ms: i64,
}

/// The tokens of file links: any holder of a link can open one content of a file. Tokens are created for each
/// client and never stored.
#[derive(Clone)]
pub struct FileLinks {
    base: String,
    make: Arc<MakeToken>,
}

/// Creates the token for a file and the time of the link, Unix milliseconds.
type MakeToken = dyn Fn(&ProductFile, i64) -> Option<String> + Send + Sync;

impl FileLinks {
    /// Creates links that start with `base` and contain tokens from `make`: letters, digits, `.`, `-` and
    /// `_`. `make` must be deterministic. Files without a token get links that require credentials.
    pub fn new(
        base: impl Into<String>,
        make: impl Fn(&ProductFile, i64) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self { base: base.into(), make: Arc::new(make) }
    }
}

impl fmt::Debug for FileLinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileLinks")
    }
}

/// The links to human requests: any holder of a link can respond to one request. Links are created for each
/// client and never stored.
#[derive(Clone)]
pub struct ResponseLinks(Arc<MakeResponseLink>);

/// Creates the link for a request and its time, Unix milliseconds.
type MakeResponseLink = dyn Fn(&HumanRequest, i64) -> Option<String> + Send + Sync;

impl ResponseLinks {
    /// Creates links by `make`; equal arguments must return equal links.
    pub fn new(
        make: impl Fn(&HumanRequest, i64) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(make))
    }

    /// Returns the link to a request made at this time, Unix milliseconds.
    #[must_use]
    pub fn response_link(&self, ask: &HumanRequest, at_ms: i64) -> Option<String> {
        (self.0)(ask, at_ms)
    }
}

impl fmt::Debug for ResponseLinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseLinks")
    }
}

impl SessionLinks {
    /// Creates links from `base`, the origin used by the client, without a final slash, and `session`, the
    /// client's name of the session.
    #[must_use]
    pub fn new(base: impl Into<String>, session: impl Into<SessionName>) -> Self {
        let base = base.into();
        let session = session.into();
        Self { base, session, response_links: None, file_links: None, at_ms: 0 }
    }

    /// Adds file links without credentials, created at this time, Unix milliseconds.
    #[must_use]
    pub fn with_file_links(self, files: FileLinks, now_ms: i64) -> Self {
        Self { file_links: Some(files), at_ms: now_ms, ..self }
    }

    /// Sets the time of later links to this time, Unix milliseconds, unless already later: a connection may
    /// last for days.
    pub fn advance_to(&mut self, at_ms: i64) {
        self.at_ms = self.at_ms.max(at_ms);
    }

    /// Adds links to human requests.
    #[must_use]
    pub fn with_response_links(self, response_links: ResponseLinks) -> Self {
        Self { response_links: Some(response_links), ..self }
    }

    /// Returns the link for responses without credentials to a request made at this time, if configured.
    #[must_use]
    pub fn response_link(&self, ask: &HumanRequest, at_ms: i64) -> Option<String> {
        self.response_links.as_ref()?.response_link(ask, at_ms)
    }

    /// Shows the file in place.
    #[must_use]
    pub fn preview_url(&self, file: &ProductFile) -> String {
        self.file_url("preview", file)
    }

    /// Hands the file over as an attachment.
    #[must_use]
    pub fn download_url(&self, file: &ProductFile) -> String {
        self.file_url("download", file)
    }

    fn file_url(&self, verb: &str, file: &ProductFile) -> String {
        let signed_link = self.file_links.as_ref().and_then(|files| {
            let token = (files.make)(file, self.at_ms)?;
            Some((files.base.as_str(), token))
        });
        let (base, key) =
            signed_link.unwrap_or_else(|| (&self.base, percent_encode(self.session.as_str())));
        format!("{base}/v1/file_tool/{verb}/{key}/{}", percent_encode(file.name.as_str()))
    }
}

/// Encodes a path segment: all characters except RFC 3986's unreserved characters are percent-encoded.
#[must_use]
pub fn percent_encode(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            // Writing into a String cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
        encoded
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    use djinn_core::file::media_type_of;
    use djinn_core::id::FileName;

    fn file(name: &str) -> ProductFile {
        ProductFile {
            name: FileName::new(name).unwrap(),
            description: String::new(),
            size: 1,
            internal: false,
            media_type: media_type_of(name).to_owned(),
            object: "files/5e".to_owned(),
            has_rows: None,
            uploaded: false,
        }
    }

    fn links() -> SessionLinks {
        SessionLinks::new("http://h", SessionName::new("s:1").unwrap())
    }

    #[test]
    fn names_with_spaces_and_chinese_stay_one_path_segment() {
        let links = links();
        let file = file("金 a.md");
        assert_eq!(
            links.preview_url(&file),
            "http://h/v1/file_tool/preview/s%3A1/%E9%87%91%20a.md"
        );
        assert_eq!(
            links.preview_url(&file).replacen("preview", "download", 1),
            links.download_url(&file)
        );
    }

    #[test]
    fn a_signed_link_holds_a_token_of_its_moment_and_has_the_same_form() {
        let make = |file: &ProductFile, at_ms| {
            (file.name.as_str() != "none.md").then(|| format!("{}.{at_ms}", file.object.len()))
        };
        let mut links = links().with_file_links(FileLinks::new("https://cdn/x", make), 7);
        let file_at = |links: &SessionLinks| links.preview_url(&file("a.md"));
        assert_eq!(file_at(&links), "https://cdn/x/v1/file_tool/preview/8.7/a.md");
        assert_eq!(
            file_at(&links).replacen("preview", "download", 1),
            links.download_url(&file("a.md"))
        );
        links.advance_to(9);
        links.advance_to(8);
        assert_eq!(file_at(&links), "https://cdn/x/v1/file_tool/preview/8.9/a.md");
        let unsigned = "http://h/v1/file_tool/preview/s%3A1/none.md";
        assert_eq!(links.preview_url(&file("none.md")), unsigned);
    }
}
