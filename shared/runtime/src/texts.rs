//! The list of all texts that people tell and models write. Bounds, the deny list, the deployment's checker
//! and masking go by it.
//!
//! Every type is taken apart without `..`: a new member does not compile until somebody says here whether it
//! is a text. What is none says why.

use std::collections::BTreeMap;

use djinn_core::code::{ErrorCode, Failure};
use djinn_core::conversation::Reasoning;
use djinn_core::feedback::{Answer, Answered, Interrupt, MAX_INTERRUPT, MAX_WORDS};
use djinn_core::input::{AskedCall, Partial, PlanEdited, Reply, Said};
use djinn_core::plan::{self, MAX_STEP, StepEdit};
use djinn_core::tool::{Arguments, Observation};
use serde_json::{Map, Value};

use crate::port::file::NewFile;
use crate::port::model::ModelError;
use crate::port::tool::ToolFailure;
use crate::prompt::cut;
use crate::serve::Question;

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

/// A text, and where it stands.
pub struct Text<'a> {
    /// The member of the request or the reply.
    pub field: &'static str,
    place: Place<'a>,
    most: Most,
}

/// What may become of a text.
enum Place<'a> {
    /// Another may stand in its place.
    Words(&'a mut String),
    /// It names something, and passes as it is or not at all.
    Name(&'a str),
}

/// How long a text may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Most {
    Bytes(usize),
    Characters(usize),
    /// Bytes of all texts of its field.
    Together(usize),
    /// A reply has at most 8 MB, its arguments 1 MB each: they are cut where they are read.
    Reply,
}

/// What is told or written, with all of its texts.
pub trait Texts {
    /// Its texts, the empty ones left out.
    fn texts(&mut self) -> Vec<Text<'_>>;
}

impl<'a> Text<'a> {
    fn words(field: &'static str, words: &'a mut String, most: Most) -> Self {
        Self { field, place: Place::Words(words), most }
    }

    fn name(field: &'static str, name: &'a str, most: Most) -> Self {
        Self { field, place: Place::Name(name), most }
    }

    /// What it says.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.place {
            Place::Words(words) => words,
            Place::Name(name) => name,
        }
    }

    /// Whether this may stand in its place.
    #[must_use]
    pub fn may_be(&self, other: &str) -> bool {
        match &self.place {
            Place::Words(_) => true,
            Place::Name(name) => *name == other,
        }
    }

    /// Puts another in its place, if it may have one.
    pub fn replace(self, with: String) {
        match self.place {
            Place::Words(words) => *words = with,
            Place::Name(_) => {}
        }
    }

    /// What is kept of a text that may be as long as a tool likes: no more than its bound, and none of the
    /// control characters that break terminals and providers.
    pub(crate) fn readable(&self) -> String {
        let most = match self.most {
            Most::Bytes(most) | Most::Characters(most) | Most::Together(most) => most,
            Most::Reply => usize::MAX,
        };
        let is_readable = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
        self.as_str().chars().filter(is_readable).take(most).collect()
    }
}

/// Whether every text that came in keeps its bound. This is found out before any is looked through.
///
/// # Errors
/// `too_long`, of a question `query_too_long`, about the member.
pub fn bounded(told: &mut (impl Texts + ?Sized)) -> Result<(), Failure> {
    let mut together: BTreeMap<&str, usize> = BTreeMap::new();
    for text in told.texts() {
        let bytes = text.as_str().len();
        let bound = match text.most {
            Most::Bytes(most) => (bytes > most).then(|| format!("{most} bytes")),
            Most::Characters(most) => {
                let is_long = bytes > most && text.as_str().chars().count() > most;
                is_long.then(|| format!("{most} characters"))
            }
            Most::Together(most) => {
                let all = together.entry(text.field).or_default();
                *all = all.saturating_add(bytes);
                (*all > most).then(|| format!("{most} bytes"))
            }
            Most::Reply => None,
        };
        match bound {
            None => {}
            Some(_) if text.field == QUESTION => {
                let failure = Failure::new(ErrorCode::QueryTooLong, MAX_QUESTION.to_string());
                return Err(failure.about(text.field));
            }
            Some(bound) => {
                let detail = format!("`{}`, at most {bound}", text.field);
                return Err(Failure::new(ErrorCode::TooLong, detail).about(text.field));
            }
        }
    }
    Ok(())
}

impl Texts for Question {
    fn texts(&mut self) -> Vec<Text<'_>> {
        let Self {
            // Labels: short, of letters and digits that machines choose, and shown to no model.
            tenant: _,
            user: _,
            session: _,
            shared: _,
            request: _,
            text,
            // Read from the text; what is answered is an `Answered`.
            as_answer: _,
            // One of four.
            output_style: _,
            // The deployment's own.
            house_prompt: _,
            base_prompt,
            // Numbers, and names of tools that are compared and never shown.
            settings: _,
        } = self;
        said([
            Text::words(QUESTION, text, Most::Bytes(MAX_QUESTION)),
            Text::words("base_prompt", base_prompt, Most::Characters(MAX_BASE_PROMPT)),
        ])
    }
}

impl Texts for Said {
    fn texts(&mut self) -> Vec<Text<'_>> {
        let Self { id: _, by: _, text } = self;
        said([Text::words("text", text, Most::Bytes(MAX_WORDS))])
    }
}

impl Texts for PlanEdited {
    fn texts(&mut self) -> Vec<Text<'_>> {
        let Self { id: _, by: _, version: _, title, steps } = self;
        let steps = steps.iter_mut().flat_map(|step| {
            let StepEdit { id: _, stage, details, depends_on: _ } = step;
            [stage, details].map(|words| Text::words("steps", words, Most::Bytes(MAX_STEP)))
        });
        said([Text::words("title", title, Most::Bytes(plan::MAX_TITLE))].into_iter().chain(steps))
    }
}

impl Texts for Answered {
    fn texts(&mut self) -> Vec<Text<'_>> {
        let Self {
            feedback: _,
            id: _,
            by: _,
            answer,
            comment,
            // Compared with what is asked, and never kept if it differs.
            digest: _,
            via: _,
        } = self;
        let mut texts = match answer {
            Answer::Modify { arguments } => {
                members("parameters", arguments, Most::Together(MAX_PARAMETERS))
            }
            Answer::Say { words } => vec![Text::words("feedback", words, Most::Bytes(MAX_WORDS))],
            Answer::Confirm | Answer::Skip | Answer::Stop => Vec::new(),
        };
        texts.push(Text::words("comment", comment, Most::Bytes(MAX_COMMENT)));
        said(texts)
    }
}

/// A file that a person adds or announces. Its content is for the tools, whose results are framed as what
/// others wrote; what a model makes of it is looked at where that goes out.
impl Texts for NewFile {
    fn texts(&mut self) -> Vec<Text<'_>> {
        let Self { name, description, internal: _, media_type: _ } = self;
        said([
            // At most 255 bytes.
            Text::name("fileName", name.as_str(), Most::Bytes(255)),
            Text::words("description", description, Most::Characters(MAX_DESCRIPTION)),
        ])
    }
}

/// What a person calls a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Title {
    /// The title.
    pub title: String,
}

impl Texts for Title {
    fn texts(&mut self) -> Vec<Text<'_>> {
        let Self { title } = self;
        said([Text::words("title", title, Most::Characters(MAX_TITLE))])
    }
}

/// The texts of a reply: what it says, and what each of its calls does.
pub struct OfReply<'a> {
    /// Text and thoughts.
    pub said: Vec<Text<'a>>,
    /// Titles and steps of plans, names, descriptions and contents of files, questions to people: whatever a
    /// model has tools do stands in the arguments of its calls.
    pub calls: Vec<Vec<Text<'a>>>,
}

/// The texts of a reply.
pub fn of_reply(reply: &mut Reply) -> OfReply<'_> {
    let Reply { text, reasoning, calls, finish: _, usage: _ } = reply;
    let mut of_reply = vec![Text::words("text", text, Most::Reply)];
    if let Some(reasoning) = reasoning {
        // What goes back to its model alone.
        let Reasoning { text, signature: _, written: _ } = reasoning;
        of_reply.push(Text::words("reasoning", text, Most::Reply));
    }
    let calls = calls.iter_mut().map(|call| {
        let AskedCall { tool, arguments } = call;
        let arguments = match arguments {
            Arguments::Parsed(arguments) => members("arguments", arguments, Most::Reply),
            Arguments::Malformed { raw, problem: _ } => {
                vec![Text::words("arguments", raw, Most::Reply)]
            }
        };
        said([Text::name("tool", tool, Most::Reply)].into_iter().chain(arguments))
    });
    OfReply { calls: calls.collect(), said: said(of_reply) }
}

/// What a stopped reply said until then.
impl Texts for Partial {
    fn texts(&mut self) -> Vec<Text<'_>> {
        let Self { message: _, text } = self;
        said([Text::words("text", text, Most::Reply)])
    }
}

/// How a model failed: its provider may quote it. Cut where it is read.
impl Texts for ModelError {
    fn texts(&mut self) -> Vec<Text<'_>> {
        let Self { kind: _, detail, retry_after: _, usage: _ } = self;
        said([Text::words("detail", detail, Most::Reply)])
    }
}

/// What a tool brought of the world. It is cut and masked, and passes neither the deny list nor the checker:
/// what a model makes of it does.
impl Texts for Result<Observation, ToolFailure> {
    fn texts(&mut self) -> Vec<Text<'_>> {
        match self {
            Ok(observation) => {
                // Files' names and descriptions were looked at where somebody gave them, and a plan where the
                // planner wrote it.
                let Observation { text, whole: _, shown: _, files: _ } = observation;
                said([Text::words("text", text, Most::Characters(MAX_RESULT))])
            }
            Err(ToolFailure::Failed { reason: _, detail }) => {
                said([Text::words("detail", detail, Most::Characters(MAX_FAILURE))])
            }
            Err(ToolFailure::Interrupted(Interrupt { code, message })) => {
                let most = Most::Characters(MAX_INTERRUPT);
                said([Text::words("code", code, most), Text::words("message", message, most)])
            }
        }
    }
}

/// Names and texts of a JSON object, however deep.
fn members<'a>(field: &'static str, of: &'a mut Map<String, Value>, most: Most) -> Vec<Text<'a>> {
    let mut texts = Vec::new();
    for (name, value) in of {
        texts.push(Text::name(field, name, most));
        texts.extend(value_texts(field, value, most));
    }
    texts
}

fn value_texts<'a>(field: &'static str, value: &'a mut Value, most: Most) -> Vec<Text<'a>> {
    match value {
        Value::String(text) => vec![Text::words(field, text, most)],
        Value::Array(items) => {
            items.iter_mut().flat_map(|item| value_texts(field, item, most)).collect()
        }
        Value::Object(of) => members(field, of, most),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

fn said<'a>(texts: impl IntoIterator<Item = Text<'a>>) -> Vec<Text<'a>> {
    texts.into_iter().filter(|text| !text.as_str().is_empty()).collect()
}

/// A call that is not let through: it stays without its arguments, and says why. A name that no tool has may
/// say anything.
pub(crate) fn refuse(call: &mut AskedCall, why: &Failure, is_known: bool) {
    let problem = djinn_core::tool::ArgumentProblem::Refused;
    call.arguments = Arguments::Malformed { raw: cut(&why.detail, MAX_FAILURE), problem };
    if !is_known {
        "refused".clone_into(&mut call.tool);
    }
}
