//! Time that passes for a process, and time that only passes.

use std::future::{pending, poll_fn, ready};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use djinn_runtime::awake_time::AwakeTime;
use djinn_runtime::port::clock::Clock;
use djinn_testkit::clock::ManualClock;

const SECOND: Duration = Duration::from_secs(1);

/// What work that never ends comes to while the clock advances by these seconds, one step after
/// the other: after how many steps its time was up, and whether the process stood still.
async fn told(at_most: u64, steps: &[u64]) -> (Option<usize>, bool) {
    let clock = ManualClock::new();
    let mut time = AwakeTime::new(&clock);
    let mut ran_out = None;
    {
        let mut waits =
            pin!(time.run_within(SECOND * u32::try_from(at_most).unwrap(), pending::<()>()));
        for nth in 0..=steps.len() {
            let polled = poll_fn(|context| Poll::Ready(waits.as_mut().poll(context))).await;
            if polled.is_ready() {
                ran_out = Some(nth);
                break;
            }
            if let Some(seconds) = steps.get(nth) {
                clock.advance(Duration::from_secs(*seconds));
            }
        }
    }
    (ran_out, time.was_suspended())
}

#[tokio::test]
async fn a_timeout_runs_out_once_the_process_was_awake_that_long() {
    assert_eq!(told(3, &[1, 1, 1]).await, (Some(3), false));
    assert_eq!(told(3, &[1, 1]).await, (None, false));
    // A busy process is late, and stands still no more than it does.
    assert_eq!(told(3, &[1, 3, 1]).await, (Some(3), false));
}

#[tokio::test]
async fn time_in_which_a_process_stands_still_counts_as_one_tick() {
    assert_eq!(told(20, &[30]).await, (None, true));
    assert_eq!(told(3, &[1, 3_600, 1]).await, (Some(3), true));
    assert_eq!(told(3, &[40, 40]).await, (None, true));
}

#[tokio::test]
async fn work_that_ends_as_the_process_goes_on_has_its_result() {
    let clock = ManualClock::new();
    let mut time = AwakeTime::new(&clock);
    let work = clock.sleep(SECOND * 10);
    let ends = async {
        tokio::task::yield_now().await;
        clock.advance(SECOND * 30);
    };
    let (done, ()) = tokio::join!(time.run_within(SECOND * 20, work), ends);
    assert_eq!((done, time.was_suspended()), (Some(()), true));
    // What is done at once stood still with nobody.
    let mut time = AwakeTime::new(&clock);
    assert_eq!(time.run_to_end(ready(7)).await, 7);
    assert!(!time.was_suspended());
}
