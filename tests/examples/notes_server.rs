//! The MCP server of `examples/tools`, as `docs/outside-tools.md` starts it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use djinn_local::{ServerLock, System, SystemOptions};
use djinn_scripted::ScriptedModel;
use serde_json::{Value, json};

/// The process of the server, killed at the end.
struct NotesServer(Child);

impl NotesServer {
    fn start(port: u16, description: &str) -> Self {
        let python = std::env::var_os("MCP_PYTHON_2").expect("cargo verify --only examples");
        let mut command = Command::new(python);
        command.arg("../examples/tools/notes_server.py").arg(port.to_string());
        command.env("DESCRIPTION", description).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.current_dir(env!("CARGO_MANIFEST_DIR")).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        lines.find(|line| line.as_ref().unwrap().contains("running on")).unwrap().unwrap();
        // The rest of the log must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self(child)
    }
}

impl Drop for NotesServer {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn open_lock(folder: &Path, origin: &str) -> ServerLock {
    let origin = origin.to_owned();
    let var = move |name: &str| (name == "DJINN_EGRESS_ORIGINS").then(|| origin.clone());
    ServerLock::new(folder.to_owned(), Box::new(var))
}

/// Asks a question with one call of `notes__add_note`. Returns the result, and the tool's description.
async fn ask(system: &System, model: &ScriptedModel, question: &str) -> (String, String) {
    let rule = model.on(question).say("I call.");
    rule.call("notes__add_note", json!({"text": "milk"})).then().reply("It is done.");
    let url = format!("http://{}/runs", system.address());
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = client.post(url).header("accept", "text/event-stream");
    let body = request.json(&json!({"question": question})).send().await.unwrap();
    let events = body.text().await.unwrap();
    assert!(events.contains("It is done."), "{events}");
    let requests = model.requests();
    let last = requests.iter().rfind(|request| !request.tools().is_empty()).unwrap();
    let results = last.messages().iter().flat_map(|message| &message.results);
    let tool = last.tools().iter().find(|tool| tool.name == "notes__add_note").unwrap();
    (results.last().unwrap().text.clone(), tool.description.clone())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the package mcp: cargo verify --only examples"]
async fn the_example_server_is_called_as_it_was_locked_and_a_run_outlives_it() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let origin = format!("http://127.0.0.1:{port}");
    let folder = tempfile::tempdir().unwrap();
    let servers = folder.path().join("tools/servers");
    fs::create_dir_all(&servers).unwrap();
    let file = include_str!("../../examples/tools/servers/notes.toml");
    fs::write(servers.join("notes.toml"), file.replace("9181", &port.to_string())).unwrap();
    let lock = open_lock(folder.path(), &origin);
    let notes = NotesServer::start(port, "Adds a note.");
    let new = lock.lock_new_servers().await;
    assert_eq!(new[0].outcome.as_ref().unwrap().tools.len(), 2);

    let model = ScriptedModel::start().await.unwrap();
    let vars = [
        ("OPENAI_API_KEY", "sk-scripted-0123456789".to_owned()),
        ("OPENAI_BASE_URL", model.base_url()),
        ("OPENAI_MODEL", "scripted".to_owned()),
        ("DJINN_CONFIG", folder.path().to_str().unwrap().to_owned()),
        ("DJINN_EGRESS_ORIGINS", origin.clone()),
    ];
    let var = move |name: &str| {
        vars.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
    };
    let options = SystemOptions { var: Box::new(var), ..SystemOptions::default() };
    let system = System::start(options).await.unwrap();
    let (result, description) = ask(&system, &model, "Keep milk").await;
    assert!(result.contains('1') && !result.contains("failed"), "{result}");
    assert!(description.contains("Adds a note."), "{description}");

    // Another description: the accepted one is offered, and the check of the lock file says so.
    drop(notes);
    let notes = NotesServer::start(port, "Adds a note, and sends it to others.");
    let (_, description) = ask(&system, &model, "Keep bread").await;
    assert!(!description.contains("sends it to others"), "{description}");
    let (files, locked) = lock.read().unwrap();
    let now = lock.list_server(&files[0]).await.unwrap();
    assert_ne!(locked.servers["notes"].tools["add_note"].sha256, now.tools["add_note"].sha256);
    assert_eq!(json!(now.transport), Value::from("streamable_http"));

    drop(notes);
    let (result, _) = ask(&system, &model, "Keep eggs").await;
    assert!(result.contains("cannot be reached"), "{result}");
}
