//! Images that users attach, made small enough for models by the sandbox of this machine.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;

use super::*;
use crate::world::{KEY, models};

/// Pixels of the width and the height of a PNG.
fn size(png: &[u8]) -> (u32, u32) {
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    assert!(png.starts_with(b"\x89PNG"));
    (number(16), number(20))
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn attached_image_that_is_too_large_is_shown_smaller_and_a_long_one_in_parts() {
    let scratch = TempDir::new().unwrap();
    let sandbox = open_sandbox(&scratch);
    let world = World::start_with(|options, model| {
        let sees = json!({"key": "env:OPENAI_API_KEY", "images": true});
        options.vars.push(("DJINN_AGENTS__OFFERED", "all".to_owned()));
        options.vars.push(("OPENAI_API_KEY", KEY.to_owned()));
        options.vars.push(("DJINN_MODELS", models(model, &sees)));
        options.djinn = Djinn::new().with_sandbox(sandbox);
    })
    .await;
    at(&world.model, "")
        .call("code_interpreter", json!({"task": "Draw it."}))
        .then()
        .reply("See wide.png.");
    let code = "import numpy as np, matplotlib.pyplot as plt\n\
        plt.imsave('wide.png', np.zeros((1500, 3000)))\n\
        plt.imsave('tall.png', np.zeros((14000, 1080)))\nplt.imsave('narrow.png', np.zeros((20, 10)))";
    at(&world.model, "t1.c1").call("python", json!({"code": code})).then().reply("Drawn.");
    world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;

    world.model.on("What is in them?").reply("Nothing.");
    let question = Question::of("What is in them?", "s1").request("r2");
    let mut body = Protocol::Native.body(&question);
    body["attachments"] = json!([{"uri": "wide.png"}, {"uri": "tall.png"}, {"uri": "narrow.png"}]);
    let request = world.request(Method::POST, "/runs").json(&body);
    let ended = world.ask_with(request).await.rest().await.last().unwrap().json();
    assert_eq!(ended["answer"], "Nothing.");
    let request = world.model.last_request().unwrap();
    let shown = request.images().map(|image| size(&STANDARD.decode(&image.content).unwrap()));
    let expected = [vec![(2_000, 1_000)], vec![(1_080, 1_820); 8], vec![(10, 20)]].concat();
    assert_eq!(shown.collect::<Vec<_>>(), expected);
    assert!(request.text().contains("tall.png [8 of 8]"), "{}", request.text());
}
