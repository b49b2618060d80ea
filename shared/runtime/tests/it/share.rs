//! A share that ends while somebody asks under it, and a guest's list of shared sessions.

use djinn_core::id::{ShareHandle, UserId};
use djinn_core::session::SharedSession;
use djinn_core::settings::RunSettings;
use djinn_runtime::port::catalog::Catalog as _;
use djinn_runtime::port::mailbox::{Mail, Mailbox as _};
use djinn_runtime::port::share::{Audience, SessionShare, ShareResult, Shares as _};
use djinn_runtime::port::{SessionKey, UserKey};
use djinn_runtime::serve::{StartResult, list_shared_sessions, start_streaming};
use djinn_testkit::ledger::Ledger;
use djinn_testkit::memory::{OpKind, StoreFault};
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

#[tokio::test(start_paused = true)]
async fn a_session_that_cannot_be_read_is_left_out_of_a_guests_list() {
    let mut sim = sim(Points::new(), &Ledger::default());
    let question = sim.make_question(RunSettings::default());
    sim.run_to_end(&question).await.unwrap();
    let tenant = question.run_key().tenant;
    let owner = UserKey { tenant: tenant.clone(), user: question.spec.user.clone() };
    let session = question.spec.session.clone();
    let store = &sim.ports.store;
    let started_at_ms = store.find_session(&owner, &session).await.unwrap().unwrap().started_at_ms;
    let guest = UserKey { tenant: tenant.clone(), user: UserId::new("bob").unwrap() };
    let share = SessionShare {
        handle: ShareHandle::new(format!("shr_{}", "0".repeat(32))).unwrap(),
        session: SessionKey { tenant, owner: owner.user, session },
        session_started_at_ms: started_at_ms,
        audience: Audience::User(guest.user.clone()),
        can_write: false,
        created_at_ms: started_at_ms,
    };
    assert_eq!(store.add_share(&share).await, Ok(ShareResult::Added));
    store.before_each(|op| {
        let is_throttled = op.kind == OpKind::FindSession;
        async move { if is_throttled { StoreFault::NotDone } else { StoreFault::None } }
    });
    assert_eq!(list_shared_sessions(&sim.ports, &guest).await, Ok(Vec::new()));
    store.without_faults();
    assert_eq!(list_shared_sessions(&sim.ports, &guest).await.unwrap().len(), 1);
}
