//! The events and objects of OpenAI's Responses API, as its clients read them. A response is a run.
//!
//! The run's own texts are message items, and its reasoning and the work of other agents and tools are reasoning items.
//! Void text ends as an incomplete item, and the whole text follows as another. Numbers of events are places in the
//! journal (`number.rs`), so a client resumes after any event.

mod item;
mod number;
mod object;
mod unfinished_message;
mod writer;

use djinn_core::entry::{Entry, Event, ResetReason, RunResult};
use djinn_core::file::ProductFile;
use djinn_core::id::{MessageId, RunId};
use djinn_core::input::FinishReason;
use djinn_core::language::Language;
use djinn_core::status::RunStatus;
use djinn_messages::Wording;
use serde_json::{Value, json};

use item::{ItemProgress, ResponseItem};
pub use number::SequenceNumber;
use object::{EndFacts, RunFacts};
pub use object::{ResponsesApiForm, ResponsesApiOptions};
use unfinished_message::{ITEMS_PER_MESSAGE, MessagePlace, UnfinishedMessage};
use writer::EventWriter;

use crate::body::{ResponseErrorBody, ResponseUsageBody};
use crate::connection::{Frame, Projection};
use crate::cursor::Cursor;
use crate::link::SessionLinks;
use crate::open_requests::OpenRequests;
use crate::preview::{Preview, TextKind};
use crate::work_lines::WorkLines;

/// The projection to the Responses API.
pub struct ResponsesApi {
    run: RunId,
    options: ResponsesApiOptions,
    links: SessionLinks,
    language: Language,
    /// The start of the run, Unix seconds.
    created_s: i64,
    /// The newest record.
    record: Option<u64>,
    /// True if the newest record has events, after which no item is open.
    has_written: bool,
    /// The index of the next item.
    index: u64,
    open: UnfinishedMessage,
    /// The complete items, each with its message.
    output: Vec<(Option<MessageId>, Value)>,
    /// The text of the newest complete message.
    newest_text: String,
    requests: OpenRequests,
    work: WorkLines,
    writer: EventWriter,
}

impl ResponsesApi {
    /// Creates the projection of a connection. Texts of our own use the language of the question, by default
    /// `language`.
    #[must_use]
    pub fn new(
        run: RunId,
        options: ResponsesApiOptions,
        links: SessionLinks,
        language: Language,
    ) -> Self {
        let (is_stream, after) = match options.form {
            ResponsesApiForm::Stream { after } => (true, after),
            ResponsesApiForm::Document => (false, None),
        };
        Self {
            run,
            options,
            links,
            language,
            created_s: 0,
            record: None,
            has_written: false,
            index: 0,
            open: UnfinishedMessage::default(),
            output: Vec::new(),
            newest_text: String::new(),
            requests: OpenRequests::default(),
            work: WorkLines::default(),
            writer: EventWriter::new(is_stream, after),
        }
    }

    fn apply_entry(&mut self, entry: &Entry) {
        self.links.advance_to(entry.at_ms);
        self.requests.apply_entry(entry, &self.links);
        if entry.path.is_root() {
            self.apply_own_event(&entry.event, entry.at_ms);
        }
    }

    /// Applies an event of the run itself.
    fn apply_own_event(&mut self, event: &Event, at_ms: i64) {
        match event {
            Event::RunStarted { question, .. } => {
                self.created_s = at_ms.div_euclid(1_000);
                self.language = Language::of_text(question).unwrap_or(self.language);
                self.has_written = true;
                self.start();
            }
            Event::RunResumed { .. } | Event::MessageReset { reason: ResetReason::Failure, .. } => {
                self.close_open_message();
            }
            Event::MessageReset { message, reason: ResetReason::Review, .. } => {
                self.newest_text.clear();
                self.output.retain(|(of, _)| of.as_ref() != Some(message));
                let notice = Wording::AnswerRejected.text(self.language);
                self.add_reasoning(notice);
            }
            Event::MessageCompleted { message, text, reasoning, .. } => {
                let reasoning = reasoning.as_deref().unwrap_or_default();
                self.complete_message(Some(message), reasoning, text);
                self.newest_text.clone_from(text);
            }
            Event::CallRequested { .. }
            | Event::PlanChanged { .. }
            | Event::StepChanged { .. }
            | Event::ChildStarted { .. }
            | Event::ChildEnded { .. } => {
                let lines = self.work.lines_of(event);
                if !lines.is_empty() {
                    self.add_reasoning(&lines.join("\n"));
                }
            }
            Event::RunEnded(ending) => self.end_run(ending),
            Event::CallCompleted { .. }
            | Event::HumanRequested { .. }
            | Event::HumanResolved(_)
            | Event::ModelChanged(_)
            | Event::AgentChanged { .. }
            | Event::ModelDelayed { .. }
            | Event::FileAdded { .. }
            | Event::ContextCompacted { .. }
            | Event::EmployeesNamed { .. }
            | Event::ReviewCompleted(_)
            | Event::UserMessageAdded { .. }
            | Event::VerdictGiven(_) => {}
        }
    }

    /// Writes the first events of a response.
    fn start(&mut self) {
        let response = self.describe(RunStatus::Running, "in_progress", EndFacts::default(), &[]);
        let fields = json!({"response": response});
        self.writer.write(|| ("response.created", fields.clone()));
        self.writer.write(|| ("response.in_progress", fields));
    }

    fn next_record(&self) -> u64 {
        self.record.map_or(0, |record| record + 1)
    }

    /// Returns the digits of the run's id.
    fn run_digits(&self) -> String {
        self.run.as_str().trim_start_matches("run_").to_owned()
    }

    /// Ends the message being written before the first events of a record.
    fn close_open_message(&mut self) {
        if std::mem::replace(&mut self.has_written, true) {
            return;
        }
        let run = self.run_digits();
        let place = MessagePlace { run: &run, index: self.index, record: self.next_record() };
        self.open.void(place, &mut self.writer);
        self.index += ITEMS_PER_MESSAGE;
    }

    fn complete_message(&mut self, message: Option<&MessageId>, reasoning: &str, text: &str) {
        self.has_written = true;
        let run = self.run_digits();
        let place = MessagePlace { run: &run, index: self.index, record: self.next_record() };
        let items = self.open.complete(reasoning, text, place, &mut self.writer);
        self.output.extend(items.into_iter().map(|item| (message.cloned(), item)));
        self.index += ITEMS_PER_MESSAGE;
    }

    /// Writes a whole item of our own.
    fn add_item(&mut self, kind: TextKind, text: &str) {
        self.close_open_message();
        let item = ResponseItem::new(kind, &self.run_digits(), self.index);
        item.write_rest(ItemProgress::default(), text, &mut self.writer);
        self.output.push((None, item.to_json(text, "completed")));
        self.index += 1;
    }

    fn add_reasoning(&mut self, text: &str) {
        self.add_item(TextKind::Reasoning, text);
    }

    /// Writes a text of our own, in a new paragraph after other text: clients join all texts.
    fn add_text(&mut self, text: &str) {
        let has_text = self.output.iter().any(|(_, item)| item.get("content").is_some());
        let text = if has_text { format!("\n\n{text}") } else { text.to_owned() };
        self.add_item(TextKind::Text, &text);
    }

    fn end_run(&mut self, ending: &RunResult) {
        let answer = ending.answer.trim();
        if !self.newest_text.contains(answer) {
            self.complete_message(None, "", answer);
        }
        let failure = ending.failure.as_ref();
        let sentence = failure.map(|failure| failure.sentence(self.language));
        let has_failed = ending.status == RunStatus::Failed;
        let words = sentence.clone().filter(|_| !has_failed);
        let below: Vec<String> = words.into_iter().chain(self.file_lines(&ending.files)).collect();
        if !below.is_empty() {
            self.add_text(&below.join("\n\n"));
        }
        self.close_open_message();
        let incomplete = match ending.finish {
            FinishReason::Done => None,
            FinishReason::Length => Some("max_output_tokens"),
            FinishReason::Filtered => Some("content_filter"),
        };
        let (status, event) = if has_failed {
            ("failed", "response.failed")
        } else if ending.status == RunStatus::Stopped {
            // The protocol has this status, and no event of its own for it.
            ("cancelled", "response.incomplete")
        } else if incomplete.is_some() {
            ("incomplete", "response.incomplete")
        } else {
            ("completed", "response.completed")
        };
        let error = failure.filter(|_| has_failed).map(|failure| ResponseErrorBody {
            code: failure.code.as_str().to_owned(),
            message: sentence.unwrap_or_default(),
        });
        let usage = Some(ResponseUsageBody::new(&ending.spent.usage));
        self.finish(ending.status, status, event, EndFacts { error, incomplete, usage });
    }

    /// Returns links to files, a line each; `None` without files.
    fn file_lines(&self, files: &[ProductFile]) -> Option<String> {
        let lines = files.iter().map(|file| {
            let name = file.name.as_str().replace(['[', ']'], " ");
            format!("- [{name}]({})", self.links.download_url(file))
        });
        let lines: Vec<String> = lines.collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// Writes the last event, which has the whole response.
    fn finish(
        &mut self,
        run_status: RunStatus,
        status: &'static str,
        event: &'static str,
        end: EndFacts,
    ) {
        let output: Vec<Value> = self.output.iter().map(|(_, item)| item.clone()).collect();
        let response = self.describe(run_status, status, end, &output);
        self.writer.write(|| (event, json!({"response": response})));
        self.writer.set_document(&response);
    }

    /// Returns the response with these items.
    fn describe(
        &self,
        run_status: RunStatus,
        status: &'static str,
        end: EndFacts,
        output: &[Value],
    ) -> Value {
        let facts = RunFacts { run: &self.run, created_s: self.created_s, run_status };
        self.options.describe(facts, status, end, output)
    }

    /// Ends a response before the run: with the open requests, or else without a last event, so the client may resume.
    fn end_early(&mut self) {
        self.writer.go_to(SequenceNumber::end_before(self.next_record()));
        let Some(words) = self.requests.describe(self.language) else {
            let output: Vec<Value> = self.output.iter().map(|(_, item)| item.clone()).collect();
            let end = EndFacts::default();
            let response = self.describe(RunStatus::Running, "in_progress", end, &output);
            self.writer.set_document(&response);
            return;
        };
        let links: String = self.requests.links().map(|link| format!("\n{link}")).collect();
        let separator = if links.is_empty() { "" } else { "\n" };
        self.has_written = false;
        self.add_text(&format!("{words}{separator}{links}"));
        let end = EndFacts::default();
        self.finish(RunStatus::Paused, "completed", "response.completed", end);
    }
}

impl Projection for ResponsesApi {
    fn begin_record(&mut self, number: u64) {
        self.record = Some(number);
        self.has_written = false;
        self.writer.go_to(SequenceNumber::of_record(number));
    }

    fn project_entry(&mut self, entry: &Entry) -> Vec<Frame> {
        self.apply_entry(entry);
        self.writer.take_frames()
    }

    fn project_preview(&mut self, preview: &Preview) -> Vec<Frame> {
        let next = SequenceNumber::of_record(self.next_record());
        // A client with events of the next record needs no text before it.
        if preview.is_own_text() && !self.writer.has_received(next) {
            let run = self.run_digits();
            let place = MessagePlace { run: &run, index: self.index, record: self.next_record() };
            self.open.apply_preview(preview, place, &mut self.writer);
        }
        self.writer.take_frames()
    }

    fn heartbeat(&self) -> Frame {
        match self.options.form {
            ResponsesApiForm::Stream { .. } => Frame::Comment("heartbeat"),
            // White space before a document is part of no value.
            ResponsesApiForm::Document => Frame::Raw(" ".to_owned()),
        }
    }

    fn hand_over(&mut self, _: Option<&Cursor>, _: i64) -> Vec<Frame> {
        self.end_early();
        self.writer.take_frames()
    }

    fn resume(&mut self) {
        if let ResponsesApiForm::Stream { after: Some(after) } = self.options.form
            && after.record() == self.next_record()
        {
            self.open = UnfinishedMessage::at(after.text_place());
        }
    }

    fn begin_late(&mut self, _: i64) -> Vec<Frame> {
        self.writer.go_to(SequenceNumber::start_before(self.next_record()));
        self.start();
        self.writer.take_frames()
    }

    fn has_large_frames(&self) -> bool {
        true
    }

    fn can_resume(&self) -> bool {
        false
    }
}
