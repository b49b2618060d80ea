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
    known: Mutex<KnownText>,
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
        Self { store, prefix, name, known: Mutex::default() }
    }

    /// Returns the current text, or an error message.
    async fn read_now(&self, known: &mut KnownText) -> Result<Arc<str>, String> {
        let key = format!("{}{}", self.prefix, self.name);
        match read_small(&self.store, &key, known.etag.as_deref(), MAX_TEXT).await {
            Ok(object) => {
                known.etag.clone_from(&object.etag);
                known.text.insert(object.into_text()).clone()
            }
            Err(ReadFailure::NotModified) => {
                known.text.clone().unwrap_or_else(|| Err(ReadFailure::NotModified.to_sentence()))
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
            let text = self.read_now(&mut *self.known.lock().await).await;
            Ok(vec![FolderText { name: self.name.clone(), text }])
        })
    }
}
