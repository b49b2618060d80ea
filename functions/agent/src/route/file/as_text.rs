//! Text for scripts in place of binary files.
//!
//! JoyAgent's page fetches every file except tables and pages as text, and displays an image or a PDF as raw
//! characters. The fetched text is displayed in a code block.

use std::time::Duration;

use axum::http::header::{
    CACHE_CONTROL, CONTENT_TYPE, HeaderValue, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};
use axum::response::{IntoResponse, Response};
use djinn_core::file::{ProductFile, media_type_of};
use djinn_core::id::{SessionId, UserId};
use djinn_core::language::Language;
use djinn_messages::Wording;
use djinn_runtime::port::SessionKey;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::file_url::{FileUrls as _, Folder};
use djinn_runtime::port::sandbox::{
    ExtractValue, JobContext, SandboxFile, SandboxJob, SandboxWork,
};

use crate::agent::{Agent, AgentPorts};
use crate::origin::request_origin;

/// The browser's header with the destination of a response; `empty` means a script.
const FETCH_DESTINATION: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Maximum size of a readable document, maximum characters of text, and timeout for reading.
const MAX_DOCUMENT: u64 = 12 * 1024 * 1024;
const MAX_CHARACTERS: u64 = 200_000;
const PATIENCE: Duration = Duration::from_secs(25);

/// The fence of a code block.
const FENCE: &str = "```";

/// A binary file, by the form of its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// An image, which Markdown can show.
    Image,
    /// A document with extractable text.
    Document,
    /// Any other binary file.
    Other,
}

impl Unreadable {
    /// Returns the form of a binary file requested by a script. Returns `None` for other requests, and for
    /// texts and tables, which scripts can read.
    pub(super) fn of(headers: &HeaderMap, name: &str, start: &[u8]) -> Option<Self> {
        if headers.get(FETCH_DESTINATION).is_none_or(|destination| destination != "empty") {
            return None;
        }
        match media_type_of(name) {
            image if image.starts_with("image/") => Some(Self::Image),
            "application/pdf"
            | "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
            | "application/vnd.openxmlformats-officedocument.presentationml.presentation" => {
                Some(Self::Document)
            }
            "application/zip" => Some(Self::Other),
            "application/octet-stream" if is_binary(start) => Some(Self::Other),
            _ => None,
        }
    }

    /// Returns the text in place of a file of this size.
    pub(super) async fn respond<P: AgentPorts>(
        self,
        agent: &Agent<P>,
        parts: &Parts,
        folder: &Folder,
        (file, size): (&ProductFile, u64),
        language: Language,
    ) -> Response {
        let name = file.name.as_str();
        let label = format!("{name} ({})", format_size(size));
        let text = match self {
            Self::Image => {
                let url = format!("{}{}", request_origin(parts, &agent.settings), parts.uri.path());
                // The surrounding code block ends before the image, and a new block begins after the image.
                format!("{name}\n{FENCE}\n\n![]({url})\n\n{FENCE}text\n{label}")
            }
            Self::Document => match read_document(agent, folder, file, size, language).await {
                Some(text) => text,
                None => Wording::FileNotText.fill(language, &[("file", &label)]),
            },
            Self::Other => Wording::FileNotText.fill(language, &[("file", &label)]),
        };
        let static_header =
            |name: HeaderName, value: &'static str| (name, HeaderValue::from_static(value));
        let headers = [
            static_header(CONTENT_TYPE, "text/plain; charset=utf-8"),
            static_header(X_CONTENT_TYPE_OPTIONS, "nosniff"),
            static_header(REFERRER_POLICY, "no-referrer"),
            static_header(CACHE_CONTROL, "no-store"),
            static_header(VARY, "sec-fetch-dest"),
        ];
        (headers, text).into_response()
    }
}

/// Returns the beginning of a document's text; `None` if the document cannot be read in time.
async fn read_document<P: AgentPorts>(
    agent: &Agent<P>,
    folder: &Folder,
    file: &ProductFile,
    size: u64,
    language: Language,
) -> Option<String> {
    let sandbox = agent.ports.sandbox();
    if size > MAX_DOCUMENT.min(sandbox.max_bytes()) {
        return None;
    }
    let content = agent.ports.store().read_start(folder, file, size).await.ok()??.bytes;
    // A link contains hashes of the names, and the hashes identify the session equally well.
    let session = SessionKey {
        tenant: folder.tenant.clone(),
        owner: UserId::new(folder.owner.as_str()).ok()?,
        session: SessionId::new(folder.session.as_str()).ok()?,
    };
    let name = file.name.clone();
    let work =
        SandboxWork::Extract { name: name.clone(), offset: 0, limit: MAX_CHARACTERS, language };
    let job = SandboxJob { work, files: vec![SandboxFile { name, content }], state: Vec::new() };
    let context = JobContext::new(&session);
    let answer = tokio::select! {
        answer = sandbox.run_job(&context, job) => answer.ok()?,
        () = agent.ports.clock().sleep(PATIENCE) => return None,
    };
    let part: ExtractValue = serde_json::from_value(answer.value).ok()?;
    if part.problem.is_some() || part.text.trim().is_empty() {
        return None;
    }
    let mut text = keep_in_block(&part.text);
    if part.next_offset.is_some() {
        text.push_str("\n\n");
        text.push_str(Wording::FileTextCut.text(language));
    }
    Some(text)
}

/// Returns a text that cannot end the surrounding code block. Otherwise the text's author could make the page
/// load images.
fn keep_in_block(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let lines = text.split_inclusive('\n').map(|line| {
        let is_fence = line.trim_start().starts_with(FENCE);
        if is_fence { format!("    {line}") } else { line.to_owned() }
    });
    lines.collect()
}

/// Returns true if the beginning of a file is binary. A truncated last character is ignored.
fn is_binary(start: &[u8]) -> bool {
    let is_text =
        std::str::from_utf8(start).map_or_else(|error| error.error_len().is_none(), |_| true);
    !is_text || start.contains(&0)
}

/// Formats a size for users: whole bytes, or a tenth of the unit below 10.
fn format_size(bytes: u64) -> String {
    const UNITS: [&str; 3] = ["KB", "MB", "GB"];
    let mut unit = "bytes";
    let mut tenths = bytes.saturating_mul(10);
    for larger in UNITS {
        if tenths < 10_240 {
            break;
        }
        (unit, tenths) = (larger, tenths / 1_024);
    }
    if unit == "bytes" || tenths >= 100 {
        format!("{} {unit}", tenths / 10)
    } else {
        format!("{}.{} {unit}", tenths / 10, tenths % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_get_text_of_what_they_cannot_read() {
        let headers = |destination: &'static str| {
            HeaderMap::from_iter([(FETCH_DESTINATION, HeaderValue::from_static(destination))])
        };
        for (name, form) in [
            ("a.png", Some(Unreadable::Image)),
            ("a.SVG", Some(Unreadable::Image)),
            ("a.pdf", Some(Unreadable::Document)),
            ("a.docx", Some(Unreadable::Document)),
            ("a.pptx", Some(Unreadable::Document)),
            ("a.zip", Some(Unreadable::Other)),
            ("a.xlsx", None),
            ("a.csv", None),
            ("a.md", None),
            ("a.html", None),
            ("a.json", None),
            ("a.rs", None),
        ] {
            assert_eq!(Unreadable::of(&headers("empty"), name, b"a"), form, "{name}");
            for other in ["image", "document", "iframe"] {
                assert_eq!(Unreadable::of(&headers(other), name, b"a"), None, "{name} {other}");
            }
            assert_eq!(Unreadable::of(&HeaderMap::new(), name, b"a"), None, "{name}");
        }
        for (start, form) in [
            (&b"a\0b"[..], Some(Unreadable::Other)),
            (b"\xff\xfe", Some(Unreadable::Other)),
            (b"\xe7\x95", None),
        ] {
            assert_eq!(Unreadable::of(&headers("empty"), "a.bin", start), form, "{start:?}");
        }
    }

    #[test]
    fn text_of_a_document_stays_in_its_block() {
        let text = "a\r```\r\n![](https://evil.test)\n  ````\nb ``` c";
        assert_eq!(keep_in_block(text), "a\n    ```\n![](https://evil.test)\n      ````\nb ``` c");
    }

    #[test]
    fn sizes_are_short() {
        for (bytes, size) in [
            (0, "0 bytes"),
            (1_023, "1023 bytes"),
            (1_024, "1.0 KB"),
            (12_700, "12 KB"),
            (1_300_000, "1.2 MB"),
            (u64::MAX, "1717986918 GB"),
        ] {
            assert_eq!(format_size(bytes), size);
        }
    }
}
