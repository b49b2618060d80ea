//! `cite`: checks that a search's answer cites only pages read, and saves the answer.

use std::sync::Arc;

use djinn_core::file::{ProductFile, media_type_of};
use djinn_core::id::FileName;
use djinn_core::language::Language;
use djinn_core::tool::search::QueryFindings;
use djinn_core::tool::{EffectClass, Risk, ToolOutput, ToolPolicy};
use djinn_runtime::port::StoreError;
use djinn_runtime::port::file::{Files, NewFile};
use djinn_runtime::port::tool::{ToolContext, ToolError};
use djinn_runtime::prompt::{self, Prompts, ToolDescription};
use djinn_text::citations::link_citations;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::citation::{CitedText, check_citations};
use crate::job_files::render_error;
use crate::search_state::{OtherFindings, SEARCH_TOOL, SearchState, Source};
use crate::typed_tool::{ToolDefinition, TypedTool};

/// Maximum characters of a query in a file's name.
const MAX_NAME: usize = 60;
/// Maximum characters of an answer in its file's description.
const MAX_DESCRIPTION: usize = 300;
/// Characters removed from a file's name, as in the original.
const BAD_NAME_CHARACTERS: &str = "\"&$@=;+?\\{^}%~[]<>#|'`/:*";

/// A tool that checks an answer's citations and adds the list of sources. Agent files call the tool with the
/// answer.
pub struct CiteTool<F> {
    files: Arc<F>,
    prompts: Arc<Prompts>,
}

/// The arguments of a call. `prompts/` contains the descriptions for the model.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct CiteArguments {
    query: Option<String>,
    answer: String,
}

impl<F: Files + Send + Sync> CiteTool<F> {
    /// Keeps answers in `files`.
    #[must_use]
    pub fn new(files: Arc<F>, prompts: Arc<Prompts>) -> Self {
        Self { files, prompts }
    }

    async fn save_file(
        &self,
        context: &ToolContext,
        name: String,
        description: &str,
        internal: bool,
        content: &str,
    ) -> Result<Option<ProductFile>, ToolError> {
        let result = save_text(&*self.files, context, name, description, internal, content).await;
        result
            .map_err(|_| render_error(&self.prompts, context, prompt::FILE_UNAVAILABLE, json!({})))
    }

    /// Returns the answer with its list of sources.
    fn add_sources(
        &self,
        context: &ToolContext,
        cited_text: &CitedText,
        sources: &[Source],
    ) -> String {
        let entries =
            sources.iter().zip(1..).filter(|(_, number)| cited_text.cited.contains(number));
        let entries = entries.map(|(source, number)| {
            let title = if source.title.is_empty() { &source.url } else { &source.title };
            // No character ends the link's label or address, or is read as Markdown.
            let title = escape_characters(&one_line(title), "\\[]<>`", |c| format!("\\{c}"));
            let url =
                escape_characters(&source.url, "()<>`\\ ", |c| format!("%{:02X}", u32::from(c)));
            json!({"number": number, "title": title, "url": url})
        });
        let values = json!({
            "text": cited_text.text, "sources": entries.collect::<Vec<_>>(),
            "dropped": cited_text.dropped.len(), "read": sources.len(),
        });
        self.prompts.render(context.language, prompt::CITE_RESULT, values)
    }
}

impl<F: Files + Send + Sync> TypedTool for CiteTool<F> {
    type Arguments = CiteArguments;

    fn definition(&self, language: Language) -> ToolDefinition {
        let words = self.prompts.describe_tool(language, prompt::TOOL_CITE);
        citation_tool("cite", words, SEARCH_TOOL)
    }

    async fn run(
        &self,
        context: &ToolContext,
        arguments: CiteArguments,
    ) -> Result<ToolOutput, ToolError> {
        let CiteArguments { query, answer } = arguments;
        let query = query.unwrap_or_default();
        let SearchState { sources, findings, others } =
            SearchState::load(&*self.files, &self.prompts, context).await?;
        let cited_text = check_citations(&answer, "", sources.len());
        let text = self.add_sources(context, &cited_text, &sources);
        let words = clean_name(&query);
        let report = match context.language {
            Language::En => format!("search results - {words}.md"),
            Language::Zh => format!("{words}的搜索结果.md"),
        };
        let raw = format!("{words}_search_result.txt");
        let raw =
            self.save_file(context, raw, &query, true, &list_findings(&findings, &others)).await?;
        let linked_text = link_citations(&text);
        let report = self
            .save_file(context, report, &one_line(&cited_text.text), false, &linked_text)
            .await?;
        Ok(ToolOutput {
            files: raw.into_iter().chain(report).collect(),
            ..ToolOutput::from_text(text)
        })
    }
}

/// Returns the definition of a tool that checks an answer's citations with the state of the tool `state_owner`.
pub(crate) fn citation_tool(
    name: &str,
    words: ToolDescription,
    state_owner: &str,
) -> ToolDefinition {
    let policy = ToolPolicy {
        risk: Risk::Low,
        untrusted: true,
        echoes_model: true,
        ..ToolPolicy::default()
    };
    let state_owner = Some(state_owner.to_owned());
    let effect = EffectClass::Idempotent;
    ToolDefinition { policy, state_owner, ..ToolDefinition::for_agents(name, words, effect) }
}

/// Stores a text of a call as a file of the session; a text without a valid name has no file.
pub(crate) async fn save_text<F: Files>(
    files: &F,
    context: &ToolContext,
    name: String,
    description: &str,
    internal: bool,
    content: &str,
) -> Result<Option<ProductFile>, StoreError> {
    let Ok(name) = FileName::new(name) else { return Ok(None) };
    let new = NewFile {
        description: prompt::truncate_text(description, MAX_DESCRIPTION),
        internal,
        media_type: media_type_of(name.as_str()).to_owned(),
        name,
        uploaded: false,
        writer: context.user.clone(),
    };
    files.write_file(&context.session, &new, content.as_bytes()).await.map(Some)
}

/// Returns the findings by query in the original's format, followed by the engines' further results.
fn list_findings(findings: &[QueryFindings], others: &[OtherFindings]) -> String {
    let list_pages = |query_findings: &QueryFindings| -> Vec<Value> {
        let pages = query_findings.pages.iter().map(|page| {
            json!({"doc_type": "web_page", "title": page.title, "link": page.url, "content": page.excerpt})
        });
        pages.collect()
    };
    let mut documents_by_query = Map::new();
    // Rounds may ask the same.
    let mut add_documents = |query: String, documents: Vec<Value>| {
        if let Value::Array(all) = documents_by_query.entry(query).or_insert(json!([])) {
            all.extend(documents);
        }
    };
    for query_findings in findings {
        add_documents(query_findings.query.clone(), list_pages(query_findings));
    }
    for OtherFindings { found: query_findings, is_cut } in others {
        let mut documents = list_pages(query_findings);
        documents.extend(is_cut.then(|| json!({"doc_type": "end_missing"})));
        add_documents(format!("{} (+)", query_findings.query), documents);
    }
    serde_json::to_string_pretty(&documents_by_query).unwrap_or_default()
}

/// Converts a query into a part of a file's name.
pub(crate) fn clean_name(query: &str) -> String {
    let is_good =
        |character: &char| !character.is_control() && !BAD_NAME_CHARACTERS.contains(*character);
    let name: String = one_line(query).chars().filter(is_good).take(MAX_NAME).collect();
    name.trim_matches([' ', '.']).to_owned()
}

fn escape_characters(text: &str, bad: &str, escape: impl Fn(char) -> String) -> String {
    let characters = text.chars().map(|character| {
        if bad.contains(character) { escape(character) } else { character.to_string() }
    });
    characters.collect()
}

pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search_state::tests::{FullStore, context};

    #[test]
    fn what_rounds_found_stands_together_and_what_was_named_besides_behind_it() {
        let found = |query: &str, url: &str| {
            let page = json!({"title": "T", "url": url, "excerpt": "E"});
            serde_json::from_value(json!({"query": query, "pages": [page]})).unwrap()
        };
        let others = [OtherFindings { found: found("a", "u3"), is_cut: true }];
        let text = list_findings(&[found("a", "u1"), found("b", "u2"), found("a", "u4")], &others);
        let listed: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&listed["a"][0]["link"], &listed["a"][1]["link"]),
            (&json!("u1"), &json!("u4"))
        );
        assert_eq!(listed["a (+)"][1], json!({"doc_type": "end_missing"}));
        assert!(text.find("\"u2\"") < text.find("\"u3\""), "{text}");
    }

    #[test]
    fn a_source_leads_to_its_page_whatever_it_is_called() {
        for (title, url, link) in [
            ("Heat\npumps", "https://a.test/?a=1", "[Heat pumps](https://a.test/?a=1)"),
            ("", "https://a.test/", "[https://a.test/](https://a.test/)"),
            (
                "x](https://evil.test) [y",
                "https://a.test/",
                r"[x\](https://evil.test) \[y](https://a.test/)",
            ),
            (r"a\", "https://a.test/", r"[a\\](https://a.test/)"),
            ("`<b>`", "https://a.test/", r"[\`\<b\>\`](https://a.test/)"),
            (
                "Heat (2024)",
                "https://a.test/Heat_(x)",
                "[Heat (2024)](https://a.test/Heat_%28x%29)",
            ),
            ("a", "https://a.test/?a b<`>", "[a](https://a.test/?a%20b%3C%60%3E)"),
        ] {
            let source = Source { title: title.to_owned(), url: url.to_owned() };
            let cited = check_citations("4 [1].", "", 1);
            let tool = CiteTool::new(Arc::new(FullStore(None)), Arc::new(Prompts::default()));
            let text = tool.add_sources(&context(false), &cited, &[source]);
            assert_eq!(text, format!("4 [1].\n\n## Sources\n\n- [1] {link}"), "{title}");
        }
    }

    #[test]
    fn a_query_becomes_a_name() {
        for (query, name) in [
            ("What do heat pumps cost?", "What do heat pumps cost"),
            ("近一年金价", "近一年金价"),
            ("../../etc/passwd\n\"x\"", "etcpasswd x"),
            ("..", ""),
        ] {
            assert_eq!(clean_name(query), name, "{query}");
        }
        assert_eq!(clean_name(&"热".repeat(200)).chars().count(), MAX_NAME);
    }
}
