//! Chat Completions: the text that a client shows, whatever it is sent of the pieces.

use djinn_core::language::Language;
use djinn_protocol::chat_completions::{ChatCompletions, ChatForm, ChatOptions};
use djinn_protocol::connection::Connection;
use djinn_protocol::link::SessionLinks;
use proptest::prelude::*;
use serde_json::Value;

use crate::projection::{Step, plan_steps, send, steps};
use crate::story::{self, human_requests, run_id};

const STREAM: ChatForm = ChatForm::Stream { usage: true };

fn connection(form: ChatForm) -> Connection {
    let links = SessionLinks::new("http://localhost:9000", story::asked("").session);
    let options = ChatOptions { model: "djinn".to_owned(), form };
    let projection = ChatCompletions::new(run_id(), options, links, Language::En);
    Connection::new(run_id(), Box::new(projection), form != ChatForm::Document)
}

fn sent(form: ChatForm, steps: &[Step]) -> String {
    let mut connection = connection(form);
    steps.iter().flat_map(|step| send(&mut connection, step)).collect()
}

/// The content of a stream, as a client joins it.
fn content(frames: &str) -> String {
    let data = frames.lines().filter_map(|line| line.strip_prefix("data:"));
    let chunks = data.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    let text =
        |chunk: Value| chunk.pointer("/choices/0/delta/content")?.as_str().map(str::to_owned);
    chunks.filter_map(text).collect()
}

#[test]
fn a_stream_shows_broken_attempts_as_void_and_other_work_as_reasoning() {
    insta::assert_snapshot!("chat_completions_growth", sent(STREAM, &steps()));
    insta::assert_snapshot!("chat_completions_plan", sent(STREAM, &plan_steps()));
}

/// Reads a stream as OpenAI's SDK for Python does: after an id, a blank line ends an event, which must have data.
pub(crate) fn assert_every_event_has_data(stream: &str) {
    let (mut has_data, mut has_name, mut has_id) = (false, false, false);
    for line in stream.lines() {
        if line.is_empty() {
            assert!(has_data || !(has_name || has_id), "an event without data: {stream}");
            (has_data, has_name) = (false, false);
        }
        has_data |= line.starts_with("data:");
        has_name |= line.starts_with("event:");
        has_id |= line.starts_with("id:");
    }
}

#[test]
fn heartbeat_after_an_id_is_no_event() {
    assert_every_event_has_data(&sent(STREAM, &steps()));
}

#[test]
fn a_document_is_one_object_after_spaces() {
    let text = sent(ChatForm::Document, &steps());
    let document: Value = serde_json::from_str(&text).unwrap();
    assert!(text.starts_with(" {"), "the heartbeat is a space: {text}");
    let answer = document["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(answer.starts_with("North grew fastest, by 12 %"), "{answer}");
}

#[test]
fn a_run_that_waits_ends_its_answer_with_the_requests_and_its_id() {
    let asked = human_requests::asked_with_approval("Write it down?");
    let input = human_requests::input("replied t1 \"I write it down.\" file_tool(a)");
    let (_, records) = story::journal_of(asked, vec![input]);
    for form in [STREAM, ChatForm::Document] {
        let mut connection = connection(form);
        let records = records.iter().flat_map(|record| connection.render_record(record, &[]));
        let mut frames: Vec<String> = records.collect();
        frames.extend(connection.hand_over(None, 0));
        let frames = frames.concat();
        let text = if form == STREAM { content(&frames) } else { frames.clone() };
        assert!(text.starts_with("I write it down.") || form == ChatForm::Document, "{text}");
        assert!(text.contains("- `file_tool` (") && text.contains(run_id().as_str()), "{text}");
        assert!(frames.contains("\"finish_reason\":\"stop\""), "{frames}");
    }
}

proptest! {
    #[test]
    fn content_ends_with_the_answer_whichever_pieces_are_lost(
        kept in proptest::collection::vec(any::<bool>(), 40),
        planned in any::<bool>(),
    ) {
        let all = if planned { plan_steps() } else { steps() };
        let is_kept = |(step, kept): &(Step, bool)| *kept || !matches!(step, Step::Piece(_));
        let steps: Vec<Step> = all
            .into_iter()
            .zip(kept.into_iter().chain(std::iter::repeat(true)))
            .filter(is_kept)
            .map(|(step, _)| step)
            .collect();
        let frames = sent(STREAM, &steps);
        let document: Value = serde_json::from_str(&sent(ChatForm::Document, &steps)).unwrap();
        let answer = document["choices"][0]["message"]["content"].as_str().unwrap();
        let shown = content(&frames);
        prop_assert!(shown.ends_with(answer), "{shown:?} does not end with {answer:?}");
        prop_assert!(frames.ends_with("data:[DONE]\n\n"));
    }
}
