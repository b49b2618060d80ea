//! What a model replied, with the URLs that its placeholders stand for.

use djinn_core::conversation::Reasoning;
use djinn_core::input::{AskedCall, Finish, Reply};
use djinn_core::preview::TextKind;
use djinn_core::tool::Arguments;
use djinn_core::urls::{End, Urls};

/// The reply as the journal, clients and tools see it.
pub(super) fn expanded(reply: Reply, urls: &Urls) -> Reply {
    if urls.is_empty() {
        return reply;
    }
    let text = urls.expand(&reply.text, end_of(&reply, TextKind::Text));
    let end = end_of(&reply, TextKind::Reasoning);
    let reasoning = reply.reasoning.map(|Reasoning { text: written, signature, .. }| {
        let text = urls.expand(&written, end);
        let written = (signature.is_some() && text != written).then_some(written);
        Reasoning { text, signature, written }
    });
    let calls = reply.calls.into_iter().map(|AskedCall { tool, arguments }| {
        let arguments = match arguments {
            Arguments::Parsed(members) => Arguments::Parsed(urls.expand_members(&members)),
            Arguments::Malformed { raw, problem } => {
                Arguments::Malformed { raw: urls.expand(&raw, End::Cut), problem }
            }
        };
        AskedCall { tool, arguments }
    });
    Reply { text, reasoning, calls: calls.collect(), ..reply }
}

/// How a text of a reply ends: one that reached the output limit may end in half a placeholder.
pub(super) fn end_of(reply: &Reply, kind: TextKind) -> End {
    let is_last = match kind {
        TextKind::Text => true,
        TextKind::Reasoning => reply.text.is_empty() && reply.calls.is_empty(),
    };
    match reply.finish {
        Finish::Length | Finish::Filtered if is_last => End::Cut,
        Finish::Done | Finish::Length | Finish::Filtered => End::Whole,
    }
}
