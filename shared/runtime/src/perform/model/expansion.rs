//! A model's reply with URLs in place of placeholders.

use djinn_core::conversation::Reasoning;
use djinn_core::input::{FinishReason, Reply, RequestedCall};
use djinn_core::tool::ToolArguments;
use djinn_protocol::preview::TextKind;
use djinn_text::urls::{TextEnd, Urls};

/// Replaces placeholders in the reply by URLs, for the journal, clients and tools.
pub(super) fn expand_urls(reply: Reply, urls: &Urls) -> Reply {
    if urls.is_empty() {
        return reply;
    }
    let text = urls.expand_text(&reply.text, text_end(&reply, TextKind::Text));
    let end = text_end(&reply, TextKind::Reasoning);
    let reasoning = reply.reasoning.map(|Reasoning { text: original, signature, .. }| {
        let text = urls.expand_text(&original, end);
        let original = (signature.is_some() && text != original).then_some(original);
        Reasoning { text, signature, original }
    });
    let calls = reply.calls.into_iter().map(|RequestedCall { tool, arguments, model }| {
        let arguments = match arguments {
            ToolArguments::Parsed(members) => ToolArguments::Parsed(urls.expand_members(&members)),
            ToolArguments::Malformed { raw, problem } => {
                ToolArguments::Malformed { raw: urls.expand_text(&raw, TextEnd::Cut), problem }
            }
        };
        RequestedCall { tool, arguments, model }
    });
    Reply { text, reasoning, calls: calls.collect(), ..reply }
}

/// Returns the end of a reply's text: a text at the output limit may end within a placeholder.
pub(super) fn text_end(reply: &Reply, kind: TextKind) -> TextEnd {
    let is_last = match kind {
        TextKind::Text => true,
        TextKind::Reasoning => reply.text.is_empty() && reply.calls.is_empty(),
    };
    match reply.finish {
        FinishReason::Length | FinishReason::Filtered if is_last => TextEnd::Cut,
        FinishReason::Done | FinishReason::Length | FinishReason::Filtered => TextEnd::Whole,
    }
}
