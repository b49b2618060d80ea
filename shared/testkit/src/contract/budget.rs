//! Days of users.

use djinn_core::id::{TenantId, UserId};
use djinn_core::status::RunStatus;
use djinn_runtime::port::Store;
use djinn_runtime::port::budget::{
    Amount, Bound, DayChange, DayChanged, DayKey, Hold, MAX_HOLDS, OLD_HOLD_S, Payer,
};
use djinn_runtime::port::catalog::UserKey;
use djinn_runtime::port::journal::{Appended, RunEnd};
use futures::future::try_join_all;

use super::Checked;
use super::fixture::{EXPIRY, Run, record};

const NOW_S: i64 = 1_795_219_200;

fn amount(tokens: u64) -> Amount {
    Amount { tokens, micro_usd: tokens * 10 }
}

fn hold(call: &str, tokens: u64) -> Hold {
    Hold { call: call.to_owned(), amount: amount(tokens), at_s: NOW_S }
}

fn day(user: &str) -> Result<DayKey, Box<dyn std::error::Error + Send + Sync>> {
    let user = UserKey { tenant: TenantId::new("t")?, user: UserId::new(user)? };
    Ok(DayKey { user, day: "2026-11-21".to_owned() })
}

fn payer(run: &str) -> Result<Payer, Box<dyn std::error::Error + Send + Sync>> {
    Ok(Payer::of(&Run::of("s", run)?.key, false))
}

/// A first reservation, within 100 tokens.
fn first(payer: &Payer, next: Hold) -> DayChange {
    DayChange {
        payer: payer.clone(),
        held: None,
        settled: Amount::default(),
        next: Some(next),
        bound: Bound { tokens: Some(100), micro_usd: None },
    }
}

/// A reservation counts until it is settled, in the update that makes the next one.
pub async fn what_is_reserved_counts_until_it_is_settled(store: &impl Store) -> Checked {
    let (day, ann) = (day("ann")?, payer("r1")?);
    let one = first(&ann, hold("t1", 40));
    assert_eq!(store.change_day(&day, &one).await?, DayChanged::Done);
    assert_eq!(store.day(&day).await?, amount(40));
    let two = DayChange {
        held: Some(hold("t1", 40)),
        settled: amount(15),
        next: Some(hold("t2", 50)),
        ..one.clone()
    };
    assert_eq!(store.change_day(&day, &two).await?, DayChanged::Done);
    assert_eq!(store.day(&day).await?, amount(65));
    let last =
        DayChange { held: Some(hold("t2", 50)), settled: amount(60), next: None, ..one.clone() };
    assert_eq!(store.change_day(&day, &last).await?, DayChanged::Done);
    assert_eq!(store.day(&day).await?, amount(75));
    // Another day, and another user's, are others.
    let tomorrow = DayKey { day: "2026-11-22".to_owned(), ..day.clone() };
    assert_eq!(store.day(&tomorrow).await?, Amount::default());
    Ok(())
}

/// Whoever makes a change again is told that it is made; nothing counts twice.
pub async fn a_change_of_a_day_is_made_once(store: &impl Store) -> Checked {
    let (day, ann) = (day("ann")?, payer("r1")?);
    let one = first(&ann, hold("t1", 40));
    let two = DayChange {
        held: Some(hold("t1", 40)),
        settled: amount(15),
        next: Some(hold("t2", 50)),
        ..one.clone()
    };
    let last =
        DayChange { held: Some(hold("t2", 50)), settled: amount(60), next: None, ..one.clone() };
    for (change, sum) in [(&one, 40), (&two, 65), (&last, 75)] {
        for _ in 0..2 {
            assert_eq!(store.change_day(&day, change).await?, DayChanged::Done);
            assert_eq!(store.day(&day).await?, amount(sum));
        }
    }
    Ok(())
}

/// Whoever does not know what is held is told, and changes nothing.
pub async fn a_change_names_what_is_held(store: &impl Store) -> Checked {
    let (day, ann) = (day("ann")?, payer("r1")?);
    store.change_day(&day, &first(&ann, hold("t1", 40))).await?;
    let anew = first(&ann, hold("t1@2", 10));
    let holds = DayChanged::Holds(Some(hold("t1", 40)));
    assert_eq!(store.change_day(&day, &anew).await?, holds);
    let wrong = DayChange { held: Some(hold("t0", 40)), ..anew.clone() };
    assert_eq!(store.change_day(&day, &wrong).await?, holds);
    let absent = DayChange { payer: payer("r2")?, held: Some(hold("t0", 40)), ..anew };
    assert_eq!(store.change_day(&day, &absent).await?, DayChanged::Holds(None));
    assert_eq!(store.day(&day).await?, amount(40));
    Ok(())
}

/// Below its bound a day takes one more call, whatever that costs, and then none.
pub async fn a_day_takes_calls_until_a_bound_is_reached(store: &impl Store) -> Checked {
    let (day, ann, bob) = (day("ann")?, payer("r1")?, payer("r2")?);
    assert_eq!(store.change_day(&day, &first(&ann, hold("t1", 99))).await?, DayChanged::Done);
    assert_eq!(store.change_day(&day, &first(&bob, hold("t1", 70))).await?, DayChanged::Done);
    let used_up = DayChanged::UsedUp { used: amount(169), held: amount(169) };
    let third = first(&payer("r3")?, hold("t1", 1));
    assert_eq!(store.change_day(&day, &third).await?, used_up);
    // What the last call came to makes room, in the same update.
    let next = DayChange {
        held: Some(hold("t1", 99)),
        settled: amount(29),
        next: Some(hold("t2", 5)),
        ..first(&ann, hold("t2", 5))
    };
    assert_eq!(store.change_day(&day, &next).await?, DayChanged::Done);
    assert_eq!(store.day(&day).await?, amount(104));
    let money = Bound { tokens: None, micro_usd: Some(1_040) };
    let third = DayChange { bound: money, ..third };
    let used_up = DayChanged::UsedUp { used: amount(104), held: amount(75) };
    assert_eq!(store.change_day(&day, &third).await?, used_up);
    let free = DayChange { bound: Bound { tokens: None, micro_usd: Some(1_041) }, ..third };
    assert_eq!(store.change_day(&day, &free).await?, DayChanged::Done);
    Ok(())
}

/// Of many who reserve at the same moment, the bound lets one pass beyond it.
pub async fn of_concurrent_reservations_one_passes_the_bound(store: &impl Store) -> Checked {
    let day = day("ann")?;
    let changes: Vec<_> = (0..12)
        .map(|n| Ok(first(&payer(&format!("r{n}"))?, hold("t1", 30))))
        .collect::<Result<_, Box<dyn std::error::Error + Send + Sync>>>()?;
    let made = try_join_all(changes.iter().map(|change| store.change_day(&day, change))).await?;
    let done = made.iter().filter(|made| **made == DayChanged::Done).count();
    assert_eq!((done, store.day(&day).await?), (4, amount(120)), "{made:?}");
    Ok(())
}

/// A run's end settles what it held last, in its own transaction; written twice it counts once.
pub async fn the_end_of_a_run_settles_its_last_call(store: &impl Store) -> Checked {
    let (run, ann) = (Run::of("s", "r1")?, payer("r1")?);
    let day = DayKey { user: run.user(), day: "2026-11-21".to_owned() };
    store.create(&run.key, &run.created_by("w1", None)?).await?;
    let reserved = first(&ann, hold("t1", 40));
    store.change_day(&day, &reserved).await?;
    let settlement =
        DayChange { held: Some(hold("t1", 40)), settled: amount(15), next: None, ..reserved };
    let end = RunEnd { settled: vec![(day.clone(), settlement)], ..run.end() };
    for _ in 0..2 {
        let record = record(1, "w2", "done")?;
        assert_eq!(store.end(&run.key, &record, &end, EXPIRY).await?, Appended::Done);
        assert_eq!(store.day(&day).await?, amount(15));
    }
    // One that was settled before keeps no run from ending.
    let other = Run::of("s2", "r2")?;
    store.create(&other.key, &other.created_by("w1", None)?).await?;
    let end = RunEnd { settled: end.settled, ..other.end() };
    let record = record(1, "w2", "done")?;
    assert_eq!(store.end(&other.key, &record, &end, EXPIRY).await?, Appended::Done);
    assert_eq!(store.day(&day).await?, amount(15));
    let ended = store.meta(&other.key).await?.ok_or("no run")?.status;
    assert_eq!(ended, RunStatus::Finished);
    Ok(())
}

/// A day keeps no more holds apart than it has to: the old ones count as spent.
pub async fn old_holds_count_as_spent_when_there_are_too_many(store: &impl Store) -> Checked {
    let (day, bound) = (day("ann")?, Bound::default());
    let change = |payer: Payer, at_s| {
        let next = Some(Hold { at_s, ..hold("t1", 1) });
        DayChange { payer, held: None, settled: Amount::default(), next, bound }
    };
    let old = payer("old")?;
    store.change_day(&day, &change(old.clone(), NOW_S)).await?;
    let later_s = NOW_S + OLD_HOLD_S;
    for n in 0..MAX_HOLDS {
        store.change_day(&day, &change(payer(&format!("r{n}"))?, later_s)).await?;
    }
    let again = DayChange { held: Some(hold("t1", 1)), ..change(old, later_s) };
    assert_eq!(store.change_day(&day, &again).await?, DayChanged::Holds(None));
    assert_eq!(store.day(&day).await?.tokens, 1 + MAX_HOLDS as u64);
    Ok(())
}
