//! Calls of tools that are files: over HTTP, through the gateway, to a server on this machine.

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::code::completed;
use crate::configuration::write;
use crate::human_requests::ending;
use crate::own_texts;
use crate::world::{Frame, Protocol, Question, Site, World};

const CANARY: &str = "canary-key-0123";

/// A system with the tool `weather` of this server.
struct Deployment {
    world: World,
    _home: TempDir,
    folder: TempDir,
}

impl Deployment {
    async fn start(origin: &str) -> Self {
        let (home, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let vars = [
            ("DJINN_CONFIG", folder.path().to_str().unwrap()),
            ("DJINN_EGRESS_ORIGINS", origin),
            ("TOOL_KEY_WEATHER", CANARY),
        ];
        let world = own_texts::start(&home, &vars).await;
        Self { world, _home: home, folder }
    }

    /// Writes the file of the tool, with these fields at its top and this URL.
    fn write_tool(&self, fields: &str, url: &str) {
        let text = format!(
            "description = \"Returns the weather of a city.\"\ntrust = \"all\"\n{fields}\n\
             [parameters]\ntype = \"object\"\nproperties.city = {{ type = \"string\" }}\n\
             [request]\nmethod = \"GET\"\nurl = \"{url}\"\nquery = {{ city = \"{{city}}\" }}\n\
             headers = {{ authorization = \"Bearer {{key:WEATHER}}\" }}\n\
             [[result.interrupts]]\npointer = \"/code\"\nvalue = 20006\n\
             message = \"The credits are used up.\"\n"
        );
        write(self.folder.path(), "tools/weather.toml", &text);
    }

    /// Asks for the weather of Bern, with one call of the tool.
    async fn ask(&self, session: &str) -> Vec<Frame> {
        let question = format!("Which weather in {session}?");
        let rule = self.world.model.on(&question).say("I call.");
        rule.call("weather", json!({"city": "Bern & Biel"})).then().reply("So it is.");
        let question = Question::of(&question, session);
        self.world.ask(Protocol::Native, &question).await.rest().await
    }

    /// The last result that the model was given.
    fn result(&self) -> String {
        let requests = self.world.model.requests();
        let messages = requests.last().unwrap().messages();
        let result = messages.iter().flat_map(|message| &message.results).next_back();
        result.unwrap().text.clone()
    }
}

fn last(frames: &[Frame]) -> Value {
    frames.last().unwrap().json()
}

#[tokio::test]
async fn a_call_carries_the_key_that_its_server_alone_is_given() {
    let site = Site::start().await;
    site.put("/weather", "application/json", r#"{"sky": "sunny"}"#);
    let deployment = Deployment::start(&site.url).await;
    deployment.write_tool("effect = \"read\"", &site.page_url("/weather"));
    let frames = deployment.ask("s1").await;
    assert_eq!(last(&frames)["answer"], "So it is.");
    assert!(deployment.result().contains(r#"{"sky":"sunny"}"#), "{}", deployment.result());
    let [request] = &site.requests()[..] else { panic!("{:?}", site.requests()) };
    assert_eq!(request.target, "/weather?city=Bern%20%26%20Biel");
    assert!(request.headers.contains(&format!("authorization: Bearer {CANARY}")));
    assert!(!request.headers.contains("run_"), "{}", request.headers);
    let requests = deployment.world.model.requests();
    assert!(requests.iter().all(|request| !request.text().contains(CANARY)));
    assert!(frames.iter().all(|frame| !frame.json().to_string().contains(CANARY)));
}

#[tokio::test]
async fn a_hostile_answer_is_an_error_of_the_call_and_the_run_continues() {
    let site = Site::start().await;
    site.put("/html", "text/html", "<h1>Welcome</h1>");
    site.put("/no-json", "application/json", "{\"a\": ");
    let deployment = Deployment::start(&site.url).await;
    for (session, url) in [
        ("s1", site.page_url("/html")),
        ("s2", site.page_url("/no-json")),
        ("s3", site.page_url("/broken")),
        ("s4", "http://10.0.0.1/".to_owned()),
    ] {
        deployment.write_tool("effect = \"read\"", &url);
        let frames = deployment.ask(session).await;
        assert_eq!(last(&frames)["answer"], "So it is.", "{url}");
        let result = deployment.result();
        assert!(result.contains("failed") && !result.contains("Welcome"), "{url}: {result}");
    }
    assert_eq!(site.requests().len(), 3);
}

#[tokio::test]
async fn a_call_that_must_not_be_repeated_and_lost_its_answer_is_uncertain() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    // Reads each request, and breaks off.
    let serving = tokio::spawn(async move {
        let mut requests = 0;
        while let Ok((stream, _)) = listener.accept().await {
            stream.readable().await.unwrap();
            requests += 1;
            assert_eq!(requests, 1, "a call was repeated");
        }
    });
    let deployment = Deployment::start(&origin).await;
    deployment.write_tool("", &format!("{origin}/"));
    let frames = deployment.ask("s1").await;
    let result = completed(&frames, "t1.c1.result")[0].json();
    assert_eq!(result["result"]["reason"], "uncertain", "{result}");
    assert!(!serving.is_finished());
    serving.abort();
}

#[tokio::test]
async fn used_up_credits_pause_the_call_that_continue_repeats_alone() {
    let site = Site::start().await;
    site.put("/weather", "application/json", r#"{"code": 20006}"#);
    let deployment = Deployment::start(&site.url).await;
    deployment.write_tool("", &site.page_url("/weather"));
    let rule = deployment.world.model.on("Which weather?").say("I call.");
    rule.call("weather", json!({"city": "Bern"})).then().reply("So it is.");
    let client = &deployment.world.client;
    let stream = client.ask(Protocol::Native, &Question::of("Which weather?", "s1")).await;
    let (run, frames) = (stream.run(), stream.rest().await);
    assert!(frames.last().is_some_and(Frame::is_hand_over), "{frames:#?}");
    site.put("/weather", "application/json", r#"{"code": 0, "sky": "sunny"}"#);
    let again = json!({"text": "continue"});
    assert_eq!(client.post(&format!("/runs/{run}/messages"), &again).await.status, 200);
    assert_eq!(ending(client, &run).await["answer"], "So it is.");
    let key = |nth: usize| {
        let requests = site.requests();
        let mut lines = requests[nth].headers.lines();
        lines.find(|line| line.starts_with("idempotency-key: ")).unwrap().to_owned()
    };
    assert_eq!(site.requests().len(), 2);
    assert_ne!(key(0), key(1));
}
