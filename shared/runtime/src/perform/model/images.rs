//! The bytes of a request's images, read for the request and never journaled.

use std::borrow::Cow;
use std::sync::Arc;

use djinn_core::file::image_type_of;
use djinn_core::language::Language;
use djinn_core::run::Run;
use futures::future::join_all;
use serde_json::json;

use crate::port::SessionKey;
use crate::port::file::Files as _;
use crate::port::model::{Message, ModelRequest, RequestImage};
use crate::prompt::{self, Prompts};
use crate::world::Ports;

/// Loads the images of a request. An unreadable image is replaced by a note in the text.
pub(super) async fn load_images<'a, P: Ports>(
    ports: &P,
    run: &Run,
    request: &'a ModelRequest,
) -> Cow<'a, ModelRequest> {
    if request.image_tokens() == 0 {
        return Cow::Borrowed(request);
    }
    let session = SessionKey::of(run.spec());
    let mut request = request.clone();
    let reads = request
        .messages
        .iter()
        .flat_map(images_of)
        .map(|image| ports.store().read_file(&session, &image.file, RequestImage::MAX_BYTES));
    let reads: Vec<_> = reads.collect();
    let mut contents = join_all(reads).await.into_iter();
    for message in &mut request.messages {
        let Message::Images { text, images } = message else { continue };
        let count = images.len();
        images.retain_mut(|image| match contents.next() {
            Some(Ok(bytes)) if image_type_of(&bytes) == Some(&image.file.media_type) => {
                image.bytes = Arc::from(bytes);
                true
            }
            Some(Err(error)) => {
                tracing::warn!(%error, "image not read");
                false
            }
            // A provider would reject the whole request.
            Some(Ok(_)) => {
                tracing::warn!("a file that is called an image is none");
                false
            }
            None => false,
        });
        let missing = count - images.len();
        if missing > 0 {
            add_missing(ports.prompts(), request.language, text, missing);
        }
    }
    Cow::Owned(request)
}

fn images_of(message: &Message) -> &[RequestImage] {
    match message {
        Message::Images { images, .. } => images,
        Message::User(_) | Message::Assistant { .. } | Message::ToolResults(_) => &[],
    }
}

fn add_missing(prompts: &Prompts, language: Language, text: &mut String, missing: usize) {
    text.push_str("\n\n");
    text.push_str(&prompts.render(language, prompt::NOTE_IMAGE_MISSING, json!({"files": missing})));
}
