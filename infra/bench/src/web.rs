//! The web: a search from the question to the cited answer, and large pages.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use djinn_runtime::port::outside::{
    Outside, OutsideContext, PageNote, PageOutcome, PageTarget, ReadJob,
};
use djinn_scripted::{RecordedRequest, Script, ScriptedResponse};
use serde_json::json;

use crate::agent_server::{AgentOptions, AgentServer};
use crate::backend::Backend;
use crate::client::BenchClient;
use crate::figure::{Figure, FigureLimit};
use crate::sample::Sample;
use crate::sandbox::bench_session;
use crate::web_site::{WebSite, write_script_page, write_text_page};

/// Response delay of every server.
const DELAY: Duration = Duration::from_millis(100);
/// Timed searches, after a warm-up.
const SEARCHES: usize = 10;
/// Timed pages of each kind, after a warm-up.
const TIMED: usize = 50;
const WARM_UP: usize = 3;
/// Size of a large and of a usual page, in bytes.
const LARGE: usize = 500_000;
const USUAL: usize = 20_000;

pub(crate) async fn measure_web() -> Result<Vec<Figure>> {
    let scripts = write_script_page(LARGE);
    let text = write_text_page(LARGE);
    Ok(vec![
        measure_search().await.context("a search")?,
        measure_page("a 500 KB page of scripts, fetched and read", scripts).await?,
        measure_page("a 500 KB page of text, fetched and read", text).await?,
    ])
}

/// Returns a script for a run with one search of five queries, and an answer with citations.
fn search_script() -> Script {
    let script = Script::default();
    let respond = move |request: &RecordedRequest| {
        let call = request.header("djinn-call").unwrap_or_default();
        let response = ScriptedResponse::default();
        match call.split('/').nth(1).unwrap_or_default() {
            "t1" => response.call("deep_search", json!({"query": "What do heat pumps cost?"})),
            "t1.c1.t1" => {
                let queries = ["price", "subsidy", "noise", "radiators", "winter"];
                response.call("search_round", json!({ "queries": queries }))
            }
            "t1.c1.t2" => {
                response.reply("They cost less than they seem to [1], and are quiet [7].")
            }
            _ => response.reply("All is done."),
        }
        .at_once()
    };
    script.on_request(|_| true).respond_with(respond).always();
    script
}

async fn measure_search() -> Result<Figure> {
    let site = WebSite::start(DELAY, write_text_page(USUAL)).await?;
    let backend = Backend::start(search_script()).await?;
    let web: Option<Arc<dyn Outside>> = Some(Arc::new(site.open_gateway()?));
    let changes = AgentOptions { web, ..AgentOptions::default() };
    let agent = AgentServer::start(&backend.address(), changes).await?;
    let client = BenchClient::new(agent.url())?;
    // The first run also fetches every host's robots.txt.
    let first = client.run_question().await?.whole;
    let mut sample = Sample::default();
    for _ in 0..SEARCHES {
        sample.add(client.run_question().await?.whole);
    }
    backend.check_expected()?;
    Ok(Figure {
        name: "deep search, 5 sub-queries × 2 engines × 5 pages, 1 round",
        limit: FigureLimit::AtMost(0.8),
        unit: "s",
        measured: sample.median() / 1_000.0,
        about: format!(
            "p95 {:.2} s of {SEARCHES}; servers at 100 ms, 20 pages of 20 KB on 5 hosts; the first, which asks \
             for robots.txt, {:.2} s; from the question to the end of the run, the model at once",
            sample.p95() / 1_000.0,
            first.as_secs_f64()
        ),
    })
}

async fn measure_page(name: &'static str, page: String) -> Result<Figure> {
    let bytes = page.len();
    let site = WebSite::start(Duration::ZERO, page).await?;
    let gateway = site.open_gateway()?;
    let session = bench_session()?;
    let context = OutsideContext { user: session.owner.clone(), session };
    let mut sample = Sample::default();
    for nth in 0..WARM_UP + TIMED {
        let pages = site.page_urls(1).into_iter().map(PageTarget::new).collect();
        let began = Instant::now();
        let page_answers = gateway.read_pages(&context, ReadJob { pages }).await?;
        let took = began.elapsed();
        match page_answers.first().map(|answer| &answer.outcome) {
            // The page is the complete main text.
            Some(PageOutcome::Page(page))
                if page.notes.iter().all(|note| *note == PageNote::MoreLinks) => {}
            Some(PageOutcome::Page(page)) => bail!("{name}: {:?}", page.notes),
            outcome => bail!("{name}: {outcome:?}"),
        }
        if nth >= WARM_UP {
            sample.add(took);
        }
    }
    Ok(Figure {
        name,
        limit: FigureLimit::AtMost(25.0),
        unit: "ms",
        measured: sample.median(),
        about: format!("p95 {:.1} ms of {TIMED}; {bytes} bytes", sample.p95()),
    })
}
