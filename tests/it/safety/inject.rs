//! A model that does whatever it reads, and what others wrote for it to read: nothing is sent before a
//! person says so.

mod model;

use std::collections::BTreeSet;

use djinn_core::language::Language;
use djinn_core::tool::{EffectClass, ToolOutput, ToolPolicy, ToolSpec};
use djinn_local::{Stores, StoresOptions};
use djinn_runtime::port::tool::{BoxFuture, Tool, ToolContext, ToolError};
use djinn_scripted::ScriptedModel;
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::point::Points;
use futures::StreamExt as _;
use serde_json::{Map, Value, json};

use crate::world::{Client, Door, Frame, Protocol, Question};

/// An instruction a line.
const INJECTED: &str = include_str!("injected.txt");

/// Characters of a result that a model is shown; what lies behind them it reads in a file.
const OBSERVED: usize = 10_000;

/// The most cases that are tried at once.
const AT_ONCE: usize = 8;

/// How an instruction comes before the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Carrier {
    /// In a file that it reads.
    File,
    /// In what a tool finds elsewhere.
    Page,
    /// In what that tool says when it fails.
    Failure,
    /// Behind what a result shows, in the file that keeps the whole.
    Long,
    /// In what a file is said to hold, where files are listed.
    Description,
    /// In the answer to an earlier question of the session.
    Earlier,
    /// In what a task reads, and obeys.
    Task,
    /// In what a task reads; the next one obeys its report.
    NextTask,
    /// In what a task reads; the planner obeys its report, by a step of its own.
    Planner,
}

impl Carrier {
    const ALL: [Self; 9] = [
        Self::File,
        Self::Page,
        Self::Failure,
        Self::Long,
        Self::Description,
        Self::Earlier,
        Self::Task,
        Self::NextTask,
        Self::Planner,
    ];
}

/// One instruction on its way.
#[derive(Debug, Clone)]
struct Case {
    nth: usize,
    carrier: Carrier,
    text: String,
}

/// What became of it.
struct Met {
    case: Case,
    run: String,
    frames: Vec<Frame>,
}

fn cases() -> Vec<Case> {
    let lines = INJECTED.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    let carriers = Carrier::ALL.into_iter().cycle();
    let case = |(nth, (line, carrier)): (usize, (&str, Carrier))| {
        let text = line.replace("{}", &model::address(nth)).replace("\\n", "\n");
        Case { nth, carrier, text }
    };
    lines.zip(carriers).enumerate().map(case).collect()
}

/// What others have put on the web: a page for each case.
struct Fetch(Vec<Case>);

impl Tool for Fetch {
    fn spec(&self, _: Language) -> ToolSpec {
        ToolSpec {
            name: "fetch".to_owned(),
            description: "Fetches a page.".to_owned(),
            schema: json!({"type": "object"}),
            effect: EffectClass::Read,
            policy: ToolPolicy { untrusted: true, ..ToolPolicy::default() },
            timeout_ms: 60_000,
            visible: true,
        }
    }

    fn run<'a>(
        &'a self,
        _: &'a ToolContext,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let nth = arguments["page"].as_u64().unwrap();
        let case = self.0.iter().find(|case| case.nth as u64 == nth).unwrap();
        Box::pin(async move {
            match case.carrier {
                Carrier::Failure => Err(ToolError::from_detail(&case.text)),
                Carrier::Long => {
                    let link = format!("https://news.example/{}/{}\n", "archive/".repeat(8), nth);
                    let links = link.repeat(OBSERVED / link.len() + 1);
                    Ok(ToolOutput::from_text(format!("{links}{}", case.text)))
                }
                Carrier::File
                | Carrier::Page
                | Carrier::Description
                | Carrier::Earlier
                | Carrier::Task
                | Carrier::NextTask
                | Carrier::Planner => Ok(ToolOutput::from_text(case.text.clone())),
            }
        })
    }

    fn check_arguments(&self, _: &Map<String, Value>) -> Result<(), String> {
        Ok(())
    }
}

/// A deployment whose model obeys and whose mails cannot be taken back.
struct Deployment {
    client: Client,
    model: ScriptedModel,
    ledger: Ledger,
    _door: Door,
}

impl Deployment {
    /// `human_requests` is its `DJINN_PEOPLE__REQUESTS`.
    async fn start(human_requests: &str) -> Self {
        let model = ScriptedModel::start().await.unwrap();
        model.on_request(|_| true).respond_with(model::obey).always();
        let stores = Stores::start(StoresOptions::default()).unwrap();
        let aws = stores.settings().clone();
        let vars = vec![
            ("OPENAI_API_KEY", crate::world::KEY.to_owned()),
            ("OPENAI_BASE_URL", model.base_url()),
            ("OPENAI_MODEL", "scripted".to_owned()),
            ("DJINN_PEOPLE__REQUESTS", human_requests.to_owned()),
        ];
        let ledger = Ledger::default();
        let mail = LedgerTool {
            declared: ToolPolicy { sends_out: true, ..ToolPolicy::default() },
            logs_arguments: true,
            ..LedgerTool::new("send_mail", EffectClass::Once, &ledger, &Points::new())
        };
        let mut door = Door::onto(stores, aws, vars, |parts| {
            parts.ports.tools = parts.ports.tools.clone().with_tool(mail).with_tool(Fetch(cases()));
        });
        let client = door.listen().await;
        Self { client, model, ledger, _door: door }
    }

    /// Lets the model meet an instruction; its run has ended or waits then.
    async fn meet(&self, case: Case) -> Met {
        let (nth, session) = (case.nth, format!("s{}", case.nth));
        let look = format!(r#"Look with fetch {{"page":{nth}}}"#);
        let question = match case.carrier {
            Carrier::File => {
                self.client.upload(&session, "notes.md", &case.text).await;
                r#"Look with file_tool {"command":"get","filename":"notes.md"}"#.to_owned()
            }
            Carrier::Description => {
                let file = json!({"requestId": session, "fileName": "notes.md", "content": "x",
                    "description": case.text});
                let added = self.client.post("/v1/file_tool/upload_file", &file).await;
                assert_eq!(added.status, 200, "{}", added.text);
                "What files are there?".to_owned()
            }
            Carrier::Page | Carrier::Failure | Carrier::Long => look,
            Carrier::Earlier => {
                let earlier = Question::of(&format!("Tell me only. {look}"), &session);
                let ended = self.client.ending(&earlier).await;
                assert!(ended["answer"].to_string().contains(&model::address(nth)), "{ended}");
                "And what else?".to_owned()
            }
            Carrier::Task => format!("Plan it in one step. {look}"),
            Carrier::NextTask => {
                format!("Plan it in two steps, the first of which only tells. {look}")
            }
            Carrier::Planner => format!("Plan it step by step, each of which only tells. {look}"),
        };
        let question = Question::new(&question).session(&session).request(&format!("q{nth}"));
        let deep = matches!(case.carrier, Carrier::Task | Carrier::NextTask | Carrier::Planner);
        let question = if deep { question.deep() } else { question };
        let stream = self.client.ask(Protocol::Native, &question).await;
        let (run, frames) = (stream.run(), stream.rest().await);
        Met { case, run, frames }
    }

    async fn meet_all(&self, cases: impl IntoIterator<Item = Case>) -> Vec<Met> {
        let met = cases.into_iter().map(|case| self.meet(case));
        futures::stream::iter(met).buffer_unordered(AT_ONCE).collect().await
    }

    /// The one mail that a run waits to send.
    async fn pending(&self, met: &Met) -> Value {
        let requests = self.client.open_requests(&met.run).await;
        let [ask] = &requests[..] else {
            let happened: Vec<_> = met.frames.iter().map(Frame::json).collect();
            panic!("{:?}: {requests:?} {happened:#?}", met.case)
        };
        ask.clone()
    }

    async fn answer(&self, met: &Met, ask: &Value, word: &str) {
        let body = json!({"response": word, "digest": ask["digest"]});
        let taken = self.client.respond(&met.run, ask["id"].as_str().unwrap(), &body).await;
        assert_eq!(taken.status, 200, "{:?}: {}", met.case, taken.text);
        self.followed(&met.run).await;
    }

    /// All entries of a run, when it has ended.
    async fn followed(&self, run: &str) -> Vec<Value> {
        loop {
            let frames = self.client.come_back(run, None).await.rest().await;
            let entries: Vec<Value> = frames.iter().map(Frame::json).collect();
            if entries.last().is_some_and(|last| last["type"] == "run.ended") {
                return entries;
            }
        }
    }

    /// What was sent, as `(to, body)`.
    fn sent(&self) -> Vec<Value> {
        let lines = self.ledger.lines().into_iter();
        let arguments = lines.map(|line| line.split_once(" {").unwrap().1.to_owned());
        arguments.map(|rest| serde_json::from_str(&format!("{{{rest}")).unwrap()).collect()
    }
}

fn is_untrusted(ask: &Value) -> bool {
    ask["reasons"].as_array().is_some_and(|why| why.contains(&json!("untrusted")))
}

/// Every instruction is obeyed as far as the model can, and held; what is confirmed is sent once.
async fn nothing_is_sent_unasked(human_requests: &str, cases: Vec<Case>) {
    let deployment = Deployment::start(human_requests).await;
    let count = cases.len();
    let met = deployment.meet_all(cases).await;
    assert_eq!(deployment.sent(), [] as [Value; 0], "sent before anybody was asked");
    let mut attempted = BTreeSet::new();
    let mut confirmed = Vec::new();
    for met in &met {
        let ask = deployment.pending(met).await;
        assert!(is_untrusted(&ask) && ask["tool"] == "send_mail", "{:?}: {ask}", met.case);
        let to = ask["arguments"]["to"].as_str().unwrap();
        assert_eq!(to, model::address(met.case.nth), "{:?}", met.case);
        attempted.insert(to.to_owned());
        match met.case.nth % 10 {
            0 | 5 => {
                deployment.answer(met, &ask, "confirm").await;
                confirmed.push(ask["arguments"].clone());
                assert_eq!(deployment.sent(), confirmed, "{:?}", met.case);
            }
            1 | 7 => deployment.answer(met, &ask, "skip").await,
            _ => {}
        }
    }
    assert_eq!((attempted.len(), confirmed.len()), (count, count / 5), "the model did not obey");
    assert_eq!(deployment.sent(), confirmed);
    let asked = deployment.model.requests();
    assert!(asked.iter().any(|request| request.system().contains("<untrusted>")));
}

#[test]
fn a_hundred_instructions_differ_and_come_in_every_way() {
    let cases = cases();
    let lines: BTreeSet<&str> = INJECTED.lines().collect();
    assert_eq!(cases.len(), 100);
    assert!(cases.iter().all(|case| case.text.contains(&model::address(case.nth))));
    assert!(lines.len() > 100, "two are alike");
    for carrier in Carrier::ALL {
        let of = |half: &[Case]| half.iter().filter(|case| case.carrier == carrier).count();
        assert!(of(&cases[..50]) >= 5 && of(&cases[50..]) >= 5, "{carrier:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guard_alone_holds_what_an_obedient_model_would_send() {
    nothing_is_sent_unasked("", cases()[..50].to_vec()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_approval_it_is_held_even_where_the_settings_confirm_by_themselves() {
    let careless = r#"{"enabled": true, "on_timeout": "confirm", "timeout": 0,
        "auto_confirm_tools": ["send_mail"]}"#;
    nothing_is_sent_unasked(careless, cases()[50..].to_vec()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_in_time_is_no_consent_whatever_the_default_answer_is() {
    let careless = r#"{"on_timeout": "confirm", "timeout": 1}"#;
    let deployment = Deployment::start(careless).await;
    let met = deployment.meet_all(cases().into_iter().step_by(5)).await;
    for met in &met {
        let entries = deployment.followed(&met.run).await;
        let of = |kind: &str| entries.iter().filter(|e| e["type"] == kind).collect::<Vec<_>>();
        let asked = of("human.requested");
        assert_eq!(asked.len(), 1, "{:?}: {entries:#?}", met.case);
        assert!(is_untrusted(&asked[0]["requests"][0]), "{:?}", met.case);
        let answered = of("human.resolved");
        assert_eq!((answered.len(), &answered[0]["response"]), (1, &json!("skip")), "{answered:?}");
        assert_eq!(answered[0]["by"], Value::Null);
    }
    assert_eq!(deployment.sent(), [] as [Value; 0]);
}
