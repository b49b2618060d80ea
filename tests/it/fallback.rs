//! A model that cannot answer: its fallback does, everybody sees which and why, and what it costs is the
//! fallback's price.

use std::time::Duration;

use djinn_core::id::{TenantId, UserId};
use djinn_runtime::port::UserKey;
use djinn_runtime::port::budget::{Budgets as _, DayKey};
use djinn_runtime::port::clock::Clock as _;
use djinn_scripted::{Rule, ScriptedModel};
use serde_json::{Value, json};

use crate::joyagent::shown;
use crate::world::{Frame, Options, Protocol, Question, World, planner, settled, summary, task};

/// Dollars a million tokens: the backup costs eight times as much.
const PRICES: &str = r#"{
    "main-model": {"input": 1000000, "cached_input": 1000000, "output": 1000000},
    "backup-model": {"input": 8000000, "cached_input": 8000000, "output": 8000000}
}"#;

/// What one scripted reply of the backup costs: 100 tokens read and 20 written.
const COSTS: u64 = 120 * 8;

/// A system whose model has a fallback: `world.model` is the one, `backup` the other.
struct Pair {
    world: World,
    backup: ScriptedModel,
}

impl Pair {
    async fn start() -> Self {
        Self::start_with(|_, _| {}).await
    }

    /// `change` is given the whole of `DJINN_MODELS`.
    async fn start_with(change: impl FnOnce(&mut Options, &mut Value)) -> Self {
        let backup = ScriptedModel::start().await.unwrap();
        let world = World::start_with(|options, main| {
            let model = |name: &str, url: String| {
                json!({"provider": "openai", "model": format!("{name}-model"), "base_url": url})
            };
            let mut models = json!({
                "default": "main",
                "fallback": "backup",
                "models": {
                    "main": model("main", main.base_url()),
                    "backup": model("backup", backup.base_url()),
                },
            });
            // However slow the machine is: the fallback takes over after three attempts, not after a time.
            options.settings.outages.patience = Duration::from_secs(60);
            change(options, &mut models);
            options.vars.push(("DJINN_MODELS", models.to_string()));
            options.vars.push(("DJINN_PRICES", PRICES.to_owned()));
        })
        .await;
        Self { world, backup }
    }

    /// Asks so that the run has a reply of the backup at most. Returns what was sent.
    async fn told(&self, request: &str) -> Vec<Frame> {
        let question = Question::new(ASKED).session("s1").request(request);
        self.world.ask(Protocol::Native, &question).await.rest().await
    }

    fn asked(&self) -> (usize, usize) {
        (self.world.model.requests().len(), self.backup.requests().len())
    }
}

const ASKED: &str = "How tall is the Eiffel tower?";
const ANSWER: &str = "It is 330 metres tall.";

fn of<'a>(frames: &'a [Frame], event: &'a str) -> Vec<Value> {
    frames.iter().filter(|frame| frame.event() == event).map(Frame::json).collect()
}

/// What can be wrong with a model: how its server answers, how often it is asked until it is given up, and
/// what that is called.
type Wrong = (fn(Rule) -> Rule, usize, &'static str);

const WRONG: [Wrong; 8] = [
    (|rule| rule.status(500), 3, "model_overloaded"),
    (|rule| rule.status(529), 3, "model_overloaded"),
    (
        |rule| {
            let quotes = "Failed to parse input at pos 395: your account is overdue, 账户已欠费";
            rule.error(500, "server_error", None, quotes)
        },
        3,
        "model_overloaded",
    ),
    (|rule| rule.reply("It is 12 metres, as I").cut_after(2), 3, "model_unreachable"),
    (|rule| rule.raw("text/html", ["<html>Welcome</html>"]), 3, "model_unreadable"),
    (|rule| rule.status(401), 1, "model_key_refused"),
    (|rule| rule.status(404), 1, "model_unknown"),
    (
        |rule| {
            let message = "The request failed because your account has an overdue balance.";
            let error = json!({"code": "AccountOverdueError", "message": message});
            rule.status_body(403, json!({"error": error}))
        },
        1,
        "model_no_balance",
    ),
];

#[tokio::test]
async fn a_model_that_fails_or_is_refused_is_replaced_and_that_is_seen_and_charged() {
    for (wrong, times, code) in WRONG {
        let pair = Pair::start().await;
        wrong(pair.world.model.on(ASKED)).always();
        pair.backup.on(ASKED).reply(ANSWER);
        let frames = pair.told("r1").await;
        assert_eq!(pair.asked(), (times, 1), "{code}: {frames:#?}");
        let changed = of(&frames, "model.changed");
        assert_eq!(changed.len(), 1, "{code}: {frames:#?}");
        let changed = &changed[0];
        assert_eq!(changed["failure"]["code"], code);
        assert_eq!(changed["message"], "t1");
        assert_eq!((&changed["from"], &changed["to"]), (&json!("main"), &json!("backup")));
        // What the first had sent is void, each time.
        let void = if code == "model_unreachable" { times } else { 0 };
        assert_eq!(of(&frames, "message.reset").len(), void, "{code}");
        assert_eq!(of(&frames, "message.completed")[0]["text"], ANSWER);
        let end = frames.last().unwrap().json();
        assert_eq!((&end["status"], &end["answer"]), (&json!("finished"), &json!(ANSWER)));
        assert_eq!(end["spent"]["usage"]["micro_usd"], COSTS, "{code}");
    }
}

#[tokio::test]
async fn nobody_who_listens_is_no_model() {
    let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/", nobody.local_addr().unwrap());
    drop(nobody);
    let pair =
        Pair::start_with(|_, models| models["models"]["main"]["base_url"] = url.into()).await;
    pair.backup.on(ASKED).reply(ANSWER);
    let frames = pair.told("r1").await;
    assert_eq!(of(&frames, "model.changed")[0]["failure"]["code"], "model_unreachable");
    assert_eq!(frames.last().unwrap().json()["answer"], ANSWER);
}

#[tokio::test]
async fn joyagents_clients_read_it_as_a_thought_and_the_answer_once() {
    for protocol in [Protocol::Raw, Protocol::Ui] {
        let pair = Pair::start().await;
        pair.world.model.on(ASKED).reply("It is 12 metres, as I").cut_after(2).always();
        let file = json!({"command": "upload", "filename": "tower.md", "content": "330"});
        pair.backup.on(ASKED).say("I write it down.").call("file_tool", file).then().reply(ANSWER);
        summary(&pair.backup).reply(ANSWER).always();
        let frames = pair.world.ask(protocol, &Question::of(ASKED, "s1")).await.rest().await;
        let text: String = frames.iter().filter_map(Frame::received).map(|f| &*f.data).collect();
        let says = "The model backup answers in place of main. The model could not be reached";
        assert_eq!(text.matches(says).count(), 1, "{protocol:?}: {text}");
        let last = frames.last().unwrap();
        assert!(last.is_final() && last.json().to_string().contains(ANSWER), "{last:?}");
        // The page shows it below its lanes, and nowhere else.
        let page = shown(protocol, false, &frames);
        page.check_unlocked();
        assert_eq!(page.conclusion().unwrap().text, ANSWER, "{page:#?}");
        let chips = page.lanes().into_iter().flat_map(|lane| lane.chips);
        assert_eq!(chips.filter(|chip| chip.text.contains(ANSWER)).count(), 0, "{page:#?}");
    }
}

#[tokio::test]
async fn for_a_minute_after_that_the_first_is_not_asked() {
    let pair = Pair::start().await;
    let of_one_call = "The deployment of anna@acme.example has no room.";
    pair.world.model.on(ASKED).error(500, "x", None, of_one_call).always();
    pair.backup.on(ASKED).reply(ANSWER).always();
    for request in ["r1", "r2"] {
        let frames = pair.told(request).await;
        let failure = &of(&frames, "model.changed")[0]["failure"];
        assert_eq!(failure["code"], "model_overloaded");
        // What it said of the one call is nothing for the other, which may be somebody else's.
        let detail = failure["detail"].as_str().unwrap();
        assert_eq!(detail.contains("anna@acme"), request == "r1", "{detail}");
        assert_eq!(detail.contains("within the last minute"), request == "r2", "{detail}");
        assert_eq!(frames.last().unwrap().json()["answer"], ANSWER);
    }
    assert_eq!(pair.asked(), (3, 2), "three attempts, once");
}

#[tokio::test]
async fn what_is_wrong_with_the_request_is_nothing_that_another_model_could_mend() {
    let refusals: [fn(Rule) -> Rule; 5] = [
        |rule| {
            let schema =
                "Invalid schema for function 'list_overdue_invoices': None is not 'object'.";
            let code = Some("invalid_function_parameters");
            rule.error(400, "invalid_request_error", code, schema)
        },
        |rule| rule.error(400, "x", Some("data_inspection_failed"), "Inappropriate content."),
        |rule| rule.error(403, "x", None, "Your input was flagged by moderation."),
        |rule| rule.error(400, "x", None, "Unsupported value: 'temperature'"),
        |rule| rule.error(400, "x", Some("context_length_exceeded"), "Too long."),
    ];
    for refuse in refusals {
        let pair = Pair::start().await;
        refuse(pair.world.model.on(ASKED)).always();
        let frames = pair.told("r1").await;
        let end = frames.last().unwrap().json();
        assert_eq!(end["status"], "failed");
        let code = end["failure"]["code"].as_str().unwrap();
        assert!(["model_refused", "context_too_long"].contains(&code), "{code}");
        assert_eq!((pair.asked().1, of(&frames, "model.changed").len()), (0, 0), "{code}");
    }
}

#[tokio::test]
async fn where_both_fail_the_run_ends_with_the_first_and_names_both() {
    let pair = Pair::start().await;
    pair.world.model.on(ASKED).error(401, "x", None, "That key is unknown.").always();
    pair.backup.on(ASKED).error(404, "x", None, "Out for lunch.").always();
    let end = pair.told("r1").await.last().unwrap().json();
    assert_eq!(
        (&end["status"], &end["failure"]["code"]),
        (&json!("failed"), &json!("model_key_refused"))
    );
    let detail = end["failure"]["detail"].as_str().unwrap();
    let both = "HTTP 401: That key is unknown. (the fallback backup: HTTP 404: Out for lunch.)";
    assert_eq!(detail, both);
    assert_eq!(pair.asked(), (1, 1));
    // Then the first is asked again at once.
    pair.told("r2").await;
    assert_eq!(pair.asked(), (2, 2));
}

#[tokio::test]
async fn an_account_that_somebody_can_top_up_pauses_the_run_whichever_of_the_two_it_is() {
    let overdue: fn(Rule) -> Rule = |rule| rule.error(402, "x", None, "Insufficient Balance");
    let down: fn(Rule) -> Rule = |rule| rule.error(404, "x", None, "No such model");
    for (main, backup, told) in [
        (overdue, down, "Insufficient Balance (the fallback backup: HTTP 404: No such model)"),
        (
            down,
            overdue,
            "Insufficient Balance (the fallback backup; before: HTTP 404: No such model)",
        ),
    ] {
        let pair = Pair::start().await;
        main(pair.world.model.on(ASKED)).then().reply(ANSWER);
        backup(pair.backup.on(ASKED));
        let frames = pair.told("r1").await;
        let asked = &of(&frames, "human.requested")[0]["requests"][0]["interrupt"];
        assert_eq!(asked["code"], "model_no_balance");
        assert!(asked["message"].as_str().unwrap().contains(told), "{asked}");
        // Whoever says so has seen to it: the first is asked first.
        let go_on = Question::new("continue").session("s1").request("r2");
        let frames = pair.world.told(&go_on).await;
        let frames = match frames.last().unwrap().event() {
            "run.ended" => frames,
            _ => pair.world.told(&Question::new("continue").session("s1").request("r3")).await,
        };
        assert_eq!(frames.last().unwrap().json()["answer"], ANSWER);
        assert_eq!(pair.asked(), (2, 1));
    }
}

#[tokio::test]
async fn the_conversation_is_fitted_into_the_window_of_the_one_that_answers() {
    let pair = Pair::start_with(|_, models| {
        models["models"]["backup"]["max_input_tokens"] = 6_000.into();
    })
    .await;
    let long = "figure ".repeat(9_000);
    pair.world.model.on("Tell me much.").reply(long.as_str());
    let much = Question::new("Tell me much.").session("s1").request("r0");
    pair.world.told(&much).await;
    pair.world.model.on(ASKED).status(401);
    pair.backup.on(ASKED).reply(ANSWER);
    assert_eq!(pair.told("r1").await.last().unwrap().json()["answer"], ANSWER);
    let holds_all =
        |model: &ScriptedModel| model.last_request().unwrap().text().contains(long.trim());
    assert_eq!((holds_all(&pair.world.model), holds_all(&pair.backup)), (true, false));
}

#[tokio::test]
async fn its_money_is_reserved_anew_at_its_own_price() {
    let pair = Pair::start_with(|options, _| {
        options.settings.user.day_micro_usd = Some(1_000_000_000);
    })
    .await;
    pair.world.model.on(ASKED).status(401);
    let gate = pair.backup.on(ASKED).reply(ANSWER).gate(1);
    let question = Question::of(ASKED, "s1");
    let stream = pair.world.ask(Protocol::Native, &question).await;
    gate.wait_until_reached().await;
    let ports = pair.world.system.ports();
    let user =
        UserKey { tenant: TenantId::new("local").unwrap(), user: UserId::new("you").unwrap() };
    let day = DayKey::at_time(user, ports.clock.now_ms());
    let held = ports.store.read_day_total(&day).await.unwrap();
    assert!(held.micro_usd > 16_384 * 8, "{held:?}");
    gate.open();
    let run = stream.run();
    stream.rest().await;
    settled(ports, &run).await;
    assert_eq!(ports.store.read_day_total(&day).await.unwrap().micro_usd, COSTS);
}

#[tokio::test]
async fn a_role_without_a_fallback_has_none() {
    let pair =
        Pair::start_with(|_, models| models["fallback"] = json!({"planner": "backup"})).await;
    pair.world.model.on(ASKED).status(401);
    let frames = pair.told("r1").await;
    assert_eq!(frames.last().unwrap().json()["failure"]["code"], "model_key_refused");
    assert_eq!((pair.asked(), of(&frames, "model.changed").len()), ((1, 0), 0));
}

#[tokio::test]
async fn a_tasks_model_is_replaced_within_the_task() {
    let pair = Pair::start_with(|_, models| {
        let mut worker = models["models"]["main"].clone();
        worker["model"] = "worker-model".into();
        models["models"]["worker"] = worker;
        models["roles"] = json!({"executor": "worker"});
        models["fallback"] = json!({"executor": "backup"});
    })
    .await;
    let Pair { world, backup } = &pair;
    planner(&world.model)
        .say("In one step.")
        .call("planning", json!({"command": "create", "title": "T", "steps": ["measure it"]}))
        .then()
        .call("planning", json!({"command": "finish"}));
    task(&world.model, "measure it").status(503).always();
    task(backup, "measure it").reply(ANSWER);
    summary(&world.model).reply(ANSWER);
    let question = Question::of("Measure the tower.", "s1").deep();
    let frames = world.ask(Protocol::Native, &question).await.rest().await;
    assert_eq!(frames.last().unwrap().json()["answer"], ANSWER);
    let changed = of(&frames, "model.changed");
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert_eq!((&changed[0]["path"], &changed[0]["message"]), (&json!("s1.1"), &json!("t1")));
    assert_eq!(changed[0]["from"], "worker");
}
