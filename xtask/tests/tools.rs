//! `cargo xtask tools lock` against the MCP server of `examples/tools`.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use tempfile::TempDir;

/// The process of a server, killed at the end.
struct NotesServer(Child);

#[allow(clippy::disallowed_methods, reason = "the step says where its Python is")]
fn python(script: &str) -> Command {
    let python = std::env::var_os("MCP_PYTHON_2");
    let mut command = Command::new(python.expect("cargo verify --only outside-tools"));
    command.arg(script).current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

impl NotesServer {
    fn start(port: u16, description: &str) -> Self {
        let mut command = python("../examples/tools/notes_server.py");
        command.arg(port.to_string()).env("DESCRIPTION", description);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        lines.find(|line| line.as_ref().unwrap().contains("running on")).unwrap().unwrap();
        // The rest of the log must not fill the pipe.
        thread::spawn(move || lines.for_each(drop));
        Self(child)
    }

    /// Starts a server with other tools.
    fn start_other(port: u16) -> Self {
        let mut command = python("../shared/mcp/tests/servers/server.py");
        command.args(["--port", &port.to_string()]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line.trim(), port.to_string());
        Self(child)
    }
}

impl Drop for NotesServer {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// A folder with the file of the example server at a free port.
struct Folder {
    folder: TempDir,
    port: u16,
}

impl Folder {
    fn new() -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = TempDir::new().unwrap();
        fs::create_dir_all(folder.path().join("tools/servers")).unwrap();
        let this = Self { folder, port };
        let file = include_str!("../../examples/tools/servers/notes.toml");
        fs::write(this.path("tools/servers/notes.toml"), file.replace("9181", &port.to_string()))
            .unwrap();
        this
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn lock_text(&self) -> String {
        fs::read_to_string(self.path("tools/servers.lock.json")).unwrap()
    }

    /// Runs `cargo xtask tools lock`. Returns the exit code, and both outputs.
    fn lock(&self, options: &[&str]) -> (Option<i32>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
        command
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap())
            .args(["tools", "lock", "--folder"])
            .arg(self.folder.path())
            .args(options)
            .env("DJINN_EGRESS_ORIGINS", format!("http://127.0.0.1:{}", self.port))
            // No answer is no.
            .stdin(Stdio::null());
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (output.status.code(), text.concat())
    }
}

#[test]
#[ignore = "needs the package mcp: cargo verify --only outside-tools"]
fn new_changed_and_gone_tools_are_shown_and_written_only_if_accepted() {
    let folder = Folder::new();
    let server = NotesServer::start(folder.port, "Adds a note.");
    let (code, text) = folder.lock(&["--check"]);
    assert_eq!(code, Some(1), "{text}");
    let new = "notes: a new server; 2 tools are new, 0 changed, 0 gone, 0 rejected";
    assert!(text.contains(new) && text.contains("+            \"description\": \"Adds a note.\""));
    let (code, text) = folder.lock(&[]);
    assert!(code == Some(1) && text.contains("nothing was written"), "{text}");
    assert!(!folder.path("tools/servers.lock.json").exists());
    let (code, text) = folder.lock(&["--yes"]);
    assert!(code == Some(0) && text.contains("Wrote tools/servers.lock.json."), "{text}");
    let (code, text) = folder.lock(&["--check"]);
    assert!(code == Some(0) && text.contains("is as the servers are (1 in it)"), "{text}");
    let accepted = folder.lock_text();

    drop(server);
    let server = NotesServer::start(folder.port, "Adds a note, and sends it to others.");
    let (code, text) = folder.lock(&["notes", "--check"]);
    assert_eq!(code, Some(1), "{text}");
    let changed = "notes: 0 tools are new, 1 changed, 0 gone, 0 rejected";
    assert!(text.contains(changed), "{text}");
    assert!(text.contains("-            \"description\": \"Adds a note.\""), "{text}");
    assert!(
        text.contains("+            \"description\": \"Adds a note, and sends it to others.\"")
    );
    assert_eq!(folder.lock_text(), accepted);

    drop(server);
    let server = NotesServer::start_other(folder.port);
    let (code, text) = folder.lock(&["--check"]);
    assert_eq!(code, Some(1), "{text}");
    let gone = "notes: 5 tools are new, 0 changed, 2 gone, 0 rejected";
    assert!(text.contains(gone) && text.contains("has `list_notes`, which is no tool"), "{text}");
    drop(server);
    let (code, text) = folder.lock(&["--yes"]);
    let down = "1 server could not be listed: its entry stays as it was";
    assert!(code == Some(1) && text.contains(down), "{text}");
    assert_eq!(folder.lock_text(), accepted);

    fs::remove_file(folder.path("tools/servers/notes.toml")).unwrap();
    let (code, text) = folder.lock(&["--check"]);
    assert!(code == Some(1) && text.contains("notes: its file is gone"), "{text}");
    let (code, text) = folder.lock(&["--yes"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(!folder.lock_text().contains("add_note"));
}
