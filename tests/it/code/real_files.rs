//! Files as people send them, as an agent reads them; the right value for each is in
//! `functions/sandbox/tests/jail/real_files.rs`.

use std::fs;
use std::path::Path;

use djinn_core::file::media_type_of;
use djinn_core::id::{FileName, SessionId, TenantId, UserId};
use djinn_runtime::port::SessionKey;
use djinn_runtime::port::file::{Files as _, NewFile};

use super::*;

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../functions/sandbox/tests/jail/cases");

fn case(name: &str) -> Vec<u8> {
    fs::read(Path::new(CASES).join(name)).unwrap()
}

/// Puts a file of any size into the session.
async fn put(world: &World, name: &str, content: &[u8]) {
    let session = SessionKey {
        tenant: TenantId::new("local").unwrap(),
        owner: UserId::new("you").unwrap(),
        session: SessionId::new("s1").unwrap(),
    };
    let file = NewFile {
        name: FileName::new(name).unwrap(),
        description: String::new(),
        internal: false,
        media_type: media_type_of(name).to_owned(),
        uploaded: true,
        writer: session.owner.clone(),
    };
    world.system.ports().store.write_file(&session, &file, content).await.unwrap();
}

/// The form with 17 MB of nothing behind its first line.
fn large_pdf() -> Vec<u8> {
    let form = case("form.pdf");
    let (first, rest) = form.split_at(9);
    [first, b"%", &vec![b'x'; 17_000_000], b"\n", rest].concat()
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn documents_of_real_use_are_read_by_an_agent() {
    let scratch = TempDir::new().unwrap();
    let world = start(&scratch).await;
    let read: [(&str, &[&str]); 7] = [
        (
            "contract.docx",
            &["星河科技有限公司", "128,000", "付款期限为60天", "违约金", "tracked deletions"],
        ),
        ("grouped.pptx", &["华北收入 310 万", "| 三月 | 18.25 |"]),
        ("form.pdf", &["amount: 128000"]),
        ("large.pdf", &["amount: 128000"]),
        ("merged-dates-formula.xlsx", &["13800138000", "=E3*2", "no stored value"]),
        ("gbk-comments.csv", &["太好了！！！！"]),
        ("utf8-one-bad-byte.csv", &["北京,1200,老客户", "1 characters are broken"]),
    ];
    let mut calls = at(&world.model, "");
    for (name, _) in read {
        let content = if name == "large.pdf" { large_pdf() } else { case(name) };
        put(&world, name, &content).await;
        calls = calls.call("file_tool", json!({"command": "get", "filename": name}));
    }
    calls.then().reply("Read.");
    let frames = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;
    for (at, (name, parts)) in read.into_iter().enumerate() {
        let result = completed(&frames, &format!("t1.c{}.result", at + 1))[0].json();
        let text = result["result"]["text"].as_str().unwrap_or_else(|| panic!("{name}: {result}"));
        for part in parts {
            assert!(text.contains(part), "{name}: {part}: {text:.2000}");
        }
    }
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn agent_that_writes_code_sees_tables_as_they_are() {
    let scratch = TempDir::new().unwrap();
    let world = start(&scratch).await;
    let tables: [(&str, &[&str]); 6] = [
        ("far-cell.xlsx", &["2 rows × 2 columns"]),
        ("gbk-units.csv", &["encoding=\"gb18030\"", "| A1 | 21℃ | 41％ | 10㎡ |"]),
        ("alipay-like.csv", &["6 rows × 9 columns", "skiprows=16"]),
        ("ids.csv", &["| 00123 | 110101199003078888 | 010010 |"]),
        ("utf8-one-bad-byte.csv", &["1 characters are broken", "encoding_errors=\"replace\""]),
        ("user-password.pdf", &["It is encrypted"]),
    ];
    for (name, _) in tables {
        put(&world, name, &case(name)).await;
    }
    ask_for_code(&world);
    at(&world.model, "t1.c1").reply("Nothing to draw.");
    world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;
    let requests = world.model.requests();
    let first = requests.iter().find(|r| path_of(r).as_deref() == Some("t1.c1")).unwrap();
    for (name, parts) in tables {
        for part in parts {
            assert!(first.text().contains(part), "{name}: {part}: {}", first.text());
        }
    }
}
