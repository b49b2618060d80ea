//! A model's reply with links in place of images with invented URLs.
//!
//! Clients load images of a rendered message automatically. So the rule applies before any part of the
//! message is recorded or shown, in every run: a user may have quoted another author in the question.

use djinn_core::human::ASK_USER;
use djinn_core::input::Reply;
use djinn_core::plan::PLANNING_TOOL;
use djinn_core::run::Run;
use djinn_core::tool::ToolArguments;
use djinn_protocol::preview::TextKind;
use djinn_text::images::{ImageFilter, unlink_images_in_members};

use super::expansion::{expand_urls, text_end};

/// Returns the filter for a text of the current reply.
pub(super) fn image_filter<'a>(
    run: &Run,
    kind: TextKind,
    is_known: &'a (dyn Fn(&str) -> bool + Sync),
) -> ImageFilter<'a> {
    match kind {
        TextKind::Text if run.continues_text() => {
            ImageFilter::continuing(run.text_form(), is_known)
        }
        TextKind::Text | TextKind::Reasoning => ImageFilter::new(run.text_form(), is_known),
    }
}

/// Returns the reply for the journal and clients, with URLs in place of placeholders.
pub(super) fn finish_texts(reply: Reply, run: &Run) -> Reply {
    unlink_reply(expand_urls(reply, run.urls()), run)
}

/// Replaces images in texts by links. Tool arguments stay unchanged, except for messages to users: plans and
/// questions.
fn unlink_reply(mut reply: Reply, run: &Run) -> Reply {
    let is_known = |url: &str| run.knows_url(url);
    let filter_text =
        |kind, text: &str, end| image_filter(run, kind, &is_known).filter_text(text, end);
    let reasoning_end = text_end(&reply, TextKind::Reasoning);
    reply.text = filter_text(TextKind::Text, &reply.text, text_end(&reply, TextKind::Text));
    if let Some(reasoning) = &mut reply.reasoning {
        let text = filter_text(TextKind::Reasoning, &reasoning.text, reasoning_end);
        let original = std::mem::replace(&mut reasoning.text, text);
        if reasoning.signature.is_some() && original != reasoning.text {
            // Signed reasoning goes back to the model unchanged.
            reasoning.original.get_or_insert(original);
        }
    }
    for call in &mut reply.calls {
        if let ToolArguments::Parsed(members) = &mut call.arguments
            && [ASK_USER, PLANNING_TOOL].contains(&call.tool.as_str())
        {
            *members = unlink_images_in_members(members, &is_known);
        }
    }
    reply
}
