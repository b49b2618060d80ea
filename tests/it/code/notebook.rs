//! Blocks of one task that build on each other, as an agent writes them.

use serde_json::json;
use tempfile::TempDir;

use super::{completed, start};
use crate::agents::at;
use crate::world::{Protocol, Question};

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn blocks_build_on_each_other_and_deliver_one_chart() {
    let scratch = TempDir::new().unwrap();
    let world = start(&scratch).await;
    at(&world.model, "")
        .call("code_interpreter", json!({"task": "Draw the sales in CNY."}))
        .then()
        .reply("See sales.png.");
    let blocks = [
        "RATE = 7.2\ndef to_cny(x, rate=RATE):\n    return x * rate\nyoy = lambda a, b: (b - a) / a",
        "%matplotlib inline\nprint(1)",
        "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nprint(to_cny(2), yoy(1, 2))",
        "bars = ax.bar(['东', '北'], [to_cny(120), to_cny(35)])\nplt.savefig('empty.png')\nlog = open('log', 'w')",
        "fig.savefig('sales.png')",
    ];
    let mut turns = at(&world.model, "t1.c1");
    for code in blocks {
        turns = turns.call("python", json!({ "code": code })).then();
    }
    turns.reply("The chart is sales.png.");
    let question = Question::of("How much is sold in CNY?", "s1");
    let frames = world.ask(Protocol::Native, &question).await.rest().await;
    let ended = frames.last().unwrap().json();
    assert_eq!(ended["status"], "finished", "{ended}");
    let results: Vec<_> = (1..=blocks.len())
        .map(|turn| completed(&frames, &format!("t1.c1.t{turn}.c1.result"))[0].json())
        .collect();
    for (turn, words) in [
        (2, "Charts need no `%matplotlib`"),
        (3, "14.4 1.0"),
        (4, "nothing is drawn in the figure: empty.png"),
        (4, "since they cannot be kept: log"),
    ] {
        let text = results[turn - 1]["result"]["text"].as_str().unwrap();
        assert!(text.contains(words), "{turn}: {text}");
    }
    let files = ended["files"].as_array().unwrap();
    let names: Vec<_> = files.iter().map(|file| file["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"sales.png") && !names.contains(&"empty.png"), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("figure-")), "{names:?}");
}
