//! The files of a question: stored in its session, with images prepared for models with image input.

use djinn_core::error_code::Failure;
use djinn_core::file::{AttachedImage, Attachment, FileList, IMAGE_TYPES, ProductFile};
use djinn_core::id::FileName;
use djinn_core::settings::{ModelChoice, Role};

use super::store_failure;
use crate::image_scaling::{AttachedContent, prepare_images};
use crate::port::SessionKey;
use crate::port::file::Files as _;
use crate::port::model::Model as _;
use crate::question::{QuestionAttachment, UserQuestion};
use crate::world::Ports;

/// Extensions of image formats models cannot read: phones write the first two, browsers the third.
const UNSHOWN_ENDINGS: [&str; 8] = ["heic", "heif", "avif", "svg", "bmp", "tif", "tiff", "ico"];

/// Stores the files of a question in its session, in order. Returns each file with the attachment for the
/// run. Writing is idempotent.
///
/// # Errors
/// Returns `store_unavailable`, or `too_large`; some of the files may be stored then.
pub(super) async fn attach_files<P: Ports>(
    ports: &P,
    question: &UserQuestion,
) -> Result<Vec<(ProductFile, Attachment)>, Failure> {
    let session = question.session_key();
    let mut files = Vec::new();
    // One after another: a session lists its files in writing order.
    for attachment in &question.attachments {
        files.push(write_file(ports, &session, attachment).await?);
    }
    let is_image = |file: &ProductFile| IMAGE_TYPES.contains(&file.media_type.as_str());
    let images = files.iter().zip(&question.attachments).filter(|(file, _)| is_image(file));
    let mut images = if can_show_images(ports, question) {
        let images = images.map(|(file, attachment)| AttachedContent {
            file,
            bytes: match attachment {
                QuestionAttachment::New(_, bytes) => Some(bytes),
                QuestionAttachment::Known(_) => None,
            },
        });
        prepare_images(ports, &session, images.collect()).await
    } else {
        Vec::new()
    }
    .into_iter();
    let attachments = files.into_iter().map(|file| {
        let image = if is_image(&file) {
            images.next()
        } else {
            // The model is told about images it cannot be shown.
            is_unshown_image(&file.name).then_some(AttachedImage::Unseen)
        };
        let name = file.name.clone();
        (file, Attachment { name, image })
    });
    Ok(attachments.collect())
}

/// Returns the session's files followed by the question's files.
pub(super) fn to_file_list(
    session_files: &[ProductFile],
    attached: &[(ProductFile, Attachment)],
) -> Vec<ProductFile> {
    let new_files = attached.iter().map(|(file, _)| file);
    FileList::of(session_files.iter().chain(new_files).cloned()).all().to_vec()
}

async fn write_file<P: Ports>(
    ports: &P,
    session: &SessionKey,
    attachment: &QuestionAttachment,
) -> Result<ProductFile, Failure> {
    match attachment {
        QuestionAttachment::New(file, bytes) => {
            let write = ports.store().write_file(session, file, bytes).await;
            write.map_err(|error| store_failure(&error))
        }
        QuestionAttachment::Known(file) => Ok(file.clone()),
    }
}

/// Returns true for the name of an image in a format that models are not shown.
fn is_unshown_image(name: &FileName) -> bool {
    let ending = name.as_str().rsplit_once('.').map_or("", |(_, ending)| ending);
    UNSHOWN_ENDINGS.iter().any(|unshown| ending.eq_ignore_ascii_case(unshown))
}

/// Returns true if any model of the deployment may see the question's images.
fn can_show_images<P: Ports>(ports: &P, question: &UserQuestion) -> bool {
    let sees = |(role, choice): (Role, ModelChoice)| {
        ports.model().limits(role, choice).is_ok_and(|limits| limits.sees_images)
    };
    let models = Role::ALL
        .iter()
        .flat_map(|role| [(*role, ModelChoice::Primary), (*role, ModelChoice::Fallback)]);
    !question.spec.settings.mask_pii && models.into_iter().any(sees)
}

#[cfg(test)]
mod tests {
    use djinn_core::file::media_type_of;

    use super::*;

    fn file(name: &str, object: &str) -> ProductFile {
        ProductFile {
            name: FileName::new(name).unwrap(),
            description: String::new(),
            size: 1,
            internal: false,
            media_type: media_type_of(name).to_owned(),
            object: object.to_owned(),
            has_rows: None,
            uploaded: false,
        }
    }

    #[test]
    fn what_is_attached_is_the_newest_and_replaces_what_has_its_name() {
        let known = [file("a.csv", "1"), file("b.csv", "2")];
        let attached = file("a.csv", "3");
        let attachment = Attachment { name: attached.name.clone(), image: None };
        let files = to_file_list(&known, &[(attached, attachment)]);
        let objects: Vec<&str> = files.iter().map(|file| file.object.as_str()).collect();
        assert_eq!(objects, ["2", "3"]);
    }
}
