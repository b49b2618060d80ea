//! Where a client finds a file, and where people may answer.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use crate::feedback::Ask;
use crate::id::FileName;
use crate::session::SessionName;

/// Makes the URLs of a session's files, and of what its run asks. `preview` and `download` are sibling paths, because the
/// original UI turns one into the other by replacing the first `preview` in the URL.
#[derive(Debug, Clone)]
pub struct Links {
    base: String,
    session: SessionName,
    answers: Option<AnswerLinks>,
}

/// Makes the link by which whoever has it can answer one thing that is asked. It is made anew for each
/// client and kept nowhere.
#[derive(Clone)]
pub struct AnswerLinks(Arc<Make>);

/// What is asked, and the moment at which, Unix milliseconds.
type Make = dyn Fn(&Ask, i64) -> Option<String> + Send + Sync;

impl AnswerLinks {
    /// Links as `make` makes them; the same arguments must always give the same link.
    pub fn new(make: impl Fn(&Ask, i64) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// Where something that was asked at this moment, Unix milliseconds, can be answered.
    #[must_use]
    pub fn link(&self, ask: &Ask, at_ms: i64) -> Option<String> {
        (self.0)(ask, at_ms)
    }
}

impl fmt::Debug for AnswerLinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnswerLinks")
    }
}

impl Links {
    /// `base` is the origin the client reached us at, without a slash at its end; `session` is what
    /// this client calls the session.
    #[must_use]
    pub fn new(base: impl Into<String>, session: impl Into<SessionName>) -> Self {
        Self { base: base.into(), session: session.into(), answers: None }
    }

    /// The same, which also lead to what is asked.
    #[must_use]
    pub fn with_answers(self, answers: AnswerLinks) -> Self {
        Self { answers: Some(answers), ..self }
    }

    /// Where something that was asked at this moment can be answered without credentials, if anywhere.
    #[must_use]
    pub fn answer(&self, ask: &Ask, at_ms: i64) -> Option<String> {
        self.answers.as_ref()?.link(ask, at_ms)
    }

    /// Shows the file in place.
    #[must_use]
    pub fn preview(&self, name: &FileName) -> String {
        self.url("preview", name)
    }

    /// Hands the file over as an attachment.
    #[must_use]
    pub fn download(&self, name: &FileName) -> String {
        self.url("download", name)
    }

    fn url(&self, verb: &str, name: &FileName) -> String {
        let session = percent_encoded(self.session.as_str());
        let name = percent_encoded(name.as_str());
        format!("{}/v1/file_tool/{verb}/{session}/{name}", self.base)
    }
}

/// A path segment: everything but RFC 3986's unreserved characters is percent-encoded.
#[must_use]
pub fn percent_encoded(text: &str) -> String {
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

    #[test]
    fn names_with_spaces_and_chinese_stay_one_path_segment() {
        let links = Links::new("http://h", SessionName::new("s:1").unwrap());
        let name = FileName::new("金 a.md").unwrap();
        assert_eq!(links.preview(&name), "http://h/v1/file_tool/preview/s%3A1/%E9%87%91%20a.md");
        assert_eq!(links.preview(&name).replacen("preview", "download", 1), links.download(&name));
    }
}
