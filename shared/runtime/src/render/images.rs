//! Which images of results a model is shown: the newest, as many as requests may hold.

use std::collections::BTreeMap;

use djinn_core::conversation::{Conversation, ConversationItem};
use djinn_core::file::ProductFile;
use djinn_core::id::CallId;
use djinn_core::tool::ToolResult;

/// Images of one request.
const MAX_IMAGES: usize = 20;

/// Bytes of the images of one request: providers take 20 MB and more, encoded.
const MAX_TOTAL_BYTES: u64 = 12 * 1024 * 1024;

/// The images that are shown, by their calls.
pub(super) type ShownImages<'a> = BTreeMap<&'a CallId, Vec<&'a ProductFile>>;

/// The newest images of a conversation. Where one has no room, none that is older is shown.
pub(super) fn select_images(conversation: &Conversation) -> ShownImages<'_> {
    let mut shown = ShownImages::new();
    let (mut count, mut bytes) = (0, 0);
    for (call, image) in conversation.items.iter().rev().flat_map(newest_images) {
        count += 1;
        bytes += image.size;
        if count > MAX_IMAGES || bytes > MAX_TOTAL_BYTES {
            break;
        }
        shown.entry(call).or_default().insert(0, image);
    }
    shown
}

/// The images of a turn, the last one first.
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

#[cfg(test)]
mod tests {
    use djinn_core::conversation::Turn;
    use djinn_core::id::{FileName, MessageId};
    use djinn_core::tool::{ToolArguments, ToolCall, ToolOutput};

    use super::*;

    /// A conversation whose turns each made one call that brought so many images of a size.
    fn conversation(turns: &[(usize, u64)]) -> Conversation {
        let turn = |(nth, (count, size)): (usize, &(usize, u64))| {
            let image = |of: usize| ProductFile {
                name: FileName::new(format!("{}-{of}.png", nth + 1)).unwrap(),
                description: String::new(),
                size: *size,
                internal: false,
                media_type: "image/png".to_owned(),
                object: String::new(),
                has_rows: None,
            };
            let call = ToolCall {
                id: CallId::new(format!("t{}.c1", nth + 1)).unwrap(),
                tool: "camera".to_owned(),
                arguments: ToolArguments::Parsed(serde_json::Map::new()),
                edit_comment: None,
            };
            let images = (1..=*count).map(image).collect();
            let result = ToolResult::Done(ToolOutput { images, ..ToolOutput::from_text("") });
            ConversationItem::Turn(Turn {
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

    fn shown(turns: &[(usize, u64)]) -> Vec<String> {
        let conversation = conversation(turns);
        let images = select_images(&conversation).into_values().flatten();
        images.map(|image| image.name.to_string()).collect()
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
