//! A configuration folder under a prefix of the bucket: a manifest, and the listed texts.

mod prefix;
mod small;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use djinn_core::id::sha256_hex;
use djinn_runtime::port::text_folder::{
    FolderText, ListedText, MANIFEST, MAX_DATA, MAX_MANIFEST, TextFolder, TextFolderError, is_data,
    max_text, parse_manifest,
};
use djinn_runtime::port::tool::BoxFuture;
use futures::{StreamExt as _, stream};
use tokio::sync::Mutex;

use crate::object::FETCHED_AT_ONCE;
use crate::store::AwsStore;

pub use prefix::InvalidPrefix;
use prefix::parse_prefix;
use small::{MAX_WAIT, ReadFailure, SmallObject, read_small};

/// Maximum time for all texts of a read. Later texts are read by the next read.
const MAX_TEXTS_WAIT: Duration = Duration::from_millis(2_500);

/// Maximum time for a file with data.
const MAX_DATA_WAIT: Duration = Duration::from_secs(15);

/// The texts under a prefix of the bucket. The manifest is revalidated by `ETag`, and a text is read if its
/// hash is new.
#[derive(Debug)]
pub struct BucketFolder {
    store: AwsStore,
    /// The start of the folder's keys, with a final `/`.
    prefix: String,
    cache: Mutex<KnownTexts>,
}

/// The last state read.
#[derive(Debug, Default)]
struct KnownTexts {
    /// The `ETag` of the last manifest.
    etag: Option<String>,
    /// The texts listed by the manifest, or the manifest's error.
    entries: Option<Result<Vec<ListedText>, TextFolderError>>,
    /// The listed texts read so far, by hash.
    texts: BTreeMap<String, Arc<str>>,
}

impl AwsStore {
    /// Opens the configuration folder under a prefix of the bucket, `config` or a prefix below, without reading.
    ///
    /// # Errors
    /// Returns [`InvalidPrefix`] if the prefix is not valid.
    pub fn open_text_folder(&self, prefix: &str) -> Result<BucketFolder, InvalidPrefix> {
        let prefix = parse_prefix(prefix)?;
        Ok(BucketFolder { store: self.clone(), prefix, cache: Mutex::default() })
    }
}

impl BucketFolder {
    /// Reads the manifest, if changed.
    async fn update_manifest(&self, cache: &mut KnownTexts) -> Result<(), TextFolderError> {
        let error =
            |problem: &str| TextFolderError(format!("{}/{MANIFEST} {problem}", self.path()));
        match self.read_small(MANIFEST, cache.etag.as_deref(), MAX_MANIFEST).await {
            Ok(object) => {
                let entries = parse_manifest(&object.bytes)
                    .map_err(|problem| error(&format!("{problem}: publish the folder again")));
                (cache.etag, cache.entries) = (object.etag, Some(entries));
                Ok(())
            }
            Err(ReadFailure::NotModified) => Ok(()),
            // A folder that was never published is empty.
            Err(ReadFailure::Missing) if cache.entries.is_none() => Ok(()),
            Err(ReadFailure::Missing) => Err(error("is not there: publish the folder")),
            Err(ReadFailure::TooLong(_)) => {
                Err(error(&format!("has more than {MAX_MANIFEST} bytes: publish the folder again")))
            }
            Err(ReadFailure::Refused(code)) => Err(error(&format!(
                "cannot be read ({code}): publish the folder, and let the functions read `config/` of the bucket"
            ))),
            Err(ReadFailure::Unreachable) => Err(error("cannot be reached: it is tried again")),
        }
    }

    /// Reads the new listed texts, several at once. After a failure, the texts already read are kept. Returns the
    /// problems of the others by name.
    async fn read_new_texts(
        &self,
        entries: &[ListedText],
        texts: &mut BTreeMap<String, Arc<str>>,
    ) -> BTreeMap<String, String> {
        let mut problems = BTreeMap::new();
        let is_new = |file: &&ListedText| !is_data(&file.name) && !texts.contains_key(&file.sha256);
        let new: Vec<ListedText> = entries.iter().filter(is_new).cloned().collect();
        let results = new.into_iter().map(|file| async move {
            let text = self.read_text(&file).await;
            (file, text)
        });
        let mut results = stream::iter(results).buffer_unordered(FETCHED_AT_ONCE);
        let read_all = async {
            while let Some((file, text)) = results.next().await {
                match text {
                    Ok(text) => drop(texts.insert(file.sha256, text)),
                    Err(problem) => drop(problems.insert(file.name, problem)),
                }
            }
        };
        if tokio::time::timeout(MAX_TEXTS_WAIT, read_all).await.is_err() {
            tracing::warn!(
                folder = self.path(),
                "texts were not read in time: they are read again"
            );
        }
        problems
    }

    /// Returns the text with the hash from the manifest, or an error message.
    async fn read_text(&self, file: &ListedText) -> Result<Arc<str>, String> {
        let result = self.read_small(&file.name, None, max_text(&file.name)).await;
        let object = result.map_err(|failure| match failure {
            ReadFailure::Missing => {
                format!("is not there, though {MANIFEST} names it: publish the folder again")
            }
            ReadFailure::TooLong(_)
            | ReadFailure::Refused(_)
            | ReadFailure::NotModified
            | ReadFailure::Unreachable => failure.to_sentence(),
        })?;
        if sha256_hex(&object.bytes) != file.sha256 {
            return Err(format!("is not the text that {MANIFEST} names: publish the folder again"));
        }
        object.into_text()
    }

    async fn read_small(
        &self,
        name: &str,
        etag: Option<&str>,
        most: usize,
    ) -> Result<SmallObject, ReadFailure> {
        read_small(&self.store, &format!("{}{name}", self.prefix), etag, most, MAX_WAIT).await
    }
}

impl TextFolder for BucketFolder {
    fn path(&self) -> String {
        format!("@{}", self.prefix.trim_end_matches('/'))
    }

    fn read_texts(&self) -> BoxFuture<'_, Result<Vec<FolderText>, TextFolderError>> {
        Box::pin(async {
            let mut cache = self.cache.lock().await;
            self.update_manifest(&mut cache).await?;
            let entries = cache.entries.clone().unwrap_or_else(|| Ok(Vec::new()))?;
            let KnownTexts { texts, .. } = &mut *cache;
            texts.retain(|hash, _| entries.iter().any(|file| file.sha256 == *hash));
            let mut problems = self.read_new_texts(&entries, texts).await;
            let texts = entries.into_iter().map(|ListedText { name, sha256 }| {
                let unreachable = || ReadFailure::Unreachable.to_sentence();
                let problem = || problems.remove(&name).unwrap_or_else(unreachable);
                let text = if is_data(&name) {
                    Ok(sha256.into())
                } else {
                    texts.get(&sha256).cloned().ok_or_else(problem)
                };
                FolderText { name, text }
            });
            Ok(texts.collect())
        })
    }

    fn read_data<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<u8>, TextFolderError>> {
        Box::pin(async move {
            let key = format!("{}{name}", self.prefix);
            let result = read_small(&self.store, &key, None, MAX_DATA, MAX_DATA_WAIT).await;
            let object = result.map_err(|failure| {
                TextFolderError(format!("{}/{name} {}", self.path(), failure.to_sentence()))
            })?;
            Ok(object.bytes)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::tests::clients_over;
    use crate::replay::{Replay, response};
    use crate::settings::Settings;
    use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};

    /// An answer with this `ETag`.
    fn answer(status: u16, etag: &'static str, body: &str) -> HttpResponse {
        let mut answer = response(status, body.to_owned());
        answer.headers_mut().insert("etag", etag);
        answer
    }

    fn error(status: u16, code: &str) -> HttpResponse {
        response(status, format!("<Error><Code>{code}</Code><Message>no</Message></Error>"))
    }

    fn folder(http: &Replay) -> BucketFolder {
        let store = AwsStore::new(clients_over(Settings::new("t", "b"), http.clone()));
        store.open_text_folder("config").unwrap()
    }

    fn listing(text: &str) -> String {
        let sha256 = sha256_hex(text.as_bytes());
        format!(r#"{{"files": [{{"name": "agents/a.md", "sha256": "{sha256}"}}]}}"#)
    }

    #[tokio::test]
    async fn a_manifest_that_is_the_same_is_one_request_and_no_bytes() {
        let http = Replay::new([
            answer(200, "\"one\"", &listing("a")),
            answer(200, "\"text\"", "a"),
            answer(304, "\"one\"", ""),
            answer(200, "\"two\"", r#"{"files": []}"#),
        ]);
        let folder = folder(&http);
        let first = folder.read_texts().await.unwrap();
        assert_eq!(first, [FolderText { name: "agents/a.md".to_owned(), text: Ok("a".into()) }]);
        let asked = |requests: &[_]| -> Vec<Option<String>> {
            let etag =
                |request: &HttpRequest| request.headers().get("if-none-match").map(str::to_owned);
            requests.iter().map(etag).collect()
        };
        assert_eq!(asked(&http.take_requests()), [None, None]);
        assert_eq!(folder.read_texts().await.unwrap(), first);
        assert_eq!(asked(&http.take_requests()), [Some("\"one\"".to_owned())]);
        assert_eq!(folder.read_texts().await.unwrap(), []);
    }

    #[tokio::test]
    async fn why_a_manifest_cannot_be_read_is_a_sentence_that_stays_the_same() {
        for (answer, says) in [
            (
                error(404, "NoSuchBucket"),
                "cannot be read (NoSuchBucket): publish the folder, and let the",
            ),
            (
                error(403, "AccessDenied"),
                "cannot be read (AccessDenied): publish the folder, and let the",
            ),
            (error(503, "SlowDown"), "cannot be reached: it is tried again"),
            (response(200, " ".repeat(MAX_MANIFEST + 1)), "has more than 262144 bytes"),
            (response(200, "{}".to_owned()), "is not a list of files: missing field `files`"),
        ] {
            let folder = folder(&Replay::new([answer]));
            let error = folder.read_texts().await.unwrap_err().to_string();
            let begins = format!("@config/manifest.json {says}");
            assert!(error.starts_with(&begins), "{error}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_bucket_that_says_nothing_is_waited_for_no_longer_than_two_seconds() {
        let error = folder(&Replay::without_answers()).read_texts().await.unwrap_err().to_string();
        assert!(error.ends_with("cannot be reached: it is tried again"), "{error}");
    }
}
