//! The gateway's jobs: fetching and reading pages, and querying engines.

use std::future::Future;
use std::time::Duration;

use djinn_egress::{Egress, EgressError, EgressRequest};
use djinn_mcp::McpClient;
use djinn_outside::{ToolProblem, ToolProblemCode};
use djinn_runtime::port::outside::{
    MAX_HITS, MAX_PAGES, MAX_QUERIES, OutsideError, PageAnswer, PageOutcome, PageProblem,
    PageProblemCode, PageTarget, ReadJob, SealJob, SearchAnswer, SearchJob, ToolAnswer, ToolJob,
    check_query,
};
use djinn_runtime::port::secret::Secrets;
use futures::future::join_all;
use tokio::time::timeout;
use url::Url;

use crate::configuration::GatewayConfiguration;
use crate::keys::{KeyCache, KeyLocation};
use crate::page::{PageReader, RawPage, refuse};
use crate::robots::RobotsCache;
use crate::sealing::KeySealer;
use crate::search::EngineSet;
use crate::settings::GatewaySettings;
use crate::tool_call::{TOOL_LIMITS, ToolCaller};

/// The `User-Agent` header of page requests. Its product name is the agent name for robots.txt.
const USER_AGENT: &str =
    "Mozilla/5.0 (compatible; DjinnBot/1.0; +https://github.com/djinn-agents/djinn)";

/// The `Accept` header of page requests, preferred types first.
const ACCEPT: &str = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/*;q=0.8,*/*;q=0.5";

/// Timeout for a page, including robots.txt and the wait for other pages. A job's pages are returned
/// together.
const PATIENCE: Duration = Duration::from_secs(30);

/// The gateway's clients and caches, the same on Lambda and on a laptop.
pub(crate) struct GatewayHandler<S> {
    egress: Egress,
    tools: Egress,
    servers: McpClient,
    reader: PageReader,
    robots: RobotsCache,
    configuration: GatewayConfiguration,
    keys: KeyCache<S>,
    /// The location of the secrets that seal users' keys.
    seal: KeyLocation,
}

impl<S: Secrets> GatewayHandler<S> {
    /// Creates a handler, which reads stored keys from `secrets`.
    pub(crate) fn new(mut settings: GatewaySettings, secrets: S) -> Result<Self, EgressError> {
        let configuration = GatewayConfiguration::new(&mut settings);
        let egress = Egress::new(settings.egress)?;
        let tools = egress.with_limits(TOOL_LIMITS);
        Ok(Self {
            configuration,
            servers: McpClient::new(tools.clone()),
            tools,
            egress,
            reader: PageReader::new(),
            robots: RobotsCache::default(),
            keys: KeyCache::new(secrets),
            seal: settings.seal,
        })
    }

    /// Reads pages in parallel.
    pub(crate) async fn read_pages(&self, job: ReadJob) -> Result<Vec<PageAnswer>, OutsideError> {
        if job.pages.len() > MAX_PAGES {
            let why = format!("a job may have {MAX_PAGES} pages, and this has {}", job.pages.len());
            return Err(OutsideError::Refused(why));
        }
        let pages = job.pages.into_iter().map(|target| async {
            let url = target.url.clone();
            PageAnswer { url, outcome: end_in_time(self.read_page(target)).await }
        });
        Ok(join_all(pages).await)
    }

    /// Sends queries to all engines in parallel.
    pub(crate) async fn search_web(
        &self,
        mut job: SearchJob,
    ) -> Result<SearchAnswer, OutsideError> {
        if !(1..=MAX_QUERIES).contains(&job.queries.len()) {
            let count = job.queries.len();
            let why = format!("a job has 1 to {MAX_QUERIES} queries, and this has {count}");
            return Err(OutsideError::Refused(why));
        }
        for query in &job.queries {
            check_query(query).map_err(|fault| OutsideError::Refused(fault.to_string()))?;
        }
        job.hits = job.hits.clamp(1, MAX_HITS);
        let engines = self.configuration.current_engines().await?;
        let set = EngineSet { engines: &engines, egress: &self.egress, keys: &self.keys };
        set.search(job).await
    }

    /// Calls a tool, if its file is still the one that the run was offered.
    pub(crate) async fn call_tool(&self, job: ToolJob) -> ToolAnswer {
        match self.configuration.find_tool(&job.tool, &job.definition).await {
            Some(tool) => {
                let egress = &self.tools;
                let servers = &self.servers;
                let caller =
                    ToolCaller { egress, servers, keys: &self.keys, sealer: self.sealer() };
                caller.call(tool, job).await
            }
            None => {
                let code = ToolProblemCode::Changed;
                ToolAnswer::Failed(ToolProblem { code, status: None, detail: String::new() })
            }
        }
    }

    /// Seals a user's key.
    pub(crate) async fn seal_key(&self, job: SealJob) -> Result<String, OutsideError> {
        self.sealer().seal(&job).await
    }

    fn sealer(&self) -> KeySealer<'_, S> {
        KeySealer { location: &self.seal, keys: &self.keys }
    }

    async fn read_page(&self, target: PageTarget) -> PageOutcome {
        match self.fetch_page(&target).await {
            Ok(page) => self.reader.read(page, target).await,
            Err(problem) => PageOutcome::Refused(problem),
        }
    }

    async fn fetch_page(&self, target: &PageTarget) -> Result<RawPage, PageProblem> {
        let requested_url = Url::parse(&target.url).ok();
        if let Some(url) = &requested_url {
            self.heed_robots(target, url).await?;
        }
        let request = EgressRequest::get(&target.url)
            .with_header("User-Agent", USER_AGENT)
            .with_header("Accept", ACCEPT);
        let response = self.egress.send(request).await.map_err(|error| {
            let sentence = format!("The page was not read: {error}.");
            let code = match error {
                EgressError::Address { .. } | EgressError::InvalidRequest { .. } => {
                    PageProblemCode::Address
                }
                EgressError::Protocol { .. } => PageProblemCode::Protocol,
                EgressError::TooLarge { .. } => PageProblemCode::TooLarge,
                EgressError::TooManyRedirects { .. } => PageProblemCode::TooManyRedirects,
                EgressError::TooSlow { .. } => PageProblemCode::TooSlow,
                EgressError::Unreachable { .. } => PageProblemCode::Unreachable,
            };
            PageProblem { code, sentence, status: None }
        })?;
        // A redirect may lead to a page that robots.txt forbids, on this site or another.
        if requested_url.is_some_and(|requested_url| requested_url != response.url) {
            self.heed_robots(target, &response.url).await?;
        }
        let disposition = response.find_header("content-disposition").map(str::to_owned);
        Ok(RawPage {
            url: response.url,
            status: response.status,
            content_type: response.content_type,
            disposition,
            body: response.body,
            is_cut: response.is_cut,
        })
    }

    async fn heed_robots(&self, target: &PageTarget, url: &Url) -> Result<(), PageProblem> {
        if !target.heeds_robots {
            return Ok(());
        }
        match self.robots.find_refusal(&self.egress, url).await {
            Some(sentence) => {
                Err(PageProblem { code: PageProblemCode::Robots, sentence, status: None })
            }
            None => Ok(()),
        }
    }
}

/// Returns the outcome of a page, or an error after the timeout.
async fn end_in_time(reading: impl Future<Output = PageOutcome>) -> PageOutcome {
    timeout(PATIENCE, reading).await.unwrap_or_else(|_| {
        refuse(PageProblemCode::TooSlow, "The page was not read in time.".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_page_for_which_there_is_no_place_keeps_others_waiting_for_its_time_only() {
        let reader = PageReader::with_places(0);
        let page = RawPage {
            url: Url::parse("https://example.com/").unwrap(),
            status: 200,
            content_type: None,
            disposition: None,
            body: b"<p>words".to_vec(),
            is_cut: false,
        };
        let read = reader.read(page, PageTarget::new("https://example.com/"));
        let PageOutcome::Refused(problem) = end_in_time(read).await else { panic!("it was read") };
        assert_eq!(problem.code, PageProblemCode::TooSlow);
    }
}
