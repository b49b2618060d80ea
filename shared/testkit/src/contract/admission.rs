//! How many runs a user may start and have at work.

use djinn_core::status::RunStatus;
use djinn_runtime::port::Store;
use djinn_runtime::port::admission::{Admission, TooMany};
use djinn_runtime::port::journal::{Created, NewRun, RunEnd};
use futures::future::try_join_all;

use super::Checked;
use super::fixture::{EXPIRY, Run, record};

fn within(admission: Admission, new: NewRun) -> NewRun {
    NewRun { admission, ..new }
}

fn a_minute(most: u32) -> Admission {
    Admission { runs_per_minute: Some(most), runs_at_once: None }
}

fn at_once(most: u32) -> Admission {
    Admission { runs_per_minute: None, runs_at_once: Some(most) }
}

/// So many runs a minute; what is refused or repeated does not count, nor does another user's.
pub async fn a_user_starts_so_many_runs_a_minute(store: &impl Store) -> Checked {
    let run = |session: &str| Run::of(session, "r");
    let (first, second, third) = (run("s1")?, run("s2")?, run("s3")?);
    let new = |run: &Run, write| run.created_by(write, None).map(|new| within(a_minute(2), new));
    assert_eq!(store.create(&first.key, &new(&first, "w1")?).await?, Created::New);
    for _ in 0..3 {
        // Its reply was lost, or the client asks again.
        assert_eq!(store.create(&first.key, &new(&first, "w1")?).await?, Created::New);
        let again = store.create(&first.key, &new(&first, "w9")?).await?;
        assert!(matches!(again, Created::Exists(_)), "{again:?}");
    }
    assert_eq!(store.create(&second.key, &new(&second, "w2")?).await?, Created::New);
    let too_many = Created::TooMany(TooMany::started(third.at_ms));
    for _ in 0..2 {
        assert_eq!(store.create(&third.key, &new(&third, "w3")?).await?, too_many);
    }
    assert_eq!(store.meta(&third.key).await?, None, "nothing of it was written");
    assert_eq!(store.session(&third.session()).await?.active, None);
    // A repeat of what was started is no new start, however full the minute is.
    assert_eq!(store.create(&first.key, &new(&first, "w1")?).await?, Created::New);
    let again = store.create(&second.key, &new(&second, "w9")?).await?;
    assert!(matches!(again, Created::Exists(_)), "{again:?}");
    let bobs = run("s4")?.by("bob")?;
    assert_eq!(store.create(&bobs.key, &new(&bobs, "w4")?).await?, Created::New);
    let later = third.clone().at(third.at_ms + 60_000);
    assert_eq!(store.create(&later.key, &new(&later, "w5")?).await?, Created::New);
    Ok(())
}

/// So many runs at once; whatever ends one makes room.
pub async fn a_user_has_so_many_runs_at_work(store: &impl Store) -> Checked {
    let run = |session: &str| Run::of(session, "r");
    let runs = [run("s1")?, run("s2")?, run("s3")?];
    let new = |run: &Run, write| run.created_by(write, None).map(|new| within(at_once(2), new));
    let [first, second, third] = &runs;
    for run in [first, second] {
        assert_eq!(store.create(&run.key, &new(run, "w1")?).await?, Created::New);
        assert_eq!(store.create(&run.key, &new(run, "w1")?).await?, Created::New);
    }
    let too_many = Created::TooMany(TooMany::AtWork(2));
    assert_eq!(store.create(&third.key, &new(third, "w1")?).await?, too_many);
    assert_eq!(store.meta(&third.key).await?, None, "nothing of it was written");
    let again = store.create(&first.key, &new(first, "w9")?).await?;
    assert!(matches!(again, Created::Exists(_)), "{again:?}");

    let end = RunEnd { counted: true, ..first.end() };
    store.end(&first.key, &record(1, "w2", "done")?, &end, EXPIRY).await?;
    assert_eq!(store.create(&third.key, &new(third, "w1")?).await?, Created::New);
    let fourth = run("s4")?;
    assert_eq!(store.create(&fourth.key, &new(&fourth, "w1")?).await?, too_many);
    store.give_up(&second.key, 1_700_000_000_100).await?;
    assert_eq!(store.create(&fourth.key, &new(&fourth, "w1")?).await?, Created::New);
    let bobs = run("s5")?.by("bob")?;
    assert_eq!(store.create(&bobs.key, &new(&bobs, "w1")?).await?, Created::New);
    Ok(())
}

/// A place that an ended run did not give back is free when somebody needs it.
pub async fn a_place_that_was_not_given_back_is_found(store: &impl Store) -> Checked {
    let (first, second) = (Run::of("s1", "r")?, Run::of("s2", "r")?);
    let new = |run: &Run| run.created_by("w1", None).map(|new| within(at_once(1), new));
    assert_eq!(store.create(&first.key, &new(&first)?).await?, Created::New);
    let end = RunEnd { counted: false, status: RunStatus::Stopped, ..first.end() };
    store.end(&first.key, &record(1, "w2", "done")?, &end, EXPIRY).await?;
    assert_eq!(store.create(&second.key, &new(&second)?).await?, Created::New);
    Ok(())
}

/// Of many runs that a user starts at the same moment, no more are taken than there is room for.
pub async fn of_concurrent_starts_no_more_are_taken_than_there_is_room_for(
    store: &impl Store,
) -> Checked {
    for (nth, admission) in [a_minute(3), at_once(3)].into_iter().enumerate() {
        let user = format!("user{nth}");
        let runs: Vec<_> = (0..8)
            .map(|n| Run::of(&format!("s{nth}-{n}"), "r")?.by(&user))
            .collect::<Result<_, _>>()?;
        let news: Vec<_> = runs
            .iter()
            .map(|run| run.created_by("w1", None).map(|new| within(admission, new)))
            .collect::<Result<_, _>>()?;
        let creations = runs.iter().zip(&news).map(|(run, new)| store.create(&run.key, new));
        let created = try_join_all(creations).await?;
        let taken = created.iter().filter(|created| **created == Created::New).count();
        let refused = created.iter().filter(|c| matches!(c, Created::TooMany(_))).count();
        assert_eq!((taken, refused), (3, 5), "{created:?}");
    }
    Ok(())
}
