//! A job and its answer on the way to a gateway function.

use serde::{Deserialize, Serialize};

use super::{PageAnswer, ReadJob, SealJob, SearchAnswer, SearchJob, ToolAnswer, ToolJob};
use crate::port::UserKey;
use crate::port::payload::StoreRequest;

/// The format of both envelopes of this code. A receiver with an older format rejects the job.
pub const FORMAT: u16 = 1;

/// The maximum size of an answer in a payload, as JSON in bytes.
pub const MAX_ANSWER: usize = 4 * 1024 * 1024;

/// The maximum size of an answer stored as an object, as JSON in bytes: the caller holds the answer in
/// memory.
pub const MAX_STORED_ANSWER: usize = 24 * 1024 * 1024;

/// A job in the payload of an invocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutsideEnvelope {
    /// The format, always [`FORMAT`].
    pub v: u16,
    /// The work to be done.
    pub job: OutsideJob,
    /// The request that stores an answer above the payload limit: an [`OutsideAnswer`] as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub put_answer: Option<StoreRequest>,
}

/// A job for the gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "arguments", rename_all = "snake_case")]
pub enum OutsideJob {
    /// Reads web pages.
    Read(ReadJob),
    /// Queries search engines.
    Search(SearchJob),
    /// Calls a tool that is a file.
    Call(ToolJob),
    /// Seals a user's key.
    Seal(SealJob),
}

impl OutsideJob {
    /// Returns the owner of the job's key, if the job has a key.
    #[must_use]
    pub fn key_owner(&self) -> Option<&UserKey> {
        match self {
            Self::Read(_) | Self::Search(_) => None,
            Self::Call(job) => job.user_key.as_ref().map(|key| &key.owner),
            Self::Seal(job) => Some(&job.owner),
        }
    }
}

/// The response of a gateway function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutsideReply {
    /// The result of the job.
    Answer(OutsideAnswer),
    /// The answer is stored at [`OutsideEnvelope::put_answer`].
    Stored,
    /// A setting is missing, as this sentence says.
    Disabled(String),
    /// This function never does the job, for this reason.
    Refused(String),
    /// The job was not done, for this reason; a retry may succeed.
    Unavailable(String),
}

/// The result of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutsideAnswer {
    /// The format, always [`FORMAT`].
    pub v: u16,
    /// The answer to the job's kind.
    pub content: OutsideContent,
}

/// The answer to a job, of the same kind as the job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum OutsideContent {
    /// The result of each page.
    Read(Vec<PageAnswer>),
    /// The results of the engines.
    Search(SearchAnswer),
    /// The answer of a tool.
    Call(ToolAnswer),
    /// A sealed key in base64.
    Seal(String),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::port::outside::{
        ForeignDocument, PageNote, PageOutcome, PageProblem, PageProblemCode, PageTarget, PageText,
    };

    #[test]
    fn a_job_looks_like_this() {
        let job = json!({
            "v": 1,
            "job": {"kind": "read", "arguments": {"pages": [
                {"url": "https://example.com/", "offset": 0, "limit": 8000, "heeds_robots": true},
            ]}},
            "put_answer": {"url": "https://b/t/sandbox/1", "headers": [["content-type", "x"]]},
        });
        let read: OutsideEnvelope = serde_json::from_value(job.clone()).unwrap();
        assert_eq!(json!(read), job);
        let short = json!({"url": "https://example.com/"});
        let target: PageTarget = serde_json::from_value(short).unwrap();
        assert_eq!(target, PageTarget::new("https://example.com/"));
    }

    #[test]
    fn an_answer_looks_like_this() {
        let page = PageText {
            url: "https://example.com/a".into(),
            title: "A".into(),
            text: "b".into(),
            total_chars: 1,
            notes: vec![PageNote::NoMainText],
            ..PageText::default()
        };
        let document = ForeignDocument {
            url: "https://example.com/b".into(),
            media_type: "application/pdf".into(),
            name: "b.pdf".into(),
            content: b"%PDF-".to_vec(),
        };
        let problem = PageProblem {
            code: PageProblemCode::Status,
            sentence: "No.".into(),
            status: Some(404),
        };
        let outcomes = [
            PageOutcome::Page(page),
            PageOutcome::Document(document),
            PageOutcome::Refused(problem),
        ];
        let pages = outcomes.map(|outcome| PageAnswer { url: "u".into(), outcome }).to_vec();
        let answer = OutsideAnswer { v: FORMAT, content: OutsideContent::Read(pages) };
        let json = json!(OutsideReply::Answer(answer.clone()));
        assert_eq!(
            json,
            json!({"answer": {"v": 1, "content": {"kind": "read", "value": [
                {"url": "u", "outcome": {"page": {
                    "url": "https://example.com/a", "title": "A", "text": "b", "total_chars": 1,
                    "notes": ["no_main_text"],
                }}},
                {"url": "u", "outcome": {"document": {
                    "url": "https://example.com/b", "media_type": "application/pdf",
                    "name": "b.pdf", "content": "JVBERi0=",
                }}},
                {"url": "u", "outcome": {"refused": {
                    "code": "status", "sentence": "No.", "status": 404,
                }}},
            ]}}})
        );
        let read: OutsideReply = serde_json::from_value(json).unwrap();
        assert_eq!(read, OutsideReply::Answer(answer));
        assert_eq!(json!(OutsideReply::Stored), json!("stored"));
    }
}
