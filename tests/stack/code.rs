//! Code in the sandbox.

use serde_json::json;

use crate::story::Story;

const SALES: &str = include_str!("../../examples/sales.csv");
const CODE: &str = "# Sales by region\nimport pandas as pd, matplotlib.pyplot as plt\n\
    table = pd.read_csv('sales.csv')\ntable.groupby('region').sales.sum().plot.bar()\n\
    plt.savefig('sales.png')\nprint(len(table), 'rows')";

#[tokio::test]
#[ignore = "needs the stack: cargo verify --only stack"]
async fn chart_is_drawn_in_the_sandbox() {
    let story = Story::open("code in the sandbox").await;
    story.user.upload(&story.session, "sales.csv", SALES).await;
    story
        .at("")
        .call("code_interpreter", json!({"task": "Draw sales.csv by region."}))
        .then()
        .reply("See sales.png.");
    story.at("t1.c1").call("python", json!({"code": CODE})).then().reply("It is sales.png.");
    let frames = story.ask(&story.question("Which region sells most?")).await;

    let ended = frames.last().unwrap().json();
    assert_eq!(
        (&ended["status"], &ended["answer"]),
        (&json!("finished"), &json!("See sales.png."))
    );
    let result = frames.iter().find(|frame| frame.json()["id"] == "t1.c1.t1.c1.result");
    let result = result.unwrap_or_else(|| panic!("{frames:#?}")).json();
    assert!(result["result"]["text"].as_str().unwrap().contains(" rows\n"), "{result}");
    assert_eq!(ended["files"][0]["name"], "sales.png");
    let link = story.local_url(ended["files"][0]["download_url"].as_str().unwrap());
    let redirect = story.anyone.http.get(link).send().await.unwrap();
    let image = redirect.headers()["location"].to_str().unwrap().to_owned();
    let image = story.anyone.http.get(image).send().await.unwrap().bytes().await.unwrap();
    assert!(image.starts_with(b"\x89PNG"), "{} bytes", image.len());
    story.close();
}
