//! Checks of the daily totals and holds of each user.

use djinn_core::id::{TenantId, UserId};
use djinn_core::status::RunStatus;
use djinn_runtime::port::budget::{
    Amount, CallLine, DayBound, DayChange, DayChangeResult, DayKey, Hold, MAX_HOLD_AGE_S,
    MAX_HOLDS, Payer,
};
use djinn_runtime::port::journal::RunEnd;
use djinn_runtime::port::{Store, UserKey};
use futures::future::try_join_all;

use super::Checked;
use super::fixture::{EXPIRY, RunFixture, record_of};

const NOW_S: i64 = 1_795_219_200;

fn amount_of(tokens: u64) -> Amount {
    Amount { tokens, micro_usd: tokens * 10 }
}

fn hold_of(call: &str, tokens: u64) -> Hold {
    Hold { call: call.to_owned(), amount: amount_of(tokens), reserved_at_s: NOW_S }
}

fn day_of(user: &str) -> Result<DayKey, Box<dyn std::error::Error + Send + Sync>> {
    let user = UserKey { tenant: TenantId::new("t")?, user: UserId::new(user)? };
    Ok(DayKey { user, day: "2026-11-21".to_owned() })
}

fn payer_of(run: &str) -> Result<Payer, Box<dyn std::error::Error + Send + Sync>> {
    Ok(Payer::of(&RunFixture::of("s", run)?.key, CallLine::Work))
}

/// Returns a first reservation, with a daily limit of 100 tokens.
fn first_change(payer: &Payer, next: Hold) -> DayChange {
    DayChange {
        payer: payer.clone(),
        hold: None,
        settled_amount: Amount::default(),
        next_hold: Some(next),
        bound: DayBound { tokens: Some(100), micro_usd: None },
    }
}

/// A reservation counts until the update that settles it and makes the next one.
pub async fn what_is_reserved_counts_until_it_is_settled(store: &impl Store) -> Checked {
    let day = day_of("ann")?;
    let ann = payer_of("r1")?;
    let one = first_change(&ann, hold_of("t1", 40));
    assert_eq!(store.change_day(&day, &one).await?, DayChangeResult::Applied);
    assert_eq!(store.read_day_total(&day).await?, amount_of(40));
    let two = DayChange {
        hold: Some(hold_of("t1", 40)),
        settled_amount: amount_of(15),
        next_hold: Some(hold_of("t2", 50)),
        ..one.clone()
    };
    assert_eq!(store.change_day(&day, &two).await?, DayChangeResult::Applied);
    assert_eq!(store.read_day_total(&day).await?, amount_of(65));
    let last = DayChange {
        hold: Some(hold_of("t2", 50)),
        settled_amount: amount_of(60),
        next_hold: None,
        ..one.clone()
    };
    assert_eq!(store.change_day(&day, &last).await?, DayChangeResult::Applied);
    assert_eq!(store.read_day_total(&day).await?, amount_of(75));
    // Other days and other users are independent.
    let tomorrow = DayKey { day: "2026-11-22".to_owned(), ..day.clone() };
    assert_eq!(store.read_day_total(&tomorrow).await?, Amount::default());
    Ok(())
}

/// A repeated change returns success without counting twice.
pub async fn a_change_of_a_day_is_made_once(store: &impl Store) -> Checked {
    let day = day_of("ann")?;
    let ann = payer_of("r1")?;
    let one = first_change(&ann, hold_of("t1", 40));
    let two = DayChange {
        hold: Some(hold_of("t1", 40)),
        settled_amount: amount_of(15),
        next_hold: Some(hold_of("t2", 50)),
        ..one.clone()
    };
    let last = DayChange {
        hold: Some(hold_of("t2", 50)),
        settled_amount: amount_of(60),
        next_hold: None,
        ..one.clone()
    };
    for (change, sum) in [(&one, 40), (&two, 65), (&last, 75)] {
        for _ in 0..2 {
            assert_eq!(store.change_day(&day, change).await?, DayChangeResult::Applied);
            assert_eq!(store.read_day_total(&day).await?, amount_of(sum));
        }
    }
    Ok(())
}

/// A change with a wrong hold returns the current hold, and changes nothing.
pub async fn a_change_names_what_is_held(store: &impl Store) -> Checked {
    let day = day_of("ann")?;
    let ann = payer_of("r1")?;
    store.change_day(&day, &first_change(&ann, hold_of("t1", 40))).await?;
    let anew = first_change(&ann, hold_of("t1@2", 10));
    let holds = DayChangeResult::Conflict(Some(hold_of("t1", 40)));
    assert_eq!(store.change_day(&day, &anew).await?, holds);
    let wrong = DayChange { hold: Some(hold_of("t0", 40)), ..anew.clone() };
    assert_eq!(store.change_day(&day, &wrong).await?, holds);
    let absent = DayChange { payer: payer_of("r2")?, hold: Some(hold_of("t0", 40)), ..anew };
    assert_eq!(store.change_day(&day, &absent).await?, DayChangeResult::Conflict(None));
    assert_eq!(store.read_day_total(&day).await?, amount_of(40));
    Ok(())
}

/// Below the limit a day accepts one more call of any cost, then none.
pub async fn a_day_takes_calls_until_a_bound_is_reached(store: &impl Store) -> Checked {
    let day = day_of("ann")?;
    let ann = payer_of("r1")?;
    let bob = payer_of("r2")?;
    assert_eq!(
        store.change_day(&day, &first_change(&ann, hold_of("t1", 99))).await?,
        DayChangeResult::Applied
    );
    assert_eq!(
        store.change_day(&day, &first_change(&bob, hold_of("t1", 70))).await?,
        DayChangeResult::Applied
    );
    let exhaustion = DayChangeResult::Exhausted { used: amount_of(169), held: amount_of(169) };
    let third = first_change(&payer_of("r3")?, hold_of("t1", 1));
    assert_eq!(store.change_day(&day, &third).await?, exhaustion);
    // The settled cost of the last call makes room in the same update.
    let next = DayChange {
        hold: Some(hold_of("t1", 99)),
        settled_amount: amount_of(29),
        next_hold: Some(hold_of("t2", 5)),
        ..first_change(&ann, hold_of("t2", 5))
    };
    assert_eq!(store.change_day(&day, &next).await?, DayChangeResult::Applied);
    assert_eq!(store.read_day_total(&day).await?, amount_of(104));
    let money = DayBound { tokens: None, micro_usd: Some(1_040) };
    let third = DayChange { bound: money, ..third };
    let exhaustion = DayChangeResult::Exhausted { used: amount_of(104), held: amount_of(75) };
    assert_eq!(store.change_day(&day, &third).await?, exhaustion);
    let free = DayChange { bound: DayBound { tokens: None, micro_usd: Some(1_041) }, ..third };
    assert_eq!(store.change_day(&day, &free).await?, DayChangeResult::Applied);
    Ok(())
}

/// Of concurrent reservations, one may exceed the limit.
pub async fn of_concurrent_reservations_one_passes_the_bound(store: &impl Store) -> Checked {
    let day = day_of("ann")?;
    let changes: Vec<_> = (0..12)
        .map(|n| Ok(first_change(&payer_of(&format!("r{n}"))?, hold_of("t1", 30))))
        .collect::<Result<_, Box<dyn std::error::Error + Send + Sync>>>()?;
    let outcomes =
        try_join_all(changes.iter().map(|change| store.change_day(&day, change))).await?;
    let done = outcomes.iter().filter(|outcome| **outcome == DayChangeResult::Applied).count();
    assert_eq!((done, store.read_day_total(&day).await?), (4, amount_of(120)), "{outcomes:?}");
    Ok(())
}

/// The end of a run settles its last hold in the same transaction. A repeated end counts once.
pub async fn the_end_of_a_run_settles_its_last_call(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r1")?;
    let ann = payer_of("r1")?;
    let day = DayKey { user: run.user_key(), day: "2026-11-21".to_owned() };
    store.create(&run.key, &run.created_by("w1", None)?).await?;
    let reservation = first_change(&ann, hold_of("t1", 40));
    store.change_day(&day, &reservation).await?;
    let settlement = DayChange {
        hold: Some(hold_of("t1", 40)),
        settled_amount: amount_of(15),
        next_hold: None,
        ..reservation
    };
    let end = RunEnd { day_changes: vec![(day.clone(), settlement)], ..run.run_end() };
    for _ in 0..2 {
        let record = record_of(1, "w2", "done")?;
        assert!(store.append_end(&run.key, &record, &end, EXPIRY).await?.is_appended());
        assert_eq!(store.read_day_total(&day).await?, amount_of(15));
    }
    // A hold settled before does not prevent the end of a run.
    let other = RunFixture::of("s2", "r2")?;
    store.create(&other.key, &other.created_by("w1", None)?).await?;
    let end = RunEnd { day_changes: end.day_changes, ..other.run_end() };
    let record = record_of(1, "w2", "done")?;
    assert!(store.append_end(&other.key, &record, &end, EXPIRY).await?.is_appended());
    assert_eq!(store.read_day_total(&day).await?, amount_of(15));
    let end_status = store.find_meta(&other.key).await?.ok_or("no run")?.status;
    assert_eq!(end_status, RunStatus::Finished);
    Ok(())
}

/// A day keeps a limited number of holds: old holds count as spent.
pub async fn old_holds_count_as_spent_when_there_are_too_many(store: &impl Store) -> Checked {
    let day = day_of("ann")?;
    let bound = DayBound::default();
    let change = |payer: Payer, at_s| {
        let next = Some(Hold { reserved_at_s: at_s, ..hold_of("t1", 1) });
        DayChange { payer, hold: None, settled_amount: Amount::default(), next_hold: next, bound }
    };
    let old = payer_of("old")?;
    store.change_day(&day, &change(old.clone(), NOW_S)).await?;
    let later_s = NOW_S + MAX_HOLD_AGE_S;
    for n in 0..MAX_HOLDS {
        store.change_day(&day, &change(payer_of(&format!("r{n}"))?, later_s)).await?;
    }
    let again = DayChange { hold: Some(hold_of("t1", 1)), ..change(old, later_s) };
    assert_eq!(store.change_day(&day, &again).await?, DayChangeResult::Conflict(None));
    assert_eq!(store.read_day_total(&day).await?.tokens, 1 + MAX_HOLDS as u64);
    Ok(())
}
