//! The names of a question's attached files, for the model.

use djinn_core::file::{AttachedImage, Attachment};
use djinn_core::run::Run;
use serde_json::json;

use super::window::RequestBounds;
use crate::prompt::{self, Prompts};

/// Adds the names of attached files to a question. For a model with image input, also names the images not
/// shown.
pub(super) fn add_names(
    prompts: &Prompts,
    run: &Run,
    question: &str,
    bounds: RequestBounds,
) -> String {
    let attachments = &run.spec().attachments;
    if attachments.is_empty() {
        return question.to_owned();
    }
    let is_unseen = |attachment: &&Attachment| {
        bounds.sees_images && attachment.image == Some(AttachedImage::Unseen)
    };
    let files = names_of(attachments.iter());
    let unseen = names_of(attachments.iter().filter(is_unseen));
    let values = json!({"question": question, "files": files, "unseen": unseen});
    prompts.render(run.spec().settings.language, prompt::NOTE_ATTACHED, values)
}

fn names_of<'a>(attachments: impl Iterator<Item = &'a Attachment>) -> String {
    let names: Vec<&str> = attachments.map(|attachment| attachment.name.as_str()).collect();
    names.join(", ")
}
