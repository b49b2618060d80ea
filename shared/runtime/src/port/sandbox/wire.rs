//! A job and its answer as they travel to a sandbox that is a function of its own: what is small in the payload,
//! packed, and what is large through URLs of the store.

use std::net::IpAddr;

use djinn_core::id::FileName;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{JobEnd, JobOutput, SandboxWork};
use crate::port::payload::{PackedBytes, StoreRequest};

/// The format of both envelopes that this code writes. A receiver that knows only older ones refuses the job.
pub const FORMAT: u16 = 1;

/// The most packed bytes of all files of a job that travel in its payload.
pub const MAX_PACKED: usize = 4 * 1024 * 1024;

/// The most packed bytes of an answer that travels as an object: whoever asked holds it in memory.
pub const MAX_STORED_ANSWER: usize = 32 * 1024 * 1024;

/// A job as a function is invoked with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobEnvelope {
    /// The format, which is [`FORMAT`].
    pub v: u16,
    /// What is to be done.
    pub work: SandboxWork,
    /// The files of the job.
    pub files: Vec<EnvelopeFile>,
    /// The variables that the block before left, if it left any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<EnvelopeContent>,
    /// Where the store's URLs lead to. `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<StoreHost>,
    /// Where an answer goes that no payload holds: an [`AnswerEnvelope`] as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub put_answer: Option<StoreRequest>,
}

/// A file in an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvelopeFile {
    /// Its name in the current folder.
    pub name: FileName,
    /// Its bytes, or where they are.
    pub content: EnvelopeContent,
}

/// Bytes, or where they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvelopeContent {
    /// All of them are here.
    Packed(PackedBytes),
    /// They are an object of the store.
    Stored(StoredContent),
}

/// An object of the store, by a URL that anybody may read it by for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredContent {
    /// The URL to read it by.
    pub url: String,
    /// The bytes it has, and no more.
    pub size: u64,
    /// What it is kept by in an environment: 64 hexadecimal digits that no other object has.
    pub key: String,
    /// The SHA-256 of its bytes in hexadecimal digits, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// Where the store is, for a function that can look no name up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreHost {
    /// The host of its URLs.
    pub name: String,
    /// The addresses of that host, of which any will do.
    pub addresses: Vec<IpAddr>,
}

/// What a function answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FunctionReply {
    /// What came of the job.
    Answer(Box<AnswerEnvelope>),
    /// It is where [`JobEnvelope::put_answer`] leads to.
    Stored,
    /// The sandbox holds no code here, for this reason.
    Disabled(String),
    /// The job was not done, for this reason; another time it may be.
    Unavailable(String),
}

/// What came of a job; see [`super::SandboxAnswer`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerEnvelope {
    /// The format, which is [`FORMAT`].
    pub v: u16,
    /// How the job ended.
    pub end: JobEnd,
    /// How long it took.
    pub seconds: f64,
    /// What the job printed meanwhile.
    pub output: JobOutput,
    /// What the work came to.
    pub value: Value,
    /// The files that it made or changed. All are packed.
    pub products: Vec<PackedProduct>,
    /// Files that it made and that are no products.
    pub left_out: Vec<String>,
    /// Its variables, for the next block.
    #[serde(default, skip_serializing_if = "PackedBytes::is_empty")]
    pub state: PackedBytes,
}

/// A file that a job made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedProduct {
    /// Its name, as [`super::SandboxFile::name`] has it.
    pub name: FileName,
    /// All bytes of the file.
    pub content: PackedBytes,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_job_looks_like_this() {
        let job = json!({
            "v": 1,
            "work": {"kind": "look", "arguments": {"names": ["a.csv"], "language": "en"}},
            "files": [
                {"name": "a.csv", "content": {"packed": "S9RJ1OECAA=="}},
                {"name": "b.csv", "content": {"stored": {
                    "url": "https://b.s3.eu-west-1.amazonaws.com/t/files/1", "size": 9, "key": "0a",
                }}},
            ],
            "store": {"name": "b.s3.eu-west-1.amazonaws.com", "addresses": ["192.0.2.1"]},
            "put_answer": {"url": "https://b/t/sandbox/1", "headers": [["content-type", "x"]]},
        });
        let read: JobEnvelope = serde_json::from_value(job.clone()).unwrap();
        assert_eq!(json!(read), job);
        assert_eq!(json!(FunctionReply::Stored), json!("stored"));
        assert_eq!(json!(FunctionReply::Disabled("no".into())), json!({"disabled": "no"}));
    }
}
