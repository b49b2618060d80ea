//! Context that lasts: runs and sessions that are longer than the model's window, with a model that
//! refuses what is too long.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use djinn_core::tool::EffectClass;
use djinn_scripted::{RecordedRequest, ScriptedModel, ScriptedResponse};
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::point::Points;
use serde_json::{Value, json};

use crate::world::{Door, Frame, Parts, Question, World, model_sees, models};

const NOTES: &str = "What was found out: every page so far was read, and their figures add up.";

/// A system whose model takes so many tokens, and with these variables.
async fn world(tokens: u64, vars: &[(&'static str, &str)]) -> World {
    let world = World::start_with(|options, model| {
        let models = models(model, &json!({"max_input_tokens": tokens}));
        options.vars.push(("DJINN_MODELS", models));
        options.vars.extend(vars.iter().map(|(name, value)| (*name, (*value).to_owned())));
    })
    .await;
    world.model.limit_tokens(tokens);
    world
}

/// The message that a request is to write: `t3`, `t3.compact`, `summary`.
fn message(request: &RecordedRequest) -> String {
    let call = request.header("djinn-call").unwrap();
    call.split('/').nth(1).unwrap().to_owned()
}

fn turn(request: &RecordedRequest) -> Option<usize> {
    message(request).strip_prefix('t')?.parse().ok()
}

fn sums_up(request: &RecordedRequest) -> bool {
    message(request).ends_with(".compact")
}

fn get(name: &str) -> Value {
    json!({"command": "get", "filename": name})
}

fn page(nth: usize) -> String {
    (0..300).map(|line| format!("Page {nth}, line {line}: {} EUR\n", nth * 1_000 + line)).collect()
}

#[tokio::test]
async fn a_run_of_thirty_turns_with_long_results_does_not_overflow() {
    let world = world(24_000, &[]).await;
    for nth in 1..30 {
        world.upload("s1", &format!("page-{nth:02}.md"), &page(nth)).await;
    }
    let upload = json!({"command": "upload", "filename": "sum.md", "content": "# Sum so far"});
    world
        .model
        .on_request(|_| true)
        .respond_with(move |request| {
            let response = ScriptedResponse::default();
            match turn(request) {
                Some(30) => response.reply("The sum is 435."),
                Some(1) => response.say("I begin the sum.").call("file_tool", upload.clone()),
                Some(nth) => {
                    let name = format!("page-{:02}.md", nth - 1);
                    response.say(format!("I read page {nth}.")).call("file_tool", get(&name))
                }
                None if sums_up(request) => response.reply(NOTES),
                None => response,
            }
        })
        .always();
    let frames = world.told(&Question::of("Add up what all the pages say, please.", "s1")).await;
    let ending = frames.last().unwrap().json();
    assert_eq!((&ending["status"], &ending["spent"]["steps"]), (&json!("finished"), &json!(30)));
    assert_eq!(ending["files"][0]["name"], "sum.md");
    assert!(world.model.refused_requests().is_empty(), "{:?}", world.model.refused_requests());

    let requests = world.model.requests();
    let compactions = requests.iter().filter(|request| sums_up(request)).count();
    assert!((5..20).contains(&compactions), "{compactions}");
    assert_eq!(ending["spent"]["model_calls"], 30 + compactions);
    assert_eq!(named(&frames, "context.compacted"), compactions);
    for request in requests.iter().filter(|request| turn(request).is_some_and(|nth| nth >= 10)) {
        let nth = turn(request).unwrap();
        let text = request.text();
        let newest = page(nth - 2);
        let whole = text.contains(newest.trim());
        let first = text.contains("Add up what all the pages say") && text.contains(NOTES);
        let files = text.contains("sum.md") && text.contains("page-01.md");
        assert!(whole && first && files, "{}", request.transcript());
        assert!(!text.contains("Page 1, line 7"), "{}", request.transcript());
    }
    let last = requests.last().unwrap();
    assert!(last.text().contains(NOTES), "{}", last.transcript());
}

fn named(frames: &[Frame], event: &str) -> usize {
    let is = |frame: &&Frame| match frame {
        Frame::Data(received) => received.event.as_deref() == Some(event),
        Frame::Comment(_) => false,
    };
    frames.iter().filter(is).count()
}

#[tokio::test]
async fn a_history_of_four_hundred_thousand_tokens_does_not_end_a_run() {
    let world = world(100_000, &[]).await;
    let long = "fact ".repeat(40_000);
    world
        .model
        .on_request(|_| true)
        .respond_with(move |request| {
            let response = ScriptedResponse::default();
            match request.last_user_text() {
                _ if sums_up(request) => response.reply(NOTES),
                question if question.contains("How many?") => response.reply("Ten."),
                _ => response.reply(long.clone()).delta_chars(20_000),
            }
        })
        .always();
    for nth in 1..=10 {
        let question = Question::new(&format!("Tell me facts, part {nth}."));
        let ending = world.ending(&question.session("s1").request(&format!("r{nth}"))).await;
        assert_eq!(ending["status"], "finished", "{ending}");
    }
    let before = world.model.requests().len();
    let ending = world.ending(&Question::new("How many?").session("s1").request("last")).await;
    assert_eq!((&ending["status"], &ending["answer"]), (&json!("finished"), &json!("Ten.")));
    assert!(world.model.refused_requests().is_empty(), "{:?}", world.model.refused_requests());
    let requests = world.model.requests();
    let messages: Vec<_> = requests[before..].iter().map(message).collect();
    assert_eq!(messages, ["t1.compact", "t1"]);
    // Each of the ten is summed up once, and stands in the order in which it was asked.
    let compactions: String =
        requests.iter().filter(|request| sums_up(request)).map(RecordedRequest::text).collect();
    let mut places = Vec::new();
    for nth in 1..=10 {
        let question = format!("Tell me facts, part {nth}.\n");
        places.push(compactions.rfind(&question).unwrap());
        // Another time as the question of its own run, if that had to sum up.
        assert!(compactions.matches(&question).count() <= 2, "part {nth}");
    }
    assert!(places.is_sorted(), "{places:?}");
    let [.., last_compaction, answer] = &requests[..] else { panic!("{messages:?}") };
    assert!(last_compaction.text().contains("How many?"), "{}", last_compaction.transcript());
    assert!(last_compaction.text().contains(NOTES), "{}", last_compaction.transcript());
    assert!(answer.text().contains(NOTES), "{}", answer.transcript());
}

#[tokio::test]
async fn a_session_remembers_what_was_said_thirty_questions_ago() {
    let world = world(100_000, &[]).await;
    let summaries = Arc::new(AtomicUsize::new(0));
    let summary_count = Arc::clone(&summaries);
    world
        .model
        .on_request(|_| true)
        .respond_with(move |request| {
            let response = ScriptedResponse::default();
            if !sums_up(request) {
                return response.reply("Noted.");
            }
            let nth = summary_count.fetch_add(1, Ordering::Relaxed) + 1;
            // The first question is in what is to be summed up: as it was, and then in the notes.
            let is_known = request.text().contains("The code word is heron");
            let fact = if is_known { "The code word is heron." } else { "Nothing." };
            response.reply(format!("Notes {nth}. {fact}"))
        })
        .always();
    for nth in 0..41 {
        let question = match nth {
            0 => "The code word is heron.".to_owned(),
            _ => format!("And part {nth}?"),
        };
        let question = Question::new(&question).session("s1").request(&format!("r{nth}"));
        assert_eq!(world.ending(&question).await["status"], "finished");
    }
    // After 20 exchanges, and then for every ten more.
    assert_eq!(summaries.load(Ordering::Relaxed), 3);
    let requests = world.model.requests();
    let last = requests.last().unwrap();
    assert!(last.text().contains("Notes 3. The code word is heron."), "{}", last.transcript());
    for (part, is_expected) in [(29, false), (30, true), (39, true), (40, true)] {
        let is_shown = last.text().contains(&format!("And part {part}?"));
        assert_eq!(is_shown, is_expected, "part {part}: {}", last.transcript());
    }
}

/// How a run ends that calls a tool with such an answer so often in one reply, and what its last
/// request of the loop held.
async fn with_answer(answer: &str, calls: usize, max_observe: u32) -> (Value, String) {
    let model = ScriptedModel::start().await.unwrap();
    model.limit_tokens(100_000);
    let tool = LedgerTool {
        answer: answer.to_owned(),
        ..LedgerTool::new("survey", EffectClass::Read, &Ledger::default(), &Points::new())
    };
    let change = |parts: &mut Parts| {
        parts.ports.tools = parts.ports.tools.clone().with_tool(tool);
        parts.settings.run.max_result_chars = max_observe;
    };
    let mut door = Door::open(&model, |_| {}, change);
    let client = door.listen().await;
    let all = (0..calls).map(|nth| ("survey", json!({"nth": nth})));
    let rule = model.on("What does it say?").say("I ask.").calls(all);
    rule.then().reply("Much.");
    let ending = client.ending(&Question::of("What does it say?", "s1")).await;
    model.assert_done();
    assert!(model.refused_requests().is_empty(), "{ending}");
    (ending, model.requests()[1].text().to_owned())
}

#[tokio::test]
async fn a_result_of_two_megabytes_does_not_end_a_run() {
    let long = format!("The beginning.\n{}The end.", "A line of the survey.\n".repeat(95_000));
    assert!(long.len() > 2_000_000);
    for max_observe in [10_000, 1_000_000] {
        let (ending, seen) = with_answer(&long, 1, max_observe).await;
        assert_eq!(ending["status"], "finished", "{ending}");
        assert!(seen.contains("The beginning."), "{}", seen.len());
        assert!(seen.contains("The whole is in the file result-"), "{}", seen.len());
        assert!(seen.len() >= 10_000);
    }
}

#[tokio::test]
async fn a_turn_of_thirty_two_long_chinese_results_does_not_end_a_run() {
    let lines: String =
        (0..600).map(|nth| format!("第{nth}行：黄金价格上涨，白银下跌。\n")).collect();
    let (ending, seen) = with_answer(&lines, 32, 10_000).await;
    assert_eq!(ending["status"], "finished", "{ending}");
    assert_eq!(seen.matches("characters are left out here").count(), 32);
    assert_eq!(seen.matches("第0行").count(), 32);
}

/// Three files are read one after the other, and the first two are summed up before the third.
async fn what_the_model_sees(language: &'static str, question: &str, notes: &str) -> String {
    let vars = [
        ("DJINN_LANGUAGE", language),
        ("DJINN_MEMORY__KEEP_TURNS", "1"),
        ("DJINN_MEMORY__COMPACT_AT", "50"),
    ];
    let world = world(3_000, &vars).await;
    for nth in 1..=3 {
        let lines: String = (1..=40).map(|line| format!("{nth}.{line} 月 month\n")).collect();
        world.upload("s1", &format!("{nth}.md"), &lines).await;
    }
    let notes = notes.to_owned();
    world
        .model
        .on_request(|_| true)
        .respond_with(move |request| match turn(request) {
            Some(nth @ 1..=3) => {
                let usage = [1_000, 1_200, 2_900][nth - 1];
                let response = ScriptedResponse::default().say(format!("{nth}.md …"));
                response.call("file_tool", get(&format!("{nth}.md"))).usage(usage, 20, 0)
            }
            None if sums_up(request) => ScriptedResponse::default().reply(notes.as_str()),
            _ => ScriptedResponse::default().reply("12"),
        })
        .always();
    assert_eq!(world.ending(&Question::of(question, "s1")).await["status"], "finished");
    let requests = world.model.requests();
    let at = requests.iter().position(sums_up).unwrap();
    model_sees(&requests[at..=at + 1])
}

#[tokio::test]
async fn what_the_model_sees_of_summing_up() {
    let seen =
        what_the_model_sees("en", "How many months?", "What was done: two files read.").await;
    insta::assert_snapshot!("model_sees_what_was_summed_up", seen);
    let seen = what_the_model_sees("zh", "一共有几个月？", "做了什么：读了两个文件。").await;
    insta::assert_snapshot!("model_sees_what_was_summed_up_in_chinese", seen);
}
