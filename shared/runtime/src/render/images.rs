//! Images of the question and of results for the model: the newest, up to the limit of a request, and their
//! messages.

use std::collections::BTreeMap;
use std::sync::Arc;

use djinn_core::conversation::{Conversation, ConversationItem, Turn};
use djinn_core::file::{AttachedImage, Attachment, ProductFile};
use djinn_core::id::CallId;
use djinn_core::language::Language;
use djinn_core::tool::{ToolCall, ToolResult};
use serde_json::json;

use super::tool_result::file_names;
use crate::port::model::{Message, RequestImage};
use crate::prompt::{self, Prompts};

/// The maximum number of images in one request.
const MAX_IMAGES: usize = 20;

/// The maximum bytes of images in one request: providers accept 20 MB or more, encoded.
const MAX_TOTAL_BYTES: u64 = 12 * 1024 * 1024;

/// The images shown to the model.
#[derive(Default)]
pub(super) struct ShownImages<'a> {
    /// The images attached to the question.
    pub(super) attached: Vec<&'a ProductFile>,
    /// The images of results, by call.
    pub(super) of_calls: BTreeMap<&'a CallId, Vec<&'a ProductFile>>,
}

/// Selects the newest images of a conversation, then of the question. After the first image without room, all
/// older images are omitted.
pub(super) fn select_images<'a>(
    conversation: &'a Conversation,
    attachments: &'a [Attachment],
) -> ShownImages<'a> {
    let of_calls = conversation.items.iter().rev().flat_map(newest_images);
    let of_question = attachments.iter().rev().flat_map(|attachment| {
        let images = match &attachment.image {
            Some(AttachedImage::Shown(image)) => std::slice::from_ref(image),
            Some(AttachedImage::Parts(parts)) => parts.as_slice(),
            Some(AttachedImage::Unseen) | None => &[],
        };
        images.iter().rev().map(|image| (None, image))
    });
    let mut selection = ShownImages::default();
    let mut count = 0;
    let mut bytes = 0;
    for (call, image) in of_calls.map(|(call, image)| (Some(call), image)).chain(of_question) {
        count += 1;
        bytes += image.size;
        if count > MAX_IMAGES || bytes > MAX_TOTAL_BYTES {
            break;
        }
        let of_its_kind = match call {
            Some(call) => selection.of_calls.entry(call).or_default(),
            None => &mut selection.attached,
        };
        of_its_kind.insert(0, image);
    }
    selection
}

/// Returns the images of a turn, last one first.
fn newest_images(item: &ConversationItem) -> Vec<(&CallId, &ProductFile)> {
    let ConversationItem::Turn(turn) = item else { return Vec::new() };
    let images = turn.calls.iter().flat_map(|(call, result)| match result {
        ToolResult::Done(output) => output.images.iter().map(|image| (&call.id, image)).collect(),
        ToolResult::Failed { .. } | ToolResult::PlanRefused { .. } => Vec::new(),
    });
    let mut images: Vec<_> = images.collect();
    images.reverse();
    images
}

/// Returns the message with the images attached to the question, if any are shown.
pub(super) fn attached_images(
    prompts: &Prompts,
    language: Language,
    images: &[&ProductFile],
) -> Option<Message> {
    let values = json!({"files": file_names(images.iter().copied())});
    let text = prompts.render(language, prompt::NOTE_ATTACHED_IMAGES, values);
    (!images.is_empty()).then(|| unread_images(text, images))
}

/// Returns a message for each call of the turn with shown images.
pub(super) fn image_messages(
    prompts: &Prompts,
    language: Language,
    turn: &Turn,
    images: &ShownImages<'_>,
) -> Vec<Message> {
    let message = |(nth, (call, _)): (usize, &(ToolCall, ToolResult))| {
        let files = images.of_calls.get(&call.id)?;
        let names = file_names(files.iter().copied());
        let values = json!({"nth": nth + 1, "tool": call.tool, "files": names});
        let text = prompts.render(language, prompt::NOTE_IMAGES, values);
        Some(unread_images(text, files))
    };
    turn.calls.iter().enumerate().filter_map(message).collect()
}

/// Creates a message with images whose bytes are loaded later, for the request.
fn unread_images(text: String, files: &[&ProductFile]) -> Message {
    let unread =
        |file: &&ProductFile| RequestImage { file: (*file).clone(), bytes: Arc::default() };
    Message::Images { text, images: files.iter().map(unread).collect() }
}

#[cfg(test)]
mod tests {
    use djinn_core::id::{FileName, MessageId};
    use djinn_core::tool::{ToolArguments, ToolOutput};

    use super::*;

    fn image(name: &str, size: u64) -> ProductFile {
        ProductFile {
            name: FileName::new(name).unwrap(),
            description: String::new(),
            size,
            internal: false,
            media_type: "image/png".to_owned(),
            object: String::new(),
            has_rows: None,
            uploaded: false,
        }
    }

    /// A conversation whose turns each made one call that brought so many images of a size.
    fn conversation(turns: &[(usize, u64)]) -> Conversation {
        let turn = |(nth, (count, size)): (usize, &(usize, u64))| {
            let image = |of: usize| image(&format!("{}-{of}.png", nth + 1), *size);
            let call = ToolCall {
                id: CallId::new(format!("t{}.c1", nth + 1)).unwrap(),
                tool: "camera".to_owned(),
                arguments: ToolArguments::Parsed(serde_json::Map::new()),
                edit_comment: None,
            };
            let images = (1..=*count).map(image).collect();
            let result = ToolResult::Done(ToolOutput { images, ..ToolOutput::from_text("") });
            ConversationItem::from(Turn {
                message: MessageId::for_turn(u32::try_from(nth).unwrap() + 1),
                text: String::new(),
                reasoning: None,
                calls: vec![(call, result)],
            })
        };
        Conversation {
            compacted: None,
            history: Vec::new(),
            question: String::new(),
            items: turns.iter().enumerate().map(turn).collect(),
        }
    }

    /// The names of the images that are shown of a question with so many and of turns.
    fn shown_with(attached: usize, turns: &[(usize, u64)]) -> Vec<String> {
        let attachment = |of: usize| {
            let image = image(&format!("q-{of}.png"), 1);
            Attachment { name: image.name.clone(), image: Some(AttachedImage::Shown(image)) }
        };
        let attachments: Vec<Attachment> = (1..=attached).map(attachment).collect();
        let conversation = conversation(turns);
        let ShownImages { attached, of_calls } = select_images(&conversation, &attachments);
        let images = attached.into_iter().chain(of_calls.into_values().flatten());
        images.map(|image| image.name.to_string()).collect()
    }

    fn shown(turns: &[(usize, u64)]) -> Vec<String> {
        shown_with(0, turns)
    }

    #[test]
    fn the_images_of_the_question_are_the_oldest() {
        assert_eq!(shown_with(2, &[(1, 1)]), ["q-1.png", "q-2.png", "1-1.png"]);
        assert_eq!(shown_with(3, &[(18, 1)])[..3], ["q-2.png", "q-3.png", "1-1.png"]);
        let large = 5 * 1024 * 1024;
        assert_eq!(shown_with(1, &[(3, large)]), ["1-2.png", "1-3.png"]);
        let parts = [image("a.png [1 of 2]", 1), image("a.png [2 of 2]", 1)];
        let long = Attachment {
            name: FileName::new("a.png").unwrap(),
            image: Some(AttachedImage::Parts(parts.to_vec())),
        };
        let alone = conversation(&[]);
        let long = [long];
        assert!(select_images(&alone, &long).attached.into_iter().eq(&parts));
        let file = Attachment { name: FileName::new("a.csv").unwrap(), image: None };
        let unseen = Attachment { image: Some(AttachedImage::Unseen), ..file.clone() };
        assert!(select_images(&conversation(&[]), &[file, unseen]).attached.is_empty());
    }

    #[test]
    fn the_newest_images_are_shown_in_their_order() {
        assert_eq!(shown(&[(2, 1), (1, 1)]), ["1-1.png", "1-2.png", "2-1.png"]);
        let many = shown(&[(3, 1), (19, 1)]);
        assert_eq!((many.len(), many[0].as_str(), many[1].as_str()), (20, "1-3.png", "2-1.png"));
        let large = 5 * 1024 * 1024;
        assert_eq!(shown(&[(1, 1), (3, large)]), ["2-2.png", "2-3.png"]);
    }
}
