//! A journal that cannot be read any more, since the object of a long record is lost.

use djinn_core::entry::Event;
use djinn_core::error_code::ErrorCode;
use djinn_core::id::{ChildId, RequestId};
use djinn_core::settings::RunSettings;
use djinn_core::status::RunStatus;
use djinn_runtime::port::alarm::Alarms;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::mailbox::Mailbox;
use djinn_runtime::serve::{LoadedRun, request_stop, start_background, start_streaming};
use djinn_runtime::settings::Settings;
use djinn_testkit::ledger::Ledger;
use djinn_testkit::memory::{MemoryStore, OpKind, StoreFault};
use djinn_testkit::point::Points;

use crate::market;
use crate::story::{TOLD, sim, told, visible};

#[tokio::test(start_paused = true)]
async fn a_run_that_nobody_can_read_is_ended_by_a_stop_and_its_session_goes_on() {
    let mut sim = sim(Points::new(), &Ledger::default());
    let question = sim.make_question(RunSettings::default());
    let mut lost = question.clone();
    lost.spec.request = RequestId::new("lost").unwrap();
    let key = start_background(&sim.ports, lost).await.unwrap();
    sim.ports.alarms.set_alarm(&key).await.unwrap();
    sim.ports.store.lose_record(&key, 0);
    let busy = start_background(&sim.ports, question.clone()).await.unwrap_err();
    assert_eq!(busy.code, ErrorCode::SessionBusy);

    for _ in 0..2 {
        let mut run = LoadedRun::load(&sim.ports, &key).await.unwrap();
        let status = request_stop(&sim.ports, &mut run, question.spec.user.clone()).await;
        assert_eq!(status, Ok(RunStatus::Failed));
    }
    assert!(!sim.has_alarm(), "it would ring for ever");
    assert_eq!(visible(&told(&mut sim).await), TOLD);
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_has_read_the_journal_before_is_left_to_stop_by_itself() {
    let sim = sim(Points::new(), &Ledger::default());
    let question = sim.make_question(RunSettings::default());
    let (key, user) = (question.run_key(), question.spec.user.clone());
    let _driving = start_streaming(&sim.ports, question, "driver", None).await.unwrap();
    sim.ports.store.lose_record(&key, 0);
    let mut run = LoadedRun::load(&sim.ports, &key).await.unwrap();
    assert_eq!(request_stop(&sim.ports, &mut run, user).await, Ok(RunStatus::Running));
    assert_eq!(sim.ports.store.find_meta(&key).await.unwrap().unwrap().status, RunStatus::Running);
    assert_eq!(sim.ports.store.list_mail(&key).await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_nobody_can_read_has_failed_and_its_run_comes_to_an_end() {
    let mut sim = market::sim(Points::new(), &Ledger::default());
    sim.ports.settings = Settings { hand_over_after_record: true, ..Settings::default() }.into();
    let question = sim.make_question(market::settings());
    let store = MemoryStore::clone(&sim.ports.store);
    let task = question.run_key().with_child("s4.1".parse::<ChildId>().unwrap());
    sim.ports.store.before_each(move |op| {
        // The process that continues the task finds its journal so.
        if op.kind == OpKind::ReleaseLease && op.run.as_ref() == Some(&task) {
            store.lose_record(&task, 0);
        }
        async { StoreFault::None }
    });
    let entries = sim.run_to_end(&question).await.unwrap();
    let failure = entries.iter().find_map(|entry| match &entry.event {
        Event::ChildEnded { child, failure, .. } if child.to_string() == "s4.1" => failure.clone(),
        _ => None,
    });
    assert_eq!(failure.map(|failure| failure.code), Some(ErrorCode::StoredDataUnreadable));
    assert!(visible(&entries).last().unwrap().starts_with("end "));
    assert!(!sim.has_alarm());
}
