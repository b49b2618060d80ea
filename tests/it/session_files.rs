//! Files over Djinn's own routes: adding them, uploading them later, and listing them.

use djinn_scripted::ScriptedModel;
use reqwest::Method;
use serde_json::{Value, json};

use crate::keys::{keyed, let_in};
use crate::world::{Answer, Client, Door, Protocol, Question, World};

const FILES: &str = "/sessions/s1/files";

async fn add(client: &Client, name: &str) -> Answer {
    client.post(FILES, &json!({"name": name, "content": "x"})).await
}

/// The names on a page, and the cursor of the next page.
async fn list(client: &Client, query: &str) -> (Vec<String>, Value) {
    let page = client.get(&format!("{FILES}{query}")).await.json();
    let files = page["files"].as_array().unwrap().iter();
    let names = files.map(|file| file["name"].as_str().unwrap().to_owned());
    (names.collect(), page["next"].clone())
}

#[tokio::test]
async fn text_becomes_a_file() {
    let world = World::start().await;
    let body = json!({"name": "notes.md", "content": "# Notes\n", "description": "Mine."});
    let added = world.post(FILES, &body).await;
    let url = |verb: &str| format!("{}/v1/file_tool/{verb}/s1/notes.md", world.url);
    let file = json!({
        "name": "notes.md", "description": "Mine.", "size": 8, "internal": false,
        "media_type": "text/markdown",
        "preview_url": url("preview"), "download_url": url("download"),
    });
    assert_eq!((added.status, added.json()), (201, json!({"file": file})));
    let page = world.get(FILES).await.json();
    assert_eq!(page, json!({"files": [file], "next": null}));
    let content = world.follow(file["download_url"].as_str().unwrap()).await;
    assert_eq!(content.text, "# Notes\n");
}

#[tokio::test]
async fn form_becomes_a_file() {
    let world = World::start().await;
    let body = "--b0\r\nContent-Disposition: form-data; name=\"description\"\r\n\r\nSales\r\n--b0\r\n\
        Content-Disposition: form-data; name=\"file\"; filename=\"销售.csv\"\r\n\r\na,b\r\n--b0--\r\n";
    let request = world.request(Method::POST, FILES);
    let request = request.header("content-type", "multipart/form-data; boundary=b0").body(body);
    let added = Answer::of(request.send().await.unwrap()).await;
    assert_eq!(added.status, 201, "{}", added.text);
    let file = &added.json()["file"];
    assert_eq!((&file["name"], &file["size"]), (&json!("销售.csv"), &json!(3)));
    assert_eq!(file["description"], "Sales");
}

#[tokio::test]
async fn announced_file_exists_after_its_upload() {
    let world = World::start().await;
    let announced = world.post(FILES, &json!({"name": "large.csv", "size": 4})).await;
    assert_eq!(announced.status, 202, "{}", announced.text);
    let announced = announced.json();
    let upload = &announced["upload"];
    assert_eq!((&upload["method"], &upload["expires_in_s"]), (&json!("PUT"), &json!(3_600)));
    assert_eq!(world.get(FILES).await.status, 404, "neither session nor file exists yet");
    let mut put = world.http.put(upload["url"].as_str().unwrap()).body("a,b\n");
    for (name, value) in upload["headers"].as_object().unwrap() {
        put = put.header(name, value.as_str().unwrap());
    }
    assert_eq!(put.send().await.unwrap().status(), 200);
    assert_eq!(list(&world, "").await.0, ["large.csv"]);
    let content = world.follow(announced["file"]["download_url"].as_str().unwrap()).await;
    assert_eq!(content.text, "a,b\n");
}

#[tokio::test]
async fn list_has_pages_by_name() {
    let world = World::start().await;
    for name in ["b.md", "c d.md", "a.md", "b.md"] {
        assert_eq!(add(&world, name).await.status, 201);
    }
    assert_eq!(list(&world, "?limit=2").await, (vec!["a.md".into(), "b.md".into()], json!("b.md")));
    let rest = (vec!["c d.md".to_owned()], Value::Null);
    assert_eq!(list(&world, "?limit=2&cursor=b.md").await, rest);
    // The file of the cursor may be gone.
    assert_eq!(list(&world, "?cursor=b.zip").await, rest);
    assert_eq!(list(&world, "?cursor=c%20d.md").await, (Vec::new(), Value::Null));
}

#[tokio::test]
async fn question_of_the_session_sees_its_files() {
    let world = World::start().await;
    add(&world, "notes.md").await;
    world.model.on("What is in it?").reply("An x.");
    world.told(&Question::of("What is in it?", "s1")).await;
    assert!(world.model.last_request().unwrap().system().contains("notes.md"));
    let session = world.get("/sessions/s1").await.json();
    assert_eq!(session["files"][0]["name"], "notes.md");
}

#[tokio::test]
async fn guest_lists_files_and_adds_them_only_with_the_right_to_write() {
    let model = ScriptedModel::start().await.unwrap();
    let (keys, [anna, bob]) = keyed([("acme", "anna"), ("acme", "bob")]);
    let mut door = Door::open(&model, |_| {}, let_in(keys));
    let client = door.listen().await;
    let (anna, bob) = (client.clone().bearing(&anna), client.bearing(&bob));
    add(&anna, "hers.md").await;
    assert_eq!(bob.get(FILES).await.status, 404);
    model.on("Well?").reply("Well.");
    anna.ask(Protocol::Native, &Question::of("Well?", "s1")).await.rest().await;
    for (write, status) in [(false, 403), (true, 201)] {
        let share = json!({"with": "bob", "write": write});
        let share = anna.post("/sessions/s1/share", &share).await.json();
        let path = format!("/sessions/{}/files", share["handle"].as_str().unwrap());
        assert_eq!(bob.get(&path).await.json()["files"][0]["name"], "hers.md");
        let added = bob.post(&path, &json!({"name": "hers.md", "content": "his"})).await;
        assert_eq!(added.status, status, "{}", added.text);
        if write {
            assert_eq!(added.json()["file"]["name"], "hers (2).md");
        }
    }
}
