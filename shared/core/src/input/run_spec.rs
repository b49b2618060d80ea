//! The first thing a run is told.

use djinn_text::file_names::find_text_files;
use serde::{Deserialize, Serialize};

use super::ChildSpec;
use crate::agent::{AgentContext, AgentSpec, FILE_NAME_ARGUMENT, TASK_ARGUMENT};
use crate::budget::MAX_PLACES;
use crate::conversation::{CompactedContext, Exchange};
use crate::file::{Attachment, ProductFile};
use crate::id::{MAX_DEPTH, Path, RequestId, SessionId, SessionName, TenantId, UserId};
use crate::session::SharedSession;
use crate::settings::{Mode, OutputStyle, Role, RunSettings};

/// The question and everything that decides how it is worked on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    /// Whose run it is.
    pub tenant: TenantId,
    /// The user who asked; not the owner of a session that is shared with them.
    pub user: UserId,
    /// The conversation it belongs to, by its owner's label.
    pub session: SessionId,
    /// How that is shared with who asked, if it is somebody else's (default none, as in old records).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<SharedSession>,
    /// The client's label for it.
    pub request: RequestId,
    /// SHA-256 of what was asked, to tell a repeat from a reused request id.
    pub body_hash: String,
    /// The question as the user asked it; a task is given its run's.
    pub question: String,
    /// The form the answer should take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_style: Option<OutputStyle>,
    /// Members of the request that have no effect, by their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    /// What is wrong with texts of the deployment, in a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Instructions of the deployment or the client, put into the system prompt.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base_prompt: String,
    /// The session's newest questions and answers, oldest first. The older half is summed up where they are
    /// [`MAX_HISTORY`](crate::conversation::MAX_HISTORY) or more.
    #[serde(default)]
    pub history: Vec<Exchange>,
    /// Tokens of that history; 0 in old records.
    #[serde(default)]
    pub history_tokens: u64,
    /// The summary of everything before the history, by an earlier run of the session or by the run that this is a task of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<CompactedContext>,
    /// The session's files, oldest first.
    #[serde(default)]
    pub files: Vec<ProductFile>,
    /// The files among them that came with the question, in its order. At most 100, and 20 images.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// What holds until the run ends.
    pub settings: RunSettings,
    /// The step that this is about, when it is a task and no run of a user's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<ChildSpec>,
}

impl RunSpec {
    /// Whose session it is asked in.
    #[must_use]
    pub fn owner(&self) -> &UserId {
        SharedSession::owner_of(self.shared.as_ref(), &self.user)
    }

    /// The agent that works on it, if one was named.
    #[must_use]
    pub fn agent(&self) -> Option<&AgentSpec> {
        self.child.as_ref()?.agent.as_deref()
    }

    /// How it is worked on: a task, which names no agent, by thinking and acting, and so is an agent at the
    /// lowest level, whose plan could have no tasks.
    #[must_use]
    pub fn work_mode(&self) -> Mode {
        match (&self.child, self.agent()) {
            (None, _) => self.settings.mode,
            (Some(_), Some(agent)) if self.path().depth() < MAX_DEPTH => agent.mode,
            (Some(_), _) => Mode::React,
        }
    }

    /// Whose model thinks and acts in it. A plan is made by the planner's.
    #[must_use]
    pub fn working_role(&self) -> Role {
        match (&self.child, self.agent()) {
            (_, Some(agent)) => agent.model,
            (Some(_), None) => Role::Executor,
            (None, None) => Role::React,
        }
    }

    /// Characters of a tool's result that its agent is shown.
    #[must_use]
    pub fn max_result_chars(&self) -> u32 {
        let own = self.agent().and_then(|agent| agent.max_result_chars);
        own.unwrap_or(self.settings.max_result_chars)
    }

    /// How many runs below it may have invocations of their own.
    #[must_use]
    pub fn places(&self) -> u32 {
        self.child.as_ref().map_or(MAX_PLACES, |child| child.places)
    }

    /// The same for this agent: what its file says holds until it ends.
    #[must_use]
    pub fn with_agent(mut self, agent: AgentSpec) -> Self {
        let budget = &mut self.settings.budget;
        budget.steps = budget.steps.min(agent.max_steps);
        if agent.context != AgentContext::Conversation {
            (self.history, self.history_tokens, self.earlier) = (Vec::new(), 0, None);
            self.attachments = Vec::new();
        }
        if let Some(child) = &mut self.child {
            // Its plan, if it makes one, is about what it is called for.
            let task = child.arguments.get(TASK_ARGUMENT).and_then(|task| task.as_str());
            if let (Mode::PlanSolve, Some(task)) = (agent.mode, task) {
                self.question = task.to_owned();
            }
            // A step of a plan has no arguments, and its agent's instructions may name the file.
            if agent.writes_answer() && !child.arguments.contains_key(FILE_NAME_ARGUMENT) {
                let name = choose_file_name(child, &agent, &self.files);
                child.arguments.insert(FILE_NAME_ARGUMENT.to_owned(), name.into());
            }
            child.agent = Some(Box::new(agent));
        }
        self
    }

    /// The way to it from the root of its tree.
    #[must_use]
    pub fn path(&self) -> Path {
        self.child.as_ref().map(ChildSpec::path).unwrap_or_default()
    }

    /// The session as who asked names it.
    #[must_use]
    pub fn session_name(&self) -> SessionName {
        SharedSession::name_of(self.shared.as_ref(), &self.session)
    }
}

/// The last file that a child's words name and the session does not have, or a name that no other run would
/// choose.
fn choose_file_name(child: &ChildSpec, agent: &AgentSpec, files: &[ProductFile]) -> String {
    let is_new = |name: &&str| files.iter().all(|file| file.name.as_str() != *name);
    let named = find_text_files(&child.description).into_iter().rev().find(is_new);
    named.map_or_else(|| format!("{}-{}.md", agent.name, child.path()), str::to_owned)
}
