//! Our own words to a model: the templates under `prompts/`, and nothing else.
//!
//! Every fragment has a name, which is its file's, and a cap; a rendering that would exceed the cap
//! is cut and marked. `prompts/README.md` says what each is for and what fills it.

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

/// What marks a rendering that was cut.
pub const CUT_MARK: &str = "…[cut]";

/// A template with its cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment {
    /// Its file under `prompts/<language>/`, without the ending.
    pub name: &'static str,
    /// The most characters a rendering has.
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
    /// What closes every request of the loop.
    REACT_NEXT_STEP = "react/next_step", 70_000;
    /// The request of the call that writes the closing summary.
    REACT_SUMMARY = "react/summary", 200_000;
    /// The instructions of the planner.
    PLAN_SYSTEM = "plan/system", 60_000;
    /// What closes the planner's requests after the first.
    PLAN_NEXT_STEP = "plan/next_step", 70_000;
    /// What came of a round of tasks.
    PLAN_ROUND = "plan/round", 1_200_000;
    /// The plan after a command.
    PLAN_CHANGED = "plan/changed", 300_000;
    /// The instructions of a task's agent.
    TASK_SYSTEM = "task/system", 60_000;
    /// The question of a task: its run's, its step, and what came before.
    TASK_QUESTION = "task/question", 1_200_000;
    /// What closes every request of a task's loop.
    TASK_NEXT_STEP = "task/next_step", 10_000;
    /// Asks for the roles of a task's tools.
    TASK_EMPLOYEES = "task/employees", 40_000;
    /// The instructions of an agent that others call, around those of its file.
    AGENT_INSTRUCTIONS = "agent/instructions", 120_000;
    /// What such an agent is called to do.
    AGENT_QUESTION = "agent/question", 400_000;
    /// Closes the last request of such an agent.
    AGENT_LAST_STEP = "agent/last_step", 1_000;
    /// The output style `html`.
    STYLE_HTML = "style/html", 1_000;
    /// The output style `docs`.
    STYLE_DOCS = "style/docs", 1_000;
    /// The output style `table`.
    STYLE_TABLE = "style/table", 1_000;
    /// The output style `ppt`.
    STYLE_PPT = "style/ppt", 1_000;
    /// What the model is told about `file_tool`.
    TOOL_FILE = "tool/file_tool", 3_000;
    /// What the planner is told about `planning`.
    TOOL_PLANNING = "tool/planning", 3_000;
    /// What a model is told about `ask_user`.
    TOOL_ASK_USER = "tool/ask_user", 2_000;
    /// What an agent is told about `python`.
    TOOL_PYTHON = "tool/python", 3_000;
    /// What an agent is told about `look`.
    TOOL_LOOK = "tool/look", 1_000;
    /// What an agent is told about `collect`.
    TOOL_COLLECT = "tool/collect", 1_000;
    /// What an agent is told about `render`.
    TOOL_RENDER = "tool/render", 1_000;
    /// What the model is told about `web_fetch`.
    TOOL_WEB_FETCH = "tool/web_fetch", 2_000;
    /// What an agent is told about `search_round`.
    TOOL_SEARCH_ROUND = "tool/search_round", 2_000;
    /// What an agent is told about `cite`.
    TOOL_CITE = "tool/cite", 1_000;
    /// A part of a page of the web.
    WEB_PAGE = "tool/web_page", 1_200_000;
    /// A page that could not be read.
    WEB_PAGE_PROBLEM = "tool/web_page_problem", 2_000;
    /// A job that the gateway did not do.
    WEB_REFUSED = "tool/web_refused", 2_000;
    /// What a round of a search found.
    SEARCH_RESULT = "tool/search_result", 1_200_000;
    /// An answer with its sources.
    CITE_RESULT = "tool/cite_result", 1_200_000;
    /// The texts of a session's files.
    COLLECT_RESULT = "tool/collect_result", 1_200_000;
    /// A document that was made.
    RENDER_RESULT = "tool/render_result", 20_000;
    /// A document that could not be made.
    RENDER_PROBLEM = "tool/render_problem", 1_000;
    /// What came of a block of Python.
    PYTHON_RESULT = "tool/python_result", 200_000;
    /// What stands in the files of a session, in short.
    LOOK_RESULT = "tool/look_result", 100_000;
    /// A document that cannot be read.
    DOCUMENT_PROBLEM = "tool/document_problem", 1_000;
    /// What a reader of a document should know.
    DOCUMENT_NOTE = "tool/document_note", 3_000;
    /// A job that the sandbox did not do.
    SANDBOX_REFUSED = "tool/sandbox_refused", 2_000;
    /// A file was written.
    FILE_WRITTEN = "tool/file_written", 1_000;
    /// A part of a file.
    FILE_READ = "tool/file_read", 1_200_000;
    /// The answer for a file that does not exist.
    FILE_MISSING = "tool/file_missing", 8_000;
    /// Not a text file.
    FILE_NOT_TEXT = "tool/file_not_text", 1_000;
    /// A file name or content that cannot be written.
    FILE_REFUSED = "tool/file_refused", 1_000;
    /// The file store is unreachable.
    FILE_UNAVAILABLE = "tool/file_unavailable", 1_000;
    /// The source of a tool does not answer.
    TOOL_UNAVAILABLE = "tool/unavailable", 1_000;
    /// The answer of a tool that ran.
    OUTCOME_DONE = "outcome/done", 1_200_000;
    /// A tool's answer that was cut.
    OUTCOME_CUT = "outcome/cut", 1_200_000;
    /// A long text of which the beginning and the end are shown.
    OUTCOME_SHORTENED = "outcome/shortened", 1_200_000;
    /// Names the images of a result, behind its text.
    OUTCOME_IMAGES = "outcome/images", 1_200_000;
    /// A tool that does not exist.
    OUTCOME_UNKNOWN_TOOL = "outcome/unknown_tool", 8_000;
    /// A tool that is another than was offered.
    OUTCOME_TOOL_CHANGED = "outcome/tool_changed", 1_000;
    /// Arguments that cannot be used.
    OUTCOME_BAD_ARGUMENTS = "outcome/bad_arguments", 4_000;
    /// A command that makes no plan.
    OUTCOME_BAD_PLAN = "outcome/bad_plan", 4_000;
    /// The answer for a tool that failed by itself.
    OUTCOME_ERROR = "outcome/error", 12_000;
    /// A tool that took too long.
    OUTCOME_TIMED_OUT = "outcome/timed_out", 1_000;
    /// A tool that crashed its process.
    OUTCOME_CRASHED = "outcome/crashed", 1_000;
    /// A `once` call that may have happened.
    OUTCOME_UNCERTAIN = "outcome/uncertain", 2_000;
    /// Too many calls in one reply.
    OUTCOME_TOO_MANY = "outcome/too_many", 1_000;
    /// A call to an agent from the lowest level.
    OUTCOME_TOO_DEEP = "outcome/too_deep", 1_000;
    /// A call that would have told others what the run has read.
    OUTCOME_UNTRUSTED = "outcome/untrusted", 1_000;
    /// A call that was stopped with its run.
    OUTCOME_STOPPED = "outcome/stopped", 1_000;
    /// A call that a person did not want, or did not answer for in time.
    OUTCOME_SKIPPED = "outcome/skipped", 1_000;
    /// What a person said instead of a call's result.
    OUTCOME_ANSWERED = "outcome/answered", 20_000;
    /// A person changed a call's arguments.
    OUTCOME_CHANGED = "outcome/changed", 10_000;
    /// What the user answers to a question of the model's.
    OUTCOME_USER_ANSWER = "outcome/user_answer", 20_000;
    /// A question of the model's that the user did not answer.
    OUTCOME_NO_ANSWER = "outcome/no_answer", 1_000;
    /// The last reply was cut off.
    NOTE_CUT_OFF = "note/cut_off", 1_000;
    /// The last reply was empty.
    NOTE_EMPTY = "note/empty", 1_000;
    /// The planner has a plan refused, and answers in words.
    NOTE_NO_PLAN = "note/no_plan", 1_000;
    /// An agent's answer has not the form that its file names.
    NOTE_BAD_ANSWER = "note/bad_answer", 4_000;
    /// What came of the calls that an agent's file has made before its first turn.
    NOTE_PREPARED = "note/prepared", 1_200_000;
    /// A call brings the same result again and again.
    NOTE_REPEATED = "note/repeated", 1_000;
    /// What the user said while the run was at work.
    NOTE_SAID = "note/said", 20_000;
    /// What a person changed of the plan while its steps were at work.
    NOTE_PLAN_EDITED = "note/plan_edited", 60_000;
    /// A question that came with files.
    NOTE_ATTACHED = "note/attached", 450_000;
    /// In the message that shows the images of a question.
    NOTE_ATTACHED_IMAGES = "note/attached_images", 10_000;
    /// What images of a result are, in the message that holds them.
    NOTE_IMAGES = "note/images", 10_000;
    /// An image that cannot be read.
    NOTE_IMAGE_MISSING = "note/image_missing", 1_000;
    /// Older turns did not fit.
    NOTE_LEFT_OUT = "note/left_out", 1_000;
    /// What placeholders stand for.
    NOTE_URLS = "note/urls", 1_000;
    /// What is masked in results.
    NOTE_MASKED = "note/masked", 1_000;
    /// Asks for older turns to be summed up.
    COMPACT_REQUEST = "compact/request", 1_200_000;
    /// What older turns were summed up to.
    COMPACT_EARLIER = "compact/earlier", 60_000;
    /// How a model without tool calls of its own calls tools.
    STRUCT_PARSE = "model/struct_parse", 60_000;
    /// How such a model is shown a result.
    STRUCT_RESULT = "model/struct_result", 1_200_000;
    /// The frame around text that others wrote.
    FRAME = "frame/untrusted", 1_200_000;
    /// The words of a user, as a message.
    QUESTION = "conversation/question", 100_000;
    /// The answer to an earlier question of the session.
    ANSWER = "conversation/answer", 200_000;
    /// What another user of the session asked, and its answer.
    OF_ANOTHER = "conversation/of_another", 300_000;
}

impl Fragment {
    /// The template in this language, before anything is rendered.
    #[must_use]
    pub fn template(&self, language: Language) -> &'static str {
        match language {
            Language::En => self.en,
            Language::Zh => self.zh,
        }
    }

    /// Whether it is what a model is told about a tool, with a section for each parameter.
    #[must_use]
    pub fn describes_tool(&self) -> bool {
        self.name.starts_with("tool/") && self.en.contains("\n## ")
    }
}

/// Renders fragments. In templates the filter `framed` frames what others wrote as data.
#[derive(Default)]
pub struct Prompts {
    /// Templates of ours that were rendered before.
    compiled: Arc<CompiledTemplates>,
    /// What a deployment has in their place now.
    own: RwLock<Arc<OwnPrompts>>,
}

type CompiledTemplates = RwLock<BTreeMap<(&'static str, Language), Template<'static, 'static>>>;

/// The version of our templates, in hex.
static SHIPPED_VERSION: LazyLock<String> = LazyLock::new(|| {
    let all: Vec<String> =
        ALL.iter().map(|f| format!("{}\0{}\0{}\0", f.name, f.en, f.zh)).collect();
    sha256_hex(all.concat().as_bytes())
});

/// What templates are compiled in.
static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_filter("framed", frame::frame_filter);
    environment
});

impl Prompts {
    /// Fills a fragment. What does not fit its cap is cut and marked.
    ///
    /// A template that cannot be rendered is a bug that the tests of `prompts/` find; should it
    /// happen nevertheless it is logged, and the model gets the template as it stands. Of a deployment's own
    /// template it gets ours.
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
        let rendered =
            self.compile_template(language, fragment).and_then(|text| text.render(context));
        let text = rendered.unwrap_or_else(|error| {
            tracing::error!(fragment = fragment.name, kind = ?error.kind(), "prompt not rendered");
            fragment.template(language).trim().to_owned()
        });
        truncate_text(&text, fragment.max_chars)
    }

    /// A deployment's own template, filled. It is compiled each time: few are, and they may change.
    fn render_own(
        &self,
        language: Language,
        fragment: Fragment,
        context: &minijinja::Value,
    ) -> Option<String> {
        let own = self.own().find_text(fragment, language)?;
        let rendered = ENVIRONMENT.render_str(own.trim(), context);
        rendered
            .inspect_err(|error| {
                let (fragment, kind) = (fragment.name, error.kind());
                tracing::error!(fragment, ?kind, "a deployment's prompt is not rendered: ours is");
            })
            .ok()
    }

    /// Fills the instructions of an agent's file. What does not fit is cut and marked; what cannot be
    /// rendered stands as it is written, which its reader has tried to rule out.
    pub fn render_text(
        &self,
        template: &str,
        name: &str,
        context: impl Serialize,
        max_chars: usize,
    ) -> String {
        let context = minijinja::Value::from(minijinja::value::Serde(context));
        let rendered = ENVIRONMENT.render_str(template.trim(), context);
        let text = rendered.unwrap_or_else(|error| {
            tracing::error!(agent = name, kind = ?error.kind(), "instructions not rendered");
            template.trim().to_owned()
        });
        truncate_text(&text, max_chars)
    }

    /// Each turn renders all of a conversation anew: a template is compiled once.
    fn compile_template(
        &self,
        language: Language,
        fragment: Fragment,
    ) -> Result<Template<'static, 'static>, minijinja::Error> {
        let key = (fragment.name, language);
        let known = self.compiled.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(template) = known {
            return Ok(template);
        }
        // The template's own line end is not part of it; white space that a value brings is.
        let template = ENVIRONMENT.template_from_str(fragment.template(language).trim())?;
        let mut compiled = self.compiled.write().unwrap_or_else(PoisonError::into_inner);
        Ok(compiled.entry(key).or_insert(template).clone())
    }

    /// What others wrote, framed as data, of at most `max_chars` characters.
    #[must_use]
    pub fn frame_text(&self, text: &str, max_chars: usize) -> String {
        frame::frame_text(text, max_chars.min(FRAME.max_chars))
    }

    /// What a model is told about a tool: the fragment's text up to the first heading, and each
    /// `## parameter` section.
    pub fn describe_tool(&self, language: Language, fragment: Fragment) -> ToolDescription {
        let text = self.render(language, fragment, ());
        let mut sections = text.split("\n## ");
        let description = sections.next().unwrap_or_default().trim().to_owned();
        let parameters = sections
            .filter_map(|section| section.split_once('\n'))
            .map(|(name, words)| (name.trim().to_owned(), words.trim().to_owned()))
            .collect();
        ToolDescription { description, parameters }
    }

    /// SHA-256 over all fragments: which prompts a run was started with.
    pub fn version(&self) -> String {
        self.own().version(&SHIPPED_VERSION)
    }

    /// Puts these in the place of ours from now on, and of what stood there.
    pub fn replace_own(&self, own: OwnPrompts) {
        *self.own.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(own);
    }

    /// The same prompts, which stay as they are now.
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
