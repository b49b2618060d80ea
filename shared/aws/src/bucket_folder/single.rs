//! A single text of the bucket, without a manifest.

use std::sync::Arc;

use djinn_runtime::port::text_folder::{FolderText, MAX_TEXT, TextFolder, TextFolderError};
use djinn_runtime::port::tool::BoxFuture;
use tokio::sync::Mutex;

use super::small::{ReadFailure, read_small};
use crate::store::AwsStore;

/// A text of the bucket, revalidated by `ETag`.
#[derive(Debug)]
pub struct BucketText {
    store: AwsStore,
    /// The start of the text's key, with a final `/`.
    prefix: String,
    name: String,
    cache: Mutex<KnownText>,
}

/// The last version read.
#[derive(Debug, Default)]
struct KnownText {
    etag: Option<String>,
    /// The text for the `ETag`, or the reason for rejecting the object as text.
    text: Option<Result<Arc<str>, String>>,
}

impl BucketText {
    pub(super) fn new(store: AwsStore, prefix: String, name: String) -> Self {
        Self { store, prefix, name, cache: Mutex::default() }
    }

    /// Returns the current text, or an error message.
    async fn read_now(&self, cache: &mut KnownText) -> Result<Arc<str>, String> {
        let key = format!("{}{}", self.prefix, self.name);
        match read_small(&self.store, &key, cache.etag.as_deref(), MAX_TEXT).await {
            Ok(object) => {
                cache.etag.clone_from(&object.etag);
                cache.text.insert(object.into_text()).clone()
            }
            Err(ReadFailure::NotModified) => {
                cache.text.clone().unwrap_or_else(|| Err(ReadFailure::NotModified.to_sentence()))
            }
            Err(failure) => Err(failure.to_sentence()),
        }
    }
}

impl TextFolder for BucketText {
    fn path(&self) -> String {
        format!("@{}", self.prefix.trim_end_matches('/'))
    }

    fn read_texts(&self) -> BoxFuture<'_, Result<Vec<FolderText>, TextFolderError>> {
        Box::pin(async {
            let text = self.read_now(&mut *self.cache.lock().await).await;
            Ok(vec![FolderText { name: self.name.clone(), text }])
        })
    }
}
