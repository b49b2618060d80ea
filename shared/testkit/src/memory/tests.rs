use super::*;
use djinn_core::id::RunId;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::live::LiveLog;
use djinn_runtime::port::mailbox::{Mail, Mailbox};

fn key() -> RunKey {
    let run = RunId::new(format!("run_{}", "0".repeat(32))).unwrap();
    RunKey::new(TenantId::new("t").unwrap(), run)
}

fn mail() -> Mail {
    Mail::Stop { by: djinn_core::id::UserId::new("u").unwrap() }
}

crate::contract_tests!(((), MemoryStore::new()));

#[tokio::test]
async fn a_hook_decides_whether_an_operation_is_done_and_answered() {
    let store = MemoryStore::new();
    store.before_each(|op| async move {
        match op.nth {
            0 => StoreFault::NotDone,
            1 => StoreFault::ReplyLost,
            _ => StoreFault::None,
        }
    });
    assert!(store.put_mail(&key(), &mail(), 0).await.is_err());
    assert!(store.put_mail(&key(), &mail(), 0).await.is_err());
    assert_eq!(store.list_mail(&key()).await, Ok(vec![mail()]));

    store.without_faults();
    let run = Some(key());
    let put = Op { nth: 0, kind: OpKind::PutMail, run, record: None, process: 0 };
    let log = store.log();
    assert_eq!(log[0], put);
    assert_eq!(log[1], Op { nth: 1, ..put });
    assert_eq!(log[2].kind, OpKind::Mail);
    store.clear_log();
    assert!(store.read_from(&key(), 3).await.unwrap().is_empty());
    assert_eq!(store.log()[0].record, Some(3));
}

#[tokio::test]
async fn another_task_may_come_first_while_a_hook_waits() {
    let store = MemoryStore::new();
    let (open, gate) = tokio::sync::watch::channel(false);
    store.before_each(move |op| {
        let mut gate = gate.clone();
        async move {
            if op.kind == OpKind::PutMail {
                let _ = gate.wait_for(|open| *open).await;
            }
            StoreFault::None
        }
    });
    let late = tokio::spawn({
        let store = store.clone();
        async move { store.put_mail(&key(), &mail(), 0).await }
    });
    while store.log().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(store.list_mail(&key()).await, Ok(Vec::new()));
    store.mark_watched(&key(), 1).await.unwrap();
    open.send(true).unwrap();
    late.await.unwrap().unwrap();
    assert_eq!(store.list_mail(&key()).await, Ok(vec![mail()]));
}
