//! Reading an object with a limit.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::get_object::{GetObjectError, GetObjectOutput};

use crate::store::AwsStore;

/// Maximum time for one read, including all bytes. A source has time for two consecutive reads.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(2);

/// An object that was read.
pub(super) struct SmallObject {
    pub(super) etag: Option<String>,
    pub(super) bytes: Vec<u8>,
}

/// A failed read of a small object.
#[derive(Debug)]
pub(super) enum ReadFailure {
    /// The object has not changed since the given `ETag`.
    NotModified,
    /// No object has this name.
    Missing,
    /// The object exceeds this maximum size in bytes.
    TooLong(usize),
    /// S3 rejected the request with this code.
    Refused(String),
    /// No response, or an incomplete response.
    Unreachable,
}

impl SmallObject {
    /// Returns the object's text, or an error message for invalid text.
    pub(super) fn into_text(self) -> Result<Arc<str>, String> {
        let text = String::from_utf8(self.bytes).map_err(|_| "is not UTF-8".to_owned())?;
        Ok(text.into())
    }
}

impl ReadFailure {
    /// Returns the problem as the rest of a sentence.
    pub(super) fn to_sentence(&self) -> String {
        match self {
            Self::Missing => "is not there".to_owned(),
            Self::TooLong(most) => format!("has more than {most} bytes: make it shorter"),
            Self::Refused(code) => format!("cannot be read ({code})"),
            Self::NotModified | Self::Unreachable => {
                "cannot be reached: it is tried again".to_owned()
            }
        }
    }
}

impl From<SdkError<GetObjectError>> for ReadFailure {
    fn from(error: SdkError<GetObjectError>) -> Self {
        let status = error.raw_response().map(|response| response.status().as_u16());
        match (status, error.code()) {
            (Some(304), _) => Self::NotModified,
            (Some(404), Some("NoSuchKey") | None) => Self::Missing,
            (Some(status), code) if status < 500 => {
                Self::Refused(code.map_or_else(|| status.to_string(), str::to_owned))
            }
            _ => Self::Unreachable,
        }
    }
}

/// Reads an object of at most `most` bytes within `wait`, unless the `ETag` still matches.
pub(super) async fn read_small(
    store: &AwsStore,
    key: &str,
    etag: Option<&str>,
    most: usize,
    wait: Duration,
) -> Result<SmallObject, ReadFailure> {
    let client = store.clients.s3().await;
    let get = client.get_object().bucket(store.bucket()).key(key);
    let get = get.set_if_none_match(etag.map(str::to_owned));
    let result = async {
        let output = Box::pin(get.send()).await.map_err(ReadFailure::from)?;
        let GetObjectOutput { e_tag, mut body, .. } = output;
        let mut bytes = Vec::new();
        while let Some(piece) = body.try_next().await.map_err(|_| ReadFailure::Unreachable)? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > most {
                return Err(ReadFailure::TooLong(most));
            }
        }
        Ok(SmallObject { etag: e_tag, bytes })
    };
    let result = tokio::time::timeout(wait, result).await;
    let result = result.unwrap_or(Err(ReadFailure::Unreachable));
    result.inspect_err(|failure| tracing::debug!(key, ?failure, "an object was not read"))
}
