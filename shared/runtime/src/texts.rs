//! The list of all texts that people tell and models write. Bounds, the deny list, the deployment's checker
//! and masking go by it.
//!
//! Every type is taken apart without `..`: a new member does not compile until somebody says here whether it
//! is a text. What is none says why.

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

/// Bytes of a question.
pub const MAX_QUESTION: usize = 64 * 1024;

/// Characters of a question's own instructions.
pub const MAX_BASE_PROMPT: usize = 20_000;

/// Bytes of a comment.
pub const MAX_COMMENT: usize = 4 * 1024;

/// Bytes of all that stands in changed arguments: as many as a model may write.
pub const MAX_PARAMETERS: usize = 1024 * 1024;

/// Characters of a session's title.
pub const MAX_TITLE: usize = 200;

/// Characters of a file's description.
pub const MAX_DESCRIPTION: usize = 1_500;

/// Characters of a result that are kept at all.
const MAX_RESULT: usize = 10_000_000;

/// Characters of a failure, and of whatever else is no result.
const MAX_FAILURE: usize = 10_000;

/// The member that holds a question.
pub const QUESTION: &str = "question";

/// The member that holds the files of a question.
pub const ATTACHMENTS: &str = "attachments";

/// A text, and where it stands.
pub struct ContentText<'a> {
    /// The member of the request or the reply.
    pub field: &'static str,
    slot: TextSlot<'a>,
    bound: TextBound,
}

/// What may become of a text.
enum TextSlot<'a> {
    /// Another may stand in its place.
    Words(&'a mut String),
    /// It names something, and passes as it is or not at all.
    Name(&'a str),
}

/// How long a text may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextBound {
    Bytes(usize),
    Characters(usize),
    /// Bytes of all texts of its field.
    TotalBytes(usize),
    /// A reply has at most 8 MB, its arguments 1 MB each: they are cut where they are read.
    Unbounded,
}

/// What is told or written, with all of its texts.
pub trait HasTexts {
    /// Its texts, the empty ones left out.
    fn texts(&mut self) -> Vec<ContentText<'_>>;
}

impl<'a> ContentText<'a> {
    fn from_words(field: &'static str, words: &'a mut String, most: TextBound) -> Self {
        Self { field, slot: TextSlot::Words(words), bound: most }
    }

    fn from_name(field: &'static str, name: &'a str, most: TextBound) -> Self {
        Self { field, slot: TextSlot::Name(name), bound: most }
    }

    /// The text, or the name, as it stands now.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.slot {
            TextSlot::Words(words) => words,
            TextSlot::Name(name) => name,
        }
    }

    /// Whether this may stand in its place.
    #[must_use]
    pub fn can_become(&self, other: &str) -> bool {
        match &self.slot {
            TextSlot::Words(_) => true,
            TextSlot::Name(name) => *name == other,
        }
    }

    /// Puts another in its place, if it may have one.
    pub fn replace_with(self, with: String) {
        match self.slot {
            TextSlot::Words(words) => *words = with,
            TextSlot::Name(_) => {}
        }
    }

    /// What is kept of a text that may be as long as a tool likes: no more than its bound, and none of the
    /// control characters that break terminals and providers.
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

/// Whether every text that came in keeps its bound. This is found out before any is looked through.
///
/// # Errors
/// `too_long`, of a question `query_too_long`, about the member.
pub fn check_bounds(told: &mut (impl HasTexts + ?Sized)) -> Result<(), Failure> {
    let mut together: BTreeMap<&str, usize> = BTreeMap::new();
    for text in told.texts() {
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
            // Compared with what is asked, and never kept if it differs.
            digest: _,
            via: _,
        } = self;
        let mut texts = match answer {
            HumanResponse::Modify { arguments } => {
                member_texts("parameters", arguments, TextBound::TotalBytes(MAX_PARAMETERS))
            }
            HumanResponse::Say { text: words } => vec![ContentText::from_words(
                "feedback",
                words,
                TextBound::Bytes(MAX_RESPONSE_BYTES),
            )],
            HumanResponse::Confirm | HumanResponse::Skip | HumanResponse::Stop => Vec::new(),
        };
        texts.push(ContentText::from_words("comment", comment, TextBound::Bytes(MAX_COMMENT)));
        without_empty(texts)
    }
}

/// A file that a person adds or announces. Its content is for the tools, whose results are framed as what
/// others wrote; what a model makes of it is looked at where that goes out.
impl HasTexts for NewFile {
    fn texts(&mut self) -> Vec<ContentText<'_>> {
        let Self { name, description, internal: _, media_type: _, uploaded: _, writer: _ } = self;
        without_empty([
            // At most 255 bytes.
            ContentText::from_name("fileName", name.as_str(), TextBound::Bytes(255)),
            ContentText::from_words(
                "description",
                description,
                TextBound::Characters(MAX_DESCRIPTION),
            ),
        ])
    }
}

/// What a person calls a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionTitle {
    /// The title as its owner wrote it.
    pub title: String,
}

impl HasTexts for SessionTitle {
    fn texts(&mut self) -> Vec<ContentText<'_>> {
        let Self { title } = self;
        without_empty([ContentText::from_words("title", title, TextBound::Characters(MAX_TITLE))])
    }
}

/// The texts of a reply: what it says, and what each of its calls does.
pub struct ReplyTexts<'a> {
    /// The texts of the message itself: what it says, and its thoughts.
    pub message: Vec<ContentText<'a>>,
    /// Titles and steps of plans, names, descriptions and contents of files, questions to people: whatever a
    /// model has tools do stands in the arguments of its calls.
    pub calls: Vec<Vec<ContentText<'a>>>,
}

/// The texts of a reply.
pub fn reply_texts(reply: &mut Reply) -> ReplyTexts<'_> {
    let Reply { text, reasoning, calls, finish: _, usage: _ } = reply;
    let mut of_reply = vec![ContentText::from_words("text", text, TextBound::Unbounded)];
    if let Some(reasoning) = reasoning {
        // What goes back to its model alone.
        let Reasoning { text, signature: _, original: _ } = reasoning;
        of_reply.push(ContentText::from_words("reasoning", text, TextBound::Unbounded));
    }
    let calls = calls.iter_mut().map(|call| {
        let RequestedCall { tool, arguments } = call;
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

/// What a stopped reply said until then.
impl HasTexts for PartialMessage {
    fn texts(&mut self) -> Vec<ContentText<'_>> {
        let Self { message: _, text } = self;
        without_empty([ContentText::from_words("text", text, TextBound::Unbounded)])
    }
}

/// How a model failed: its provider may quote it. Cut where it is read.
impl HasTexts for ModelError {
    fn texts(&mut self) -> Vec<ContentText<'_>> {
        let Self { kind: _, detail, retry_after: _, usage: _ } = self;
        without_empty([ContentText::from_words("detail", detail, TextBound::Unbounded)])
    }
}

/// What a tool brought of the world. It is cut and masked, and passes neither the deny list nor the checker:
/// what a model makes of it does.
impl HasTexts for Result<ToolOutput, ToolError> {
    fn texts(&mut self) -> Vec<ContentText<'_>> {
        match self {
            Ok(observation) => {
                // Files' names and descriptions were looked at where somebody gave them, and a plan where the
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
            Err(ToolError::Interrupted(Interrupt { code, message })) => {
                let most = TextBound::Characters(MAX_INTERRUPT_BYTES);
                without_empty([
                    ContentText::from_words("code", code, most),
                    ContentText::from_words("message", message, most),
                ])
            }
        }
    }
}

/// What a tool says while it works. It is masked like its result and passes the deny list on its way: no
/// model makes anything of it.
impl HasTexts for CallProgress {
    fn texts(&mut self) -> Vec<ContentText<'_>> {
        // Labels and numbers, but for its text.
        let Self { path: _, call: _, began_at_ms: _, offset: _, text, is_cut: _, at_ms: _ } = self;
        without_empty([ContentText::from_words("text", text, TextBound::Bytes(MAX_PROGRESS))])
    }
}

fn without_empty<'a>(texts: impl IntoIterator<Item = ContentText<'a>>) -> Vec<ContentText<'a>> {
    texts.into_iter().filter(|text| !text.as_str().is_empty()).collect()
}

/// A call that is not let through: it stays without its arguments, and says why. A name that no tool has may
/// say anything.
pub(crate) fn refuse_call(call: &mut RequestedCall, why: &Failure, is_known: bool) {
    let problem = djinn_core::tool::ArgumentProblem::Refused;
    call.arguments =
        ToolArguments::Malformed { raw: truncate_text(&why.detail, MAX_FAILURE), problem };
    if !is_known {
        "refused".clone_into(&mut call.tool);
    }
}
