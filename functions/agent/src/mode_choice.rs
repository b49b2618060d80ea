//! The modes that users can start, and the choice of a question's mode with its arguments.

use djinn_core::agent::{AgentSpec, TASK_ARGUMENT};
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::language::Language;
use djinn_core::settings::DEFAULT_MODE;
use djinn_protocol::mode_support::agent_type_of_page;
use djinn_protocol::request::RunRequest;
use djinn_runtime::question::{UserQuestion, fill_arguments, find_parameter_violation};
use djinn_runtime::texts::{ARGUMENTS, MAX_ARGUMENTS};
use djinn_runtime::world::Ports;
use djinn_text::near_miss::find_near_miss;
use serde_json::{Map, Value};

use crate::agent::Agent;
use crate::api_error::ApiError;
use crate::workflow_choice::{
    WORKFLOW, complete_modes, find_workflow, requires_task, runs_any_workflow, take_argument_lines,
};

/// The mode that a request selects; `None` selects the default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ModeChoice {
    /// The name of a mode.
    Name(Option<String>),
    /// JoyAgent's number of a mode.
    AgentType(Option<i64>),
    /// The flag `deepThink` of JoyAgent's page.
    DeepThink(bool),
}

/// Returns the modes of the deployment in this language, the default mode first.
pub(crate) fn list_modes<P: Ports>(agent: &Agent<P>, language: Language) -> Vec<AgentSpec> {
    let default_mode = &agent.settings.run.mode;
    let mut modes = agent.ports.tools().list_modes(language);
    complete_modes(&mut modes);
    modes.sort_by_key(|mode| mode.name != *default_mode);
    modes
}

impl ModeChoice {
    /// Returns the name of the selected mode. A mode that does not exist has the name in the request, if any.
    pub(crate) fn find_name(&self, modes: &[AgentSpec], default_mode: &str) -> Option<String> {
        let found = self.clone().find(modes, default_mode).ok().map(|mode| mode.name);
        found.or_else(|| match self {
            Self::Name(name) => name.clone(),
            Self::AgentType(_) | Self::DeepThink(_) => None,
        })
    }

    /// Returns the selected mode, by default the mode of this name.
    ///
    /// # Errors
    /// Returns `unknown_agent` with the existing modes and a near miss.
    pub(crate) fn find(
        self,
        modes: &[AgentSpec],
        default_mode: &str,
    ) -> Result<AgentSpec, ApiError> {
        let names: Vec<String> = modes.iter().map(|mode| format!("`{}`", mode.name)).collect();
        let numbers = modes.iter().filter_map(|mode| {
            let title = mode.title.as_deref().unwrap_or(&mode.name);
            mode.agent_type.map(|number| format!("{number} ({title})"))
        });
        let numbers: Vec<String> = numbers.collect();
        let near_miss = match &self {
            Self::Name(Some(name)) => {
                let candidates = modes.iter().map(|mode| mode.name.as_str());
                find_near_miss(name, candidates).map(str::to_owned)
            }
            Self::Name(None) | Self::AgentType(_) | Self::DeepThink(_) => None,
        };
        let is_default = |mode: &AgentSpec| mode.name == default_mode;
        let has_number =
            |mode: &AgentSpec, number: i64| mode.agent_type.map(i64::from) == Some(number);
        let (field, words) = match &self {
            Self::Name(_) | Self::DeepThink(_) => ("mode", names),
            Self::AgentType(_) => ("agentType", numbers),
        };
        let is_selected = |mode: &&AgentSpec| match &self {
            Self::Name(Some(name)) => mode.name == *name,
            Self::AgentType(Some(number)) => has_number(mode, *number),
            Self::DeepThink(true) => has_number(mode, i64::from(agent_type_of_page(true))),
            Self::DeepThink(false) | Self::Name(None) | Self::AgentType(None) => is_default(mode),
        };
        modes.iter().find(is_selected).cloned().ok_or_else(|| {
            let hint = near_miss.map(|name| format!("did you mean `{name}`? "));
            let detail = format!("{}there are {}", hint.unwrap_or_default(), join_words(&words));
            ApiError::from(Failure::new(ErrorCode::UnknownAgent, detail)).with_field(field)
        })
    }
}

/// The mode of questions that name none.
pub(crate) struct DefaultMode<'a> {
    /// The name of the mode.
    pub(crate) name: &'a str,
    /// The problem of the setting, in a sentence, if its mode does not exist.
    pub(crate) problem: Option<String>,
}

impl<'a> DefaultMode<'a> {
    /// Returns the mode in the setting. If the mode does not exist, returns the mode that always exists.
    pub(crate) fn find(setting: &'a str, modes: &[AgentSpec]) -> Self {
        let names = || modes.iter().map(|mode| mode.name.as_str());
        if names().any(|name| name == setting) {
            return Self { name: setting, problem: None };
        }
        let hint = find_near_miss(setting, names());
        let hint = hint.map_or_else(String::new, |name| format!(": did you mean `{name}`?"));
        let problem = format!("`default_mode` is `{setting}`, which is not a mode{hint}");
        Self { name: DEFAULT_MODE, problem: Some(problem) }
    }
}

/// Returns a sentence for each name in `people.requests.agents` that is not a mode. Its settings have no effect.
pub(crate) fn find_misnamed_settings<'a>(
    names: impl Iterator<Item = &'a String>,
    modes: &[AgentSpec],
) -> Vec<String> {
    let modes: Vec<_> = modes.iter().map(|mode| mode.name.as_str()).chain([WORKFLOW]).collect();
    let misnamed = names.filter(|name| !modes.contains(&name.as_str()));
    misnamed
        .map(|name| {
            let hint = find_near_miss(name, modes.iter().copied());
            let hint = hint.map_or_else(String::new, |name| format!(": did you mean `{name}`?"));
            format!("`people.requests.agents` names `{name}`, which is not a mode{hint}")
        })
        .collect()
}

/// Joins words with commas, and the last with `and`.
fn join_words(words: &[String]) -> String {
    match words.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        Some(_) | None => words.concat(),
    }
}

/// The arguments of a question, and the question if it is one of them.
pub(crate) struct QuestionArguments {
    arguments: Map<String, Value>,
    /// True if the question is not the argument `task`, but the text of all arguments.
    is_question_made: bool,
}

impl QuestionArguments {
    /// Takes the arguments of a request. Without a question, the argument `task` or the text of all arguments
    /// becomes the question.
    ///
    /// # Errors
    /// Returns `invalid_field` for both a question and the argument `task`.
    pub(crate) fn take(
        request: &mut RunRequest,
        is_blank: impl Fn(&str) -> bool,
    ) -> Result<Self, ApiError> {
        let mut arguments = request.arguments.take().unwrap_or_default();
        // The bound of texts counts no numbers and brackets.
        if Value::Object(arguments.clone()).to_string().len() > MAX_ARGUMENTS {
            let detail = format!("`{ARGUMENTS}`, at most {MAX_ARGUMENTS} bytes");
            let failure = Failure::new(ErrorCode::TooLong, detail);
            return Err(ApiError::from(failure).with_field(ARGUMENTS));
        }
        request.question.take_if(|question| is_blank(question));
        let task = arguments.get(TASK_ARGUMENT).and_then(Value::as_str).map(str::to_owned);
        let mut is_question_made = false;
        match (&request.question, task) {
            (Some(_), _) if arguments.contains_key(TASK_ARGUMENT) => {
                let problem = "is the question; send one of the two";
                return Err(ApiError::invalid_field(
                    format!("{ARGUMENTS}.{TASK_ARGUMENT}"),
                    problem,
                ));
            }
            (None, Some(task)) => {
                arguments.remove(TASK_ARGUMENT);
                request.question = Some(task).filter(|task| !is_blank(task));
            }
            (None, None) if !arguments.is_empty() => {
                request.question = Some(Value::Object(arguments.clone()).to_string());
                is_question_made = true;
            }
            (Some(_) | None, _) => {}
        }
        Ok(Self { arguments, is_question_made })
    }

    /// Returns the arguments as sent, without the question.
    pub(crate) fn as_map(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// Sets the mode of a question, with the arguments and their defaults. A mode that runs any workflow becomes the
    /// workflow that the question names. In protocols without arguments (`has_arguments` false), lines of the question
    /// are arguments.
    ///
    /// # Errors
    /// Returns `invalid_field` for the first argument that the mode's parameters do not allow.
    pub(crate) fn set_mode(
        self,
        mut mode: AgentSpec,
        modes: &[AgentSpec],
        question: &mut UserQuestion,
        has_arguments: bool,
    ) -> Result<(), ApiError> {
        let mut arguments = self.arguments;
        if runs_any_workflow(&mode) {
            mode = find_workflow(modes, &mut arguments, question)?;
        }
        if mode.workflow.is_some() && !has_arguments {
            take_argument_lines(&mode, &mut arguments, question);
        }
        let spec = &mut question.spec;
        let has_task = mode.parameters.pointer("/properties/task").is_some();
        if has_task && !self.is_question_made {
            arguments.insert(TASK_ARGUMENT.to_owned(), spec.question.clone().into());
        }
        if mode.workflow.is_some() && self.is_question_made && requires_task(&mode) {
            let field = format!("{ARGUMENTS}.{TASK_ARGUMENT}");
            return Err(ApiError::invalid_field(field, "is missing"));
        }
        let mut parameters = mode.parameters.clone();
        if let Some(members) = parameters.as_object_mut().filter(|_| mode.workflow.is_some()) {
            // A workflow may ask for missing arguments.
            members.remove("required");
        }
        if let Some(found) = find_parameter_violation(&parameters, &arguments) {
            let path = if found.path.is_empty() {
                ARGUMENTS.to_owned()
            } else {
                format!("{ARGUMENTS}.{}", found.path)
            };
            return Err(ApiError::invalid_field(path, &found.problem));
        }
        arguments = fill_arguments(&mode.parameters, arguments);
        // The question is not stored twice.
        arguments.remove(TASK_ARGUMENT);
        spec.arguments = arguments;
        spec.settings.mode.clone_from(&mode.name);
        spec.agent = Some(Box::new(mode));
        Ok(())
    }
}
