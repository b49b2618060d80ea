//! Responses sent as the next message of a chat.

use std::collections::BTreeMap;

use djinn_core::entry::Event;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::human::{HumanRequest, HumanResponse, ResponseRecord};
use djinn_core::id::{HumanRequestId, UserId};
use djinn_core::journal::Record;

use super::human_request::submit_response;
use super::{LoadedRun, ResponseCapability, store_failure};
use crate::question::is_continue;
use crate::text_response::{TextResponse, parse_response};
use crate::world::Ports;

/// A message of a chat.
pub(super) struct ChatMessage<'a> {
    /// The author of the message, and of the response.
    pub(super) by: &'a UserId,
    /// The id of the message: a repeat has no further effect.
    pub(super) id: &'a str,
    /// The text as sent by the user.
    pub(super) text: &'a str,
    /// The message parsed as a response, if already parsed.
    pub(super) parsed_response: Option<&'a Result<HumanResponse, Failure>>,
    /// The requests that the message may respond to.
    pub(super) capability: ResponseCapability,
}

/// The result of a chat message.
#[derive(Debug, Default)]
pub(super) struct ChatResult {
    /// True if the message was a response.
    pub(super) is_response: bool,
    /// The record of the first request with this response, or of the first pending request.
    pub(super) request_record: Option<u64>,
}

/// Responds to all pending requests of a run with one message. `continue` resumes interrupted or over-budget
/// work, and decides nothing else. Without the capability for all of these requests, no request is answered.
///
/// # Errors
/// Returns the errors of [`submit_response`], except those about closed requests. Returns `invalid_field` for
/// changes to several requests.
pub(super) async fn submit_chat_response<P: Ports>(
    ports: &P,
    run: &mut LoadedRun,
    words: ChatMessage<'_>,
) -> Result<ChatResult, Failure> {
    if run.meta().status.has_ended() || run.meta().user != *words.by {
        return Ok(ChatResult::default());
    }
    let id = format!("chat.{}", words.id);
    let mut history = RequestHistory {
        response_id: &id,
        answered_ids: Vec::new(),
        first_records: BTreeMap::new(),
    };
    match run.read_all(ports, |record| history.add_record(record)).await {
        Err(error) if error.is_temporary() => return Err(store_failure(&error)),
        // A run with an unreadable journal has no requests, even if its beginning can be read.
        Err(_) => return Ok(ChatResult::default()),
        Ok(_) => {}
    }
    let Ok(journal) = run.journal() else { return Ok(ChatResult::default()) };
    if journal.run().is_resolved_by(&id) {
        return Ok(ChatResult {
            is_response: true,
            request_record: history.first_record_of(&history.answered_ids),
        });
    }
    let goes_on = is_continue(words.text);
    let request_record =
        history.first_record_of(journal.run().pending_requests().map(|request| &request.id));
    let requests = journal
        .run()
        .pending_requests()
        .filter(|request| !goes_on || request.subject.can_continue());
    let requests: Vec<HumanRequest> = requests.cloned().collect();
    if requests.is_empty() {
        return Ok(ChatResult { is_response: false, request_record });
    }
    words.capability.require(&run.key().run, &requests)?;
    let responses = parse_responses(&requests, &words)?;
    for (request, answer) in requests.iter().zip(responses) {
        let response = ResponseRecord {
            request: request.id.clone(),
            id: id.clone(),
            by: Some(words.by.clone()),
            answer,
            comment: String::new(),
            digest: Some(request.digest.clone()),
            via: None,
        };
        match submit_response(ports, run, response, words.capability).await {
            // Another response was first, or an earlier response closed the request.
            Err(failure) if is_request_closed(failure.code) => {}
            Err(failure) => return Err(failure),
            Ok(_) => {}
        }
    }
    Ok(ChatResult { is_response: true, request_record })
}

/// Returns the response to each of `requests`. A `continue` confirms all.
fn parse_responses(
    requests: &[HumanRequest],
    words: &ChatMessage<'_>,
) -> Result<Vec<HumanResponse>, Failure> {
    let meaning = match words.parsed_response {
        _ if is_continue(words.text) => Ok(HumanResponse::Confirm),
        Some(meaning) => meaning.clone(),
        None => {
            parse_response(words.text, None).map_err(|(code, problem)| Failure::new(code, problem))
        }
    };
    let text_response = TextResponse { text: words.text.to_owned(), parsed: meaning };
    let mut responses = Vec::with_capacity(requests.len());
    for request in requests {
        responses.push(merge_arguments(request, text_response.response_to([&request.subject])?));
    }
    let changes = responses.iter().any(|answer| matches!(answer, HumanResponse::Modify { .. }));
    if changes && requests.len() > 1 {
        let request_ids: Vec<String> =
            requests.iter().map(|request| request.id.to_string()).collect();
        let problem = format!("change one at a time, by its id: {}", request_ids.join(", "));
        return Err(Failure::new(ErrorCode::InvalidField, problem));
    }
    Ok(responses)
}

/// The requests of a run, collected while its records are read.
struct RequestHistory<'a> {
    /// The id of the response to find.
    response_id: &'a str,
    /// The requests with this response.
    answered_ids: Vec<HumanRequestId>,
    /// The first record of each request.
    first_records: BTreeMap<HumanRequestId, u64>,
}

impl RequestHistory<'_> {
    fn add_record(&mut self, record: &Record) {
        for entry in &record.entries {
            if let Event::HumanRequested { requests, .. } = &entry.event {
                for request in requests {
                    self.first_records.entry(request.id.clone()).or_insert(record.number);
                }
            } else if let Event::HumanResolved(response) = &entry.event
                && response.id == self.response_id
            {
                self.answered_ids.push(response.request.clone());
            }
        }
    }

    /// Returns the first record of any of the requests.
    fn first_record_of<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a HumanRequestId>,
    ) -> Option<u64> {
        ids.into_iter().filter_map(|id| self.first_records.get(id)).min().copied()
    }
}

/// Adds the call's own arguments to a change: a chat message names only the changed arguments.
fn merge_arguments(ask: &HumanRequest, answer: HumanResponse) -> HumanResponse {
    match answer {
        HumanResponse::Modify { arguments } => {
            let mut whole = ask.subject.parameters().unwrap_or_default();
            whole.extend(arguments);
            HumanResponse::Modify { arguments: whole }
        }
        HumanResponse::Confirm
        | HumanResponse::Skip
        | HumanResponse::Stop
        | HumanResponse::Say { .. } => answer,
    }
}

/// Returns true if the request of a response is closed.
fn is_request_closed(code: ErrorCode) -> bool {
    let codes = [ErrorCode::RequestResolved, ErrorCode::RequestNotFound, ErrorCode::RequestStale];
    codes.contains(&code)
}
