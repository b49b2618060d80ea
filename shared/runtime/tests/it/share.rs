//! A share that ends while somebody asks under it.

use djinn_core::id::{ShareHandle, UserId};
use djinn_core::session::SharedSession;
use djinn_core::settings::RunSettings;
use djinn_runtime::port::mailbox::{Mail, Mailbox as _};
use djinn_runtime::serve::{StartResult, start_streaming};
use djinn_testkit::ledger::Ledger;
use djinn_testkit::point::Points;

use crate::story::sim;

#[tokio::test(start_paused = true)]
async fn a_guests_run_whose_share_is_gone_when_it_is_made_is_told_to_stop() {
    let sim = sim(Points::new(), &Ledger::default());
    let owner = UserId::new("anna").unwrap();
    let handle = ShareHandle::new(format!("shr_{}", "0".repeat(32))).unwrap();
    let shared = Some(SharedSession { owner, handle });
    let mut question = sim.make_question(RunSettings::default());
    question.spec.shared = shared;
    let key = question.run_key();
    let opened = start_streaming(&sim.ports, question, "holder", None).await.unwrap();
    assert!(matches!(opened, StartResult::New { .. }), "its client hears of its end");
    let mail = sim.ports.store.list_mail(&key).await.unwrap();
    assert!(matches!(&mail[..], [Mail::Stop { .. }]), "{mail:?}");
}
