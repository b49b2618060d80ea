//! The limits on starting runs and on active runs of a user.

use djinn_core::status::RunStatus;
use djinn_runtime::port::Store;
use djinn_runtime::port::admission::{Admission, AdmissionError};
use djinn_runtime::port::journal::{CreateResult, NewRun, RunEnd};
use futures::future::try_join_all;

use super::Checked;
use super::fixture::{EXPIRY, RunFixture, record_of};

fn with_admission(admission: Admission, new: NewRun) -> NewRun {
    NewRun { admission, ..new }
}

fn limit_per_minute(most: u32) -> Admission {
    Admission { runs_per_minute: Some(most), runs_at_once: None }
}

fn limit_at_once(most: u32) -> Admission {
    Admission { runs_per_minute: None, runs_at_once: Some(most) }
}

/// A user may start a limited number of runs a minute. Rejected and repeated creations do not count, nor do
/// other users' runs.
pub async fn a_user_starts_so_many_runs_a_minute(store: &impl Store) -> Checked {
    let run = |session: &str| RunFixture::of(session, "r");
    let first = run("s1")?;
    let second = run("s2")?;
    let third = run("s3")?;
    let new = |run: &RunFixture, write| {
        run.created_by(write, None).map(|new| with_admission(limit_per_minute(2), new))
    };
    assert!(store.create(&first.key, &new(&first, "w1")?).await?.is_created());
    for _ in 0..3 {
        // A lost reply or a repeated request leads to the same creation.
        assert!(store.create(&first.key, &new(&first, "w1")?).await?.is_created());
        let again = store.create(&first.key, &new(&first, "w9")?).await?;
        assert!(matches!(again, CreateResult::Exists(_)), "{again:?}");
    }
    assert!(store.create(&second.key, &new(&second, "w2")?).await?.is_created());
    let too_many = CreateResult::NotAdmitted(AdmissionError::rate_limited_at(third.at_ms));
    for _ in 0..2 {
        assert_eq!(store.create(&third.key, &new(&third, "w3")?).await?, too_many);
    }
    assert_eq!(store.find_meta(&third.key).await?, None, "nothing of it was written");
    assert_eq!(store.load_session(&third.session_key()).await?.active, None);
    // A repeated creation never counts as a start, even at the limit.
    assert!(store.create(&first.key, &new(&first, "w1")?).await?.is_created());
    let again = store.create(&second.key, &new(&second, "w9")?).await?;
    assert!(matches!(again, CreateResult::Exists(_)), "{again:?}");
    let bobs = run("s4")?.by_user("bob")?;
    assert!(store.create(&bobs.key, &new(&bobs, "w4")?).await?.is_created());
    let later = third.clone().at_time(third.at_ms + 60_000);
    assert!(store.create(&later.key, &new(&later, "w5")?).await?.is_created());
    Ok(())
}

/// A user may have a limited number of active runs; any end of a run frees a place.
pub async fn a_user_has_so_many_runs_at_work(store: &impl Store) -> Checked {
    let run = |session: &str| RunFixture::of(session, "r");
    let runs = [run("s1")?, run("s2")?, run("s3")?];
    let new = |run: &RunFixture, write| {
        run.created_by(write, None).map(|new| with_admission(limit_at_once(2), new))
    };
    let [first, second, third] = &runs;
    for run in [first, second] {
        assert!(store.create(&run.key, &new(run, "w1")?).await?.is_created());
        assert!(store.create(&run.key, &new(run, "w1")?).await?.is_created());
    }
    let too_many = CreateResult::NotAdmitted(AdmissionError::TooManyRuns(2));
    assert_eq!(store.create(&third.key, &new(third, "w1")?).await?, too_many);
    assert_eq!(store.find_meta(&third.key).await?, None, "nothing of it was written");
    let again = store.create(&first.key, &new(first, "w9")?).await?;
    assert!(matches!(again, CreateResult::Exists(_)), "{again:?}");

    let end = RunEnd { is_counted: true, ..first.run_end() };
    store.append_end(&first.key, &record_of(1, "w2", "done")?, &end, EXPIRY).await?;
    assert!(store.create(&third.key, &new(third, "w1")?).await?.is_created());
    let fourth = run("s4")?;
    assert_eq!(store.create(&fourth.key, &new(&fourth, "w1")?).await?, too_many);
    store.abandon_run(&second.key, 1_700_000_000_100).await?;
    assert!(store.create(&fourth.key, &new(&fourth, "w1")?).await?.is_created());
    let bobs = run("s5")?.by_user("bob")?;
    assert!(store.create(&bobs.key, &new(&bobs, "w1")?).await?.is_created());
    Ok(())
}

/// A place not freed at the end of a run is freed on demand.
pub async fn a_place_that_was_not_given_back_is_found(store: &impl Store) -> Checked {
    let first = RunFixture::of("s1", "r")?;
    let second = RunFixture::of("s2", "r")?;
    let new = |run: &RunFixture| {
        run.created_by("w1", None).map(|new| with_admission(limit_at_once(1), new))
    };
    assert!(store.create(&first.key, &new(&first)?).await?.is_created());
    let end = RunEnd { is_counted: false, status: RunStatus::Stopped, ..first.run_end() };
    store.append_end(&first.key, &record_of(1, "w2", "done")?, &end, EXPIRY).await?;
    assert!(store.create(&second.key, &new(&second)?).await?.is_created());
    Ok(())
}

/// Concurrent starts never exceed the limit.
pub async fn of_concurrent_starts_no_more_are_taken_than_there_is_room_for(
    store: &impl Store,
) -> Checked {
    for (nth, admission) in [limit_per_minute(3), limit_at_once(3)].into_iter().enumerate() {
        let user = format!("user{nth}");
        let runs: Vec<_> = (0..8)
            .map(|n| RunFixture::of(&format!("s{nth}-{n}"), "r")?.by_user(&user))
            .collect::<Result<_, _>>()?;
        let news: Vec<_> = runs
            .iter()
            .map(|run| run.created_by("w1", None).map(|new| with_admission(admission, new)))
            .collect::<Result<_, _>>()?;
        let creations = runs.iter().zip(&news).map(|(run, new)| store.create(&run.key, new));
        let outcomes = try_join_all(creations).await?;
        let creation_count = outcomes.iter().filter(|outcome| outcome.is_created()).count();
        let refusal_count =
            outcomes.iter().filter(|c| matches!(c, CreateResult::NotAdmitted(_))).count();
        assert_eq!((creation_count, refusal_count), (3, 5), "{outcomes:?}");
    }
    Ok(())
}
