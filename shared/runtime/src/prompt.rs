//! Djinn's own words to a model: the templates under `prompts/`.
//!
//! Every fragment has the name of its file, and a cap. A rendering above the cap is cut and marked.
//! `prompts/README.md` lists the purpose and the variables of each fragment.

pub mod frame;
mod own;
mod tool_description;
mod truncate;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use djinn_core::id::sha256_hex;
use djinn_core::language::Language;
use minijinja::{Environment, Template, UndefinedBehavior};
pub use own::OwnPrompts;
use serde::Serialize;
pub use tool_description::ToolDescription;
pub use truncate::truncate_text;

/// The mark at the end of a cut rendering.
pub const CUT_MARK: &str = "…[cut]";

/// A template with its cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment {
    /// The path under `prompts/<language>/`, without the extension.
    pub name: &'static str,
    /// The maximum length of a rendering, in characters.
    pub max_chars: usize,
    en: &'static str,
    zh: &'static str,
}

macro_rules! fragments {
    ($($(#[$doc:meta])* $name:ident = $file:literal, $max:literal;)*) => {
        $($(#[$doc])*
        pub const $name: Fragment = Fragment {
            name: $file,
            max_chars: $max,
            en: include_str!(concat!("../../../prompts/en/", $file, ".md")),
            zh: include_str!(concat!("../../../prompts/zh/", $file, ".md")),
        };)*

        /// Every fragment, for tests and checks.
        pub const ALL: &[Fragment] = &[$($name),*];
    };
}

fragments! {
    /// The instructions of the ReAct agent.
    REACT_SYSTEM = "react/system", 60_000;
    /// The end of every request of the loop.
    REACT_NEXT_STEP = "react/next_step", 70_000;
    /// The request of the call that writes the closing summary.
    REACT_SUMMARY = "react/summary", 200_000;
    /// The instructions of the planner.
    PLAN_SYSTEM = "plan/system", 60_000;
    /// The end of the planner's requests after the first.
    PLAN_NEXT_STEP = "plan/next_step", 70_000;
    /// The results of a round of tasks.
    PLAN_ROUND = "plan/round", 1_200_000;
    /// The plan after a command.
    PLAN_CHANGED = "plan/changed", 300_000;
    /// The instructions of a task's agent.
    TASK_SYSTEM = "task/system", 60_000;
    /// The question of a task: the run's question, the step, and the earlier reports.
    TASK_QUESTION = "task/question", 1_200_000;
    /// The end of every request of a task's loop.
    TASK_NEXT_STEP = "task/next_step", 10_000;
    /// The request for the digital employees of a task's tools.
    TASK_EMPLOYEES = "task/employees", 40_000;
    /// The instructions of a named agent, around the text of the agent's file.
    AGENT_INSTRUCTIONS = "agent/instructions", 120_000;
    /// The question of a named agent.
    AGENT_QUESTION = "agent/question", 400_000;
    /// The end of a named agent's last request.
    AGENT_LAST_STEP = "agent/last_step", 1_000;
    /// The output style `html`.
    STYLE_HTML = "style/html", 1_000;
    /// The output style `docs`.
    STYLE_DOCS = "style/docs", 1_000;
    /// The output style `table`.
    STYLE_TABLE = "style/table", 1_000;
    /// The output style `ppt`.
    STYLE_PPT = "style/ppt", 1_000;
    /// The model's description of `file_tool`.
    TOOL_FILE = "tool/file_tool", 3_000;
    /// The planner's description of `planning`.
    TOOL_PLANNING = "tool/planning", 3_000;
    /// The model's description of `ask_user`.
    TOOL_ASK_USER = "tool/ask_user", 2_000;
    /// The agent's description of `give_verdict`.
    TOOL_VERDICT = "tool/give_verdict", 2_000;
    /// The agent's description of `python`.
    TOOL_PYTHON = "tool/python", 3_000;
    /// The agent's description of `look`.
    TOOL_LOOK = "tool/look", 1_000;
    /// The agent's description of `collect`.
    TOOL_COLLECT = "tool/collect", 1_000;
    /// The agent's description of `render`.
    TOOL_RENDER = "tool/render", 1_000;
    /// The model's description of `web_fetch`.
    TOOL_WEB_FETCH = "tool/web_fetch", 2_000;
    /// The agent's description of `search_round`.
    TOOL_SEARCH_ROUND = "tool/search_round", 2_000;
    /// The agent's description of `cite`.
    TOOL_CITE = "tool/cite", 1_000;
    /// A part of a web page.
    WEB_PAGE = "tool/web_page", 1_200_000;
    /// The error for an unreadable web page.
    WEB_PAGE_PROBLEM = "tool/web_page_problem", 2_000;
    /// The error for a job that the gateway rejected.
    WEB_REFUSED = "tool/web_refused", 2_000;
    /// The result of a tool that is a file, if the server's answer is empty.
    OUTSIDE_EMPTY = "tool/outside_empty", 500;
    /// The error of a tool that is a file.
    OUTSIDE_PROBLEM = "tool/outside_problem", 2_000;
    /// The description of a tool of an MCP server.
    SERVER_TOOL = "tool/server_tool", 3_000;
    /// The results of a search round.
    SEARCH_RESULT = "tool/search_result", 1_200_000;
    /// An answer with its sources.
    CITE_RESULT = "tool/cite_result", 1_200_000;
    /// The texts of a session's files.
    COLLECT_RESULT = "tool/collect_result", 1_200_000;
    /// The note about a rendered document.
    RENDER_RESULT = "tool/render_result", 20_000;
    /// The error for a document that could not be rendered.
    RENDER_PROBLEM = "tool/render_problem", 1_000;
    /// The result of a block of Python.
    PYTHON_RESULT = "tool/python_result", 200_000;
    /// Short descriptions of the files of a session.
    LOOK_RESULT = "tool/look_result", 100_000;
    /// The error for an unreadable document.
    DOCUMENT_PROBLEM = "tool/document_problem", 1_000;
    /// The notes for the reader of a document.
    DOCUMENT_NOTE = "tool/document_note", 3_000;
    /// The error for a job that the sandbox did not do.
    SANDBOX_REFUSED = "tool/sandbox_refused", 2_000;
    /// The note that a file was written.
    FILE_WRITTEN = "tool/file_written", 1_000;
    /// A part of a file.
    FILE_READ = "tool/file_read", 1_200_000;
    /// The error for a missing file.
    FILE_MISSING = "tool/file_missing", 8_000;
    /// The error for a file without text.
    FILE_NOT_TEXT = "tool/file_not_text", 1_000;
    /// The error for an invalid file name or content.
    FILE_REFUSED = "tool/file_refused", 1_000;
    /// The error for an unreachable file store.
    FILE_UNAVAILABLE = "tool/file_unavailable", 1_000;
    /// The error for an unreachable tool source.
    TOOL_UNAVAILABLE = "tool/unavailable", 1_000;
    /// The output of a finished tool.
    OUTCOME_DONE = "outcome/done", 1_200_000;
    /// The cut output of a tool.
    OUTCOME_CUT = "outcome/cut", 1_200_000;
    /// The beginning and the end of a long text.
    OUTCOME_SHORTENED = "outcome/shortened", 1_200_000;
    /// The names of the images of a result, after the result's text.
    OUTCOME_IMAGES = "outcome/images", 1_200_000;
    /// The error for an unknown tool.
    OUTCOME_UNKNOWN_TOOL = "outcome/unknown_tool", 8_000;
    /// The error for a tool that changed after the offer.
    OUTCOME_TOOL_CHANGED = "outcome/tool_changed", 1_000;
    /// The error for invalid arguments.
    OUTCOME_BAD_ARGUMENTS = "outcome/bad_arguments", 4_000;
    /// The error for a command without a valid plan.
    OUTCOME_BAD_PLAN = "outcome/bad_plan", 4_000;
    /// The error of a failed tool.
    OUTCOME_ERROR = "outcome/error", 12_000;
    /// The error for a tool that timed out.
    OUTCOME_TIMED_OUT = "outcome/timed_out", 1_000;
    /// The error for a tool that crashed its process.
    OUTCOME_CRASHED = "outcome/crashed", 1_000;
    /// The note about an uncertain `once` call.
    OUTCOME_UNCERTAIN = "outcome/uncertain", 2_000;
    /// The error for too many calls in a reply.
    OUTCOME_TOO_MANY = "outcome/too_many", 1_000;
    /// The error for a call of an agent from the lowest level.
    OUTCOME_TOO_DEEP = "outcome/too_deep", 1_000;
    /// The error for a call that would have sent untrusted content out.
    OUTCOME_UNTRUSTED = "outcome/untrusted", 1_000;
    /// The note about a call that was stopped with its run.
    OUTCOME_STOPPED = "outcome/stopped", 1_000;
    /// The note about a call that a user rejected or did not answer in time.
    OUTCOME_SKIPPED = "outcome/skipped", 1_000;
    /// A user's words in place of a call's result.
    OUTCOME_ANSWERED = "outcome/answered", 20_000;
    /// The note that a user changed a call's arguments.
    OUTCOME_CHANGED = "outcome/changed", 10_000;
    /// The user's answer to a clarification.
    OUTCOME_USER_ANSWER = "outcome/user_answer", 20_000;
    /// The note that the user did not answer a clarification.
    OUTCOME_NO_ANSWER = "outcome/no_answer", 1_000;
    /// The judgement of an answer that a reviewer did not accept.
    NOTE_REVIEW = "note/review", 400_000;
    /// The nudge after a reply that was cut off.
    NOTE_CUT_OFF = "note/cut_off", 1_000;
    /// The nudge after an empty reply.
    NOTE_EMPTY = "note/empty", 1_000;
    /// The nudge after a reply in words to a rejected plan.
    NOTE_NO_PLAN = "note/no_plan", 1_000;
    /// The nudge after an agent's answer in another format than the agent's file requires.
    NOTE_BAD_ANSWER = "note/bad_answer", 4_000;
    /// The results of the calls that an agent's file makes before the first turn.
    NOTE_PREPARED = "note/prepared", 1_200_000;
    /// The answers that an agent judges, under their letters.
    NOTE_ANSWERS = "note/answers", 1_200_000;
    /// The nudge after a call that returned the same result several times.
    NOTE_REPEATED = "note/repeated", 1_000;
    /// A user message to a run at work.
    NOTE_SAID = "note/said", 20_000;
    /// A user's changes of the plan while its steps ran.
    NOTE_PLAN_EDITED = "note/plan_edited", 60_000;
    /// A question with attached files.
    NOTE_ATTACHED = "note/attached", 450_000;
    /// The text of the message with the images of a question.
    NOTE_ATTACHED_IMAGES = "note/attached_images", 10_000;
    /// The text of the message with the images of a result.
    NOTE_IMAGES = "note/images", 10_000;
    /// The note about an unreadable image.
    NOTE_IMAGE_MISSING = "note/image_missing", 1_000;
    /// The note that older turns were left out.
    NOTE_LEFT_OUT = "note/left_out", 1_000;
    /// The explanation of placeholders for URLs.
    NOTE_URLS = "note/urls", 1_000;
    /// The explanation of masking in results.
    NOTE_MASKED = "note/masked", 1_000;
    /// The request to sum up older turns.
    COMPACT_REQUEST = "compact/request", 1_200_000;
    /// The summary of older turns.
    COMPACT_EARLIER = "compact/earlier", 60_000;
    /// Instructions for tool calls in text, for a model without native tool calls.
    STRUCT_PARSE = "model/struct_parse", 60_000;
    /// A tool result for a model without native tool calls.
    STRUCT_RESULT = "model/struct_result", 1_200_000;
    /// The untrusted frame around foreign text.
    FRAME = "frame/untrusted", 1_200_000;
    /// A user's question as a message.
    QUESTION = "conversation/question", 100_000;
    /// The answer to an earlier question of the session.
    ANSWER = "conversation/answer", 200_000;
    /// An exchange of another user of the session.
    OF_ANOTHER = "conversation/of_another", 300_000;
}

impl Fragment {
    /// Returns the unrendered template in a language.
    #[must_use]
    pub fn template(&self, language: Language) -> &'static str {
        match language {
            Language::En => self.en,
            Language::Zh => self.zh,
        }
    }

    /// Returns true if the fragment describes a tool, with a section for each parameter.
    #[must_use]
    pub fn describes_tool(&self) -> bool {
        self.name.starts_with("tool/") && self.en.contains("\n## ")
    }
}

/// Renders fragments. The filter `framed` of the templates frames foreign text as data.
#[derive(Default)]
pub struct Prompts {
    /// Djinn's templates, compiled at their first rendering.
    compiled: Arc<CompiledTemplates>,
    /// The deployment's current templates.
    own: RwLock<Arc<OwnPrompts>>,
}

type CompiledTemplates = RwLock<BTreeMap<(&'static str, Language), Template<'static, 'static>>>;

/// The version of Djinn's own templates, in hex.
static SHIPPED_VERSION: LazyLock<String> = LazyLock::new(|| {
    let all: Vec<String> =
        ALL.iter().map(|f| format!("{}\0{}\0{}\0", f.name, f.en, f.zh)).collect();
    sha256_hex(all.concat().as_bytes())
});

/// The environment in which templates are compiled.
static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_filter("framed", frame::frame_filter);
    environment
});

impl Prompts {
    /// Renders a fragment. Text above the fragment's cap is cut and marked.
    ///
    /// A template that cannot be rendered is a bug, which the tests of `prompts/` find. Such a bug is logged,
    /// and the model receives the unrendered template. A deployment's own template is replaced by Djinn's.
    pub fn render(
        &self,
        language: Language,
        fragment: Fragment,
        context: impl Serialize,
    ) -> String {
        let context = minijinja::Value::from(minijinja::value::Serde(context));
        if let Some(text) = self.render_own(language, fragment, &context) {
            return truncate_text(&text, fragment.max_chars);
        }
        let outcome =
            self.compile_template(language, fragment).and_then(|text| text.render(context));
        let text = outcome.unwrap_or_else(|error| {
            tracing::error!(fragment = fragment.name, kind = ?error.kind(), "prompt not rendered");
            fragment.template(language).trim().to_owned()
        });
        truncate_text(&text, fragment.max_chars)
    }

    /// Renders a deployment's own template. Compiles on every call: own templates are few and can change.
    fn render_own(
        &self,
        language: Language,
        fragment: Fragment,
        context: &minijinja::Value,
    ) -> Option<String> {
        let own = self.own().find_text(fragment, language)?;
        let outcome = ENVIRONMENT.render_str(own.trim(), context);
        outcome
            .inspect_err(|error| {
                let fragment = fragment.name;
                let kind = error.kind();
                tracing::error!(fragment, ?kind, "a deployment's prompt is not rendered: ours is");
            })
            .ok()
    }

    /// Renders the instructions of an agent's file. Text above `max_chars` is cut and marked. Instructions
    /// that cannot be rendered are returned unrendered; the reader of the file checks for this.
    pub fn render_text(
        &self,
        template: &str,
        name: &str,
        context: impl Serialize,
        max_chars: usize,
    ) -> String {
        let context = minijinja::Value::from(minijinja::value::Serde(context));
        let outcome = ENVIRONMENT.render_str(template.trim(), context);
        let text = outcome.unwrap_or_else(|error| {
            tracing::error!(agent = name, kind = ?error.kind(), "instructions not rendered");
            template.trim().to_owned()
        });
        truncate_text(&text, max_chars)
    }

    /// Compiles a template once: every turn renders its whole conversation again.
    fn compile_template(
        &self,
        language: Language,
        fragment: Fragment,
    ) -> Result<Template<'static, 'static>, minijinja::Error> {
        let key = (fragment.name, language);
        let existing =
            self.compiled.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(template) = existing {
            return Ok(template);
        }
        // Only the template's own line end is trimmed, never white space from a value.
        let template = ENVIRONMENT.template_from_str(fragment.template(language).trim())?;
        let mut templates = self.compiled.write().unwrap_or_else(PoisonError::into_inner);
        Ok(templates.entry(key).or_insert(template).clone())
    }

    /// Frames foreign text as data, cut to `max_chars` characters.
    #[must_use]
    pub fn frame_text(&self, text: &str, max_chars: usize) -> String {
        frame::frame_text(text, max_chars.min(FRAME.max_chars))
    }

    /// Returns the SHA-256 over all current fragments.
    pub fn version(&self) -> String {
        self.own().version(&SHIPPED_VERSION)
    }

    /// Replaces the deployment's own prompts from now on.
    pub fn replace_own(&self, own: OwnPrompts) {
        *self.own.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(own);
    }

    /// Returns a copy of the current prompts that never changes.
    #[must_use]
    pub fn snapshot(&self) -> Self {
        Self { compiled: Arc::clone(&self.compiled), own: RwLock::new(self.own()) }
    }

    fn own(&self) -> Arc<OwnPrompts> {
        Arc::clone(&self.own.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_text_does_not_end_in_half_a_placeholder() {
        let cut = [10, 19, 20, 21].map(|most| truncate_text("Look at https://123.", most));
        assert_eq!(
            cut,
            ["Look…[cut]", "Look at https…[cut]", "Look at https://123.", "Look at https://123."]
        );
        assert_eq!(super::truncate_text(&"Look at https://123. ".repeat(3), 24), "Look at …[cut]");
    }
}
