//! Limits: what users may start and use up, what a process streams, and what whoever passes a bound is
//! told.

use std::time::Duration;

use djinn_core::id::{RunId, TenantId, UserId};
use djinn_runtime::port::UserKey;
use djinn_runtime::port::budget::{Amount, Budgets as _, DayKey};
use djinn_runtime::port::catalog::Catalog as _;
use djinn_runtime::port::clock::Clock as _;
use djinn_runtime::port::stream::Streams as _;
use djinn_runtime::settings::UserLimits;
use djinn_scripted::{RecordedRequest, ScriptedResponse};
use futures::future::join_all;
use serde_json::{Value, json};

use crate::world::{
    Client, Frame, Options, Protocol, Question, SETTLED_WITHIN, Stream, World, models, planner,
    settled,
};

/// What one of the scripted calls of these tests costs, tokens.
const INPUT: u64 = 1_000;
const OUTPUT: u64 = 100;

/// In dollars a million tokens: 2 read, 8 written.
const PRICES: &str =
    r#"{"scripted": {"input": 2000000, "cached_input": 500000, "output": 8000000}}"#;

async fn world(user: UserLimits) -> World {
    World::start_with(|options, _| options.settings.user = user).await
}

fn user() -> UserKey {
    let tenant = TenantId::new("local").unwrap();
    UserKey { tenant, user: UserId::new("you").unwrap() }
}

/// What the user's calls of today used up, as the store has it. Yesterday counts as well: midnight may
/// have been in between.
async fn used(world: &World) -> Amount {
    let ports = world.system.ports();
    let now_ms = ports.clock.now_ms();
    let days = [now_ms - 24 * 60 * 60 * 1000, now_ms].map(|at_ms| DayKey::at_time(user(), at_ms));
    let days = join_all(days.iter().map(|day| ports.store.read_day_total(day))).await;
    days.into_iter().fold(Amount::default(), |sum, day| sum.saturating_add(day.unwrap()))
}

/// What a question is refused with: its status, code and `Retry-After`.
async fn refused(client: &Client, protocol: Protocol, question: &Question) -> (u16, String, u32) {
    let stream = client.ask(protocol, question).await;
    let (status, again) = (stream.status, stream.header("retry-after").parse().unwrap_or_default());
    let code = match protocol {
        Protocol::Ui => {
            let frame = stream.rest().await.remove(0).json();
            assert_eq!(frame["finished"], true, "{frame}");
            frame["errorMsg"].clone()
        }
        Protocol::Native | Protocol::Raw => {
            let json = stream.body().await;
            assert_eq!(json["retryable"], true, "{json}");
            json["code"].clone()
        }
    };
    (status, code.as_str().unwrap_or_default().to_owned(), again)
}

/// A question that is worked on until the gate opens.
async fn held(world: &World, session: &str) -> (Stream, djinn_scripted::ChunkGate) {
    let text = format!("Hold {session}!");
    let gate =
        world.model.on(text.as_str()).reply("First half, second half.").delta_chars(12).gate(2);
    let mut stream = world.ask(Protocol::Native, &Question::of(&text, session)).await;
    stream.until(|frame| frame.event() == "preview").await;
    gate.wait_until_reached().await;
    (stream, gate)
}

/// The runs that there are.
async fn runs(world: &World) -> usize {
    let runs = world.system.ports().store.list_runs(&user(), &[], None, 100).await;
    runs.unwrap().items.len()
}

#[tokio::test]
async fn a_run_says_what_it_cost_and_ends_when_that_is_what_it_may() {
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_PRICES", PRICES.to_owned()));
        options.vars.push(("DJINN_LIMITS__MAX_USD", "0.01".to_owned()));
    })
    .await;
    let look = |n: u32| json!({"command": "get", "filename": format!("{n}.md")});
    let rule = world.model.on("What is it worth?");
    let rule = rule.say("I look.").call("file_tool", look(0)).usage(2_000, 200, 1_000).then();
    rule.reply("So much.").usage(1_000, 100, 0);
    let ending = world.ending(&Question::of("What is it worth?", "s1")).await;
    // The first turn: 1 000 tokens at 2, 1 000 cached ones at 0.5 and 200 at 8 dollars a million.
    let (turn, words) = (2_000 + 500 + 1_600, 2_000 + 800);
    assert_eq!(ending["spent"]["usage"]["micro_usd"], turn + words, "{ending}");
    assert_eq!(ending["status"], "finished", "{ending}");
    let run =
        world.told(&Question::of("What is it worth?", "s1")).await[1].id().unwrap().to_owned();
    let shown = world.get(&format!("/runs/{}", run.split(':').next().unwrap())).await.json();
    let money = json!({"limit": 10_000, "spent": turn + words});
    assert_eq!(
        (&shown["budget"]["micro_usd"], &shown["usage"]["micro_usd"]),
        (&money, &money["spent"])
    );

    let mut rule = world.model.on("And what else?");
    for n in 0..3 {
        rule = rule.say("I look.").call("file_tool", look(n)).usage(2_000, 200, 1_000).then();
    }
    rule.reply("So far.").usage(1_000, 100, 0);
    let ending = world.ending(&Question::of("And what else?", "s2")).await;
    assert_eq!(ending["failure"], json!({"code": "money_used_up", "detail": "0.01"}));
    assert_eq!(ending["answer"], "So far.");
    world.model.assert_done();
}

#[tokio::test]
async fn a_day_that_is_used_up_makes_no_further_call_and_pauses_the_run_for_a_top_up() {
    let limits = UserLimits { day_tokens: Some(2_000), ..UserLimits::default() };
    let world = world(limits).await;
    let ask = |session: &str| Question::of(&format!("What is {session}?"), session);
    for (nth, session) in ["s1", "s2"].into_iter().enumerate() {
        let rule = world.model.on(ask(session).text);
        rule.reply("That.").usage(INPUT, OUTPUT, 0);
        let told = world.told(&ask(session)).await;
        assert_eq!(told.last().unwrap().json()["status"], "finished");
        // The last call is settled with the run's end, to the token.
        let sum = (nth as u64 + 1) * (INPUT + OUTPUT);
        assert_eq!(used(&world).await.tokens, sum);
    }
    let told = world.ask(Protocol::Native, &ask("s3")).await;
    let (run, frames) = (told.run(), told.rest().await);
    assert_eq!(frames.last().unwrap().event(), "run.handed_over");
    let asked = frames.iter().find(|frame| frame.event() == "human.requested").unwrap().json();
    let interrupt = &asked["requests"][0]["interrupt"];
    assert_eq!(interrupt["code"], "budget_used_up");
    assert!(interrupt["message"].as_str().unwrap().contains("2000 tokens"), "{interrupt}");
    // Without a top-up there is nothing to go on with.
    let again = json!({"text": "continue"});
    let went_on = world.post(&format!("/runs/{run}/messages"), &again).await;
    assert_eq!(went_on.json()["state"], "goes_on");
    let waits = async {
        loop {
            if world.open_request(&run, "t1.again2").await.is_object() {
                return;
            }
        }
    };
    tokio::time::timeout(SETTLED_WITHIN, waits).await.unwrap();
    assert_eq!(world.model.requests().len(), 2, "nobody was asked for what nobody may pay");
    let stock = world.ask(Protocol::Ui, &ask("s4")).await.rest().await;
    let last = stock.last().unwrap().json();
    assert_eq!(last["finished"], true, "{last}");
    assert!(last["response"].as_str().unwrap().contains("2000 tokens"), "{last}");
    world.model.assert_done();
}

#[tokio::test]
async fn a_day_has_its_money_too_and_what_is_stopped_costs_what_it_was() {
    let limits = UserLimits { day_micro_usd: Some(1_000_000), ..UserLimits::default() };
    let world = World::start_with(|options, _| {
        options.settings.user = limits;
        options.vars.push(("DJINN_PRICES", PRICES.to_owned()));
    })
    .await;
    let (stream, gate) = held(&world, "s1").await;
    let reserved = used(&world).await;
    assert!(reserved.tokens > 16_384 && reserved.micro_usd > 16_384 * 8, "{reserved:?}");
    let run = stream.run();
    world.stop(&run).await;
    stream.rest().await;
    settled(world.system.ports(), &run).await;
    let came_to = used(&world).await;
    assert!(came_to.tokens < reserved.tokens - 16_000, "{reserved:?} {came_to:?}");
    assert!(came_to.micro_usd > 0, "what was read is paid for: {came_to:?}");
    gate.open();
}

/// A system whose users may spend half a cent a day, if the model has a price.
async fn world_with_optional_limit(prices: &str) -> World {
    let limit = "0.005 if priced";
    let find = |name: &str| (name == "DJINN_LIMITS__USER_DAY_USD").then(|| limit.to_owned());
    World::start_with(|options, _| {
        options.settings.user = UserLimits::from_vars(&find).unwrap();
        options.vars.push(("DJINN_LIMITS__USER_DAY_USD", limit.to_owned()));
        options.vars.push(("DJINN_PRICES", prices.to_owned()));
    })
    .await
}

#[tokio::test]
async fn limit_if_priced_counts_models_with_a_price_and_stops_no_other() {
    let ask = |session: &str| Question::of(&format!("What is {session}?"), session);
    let (unpriced, priced) =
        tokio::join!(world_with_optional_limit("{}"), world_with_optional_limit(PRICES));
    for world in [&unpriced, &priced] {
        for session in ["s1", "s2"] {
            world.model.on(ask(session).text).reply("That.").usage(INPUT, OUTPUT, 0);
            assert_eq!(world.ending(&ask(session)).await["status"], "finished");
        }
    }
    // 1 000 tokens at 2 dollars a million and 100 at 8, twice.
    let spent = 2 * (2_000 + 800);
    assert_eq!((used(&unpriced).await.micro_usd, used(&priced).await.micro_usd), (0, spent));
    unpriced.model.on(ask("s3").text).reply("That.").usage(INPUT, OUTPUT, 0);
    assert_eq!(unpriced.ending(&ask("s3")).await["status"], "finished");
    let frames = priced.told(&ask("s3")).await;
    let request = frames.iter().find(|frame| frame.event() == "human.requested").unwrap().json();
    let interrupt = &request["requests"][0]["interrupt"];
    assert_eq!(interrupt["code"], "budget_used_up");
    assert!(interrupt["message"].as_str().unwrap().contains("$0.005"), "{interrupt}");
    unpriced.model.assert_done();
    priced.model.assert_done();
}

/// Tasks of a crowd, all at work at once.
const CROWD: usize = 200;

/// What a day has for it, tokens.
const DAY: u64 = 60_000;

/// The most that one of its calls may use up: what its request says, and 200 tokens of reply.
const MOST: u64 = 8_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_executors_cannot_overspend() {
    let world = World::start_with(|options: &mut Options, model| {
        options.settings.client_buffer = usize::MAX;
        options.settings.user.day_tokens = Some(DAY);
        options.vars.push(("DJINN_LIMITS__MAX_PLAN_STEPS", CROWD.to_string()));
        options.vars.push(("DJINN_LIMITS__MAX_PARALLEL_TASKS", CROWD.to_string()));
        let limits = json!({"max_input_tokens": 9_000_000, "max_tokens": 200});
        options.vars.push(("DJINN_MODELS", models(model, &limits)));
    })
    .await;
    let steps: Vec<String> = (1..=CROWD).map(|n| format!("part {n}: write it")).collect();
    let none: Vec<[u32; 0]> = vec![[]; CROWD];
    let plan = json!({"command": "create", "title": "T", "steps": steps, "depends_on": none});
    planner(&world.model).say("In parts.").call("planning", plan).usage(INPUT, OUTPUT, 0);
    let is_task = |request: &RecordedRequest| request.text().contains("Your step:");
    let work = Duration::from_millis(20);
    let reply = move |_: &RecordedRequest| {
        ScriptedResponse::default().reply("At work.").usage(INPUT, OUTPUT, 0).delay(work)
    };
    world.model.on_request(is_task).respond_with(reply).always();
    let stream = world.ask(Protocol::Native, &Question::of("Write!", "s1").deep()).await;
    let run = stream.run();
    let frames = stream.rest().await;
    assert_eq!(frames.last().unwrap().event(), "run.handed_over", "it waits for a top-up");

    let ended: Vec<Value> =
        frames.iter().filter(|frame| frame.event() == "child.ended").map(Frame::json).collect();
    let paid = ended.iter().filter(|task| task["status"] == "finished").count();
    assert_eq!(ended.len(), paid, "nothing is lost for want of money");
    let waiting = world.open_requests(&run).await;
    assert!(waiting.iter().all(|ask| ask["interrupt"]["code"] == "budget_used_up"));
    assert_eq!(paid + waiting.len(), CROWD, "whoever finds nothing left asks for more");
    let served = world.model.requests().len() as u64;
    assert_eq!(served, 1 + paid as u64, "every call that was made was paid for");
    let spent = served * (INPUT + OUTPUT);
    assert!(spent <= DAY + MOST, "{spent} tokens of {DAY} were spent");
    assert!(spent >= DAY / 3, "{spent} tokens of {DAY} were all that could be spent");
    assert_eq!(used(&world).await.tokens, spent, "settled to the token");
}

#[tokio::test]
async fn a_user_starts_so_many_runs_a_minute_and_is_told_when_to_come_back() {
    let limits = UserLimits { runs_per_minute: Some(2), ..UserLimits::default() };
    let world = world(limits).await;
    let ask = |n: usize| Question::of(&format!("What is {n}?"), &format!("s{n}"));
    // A minute may end meanwhile: of five runs in a row one is refused in any case.
    let (mut started, mut refusal) = (0, None);
    while refusal.is_none() && started < 5 {
        world.model.on(ask(started).text).reply("That.");
        let stream = world.ask(Protocol::Native, &ask(started)).await;
        match stream.status {
            429 => refusal = Some(stream),
            _ => {
                stream.rest().await;
                // The same request again is no new start.
                assert_eq!(world.told(&ask(started)).await.last().unwrap().event(), "run.ended");
                started += 1;
            }
        }
    }
    let refusal = refusal.expect("nobody was refused");
    let again: u32 = refusal.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&again), "{again}");
    let json = refusal.body().await;
    assert_eq!((&json["code"], &json["retryable"]), (&json!("rate_limited"), &json!(true)));
    assert_eq!(json["detail"], again.to_string());
    assert_eq!(runs(&world).await, started, "what is refused is not there");
    drop(world.model.take_unexpected());
}

#[tokio::test]
async fn a_user_has_so_many_runs_at_work_and_the_end_of_one_makes_room() {
    let limits = UserLimits { runs_at_once: Some(2), ..UserLimits::default() };
    let world = world(limits).await;
    let (first, open) = held(&world, "s1").await;
    let (second, gate) = held(&world, "s2").await;
    let third = Question::of("What is third?", "s3");
    for protocol in Protocol::ALL {
        let told = refused(&world, protocol, &third).await;
        assert_eq!(told, (429, "too_many_runs".to_owned(), 10), "{protocol:?}");
    }
    assert_eq!(runs(&world).await, 2, "what is refused is not there");
    // Whoever comes back to a run starts none.
    let watching = world.ask(Protocol::Raw, &Question::of("Hold s1!", "s1")).await;
    assert_eq!((watching.status, watching.run()), (200, first.run()));
    open.open();
    assert_eq!(first.rest().await.last().unwrap().json()["status"], "finished");
    world.model.on(third.text.as_str()).reply("The third.");
    assert_eq!(world.ending(&third).await["answer"], "The third.");
    // One that is stopped makes room, too.
    let (fourth, _gate) = held(&world, "s4").await;
    let fifth = Question::of("What is fifth?", "s5");
    assert_eq!(refused(&world, Protocol::Native, &fifth).await.0, 429);
    world.stop(&fourth.run()).await;
    fourth.rest().await;
    world.model.on(fifth.text.as_str()).reply("The fifth.");
    assert_eq!(world.ending(&fifth).await["answer"], "The fifth.");
    gate.open();
    second.rest().await;
}

/// Asks until there is room for the answer, and hears it whole.
async fn answered(world: &World, question: &Question) -> Value {
    let answered = async {
        loop {
            let stream = world.ask(Protocol::Native, question).await;
            if stream.status == 200 {
                return stream.rest().await;
            }
        }
    };
    let told = tokio::time::timeout(SETTLED_WITHIN, answered).await.unwrap();
    told.last().unwrap().json()["answer"].clone()
}

#[tokio::test]
async fn a_user_has_so_many_streams_whichever_process_streams_them() {
    let world = world(UserLimits { streams: Some(1), ..UserLimits::default() }).await;
    world.model.on("What is ended?").reply("That.");
    let ended = world.ask(Protocol::Native, &Question::of("What is ended?", "s0")).await;
    let (ended, _) = (ended.run(), ended.rest().await);
    let (first, gate) = held(&world, "s1").await;
    let second = Question::of("What is second?", "s2");
    for protocol in Protocol::ALL {
        let told = refused(&world, protocol, &second).await;
        assert_eq!(told, (429, "too_many_user_streams".to_owned(), 5), "{protocol:?}");
    }
    let watching = world.come_back(&ended, None).await;
    assert_eq!(watching.status, 429, "who follows takes a place as well");
    assert_eq!(runs(&world).await, 2, "what is refused is not there");
    let shown = world.get(&format!("/runs/{}", first.run())).await;
    assert_eq!(shown.status, 200, "what is no stream needs none");
    // A response that has ended has given its place back before.
    gate.open();
    first.rest().await;
    world.model.on(second.text.as_str()).reply("The second.").always();
    assert_eq!(world.ending(&second).await["answer"], "The second.");
    // So does one whose client goes, and whoever is gone keeps none for ever.
    let (third, gate) = held(&world, "s3").await;
    drop(third);
    assert_eq!(answered(&world, &second).await, "The second.");
    gate.open();
    let (store, now_ms) = (&world.system.ports().store, world.system.ports().clock.now_ms());
    let run = RunId::new(ended).unwrap();
    let lost = store.acquire_stream(&user(), &run, "lost", 1, now_ms - 1_000).await.unwrap();
    assert!(lost.is_some());
    assert_eq!(world.ending(&second).await["answer"], "The second.");
}

async fn streaming(slots: u32, queue: u32) -> World {
    World::start_with(|options, _| {
        options.vars.push(("DJINN_STREAM_SLOTS", slots.to_string()));
        options.vars.push(("DJINN_STREAM_QUEUE", queue.to_string()));
    })
    .await
}

#[tokio::test]
async fn a_process_streams_so_many_responses_and_refuses_what_cannot_wait() {
    let world = streaming(1, 0).await;
    let (first, gate) = held(&world, "s1").await;
    let second = Question::of("What is second?", "s2");
    for protocol in Protocol::ALL {
        let told = refused(&world, protocol, &second).await;
        assert_eq!(told, (429, "too_many_streams".to_owned(), 5), "{protocol:?}");
    }
    let watching = world.come_back(&first.run(), None).await;
    assert_eq!(watching.status, 429, "who follows takes a slot as well");
    assert_eq!(runs(&world).await, 1, "what is refused is not there");
    let shown = world.get(&format!("/runs/{}", first.run())).await;
    assert_eq!(shown.status, 200, "what is no stream needs none");
    // The client goes; the run goes on without it, and the slot is free.
    drop(first);
    world.model.on(second.text.as_str()).reply("The second.").always();
    assert_eq!(answered(&world, &second).await, "The second.");
    gate.open();
}

#[tokio::test]
async fn who_waits_for_a_slot_gets_the_next_one() {
    let world = streaming(1, 1).await;
    let (first, gate) = held(&world, "s1").await;
    let second = Question::of("What is second?", "s2");
    world.model.on(second.text.as_str()).reply("The second.");
    let (told, answer) = tokio::join!(world.told(&second), async {
        gate.open();
        first.rest().await
    });
    assert_eq!(told.last().unwrap().json()["answer"], "The second.");
    assert_eq!(answer.last().unwrap().json()["status"], "finished");
    world.model.assert_done();
}
