//! The list of all texts from users and models. Length limits, the deny list, the deployment's checker and
//! masking use this list.
//!
//! Every type is destructured without `..`: a new field does not compile until it is listed here as a text or
//! not. A comment explains each field that is no text.

mod json;
mod question;

use std::collections::BTreeMap;

use djinn_core::conversation::Reasoning;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::human::{
    HumanResponse, Interrupt, MAX_INTERRUPT_BYTES, MAX_RESPONSE_BYTES, ResponseRecord,
};
use djinn_core::input::{PartialMessage, PlanEdit, Reply, RequestedCall, UserMessage};
use djinn_core::plan::{self, MAX_STEP, StepEdit};
use djinn_core::tool::{ToolArguments, ToolOutput};
use djinn_protocol::call_progress::CallProgress;
use json::member_texts;

use crate::port::file::NewFile;
use crate::port::model::ModelError;
use crate::port::tool::ToolError;
use crate::port::tool_progress::MAX_PROGRESS;
use crate::prompt::truncate_text;

/// The maximum length of a question, in bytes.
pub const MAX_QUESTION: usize = 64 * 1024;

/// The maximum length of a question's own instructions, in characters.
pub const MAX_BASE_PROMPT: usize = 20_000;

/// The maximum length of a comment, in bytes.
pub const MAX_COMMENT: usize = 4 * 1024;

/// The maximum size of changed arguments in bytes, as for a model's arguments.
pub const MAX_PARAMETERS: usize = 1024 * 1024;

/// The maximum length of a session's title, in characters.
pub const MAX_TITLE: usize = 200;

/// The maximum length of a file's description, in characters.
pub const MAX_DESCRIPTION: usize = 1_500;

/// The maximum length of a stored result, in characters.
const MAX_RESULT: usize = 10_000_000;

/// The maximum length of a failure or of other text beside results, in characters.
const MAX_FAILURE: usize = 10_000;

/// The maximum length of a text in a history that comes with a question, in bytes.
pub const MAX_HISTORY_TEXT: usize = 1_000_000;

/// The history that comes with a question.
pub const HISTORY: &str = "history";

/// The field that holds a question.
pub const QUESTION: &str = "question";

/// The field that holds the arguments of a question's mode.
pub const ARGUMENTS: &str = "arguments";

/// The maximum length of all arguments of a question's mode, in bytes.
pub const MAX_ARGUMENTS: usize = 64 * 1024;

/// The field that holds the files of a question.
pub const ATTACHMENTS: &str = "attachments";

/// A text and its field.
pub struct ContentText<'a> {
    /// The field of the request or the reply.
    pub field: &'static str,
    slot: TextSlot<'a>,
    bound: TextBound,
}

/// The slot of a text: replaceable or not.
enum TextSlot<'a> {
    /// A text that a replacement can change.
    Words(&'a mut String),
    /// A name, which is accepted unchanged or not at all.
    Name(&'a str),
}

/// The maximum length of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextBound {
    Bytes(usize),
    Characters(usize),
    /// The bytes of all texts of the field together.
    TotalBytes(usize),
    /// No limit here: the reader of a reply cuts it at 8 MB, and its arguments at 1 MB each.
    Unbounded,
}

/// Input or output with a list of all of its texts.
pub trait HasTexts {
    /// Returns the texts that are not empty.
    fn texts(&mut self) -> Vec<ContentText<'_>>;
}

impl<'a> ContentText<'a> {
    fn from_words(field: &'static str, words: &'a mut String, most: TextBound) -> Self {
        Self { field, slot: TextSlot::Words(words), bound: most }
    }

    fn from_name(field: &'static str, name: &'a str, most: TextBound) -> Self {
        Self { field, slot: TextSlot::Name(name), bound: most }
    }

    /// Returns the current text or name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.slot {
            TextSlot::Words(words) => words,
            TextSlot::Name(name) => name,
        }
    }

    /// Returns true if `other` may replace this text.
    #[must_use]
    pub fn can_become(&self, other: &str) -> bool {
        match &self.slot {
            TextSlot::Words(_) => true,
            TextSlot::Name(name) => *name == other,
        }
    }

    /// Replaces the text; a name stays unchanged.
    pub fn replace_with(self, with: String) {
        match self.slot {
            TextSlot::Words(words) => *words = with,
            TextSlot::Name(_) => {}
        }
    }

    /// Returns a readable copy of a tool's text: cut to its limit, without the control characters that break
    /// terminals and providers.
    pub(crate) fn to_readable(&self) -> String {
        let most = match self.bound {
            TextBound::Bytes(most) | TextBound::Characters(most) | TextBound::TotalBytes(most) => {
                most
            }
            TextBound::Unbounded => usize::MAX,
        };
        let is_readable = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
        self.as_str().chars().filter(is_readable).take(most).collect()
    }
}

/// Checks the length of every incoming text, before any check of the content.
///
/// # Errors
/// Returns `too_long`, or `query_too_long` for a question, with the name of the field.
pub fn check_bounds(input: &mut (impl HasTexts + ?Sized)) -> Result<(), Failure> {
    let mut together: BTreeMap<&str, usize> = BTreeMap::new();
    for text in input.texts() {
        let bytes = text.as_str().len();
        let bound = match text.bound {
            TextBound::Bytes(most) => (bytes > most).then(|| format!("{most} bytes")),
            TextBound::Characters(most) => {
                let is_long = bytes > most && text.as_str().chars().count() > most;
                is_long.then(|| format!("{most} characters"))
            }
            TextBound::TotalBytes(most) => {
                let all = together.entry(text.field).or_default();
                *all = all.saturating_add(bytes);
                (*all > most).then(|| format!("{most} bytes"))
            }
            TextBound::Unbounded => None,
        };
        match bound {
            None => {}
            Some(_) if text.field == QUESTION => {
                let failure = Failure::new(ErrorCode::QueryTooLong, MAX_QUESTION.to_string());
                return Err(failure.with_field(text.field));
            }
            Some(bound) => {
                let detail = format!("`{}`, at most {bound}", text.field);
                return Err(Failure::new(ErrorCode::TooLong, detail).with_field(text.field));
            }
        }
    }
    Ok(())
}

impl HasTexts for UserMessage {
    fn texts(&mut self) -> Vec<ContentText<'_>> {
        let Self { id: _, by: _, text } = self;
        without_empty([ContentText::from_words("text", text, TextBound::Bytes(MAX_RESPONSE_BYTES))])
    }
}

impl HasTexts for PlanEdit {
    fn texts(&mut self) -> Vec<ContentText<'_>> {
        let Self { id: _, by: _, version: _, title, steps } = self;
        let steps = steps.iter_mut().flat_map(|step| {
            let StepEdit { id: _, stage, details, depends_on: _, agent: _ } = step;
            [stage, details]
                .map(|words| ContentText::from_words("steps", words, TextBound::Bytes(MAX_STEP)))
        });
        without_empty(
            [ContentText::from_words("title", title, TextBound::Bytes(plan::MAX_TITLE))]
                .into_iter()
                .chain(steps),
        )
    }
}

impl HasTexts for ResponseRecord {
    fn texts(&mut self) -> Vec<ContentText<'_>> {
        let Self {
            request: _,
            id: _,
            by: _,
            answer,
            comment,
            // Only compared with the request's digest; never stored if different.
            digest: _,
            via: _,
        } = self;
        let mut texts = match answer {
            HumanResponse::Modify { arguments } => {
                member_texts("parameters", arguments, TextBound::TotalBytes(MAX_PARAMETERS))
            }
            HumanResponse::Say { text: words } => vec![ContentText::from_words(
                "response",
                words,
                TextBound::Bytes(MAX_RESPONSE_BYTES),
            )],
            HumanResponse::Confirm | HumanResponse::Skip | HumanResponse::Stop => Vec::new(),
        };
        texts.push(ContentText::from_words("comment", comment, TextBound::Bytes(MAX_COMMENT)));
        without_empty(texts)
    }
}

/// A file that a user adds or announces. Tools read the content, and their results are framed as foreign
/// text; a model's text about it is checked where it is sent out.
impl HasTexts for NewFile {
    fn texts(&mut self) -> Vec<ContentText<'_>> {
        let Self { name, description, internal: _, media_type: _, uploaded: _, writer: _ } = self;
        without_empty([
            // At most 255 bytes.
            ContentText::from_name("name", name.as_str(), TextBound::Bytes(255)),
            ContentText::from_words(
                "description",
                description,
                TextBound::Characters(MAX_DESCRIPTION),
            ),
        ])
    }
}

/// The title that a user gives a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionTitle {
    /// The title as the owner wrote it.
    pub title: String,
}

impl HasTexts for SessionTitle {
    fn texts(&mut self) -> Vec<ContentText<'_>> {
        let Self { title } = self;
        without_empty([ContentText::from_words("title", title, TextBound::Characters(MAX_TITLE))])
    }
}

/// The texts of a reply: its words, and the arguments of each call.
pub struct ReplyTexts<'a> {
    /// The texts of the message itself: words and reasoning.
    pub message: Vec<ContentText<'a>>,
    /// The texts of each call's arguments. Titles and steps of plans, names, descriptions and contents of
    /// files, and questions to users are all arguments of calls.
    pub calls: Vec<Vec<ContentText<'a>>>,
}

/// Returns the texts of a reply.
pub fn reply_texts(reply: &mut Reply) -> ReplyTexts<'_> {
    let Reply { text, reasoning, calls, finish: _, usage: _ } = reply;
    let mut of_reply = vec![ContentText::from_words("text", text, TextBound::Unbounded)];
    if let Some(reasoning) = reasoning {
        // Only returned to the model that wrote them.
        let Reasoning { text, signature: _, original: _ } = reasoning;
        of_reply.push(ContentText::from_words("reasoning", text, TextBound::Unbounded));
    }
    let calls = calls.iter_mut().map(|call| {
        let RequestedCall { tool, arguments, model: _ } = call;
        let arguments = match arguments {
            ToolArguments::Parsed(arguments) => {
                member_texts("arguments", arguments, TextBound::Unbounded)
            }
            ToolArguments::Malformed { raw, problem: _ } => {
                vec![ContentText::from_words("arguments", raw, TextBound::Unbounded)]
            }
        };
        without_empty(
            [ContentText::from_name("tool", tool, TextBound::Unbounded)]
                .into_iter()
                .chain(arguments),
        )
    });
    ReplyTexts { calls: calls.collect(), message: without_empty(of_reply) }
}

/// The text of a stopped reply so far.
impl HasTexts for PartialMessage {
    fn texts(&mut self) -> Vec<ContentText<'_>> {
        let Self { message: _, text } = self;
        without_empty([ContentText::from_words("text", text, TextBound::Unbounded)])
    }
}

/// A model's failure, which may quote its provider. The text is cut where it is read.
impl HasTexts for ModelError {
    fn texts(&mut self) -> Vec<ContentText<'_>> {
        let Self { kind: _, detail, retry_after: _, usage: _ } = self;
        without_empty([ContentText::from_words("detail", detail, TextBound::Unbounded)])
    }
}

/// A tool's foreign text. Cut and masked, but exempt from the deny list and the checker: the model's text
/// about it is checked.
impl HasTexts for Result<ToolOutput, ToolError> {
    fn texts(&mut self) -> Vec<ContentText<'_>> {
        match self {
            Ok(observation) => {
                // Names and descriptions of files were checked when they were given, and a plan when the
                // planner wrote it.
                let ToolOutput {
                    text,
                    full_output: _,
                    view: _,
                    files: _,
                    images: _,
                    state: _,
                    known_urls: _,
                } = observation;
                without_empty([ContentText::from_words(
                    "text",
                    text,
                    TextBound::Characters(MAX_RESULT),
                )])
            }
            Err(ToolError::Failed { reason: _, detail }) => {
                without_empty([ContentText::from_words(
                    "detail",
                    detail,
                    TextBound::Characters(MAX_FAILURE),
                )])
            }
            // The operator's file names the key.
            Err(ToolError::Interrupted(Interrupt { code, message, key: _ })) => {
                let most = TextBound::Characters(MAX_INTERRUPT_BYTES);
                without_empty([
                    ContentText::from_words("code", code, most),
                    ContentText::from_words("message", message, most),
                ])
            }
        }
    }
}

/// A tool's progress. Masked like its result, and checked against the deny list on its way: no model reads it.
impl HasTexts for CallProgress {
    fn texts(&mut self) -> Vec<ContentText<'_>> {
        // Labels and numbers, except for the text.
        let Self { path: _, call: _, began_at_ms: _, offset: _, text, is_cut: _, at_ms: _ } = self;
        without_empty([ContentText::from_words("text", text, TextBound::Bytes(MAX_PROGRESS))])
    }
}

fn without_empty<'a>(texts: impl IntoIterator<Item = ContentText<'a>>) -> Vec<ContentText<'a>> {
    texts.into_iter().filter(|text| !text.as_str().is_empty()).collect()
}

/// Rejects a call: replaces the arguments by the reason. The name of an unknown tool may contain anything, so
/// it is replaced too.
pub(crate) fn refuse_call(call: &mut RequestedCall, why: &Failure, is_known: bool) {
    let problem = djinn_core::tool::ArgumentProblem::Refused;
    call.arguments =
        ToolArguments::Malformed { raw: truncate_text(&why.detail, MAX_FAILURE), problem };
    if !is_known {
        "refused".clone_into(&mut call.tool);
    }
}
