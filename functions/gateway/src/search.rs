//! Searches: all queries go to all engines in parallel.

mod merge;

use std::collections::BTreeMap;
use std::time::Duration;

use djinn_egress::{Egress, EgressError, EgressResponse};
use djinn_runtime::port::outside::{EngineProblem, OutsideError, SearchAnswer, SearchJob};
use djinn_runtime::port::secret::{Secret, Secrets};
use futures::future::join_all;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::engine::{EngineQuestion, FoundPage, SearchEngine, close_json};
use crate::keys::{KEY_REFUSALS, KeyCache};
use crate::settings::EngineSettings;
use merge::{EnginePages, merge_pages};

/// Timeout for an engine, while other engines have already responded.
const PATIENCE: Duration = Duration::from_secs(10);

/// An engine's results for a query.
struct EngineAnswer {
    pages: Vec<FoundPage>,
    /// True if the engine has more results than were read.
    is_cut: bool,
}

/// The engines of a search, and the means to query them.
pub(crate) struct EngineSet<'a, S> {
    pub(crate) engines: &'a [EngineSettings],
    pub(crate) egress: &'a Egress,
    pub(crate) keys: &'a KeyCache<S>,
}

impl<S: Secrets> EngineSet<'_, S> {
    /// Sends the queries to the engines, and returns the merged results.
    pub(crate) async fn search(&self, job: SearchJob) -> Result<SearchAnswer, OutsideError> {
        if self.engines.is_empty() {
            let why = "there is no search engine here: set `search.engines` in djinn.toml, as docs/web.md says";
            return Err(OutsideError::Disabled(why.to_owned()));
        }
        let pairs = job.queries.iter().flat_map(|query| {
            self.engines.iter().map(move |engine| self.ask_engine(engine, query, job.hits))
        });
        let mut engine_answers = join_all(pairs).await.into_iter();
        let mut pages_by_query = Vec::with_capacity(job.queries.len());
        let mut failures: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for _ in &job.queries {
            let mut of_query = Vec::with_capacity(self.engines.len());
            for (number, (settings, answer)) in
                self.engines.iter().zip(&mut engine_answers).enumerate()
            {
                match answer {
                    Ok(EngineAnswer { pages, is_cut }) => {
                        let engine = settings.engine.name();
                        of_query.push(EnginePages { engine, pages, is_cut });
                    }
                    Err(why) => failures.entry(number).or_default().push(why),
                }
            }
            pages_by_query.push(of_query);
        }
        let problems = self.describe_failures(&failures, job.queries.len());
        if failures.values().map(Vec::len).sum::<usize>() == job.queries.len() * self.engines.len()
        {
            let reasons = problems.iter().map(|it| format!("{}: {}", it.engine, it.why));
            let reasons: Vec<_> = reasons.collect();
            return Err(OutsideError::Unavailable(format!(
                "no search engine answered ({})",
                reasons.join("; ")
            )));
        }
        let results = merge_pages(job.queries, pages_by_query, job.hits as usize);
        Ok(SearchAnswer { results, problems })
    }

    fn describe_failures(
        &self,
        failures: &BTreeMap<usize, Vec<String>>,
        queries: usize,
    ) -> Vec<EngineProblem> {
        let problems = self.engines.iter().enumerate().filter_map(|(number, settings)| {
            let whys = failures.get(&number)?;
            let first = whys.first()?;
            let why = if whys.len() == queries {
                first.clone()
            } else {
                format!("{first}, for {} of {queries} queries", whys.len())
            };
            Some(EngineProblem { engine: settings.engine.name().to_owned(), why })
        });
        problems.collect()
    }

    /// Returns an engine's pages for a query, or the reason for the failure.
    async fn ask_engine(
        &self,
        settings: &EngineSettings,
        query: &str,
        hits: u32,
    ) -> Result<EngineAnswer, String> {
        let engine = settings.engine;
        let answer = async {
            let key = self.keys.find_key(&settings.key).await.map_err(|error| error.to_string())?;
            let mut response = self.send_question(settings, key.as_ref(), query, hits).await?;
            if KEY_REFUSALS.contains(&response.status)
                && self.keys.forget_key(&settings.key, key.as_ref())
            {
                // The stored key may have changed since the last read.
                let again =
                    self.keys.find_key(&settings.key).await.map_err(|error| error.to_string())?;
                if again != key {
                    response = self.send_question(settings, again.as_ref(), query, hits).await?;
                }
            }
            match response.status {
                200..300 => {}
                401 | 403 => {
                    return Err(format!("it refuses the key (status {})", response.status));
                }
                429 => return Err("it is asked too often (status 429)".to_owned()),
                500.. => return Err(format!("it has a fault (status {})", response.status)),
                status => return Err(format!("it answered with status {status}")),
            }
            let reading = spawn_blocking(move || read_answer(engine, response));
            reading.await.unwrap_or_else(|_| Err("its answer cannot be read".to_owned()))
        };
        let answer = timeout(PATIENCE, answer).await;
        let answer = answer.unwrap_or_else(|_| Err("it did not answer in time".to_owned()));
        answer.inspect_err(|why| tracing::warn!(engine = engine.name(), why, "a search failed"))
    }

    async fn send_question(
        &self,
        settings: &EngineSettings,
        key: Option<&Secret>,
        query: &str,
        hits: u32,
    ) -> Result<EgressResponse, String> {
        let question = EngineQuestion { url: &settings.url, key, query, hits };
        let request = settings.engine.request(&question);
        self.egress.send(request).await.map_err(|error| explain_egress(&error))
    }
}

/// Returns the pages of a response. From a truncated response, returns the complete pages.
fn read_answer(
    engine: &dyn SearchEngine,
    response: EgressResponse,
) -> Result<EngineAnswer, String> {
    let is_cut = response.is_cut;
    let repaired_json = if is_cut { close_json(&response.body) } else { None };
    let answer = match repaired_json {
        Some(repaired_json) => repaired_json,
        None => response.into_whole_body().map_err(|error| explain_egress(&error))?,
    };
    let pages = engine.read(&answer).map_err(|error| error.to_string())?;
    Ok(EngineAnswer { pages, is_cut })
}

/// Returns the reason for a failure, safe for logs: the URL may contain the query and is left out.
fn explain_egress(error: &EgressError) -> String {
    match error {
        EgressError::Address { why, .. } => format!("its address is not opened: {why}"),
        EgressError::TooManyRedirects { .. } => "it leads on and on".to_owned(),
        EgressError::InvalidRequest { .. }
        | EgressError::Protocol { .. }
        | EgressError::TooLarge { .. }
        | EgressError::TooSlow { .. }
        | EgressError::Unreachable { .. } => error.to_string(),
    }
}
