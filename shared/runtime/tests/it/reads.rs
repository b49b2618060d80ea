//! What requests read of the runs they name: the metadata once before they write and once after, and each
//! record once, however long they wait.

use std::collections::BTreeMap;
use std::time::Duration;

use djinn_core::human::{HumanResponse, HumanSettings, ResponseRecord};
use djinn_core::id::{HumanRequestId, RequestId};
use djinn_core::input::{PlanEdit, UserMessage};
use djinn_core::settings::RunSettings;
use djinn_core::tool::EffectClass;
use djinn_protocol::connection::Connection;
use djinn_protocol::link::SessionLinks;
use djinn_protocol::native::NativeProjection;
use djinn_runtime::client::ClientStream;
use djinn_runtime::deadline::Deadline;
use djinn_runtime::port::RunKey;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::tool::{BoxFuture, Toolbox};
use djinn_runtime::question::UserQuestion;
use djinn_runtime::serve::{
    LoadedRun, MessageStatus, PlanEditStatus, ReplayFrom, ResponseCapability, ResponseStatus,
    ServeContext, SnapshotState, StartResult, authorize_run, describe_request, describe_run,
    list_requests, load_audit, replay_run, request_stop, send_message, send_plan_edit,
    serve_client, start_background, start_streaming, submit_response,
};
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::memory::{MemoryStore, OpKind};
use djinn_testkit::point::Points;
use djinn_testkit::sim::{Sim, SimWorld};
use djinn_testkit::story::StoryModel;
use serde_json::json;

use crate::{market, story};

const EVERYTHING: ResponseCapability = ResponseCapability::Everything;

/// Where a run stands when it is asked about.
#[derive(Debug, Clone, Copy)]
enum Scene {
    /// Nobody has driven it.
    Queued,
    /// Its model writes its first reply.
    AtWork,
    /// It asks whether it may send.
    Asking,
    /// A task of its plan does, and others have ended.
    PlanAsking,
    /// Sending was interrupted.
    Interrupted,
    /// It has ended, and no client was sent that.
    Ended,
}

impl Scene {
    async fn set(self) -> (Sim, UserQuestion) {
        let (ledger, points) = (Ledger::default(), Points::new());
        let require = ["send"].map(str::to_owned).into();
        let human = HumanSettings { enabled: true, require, timeout_s: 0, ..Default::default() };
        let (mut sim, settings) = match self {
            Self::Queued | Self::AtWork | Self::Ended => {
                (story::sim(points, &ledger), RunSettings::default())
            }
            Self::Asking => {
                (story::sim(points, &ledger), RunSettings { human, ..RunSettings::default() })
            }
            Self::PlanAsking => {
                (market::sim(points, &ledger), RunSettings { human, ..market::settings() })
            }
            Self::Interrupted => {
                let tool = |name, effect| LedgerTool::new(name, effect, &ledger, &points);
                let send = LedgerTool { interrupts: 1, ..tool("send", EffectClass::Once) };
                let tools = Toolbox::default()
                    .with_tool(tool("look", EffectClass::Read))
                    .with_tool(tool("write", EffectClass::Idempotent))
                    .with_tool(send);
                let model = StoryModel::new(story::lines(), points.clone());
                (Sim::new(model, tools, points), RunSettings::default())
            }
        };
        let question = sim.make_question(settings);
        match self {
            Self::Queued => drop(start_background(&sim.ports, question.clone()).await.unwrap()),
            Self::Ended => {
                drop(sim.run_alone(&question, Duration::from_secs(60)).await.unwrap());
            }
            Self::AtWork | Self::Asking | Self::PlanAsking | Self::Interrupted => {
                let lasts = if matches!(self, Self::AtWork) { 300 } else { 60_000 };
                sim.post_question(question.clone());
                sim.pass_time(Duration::from_millis(lasts)).await;
            }
        }
        (sim, question)
    }
}

/// A request as its route makes it, of the user who asked the question.
#[derive(Clone)]
struct Request {
    ports: SimWorld,
    question: UserQuestion,
}

impl Request {
    async fn load(&self) -> LoadedRun {
        LoadedRun::load(&self.ports, &self.question.run_key()).await.unwrap()
    }

    /// The run, as every route has it that the run stands in the path of.
    async fn authorize(&self) -> LoadedRun {
        let user = self.question.session_key().owner_key();
        authorize_run(&self.ports, &user, self.load().await).await.unwrap().run
    }

    async fn stop(self) {
        let mut run = self.authorize().await;
        request_stop(&self.ports, &mut run, self.question.spec.user.clone()).await.unwrap();
    }

    fn response_to(&self, request: HumanRequestId) -> ResponseRecord {
        let by = Some(self.question.spec.user.clone());
        let (id, comment, answer) = ("a".to_owned(), String::new(), HumanResponse::Confirm);
        ResponseRecord { request, id, by, answer, comment, digest: None, via: None }
    }

    async fn respond(self) {
        let mut run = self.authorize().await;
        let asked = list_requests(&self.ports, &mut run).await.unwrap().remove(0);
        let response = self.response_to(asked.id);
        let given = submit_response(&self.ports, &mut run, response, EVERYTHING).await;
        assert_eq!(given, Ok(ResponseStatus::Accepted));
    }

    /// Somebody follows a link, and responds if the request is still open.
    async fn follow_link(self, responds: bool) {
        let mut run = self.load().await;
        let asked = HumanRequestId::new("t2.c1").unwrap();
        describe_request(&self.ports, &mut run, &asked, "").await.unwrap();
        let response = self.response_to(asked.clone());
        if responds && submit_response(&self.ports, &mut run, response, EVERYTHING).await.is_err() {
            describe_request(&self.ports, &mut run, &asked, "").await.unwrap();
        }
    }

    async fn say(self, text: &str) -> MessageStatus {
        let mut run = self.authorize().await;
        let by = self.question.spec.user.clone();
        let said = UserMessage { id: "m".to_owned(), by, text: text.to_owned() };
        send_message(&self.ports, &mut run, said, EVERYTHING).await.unwrap()
    }

    async fn edit_plan(self) {
        let seen = describe_run(&self.ports, self.load().await).await.unwrap().snapshot;
        let SnapshotState::Available(seen) = seen else { panic!("{seen:?}") };
        self.ports.store.clear_log();
        let mut run = self.authorize().await;
        let steps = json!([
            {"id": 1, "details": "gold"},
            {"id": 2, "details": "silver"},
            {"id": 3, "details": "tell"},
            {"details": "more"},
        ]);
        let edit = PlanEdit {
            id: "e".to_owned(),
            by: self.question.spec.user.clone(),
            version: seen.plan_version,
            title: String::new(),
            steps: serde_json::from_value(steps).unwrap(),
        };
        let edited = send_plan_edit(&self.ports, &mut run, edit).await.unwrap();
        assert!(matches!(edited, PlanEditStatus::Accepted { .. }), "{edited:?}");
    }

    /// Asks again, in other words or the same, and is shown what that leads to.
    async fn ask(self, request: &str, text: &str) {
        let mut question = self.question.clone();
        question.spec.request = RequestId::new(request).unwrap();
        question.spec.question = text.to_owned();
        let opened = start_streaming(&self.ports, question, "asks", None).await.unwrap();
        let StartResult::Existing { run, .. } = opened else { panic!("a run of its own") };
        self.stream(*run).await;
    }

    /// Sends a client all that it has not had.
    async fn stream(&self, run: LoadedRun) {
        let session = self.question.spec.session.clone();
        let projection = Box::new(NativeProjection::new(SessionLinks::new("http://sim", session)));
        let connection = Connection::new(run.key().run.clone(), projection, true);
        let now_ms = self.ports.clock.now_ms();
        let (mut client, mut body) = ClientStream::open(connection, usize::MAX, now_ms);
        replay_run(&self.ports, &run, &mut client, ReplayFrom::Start).await.unwrap();
        let (key, holder) = (run.key().clone(), "viewer".to_owned());
        let serving = ServeContext { key, holder, deadline: Deadline::none(), hops: 0 };
        let read = async { while body.next_frame().await.is_some() {} };
        tokio::join!(serve_client(&self.ports, serving, client, None), read);
    }
}

/// What a request may read of its run.
#[derive(Clone, Copy)]
struct ReadLimits {
    /// Metadata once it has written. A stream looks at the lease now and then, for as long as it lasts.
    meta_after: usize,
    /// How often one record. A stream shows what a message was decided on, or what a paused run waits for.
    record: usize,
}

const ONCE: ReadLimits = ReadLimits { meta_after: 1, record: 1 };
const STREAM: ReadLimits = ReadLimits { meta_after: usize::MAX, record: 1 };
const STREAM_AND_FOLD: ReadLimits = ReadLimits { record: 2, ..STREAM };

type Act = fn(Request) -> BoxFuture<'static, ()>;

const REQUESTS: [(&str, Scene, ReadLimits, Act); 24] = [
    ("GET /runs/{run}, asking", Scene::Asking, ONCE, |request| {
        Box::pin(async move {
            describe_run(&request.ports, request.authorize().await).await.unwrap();
        })
    }),
    ("GET /runs/{run}, ended", Scene::Ended, ONCE, |request| {
        Box::pin(async move {
            describe_run(&request.ports, request.authorize().await).await.unwrap();
        })
    }),
    ("GET /runs/{run}/audit", Scene::Asking, ONCE, |request| {
        Box::pin(async move {
            load_audit(&request.ports, &request.authorize().await).await.unwrap();
        })
    }),
    ("GET /runs/{run}/requests", Scene::Asking, ONCE, |request| {
        Box::pin(async move {
            list_requests(&request.ports, &mut request.authorize().await).await.unwrap();
        })
    }),
    ("POST /runs/{run}/stop, queued", Scene::Queued, ONCE, |request| Box::pin(request.stop())),
    ("POST /runs/{run}/stop, at work", Scene::AtWork, ONCE, |request| Box::pin(request.stop())),
    ("POST /runs/{run}/stop, asking", Scene::Asking, ONCE, |request| Box::pin(request.stop())),
    ("POST /runs/{run}/stop, plan", Scene::PlanAsking, ONCE, |request| Box::pin(request.stop())),
    ("POST /runs/{run}/stop, ended", Scene::Ended, ONCE, |request| Box::pin(request.stop())),
    ("POST /runs/{run}/requests/{request}/response", Scene::Asking, ONCE, |request| {
        Box::pin(request.respond())
    }),
    (
        "POST /runs/{run}/requests/{request}/response, interrupted",
        Scene::Interrupted,
        ONCE,
        |request| Box::pin(request.respond()),
    ),
    ("POST /runs/{run}/requests/{request}/response, plan", Scene::PlanAsking, ONCE, |request| {
        Box::pin(request.respond())
    }),
    ("GET /respond/{token}", Scene::Asking, ONCE, |request| Box::pin(request.follow_link(false))),
    ("POST /respond/{token}", Scene::Asking, ONCE, |request| Box::pin(request.follow_link(true))),
    // What came in between is shown as it was when it was asked.
    ("POST /respond/{token}, late", Scene::Ended, ReadLimits { record: 2, ..ONCE }, |request| {
        Box::pin(request.follow_link(true))
    }),
    ("POST /runs/{run}/messages", Scene::AtWork, ONCE, |request| {
        Box::pin(async move { assert_eq!(request.say("hurry").await, MessageStatus::Accepted) })
    }),
    ("POST /runs/{run}/messages, continue", Scene::Interrupted, ONCE, |request| {
        Box::pin(async move { assert_eq!(request.say("continue").await, MessageStatus::Resumed) })
    }),
    ("PATCH /runs/{run}/plan", Scene::PlanAsking, ONCE, |request| Box::pin(request.edit_plan())),
    ("GET /runs/{run}/events, ended", Scene::Ended, STREAM, |request| {
        Box::pin(async move { request.stream(request.authorize().await).await })
    }),
    ("GET /runs/{run}/events, at work", Scene::AtWork, STREAM, |request| {
        Box::pin(async move { request.stream(request.authorize().await).await })
    }),
    ("GET /runs/{run}/events, asking", Scene::Asking, STREAM_AND_FOLD, |request| {
        Box::pin(async move { request.stream(request.authorize().await).await })
    }),
    ("POST /runs, repeated", Scene::Ended, STREAM, |request| {
        Box::pin(request.ask("r", "What is to be done?"))
    }),
    ("POST /runs, continue", Scene::Ended, STREAM, |request| {
        Box::pin(request.ask("next", "continue"))
    }),
    ("POST /runs, response", Scene::Asking, STREAM_AND_FOLD, |request| {
        Box::pin(request.ask("next", "confirm"))
    }),
];

/// What a request has read of its run.
#[derive(Debug, Default)]
struct Reads {
    meta_before: usize,
    meta_after: usize,
    queries: usize,
    /// By number: how often.
    records: BTreeMap<u64, usize>,
}

impl Reads {
    /// Makes a request in a scene, and lets the run go on meanwhile.
    async fn of(scene: Scene, act: Act) -> Self {
        let (mut sim, question) = scene.set().await;
        let (key, store) = (question.run_key(), MemoryStore::clone(&sim.ports.store));
        store.clear_log();
        let acting = tokio::spawn(act(Request { ports: sim.ports.clone(), question }));
        sim.pass_time(Duration::from_secs(60)).await;
        assert!(acting.is_finished(), "it waits for ever");
        acting.await.unwrap();
        Self::from_log(&store, &key)
    }

    fn from_log(store: &MemoryStore, key: &RunKey) -> Self {
        let mut reads = Self::default();
        let mut has_written = false;
        // Whoever drives it is another process.
        for op in store.log().iter().filter(|op| op.process == 0) {
            has_written |= op.kind.is_write();
            let is_its = op.run.as_ref() == Some(key);
            reads.queries += usize::from(is_its && op.kind == OpKind::Read);
            if is_its && op.kind == OpKind::Meta {
                let counter =
                    if has_written { &mut reads.meta_after } else { &mut reads.meta_before };
                *counter += 1;
            }
        }
        let own = store.record_reads().into_iter();
        for read in own.filter(|read| read.process == 0 && read.run == *key) {
            *reads.records.entry(read.number).or_default() += 1;
        }
        reads
    }

    fn is_within(&self, limits: ReadLimits) -> bool {
        self.meta_before <= 1
            && self.meta_after <= limits.meta_after
            && self.records.values().all(|times| *times <= limits.record)
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_reads_the_metadata_once_before_it_writes_and_once_after_and_each_record_once() {
    let mut excess = Vec::new();
    for (name, scene, limits, act) in REQUESTS {
        let reads = Reads::of(scene, act).await;
        let Reads { meta_before, meta_after, queries, records } = &reads;
        let (known, read) = (records.len(), records.values().sum::<usize>());
        println!("{name}: {meta_before} + {meta_after}, {queries} queries, {read} of {known}");
        if !reads.is_within(limits) {
            excess.push((name, reads));
        }
    }
    assert!(excess.is_empty(), "{excess:#?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_read_again_is_noticed() {
    let again: [Act; 3] = [
        |request| {
            Box::pin(async move {
                request.load().await;
                request.authorize().await;
            })
        },
        |request| {
            Box::pin(async move {
                request.clone().stop().await;
                request.load().await;
            })
        },
        // As each look of a waiter did once: with a journal of its own.
        |request| {
            Box::pin(async move {
                let key = request.question.run_key();
                list_requests(&request.ports, &mut request.authorize().await).await.unwrap();
                request.ports.store.read_from(&key, 0).await.unwrap();
            })
        },
    ];
    for act in again {
        let reads = Reads::of(Scene::Asking, act).await;
        assert!(!reads.is_within(ONCE), "{reads:?}");
    }
}
