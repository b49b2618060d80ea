//! The jobs of the gateway: pages are fetched and read, engines are asked.

use djinn_egress::{Egress, EgressError, EgressRequest};
use djinn_runtime::port::outside::{
    MAX_HITS, MAX_PAGES, MAX_QUERIES, OutsideError, PageAnswer, PageOutcome, PageProblemCode,
    PageTarget, ReadJob, SearchAnswer, SearchJob, check_query,
};
use djinn_runtime::port::secret::Secrets;
use futures::future::join_all;
use url::Url;

use crate::page::{PageReader, RawPage, refuse};
use crate::robots::RobotsCache;
use crate::search::EngineSet;
use crate::settings::GatewaySettings;

/// As what pages are asked for. The name is the one that robots.txt knows.
const USER_AGENT: &str =
    "Mozilla/5.0 (compatible; DjinnBot/1.0; +https://github.com/djinn-agents/djinn)";

/// What is read, the best first.
const ACCEPT: &str = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/*;q=0.8,*/*;q=0.5";

/// What the gateway works with, wherever it runs.
pub(crate) struct GatewayHandler<S> {
    egress: Egress,
    reader: PageReader,
    robots: RobotsCache,
    engines: EngineSet<S>,
}

impl<S: Secrets> GatewayHandler<S> {
    /// A handler that reads stored keys from `secrets`.
    pub(crate) fn new(settings: GatewaySettings, secrets: S) -> Result<Self, EgressError> {
        Ok(Self {
            egress: Egress::new(settings.egress)?,
            reader: PageReader::new(),
            robots: RobotsCache::default(),
            engines: EngineSet::new(settings.engines, secrets),
        })
    }

    /// Reads pages, all at once.
    pub(crate) async fn read_pages(&self, job: ReadJob) -> Result<Vec<PageAnswer>, OutsideError> {
        if job.pages.len() > MAX_PAGES {
            let why = format!("a job may have {MAX_PAGES} pages, and this has {}", job.pages.len());
            return Err(OutsideError::Refused(why));
        }
        let pages = job.pages.into_iter().map(|target| async {
            let url = target.url.clone();
            PageAnswer { url, outcome: self.read_page(target).await }
        });
        Ok(join_all(pages).await)
    }

    /// Puts queries to all engines, at once.
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
        self.engines.search(&self.egress, job).await
    }

    async fn read_page(&self, target: PageTarget) -> PageOutcome {
        if target.heeds_robots
            && let Ok(url) = Url::parse(&target.url)
            && let Some(sentence) = self.robots.find_refusal(&self.egress, &url).await
        {
            return refuse(PageProblemCode::Robots, sentence);
        }
        let request = EgressRequest::get(&target.url)
            .with_header("User-Agent", USER_AGENT)
            .with_header("Accept", ACCEPT);
        match self.egress.send(request).await {
            Ok(response) => {
                let disposition = response.find_header("content-disposition").map(str::to_owned);
                let page = RawPage {
                    url: response.url,
                    status: response.status,
                    content_type: response.content_type,
                    disposition,
                    body: response.body,
                    is_cut: response.is_cut,
                };
                self.reader.read(page, target).await
            }
            Err(error) => refuse(code_of(&error), format!("The page was not read: {error}.")),
        }
    }
}

fn code_of(error: &EgressError) -> PageProblemCode {
    match error {
        EgressError::Address { .. } | EgressError::InvalidRequest { .. } => {
            PageProblemCode::Address
        }
        EgressError::Protocol { .. } => PageProblemCode::Protocol,
        EgressError::TooLarge { .. } => PageProblemCode::TooLarge,
        EgressError::TooManyRedirects { .. } => PageProblemCode::TooManyRedirects,
        EgressError::TooSlow { .. } => PageProblemCode::TooSlow,
        EgressError::Unreachable { .. } => PageProblemCode::Unreachable,
    }
}
