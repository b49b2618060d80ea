//! Objects in the bucket: contents by their hash.

use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::primitives::{ByteStream, DateTime};
use aws_sdk_s3::types::ChecksumAlgorithm;
use bytes::Bytes;
use djinn_core::id::sha256_hex;
use djinn_runtime::port::file_url::FileStart;
use djinn_runtime::port::{RunKey, StoreError};

use crate::body::{Body, MAX_INLINE, MAX_INLINE_ROUND_START, Pointer};
use crate::error::{AwsRequest, store_error};
use crate::key::tenant_prefix;
use crate::store::AwsStore;

/// Maximum number of bodies fetched at once from the bucket.
pub(crate) const FETCHED_AT_ONCE: usize = 16;

/// Returns `None` for a permanently unreadable part of a session, so that the other parts are still shown.
///
/// # Errors
/// Returns the error of a failure that may pass.
pub(crate) fn skip_unreadable<T>(result: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match result {
        Ok(part) => Ok(Some(part)),
        Err(error) if error.is_temporary() => Err(error),
        Err(error) => {
            tracing::warn!(%error, "a part of a session is left out");
            Ok(None)
        }
    }
}

impl AwsStore {
    /// Prepares a body for storage; long JSON is written to the bucket first.
    pub(crate) async fn store_body(&self, run: &RunKey, json: String) -> Result<Body, StoreError> {
        if json.len() <= MAX_INLINE {
            return Ok(Body::Inline(json));
        }
        let pointer = pointer_to(run, &json);
        self.put_object(&pointer.object, json.into(), JSON).await?;
        Ok(Body::Spilled(pointer))
    }

    /// Prepares the start of a round for storage; long JSON is written to the bucket once, by the creator of
    /// the round's children.
    pub(crate) async fn store_round_start(
        &self,
        run: &RunKey,
        json: String,
    ) -> Result<Body, StoreError> {
        if json.len() <= MAX_INLINE_ROUND_START {
            return Ok(Body::Inline(json));
        }
        let pointer = pointer_to(run, &json);
        let write = self.put_object(&pointer.object, json.into(), JSON);
        self.clients.round_starts.write_once(&pointer.object, write).await?;
        Ok(Body::Spilled(pointer))
    }

    /// Returns a body's JSON, inline or from the bucket.
    pub(crate) async fn read_body(&self, body: Body) -> Result<String, StoreError> {
        let pointer = match body {
            Body::Inline(json) => return Ok(json),
            Body::Spilled(pointer) => pointer,
        };
        self.read_object_json(&pointer).await
    }

    /// Reads the JSON in an object.
    pub(crate) async fn read_object_json(&self, pointer: &Pointer) -> Result<String, StoreError> {
        let bytes = self.get_object(&pointer.object, None).await?;
        if bytes.len() as u64 != pointer.length || sha256_hex(&bytes) != pointer.sha256 {
            return Err(unreadable_object(&pointer.object, "is not what was written"));
        }
        String::from_utf8(bytes).map_err(|_| unreadable_object(&pointer.object, "is not UTF-8"))
    }

    /// Writes an object under a key derived from its content. An existing object is rewritten with the same
    /// bytes, and its lifetime restarts.
    pub(crate) async fn put_object(
        &self,
        key: &str,
        bytes: Bytes,
        media_type: &str,
    ) -> Result<(), StoreError> {
        let request = self.clients.s3().await.put_object().bucket(self.bucket()).key(key);
        let request =
            request.content_type(media_type).checksum_algorithm(ChecksumAlgorithm::Sha256);
        match Box::pin(request.body(ByteStream::from(bytes)).send()).await {
            Ok(_) => Ok(()),
            Err(error) => Err(store_error(self.bucket_request("PutObject"), &error)),
        }
    }

    /// Returns an object's bytes, or the first bytes up to the limit.
    pub(crate) async fn get_object(
        &self,
        key: &str,
        limit: Option<u64>,
    ) -> Result<Vec<u8>, StoreError> {
        if limit == Some(0) {
            return Ok(Vec::new());
        }
        let object = self.fetch_object(key, limit).await?;
        object.map(|object| object.bytes).ok_or_else(|| unreadable_object(key, "is gone"))
    }

    /// Returns the first `limit` bytes of an object, at least 1; `None` if the object does not exist.
    pub(crate) async fn get_object_start(
        &self,
        key: &str,
        limit: u64,
    ) -> Result<Option<FileStart>, StoreError> {
        self.fetch_object(key, Some(limit.max(1))).await
    }

    async fn fetch_object(
        &self,
        key: &str,
        limit: Option<u64>,
    ) -> Result<Option<FileStart>, StoreError> {
        let client = self.clients.s3().await;
        let range = limit.map(|limit| format!("bytes=0-{}", limit.saturating_sub(1)));
        let get = client.get_object().bucket(self.bucket()).key(key).set_range(range);
        let object = match Box::pin(get.send()).await {
            Ok(object) => object,
            Err(error) => {
                return match error.code() {
                    Some("NoSuchKey") => Ok(None),
                    // An empty object has no valid range.
                    Some("InvalidRange") => Ok(Some(FileStart { bytes: Vec::new(), size: 0 })),
                    _ => Err(store_error(self.bucket_request("GetObject"), &error)),
                };
            }
        };
        let size = object.content_range().and_then(total_size);
        match object.body.collect().await {
            Ok(bytes) => {
                let bytes = bytes.to_vec();
                Ok(Some(FileStart { size: size.unwrap_or(bytes.len() as u64), bytes }))
            }
            Err(error) => {
                let bucket = self.bucket();
                Err(StoreError::Unavailable(format!("GetObject on {bucket}: {error}")))
            }
        }
    }

    /// Returns an object's size and time of write (Unix milliseconds); `None` if the object does not exist.
    pub(crate) async fn head_object(&self, key: &str) -> Result<Option<ObjectHead>, StoreError> {
        let client = self.clients.s3().await;
        match Box::pin(client.head_object().bucket(self.bucket()).key(key).send()).await {
            Ok(head) => Ok(Some(ObjectHead::of(head.content_length(), head.last_modified()))),
            Err(SdkError::ServiceError(error)) if error.raw().status().as_u16() == 404 => Ok(None),
            Err(error) => Err(store_error(self.bucket_request("HeadObject"), &error)),
        }
    }

    /// Lists all objects with a prefix, optionally after a key, with their sizes and times.
    pub(crate) async fn list_objects(
        &self,
        prefix: &str,
        behind: Option<&str>,
    ) -> Result<Vec<(String, ObjectHead)>, StoreError> {
        let client = self.clients.s3().await;
        let mut objects = Vec::new();
        let mut start = None;
        loop {
            let request = client.list_objects_v2().bucket(self.bucket()).prefix(prefix);
            let request = request.set_start_after(behind.map(str::to_owned));
            let page = match Box::pin(request.set_continuation_token(start.take()).send()).await {
                Ok(page) => page,
                Err(error) => {
                    return Err(store_error(self.bucket_request("ListObjectsV2"), &error));
                }
            };
            objects.extend(page.contents.unwrap_or_default().into_iter().filter_map(|object| {
                let head = ObjectHead::of(object.size, object.last_modified.as_ref());
                object.key.map(|key| (key, head))
            }));
            start = page.next_continuation_token;
            if start.is_none() {
                return Ok(objects);
            }
        }
    }

    /// Deletes an object; a missing object is not an error.
    pub(crate) async fn delete_object(&self, key: &str) -> Result<(), StoreError> {
        let client = self.clients.s3().await;
        match Box::pin(client.delete_object().bucket(self.bucket()).key(key).send()).await {
            Ok(_) => Ok(()),
            Err(error) if error.code() == Some("NoSuchKey") => Ok(()),
            Err(error) => Err(store_error(self.bucket_request("DeleteObject"), &error)),
        }
    }

    pub(crate) fn bucket(&self) -> &str {
        &self.clients.settings.bucket
    }

    /// Describes a request to the bucket, for error texts and logs.
    pub(crate) fn bucket_request(&self, operation: &'static str) -> AwsRequest<'_> {
        AwsRequest { operation, on: self.bucket() }
    }
}

const JSON: &str = "application/json";

/// Returns the pointer to a run's JSON.
fn pointer_to(run: &RunKey, json: &str) -> Pointer {
    let sha256 = sha256_hex(json.as_bytes());
    let object = format!("{}{sha256}", run_prefix(run));
    Pointer { object, sha256, length: json.len() as u64 }
}

/// Returns the prefix of the long records, messages and exchanges of a run and its children, unused objects
/// included.
pub(crate) fn run_prefix(run: &RunKey) -> String {
    format!("{}runs/{}/", tenant_prefix(&run.tenant), run.run)
}

/// An object's size and time of write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ObjectHead {
    pub(crate) size: u64,
    pub(crate) written_at_ms: i64,
}

impl ObjectHead {
    fn of(bytes: Option<i64>, modified_at: Option<&DateTime>) -> Self {
        let size = bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or_default();
        let written_at_ms = modified_at.and_then(|time| time.to_millis().ok()).unwrap_or_default();
        Self { size, written_at_ms }
    }
}

/// Returns the size of a whole object, from the `Content-Range` of a part: `bytes 0-9/100`.
fn total_size(range: &str) -> Option<u64> {
    range.rsplit_once('/')?.1.parse().ok()
}

fn unreadable_object(object: &str, problem: &str) -> StoreError {
    StoreError::Unreadable(format!("object {object} {problem}"))
}
