//! Users of one tenant: each has sessions, requests and files of their own, whatever the others call
//! theirs.

use djinn_scripted::ScriptedModel;
use serde_json::json;

use crate::keys::{keyed, let_in};
use crate::world::{Door, Protocol, Question};

#[tokio::test]
async fn two_users_of_a_tenant_use_the_same_labels_and_see_nothing_of_each_other() {
    let model = ScriptedModel::start().await.unwrap();
    let (list, keys) = keyed([("acme", "anna"), ("acme", "bob")]);
    let mut door = Door::open(&model, |_| {}, let_in(list));
    let client = door.listen().await;
    let users = keys.map(|key| client.clone().bearing(&key));
    let names = ["Anna", "Bob"];
    let mut streams = Vec::new();
    for (user, name) in users.iter().zip(names) {
        user.upload("s1", "notes.md", &format!("{name}'s notes.")).await;
        let rule = model.on(format!("Who is {name}?")).reply(format!("That is {name}."));
        let gate = rule.gate(1);
        let question = Question::of(&format!("Who is {name}?"), "s1");
        streams.push((user.ask(Protocol::Native, &question).await, gate));
    }
    // Both are at work at the same time, as the same request of a session of the same name.
    for (_, gate) in &streams {
        gate.wait_until_reached().await;
    }
    let mut runs = Vec::new();
    for (stream, gate) in streams {
        gate.open();
        runs.push(stream.run());
        assert_eq!(stream.rest().await.last().unwrap().json()["status"], "finished");
    }
    assert_ne!(runs[0], runs[1]);

    for ((user, name), run) in users.iter().zip(names).zip(&runs) {
        model.on(format!("And what does {name} do?")).reply("Work.");
        let next = Question::new(&format!("And what does {name} do?")).session("s1").request("r2");
        user.told(&next).await;
        let request = model.last_request().unwrap();
        let told = format!(
            "user Who is {name}?\nassistant That is {name}.\nuser And what does {name} do?"
        );
        assert_eq!(request.text(), told);
        assert!(request.system().contains("- notes.md"), "{}", request.system());
        let session = user.get("/sessions/s1").await.json();
        assert_eq!(session["turns"].as_array().unwrap().len(), 2, "{session}");
        assert_eq!(session["turns"][1]["run"], json!(run));
        for label in ["s1", "r1", "r2"] {
            let file = user.get(&format!("/v1/file_tool/preview/{label}/notes.md")).await;
            let location = file.header("location").to_owned();
            let bytes = reqwest::get(location).await.unwrap().text().await.unwrap();
            assert_eq!(bytes, format!("{name}'s notes."), "{label}");
        }
        let listed = user.get("/runs").await.json();
        assert_eq!(listed["runs"].as_array().unwrap().len(), 2, "{listed}");
        let sessions = user.get("/sessions").await.json();
        assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1, "{sessions}");
        assert_eq!(sessions["user"], name.to_lowercase());
    }
    let [anna, bob] = users;
    assert_eq!(anna.get(&format!("/runs/{}", runs[1])).await.status, 404);
    assert_eq!(bob.delete("/sessions/s1").await.status, 204);
    assert_eq!(bob.get("/sessions/s1").await.status, 404);
    assert_eq!(anna.get("/sessions/s1").await.json()["turns"].as_array().unwrap().len(), 2);
    let files = anna.post("/v1/file_tool/get_file_list", &json!({"requestId": "s1"})).await.json();
    assert_eq!(files["totalSize"], 1, "{files}");
}

#[tokio::test]
async fn another_users_cursor_is_one_of_a_run_that_does_not_exist() {
    let model = ScriptedModel::start().await.unwrap();
    let (list, [anna, bob]) = keyed([("acme", "anna"), ("acme", "bob")]);
    let mut door = Door::open(&model, |_| {}, let_in(list));
    let client = door.listen().await;
    let (anna, bob) = (client.clone().bearing(&anna), client.bearing(&bob));
    model.on("Hers?").reply("Hers.");
    let stream = anna.ask(Protocol::Native, &Question::of("Hers?", "s1")).await;
    let (run, _) = (stream.run(), stream.rest().await);
    let refused = |run: String| {
        let go_on = Question::new("continue").session("s1").request("r9");
        let (bob, question) = (bob.clone(), go_on.after(&format!("{run}:0")));
        async move {
            let refused = bob.ask(Protocol::Native, &question).await;
            let status = refused.status;
            (status, refused.body().await.to_string().replace(&run, "RUN"))
        }
    };
    let unknown = refused(format!("run_{}", "0".repeat(32))).await;
    assert_eq!(unknown.0, 400, "{unknown:?}");
    assert_eq!(refused(run).await, unknown);
}
