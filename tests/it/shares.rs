//! Sessions that their owner shares with others of the tenant.

mod guests;

use djinn_scripted::ScriptedModel;
use reqwest::Method;
use serde_json::{Value, json};

use crate::human_requests::{ending, waiting};
use crate::keys::{keyed, let_in};
use crate::links::files::granted_file;
use crate::links::link_settings;
use crate::world::{Client, Door, Parts, Protocol, QUESTION, Question, SALES, script};

/// Anna, Bob and Carl of one tenant, and Mallory of another.
struct Office {
    model: ScriptedModel,
    anna: Client,
    bob: Client,
    carl: Client,
    mallory: Client,
    _door: Door,
}

impl Office {
    async fn open() -> Self {
        Self::open_with(|_| {}).await
    }

    async fn open_with(change: impl FnOnce(&mut Parts)) -> Self {
        let model = ScriptedModel::start().await.unwrap();
        let holders = [("acme", "anna"), ("acme", "bob"), ("acme", "carl"), ("evil", "mallory")];
        let (list, keys) = keyed(holders);
        let mut door = Door::open(
            &model,
            |_| {},
            |parts| {
                let_in(list)(parts);
                change(parts);
            },
        );
        let client = door.listen().await;
        let [anna, bob, carl, mallory] = keys.map(|key| client.clone().bearing(&key));
        Self { model, anna, bob, carl, mallory, _door: door }
    }

    /// Anna's first question in `s1`, whose run has ended, and a file of hers.
    async fn first(&self) -> String {
        self.model.on("Who sings?").reply("The canary.");
        self.anna.upload("s1", "notes.md", "Anna's notes.").await;
        let stream = self.anna.ask(Protocol::Native, &Question::of("Who sings?", "s1")).await;
        let (run, _) = (stream.run(), stream.rest().await);
        run
    }

    /// Shares Anna's `s1`, and returns the handle.
    async fn share(&self, with: Value, write: bool) -> String {
        let body = json!({"with": with, "write": write});
        let shared = self.anna.post("/sessions/s1/share", &body).await;
        assert_eq!(shared.status, 201, "{}", shared.text);
        shared.json()["handle"].as_str().unwrap().to_owned()
    }
}

/// The status of a request with a code in its answer, and the code.
async fn refused(client: &Client, method: &str, path: &str, body: &Value) -> (u16, String) {
    let request = client.request(method.parse::<Method>().unwrap(), path).json(body);
    let answer = crate::world::Answer::of(request.send().await.unwrap()).await;
    let code = answer.json()["code"].as_str().unwrap_or_default().to_owned();
    (answer.status, code)
}

/// A response to a human request.
fn confirm() -> Value {
    json!({"response": "confirm"})
}

/// The same from a client of JoyAgent.
fn joyagent_confirm() -> Value {
    json!({"feedbackId": "t1.c1", "feedback": "confirm"})
}

fn code(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

#[tokio::test]
async fn who_may_read_sees_the_session_by_its_handle_until_the_share_ends() {
    let office = Office::open_with(|parts| parts.settings.links = Some(link_settings())).await;
    let run = office.first().await;
    let handle = office.share(json!("bob"), false).await;
    assert!(handle.len() == 36 && handle.starts_with("shr_"), "{handle}");
    let hers = office.anna.get("/sessions/s1").await.json();
    assert_eq!(hers["shares"][0]["handle"], json!(handle));
    assert_eq!(hers["shares"][0]["with"], json!({"user": "bob"}));
    assert_eq!(hers["shares"][0]["write"], json!(false));

    let mut session = office.bob.get(&format!("/sessions/{handle}")).await.json();
    assert_eq!((&session["session"], &session["write"]), (&json!(handle), &json!(false)));
    assert_eq!(session.as_object_mut().unwrap().remove("owner"), Some(json!("anna")));
    assert!(hers.get("owner").is_none(), "{hers}");
    assert_eq!(session["turns"][0]["answer"], "The canary.");
    assert!(session.get("shares").is_none() && !session.to_string().contains("anna"), "{session}");
    let link = session["files"][0]["download_url"].as_str().unwrap();
    let grant = format!("{:?}", granted_file(link));
    assert!(grant.contains("notes.md"), "{grant}");
    assert!(!grant.contains("anna") && !grant.contains("\"s1\""), "a link names her: {grant}");
    assert_eq!(office.bob.get(link.trim_start_matches(&office.bob.url)).await.status, 302);
    let shown = office.bob.get(&format!("/runs/{run}")).await.json();
    assert_eq!((&shown["answer"], &shown["session"]), (&json!("The canary."), &json!(handle)));
    let events = office.bob.come_back(&run, None).await.rest().await;
    assert_eq!(events.last().unwrap().json()["answer"], "The canary.");
    let list = json!({"requestId": handle});
    let files = office.bob.post("/v1/file_tool/get_file_list", &list).await.json();
    assert_eq!(files["totalSize"], 1, "{files}");
    let preview = format!("/v1/file_tool/preview/{handle}/notes.md");
    assert_eq!(office.bob.get(&preview).await.status, 302);
    // It is in no list of what is Bob's own, and her label is his own session's.
    for path in ["/sessions", "/runs"] {
        let mine = office.bob.get(path).await.json();
        assert_eq!(mine[path.trim_start_matches('/')], json!([]), "{path}");
    }
    let shared = office.bob.get("/sessions").await.json()["shared"][0].clone();
    for (field, value) in [
        ("session", json!(handle)),
        ("owner", json!("anna")),
        ("title", json!("Who sings?")),
        ("newest_question", json!("Who sings?")),
        ("write", json!(false)),
    ] {
        assert_eq!(shared[field], value, "{shared}");
    }
    for other in [&office.anna, &office.carl, &office.mallory] {
        assert_eq!(other.get("/sessions").await.json()["shared"], json!([]));
    }
    assert_eq!(office.bob.get("/sessions/s1").await.status, 404);

    // For anybody else the handle is none.
    for (stranger, who) in [(&office.carl, "carl"), (&office.mallory, "mallory")] {
        for path in [format!("/sessions/{handle}"), preview.clone()] {
            let seen = refused(stranger, "GET", &path, &json!({})).await;
            assert_eq!(seen, code(404, "session_not_found"), "{who} {path}");
        }
        let seen = refused(stranger, "GET", &format!("/runs/{run}"), &json!({})).await;
        assert_eq!(seen, code(404, "run_not_found"), "{who}");
    }
    let end = format!("/sessions/s1/share/{handle}");
    assert_eq!(office.bob.delete(&end).await.status, 404);
    assert_eq!(office.anna.delete(&end).await.status, 204);
    assert_eq!(
        refused(&office.anna, "DELETE", &end, &json!({})).await,
        code(404, "share_not_found")
    );
    for path in [format!("/sessions/{handle}"), preview, format!("/runs/{run}")] {
        assert_eq!(office.bob.get(&path).await.status, 404, "{path}");
    }
    assert_eq!(office.anna.get("/sessions/s1").await.json()["shares"], json!([]));
    assert_eq!(office.bob.get("/sessions").await.json()["shared"], json!([]));
}

#[tokio::test]
async fn a_guests_list_has_each_session_once_and_none_that_is_shared_with_all_or_deleted() {
    let office = Office::open().await;
    office.first().await;
    office.share(json!("tenant"), true).await;
    let shared = async || office.bob.get("/sessions").await.json()["shared"].clone();
    assert_eq!(shared().await, json!([]));
    for write in [false, true] {
        office.share(json!("bob"), write).await;
    }
    assert_eq!(shared().await.as_array().unwrap().len(), 1);
    assert_eq!(office.anna.delete("/sessions/s1").await.status, 204);
    assert_eq!(shared().await, json!([]));
}

#[tokio::test]
async fn with_keys_a_session_is_shared_with_users_of_the_tenant_only() {
    let office = Office::open().await;
    office.first().await;
    let said = async |with: Value| {
        let answer = office.anna.post("/sessions/s1/share", &json!({"with": with})).await;
        assert_eq!((answer.status, &answer.json()["field"]), (400, &json!("with")), "{with}");
        answer.json()["message"].as_str().unwrap().to_owned()
    };
    for name in [json!("Bob"), json!({"user": "bobb"})] {
        let sentence = said(name).await;
        assert!(sentence.contains("did you mean `bob`?"), "{sentence}");
    }
    // Names of another tenant are unknown, and never suggested; nor is the owner's own.
    for name in ["mallory", "malory", "ana", "zoe"] {
        let sentence = said(json!(name)).await;
        assert!(sentence.contains("must name a user who has a key"), "{sentence}");
        assert!(!sentence.contains("did you mean"), "{sentence}");
    }
    assert_eq!(office.anna.get("/sessions/s1").await.json()["shares"], json!([]));
}

#[tokio::test]
async fn who_may_only_read_changes_nothing() {
    let office = Office::open().await;
    let run = office.first().await;
    let handle = office.share(json!({"user": "bob"}), false).await;
    for protocol in Protocol::ALL {
        let asked = office.bob.ask(protocol, &Question::of("Mine?", &handle)).await;
        assert_eq!(asked.status, 403, "{protocol:?}");
    }
    let file = json!({"requestId": handle, "fileName": "mine.md", "fileSize": 1, "content": "x"});
    let rows = [
        ("POST", "/v1/file_tool/upload_file", file.clone(), "session_read_only"),
        ("POST", "/v1/file_tool/upload_url", file, "session_read_only"),
        ("DELETE", "/sessions/HANDLE", json!({}), "owner_only"),
        ("POST", "/sessions/HANDLE/title", json!({"title": "Mine"}), "owner_only"),
        ("POST", "/sessions/HANDLE/share", json!({"with": "carl"}), "owner_only"),
        ("DELETE", "/sessions/HANDLE/share/HANDLE", json!({}), "owner_only"),
        ("GET", "/runs/RUN/audit", json!({}), "asker_only"),
        ("POST", "/runs/RUN/stop", json!({}), "asker_only"),
        ("POST", "/runs/RUN/messages", json!({"text": "Mine"}), "asker_only"),
        ("POST", "/runs/RUN/requests/t1.c1/response", confirm(), "asker_only"),
        ("DELETE", "/runs/RUN/requests/t1.c1", json!({}), "asker_only"),
        ("GET", "/runs/RUN/requests", json!({}), "asker_only"),
        (
            "POST",
            "/sessions/HANDLE/files",
            json!({"name": "mine.md", "content": "x"}),
            "session_read_only",
        ),
        (
            "POST",
            "/sessions/HANDLE/files",
            json!({"name": "mine.md", "size": 1}),
            "session_read_only",
        ),
        ("POST", "/api/feedback/RUN", joyagent_confirm(), "asker_only"),
        ("GET", "/api/feedback/pending/RUN", json!({}), "asker_only"),
    ];
    for (method, path, body, told) in rows {
        let path = path.replace("HANDLE", &handle).replace("RUN", &run);
        assert_eq!(refused(&office.bob, method, &path, &body).await, code(403, told), "{path}");
    }
    assert_eq!(office.model.requests().len(), 1);
    let hers = office.anna.get("/sessions/s1").await.json();
    assert_eq!(hers["files"].as_array().unwrap().len(), 1, "{hers}");
}

#[tokio::test]
async fn who_may_write_asks_in_the_session_at_their_own_expense() {
    let office = Office::open_with(|parts| {
        let mut settings = (*parts.ports.settings).clone();
        settings.user.runs_per_minute = Some(100);
        parts.ports.settings = std::sync::Arc::new(settings);
    })
    .await;
    let first = office.first().await;
    let handle = office.share(json!("tenant"), true).await;
    office.model.on("And what?").reply("A song.");
    // The same label as Anna's request of the session has, and it is another run.
    let question = Question::of("And what?", &handle);
    let stream = office.bob.ask(Protocol::Native, &question).await;
    let (run, told) = (stream.run(), stream.rest().await);
    assert_eq!(told.last().unwrap().json()["answer"], "A song.");
    assert_ne!(run, first);
    let sees = office.model.last_request().unwrap();
    assert!(sees.text().contains("<untrusted>\nWho sings?\n</untrusted>"), "{}", sees.text());
    assert!(sees.text().contains("<untrusted>\nThe canary.\n</untrusted>"), "{}", sees.text());
    assert!(sees.text().ends_with("\nuser And what?"), "{}", sees.text());
    assert!(sees.system().contains("- notes.md"), "{}", sees.system());
    // A repeat joins it. By his label he finds the shared session's files, and adds none to them.
    assert_eq!(office.bob.ask(Protocol::Native, &question).await.run(), run);
    let file = |label: &str| json!({"requestId": label, "fileName": "his.md", "content": "Bob's."});
    let upload = "/v1/file_tool/upload_file";
    let seen = refused(&office.bob, "POST", upload, &file("r1")).await;
    assert_eq!(seen, code(400, "invalid_field"));
    let listed = office.bob.post("/v1/file_tool/get_file_list", &json!({"requestId": "r1"})).await;
    assert_eq!(listed.json()["totalSize"], 1, "{}", listed.text);
    assert_eq!(office.bob.post(upload, &file(&handle)).await.status, 200);

    let his = office.bob.get("/runs").await.json();
    assert_eq!((&his["runs"][0]["run"], &his["runs"][0]["session"]), (&json!(run), &json!(handle)));
    assert_eq!(office.anna.get("/runs").await.json()["runs"].as_array().unwrap().len(), 1);
    let hers = office.anna.get("/sessions/s1").await.json();
    assert_eq!((&hers["turns"][0]["run"], &hers["turns"][0]["user"]), (&json!(run), &json!("bob")));
    assert_eq!(
        (&hers["turns"][0]["answer"], &hers["turns"][1]["user"]),
        (&json!("A song."), &Value::Null)
    );
    for (client, label, own) in [
        (&office.anna, "s1", [false, true]),
        (&office.bob, &handle, [true, false]),
        (&office.carl, &handle, [false, false]),
    ] {
        let session = client.get(&format!("/sessions/{label}")).await.json();
        let seen = [0, 1].map(|turn| session["turns"][turn]["own"] == true);
        assert_eq!(seen, own, "{session}");
    }
    assert_eq!(hers["files"].as_array().unwrap().len(), 2, "{hers}");
    let shown = office.anna.get(&format!("/runs/{run}")).await.json();
    assert_eq!((&shown["answer"], &shown["session"]), (&json!("A song."), &json!("s1")));
    let carls = office.carl.get(&format!("/sessions/{handle}")).await.json();
    assert_eq!((&carls["turns"][0]["answer"], &carls["write"]), (&json!("A song."), &json!(true)));
    assert_eq!(office.carl.get(&format!("/runs/{run}")).await.json()["session"], json!(handle));
    let audit = office.bob.get(&format!("/runs/{run}/audit")).await.text;
    assert!(audit.contains("\"by\":\"bob\""), "{audit}");
    // Anna's next question goes on from his, and in the other protocols it is the same session.
    office.model.on("And when?").reply("At dawn.");
    office.anna.told(&Question::new("And when?").session("s1").request("r2")).await;
    let sees = office.model.last_request().unwrap();
    assert!(sees.text().contains("<untrusted>\nA song.\n</untrusted>"), "{}", sees.text());
    for (nth, protocol) in [Protocol::Raw, Protocol::Ui].into_iter().enumerate() {
        office.model.on(format!("Once more {nth}?")).reply("Yes.");
        let question = Question::of(&format!("Once more {nth}?"), &handle);
        let question = question.request(&format!("r{}", nth + 8));
        let frames = office.carl.ask(protocol, &question).await.rest().await;
        assert!(frames.last().unwrap().is_final());
        let sees = office.model.last_request().unwrap();
        assert!(sees.text().contains("<untrusted>\nAt dawn.\n</untrusted>"), "{}", sees.text());
    }
    assert_eq!(office.anna.get("/sessions/s1").await.json()["turns"].as_array().unwrap().len(), 5);
    // With the session everything goes that was asked in it.
    assert_eq!(office.anna.delete("/sessions/s1").await.status, 204);
    assert_eq!(office.bob.get("/runs").await.json()["runs"], json!([]));
    assert_eq!(office.bob.get(&format!("/runs/{run}")).await.status, 404);
}

#[tokio::test]
async fn a_guests_run_counts_as_the_guests_and_the_owner_may_stop_it() {
    let office = Office::open_with(|parts| {
        let mut settings = (*parts.ports.settings).clone();
        settings.user.runs_at_once = Some(1);
        parts.ports.settings = std::sync::Arc::new(settings);
    })
    .await;
    office.first().await;
    let handle = office.share(json!("tenant"), true).await;
    office.model.on("What hangs?").reply("So far").hang_after(1);
    let hangs = office.bob.ask(Protocol::Native, &Question::of("What hangs?", &handle)).await;
    let run = hangs.run();
    // His one place is taken, and hers is not.
    let more = Question::of("More?", "elsewhere");
    assert_eq!(office.bob.ask(Protocol::Native, &more).await.status, 429);
    office.model.on("More?").reply("More.");
    assert_eq!(office.anna.ending(&more).await["answer"], "More.");
    let busy =
        office.anna.ask(Protocol::Native, &Question::of("And mine?", "s1").request("r5")).await;
    assert_eq!((busy.status, busy.run()), (409, run.clone()));
    assert_eq!(office.carl.stop(&run).await.status, 403);
    assert_eq!(office.mallory.stop(&run).await.status, 404);
    assert_eq!(office.anna.stop(&run).await.status, 202);
    assert_eq!(hangs.rest().await.last().unwrap().json()["status"], "stopped");
}

#[tokio::test]
async fn a_share_says_nothing_of_a_session_that_begins_anew() {
    let office = Office::open().await;
    office.first().await;
    let handle = office.share(json!("bob"), true).await;
    assert_eq!(office.anna.delete("/sessions/s1").await.status, 204);
    let path = format!("/sessions/{handle}");
    assert_eq!(
        refused(&office.bob, "GET", &path, &json!({})).await,
        code(404, "session_not_found")
    );
    office.model.on("Who else?").reply("Nobody.");
    office.anna.told(&Question::of("Who else?", "s1")).await;
    assert_eq!(
        refused(&office.bob, "GET", &path, &json!({})).await,
        code(404, "session_not_found")
    );
    assert_eq!(office.bob.ask(Protocol::Native, &Question::of("Who?", &handle)).await.status, 404);
    assert_eq!(office.anna.get("/sessions/s1").await.json()["shares"], json!([]));
}

#[tokio::test]
async fn the_word_tenant_means_everybody_and_a_user_of_that_name_is_named_as_one() {
    let model = ScriptedModel::start().await.unwrap();
    let (list, keys) = keyed([("acme", "anna"), ("acme", "tenant"), ("acme", "bob")]);
    let mut door = Door::open(&model, |_| {}, let_in(list));
    let client = door.listen().await;
    let [anna, tenant, bob] = keys.map(|key| client.clone().bearing(&key));
    model.on("Who sings?").reply("The canary.");
    anna.told(&Question::of("Who sings?", "s1")).await;
    for (with, of_bob) in [(json!({"user": "tenant"}), 404), (json!("tenant"), 200)] {
        let shared = anna.post("/sessions/s1/share", &json!({"with": with})).await.json();
        let path = format!("/sessions/{}", shared["handle"].as_str().unwrap());
        assert_eq!((&shared["with"], &shared["write"]), (&with, &json!(false)));
        assert_eq!(tenant.get(&path).await.status, 200, "{with}");
        assert_eq!(bob.get(&path).await.status, of_bob, "{with}");
        // To its owner it is the session itself.
        assert_eq!(anna.get(&path).await.json()["session"], "s1");
    }
}

#[tokio::test]
async fn only_who_asked_is_given_links_to_answer_by() {
    let office = Office::open_with(|parts| {
        parts.settings.links = Some(link_settings());
        parts.settings.run.human.enabled = true;
        parts.settings.run.human.timeout_s = 0;
        parts.settings.human_requests.clear();
    })
    .await;
    office.anna.upload("s1", "sales.csv", SALES).await;
    script(&office.model, QUESTION).always();
    let (run, asked) = waiting(&office.anna).await;
    assert!(asked["requests"][0]["link"].is_string(), "{asked}");
    let handle = office.share(json!("bob"), true).await;
    let frames = office.bob.come_back(&run, None).await.rest().await;
    let asked = frames.iter().find(|frame| frame.event() == "human.requested").unwrap().json();
    assert!(
        asked["requests"][0]["tool"] == "file_tool" && asked["requests"][0]["link"].is_null(),
        "{asked}"
    );
    for label in [&run, &handle] {
        let pending = format!("/api/feedback/pending/{label}");
        let seen = refused(&office.bob, "GET", &pending, &json!({})).await;
        assert_eq!(seen, code(403, "asker_only"), "{label}");
    }
    // A word of a guest's is no answer, and no question either while the session is busy.
    let yes = Question::new("confirm").session(&handle).request("r2");
    assert_eq!(office.bob.ask(Protocol::Native, &yes).await.status, 409);
    assert_eq!(office.anna.respond(&run, "t2.c1", &confirm()).await.status, 200);
    assert_eq!(ending(&office.anna, &run).await["status"], "finished");
    // Who answered is the owner's and the asker's to know.
    for (user, by) in [(&office.anna, json!("anna")), (&office.bob, Value::Null)] {
        let frames = user.come_back(&run, None).await.rest().await;
        let answered = frames.iter().find(|frame| frame.event() == "human.resolved").unwrap();
        assert_eq!((&answered.json()["by"], answered.json()["response"].is_string()), (&by, true));
    }
}
