//! The agent that searches, with its real tools, while processes die around it: rounds go on with the numbers of
//! those before, and the answer cites what was read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use djinn_core::settings::RunSettings;
use djinn_core::status::RunStatus;
use djinn_runtime::port::file::Files;
use djinn_runtime::port::outside::{
    Outside, OutsideContext, OutsideError, PageAnswer, PageOutcome, PageText, QueryResult, ReadJob,
    SearchAnswer, SearchHit, SearchJob,
};
use djinn_runtime::port::sandbox::{DisabledSandbox, Sandbox};
use djinn_runtime::port::tool::{BoxFuture, OfferedAgents, Toolbox};
use djinn_runtime::question::UserQuestion;
use djinn_testkit::chaos::Chaos;
use djinn_testkit::point::{Fate, Points};
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use djinn_tools::ToolAdapter;
use djinn_tools::agent_files::AgentFiles;
use djinn_tools::cite_tool::CiteTool;
use djinn_tools::search_tool::SearchTool;
use serde_json::json;

use crate::story::visible;

/// Finds two pages for each query, of which the second is found for all.
struct WrittenOutside(Points);

impl Outside for WrittenOutside {
    fn read_pages<'a>(
        &'a self,
        _: &'a OutsideContext,
        job: ReadJob,
    ) -> BoxFuture<'a, Result<Vec<PageAnswer>, OutsideError>> {
        Box::pin(async move {
            self.0.pass("before pages".to_owned()).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
            let read = |url: String| {
                let (title, text) = (format!("Page {url}"), format!("What {url} says."));
                let page = PageText { url: url.clone(), title, text, ..PageText::default() };
                PageAnswer { url, outcome: PageOutcome::Page(page) }
            };
            Ok(job.pages.into_iter().map(|page| read(page.url)).collect())
        })
    }

    fn search_web<'a>(
        &'a self,
        _: &'a OutsideContext,
        job: SearchJob,
    ) -> BoxFuture<'a, Result<SearchAnswer, OutsideError>> {
        Box::pin(async move {
            self.0.pass("before search".to_owned()).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
            let hit = |url: String| SearchHit {
                title: "Hit".to_owned(),
                url,
                snippet: "some words".to_owned(),
                engine: "written".to_owned(),
            };
            let find = |query: String| {
                let urls = [format!("https://{query}.test"), "https://all.test".to_owned()];
                QueryResult { hits: urls.map(hit).to_vec(), query, ..QueryResult::default() }
            };
            let results = job.queries.into_iter().map(find).collect();
            Ok(SearchAnswer { results, problems: Vec::new() })
        })
    }
}

fn lines() -> Vec<(&'static str, StoryLine)> {
    let round = |queries: &[&str]| {
        StoryLine::say("I search.").with_call("search_round", json!({"queries": queries}))
    };
    let query = json!({"query": "What is heat?"});
    vec![
        ("t1", StoryLine::say("Search.").with_call("deep_search", query)),
        ("t1.c1.t1", round(&["gold", "iron"])),
        ("t1.c1.t2", round(&["zinc"]).with_latency(Duration::from_millis(70))),
        ("t1.c1.t3", StoryLine::say("Gold [1], all [2], zinc [4], none [9].")),
        ("t2", StoryLine::say("It is known.")),
    ]
}

fn sim(points: Points) -> Sim {
    let mut sim = Sim::new(StoryModel::new(lines(), points.clone()), Toolbox::default(), points);
    let outside: Arc<dyn Outside> = Arc::new(WrittenOutside(sim.points.clone()));
    let sandbox: Arc<dyn Sandbox> = Arc::new(DisabledSandbox("no sandbox".to_owned()));
    let (store, prompts) = (Arc::clone(&sim.ports.store), Arc::clone(&sim.ports.prompts));
    let search = SearchTool::new(Arc::clone(&store), outside, sandbox, Arc::clone(&prompts));
    let cite = CiteTool::new(store, prompts);
    let tools =
        Toolbox::default().with_tool(ToolAdapter::new(search)).with_tool(ToolAdapter::new(cite));
    // The other agents have tools that are not here.
    let names = ["search_round", "cite", "python", "look", "collect", "render", "file_tool"];
    let agents = AgentFiles::new(BTreeSet::from(names.map(str::to_owned))).read("", &[]).agents;
    let offered = OfferedAgents::Named(BTreeSet::from(["deep_search".to_owned()]));
    sim.ports.tools = tools.with_agents(agents.into()).with_offered_agents(offered);
    sim
}

/// The end state: the ids of all entries, and the files with their texts.
async fn run(sim: &mut Sim) -> (BTreeSet<String>, BTreeMap<String, String>) {
    let question = sim.make_question(RunSettings::default());
    let entries = sim.run_to_end(&question).await.unwrap();
    let lines = visible(&entries);
    let ids = lines.iter().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect();
    (ids, read_files(sim, &question).await)
}

async fn read_files(sim: &Sim, question: &UserQuestion) -> BTreeMap<String, String> {
    let (store, session) = (&sim.ports.store, question.session_key());
    let mut files = BTreeMap::new();
    for file in store.list_files(&session).await.unwrap() {
        let bytes = store.read_file(&session, &file, file.size).await.unwrap();
        files.insert(file.name.to_string(), String::from_utf8(bytes).unwrap());
    }
    files
}

#[tokio::test(start_paused = true)]
async fn an_answer_cites_the_pages_of_all_rounds_by_their_numbers() {
    let (_, files) = run(&mut sim(Points::new())).await;
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(names, ["What is heat_search_result.txt", "search results - What is heat.md"]);
    let report = "Gold [[1]](https://gold.test), all [[2]](https://all.test), \
        zinc [[4]](https://zinc.test), none.\n\n## Sources\n\n\
        - [1] [Page https://gold.test](https://gold.test)\n\
        - [2] [Page https://all.test](https://all.test)\n\
        - [4] [Page https://zinc.test](https://zinc.test)\n\n\
        *Citations that were taken out, since no page of their number was read: 1.*";
    assert_eq!(files["search results - What is heat.md"], report);
    let found: serde_json::Value =
        serde_json::from_str(&files["What is heat_search_result.txt"]).unwrap();
    assert_eq!(found["zinc"][0]["content"], "What https://zinc.test says.");
    assert_eq!(found["zinc"][1]["content"], "some words", "it was read before");
}

#[tokio::test(start_paused = true)]
async fn a_death_at_any_point_changes_neither_numbers_nor_files() {
    let points = Points::new();
    let expected = run(&mut sim(points.clone())).await;
    let passed = points.passed_points();
    assert!(passed.len() > 40, "{} points", passed.len());
    for (at, point) in passed.iter().enumerate().filter(|(_, point)| point.process != 0) {
        let mut sim = sim(Points::killing_at(at));
        let name = format!("process {} dies at {} ({at})", point.process, point.name);
        assert_eq!(run(&mut sim).await, expected, "{name}");
        assert!(!sim.has_alarm(), "an alarm is left: {name}");
    }
}

/// Whether the run finished in the weather of a seed; what it left is what it leaves in good weather.
async fn endure(seed: u64) -> bool {
    let (_, expected) = run(&mut sim(Points::new())).await;
    let chaos = Chaos::of(seed);
    let weather = chaos.clone();
    let points = Points::with_decision(move |_, point| match point.process {
        0 => Fate::Passes,
        _ => weather.draw_fate(),
    });
    let mut sim = sim(points);
    let question = sim.make_question(RunSettings::default());
    assert_eq!(sim.endure_chaos(&question, &chaos).await, Ok(()), "seed {seed}");
    let entries = sim.read_history(&question.run_key()).await.unwrap();
    let end = entries.iter().find_map(|entry| entry.event.run_result()).unwrap();
    let has_finished = end.status == RunStatus::Finished;
    if has_finished {
        assert_eq!(read_files(&sim, &question).await, expected, "seed {seed}");
    }
    has_finished
}

#[test]
fn what_is_found_in_bad_weather_is_what_is_found_in_good() {
    let has_finished = |seed: &u64| {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().unwrap();
        runtime.block_on(endure(*seed))
    };
    let finished = (0..60).filter(has_finished).count();
    assert!((30..60).contains(&finished), "{finished} of 60 finished");
}
