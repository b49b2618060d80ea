//! Presigned URLs, for clients to read and write files directly.

use std::time::Duration;

use aws_sdk_s3::presigning::PresigningConfig;
use djinn_core::file::ProductFile;
use djinn_core::id::sha256_hex;
use djinn_runtime::port::file::NewFile;
use djinn_runtime::port::file_url::{Disposition, FileStart, FileUrls, Folder, PresignedPut};
use djinn_runtime::port::{SessionKey, StoreError};

use super::folder::object_key;
use super::{MAX_URL_LIFE, UPLOADED};
use crate::error::store_error;
use crate::item::expected_file::ExpectedFileItem;
use crate::store::AwsStore;

/// Extra wait for an expected file after its URL expires, for slow uploads.
const UPLOAD_SLACK_S: i64 = 60 * 60;

impl FileUrls for AwsStore {
    async fn presign_get(
        &self,
        folder: &Folder,
        file: &ProductFile,
        disposition: Disposition,
        valid_for: Duration,
    ) -> Result<String, StoreError> {
        let key = object_key(folder, &file.object)?;
        let request = self
            .clients
            .s3()
            .await
            .get_object()
            .bucket(self.bucket())
            .key(key)
            .response_content_disposition(disposition.to_header(&file.name))
            .response_content_type(with_charset(&file.media_type));
        match request.presigned(presigning_config(valid_for)?).await {
            Ok(presigned) => Ok(presigned.uri().to_owned()),
            Err(error) => Err(store_error(self.bucket_request("GetObject"), &error)),
        }
    }

    async fn read_start(
        &self,
        folder: &Folder,
        file: &ProductFile,
        limit: u64,
    ) -> Result<Option<FileStart>, StoreError> {
        self.get_object_start(&object_key(folder, &file.object)?, limit).await
    }

    async fn presign_put(
        &self,
        session: &SessionKey,
        file: &NewFile,
        size: u64,
        valid_for: Duration,
    ) -> Result<Option<PresignedPut>, StoreError> {
        let now_ms = self.now_ms();
        let object = upload_object(file, size, now_ms);
        let request = self
            .clients
            .s3()
            .await
            .put_object()
            .bucket(self.bucket())
            .key(object_key(&Folder::from(session), &object)?)
            .content_type(&file.media_type)
            .content_length(i64::try_from(size).unwrap_or(i64::MAX))
            .if_none_match("*");
        let signed_request = request
            .presigned(presigning_config(valid_for)?)
            .await
            .map_err(|error| store_error(self.bucket_request("PutObject"), &error))?;
        let valid_s = i64::try_from(valid_for.min(MAX_URL_LIFE).as_secs()).unwrap_or_default();
        let mut expected_file = ExpectedFileItem {
            file: self.file_item(session, file, object, size),
            expires: now_ms.div_euclid(1000) + valid_s + UPLOAD_SLACK_S,
        };
        if !self.expect_upload(session, &mut expected_file).await? {
            return Ok(None);
        }
        let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Ok(Some(PresignedPut {
            url: signed_request.uri().to_owned(),
            headers: signed_request.headers().map(own).collect(),
            file: expected_file.file.into_file(),
        }))
    }
}

impl AwsStore {
    /// Returns a presigned URL to read an object; any holder of the URL can read.
    pub(crate) async fn presign_read(
        &self,
        key: &str,
        valid_for: Duration,
    ) -> Result<String, StoreError> {
        let get = self.clients.s3().await.get_object().bucket(self.bucket()).key(key);
        match get.presigned(presigning_config(valid_for)?).await {
            Ok(presigned) => Ok(presigned.uri().to_owned()),
            Err(error) => Err(store_error(self.bucket_request("GetObject"), &error)),
        }
    }

    /// Returns a presigned request to write an object, URL and headers; any holder can write.
    pub(crate) async fn presign_write(
        &self,
        key: &str,
        valid_for: Duration,
    ) -> Result<(String, Vec<(String, String)>), StoreError> {
        let request = self.clients.s3().await.put_object().bucket(self.bucket()).key(key);
        let signed_request = request
            .presigned(presigning_config(valid_for)?)
            .await
            .map_err(|error| store_error(self.bucket_request("PutObject"), &error))?;
        let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Ok((signed_request.uri().to_owned(), signed_request.headers().map(own).collect()))
    }
}

/// Returns a new object name for an announcement. Every announcement has a separate object, so that a later
/// upload cannot change the bytes of a journaled file. Names sort by time, so that expected uploads are
/// adjacent.
fn upload_object(file: &NewFile, size: u64, now_ms: i64) -> String {
    let NewFile { name, writer, .. } = file;
    let hash = sha256_hex(format!("{now_ms}/{size}/{writer}/{name}").as_bytes());
    format!("{UPLOADED}{now_ms:016x}{}", hash.get(..48).unwrap_or_default())
}

fn presigning_config(valid_for: Duration) -> Result<PresigningConfig, StoreError> {
    PresigningConfig::expires_in(valid_for.min(MAX_URL_LIFE))
        .map_err(|error| StoreError::Unreadable(format!("a URL's validity: {error}")))
}

/// Returns a text's media type with the UTF-8 character set; browsers would guess another.
fn with_charset(media_type: &str) -> String {
    if media_type.starts_with("text/") && !media_type.contains("charset") {
        format!("{media_type}; charset=utf-8")
    } else {
        media_type.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announcements_sort_by_time() {
        let name = djinn_core::id::FileName::new("a").unwrap();
        let description = String::new();
        let media_type = String::new();
        let writer = djinn_core::id::UserId::new("u").unwrap();
        let file =
            NewFile { name, description, internal: false, media_type, uploaded: false, writer };
        let times = [0, 9, 1_700_000_000_000, 1_700_000_000_001, 4_102_444_800_000];
        let objects = times.map(|now_ms| upload_object(&file, 1, now_ms));
        assert!(objects.is_sorted() && objects.iter().all(|object| object.len() == 72));
    }

    #[test]
    fn only_texts_without_a_character_set_get_one() {
        assert_eq!(with_charset("text/markdown"), "text/markdown; charset=utf-8");
        assert_eq!(with_charset("text/csv; charset=gbk"), "text/csv; charset=gbk");
        assert_eq!(with_charset("application/pdf"), "application/pdf");
    }
}
