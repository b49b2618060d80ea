//! Checks for requests rejected by every provider, so that a test finds the problem first.

use std::collections::BTreeSet;

use crate::request::{MessageRole, RecordedMessage, RecordedRequest};
use crate::wire::ProviderProtocol;

/// The maximum length of a tool name for OpenAI.
const TOOL_NAME_CHARS: usize = 64;

/// Returns the reason why a provider would reject the request, if any.
pub(crate) fn find_refusal(request: &RecordedRequest) -> Option<String> {
    match request.messages().last().map(|message| message.role) {
        Some(MessageRole::User | MessageRole::Tool) => {}
        Some(MessageRole::Assistant) => {
            return Some("the last message is the assistant's".to_owned());
        }
        None => return Some("there are no messages".to_owned()),
    }
    check_pairing(request.messages())
        .or_else(|| check_empty_text(request))
        .or_else(|| check_tools(request))
}

/// Checks that the results of a message's calls follow immediately, one for each call.
fn check_pairing(messages: &[RecordedMessage]) -> Option<String> {
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
    let open_call = open.first()?;
    Some(format!("the call `{open_call}` has no result"))
}

fn check_empty_text(request: &RecordedRequest) -> Option<String> {
    let is_empty = |message: &RecordedMessage| {
        message.text.trim().is_empty() && message.calls.is_empty() && message.results.is_empty()
    };
    let index = request.messages().iter().position(is_empty)?;
    (request.protocol() == ProviderProtocol::Anthropic).then(|| format!("message {index} is empty"))
}

fn check_tools(request: &RecordedRequest) -> Option<String> {
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
    let lacks_tools =
        calls && names.is_empty() && request.protocol() == ProviderProtocol::Anthropic;
    lacks_tools.then(|| "it holds calls but offers no tools".to_owned())
}
