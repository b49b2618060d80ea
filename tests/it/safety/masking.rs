//! What identifies a person is masked in what tools answer.

use djinn_core::id::{FileName, SessionId, TenantId, UserId};
use djinn_core::tool::EffectClass;
use djinn_runtime::port::SessionKey;
use djinn_runtime::port::file::Files as _;
use djinn_scripted::ScriptedModel;
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::point::Points;
use djinn_text::masking::mask_pii;
use serde_json::{Value, json};

use crate::world::{Door, Question, World, model_sees};

/// What must be seen nowhere.
const SECRETS: [&str; 5] =
    ["anna@example.com", "138 1234 5678", "110101199003071233", "078-05-1120", "4111111111111111"];

const LINK: &str = "https://shop.example/orders/13812345678";

fn customers() -> String {
    let [email, phone, id, ssn, card] = SECRETS;
    format!(
        "name,contact,id,card\nAnna,{email},{id},{card}\nBo,{phone},{ssn},{LINK} $13812345678\n"
    )
}

async fn world(language: &'static str, mask: &'static str) -> World {
    World::start_with(|options, _| {
        options.vars.push(("DJINN_LANGUAGE", language.to_owned()));
        options.vars.push(("DJINN_SAFETY__MASK_PII", mask.to_owned()));
        options.vars.push(("DJINN_LIMITS__MAX_OBSERVE", "1000".to_owned()));
        options.vars.push(("DJINN_MODES__SUMMARY", "always".to_owned()));
    })
    .await
}

fn get(name: &str, offset: usize) -> Value {
    json!({"command": "get", "filename": name, "offset": offset})
}

#[tokio::test]
async fn a_file_with_customers_is_read_without_what_identifies_them() {
    for (language, begins, name) in [("en", "Who", "masked"), ("zh", "谁", "masked_in_chinese")] {
        let world = world(language, "1").await;
        world.upload("s1", "customers.csv", &customers()).await;
        let rule = world.model.on(begins).say("I look.").call("file_tool", get("customers.csv", 0));
        let rule = rule.call("file_tool", get("anna@example.com", 0));
        rule.then().reply("Anna and Bo.").then().reply("Anna and Bo.");
        let rest = if language == "en" { " are our customers?" } else { "是我们的客户？" };
        let question = format!("{begins}{rest}");
        let frames = world.told(&Question::of(&question, "s1")).await;

        let results = frames.iter().filter(|frame| frame.event() == "call.completed");
        let text = |frame: &crate::world::Frame| {
            frame.json()["result"]["text"].as_str().map(str::to_owned)
        };
        let text = results.filter_map(text).next().unwrap();
        assert!(text.contains("Bo,*** **** ****,***-**-****,"), "{text}");
        assert!(text.contains(&format!("{LINK} $13812345678")), "{text}");
        // The model's own words are no result.
        let told = frames.iter().filter(|frame| frame.event() != "call.requested");
        let shown: String = told.map(|frame| format!("{}\n", frame.json())).collect();
        for secret in SECRETS {
            assert!(!shown.contains(secret), "{secret} in {shown}");
        }
        let requests = world.model.requests();
        for secret in &SECRETS[1..] {
            assert!(!requests.iter().any(|request| request.text().contains(secret)), "{secret}");
        }
        insta::assert_snapshot!(format!("model_sees_{name}"), model_sees(&requests));
    }
}

/// Parts that begin or end in the middle of a number show no piece of it, and the file that keeps the
/// whole of a long result holds none either.
#[tokio::test]
async fn a_number_that_a_part_cuts_through_is_masked_in_both_parts() {
    let world = world("en", "1").await;
    let content = format!("{}13812345678{}", "x ".repeat(198), " y".repeat(400));
    world.upload("s1", "long.txt", &content).await;
    let mut rule = world.model.on("Read it in parts");
    for offset in [0, 397, 401, 406] {
        rule = rule.say("On.").call("file_tool", get("long.txt", offset)).then();
    }
    rule.reply("Done.").then().reply("Done.");
    world.told(&Question::of("Read it in parts", "s1")).await;
    let requests = world.model.requests();
    let text: String = requests.iter().map(djinn_scripted::RecordedRequest::text).collect();
    for piece in ["1381", "3812", "8123", "2345", "4567", "5678"] {
        assert!(!text.contains(piece), "{piece}");
    }
    assert!(text.contains("**********"));
}

#[tokio::test]
async fn without_the_switch_the_model_sees_what_is_there() {
    let world = world("en", "").await;
    world.upload("s1", "customers.csv", &customers()).await;
    let rule = world.model.on("Who").say("I look.").call("file_tool", get("customers.csv", 0));
    rule.then().reply("Anna and Bo.").then().reply("Anna and Bo.");
    world.told(&Question::of("Who are our customers?", "s1")).await;
    let text: String =
        world.model.requests().iter().map(djinn_scripted::RecordedRequest::text).collect();
    for secret in SECRETS {
        assert!(text.contains(secret), "{secret}");
    }
    assert!(!text.contains("masked"), "{text}");
}

#[tokio::test]
async fn the_whole_of_a_long_result_is_kept_masked() {
    let model = ScriptedModel::start().await.unwrap();
    let long = customers().repeat(40);
    let tool = LedgerTool {
        answer: long.clone(),
        ..LedgerTool::new("survey", EffectClass::Read, &Ledger::default(), &Points::new())
    };
    let mut door = Door::open(
        &model,
        |_| {},
        |parts| {
            parts.ports.tools = parts.ports.tools.clone().with_tool(tool);
            parts.settings.run.mask_pii = true;
            parts.settings.run.max_result_chars = 1_000;
        },
    );
    let client = door.listen().await;
    let rule = model.on("What does the survey say?").say("I ask.").call("survey", json!({}));
    rule.then().reply("Much.");
    let frames = client.told(&Question::of("What does the survey say?", "s1")).await;
    let completed = frames.iter().find(|frame| frame.event() == "call.completed").unwrap().json();
    let whole = completed["result"]["full_output"]["file"].as_str().unwrap();

    let session = SessionKey {
        tenant: TenantId::new("local").unwrap(),
        owner: UserId::new("you").unwrap(),
        session: SessionId::new("s1").unwrap(),
    };
    let store = &door.ports.store;
    let file = store.find_file(&session, &FileName::new(whole).unwrap()).await.unwrap().unwrap();
    let kept = store.read_file(&session, &file, 1_000_000).await.unwrap();
    assert_eq!(String::from_utf8(kept).unwrap(), mask_pii(&long));
}
