//! What every provider refuses, so that a test finds it before a provider does.

use std::collections::BTreeSet;

use crate::request::{Message, Request, Role};
use crate::wire::Protocol;

/// Longest name of a tool that OpenAI takes.
const TOOL_NAME_CHARS: usize = 64;

/// Why a provider would refuse the request, if it would.
pub(crate) fn refusal(request: &Request) -> Option<String> {
    last_word(request)
        .or_else(|| pairing(request.messages()))
        .or_else(|| empty_text(request))
        .or_else(|| tools(request))
}

fn last_word(request: &Request) -> Option<String> {
    match request.messages().last().map(|message| message.role) {
        Some(Role::User | Role::Tool) => None,
        Some(Role::Assistant) => Some("the last message is the assistant's".to_owned()),
        None => Some("there are no messages".to_owned()),
    }
}

/// The results of a message's calls follow it at once, one each.
fn pairing(messages: &[Message]) -> Option<String> {
    let mut open = BTreeSet::new();
    for message in messages {
        for result in &message.results {
            if !open.remove(result.id.as_str()) {
                return Some(format!("the result of `{}` answers no open call", result.id));
            }
        }
        if message.results.is_empty() && !open.is_empty() {
            break;
        }
        for call in &message.calls {
            if !open.insert(call.id.as_str()) {
                return Some(format!("two open calls have the id `{}`", call.id));
            }
        }
    }
    let unanswered = open.first()?;
    Some(format!("the call `{unanswered}` has no result"))
}

fn empty_text(request: &Request) -> Option<String> {
    let is_empty = |message: &Message| {
        message.text.trim().is_empty() && message.calls.is_empty() && message.results.is_empty()
    };
    let index = request.messages().iter().position(is_empty)?;
    (request.protocol() == Protocol::Anthropic).then(|| format!("message {index} is empty"))
}

fn tools(request: &Request) -> Option<String> {
    let mut names = BTreeSet::new();
    for tool in request.tools() {
        let name = tool.name.as_str();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > TOOL_NAME_CHARS || !name.chars().all(plain) {
            return Some(format!("`{name}` is no name for a tool"));
        }
        if !names.insert(name) {
            return Some(format!("two tools are named `{name}`"));
        }
    }
    let calls = request.messages().iter().any(|message| !message.calls.is_empty());
    let refused = calls && names.is_empty() && request.protocol() == Protocol::Anthropic;
    refused.then(|| "it holds calls but offers no tools".to_owned())
}
