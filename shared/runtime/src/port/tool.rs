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
use djinn_core::time_zone::TimeZone;
use djinn_core::tool::{ToolFailure, ToolOutput, ToolSpec, ToolState};
use djinn_text::masking::mask_pii;
use serde_json::{Map, Value};
pub use source::{ToolAudience, ToolSource, ToolSourceError};
pub use toolbox::{AvailableTools, OfferedAgents, RESERVED_NAMES, Toolbox};

use super::SessionKey;
use super::tool_progress::ToolProgress;

/// The maximum size of a text that is masked on the async thread, in bytes.
const MAX_INLINE_MASK: usize = 256 * 1024;

/// A boxed future for a `dyn` trait.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The context of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolContext {
    /// The user's run at the root of the call's tree.
    pub run: RunId,
    /// The path from the root to the run that makes the call.
    pub path: Path,
    /// The session whose files the tool may use.
    pub session: SessionKey,
    /// The user of the run and writer of its files; a guest in a shared session.
    pub user: UserId,
    /// The names of the run's known files.
    pub files: Vec<FileName>,
    /// The id of the call, which with the run forms the idempotency key.
    pub call: CallId,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The number of earlier interrupts of the call.
    pub interrupts: u32,
    /// The language of texts for the model.
    pub language: Language,
    /// The time zone of times in tables.
    pub time_zone: TimeZone,
    /// The number of characters of the result that the model will see.
    pub max_observe: u32,
    /// The model's maximum input in tokens; 0 if no model is configured.
    pub max_input_tokens: u64,
    /// The state that the tool, or the tool in [`Tool::state_owner`], stored with its newest completed call of
    /// this run, or that another tool stored for it since. Calls of the same turn do not see each other's state.
    pub state: Option<ToolState>,
    /// True if personal data in the result is masked.
    pub mask_pii: bool,
    /// The receiver of the tool's progress.
    pub progress: ToolProgress,
}

impl ToolContext {
    /// Masks a foreign text for this run. A tool that returns parts of a text must mask before cutting; the
    /// caller masks every result as a whole. A long text is masked on a blocking thread.
    pub async fn mask_text(&self, text: String) -> String {
        if !self.mask_pii {
            return text;
        }
        if text.len() <= MAX_INLINE_MASK {
            return mask_pii(&text).into_owned();
        }
        // A text that could not be masked is not shown.
        let outcome = tokio::task::spawn_blocking(move || mask_pii(&text).into_owned()).await;
        outcome.unwrap_or_default()
    }

    /// Returns the key by which a receiver recognises a repeat of this call.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        let round =
            if self.interrupts == 0 { String::new() } else { format!(".{}", self.interrupts) };
        format!("{}.{}{round}", self.run, self.call.clone().below(&self.path))
    }
}

/// The error of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolError {
    /// The model receives the error, and the run continues.
    Failed {
        /// The kind of failure, for journals and viewers.
        reason: ToolFailure,
        /// The text for the model: rendered from `prompts/`, or the failed service's own words.
        detail: String,
    },
    /// Nothing was done, and a user can remove the cause: the call waits for the user and is then repeated
    /// under another idempotency key.
    Interrupted(Interrupt),
}

impl ToolError {
    /// Creates the error of a tool that ran and reports a failure.
    #[must_use]
    pub fn from_detail(detail: impl Into<String>) -> Self {
        Self::Failed { reason: ToolFailure::Error, detail: detail.into() }
    }
}

/// A tool. The arguments are validated against the schema before a call.
pub trait Tool: Send + Sync {
    /// Returns the description for the model.
    fn spec(&self, language: Language) -> ToolSpec;

    /// Returns the name, the same in every language.
    fn name(&self) -> String {
        self.spec(Language::En).name
    }

    /// Runs the tool once, with valid arguments.
    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;

    /// Checks the arguments.
    ///
    /// # Errors
    /// Returns the problem as a sentence if the arguments are invalid.
    fn check_arguments(&self, arguments: &Map<String, Value>) -> Result<(), String>;

    /// Returns the agent's spec if the tool is an agent: the call then starts a run one level down.
    fn agent(&self, language: Language) -> Option<AgentSpec> {
        let _ = language;
        None
    }

    /// Returns true if the tool is offered only to agents whose files name it.
    fn is_for_agents_only(&self) -> bool {
        false
    }

    /// Returns true if the tool may be offered to this agent, or with `None` to a run without an agent.
    fn is_offered_to(&self, agent: Option<&str>) -> bool {
        let _ = agent;
        true
    }

    /// Returns the name of the tool whose state the calls receive; `None` for the tool's own state.
    fn state_owner(&self) -> Option<String> {
        None
    }

    /// Returns true if the tool is an agent that users can start.
    fn is_mode(&self) -> bool {
        false
    }

    /// Returns true if the tool is a workflow, which only users can start.
    fn is_workflow(&self) -> bool {
        false
    }
}

/// A shared tool is a tool.
impl<T: Tool + ?Sized> Tool for Arc<T> {
    fn spec(&self, language: Language) -> ToolSpec {
        (**self).spec(language)
    }

    fn name(&self) -> String {
        (**self).name()
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

    fn is_offered_to(&self, agent: Option<&str>) -> bool {
        (**self).is_offered_to(agent)
    }

    fn state_owner(&self) -> Option<String> {
        (**self).state_owner()
    }

    fn is_mode(&self) -> bool {
        (**self).is_mode()
    }

    fn is_workflow(&self) -> bool {
        (**self).is_workflow()
    }
}
