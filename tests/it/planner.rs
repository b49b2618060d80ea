//! The planner in both languages: what it sees, and that steps run side by side or one after the other
//! as it says.

use std::collections::BTreeSet;

use djinn_scripted::ChunkGate;
use serde_json::{Value, json};

use crate::world::{
    Frame, Protocol, Question, SALES, World, model_sees, planner, summary, task, task_of,
};

/// A question about three regions, and a step for each.
struct Words {
    language: &'static str,
    question: &'static str,
    says: &'static str,
    steps: [&'static str; 3],
    found: [&'static str; 2],
}

const WORDS: [Words; 2] = [
    Words {
        language: "en",
        question: "Compare the three regions in sales.csv",
        says: "I look at each region by itself, then I compare them.",
        steps: [
            "North: write a report on North from sales.csv",
            "South: write a report on South from sales.csv",
            "East: write a report on East from sales.csv",
        ],
        found: ["North grew by 8.3 %; see North.md.", "South grew by 20.9 %."],
    },
    Words {
        language: "zh",
        question: "比较 sales.csv 中的三个地区",
        says: "我先分别查看每个地区，再作比较。",
        steps: [
            "北部: 根据 sales.csv 写出北部的报告",
            "南部: 根据 sales.csv 写出南部的报告",
            "东部: 根据 sales.csv 写出东部的报告",
        ],
        found: ["北部增长 8.3%，见 North.md。", "南部增长 20.9%。"],
    },
];

impl Words {
    async fn world(&self) -> World {
        let language = self.language.to_owned();
        World::start_with(|options, _| options.vars.push(("DJINN_LANGUAGE", language))).await
    }

    fn question(&self) -> Question {
        Question::of(self.question, "s1").deep()
    }

    /// Makes these steps, with what each waits for, and is done when they are.
    fn plans(&self, world: &World, steps: &[&str], depends_on: Option<Value>) {
        let mut plan = json!({"command": "create", "title": "Regions", "steps": steps});
        if let Some(depends_on) = depends_on {
            plan["depends_on"] = depends_on;
        }
        let rule = planner(&world.model).say(self.says).call("planning", plan);
        rule.then().say("…").call("planning", json!({"command": "finish"}));
        summary(&world.model).reply("…");
    }
}

/// The planner's requests: the first, and the one after a round of which one step failed.
async fn what_the_planner_sees(words: &Words) -> String {
    let world = words.world().await;
    world.upload("s1", "sales.csv", SALES).await;
    words.plans(&world, &words.steps, Some(json!([[], [], []])));
    let [north, south, east] = words.steps;
    let report = json!({"command": "upload", "filename": "North.md", "description": "",
        "content": "# North\n"});
    let rule = task(&world.model, north).say("…").call("file_tool", report);
    rule.then().reply(words.found[0]);
    task(&world.model, south).reply(words.found[1]);
    let rule = task(&world.model, east).error(400, "bad", None, "out of range");
    rule.then().error(400, "bad", None, "the table has no such column");
    let ending = world.ending(&words.question()).await;
    assert_eq!(ending["status"], "finished", "{ending}");
    world.model.assert_done();
    let mut requests = world.model.requests();
    requests.retain(|request| request.offers_tool("planning"));
    assert_eq!(requests.len(), 2);
    model_sees(&requests)
}

#[tokio::test]
async fn what_the_planner_sees_before_and_after_a_round() {
    let [en, zh] = &WORDS;
    insta::assert_snapshot!("the_planner_sees", what_the_planner_sees(en).await);
    insta::assert_snapshot!("the_planner_sees_chinese", what_the_planner_sees(zh).await);
}

/// The tasks in groups: those of one group are at work at the same time, and begin when all of the
/// group before have ended.
fn groups(frames: &[Frame]) -> Vec<BTreeSet<String>> {
    let (mut groups, mut at_work): (Vec<BTreeSet<String>>, _) = (Vec::new(), BTreeSet::new());
    for frame in frames {
        let task = || frame.json()["child"].as_str().unwrap().to_owned();
        match frame.event() {
            "child.started" => {
                if at_work.is_empty() {
                    groups.push(BTreeSet::new());
                }
                groups.last_mut().unwrap().insert(task());
                at_work.insert(task());
            }
            "child.ended" => assert!(at_work.remove(&task())),
            _ => {}
        }
    }
    assert_eq!(at_work, BTreeSet::new(), "they all end");
    groups
}

fn group<const N: usize>(tasks: [&str; N]) -> BTreeSet<String> {
    tasks.map(str::to_owned).into()
}

#[tokio::test]
async fn independent_parts_are_worked_on_at_once() {
    for words in &WORDS {
        let world = words.world().await;
        words.plans(&world, &words.steps, Some(json!([[], [], []])));
        let gates = words.steps.map(|step| task(&world.model, step).reply("…").gate(1));
        let stream = world.ask(Protocol::Native, &words.question()).await;
        // Each is in the middle of its reply when the last begins its own.
        for gate in &gates {
            gate.wait_until_reached().await;
        }
        gates.iter().for_each(ChunkGate::open);
        let frames = stream.rest().await;
        assert_eq!(groups(&frames), [group(["s1.1", "s2.1", "s3.1"])], "{}", words.language);
        world.model.assert_done();
    }
}

#[tokio::test]
async fn dependent_parts_are_worked_on_one_group_after_the_other() {
    for words in &WORDS {
        // What a step waits for is said, or each waits for the one before.
        for (steps, depends_on) in [(3, Some(json!([[], [], [1, 2]]))), (2, None)] {
            let world = words.world().await;
            words.plans(&world, &words.steps[..steps], depends_on);
            for (nth, step) in words.steps[..steps].iter().enumerate() {
                task(&world.model, step).reply(format!("Found {nth}."));
            }
            let frames = world.told(&words.question()).await;
            let last = format!("s{steps}.1");
            let first = if steps == 3 { group(["s1.1", "s2.1"]) } else { group(["s1.1"]) };
            assert_eq!(groups(&frames), [first, group([&last])], "{}", words.language);
            // The last one is told what came of those that it waited for.
            let requests = world.model.requests();
            let asked = requests.iter().find(|request| task_of(request) == Some(&last)).unwrap();
            for nth in 0..steps - 1 {
                assert!(asked.text().contains(&format!("Found {nth}.")), "{}", asked.text());
            }
            world.model.assert_done();
        }
    }
}
