//! The agents that are part of Djinn.

use djinn_core::language::Language;

use crate::file::AgentFile;

macro_rules! agent_files {
    ($language:literal, $($name:literal),*) => {
        [$((
            concat!("prompts/", $language, "/agents/", $name, ".md"),
            include_str!(concat!("../../../prompts/", $language, "/agents/", $name, ".md")),
        )),*]
    };
}

const EN: [(&str, &str); 13] = agent_files!(
    "en",
    "code_interpreter",
    "comprehensive",
    "data_analysis",
    "data_query",
    "deep_search",
    "plan_solve",
    "react",
    "report_tool",
    "researcher",
    "reviewer",
    "router",
    "workflow",
    "writer"
);

const ZH: [(&str, &str); 13] = agent_files!(
    "zh",
    "code_interpreter",
    "comprehensive",
    "data_analysis",
    "data_query",
    "deep_search",
    "plan_solve",
    "react",
    "report_tool",
    "researcher",
    "reviewer",
    "router",
    "workflow",
    "writer"
);

/// Returns the files of Djinn's own agents, by name.
#[must_use]
pub fn shipped_agents(language: Language) -> Vec<AgentFile<'static>> {
    let files = match language {
        Language::En => EN,
        Language::Zh => ZH,
    };
    files.into_iter().map(|(path, text)| AgentFile { path, text, language, entry: false }).collect()
}
