//! A job and its answer on the way to a sandbox function: small content is packed in the payload, large
//! content goes through URLs of the store.

use std::net::IpAddr;

use djinn_core::id::FileName;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{JobEnd, JobOutput, SandboxWork};
use crate::port::payload::{PackedBytes, StoreRequest};

/// The format of both envelopes of this code. A receiver with an older format rejects the job.
pub const FORMAT: u16 = 1;

/// The maximum packed size of all files in a job's payload, in bytes.
pub const MAX_PACKED: usize = 4 * 1024 * 1024;

/// The maximum packed size of an answer stored as an object, in bytes: the caller holds the answer in memory.
pub const MAX_STORED_ANSWER: usize = 32 * 1024 * 1024;

/// A job in the payload of an invocation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobEnvelope {
    /// The format, always [`FORMAT`].
    pub v: u16,
    /// The work to be done.
    pub work: SandboxWork,
    /// The files of the job.
    pub files: Vec<EnvelopeFile>,
    /// The variables of the previous block, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<EnvelopeContent>,
    /// The host of the store's URLs; `None` if the job has no such URLs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<StoreHost>,
    /// The request that stores an answer above the payload limit: an [`AnswerEnvelope`] as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub put_answer: Option<StoreRequest>,
}

/// A file in an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvelopeFile {
    /// The name in the current folder.
    pub name: FileName,
    /// The content, or its location.
    pub content: EnvelopeContent,
}

/// Bytes, or their location.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvelopeContent {
    /// All bytes, packed in the envelope.
    Packed(PackedBytes),
    /// An object of the store.
    Stored(StoredContent),
}

/// An object of the store, readable by its URL for a limited time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredContent {
    /// The URL for reading.
    pub url: String,
    /// The exact size, in bytes.
    pub size: u64,
    /// The cache key in an environment: 64 hexadecimal digits, unique to the object.
    pub key: String,
    /// The SHA-256 of the content in hexadecimal digits, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// The store's host, for a function without DNS.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreHost {
    /// The host name of the store's URLs.
    pub name: String,
    /// The addresses of the host; any will do.
    pub addresses: Vec<IpAddr>,
}

/// The response of a sandbox function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FunctionReply {
    /// The result of the job.
    Answer(Box<AnswerEnvelope>),
    /// The answer is stored at [`JobEnvelope::put_answer`].
    Stored,
    /// The sandbox cannot confine code here, for this reason.
    Disabled(String),
    /// The job was not done, for this reason; a retry may succeed.
    Unavailable(String),
}

/// The result of a job; see [`super::SandboxAnswer`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerEnvelope {
    /// The format, always [`FORMAT`].
    pub v: u16,
    /// The end of the job.
    pub end: JobEnd,
    /// The time in the sandbox, in seconds.
    pub seconds: f64,
    /// The output of the job.
    pub output: JobOutput,
    /// The value of the work.
    pub value: Value,
    /// The created and changed files, all packed.
    pub products: Vec<PackedProduct>,
    /// Created files that are no products.
    pub left_out: Vec<String>,
    /// The variables for the next block.
    #[serde(default, skip_serializing_if = "PackedBytes::is_empty")]
    pub state: PackedBytes,
}

/// A file that a job created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedProduct {
    /// The name, as in [`super::SandboxFile::name`].
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
