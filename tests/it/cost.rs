//! What a turn costs the table while its run is driven.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use djinn_core::tool::EffectClass;
use djinn_runtime::settings::Settings;
use djinn_scripted::Scripted;
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::point::Points;
use serde_json::json;

use crate::world::{Door, Question, quick};

/// Settings with which nothing is done beside the journal.
fn undisturbed() -> Settings {
    let never = Duration::from_secs(3_600);
    Settings { lease: 2 * never, renew_every: never, mailbox_every: never, ..quick() }
}

/// The requests of a run with so many turns that call this tool once each.
async fn requests(turns: usize, effect: EffectClass) -> BTreeMap<String, u64> {
    let model = Scripted::start().await.unwrap();
    let tool = LedgerTool::new("work", effect, &Ledger::default(), &Points::new());
    let mut door = Door::open(
        &model,
        |_| {},
        |parts| {
            parts.ports.tools = parts.ports.tools.clone().with(tool);
            parts.ports.settings = Arc::new(undisturbed());
        },
    );
    let client = door.listen().await;
    let mut rule = model.on("Work.");
    for nth in 0..turns {
        rule = rule.say("I work.").call("work", json!({"nth": nth})).then();
    }
    rule.reply("Done.").then().reply("Done.");
    let frames = client.told(&Question::of("Work.", "s1")).await;
    assert_eq!(frames.last().unwrap().json()["spent"]["steps"], turns + 1);
    model.assert_done();
    let mut counts = door.aws.requests().take();
    // The alarm's removal is recorded after the last frame, perhaps by now.
    counts.remove("UpdateItem");
    counts
}

/// What one turn more costs.
async fn one_turn(effect: EffectClass) -> BTreeMap<String, u64> {
    let (few, many) = (requests(2, effect).await, requests(12, effect).await);
    let cost = |(operation, count): (String, u64)| {
        let difference = count - few.get(&operation).copied().unwrap_or_default();
        (operation, difference)
    };
    many.into_iter().map(cost).filter(|(_, count)| *count > 0).collect()
}

#[tokio::test]
async fn a_turn_with_one_call_costs_two_puts_and_no_read() {
    let ten_turns = one_turn(EffectClass::Idempotent).await;
    assert_eq!(ten_turns, BTreeMap::from([("PutItem".to_owned(), 20)]));
}

#[tokio::test]
async fn a_turn_with_one_call_that_must_not_be_repeated_costs_three_puts_and_no_read() {
    let ten_turns = one_turn(EffectClass::Once).await;
    assert_eq!(ten_turns, BTreeMap::from([("PutItem".to_owned(), 30)]));
}
