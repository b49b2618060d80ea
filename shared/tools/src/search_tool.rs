//! `search_round`: sends queries to all engines, and reads the best pages of the results.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use djinn_core::language::Language;
use djinn_core::tool::search::{QueryFindings, SearchedPage};
use djinn_core::tool::{EffectClass, ResultView, Risk, ToolOutput, ToolPolicy};
use djinn_runtime::port::file::Files;
use djinn_runtime::port::outside::{
    EngineProblem, ForeignDocument, MAX_PAGES, MAX_QUERIES, Outside, OutsideContext, PAGE_CHARS,
    PageAnswer, PageOutcome, PageProblem, PageProblemCode, PageTarget, QueryResult, ReadJob,
    SearchAnswer, SearchHit, SearchJob, check_query,
};
use djinn_runtime::port::sandbox::Sandbox;
use djinn_runtime::port::tool::{ToolContext, ToolError};
use djinn_runtime::prompt::{self, Prompts};
use futures::future::join_all;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::Estimate;
use crate::collect_tool::count_room;
use crate::job_files::render_error;
use crate::search_state::{OtherFindings, SEARCH_TOOL, SearchState, Source};
use crate::typed_tool::{ToolDefinition, TypedTool};
use crate::web_page::{WebPage, explain_outside_error, explain_page_problem, read_document};

/// Timeout of a round.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Time after a round's start until which documents are awaited, so that other results are still stored.
const DOCUMENTS_UNTIL: Duration = Duration::from_secs(50);
/// Requested number of hits per engine and query.
const HITS: u32 = 5;
/// Maximum number of pages read per query.
const PAGES_PER_QUERY: usize = 5;
/// Minimum characters of a page worth reading.
const MIN_PAGE_CHARS: usize = 500;
/// Maximum characters of a page's excerpt.
const MAX_EXCERPT: usize = 300;

/// A tool that runs an agent's queries of one round, and numbers the pages read.
pub struct SearchTool<F> {
    files: Arc<F>,
    outside: Arc<dyn Outside>,
    sandbox: Arc<dyn Sandbox>,
    prompts: Arc<Prompts>,
}

/// The arguments of a call. `prompts/` contains the descriptions for the model.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SearchArguments {
    #[schemars(length(min = 1, max = 5))]
    queries: Vec<String>,
}

/// The result of reading a page: the page, or a sentence with the error.
type PageReading = Result<WebPage, String>;

/// The results of reading a round's pages.
struct PageReadings {
    by_url: BTreeMap<String, PageReading>,
    /// Characters of each page shown to the model; the full text is stored.
    told_chars: usize,
}

impl<F: Files + Send + Sync> SearchTool<F> {
    /// Creates the tool: stores findings in `files`, searches and reads through `outside`, and reads
    /// documents in `sandbox`.
    #[must_use]
    pub fn new(
        files: Arc<F>,
        outside: Arc<dyn Outside>,
        sandbox: Arc<dyn Sandbox>,
        prompts: Arc<Prompts>,
    ) -> Self {
        Self { files, outside, sandbox, prompts }
    }

    async fn search(
        &self,
        context: &ToolContext,
        queries: Vec<String>,
    ) -> Result<SearchAnswer, ToolError> {
        let asker = OutsideContext::of(context);
        let response = self.outside.search_web(&asker, SearchJob { queries, hits: HITS }).await;
        response.map_err(|error| explain_outside_error(&self.prompts, context, &error))
    }

    /// Reads pages concurrently, documents in the sandbox until `until`. Each result is keyed by the
    /// requested URL.
    async fn read_pages(
        &self,
        context: &ToolContext,
        urls: Vec<String>,
        until: Instant,
    ) -> Result<PageReadings, ToolError> {
        let room = count_room(context) / 2 / urls.len().max(1);
        let told_chars = room.clamp(MIN_PAGE_CHARS, PAGE_CHARS as usize);
        if urls.is_empty() {
            return Ok(PageReadings { by_url: BTreeMap::new(), told_chars });
        }
        let target = |url| PageTarget { heeds_robots: true, ..PageTarget::new(url) };
        let pages: Vec<PageTarget> = urls.into_iter().map(target).collect();
        let asker = OutsideContext::of(context);
        let page_answers = self.outside.read_pages(&asker, ReadJob { pages: pages.clone() }).await;
        let page_answers =
            page_answers.map_err(|error| explain_outside_error(&self.prompts, context, &error))?;
        let means = (&*self.sandbox, &*self.prompts);
        let readings = page_answers.into_iter().zip(&pages).map(async |(answer, target)| {
            let PageAnswer { url, outcome } = answer;
            let reading = match outcome {
                PageOutcome::Page(page) => Ok(WebPage::of_text(page, 0)),
                PageOutcome::Document(document) => {
                    read_in_time(means, context, document, target, until).await
                }
                PageOutcome::Refused(problem) => {
                    Err(explain_page_problem(&self.prompts, context, &problem))
                }
            };
            match reading {
                Ok(page) => (url, Ok(page.mask(context).await)),
                Err(why) => (url, Err(why)),
            }
        });
        let by_url = join_all(readings).await.into_iter().collect();
        Ok(PageReadings { by_url, told_chars })
    }

    /// Returns the text for the model: the numbered pages of each query, and the missing parts.
    fn tell_round(
        &self,
        context: &ToolContext,
        results: &[QueryResult],
        readings: &PageReadings,
        problems: &[EngineProblem],
        state: &mut SearchState,
    ) -> String {
        let mut pages: Vec<Value> = Vec::new();
        for result in results {
            let before = pages.len();
            pages.extend(result.hits.iter().filter_map(|hit| tell_page(&hit.url, readings, state)));
            if pages.len() == before {
                pages.push(json!({"number": 0, "title": "", "url": "", "text": ""}));
            }
            let last = pages.len() - before - 1;
            for (nth, page) in pages.iter_mut().skip(before).enumerate() {
                page["query"] = json!(if nth == 0 { result.query.as_str() } else { "" });
                page["others"] = json!(if nth == last { result.others.len() } else { 0 });
                page["is_cut"] = json!(nth == last && result.is_cut);
            }
        }
        let unread = readings.by_url.iter().filter_map(|(url, reading)| {
            let why = reading.as_ref().err()?;
            Some(json!({"url": url, "why": why}))
        });
        let problems =
            problems.iter().map(|problem| json!({"engine": problem.engine, "why": problem.why}));
        let values = json!({
            "results": pages, "unread": unread.collect::<Vec<_>>(),
            "problems": problems.collect::<Vec<_>>(), "count": state.sources.len(),
        });
        self.prompts.render(context.language, prompt::SEARCH_RESULT, values)
    }

    fn check_queries(
        &self,
        context: &ToolContext,
        queries: Vec<String>,
    ) -> Result<Vec<String>, ToolError> {
        let queries: Vec<String> =
            queries.into_iter().map(|query| query.trim().to_owned()).collect();
        let fault = queries.iter().find_map(|query| check_query(query).err());
        match fault {
            None if (1..=MAX_QUERIES).contains(&queries.len()) => Ok(queries),
            fault => {
                let detail = fault.map(|fault| fault.to_string()).unwrap_or_default();
                let values = json!({"problem": "query", "detail": detail});
                Err(render_error(&self.prompts, context, prompt::WEB_REFUSED, values))
            }
        }
    }
}

/// Returns the time until which a round starting now waits for documents.
fn documents_deadline() -> Instant {
    Instant::now() + DOCUMENTS_UNTIL
}

/// Reads a document, or returns a sentence about the timeout.
async fn read_in_time(
    (sandbox, prompts): (&dyn Sandbox, &Prompts),
    context: &ToolContext,
    document: ForeignDocument,
    target: &PageTarget,
    until: Instant,
) -> PageReading {
    let reading = read_document(sandbox, context, document, target);
    let Ok(result) = timeout_at(until, reading).await else {
        let code = PageProblemCode::TooSlow;
        let sentence = String::new();
        let problem = PageProblem { code, sentence, status: None };
        return Err(explain_page_problem(prompts, context, &problem));
    };
    result.map_err(|problem| match problem.explain(prompts, context) {
        ToolError::Failed { detail, .. } => detail,
        ToolError::Interrupted(_) => String::new(),
    })
}

/// Returns the pages worth reading: the best of each query in turn, without repeats and pages already read.
fn choose_pages(results: &[QueryResult], state: &SearchState) -> Vec<String> {
    let mut urls: Vec<String> = Vec::new();
    for rank in 0..PAGES_PER_QUERY {
        for hit in results.iter().filter_map(|result| result.hits.get(rank)) {
            let is_new = state.number_of(&hit.url).is_none() && !urls.contains(&hit.url);
            if is_new && urls.len() < MAX_PAGES {
                urls.push(hit.url.clone());
            }
        }
    }
    urls
}

/// Masks hits for this run.
async fn mask_hits(context: &ToolContext, hits: &mut [SearchHit]) {
    for hit in hits {
        hit.title = context.mask_text(std::mem::take(&mut hit.title)).await;
        hit.snippet = context.mask_text(std::mem::take(&mut hit.snippet)).await;
    }
}

/// Returns a numbered page: with its text if just read, by name if read before; `None` if never read.
fn tell_page(url: &str, readings: &PageReadings, state: &mut SearchState) -> Option<Value> {
    if let Some(number) = state.number_of(url) {
        return Some(json!({"number": number, "url": url, "title": "", "text": ""}));
    }
    let page = readings.by_url.get(url)?.as_ref().ok()?;
    let source = Source { title: page.title.clone(), url: url.to_owned() };
    let number = state.add_source(source);
    let text: String = page.text.chars().take(readings.told_chars).collect();
    Some(json!({"number": number, "url": url, "title": page.title, "text": text}))
}

/// Returns the findings of a query: its hits, with the texts of the pages read.
fn list_findings(result: &QueryResult, readings: &PageReadings) -> QueryFindings {
    let pages = result.hits.iter().map(|hit| {
        let page = readings.by_url.get(&hit.url).and_then(|reading| reading.as_ref().ok());
        let text = page.map_or(hit.snippet.as_str(), |page| page.text.as_str());
        let title = page.map(|page| page.title.as_str()).filter(|title| !title.is_empty());
        SearchedPage {
            title: title.unwrap_or(&hit.title).to_owned(),
            url: hit.url.clone(),
            excerpt: text.to_owned(),
        }
    });
    QueryFindings { query: result.query.clone(), pages: pages.collect() }
}

impl<F: Files + Send + Sync> TypedTool for SearchTool<F> {
    type Arguments = SearchArguments;

    fn definition(&self, language: Language) -> ToolDefinition {
        ToolDefinition {
            name: SEARCH_TOOL.to_owned(),
            words: self.prompts.describe_tool(language, prompt::TOOL_SEARCH_ROUND),
            effect: EffectClass::Read,
            policy: ToolPolicy {
                risk: Risk::Low,
                sends_out: true,
                sends_to_operator: true,
                untrusted: true,
                estimate: Estimate { tokens: 20_000, ms: 5_000, calls: 1, ..Estimate::default() },
                ..ToolPolicy::default()
            },
            timeout: TIMEOUT,
            visible: true,
            for_agents_only: true,
            state_owner: None,
        }
    }

    async fn run(
        &self,
        context: &ToolContext,
        arguments: SearchArguments,
    ) -> Result<ToolOutput, ToolError> {
        let until = documents_deadline();
        let queries = self.check_queries(context, arguments.queries)?;
        let mut state = SearchState::load(&*self.files, &self.prompts, context).await?;
        let SearchAnswer { mut results, problems } = self.search(context, queries).await?;
        for result in &mut results {
            mask_hits(context, &mut result.hits).await;
            mask_hits(context, &mut result.others).await;
        }
        let urls = choose_pages(&results, &state);
        let readings = self.read_pages(context, urls, until).await?;
        let findings: Vec<QueryFindings> =
            results.iter().map(|result| list_findings(result, &readings)).collect();
        let mut short_findings = findings.clone();
        for page in short_findings.iter_mut().flat_map(|findings| &mut findings.pages) {
            page.excerpt = page.excerpt.chars().take(MAX_EXCERPT).collect();
        }
        state.findings.extend(findings);
        for result in &results {
            let others = result.others.iter().map(|hit| SearchedPage {
                title: hit.title.clone(),
                url: hit.url.clone(),
                excerpt: hit.snippet.clone(),
            });
            let found = QueryFindings { query: result.query.clone(), pages: others.collect() };
            state.add_others(OtherFindings { found, is_cut: result.is_cut });
        }
        let text = self.tell_round(context, &results, &readings, &problems, &mut state);
        let state = Some(state.keep(&*self.files, &self.prompts, context).await?);
        let view = ResultView::Searched { results: short_findings };
        Ok(ToolOutput { view, state, ..ToolOutput::from_text(text) })
    }
}

#[cfg(test)]
mod tests {
    use djinn_runtime::port::sandbox::{JobContext, SandboxAnswer, SandboxError, SandboxJob};
    use djinn_runtime::port::tool::BoxFuture;

    use super::*;
    use crate::search_state::tests::context;

    fn found(query: &str, urls: &[&str]) -> QueryResult {
        let hit = |url: &&str| SearchHit {
            title: String::new(),
            url: (*url).to_owned(),
            snippet: String::new(),
            engine: "demo".to_owned(),
        };
        let hits = urls.iter().map(hit).collect();
        QueryResult { query: query.to_owned(), hits, ..QueryResult::default() }
    }

    #[test]
    fn the_best_of_each_query_are_read_first_and_nothing_twice() {
        let results = [found("a", &["a1", "a2", "x"]), found("b", &["b1", "a1", "b3", "b4"])];
        let mut state = SearchState::default();
        assert_eq!(choose_pages(&results, &state), ["a1", "b1", "a2", "x", "b3", "b4"]);
        state.add_source(Source { title: String::new(), url: "b1".to_owned() });
        assert_eq!(choose_pages(&results, &state), ["a1", "a2", "x", "b3", "b4"]);
        let many: Vec<String> = (0..40).map(|nth| format!("p{nth}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(choose_pages(&[found("a", &many)], &state).len(), PAGES_PER_QUERY);
    }

    /// A sandbox that never answers.
    struct SilentSandbox;

    impl Sandbox for SilentSandbox {
        fn max_bytes(&self) -> u64 {
            1
        }

        fn run_job<'a>(
            &'a self,
            _: &'a JobContext,
            _: SandboxJob,
        ) -> BoxFuture<'a, Result<SandboxAnswer, SandboxError>> {
            Box::pin(std::future::pending())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_document_that_takes_too_long_is_one_that_was_not_read() {
        let [url, media_type, name] =
            ["https://a.test/", "application/pdf", "a.pdf"].map(String::from);
        let prompts = Prompts::default();
        let target = PageTarget::new(&*url);
        let document = ForeignDocument { url, media_type, name, content: b"%PDF-1.7".to_vec() };
        let means: (&dyn Sandbox, &Prompts) = (&SilentSandbox, &prompts);
        let until = documents_deadline();
        let reading = read_in_time(means, &context(false), document, &target, until).await;
        assert_eq!(reading.err().unwrap(), "The site took too long.");
    }
}
