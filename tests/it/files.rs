//! Files: handing them in, finding them, opening them, and what the agent knows of them.

use djinn_scripted::ScriptedModel;
use reqwest::Method;
use serde_json::{Value, json};

use crate::world::{Answer, Client, Door, Protocol, Question, World};

/// A form as a browser sends it.
fn form(parts: &[(&str, Option<&str>, &[u8])]) -> (String, Vec<u8>) {
    let mut body = Vec::new();
    for (name, file_name, content) in parts {
        let file = file_name.map(|name| format!("; filename=\"{name}\"")).unwrap_or_default();
        let head = format!("--b0\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--b0--\r\n");
    ("multipart/form-data; boundary=b0".to_owned(), body)
}

async fn upload_form(world: &World, name: &str, content: &[u8]) -> Answer {
    let (kind, body) = form(&[("requestId", None, b"s1"), ("file", Some(name), content)]);
    let request = world.request(Method::POST, "/v1/file_tool/upload_file_data");
    let request = request.header("content-type", kind).body(body);
    Answer::of(request.send().await.unwrap()).await
}

async fn listed(world: &Client, label: &str) -> Vec<String> {
    let body = json!({"requestId": label, "pageSize": 100});
    let list = world.post("/v1/file_tool/get_file_list", &body).await.json();
    let results = list["results"].as_array().unwrap();
    assert_eq!(list["totalSize"], results.len());
    results.iter().map(|file| file["fileName"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_text_is_uploaded_and_every_answer_says_where_it_is() {
    let world = World::start().await;
    let place = world.upload("s1", "notes.md", "# Notes\n").await.json();
    let url = |verb: &str| format!("{}/v1/file_tool/{verb}/s1/notes.md", world.url);
    let expected = json!({
        "ossUrl": url("download"), "downloadUrl": url("download"), "domainUrl": url("preview"),
        "fileName": "notes.md", "fileSize": 8,
    });
    assert_eq!(place, expected);
    let file = json!({"requestId": "s1", "fileName": "notes.md"});
    let found = world.post("/v1/file_tool/get_file", &file).await.json();
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&found[name], value, "{name}");
    }
    assert_eq!(found["requestId"], "s1");
    let list = world.post("/v1/file_tool/get_file_list", &json!({"requestId": "s1"})).await.json();
    assert_eq!(list, json!({"results": [found], "totalSize": 1}));
}

#[tokio::test]
async fn uploading_a_name_again_replaces_the_file() {
    let world = World::start().await;
    world.upload("s1", "notes.md", "old").await;
    let place = world.upload("s1", "notes.md", "new and longer").await.json();
    assert_eq!(listed(&world, "s1").await, ["notes.md"]);
    let answer = world.follow(place["downloadUrl"].as_str().unwrap()).await;
    assert_eq!(answer.text, "new and longer");
}

#[tokio::test]
async fn a_form_takes_any_bytes_under_any_name() {
    let world = World::start().await;
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    for name in ["销售 数据 2024.csv", "a b & c.bin", "100%.txt", "ключ.dat"] {
        let place = upload_form(&world, name, &bytes).await;
        assert_eq!(place.status, 200, "{}", place.text);
        let place = place.json();
        assert_eq!((&place["fileName"], &place["fileSize"]), (&json!(name), &json!(100_000)));
        let url = place["downloadUrl"].as_str().unwrap();
        assert!(url.is_ascii() && !url.contains(' '), "{url}");
        let redirect = world.http.get(url).send().await.unwrap();
        let location = redirect.headers()["location"].to_str().unwrap().to_owned();
        let download = world.http.get(location).send().await.unwrap();
        assert_eq!(download.bytes().await.unwrap(), bytes, "{name}");
    }
    assert_eq!(listed(&world, "s1").await.len(), 4);
}

#[tokio::test]
async fn file_has_one_name_however_clients_write_it() {
    let world = World::start().await;
    let decomposed = "Zu\u{308}rich.csv";
    // A Mac's form, .NET's form, and a browser's.
    for name in [decomposed, "=?utf-8?B?WsO8cmljaC5jc3Y=?=", "Zürich.csv"] {
        let place = upload_form(&world, name, b"a,b\n").await;
        assert_eq!(place.json()["fileName"], "Zürich.csv", "{}", place.text);
    }
    assert_eq!(listed(&world, "s1").await, ["Zürich.csv"]);
    for name in [decomposed, "Zürich.csv"] {
        let file = json!({"requestId": "s1", "fileName": name});
        let found = world.post("/v1/file_tool/get_file", &file).await;
        assert_eq!(found.json()["fileName"], "Zürich.csv", "{}", found.text);
    }
}

#[tokio::test]
async fn a_form_takes_a_file_of_nearly_four_megabytes() {
    let world = World::start().await;
    let place = upload_form(&world, "large.bin", &vec![7; 3_900_000]).await;
    assert_eq!((place.status, &place.json()["fileSize"]), (200, &json!(3_900_000)));
    let refused = upload_form(&world, "larger.bin", &vec![7; 4_300_000]).await;
    assert_eq!(refused.status, 413, "{}", refused.text);
}

#[tokio::test]
async fn links_show_or_hand_over_a_file_under_its_name_and_type() {
    let world = World::start().await;
    let rows = [
        (
            "金价 走势.md",
            "text/markdown; charset=utf-8",
            "%E9%87%91%E4%BB%B7%20%E8%B5%B0%E5%8A%BF.md",
        ),
        ("sales 2024.csv", "text/csv; charset=utf-8", "sales%202024.csv"),
        ("page.html", "text/html; charset=utf-8", "page.html"),
        ("unknown", "application/octet-stream", "unknown"),
    ];
    for (name, kind, encoded) in rows {
        let place = world.upload("s1", name, "content").await.json();
        let preview = place["domainUrl"].as_str().unwrap();
        let download = place["downloadUrl"].as_str().unwrap();
        assert_eq!(preview.replacen("preview", "download", 1), download);
        for (url, disposition) in [(preview, "inline"), (download, "attachment")] {
            let answer = world.follow(url).await;
            assert_eq!((answer.status, answer.text.as_str()), (200, "content"), "{name}");
            assert_eq!(answer.header("content-type"), kind, "{name}");
            let header = answer.header("content-disposition");
            assert!(header.starts_with(disposition), "{header}");
            assert!(header.ends_with(&format!("; filename*=UTF-8''{encoded}")), "{header}");
        }
    }
}

#[tokio::test]
async fn however_many_uploads_are_announced_each_costs_the_same_and_there_are_a_hundred_at_most() {
    let model = ScriptedModel::start().await.unwrap();
    let mut door = Door::open(&model, |_| {}, |_| {});
    let client = door.listen().await;
    let announce = async |name: String| {
        let wanted = json!({"requestId": "s1", "fileName": name, "fileSize": 5});
        client.post("/v1/file_tool/upload_url", &wanted).await
    };
    let requests = || {
        let counts = door.aws.request_counter().take_counts().into_iter();
        counts.map(|(operation, count)| format!("{count} {operation}")).collect::<Vec<_>>()
    };
    requests();
    let mut newest = Value::Null;
    for nth in 0..100 {
        let answer = announce(format!("{nth}.md")).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        newest = answer.json();
        // Its session's label, a file of its name, its place, itself, and whether a run is to be told.
        assert_eq!(requests(), ["4 GetItem", "1 PutItem", "1 UpdateItem"], "{nth}");
    }
    assert_eq!(listed(&client, "s1").await, [""; 0]);
    assert_eq!(requests(), ["2 GetItem", "1 ListObjectsV2", "1 Query"], "of a hundred");
    let refused = announce("one more.md".to_owned()).await;
    let body = refused.json();
    assert_eq!((refused.status, &body["code"]), (429, &json!("too_many_uploads")));
    assert!(body["message"].as_str().unwrap().contains("has 100 announced files"), "{body}");
    assert_eq!(body["retryable"], json!(true));

    let put = client.http.put(newest["uploadUrl"].as_str().unwrap());
    let put = put.header("content-type", "text/markdown").header("if-none-match", "*");
    assert_eq!(put.body("12345").send().await.unwrap().status(), 200);
    let taken = announce("one more.md".to_owned()).await;
    assert_eq!(taken.status, 200, "there is room again: {}", taken.text);
    assert_eq!(announce("and another.md".to_owned()).await.status, 429);
    assert_eq!(listed(&client, "s1").await, ["99.md"]);
    // Another session has room of its own.
    let wanted = json!({"requestId": "s2", "fileName": "a.md", "fileSize": 5});
    assert_eq!(client.post("/v1/file_tool/upload_url", &wanted).await.status, 200);
}

#[tokio::test]
async fn an_upload_url_takes_the_announced_size_once() {
    let world = World::start().await;
    let wanted = json!({"requestId": "s1", "fileName": "大 sales.csv", "fileSize": 5});
    let place = world.post("/v1/file_tool/upload_url", &wanted).await.json();
    assert_eq!((&place["method"], &place["fileSize"]), (&json!("PUT"), &json!(5)));
    assert_eq!(listed(&world, "s1").await, [""; 0], "announced is not there");
    let put = |bytes: &'static str| {
        let mut put = world.http.put(place["uploadUrl"].as_str().unwrap());
        for (name, value) in place["headers"].as_object().unwrap() {
            if name != "content-length" {
                put = put.header(name, value.as_str().unwrap());
            }
        }
        async move { put.body(bytes).send().await.unwrap().status().as_u16() }
    };
    for wrong in ["", "1234", "123456"] {
        assert_eq!(put(wrong).await, 403, "{} bytes", wrong.len());
    }
    assert_eq!(listed(&world, "s1").await, [""; 0]);
    assert_eq!(put("12345").await, 200);
    assert_eq!(listed(&world, "s1").await, ["大 sales.csv"]);
    assert_eq!(world.follow(place["downloadUrl"].as_str().unwrap()).await.text, "12345");
    world.model.on("What is there?").reply("A file.");
    world.told(&Question::of("What is there?", "s1")).await;
    let system = world.model.last_request().unwrap().system().to_owned();
    assert!(system.contains("- 大 sales.csv (5 bytes)"), "{system}");
}

#[tokio::test]
async fn a_session_id_and_every_request_id_of_it_name_the_same_files() {
    let world = World::start().await;
    world.model.on("What is there?").reply("Nothing.");
    world.model.on("And now?").reply("Something.");
    world.told(&Question::new("What is there?").session("s1").request("r1")).await;
    world.upload("r1", "by-request.md", "x").await;
    world.told(&Question::new("And now?").session("s1").request("r2")).await;
    world.upload("s1", "by-session.md", "x").await;
    for label in ["s1", "r1", "r2"] {
        assert_eq!(listed(&world, label).await, ["by-request.md", "by-session.md"], "{label}");
        for name in ["by-request.md", "by-session.md"] {
            let path = format!("/v1/file_tool/preview/{label}/{name}");
            assert_eq!(world.get(&path).await.status, 302, "{path}");
        }
    }
    assert_eq!(listed(&world, "s2").await, [""; 0]);
}

#[tokio::test]
async fn a_list_has_pages() {
    let world = World::start().await;
    for nth in 0..12 {
        world.upload("s1", &format!("{nth:02}.md"), "x").await;
    }
    let names = |page: Value| {
        let body = json!({"requestId": "s1", "page": page});
        let world = &world;
        async move {
            let list = world.post("/v1/file_tool/get_file_list", &body).await.json();
            assert_eq!(list["totalSize"], 12);
            let results = list["results"].as_array().unwrap().clone();
            results.iter().map(|file| file["fileName"].clone()).collect::<Vec<_>>()
        }
    };
    assert_eq!((names(json!(1)).await.len(), names(json!(3)).await.len()), (10, 0));
    assert_eq!(names(json!(2)).await, ["10.md", "11.md"]);
}

#[tokio::test]
async fn the_agent_knows_what_was_handed_in_before_and_meanwhile() {
    let world = World::start().await;
    world.upload("s1", "before.md", "Early.").await;
    let get = |name: &str| json!({"command": "get", "filename": name});
    let rule = world.model.on("What do the files say?").say("I read.");
    let rule = rule.call("file_tool", get("before.md"));
    let gate = rule.gate(1);
    let rule = rule.then().say("I read on.").call("file_tool", get("meanwhile.md"));
    rule.then().reply("Early and late.");
    let question = Question::of("What do the files say?", "s1");
    let mut stream = world.ask(Protocol::Native, &question).await;
    gate.wait_until_reached().await;
    world.upload("s1", "meanwhile.md", "Late.").await;
    let seen = stream.until(|frame| frame.event() == "file.added").await;
    assert_eq!(seen.last().unwrap().json()["file"]["name"], "meanwhile.md");
    gate.open();
    assert_eq!(stream.rest().await.last().unwrap().json()["answer"], "Early and late.");
    let requests = world.model.requests();
    let knows = |nth: usize, name: &str| requests[nth].system().contains(name);
    assert!(knows(0, "- before.md (6 bytes)") && !knows(0, "meanwhile.md"));
    assert!(knows(1, "- before.md (6 bytes)") && knows(1, "- meanwhile.md (5 bytes)"));
    let read: Vec<_> = requests[2].results_for("file_tool").map(|result| &result.text).collect();
    assert!(read[0].contains("Early.") && read[1].contains("Late."), "{read:?}");
    world.model.assert_done();
}

#[tokio::test]
async fn the_agent_knows_a_file_once_all_of_it_was_put_to_its_upload_url() {
    let world = World::start().await;
    let rule = world.model.on("Is it there?").say("I look.");
    let gate = rule.call("file_tool", json!({"command": "get", "filename": "late.md"})).gate(1);
    let rule = world.model.on("Is it there?").then();
    rule.reply("It is there.");
    let question = Question::of("Is it there?", "s1");
    let mut stream = world.ask(Protocol::Native, &question).await;
    gate.wait_until_reached().await;
    let wanted = json!({"requestId": "s1", "fileName": "late.md", "fileSize": 5});
    let place = world.post("/v1/file_tool/upload_url", &wanted).await.json();
    // It is announced, but not there: nobody is told of it.
    let put = world.http.put(place["uploadUrl"].as_str().unwrap());
    let put = put.header("content-type", "text/markdown").header("if-none-match", "*");
    assert_eq!(put.body("Late.").send().await.unwrap().status(), 200);
    let seen = stream.until(|frame| frame.event() == "file.added").await;
    assert_eq!(seen.last().unwrap().json()["file"]["name"], "late.md");
    gate.open();
    assert_eq!(stream.rest().await.last().unwrap().json()["status"], "finished");
    assert!(world.model.requests()[1].system().contains("- late.md (5 bytes)"));
}
