//! A text of the bucket that needs no manifest, since it is the only one.

use std::sync::Arc;

use djinn_runtime::port::text_folder::{FolderText, MAX_TEXT, TextFolder, TextFolderError};
use djinn_runtime::port::tool::BoxFuture;
use tokio::sync::Mutex;

use super::small::{ReadFailure, read_small};
use crate::store::AwsStore;

/// One text of the bucket, asked for by its `ETag`.
#[derive(Debug)]
pub struct BucketText {
    store: AwsStore,
    /// The beginning of its key, with a `/` at its end.
    prefix: String,
    name: String,
    known: Mutex<KnownText>,
}

/// What was read before.
#[derive(Debug, Default)]
struct KnownText {
    etag: Option<String>,
    /// The text of that `ETag`, or why it is none.
    text: Option<Result<Arc<str>, String>>,
}

impl BucketText {
    pub(super) fn new(store: AwsStore, prefix: String, name: String) -> Self {
        Self { store, prefix, name, known: Mutex::default() }
    }

    /// The text as it is now, or what is wrong with it.
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
