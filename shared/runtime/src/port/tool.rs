//! Tools, and the toolbox that offers them.

mod source;
mod source_cache;
mod toolbox;

use std::pin::Pin;
use std::sync::Arc;

use djinn_core::agent::AgentSpec;
use djinn_core::human::Interrupt;
use djinn_core::id::{CallId, FileName, Path, RunId, UserId};
use djinn_core::language::Language;
use djinn_core::tool::{ToolFailure, ToolOutput, ToolSpec, ToolState};
use djinn_text::masking::mask_pii;
use serde_json::{Map, Value};
pub use source::{ToolAudience, ToolSource, ToolSourceError};
pub use toolbox::{AvailableTools, OfferedAgents, RESERVED_NAMES, Toolbox};

use super::SessionKey;
use super::tool_progress::ToolProgress;

/// Bytes of a text that are masked while others wait.
const MAX_INLINE_MASK: usize = 256 * 1024;

/// A future of a `dyn` trait.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Whose call it is.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolContext {
    /// The run of a user's that the call is for.
    pub run: RunId,
    /// The way from there to the run that makes the call.
    pub path: Path,
    /// The session whose files it may touch.
    pub session: SessionKey,
    /// The user whose run it is, the writer of its files: a guest where the session is shared with them.
    pub user: UserId,
    /// The names of the files the run knows of.
    pub files: Vec<FileName>,
    /// The call. With the run it is the idempotency key.
    pub call: CallId,
    /// Which attempt at the call this is, from 1.
    pub attempt: u32,
    /// How often it was interrupted before.
    pub interrupts: u32,
    /// The language of what it says to the model.
    pub language: Language,
    /// Characters of its text that the model will see.
    pub max_observe: u32,
    /// Tokens of input that this model takes; 0 where none is configured.
    pub max_input_tokens: u64,
    /// What a tool of this run's kept with its newest call, for itself or for those that it works with.
    pub state: Option<ToolState>,
    /// Whether what identifies a person is masked in what it answers.
    pub mask_pii: bool,
    /// Where it says how far it is while it works.
    pub progress: ToolProgress,
}

impl ToolContext {
    /// A text of the world as this run may see it. A tool that answers with parts of one asks for it
    /// before it cuts; every answer as a whole is masked by whoever called the tool. A long text is masked
    /// apart from what others do meanwhile.
    pub async fn mask_text(&self, text: String) -> String {
        if !self.mask_pii {
            return text;
        }
        if text.len() <= MAX_INLINE_MASK {
            return mask_pii(&text).into_owned();
        }
        // What was not masked is not seen.
        let masked = tokio::task::spawn_blocking(move || mask_pii(&text).into_owned()).await;
        masked.unwrap_or_default()
    }

    /// What a receiver tells a repeat of this call by.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        let round =
            if self.interrupts == 0 { String::new() } else { format!(".{}", self.interrupts) };
        format!("{}.{}{round}", self.run, self.call.clone().below(&self.path))
    }
}

/// Why a tool did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolError {
    /// The model sees it, and the run goes on.
    Failed {
        /// The kind of failure, for journals and viewers.
        reason: ToolFailure,
        /// What the model is told; rendered from `prompts/`, or the words of whoever failed.
        detail: String,
    },
    /// Nothing was done, and it can be once a person has seen to it: the call waits for that and is
    /// made again, under another idempotency key.
    Interrupted(Interrupt),
}

impl ToolError {
    /// The tool ran and reports an error.
    #[must_use]
    pub fn from_detail(detail: impl Into<String>) -> Self {
        Self::Failed { reason: ToolFailure::Error, detail: detail.into() }
    }
}

/// A tool. Its arguments were checked against its schema before.
pub trait Tool: Send + Sync {
    /// What the model is told about it.
    fn spec(&self, language: Language) -> ToolSpec;

    /// Runs the tool once, with arguments that keep its schema.
    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;

    /// What is wrong with these arguments, if anything is.
    fn check_arguments(&self, arguments: &Map<String, Value>) -> Result<(), String>;

    /// The agent that it is, if it is one: then it is not run, but answered by a run one level down.
    fn agent(&self, language: Language) -> Option<AgentSpec> {
        let _ = language;
        None
    }

    /// Whether it is offered only to agents whose files name it.
    fn is_for_agents_only(&self) -> bool {
        false
    }
}

/// A tool that others hold, too.
impl<T: Tool + ?Sized> Tool for Arc<T> {
    fn spec(&self, language: Language) -> ToolSpec {
        (**self).spec(language)
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        (**self).run(context, arguments)
    }

    fn check_arguments(&self, arguments: &Map<String, Value>) -> Result<(), String> {
        (**self).check_arguments(arguments)
    }

    fn agent(&self, language: Language) -> Option<AgentSpec> {
        (**self).agent(language)
    }

    fn is_for_agents_only(&self) -> bool {
        (**self).is_for_agents_only()
    }
}
