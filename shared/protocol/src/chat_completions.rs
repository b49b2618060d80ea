//! Chat Completions, as the clients of OpenAI's API read them: chunks of a stream, or one document.
//!
//! The text of the run itself is content, and the work of other agents and tools is a line of reasoning each. A
//! client cannot be told to drop text, so a sentence follows void text, and the whole text again.

mod answer;

use answer::{Answer, ChatEnd, Part};

use djinn_core::entry::{Entry, Event, ResetReason, RunResult};
use djinn_core::file::ProductFile;
use djinn_core::id::{MessageId, RunId};
use djinn_core::input::FinishReason;
use djinn_core::language::Language;
use djinn_messages::Wording;

use crate::body::ChatUsageBody;
use crate::connection::{Frame, Projection};
use crate::cursor::Cursor;
use crate::link::SessionLinks;
use crate::open_requests::OpenRequests;
use crate::preview::{OpenText, Preview, TextChange, TextKind};
use crate::work_lines::WorkLines;

/// The answer as the client asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatOptions {
    /// The name of the model in the request.
    pub model: String,
    /// The form of the answer.
    pub form: ChatForm,
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatForm {
    /// Chunks as server-sent events.
    Stream {
        /// True if a last chunk reports the tokens.
        usage: bool,
    },
    /// One JSON document at the end.
    Document,
}

/// The projection to Chat Completions.
pub struct ChatCompletions {
    run: RunId,
    options: ChatOptions,
    links: SessionLinks,
    language: Language,
    /// The start of the run, Unix seconds.
    created_s: i64,
    /// The message being written, with its text so far.
    open_message: Option<(MessageId, OpenText)>,
    /// True if the client shows text of the message being written.
    shows_open_text: bool,
    /// The text of the newest complete message.
    newest_text: String,
    /// True if the next text begins a new paragraph.
    needs_break: bool,
    requests: OpenRequests,
    work: WorkLines,
}

impl ChatCompletions {
    /// Creates the projection of a connection. Texts of our own use the language of the question, by default
    /// `language`.
    #[must_use]
    pub fn new(run: RunId, options: ChatOptions, links: SessionLinks, language: Language) -> Self {
        Self {
            run,
            options,
            links,
            language,
            created_s: 0,
            open_message: None,
            shows_open_text: false,
            newest_text: String::new(),
            needs_break: false,
            requests: OpenRequests::default(),
            work: WorkLines::default(),
        }
    }

    fn apply_entry(&mut self, entry: &Entry) -> Vec<Part> {
        self.links.advance_to(entry.at_ms);
        self.requests.apply_entry(entry, &self.links);
        if entry.path.is_root() {
            self.apply_own_event(&entry.event, entry.at_ms)
        } else {
            Vec::new()
        }
    }

    /// Applies an event of the run itself.
    fn apply_own_event(&mut self, event: &Event, at_ms: i64) -> Vec<Part> {
        match event {
            Event::RunStarted { question, .. } => {
                self.created_s = at_ms.div_euclid(1_000);
                self.language = Language::of_text(question).unwrap_or(self.language);
                vec![Part::Content(String::new())]
            }
            Event::RunResumed { .. } => {
                self.open_message = None;
                self.void_text(Wording::TextVoid)
            }
            Event::MessageReset { reason: ResetReason::Failure, .. } => {
                self.open_message = None;
                self.void_text(Wording::TextVoid)
            }
            Event::MessageReset { reason: ResetReason::Review, .. } => {
                self.shows_open_text = !std::mem::take(&mut self.newest_text).is_empty();
                self.void_text(Wording::AnswerRejected)
            }
            Event::MessageCompleted { message, text, reasoning, .. } => {
                self.complete_message(message, text, reasoning.as_deref().unwrap_or_default())
            }
            Event::CallRequested { .. }
            | Event::PlanChanged { .. }
            | Event::StepChanged { .. }
            | Event::ChildStarted { .. }
            | Event::ChildEnded { .. } => {
                let lines = self.work.lines_of(event).into_iter();
                lines.map(|line| Part::Reasoning(format!("\n{line}\n"))).collect()
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
            | Event::VerdictGiven(_) => Vec::new(),
        }
    }

    /// Returns a text as content, in a new paragraph after a complete text.
    fn content(&mut self, text: &str) -> Part {
        let begin = if std::mem::take(&mut self.needs_break) { "\n\n" } else { "" };
        Part::Content(format!("{begin}{text}"))
    }

    /// Tells the client by this notice that the newest text is void, if the client shows any.
    fn void_text(&mut self, notice: Wording) -> Vec<Part> {
        if !std::mem::take(&mut self.shows_open_text) {
            return Vec::new();
        }
        self.needs_break = true;
        let notice = self.content(notice.text(self.language));
        self.needs_break = true;
        vec![notice]
    }

    fn apply_preview(&mut self, preview: &Preview) -> Vec<Part> {
        let message = &preview.message;
        if !preview.is_own_text() {
            return Vec::new();
        }
        if self.open_message.as_ref().is_none_or(|(open, _)| open != message) {
            self.open_message = Some((message.clone(), OpenText::default()));
            self.shows_open_text = false;
        }
        let Some((_, open)) = &mut self.open_message else { return Vec::new() };
        let (mut parts, text) = match open.apply_preview(preview) {
            TextChange::Nothing => return Vec::new(),
            TextChange::Appended(text) => (Vec::new(), text),
            TextChange::Restarted(text) => (self.void_text(Wording::TextVoid), text),
        };
        parts.extend(self.show_piece(preview.kind, &text));
        parts
    }

    fn show_piece(&mut self, kind: TextKind, text: &str) -> Option<Part> {
        match kind {
            _ if text.is_empty() => None,
            TextKind::Reasoning => Some(Part::Reasoning(text.to_owned())),
            TextKind::Text => {
                self.shows_open_text = true;
                Some(self.content(text))
            }
        }
    }

    /// Shows the part of a complete message that the client has not seen.
    fn complete_message(&mut self, message: &MessageId, text: &str, reasoning: &str) -> Vec<Part> {
        let open = self.open_message.take().filter(|(open, _)| open == message);
        let open = open.map(|(_, open)| open).unwrap_or_default();
        let mut parts = Vec::new();
        let rest = reasoning.strip_prefix(open.text_of(TextKind::Reasoning));
        parts.extend(rest.and_then(|rest| self.show_piece(TextKind::Reasoning, rest)));
        let rest = text.strip_prefix(open.text_of(TextKind::Text));
        if rest.is_none() {
            parts.extend(self.void_text(Wording::TextVoid));
        }
        parts.extend(self.show_piece(TextKind::Text, rest.unwrap_or(text)));
        self.shows_open_text = false;
        self.needs_break |= !text.is_empty();
        self.newest_text = text.to_owned();
        parts
    }

    fn end_run(&mut self, ending: &RunResult) -> Vec<Part> {
        let answer = ending.answer.trim();
        let mut parts = Vec::new();
        if !self.newest_text.contains(answer) {
            let open = self.open_message.take().map(|(_, open)| open).unwrap_or_default();
            let open_text = open.text_of(TextKind::Text).trim_start();
            match answer.strip_prefix(open_text).filter(|_| self.shows_open_text) {
                Some(rest) => parts.push(Part::Content(rest.to_owned())),
                None => {
                    self.needs_break |= self.shows_open_text;
                    parts.push(self.content(answer));
                }
            }
        }
        self.needs_break |= !answer.is_empty();
        let sentence = ending.failure.as_ref().map(|failure| failure.sentence(self.language));
        let files = self.file_lines(&ending.files);
        let below: Vec<String> = sentence.into_iter().chain(files).collect();
        let below = below.join("\n\n");
        if !below.is_empty() {
            parts.push(self.content(&below));
        }
        let whole = [answer, &below].into_iter().filter(|part| !part.is_empty());
        parts.push(Part::End(ChatEnd {
            text: whole.collect::<Vec<_>>().join("\n\n"),
            reason: match ending.finish {
                FinishReason::Done => "stop",
                FinishReason::Length => "length",
                FinishReason::Filtered => "content_filter",
            },
            usage: Some(ChatUsageBody::new(&ending.spent.usage)),
        }));
        parts
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

    /// Ends the answer before the run ends: with the open requests, or with the way to go on. The run's id leads a
    /// history without a session back to the run.
    fn end_early(&mut self) -> Vec<Part> {
        let requests = self.requests.describe(self.language);
        let (reason, words) = match requests {
            Some(words) => ("stop", words),
            None => ("length", Wording::StillWorking.text(self.language).to_owned()),
        };
        let links = self.requests.links().collect::<Vec<_>>().join("\n");
        let links = if links.is_empty() { links } else { format!("\n\n{links}") };
        let words = format!("{words}{links}\n\n`{}`", self.run);
        self.needs_break |= self.shows_open_text;
        let open = self.open_message.as_ref().map(|(_, open)| open.text_of(TextKind::Text));
        let newest = open.filter(|text| !text.is_empty()).unwrap_or(&self.newest_text);
        let whole = [newest, &words].into_iter().filter(|part| !part.is_empty());
        let text = whole.collect::<Vec<_>>().join("\n\n");
        vec![self.content(&words), Part::End(ChatEnd { text, reason, usage: None })]
    }

    fn encode(&self, parts: Vec<Part>) -> Vec<Frame> {
        let answer =
            Answer { run: &self.run, model: &self.options.model, created_s: self.created_s };
        parts.into_iter().flat_map(|part| answer.encode(part, self.options.form)).collect()
    }
}

impl Projection for ChatCompletions {
    fn project_entry(&mut self, entry: &Entry) -> Vec<Frame> {
        let parts = self.apply_entry(entry);
        self.encode(parts)
    }

    fn project_preview(&mut self, preview: &Preview) -> Vec<Frame> {
        let parts = self.apply_preview(preview);
        self.encode(parts)
    }

    fn heartbeat(&self) -> Frame {
        match self.options.form {
            ChatForm::Stream { .. } => Frame::Comment("heartbeat"),
            // White space before a document is part of no value.
            ChatForm::Document => Frame::Raw(" ".to_owned()),
        }
    }

    fn hand_over(&mut self, _: Option<&Cursor>, _: i64) -> Vec<Frame> {
        let parts = self.end_early();
        self.encode(parts)
    }

    fn resume(&mut self) {}

    /// A late client begins a new answer.
    fn begin_late(&mut self, _: i64) -> Vec<Frame> {
        self.needs_break = false;
        self.encode(vec![Part::Content(String::new())])
    }

    fn has_large_frames(&self) -> bool {
        true
    }

    fn can_resume(&self) -> bool {
        false
    }
}
