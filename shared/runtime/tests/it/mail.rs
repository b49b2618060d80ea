//! Messages may come more than once: their deletion may fail, and kicks may be doubled.

use std::time::Duration;

use djinn_core::file::{ProductFile, media_type_of};
use djinn_core::id::{FileName, UserId};
use djinn_core::settings::RunSettings;
use djinn_runtime::port::mailbox::{Mail, Mailbox};
use djinn_runtime::settings::Settings;
use djinn_testkit::ledger::Ledger;
use djinn_testkit::memory::{MemoryStore, OpKind, StoreFault};
use djinn_testkit::point::Points;

use crate::story::{sim, told, visible};

fn file(name: &str) -> ProductFile {
    ProductFile {
        name: FileName::new(name).unwrap(),
        description: String::new(),
        size: 4,
        internal: false,
        media_type: media_type_of(name).to_owned(),
        object: format!("o-{name}"),
        has_rows: None,
        uploaded: false,
    }
}

/// Every kind of message.
fn every_mail() -> Vec<Mail> {
    vec![
        Mail::Stop { by: UserId::new("u").unwrap() },
        Mail::FileAdded { id: "1".to_owned(), file: file("late.csv") },
        Mail::FileAnnounced { file: file("never-arrives.csv") },
    ]
}

/// The story with a message that comes once record `after` is written; `again`: at every look into
/// the mailbox from then on, and each kick three times.
async fn history(mail: &Mail, after: u64, again: bool) -> Vec<String> {
    let mut sim = sim(Points::new(), &Ledger::default());
    sim.kick_copies = if again { 3 } else { 1 };
    // Hand-overs on the way, so that several drivers find it.
    sim.invocation = Some(Duration::from_millis(1_600));
    let times = Settings {
        mailbox_every: Duration::from_millis(50),
        hand_over_margin: Duration::from_millis(800),
        ..Settings::default()
    };
    sim.ports.settings = times.into();
    let (key, store) =
        (sim.make_question(RunSettings::default()).run_key(), sim.ports.store.clone());
    let mail = mail.clone();
    sim.ports.store.before_each(move |op| {
        let (key, store, mail) = (key.clone(), MemoryStore::clone(&store), mail.clone());
        async move {
            if op.kind == OpKind::Append && op.record == Some(after + 1) {
                store.put_mail(&key, &mail, 0).await.unwrap();
            }
            if again && op.kind == OpKind::DeleteMail {
                StoreFault::NotDone
            } else {
                StoreFault::None
            }
        }
    });
    visible(&told(&mut sim).await)
}

#[tokio::test(start_paused = true)]
async fn a_message_that_comes_again_and_again_is_heard_once() {
    for mail in every_mail() {
        for after in 0..5 {
            let once = history(&mail, after, false).await;
            let again = history(&mail, after, true).await;
            assert_eq!(once, again, "{} after record {after}", mail.id());
            let last = once.last().unwrap();
            let heard = once.iter().filter(|line| line.contains("is given late.csv")).count();
            match mail {
                Mail::Stop { .. } => assert!(last.starts_with("end stopped"), "{once:?}"),
                Mail::FileAdded { .. } => assert_eq!(heard, 1, "{once:?}"),
                Mail::ChildRequest { .. }
                | Mail::HumanResponse { .. }
                | Mail::UserMessage { .. }
                | Mail::PlanEdited { .. } => {
                    unreachable!("nobody says anything: see human_requests.rs")
                }
                Mail::ChildEnded { .. } => unreachable!("it is for runs with a plan: see plan.rs"),
                Mail::FileAnnounced { .. } => assert!(last.starts_with("end finished"), "{once:?}"),
            }
        }
    }
}
