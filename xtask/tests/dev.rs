//! `cargo dev` as a newcomer meets it when something is missing, and the commands that show what a run did.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use djinn_scripted::ScriptedModel;
use serde_json::{Value, json};

/// A folder of state, and how the commands are run over it.
struct Newcomer {
    home: tempfile::TempDir,
}

impl Newcomer {
    fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap() }
    }

    /// The command with these words and variables.
    fn command(&self, words: &[&str], variables: &[(&str, &str)]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
        command
            .args(words)
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap())
            .stdin(Stdio::null())
            .env("DJINN_HOME", self.home.path())
            // No build of the page beside the system.
            .env("DJINN_PAGE", self.home.path());
        for name in ["DJINN_MODELS", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"] {
            command.env_remove(name);
        }
        command.envs(variables.iter().copied());
        command
    }

    /// Runs a command that must succeed, and returns the standard output.
    fn succeed(&self, words: &[&str], variables: &[(&str, &str)]) -> String {
        let output = self.command(words, variables).output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{shown}\n{}", String::from_utf8_lossy(&output.stderr));
        shown
    }

    /// Runs a command that must fail, and returns the standard output.
    fn fail(&self, words: &[&str], variables: &[(&str, &str)]) -> String {
        let output = self.command(words, variables).output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(!output.status.success(), "{shown}");
        shown
    }

    /// A command that goes on, and what it prints.
    fn start(
        &self,
        words: &[&str],
        variables: &[(&str, &str)],
    ) -> (Running, BufReader<ChildStdout>) {
        let mut command = self.command(words, variables);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let output = child.stdout.take().unwrap();
        (Running(child), BufReader::new(output))
    }
}

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// The first line with these words.
fn find_line(output: &mut impl std::io::BufRead, words: &str) -> String {
    let mut read = String::new();
    loop {
        let mut line = String::new();
        assert!(output.read_line(&mut line).unwrap() > 0, "no line with `{words}`:\n{read}");
        if line.contains(words) {
            return line;
        }
        read.push_str(&line);
    }
}

/// Asserts that the output has the cause, the original message, the remedy and the page, in this order.
#[track_caller]
fn teaches(shown: &str, happened: &str, said: &str, page: &str) {
    let Some((_, advice)) = shown.split_once(happened) else { panic!("no `{happened}`:\n{shown}") };
    let lines: Vec<&str> = advice.lines().skip(1).take(3).collect();
    let [says, to_do, read_more] = lines[..] else { panic!("{shown}") };
    assert!(says.starts_with("  It says:    ") && says.contains(said), "{shown}");
    assert!(to_do.starts_with("  What to do: "), "{shown}");
    assert_eq!(read_more, format!("  Read more:  {page}"), "{shown}");
}

/// A model of OpenAI's kind at this URL.
fn model_at(url: &str) -> [(&str, &str); 2] {
    [("OPENAI_API_KEY", "sk-wrong-key-of-a-test"), ("OPENAI_BASE_URL", url)]
}

/// An answer that refuses the key, as OpenAI gives it.
fn refuse_keys(runtime: &tokio::runtime::Runtime) -> ScriptedModel {
    let model = runtime.block_on(ScriptedModel::start()).unwrap();
    let body =
        json!({"error": {"code": "invalid_api_key", "message": "Incorrect API key provided."}});
    model.on("gold").status_body(401, body).always();
    model
}

fn start_runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap()
}

const ASK: [&str; 3] = ["dev", "ask", "What of gold?"];

#[test]
fn a_refused_key_is_explained_to_who_asks_and_to_who_serves() {
    let runtime = start_runtime();
    let model = refuse_keys(&runtime);
    let url = model.base_url();
    let newcomer = Newcomer::new();
    let refused = "The model provider rejects the API key.";
    let shown = newcomer.fail(&ASK, &model_at(&url));
    teaches(&shown, refused, "HTTP 401: Incorrect API key provided.", "docs/models.md");
    assert!(!shown.contains("sk-wrong"), "{shown}");

    let (_server, mut output) = newcomer.start(&["dev", "--port", "0"], &model_at(&url));
    let listens = find_line(&mut output, "Djinn listens on ");
    let url = listens.trim().trim_start_matches("Djinn listens on ").to_owned();
    let question = json!({"question": "What of gold?", "request_id": "r1"});
    let asked =
        reqwest::Client::builder().build().unwrap().post(format!("{url}/runs")).json(&question);
    assert!(runtime.block_on(asked.send()).unwrap().status().is_success());
    find_line(&mut output, refused);
    let mut advice = refused.to_owned() + "\n";
    for _ in 0..3 {
        output.read_line(&mut advice).unwrap();
    }
    teaches(&advice, refused, "a call of the model `", "docs/models.md");
}

#[test]
fn a_model_that_does_not_answer_is_explained() {
    let unanswered = "The model does not respond.";
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let refusing = format!("http://{}/v1", closed.local_addr().unwrap());
    drop(closed);
    let newcomer = Newcomer::new();
    let (asks, mut output) = newcomer.start(&ASK, &model_at(&refusing));
    let mut shown = find_line(&mut output, "cannot be reached: Connection refused");
    assert!(shown.contains("retrying in "), "{shown}");
    for _ in 0..4 {
        output.read_line(&mut shown).unwrap();
    }
    teaches(&shown, unanswered, "cannot be reached: Connection refused", "docs/models.md");
    drop(asks);

    let impatient = ("DJINN_LIMITS__PROVIDER_PATIENCE_SECONDS", "1");
    let mut nowhere = model_at("http://no-such-host.invalid/v1").to_vec();
    nowhere.push(impatient);
    let shown = newcomer.fail(&ASK, &nowhere);
    teaches(&shown, unanswered, "no-such-host.invalid", "docs/models.md");

    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", silent.local_addr().unwrap());
    let models = json!({"models": {"slow": {
        "provider": "openai", "model": "slow", "base_url": url, "first_byte_timeout_s": 1,
    }}});
    let shown = newcomer.fail(&ASK, &[("DJINN_MODELS", &models.to_string()), impatient]);
    teaches(&shown, unanswered, "1 s", "docs/models.md");
}

#[test]
fn a_port_in_use_is_explained() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let shown = Newcomer::new().fail(&["dev", "--port", &port], &[]);
    let happened = "Another program is using this port.";
    teaches(&shown, happened, &format!("cannot listen on 127.0.0.1:{port}"), "docs/quickstart.md");
}

#[test]
fn a_folder_that_cannot_be_written_and_a_full_disk_are_explained() {
    let newcomer = Newcomer::new();
    let file = newcomer.home.path().join("file");
    fs::write(&file, "no folder").unwrap();
    let home = [("DJINN_HOME", file.to_str().unwrap())];
    let happened = "The state folder is not writable.";
    for words in [&["dev", "--port", "0"][..], &ASK] {
        teaches(&newcomer.fail(words, &home), happened, "cannot be written", "docs/quickstart.md");
    }
    if Path::new("/dev/full").exists() {
        // Writing there fails as it does on a full disk.
        std::os::unix::fs::symlink("/dev/full", newcomer.home.path().join("running")).unwrap();
        let shown = newcomer.fail(&["dev", "--port", "0"], &[]);
        let full = "The disk is full.";
        teaches(&shown, full, "running cannot be written: No space left", "docs/quickstart.md");
    }
}

#[test]
fn other_users_cannot_read_the_home() {
    let newcomer = Newcomer::new();
    let home = newcomer.home.path();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    fs::set_permissions(home, fs::Permissions::from_mode(0o755)).unwrap();
    let question = "Compare the three regions in examples/sales.csv, one report each";
    newcomer.succeed(&["dev", "ask", question, "--file", "examples/sales.csv"], &[]);
    assert_eq!(mode(home), 0o700);
    for folder in ["files", "objects"] {
        assert_eq!(mode(&home.join(folder)), 0o700, "{folder}");
    }
    for file in ["link-key", "seal-key", "table.db"] {
        assert_eq!(mode(&home.join(file)), 0o600, "{file}");
    }
}

#[test]
fn a_missing_python_is_explained_and_the_run_goes_on() {
    let newcomer = Newcomer::new();
    let question = "Draw the sales of each region over the years, then write a report and slides";
    let words = ["dev", "ask", question, "--file", "examples/sales.csv"];
    let nothing = newcomer.home.path().join("no-programs");
    let shown = newcomer.succeed(&words, &[("PATH", nothing.to_str().unwrap())]);
    let happened = "Code cannot run here: no usable Python was found. Everything else works.";
    teaches(&shown, happened, "there is no python3 on this machine", "docs/sandbox.md");
    assert_eq!(shown.matches(happened).count(), 1, "{shown}");
}

#[test]
fn a_model_without_a_price_is_named_at_the_start() {
    let newcomer = Newcomer::new();
    let own = [("OPENAI_API_KEY", "key"), ("OPENAI_MODEL", "my-own-model")];
    let (_server, mut output) = newcomer.start(&["dev", "--port", "0"], &own);
    let line = find_line(&mut output, "No price is known for ");
    assert!(line.contains("my-own-model: its calls count as free"), "{line}");
}

#[test]
fn the_journal_of_a_run_is_shown_as_a_table_and_as_lines_of_json() {
    let newcomer = Newcomer::new();
    let question =
        "Compare the three regions in examples/sales.csv, one report each, then a summary";
    let shown =
        newcomer.succeed(&["dev", "ask", "--deep", question, "--file", "examples/sales.csv"], &[]);
    let run = shown.lines().find_map(|line| line.strip_prefix("run ")).unwrap();

    let table = newcomer.succeed(&["journal", run], &[]);
    for part in [
        "the run: ",
        "started               plan_solve · model ",
        "\"Compare the three regions in examples/sales.csv, one report …\"",
        "→ run.started",
        "calls planning",
        "child.ended           s1.1 · finished",
        "run.ended",
    ] {
        assert!(table.contains(part), "no `{part}`:\n{table}");
    }
    assert!(!table.contains("s1.1: "), "{table}");

    let tree = newcomer.succeed(&["journal", run, "--tree"], &[]);
    assert!(
        tree.starts_with(&table) && tree.contains("\ns1.1: ") && tree.contains("file_tool (t1.c1)"),
        "{tree}"
    );

    let lines = newcomer.succeed(&["journal", run, "--tree", "--json"], &[]);
    let records: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records[0]["record"]["inputs"][0]["input"], "started");
    let saved = newcomer.home.path().join("saved.jsonl");
    fs::write(&saved, &lines).unwrap();
    assert_eq!(newcomer.succeed(&["journal", saved.to_str().unwrap(), "--tree"], &[]), tree);
    let verified = newcomer.succeed(&["journal", run, "--verify"], &[]);
    let count = |text: &str| text.lines().filter(|line| line.contains(" records")).count();
    assert_eq!(count(&verified), count(&tree), "{verified}");
    assert!(verified.starts_with("the run: ") && verified.contains("\ns1.1: "), "{verified}");
    assert!(verified.lines().all(|line| line.contains(" records as written, head ")), "{verified}");
    let file = newcomer.fail(&["journal", saved.to_str().unwrap(), "--verify"], &[]);
    assert!(file.contains("only stored records can be verified"), "{file}");
    let unknown = newcomer.fail(&["journal", "run_00000000000000000000000000000000"], &[]);
    assert!(unknown.contains("there is no run"), "{unknown}");
}

#[test]
fn a_recording_is_a_picture_of_a_run_that_moves_without_a_script() {
    let newcomer = Newcomer::new();
    let out = newcomer.home.path().join("recording.svg");
    newcomer.succeed(&["recording", "--out", out.to_str().unwrap()], &[]);
    let picture = fs::read_to_string(&out).unwrap();
    assert!(
        picture.len() < 150_000 && picture.starts_with("<svg ") && picture.ends_with("</svg>\n")
    );
    for part in [
        "cargo dev ask --deep",
        "plan: Compare the regions",
        "s2.1",
        "model calls",
        "prefers-reduced-motion",
    ] {
        assert!(picture.contains(part), "no `{part}`");
    }
    for part in ["<script", "url(", "/tmp/"] {
        assert!(!picture.contains(part), "`{part}`");
    }
}
