//! The tools of a turn: who is offered which, what its record holds of them, and what a call runs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use djinn_core::id::{TenantId, UserId};
use djinn_core::input::{Input, ModelReplied};
use djinn_core::journal::{Journal, Record};
use djinn_core::language::Language;
use djinn_core::settings::{Machine, OutputStyle, RunSettings};
use djinn_core::tool::EffectClass;
use djinn_runtime::port::UserKey;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::tool::{
    AvailableTools, BoxFuture, Tool, ToolAudience, ToolSource, ToolSourceError, Toolbox,
};
use djinn_runtime::settings::Settings;
use djinn_testkit::clock::ManualClock;
use djinn_testkit::point::{Fate, Points};
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use djinn_testkit::versioned::VersionedTool;
use serde_json::{Value, json};

use crate::story::visible;

/// The most bytes of a turn's record whose tools are known.
const MAX_TURN: usize = 2_048;

/// A source whose answers a test sets, and counts.
#[derive(Default)]
struct TestSource {
    /// What each tenant is offered. Whoever is not in it is refused.
    names: Mutex<BTreeMap<String, Vec<&'static str>>>,
    asked: AtomicU64,
    /// Whether it says nothing at all.
    hangs: AtomicBool,
}

impl TestSource {
    fn offering(tenant: &str, names: &[&'static str]) -> Arc<Self> {
        let source = Arc::new(Self::default());
        source.offer(tenant, names);
        source
    }

    fn offer(&self, tenant: &str, names: &[&'static str]) {
        self.lock().insert(tenant.to_owned(), names.to_vec());
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Vec<&'static str>>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn asked(&self) -> u64 {
        self.asked.load(Ordering::SeqCst)
    }
}

impl ToolSource for TestSource {
    fn name(&self) -> &'static str {
        "test"
    }

    fn list_tools<'a>(
        &'a self,
        audience: &'a ToolAudience,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolSourceError>> {
        Box::pin(async move {
            self.asked.fetch_add(1, Ordering::SeqCst);
            if self.hangs.load(Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
            let names = self.lock().get(audience.user.tenant.as_str()).cloned();
            let names = names.ok_or_else(|| ToolSourceError("refused".to_owned()))?;
            let style = audience.output_style.map_or("", OutputStyle::as_str);
            let mode = if audience.mode == Machine::PlanSolve.as_str() { "plan" } else { "" };
            let audience = [audience.user.user.as_str(), mode, style].concat();
            let named = |name: &str| name.replace("{audience}", &audience);
            let tool = |name| Arc::new(VersionedTool::new(named(name))) as Arc<dyn Tool>;
            Ok(names.into_iter().map(tool).collect())
        })
    }
}

fn audience(tenant: &str) -> ToolAudience {
    let (tenant, user) = (TenantId::new(tenant).unwrap(), UserId::new("u").unwrap());
    ToolAudience { user: UserKey { tenant, user }, mode: Machine::React.into(), output_style: None }
}

fn names_of(tools: &AvailableTools) -> Vec<String> {
    tools.specs(Language::En).into_iter().map(|spec| spec.name).collect()
}

fn replies(records: &[Record]) -> Vec<&ModelReplied> {
    let inputs = records.iter().flat_map(|record| &record.inputs);
    let replies = inputs.filter_map(|input| match input {
        Input::ModelReplied(replied) => Some(&**replied),
        _ => None,
    });
    replies.collect()
}

async fn records(sim: &Sim) -> Vec<Record> {
    let key = sim.make_question(RunSettings::default()).run_key();
    sim.ports.store.without_faults();
    sim.ports.store.read_from(&key, 0).await.unwrap()
}

/// A run of three turns that are offered a hundred tools.
fn hundred_tools(points: Points) -> Sim {
    let turn = |nth: usize| {
        StoryLine::say("I look it up.").with_call("tool_042", json!({"of": format!("part {nth}")}))
    };
    let lines = vec![("t1", turn(1)), ("t2", turn(2)), ("t3", StoryLine::say("That is all."))];
    let tools = (0..100).fold(Toolbox::default(), |tools, nth| {
        tools.with_tool(VersionedTool::new(format!("tool_{nth:03}")))
    });
    Sim::new(StoryModel::new(lines, points.clone()), tools, points)
}

#[tokio::test(start_paused = true)]
async fn a_turn_with_100_unchanged_tools_is_a_record_of_2_kb_at_most() {
    let mut sim = hundred_tools(Points::new());
    let seen = sim.run_to_end(&sim.make_question(RunSettings::default())).await.unwrap();
    assert!(visible(&seen).iter().any(|line| line == "t2.c1.result gets: tool_042 is done"));
    let records = records(&sim).await;
    let bytes = |record: &&Record| serde_json::to_vec(record).unwrap().len();
    let turns = records.iter().filter(|record| !replies(std::slice::from_ref(record)).is_empty());
    let turns: Vec<usize> = turns.map(|record| bytes(&record)).collect();
    println!("bytes of the turns' records: {turns:?}");
    assert_eq!(turns.len(), 3);
    assert!(turns[0] > 10_000, "the first one holds the set: {turns:?}");
    assert!(turns[1..].iter().all(|bytes| *bytes <= MAX_TURN), "{turns:?}");
}

#[tokio::test(start_paused = true)]
async fn a_set_stands_once_in_a_journal_wherever_a_process_dies() {
    let points = Points::new();
    let mut whole = hundred_tools(points.clone());
    let question = whole.make_question(RunSettings::default());
    let told = visible(&whole.run_to_end(&question).await.unwrap());
    for (at, name) in points.point_names().iter().enumerate() {
        let mut sim = hundred_tools(Points::killing_at(at));
        let seen = visible(&sim.run_to_end(&question).await.unwrap());
        assert_eq!(seen, told, "killed at {at}, {name}");
        let records = records(&sim).await;
        let held: Vec<usize> = replies(&records).iter().map(|reply| reply.offered.len()).collect();
        assert_eq!(held, [100, 0, 0], "killed at {at}, {name}");
        assert!(replies(&records).iter().all(|reply| reply.tool_set.is_some()));
        assert!(Journal::fold(&records).is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn a_set_stands_once_in_a_journal_that_is_handed_over() {
    let mut sim = hundred_tools(Points::new());
    sim.invocation = Some(Duration::from_secs(3));
    let hand_over_margin = Duration::from_secs(1);
    sim.ports.settings = Settings { hand_over_margin, ..Settings::default() }.into();
    sim.run_to_end(&sim.make_question(RunSettings::default())).await.unwrap();
    let kicks = sim.points.point_names().iter().filter(|name| *name == "after kick").count();
    assert!(kicks >= 2, "only {kicks} hand-overs");
    let records = records(&sim).await;
    let held: Vec<usize> = replies(&records).iter().map(|reply| reply.offered.len()).collect();
    assert_eq!(held, [100, 0, 0]);
}

/// `look`, which is another after each call of `deploy`.
fn deployed_tools(versions: &[(EffectClass, &'static str)]) -> Toolbox {
    let deploy = VersionedTool::new("deploy");
    let version = deploy.version.clone();
    let look = VersionedTool { version, versions: versions.to_vec(), ..VersionedTool::new("look") };
    Toolbox::default().with_tool(deploy).with_tool(look)
}

/// What comes of a call that is made after the tools have become others, and of the next one.
async fn calls_after_deployment(of: &[(EffectClass, &'static str)]) -> [String; 2] {
    let call = |name: &str| StoryLine::say("I go on.").with_call(name, json!({"of": "it"}));
    let lines = vec![
        ("t1", call("deploy").with_call("look", json!({"of": "it"}))),
        ("t2", call("look")),
        ("t3", StoryLine::say("That is all.")),
    ];
    let tools = deployed_tools(of);
    let points = Points::new();
    let mut sim = Sim::new(StoryModel::new(lines, points.clone()), tools, points);
    let settings = RunSettings { max_parallel_tool_calls: 1, ..RunSettings::default() };
    let seen = visible(&sim.run_to_end(&sim.make_question(settings)).await.unwrap());
    let result = |id: &str| {
        let line = seen.iter().find_map(|line| line.strip_prefix(&format!("{id}.result ")));
        line.unwrap_or_else(|| panic!("{id} in {seen:?}")).to_owned()
    };
    [result("t1.c2"), result("t2.c1")]
}

#[tokio::test(start_paused = true)]
async fn a_call_runs_only_what_was_offered() {
    let (read, once) = (EffectClass::Read, EffectClass::Once);
    let (done, changed) = ("gets: look is done", "fails: changed");
    for (versions, expected) in [
        (&[(read, "string"), (read, "string")], [done, done]),
        (&[(read, "string"), (read, "number")], [changed, done]),
        (&[(read, "string"), (once, "string")], [changed, done]),
        (&[(once, "string"), (read, "string")], [changed, done]),
    ] {
        assert_eq!(calls_after_deployment(versions).await, expected, "{versions:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_is_told_that_a_tool_is_another_and_sees_what_it_is_now() {
    let lines = vec![
        ("t1", StoryLine::say("Both.").with_call("deploy", json!({})).with_call("look", json!({}))),
        ("t2", StoryLine::say("That is all.")),
    ];
    let tools = deployed_tools(&[(EffectClass::Read, "string"), (EffectClass::Read, "number")]);
    let (points, settings) =
        (Points::new(), RunSettings { max_parallel_tool_calls: 1, ..RunSettings::default() });
    let model = StoryModel::new(lines, points.clone());
    let mut sim = Sim::new(model.clone(), tools, points);
    sim.run_to_end(&sim.make_question(settings)).await.unwrap();
    let requests = model.requests();
    let types: Vec<&Value> = requests
        .iter()
        .map(|request| request.tools.iter().find(|tool| tool.name == "look").unwrap())
        .map(|look| &look.schema["properties"]["of"]["type"])
        .collect();
    assert_eq!(types, ["string", "number"]);
    let told = requests[1].to_texts().concat();
    assert!(told.contains("look was not run: it has changed since it was offered."), "{told}");
    let records = records(&sim).await;
    let held: Vec<usize> = replies(&records).iter().map(|reply| reply.offered.len()).collect();
    assert_eq!(held, [2, 2], "each set stands where it was first offered");
}

#[tokio::test(start_paused = true)]
async fn each_audience_is_offered_what_the_sources_say() {
    let source = TestSource::offering("t", &["of_{audience}", "look", "ask_user", "planning"]);
    source.offer("other", &["elsewhere"]);
    let own = VersionedTool::new("look");
    let tools = Toolbox::default().with_source(source).with_tool(own);
    for (tenant, style, mode, expected) in [
        ("t", None, Machine::React, &["look", "of_u"][..]),
        ("t", Some(OutputStyle::Html), Machine::React, &["look", "of_uhtml"]),
        ("t", Some(OutputStyle::Html), Machine::PlanSolve, &["look", "of_uplanhtml"]),
        ("t", Some(OutputStyle::DataAgent), Machine::React, &["of_udataAgent"]),
        ("other", None, Machine::React, &["elsewhere", "look"]),
        ("nobody", None, Machine::React, &["look"]),
    ] {
        let model = StoryModel::new(vec![("t1", StoryLine::say("Yes."))], Points::new());
        let mut sim = Sim::new(model.clone(), tools.clone(), Points::new());
        let mut question =
            sim.make_question(RunSettings { mode: mode.into(), ..RunSettings::default() });
        question.spec.tenant = TenantId::new(tenant).unwrap();
        question.spec.output_style = style;
        sim.run_to_end(&question).await.unwrap();
        let request = &model.requests()[0];
        if mode == Machine::PlanSolve {
            assert!(expected.iter().all(|name| request.system.contains(*name)), "{request:?}");
            continue;
        }
        let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, expected, "{tenant} {style:?} {mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_finds_the_tool_of_its_source_and_only_as_long_as_that_lists_it() {
    let source = TestSource::offering("t", &["look"]);
    let line = |text: &str| StoryLine::say(text).with_latency(Duration::from_secs(10));
    let lines = vec![
        ("t1", line("I look.").with_call("look", json!({}))),
        ("t2", line("I look.").with_call("look", json!({}))),
        ("t3", line("That is all.")),
    ];
    let tools = Toolbox::default().with_source(source.clone());
    let points = Points::with_decision(move |_, point| {
        if point.name == "before model t2" {
            source.offer("t", &[]);
        }
        Fate::Passes
    });
    let mut sim = Sim::new(StoryModel::new(lines, points.clone()), tools, points);
    let seen = visible(&sim.run_to_end(&sim.make_question(RunSettings::default())).await.unwrap());
    let results: Vec<&String> = seen.iter().filter(|line| line.contains(".result ")).collect();
    assert_eq!(results, ["t1.c1.result gets: look is done", "t2.c1.result fails: unknown_tool"]);
}

#[tokio::test]
async fn a_source_is_asked_every_five_seconds_for_each_audience() {
    let source = TestSource::offering("a", &["look"]);
    source.offer("b", &["write"]);
    let (clock, tools) = (ManualClock::new(), Toolbox::default().with_source(source.clone()));
    let offered = async |tenant: &str| names_of(&tools.list_tools(&clock, &audience(tenant)).await);
    assert_eq!((offered("a").await, source.asked()), (vec!["look".to_owned()], 1));
    assert_eq!((offered("b").await, source.asked()), (vec!["write".to_owned()], 2));
    source.offer("a", &["look", "more"]);
    clock.advance(Duration::from_millis(4_999));
    assert_eq!((offered("a").await, source.asked()), (vec!["look".to_owned()], 2));
    clock.advance(Duration::from_millis(1));
    let more = vec!["look".to_owned(), "more".to_owned()];
    assert_eq!((offered("a").await, source.asked()), (more, 3));
    // Those that want it at once share one answer.
    clock.advance(Duration::from_secs(5));
    tokio::join!(offered("a"), offered("a"), offered("a"));
    assert_eq!(source.asked(), 4);
}

#[tokio::test]
async fn the_last_good_answer_holds_while_a_source_fails() {
    let source = TestSource::offering("a", &["look"]);
    let (clock, tools) = (ManualClock::new(), Toolbox::default().with_source(source.clone()));
    let known = audience("a");
    assert_eq!(names_of(&tools.list_tools(&clock, &known).await), ["look"]);
    source.lock().clear();
    clock.advance(Duration::from_secs(5));
    let listed = tools.list_tools(&clock, &known).await;
    assert_eq!((names_of(&listed), listed.is_complete()), (vec!["look".to_owned()], true));
    // One that says nothing has five seconds.
    source.hangs.store(true, Ordering::SeqCst);
    clock.advance(Duration::from_secs(5));
    let listing = tools.list_tools(&clock, &known);
    let waiting = async {
        while clock.sleeper_count() == 0 {
            tokio::task::yield_now().await;
        }
        let began_ms = clock.now_ms();
        clock.advance(Duration::from_secs(5));
        clock.now_ms() - began_ms
    };
    let (listed, waited_ms) = tokio::join!(listing, waiting);
    assert_eq!((names_of(&listed), waited_ms), (vec!["look".to_owned()], 5_000));
    // It is left alone for as long as an answer would have held.
    let asked = source.asked();
    tools.list_tools(&clock, &known).await;
    assert_eq!(source.asked(), asked);
    // Another audience has no answer that could hold.
    source.hangs.store(false, Ordering::SeqCst);
    let listed = tools.list_tools(&clock, &audience("b")).await;
    assert_eq!((names_of(&listed), listed.is_complete()), (Vec::new(), false));
}

#[tokio::test]
async fn no_more_than_256_audiences_are_kept() {
    let source = TestSource::offering("a", &["look"]);
    let (clock, tools) = (ManualClock::new(), Toolbox::default().with_source(source.clone()));
    let list = async |nth: usize| {
        let mut audience = audience("a");
        audience.user.user = UserId::new(format!("u{nth}")).unwrap();
        tools.list_tools(&clock, &audience).await;
        clock.advance(Duration::from_millis(1));
        source.asked()
    };
    for nth in 0..256 {
        list(nth).await;
    }
    assert_eq!(list(1).await, 256, "it is known");
    assert_eq!(list(256).await, 257, "it takes the place of the first");
    assert_eq!(list(1).await, 257);
    assert_eq!(list(0).await, 258, "it was forgotten");
}
