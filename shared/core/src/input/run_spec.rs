//! The first input of a run.

use djinn_text::file_names::find_text_files;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{AgentChanged, ChildSpec};
use crate::agent::{AgentContext, AgentSpec, FILE_NAME_ARGUMENT, TASK_ARGUMENT};
use crate::budget::MAX_PLACES;
use crate::conversation::{CompactedContext, Exchange};
use crate::file::{Attachment, ProductFile};
use crate::id::{MAX_DEPTH, Path, RequestId, SessionId, SessionName, TenantId, UserId};
use crate::review::ReviewPolicy;
use crate::session::SharedSession;
use crate::settings::{Machine, OutputStyle, Role, RunSettings};
use crate::tool::list_texts;
use crate::workflow::Workflow;

/// The question and everything that decides how the run works.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct RunSpec {
    /// The tenant of the run.
    pub tenant: TenantId,
    /// The asker; in a shared session, not the owner.
    pub user: UserId,
    /// The session of the run, by its owner's label.
    pub session: SessionId,
    /// The share of the asker, if the session belongs to another user (default none, as in old records).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<SharedSession>,
    /// True if lists of sessions leave the session out, because the client keeps the history itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unlisted: bool,
    /// The client's label for the request.
    pub request: RequestId,
    /// SHA-256 of the request, which distinguishes a repeat from a reused request id.
    pub body_hash: String,
    /// The question as the user wrote it; a task receives the question of its run.
    pub question: String,
    /// The requested form of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_style: Option<OutputStyle>,
    /// The names of request fields without effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    /// Problems of the deployment's texts, in a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Instructions of the deployment or the client, put into the system prompt.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base_prompt: String,
    /// The session's newest questions and answers, oldest first. The older half of
    /// [`MAX_HISTORY`](crate::conversation::MAX_HISTORY) or more exchanges is summed up.
    #[serde(default)]
    pub history: Vec<Exchange>,
    /// Tokens of the history; 0 in old records.
    #[serde(default)]
    pub history_tokens: u64,
    /// The summary of everything before the history, by an earlier run of the session or by a task's parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<CompactedContext>,
    /// The session's files, oldest first.
    #[serde(default)]
    pub files: Vec<ProductFile>,
    /// The files that came with the question, in its order. At most 100, and 20 images.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// The settings, constant until the run ends.
    pub settings: RunSettings,
    /// The agent that works as this run, with the content of its file. `None` for a step without an agent, and
    /// for a user's run in old records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<AgentSpec>>,
    /// The arguments of the agent. A user's run has no `task`, which is the question.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
    /// The first agent's arguments, once another agent has taken the run over with arguments of a model.
    #[serde(skip)]
    pub first_arguments: Option<Map<String, Value>>,
    /// The review of the answers of a user's run, by the request or the agent that the run began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewPolicy>,
    /// The work of a task or agent call; `None` for a user's run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<ChildSpec>,
}

impl Serialize for RunSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for RunSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut spec = Self::deserialize(deserializer)?;
        // In old records, the agent and its arguments are part of the child.
        if let Some(child) = &mut spec.child {
            spec.agent = spec.agent.or(child.old_agent.take());
            spec.arguments.append(&mut child.old_arguments);
        }
        Ok(spec)
    }
}

impl RunSpec {
    /// Creates the spec of a user's question, without instructions, history or files.
    #[must_use]
    pub fn new(
        tenant: TenantId,
        user: UserId,
        session: SessionId,
        request: RequestId,
        question: String,
        settings: RunSettings,
    ) -> Self {
        Self {
            tenant,
            user,
            session,
            shared: None,
            is_unlisted: false,
            request,
            body_hash: String::new(),
            question,
            output_style: None,
            ignored: Vec::new(),
            warnings: Vec::new(),
            base_prompt: String::new(),
            history: Vec::new(),
            history_tokens: 0,
            earlier: None,
            files: Vec::new(),
            attachments: Vec::new(),
            settings,
            agent: None,
            arguments: Map::new(),
            first_arguments: None,
            review: None,
            child: None,
        }
    }

    /// Returns the owner of the session.
    #[must_use]
    pub fn owner(&self) -> &UserId {
        SharedSession::owner_of(self.shared.as_ref(), &self.user)
    }

    /// Returns the named agent of the run, if any.
    #[must_use]
    pub fn agent(&self) -> Option<&AgentSpec> {
        self.agent.as_deref()
    }

    /// Returns the workflow of a user's run, if its agent is a workflow.
    #[must_use]
    pub fn workflow(&self) -> Option<&Workflow> {
        self.agent().filter(|_| self.child.is_none())?.workflow.as_deref()
    }

    /// Returns an argument of the agent. `task` defaults to the description of a child's work, and to the
    /// question of a user's run.
    #[must_use]
    pub fn argument(&self, name: &str) -> Option<Value> {
        let task = || Value::String(self.description().to_owned());
        let argument = self.arguments.get(name).cloned();
        argument.or_else(|| (name == TASK_ARGUMENT).then(task))
    }

    /// Returns the words of the user: the question, and the texts in the arguments of a user's run.
    pub fn user_texts(&self) -> impl Iterator<Item = &str> {
        let arguments = self.first_arguments.as_ref().unwrap_or(&self.arguments).values();
        let arguments = arguments.filter(|_| self.child.is_none());
        [self.question.as_str()].into_iter().chain(arguments.flat_map(list_texts))
    }

    /// Returns the description of a child's work, or the question of a user's run.
    #[must_use]
    pub fn description(&self) -> &str {
        self.child.as_ref().map_or(&self.question, |child| &child.description)
    }

    /// Returns the machine of the run. A step without an agent has the default machine, which needs no steps.
    /// So has an agent at the lowest level, which could have no steps.
    #[must_use]
    pub fn machine(&self) -> Machine {
        match (&self.child, self.agent()) {
            (None, None) => Machine::parse(&self.settings.mode).unwrap_or_default(),
            (_, Some(agent)) if agent.machine.has_workflow() && self.workflow().is_none() => {
                Machine::default()
            }
            (_, Some(agent)) if self.path().depth() < MAX_DEPTH => agent.machine,
            (_, _) => Machine::default(),
        }
    }

    /// Returns the role whose model thinks and acts in the run. The planner's model creates a plan.
    #[must_use]
    pub fn working_role(&self) -> Role {
        match (&self.child, self.agent()) {
            (Some(ChildSpec { model: Some(model), .. }), Some(_)) => *model,
            (_, Some(agent)) => agent.model,
            (Some(_), None) => Role::Executor,
            (None, None) => Role::React,
        }
    }

    /// Returns the maximum number of characters of a tool's result in the model view.
    #[must_use]
    pub fn max_result_chars(&self) -> u32 {
        let own = self.agent().and_then(|agent| agent.max_result_chars);
        own.unwrap_or(self.settings.max_result_chars)
    }

    /// Returns the maximum number of runs below that may have their own invocations.
    #[must_use]
    pub fn places(&self) -> u32 {
        self.child.as_ref().map_or(MAX_PLACES, |child| child.places)
    }

    /// Returns the spec for this agent. The content of the agent's file applies until the run ends.
    #[must_use]
    pub fn with_agent(mut self, agent: AgentSpec) -> Self {
        let budget = &mut self.settings.budget;
        budget.steps = budget.steps.min(agent.max_steps);
        if agent.context != AgentContext::Conversation {
            (self.history, self.history_tokens, self.earlier) = (Vec::new(), 0, None);
            self.attachments = Vec::new();
        }
        self.set_agent(agent);
        self
    }

    /// Lets another agent take the run over after this number of turns. The question, the history and the
    /// task stay the same.
    pub(crate) fn change_agent(&mut self, changed: &AgentChanged, turns: u32) {
        let AgentChanged { agent, arguments, .. } = changed;
        let before = std::mem::replace(&mut self.arguments, arguments.clone());
        if let Some(task) = before.get(TASK_ARGUMENT) {
            self.arguments.insert(TASK_ARGUMENT.to_owned(), task.clone());
        }
        self.first_arguments.get_or_insert(before);
        let budget = &mut self.settings.budget;
        budget.steps = budget.steps.min(turns.saturating_add(agent.max_steps));
        self.set_agent((**agent).clone());
    }

    fn set_agent(&mut self, agent: AgentSpec) {
        // The plan of an agent is about the task of its call.
        let task = self.arguments.get(TASK_ARGUMENT).and_then(|task| task.as_str());
        if let Some(task) = task.filter(|_| agent.machine.has_plan()) {
            self.question = task.to_owned();
        }
        // A step of a plan has no arguments, and its agent's instructions may name the file.
        if agent.writes_answer() && !self.arguments.contains_key(FILE_NAME_ARGUMENT) {
            let name = self.choose_file_name(&agent);
            self.arguments.insert(FILE_NAME_ARGUMENT.to_owned(), name.into());
        }
        self.agent = Some(Box::new(agent));
    }

    /// Returns the path from the root of the tree to the run.
    #[must_use]
    pub fn path(&self) -> Path {
        self.child.as_ref().map(ChildSpec::path).unwrap_or_default()
    }

    /// Returns the asker's name for the session.
    #[must_use]
    pub fn session_name(&self) -> SessionName {
        SharedSession::name_of(self.shared.as_ref(), &self.session)
    }

    /// Returns the last file name in the description of the work that the session does not have. The default
    /// is a name that no other run of the tree would choose.
    fn choose_file_name(&self, agent: &AgentSpec) -> String {
        let is_new = |name: &&str| self.files.iter().all(|file| file.name.as_str() != *name);
        let file_name = find_text_files(self.description()).into_iter().rev().find(is_new);
        file_name.map_or_else(|| self.own_file_name(&agent.name), str::to_owned)
    }

    /// Returns the name of a file that no other run of the tree writes.
    pub(crate) fn own_file_name(&self, agent: &str) -> String {
        match &self.child {
            Some(child) => format!("{agent}-{}.md", child.path()),
            None => format!("{agent}.md"),
        }
    }
}
