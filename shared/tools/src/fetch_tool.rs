//! `web_fetch`: the text of a page by URL.

use std::sync::Arc;
use std::time::Duration;

use djinn_core::language::Language;
use djinn_core::tool::{EffectClass, Risk, ToolOutput, ToolPolicy};
use djinn_runtime::port::outside::{
    MAX_PAGE_CHARS, MAX_URL_BYTES, Outside, OutsideContext, PageOutcome, PageProblem, PageTarget,
    ReadJob,
};
use djinn_runtime::port::sandbox::Sandbox;
use djinn_runtime::port::tool::{ToolContext, ToolError};
use djinn_runtime::prompt::{self, Prompts};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::Estimate;
use crate::job_files::render_error;
use crate::typed_tool::{ToolDefinition, TypedTool};
use crate::web_page::{WebPage, explain_outside_error, explain_page_problem, read_document};

/// Timeout of a page, including the way to the gateway and back.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Characters reserved for the text around a page.
const MAX_FRAME: u32 = 8_000;

/// A tool that reads a page, or a part of a long page. Documents are read in the sandbox.
pub struct FetchTool {
    outside: Arc<dyn Outside>,
    sandbox: Arc<dyn Sandbox>,
    prompts: Arc<Prompts>,
}

/// The arguments of a call. `prompts/` contains the descriptions for the model.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct FetchArguments {
    #[schemars(length(min = 1, max = 2048))]
    url: String,
    offset: Option<u64>,
}

impl FetchTool {
    /// Reads pages through `outside`, and documents in `sandbox`.
    #[must_use]
    pub fn new(
        outside: Arc<dyn Outside>,
        sandbox: Arc<dyn Sandbox>,
        prompts: Arc<Prompts>,
    ) -> Self {
        Self { outside, sandbox, prompts }
    }

    async fn read_page(
        &self,
        context: &ToolContext,
        target: &PageTarget,
    ) -> Result<WebPage, ToolError> {
        let job = ReadJob { pages: vec![target.clone()] };
        let asker = OutsideContext::of(context);
        let page_answers = self.outside.read_pages(&asker, job).await;
        let page_answers =
            page_answers.map_err(|error| explain_outside_error(&self.prompts, context, &error))?;
        let outcome = page_answers.into_iter().next().map(|answer| answer.outcome);
        let explain = |problem: &PageProblem| {
            ToolError::from_detail(explain_page_problem(&self.prompts, context, problem))
        };
        match outcome {
            Some(PageOutcome::Page(page)) => Ok(WebPage::of_text(page, target.offset)),
            Some(PageOutcome::Document(document)) => {
                let result = read_document(&*self.sandbox, context, document, target).await;
                result.map_err(|problem| problem.explain(&self.prompts, context))
            }
            Some(PageOutcome::Refused(problem)) => Err(explain(&problem)),
            None => Err(render_error(
                &self.prompts,
                context,
                prompt::WEB_REFUSED,
                json!({
                    "problem": "unavailable", "detail": "",
                }),
            )),
        }
    }
}

impl TypedTool for FetchTool {
    type Arguments = FetchArguments;

    fn definition(&self, language: Language) -> ToolDefinition {
        ToolDefinition {
            name: "web_fetch".to_owned(),
            words: self.prompts.describe_tool(language, prompt::TOOL_WEB_FETCH),
            effect: EffectClass::Read,
            policy: ToolPolicy {
                risk: Risk::Low,
                sends_out: true,
                url_argument: Some("url".to_owned()),
                untrusted: true,
                estimate: Estimate { tokens: 5_000, ms: 3_000, calls: 1, ..Estimate::default() },
                ..ToolPolicy::default()
            },
            // A document waits for the sandbox.
            timeout: self.sandbox.call_timeout().max(TIMEOUT),
            visible: true,
            for_agents_only: false,
            state_owner: None,
        }
    }

    async fn run(
        &self,
        context: &ToolContext,
        arguments: FetchArguments,
    ) -> Result<ToolOutput, ToolError> {
        let FetchArguments { url, offset } = arguments;
        let url = url.trim();
        if url.len() > MAX_URL_BYTES {
            let values = json!({"code": "too_long", "status": 0, "status_kind": "", "detail": ""});
            return Err(render_error(&self.prompts, context, prompt::WEB_PAGE_PROBLEM, values));
        }
        let limit = u64::from(context.max_observe.saturating_sub(MAX_FRAME).max(2_000));
        let target = PageTarget {
            offset: offset.unwrap_or_default(),
            limit: limit.min(MAX_PAGE_CHARS),
            ..PageTarget::new(url)
        };
        let page = self.read_page(context, &target).await?.mask(context).await;
        let text = self.prompts.render(context.language, prompt::WEB_PAGE, page.values());
        Ok(ToolOutput::from_text(text))
    }
}
