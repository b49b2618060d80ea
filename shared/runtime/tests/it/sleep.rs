//! Every interleaving of a driver that falls asleep and a sender that wakes the run: no message is
//! left unread.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use djinn_core::id::UserId;
use djinn_core::journal::{ChainHead, RecordHash};
use djinn_core::settings::RunSettings;
use djinn_core::status::RunStatus;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::lease::LeaseNote;
use djinn_runtime::port::mailbox::{Mail, Mailbox};
use djinn_runtime::serve::{StartResult, start_streaming};
use djinn_runtime::sleep::{SleepResult, fall_asleep, wake_run};
use djinn_testkit::ledger::Ledger;
use djinn_testkit::memory::StoreFault;
use djinn_testkit::point::Points;

use crate::story::sim;

/// Ready the second time it is polled: between two polls, others have their turn.
struct Turn(AtomicBool);

impl Future for Turn {
    type Output = StoreFault;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<StoreFault> {
        if self.0.swap(true, Ordering::Relaxed) {
            Poll::Ready(StoreFault::None)
        } else {
            Poll::Pending
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_message_is_left_unread_in_any_interleaving() {
    let mut outcomes = BTreeSet::new();
    for schedule in 0u32..1 << 10 {
        outcomes.insert(interleave(schedule).await);
    }
    // All three are reached: woken by its own look, kicked by the sender, and both.
    assert_eq!(outcomes.len(), 3, "{outcomes:?}");
}

/// One bit a step: whose operation comes next.
async fn interleave(schedule: u32) -> (bool, bool) {
    let sim = sim(Points::new(), &Ledger::default());
    let ports = sim.ports.clone();
    let question = sim.make_question(RunSettings::default());
    let key = question.run_key();
    let Ok(StartResult::New { .. }) = start_streaming(&ports, question, "driver", None).await
    else {
        panic!("the run is new")
    };
    let meta = ports.store.find_meta(&key).await.unwrap().unwrap();
    let (session, lease) = (meta.session_key(&key.tenant), meta.lease.unwrap());
    let mail = Mail::Stop { by: UserId::new("u").unwrap() };
    ports.store.before_each(|_| Turn(AtomicBool::new(false)));

    let nothing = BTreeSet::new();
    let head = ChainHead { records: 1, hash: RecordHash::default() };
    let note = LeaseNote { head: &head, has_open_requests: false };
    let mut sleeper =
        Box::pin(fall_asleep(&ports, &key, &session, &lease, RunStatus::Running, note, &nothing));
    let mut waker = Box::pin(wake_run(&ports, &key, &mail));
    let (mut slept, mut woken) = (None, false);
    let mut bits = (0..).map(|step| schedule >> (step % 32) & 1 == 1);
    let mut context = Context::from_waker(Waker::noop());
    let mut steps = 0;
    while slept.is_none() || !woken {
        steps += 1;
        assert!(steps < 100, "schedule {schedule:b} does not end");
        if (bits.next().unwrap() || woken) && slept.is_none() {
            if let Poll::Ready(result) = sleeper.as_mut().poll(&mut context) {
                slept = Some(result.unwrap());
            }
        } else if let Poll::Ready(result) = waker.as_mut().poll(&mut context) {
            result.unwrap();
            woken = true;
        }
    }
    drop((sleeper, waker));
    let kicked = sim.points.point_names().contains(&"after kick".to_owned());
    let read = matches!(&slept, Some(SleepResult::Woken { mailbox, .. }) if mailbox.mail == [mail.clone()]);
    assert!(read || kicked, "schedule {schedule:b} left a message unread");
    if !read {
        ports.store.without_faults();
        assert_eq!(Arc::clone(&ports.store).list_mail(&key).await.unwrap(), [mail]);
    }
    (read, kicked)
}
