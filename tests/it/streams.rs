//! A user's streams where their number has a bound: clients that come back, and places that are given back.

use std::sync::Arc;

use djinn_core::id::{RunId, TenantId, UserId};
use djinn_runtime::port::UserKey;
use djinn_runtime::port::clock::Clock as _;
use djinn_runtime::port::stream::Streams as _;
use djinn_runtime::settings::UserLimits;
use djinn_runtime::world::Ports as _;
use djinn_scripted::ScriptedModel;
use serde_json::json;

use crate::world::{Door, Protocol, Question, World, caller_v2, quick};

const ONE: UserLimits = UserLimits {
    runs_per_minute: None,
    runs_at_once: None,
    streams: Some(1),
    day_tokens: None,
    day_micro_usd: None,
};

#[tokio::test]
async fn a_client_that_comes_back_takes_the_place_of_the_one_that_it_lost() {
    let world = World::start_with(|options, _| options.settings.user = ONE).await;
    let rule = world.model.on("Hold!").reply("First half, second half.").delta_chars(12);
    let gate = rule.gate(2);
    let mut first = world.ask(Protocol::Native, &Question::of("Hold!", "s1")).await;
    first.until(|frame| frame.event() == "preview").await;
    gate.wait_until_reached().await;
    let run = first.run();
    // Its response may last on AWS for minutes after its client has left, and its run needs it.
    let mut second = world.come_back(&run, None).await;
    assert_eq!(second.status, 200);
    second.until(|frame| frame.event() == "run.started").await;
    let other = Question::new("Another?").session("s2").request("r2");
    assert_eq!(world.ask(Protocol::Native, &other).await.status, 429, "the place is taken");
    // Each that comes has the one before it leave, in whatever way it comes.
    let same = world.ask(Protocol::Native, &Question::of("Hold!", "s1")).await;
    assert_eq!((same.status, same.run()), (200, run.clone()));
    let left = second.rest().await;
    assert_eq!(left.last().unwrap().event(), "run.handed_over", "{left:?}");
    let go_on = Question::new("continue").session("s1").request("r3");
    let last = world.ask(Protocol::Native, &go_on).await;
    assert_eq!((last.status, last.run()), (200, run));
    assert_eq!(same.rest().await.last().unwrap().event(), "run.handed_over");
    gate.open();
    for stream in [first, last] {
        let told = stream.rest().await;
        assert_eq!(told.last().unwrap().json()["answer"], "First half, second half.");
    }
    world.model.on("Another?").reply("Another.");
    assert_eq!(world.ending(&other).await["answer"], "Another.");
}

#[tokio::test]
async fn a_refused_question_gives_its_place_back_before_the_refusal_leaves() {
    let model = ScriptedModel::start().await.unwrap();
    let settings = djinn_runtime::settings::Settings { user: ONE, ..quick() };
    let door = Door::open(&model, |_| {}, |parts| parts.ports.settings = Arc::new(settings));
    let go_on = json!({"question": "continue", "session_id": "s1", "request_id": "r1"});
    let (status, body) = door.status_and_json(caller_v2(None, "POST", "/runs", &go_on)).await;
    assert_eq!((status, &body["code"]), (409, &json!("nothing_to_continue")), "{body}");
    let counts = door.aws.request_counter().take_counts();
    assert_eq!(
        counts.get("UpdateItem"),
        Some(&2),
        "one to take it, one to give it back: {counts:?}"
    );
    let (tenant, user) = (TenantId::new("local").unwrap(), UserId::new("you").unwrap());
    let (user, run) = (UserKey { tenant, user }, RunId::new(format!("run_{}", "0".repeat(32))));
    let (store, now_ms) = (door.ports.store(), door.ports.clock().now_ms());
    let free = store.acquire_stream(&user, &run.unwrap(), "w", 1, now_ms + 60_000).await.unwrap();
    assert!(free.is_some());
}
