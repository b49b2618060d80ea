//! The sandbox as two functions: the built program in a simulated Lambda, reached as the executor would.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use djinn_core::id::{FileName, RequestId, RunId, SessionId, SessionName, TenantId, UserId};
use djinn_core::language::Language;
use djinn_core::tool::ToolOutput;
use djinn_local::{BUCKET, Backing, BackingOptions, Djinn};
use djinn_runtime::port::SessionKey;
use djinn_runtime::port::clock::{Clock as _, SystemClock};
use djinn_runtime::port::file::{Files as _, NewFile};
use djinn_runtime::port::tool::ToolContext;
use djinn_settings::table::aws::{SANDBOX, SANDBOX_DOCUMENTS};
use djinn_settings::table::tools::CONFIG;
use djinn_testkit::lambdasim::{Function, Lambda};
use djinn_wiring::{LambdaWorld, Variables, build_lambda_world};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::find_python;
use crate::configuration::publish;
use crate::report::write_theme;

/// A deployment whose sandbox is two functions, as the executor sees it.
struct Deployment {
    lambda: Lambda,
    world: LambdaWorld,
    session: SessionKey,
    _backing: Backing,
    /// The configuration folder in the bucket.
    folder: PathBuf,
    _scratch: TempDir,
}

impl Deployment {
    async fn start() -> Self {
        Self::start_with_folder(|_| ()).await
    }

    /// Starts a deployment with a configuration folder in the bucket, whose files `write` writes.
    async fn start_with_folder(write: fn(&Path)) -> Self {
        let scratch = TempDir::new().unwrap();
        let folder = scratch.path().join("objects").join(BUCKET).join("config");
        fs::create_dir_all(&folder).unwrap();
        write(&folder);
        publish(&folder);
        let lambda = Lambda::start().await.unwrap();
        let binary = write_wrapped_command(scratch.path());
        for handler in ["code", "documents"] {
            lambda.deploy(Function {
                name: handler.to_owned(),
                binary: binary.clone(),
                variables: vec![
                    ("_HANDLER".to_owned(), handler.to_owned()),
                    // What no code may see; what Lambda gives to every function is like it.
                    ("AWS_SECRET_ACCESS_KEY".to_owned(), "canary".to_owned()),
                ],
                timeout: Duration::from_secs(60),
                concurrency: 1,
                copies: 1,
                log: None,
            });
        }
        let dir = Some(scratch.path().to_owned());
        let options = BackingOptions { dir, ..BackingOptions::new(lambda.url()) };
        let backing = Backing::start(options).await.unwrap();
        let variables = backing.variables();
        let variables: Variables = Arc::new(move |name| {
            if SANDBOX.name == name {
                Some("code".to_owned())
            } else if SANDBOX_DOCUMENTS.name == name {
                Some("documents".to_owned())
            } else if CONFIG.name == name {
                Some("@config".to_owned())
            } else {
                variables.iter().find(|(known, _)| *known == name).map(|(_, v)| v.clone())
            }
        });
        let world = build_lambda_world(&Djinn::new(), &variables).unwrap();
        let configuration = world.configuration.as_ref().unwrap();
        configuration.update(SystemClock.now_ms(), Duration::ZERO).await;
        let session = SessionKey {
            tenant: TenantId::new("t").unwrap(),
            owner: UserId::new("u").unwrap(),
            session: SessionId::new("s").unwrap(),
        };
        Self { lambda, world, session, _backing: backing, folder, _scratch: scratch }
    }

    async fn write_file(&self, name: &str, bytes: &[u8]) {
        let file = NewFile {
            name: FileName::new(name).unwrap(),
            description: String::new(),
            internal: false,
            media_type: "text/csv".to_owned(),
            uploaded: false,
            writer: self.session.owner.clone(),
        };
        self.world.store.write_file(&self.session, &file, bytes).await.unwrap();
    }

    /// What the tool `python` answers to a block that is given these files.
    async fn run_code(&self, code: &str, files: &[&str]) -> ToolOutput {
        self.run_tool("python", json!({ "code": code }), files).await
    }

    /// What a tool answers that is given these files.
    async fn run_tool(&self, tool: &str, arguments: Value, files: &[&str]) -> ToolOutput {
        let session = SessionName::new("s").unwrap();
        let SessionKey { tenant, owner, .. } = &self.session;
        let context = ToolContext {
            run: RunId::of(tenant, owner, &session, &RequestId::new("r").unwrap()),
            path: "".parse().unwrap(),
            session: self.session.clone(),
            user: owner.clone(),
            files: files.iter().map(|name| FileName::new(*name).unwrap()).collect(),
            call: "t1.c1".parse().unwrap(),
            attempt: 1,
            interrupts: 0,
            language: Language::En,
            time_zone: Default::default(),
            max_observe: 10_000,
            max_input_tokens: 0,
            state: None,
            mask_pii: false,
            progress: Default::default(),
        };
        let Value::Object(arguments) = arguments else { unreachable!() };
        let tool = self.world.tools.find_tool(tool).unwrap();
        tool.run(&context, &arguments).await.unwrap()
    }

    /// What the functions were invoked with, in order.
    fn payloads(&self) -> Vec<Value> {
        self.lambda.invocations().into_iter().map(|invocation| invocation.payload).collect()
    }
}

/// What Lambda starts where `AWS_LAMBDA_EXEC_WRAPPER` names our program: it, with the command of Python's loop.
fn write_wrapped_command(folder: &Path) -> PathBuf {
    let this = std::env::current_exe().unwrap();
    let program = this.parent().unwrap().parent().unwrap().join("sandbox");
    assert!(program.exists(), "sandbox is not built: run `cargo verify --only sandbox`");
    let (program, python) = (program.display(), find_python());
    let command = format!("#!/bin/sh\nexec {program} {} /none/bootstrap.py\n", python.display());
    let path = folder.join("bootstrap");
    fs::write(&path, command).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn a_block_runs_in_the_function_and_its_products_come_back() {
    let deployment = Deployment::start().await;
    deployment.write_file("sales.csv", b"region,sales\nnorth,3\nsouth,4\n").await;
    let code = "import pandas as pd\nt = pd.read_csv('sales.csv')\nprint(t.sales.sum())\n\
                t.to_csv('twice.csv')";
    for _ in 0..2 {
        let output = deployment.run_code(code, &["sales.csv"]).await;
        assert!(output.text.contains('7'), "{}", output.text);
        assert_eq!(output.files[0].name.as_str(), "twice.csv");
    }
    let payload = deployment.payloads().remove(0);
    assert_eq!(payload["files"][0]["name"], "sales.csv");
    assert!(payload["files"][0]["content"]["packed"].is_string(), "{payload}");
    // The environment served both, and its Python was started once.
    let pids: Vec<_> = deployment.lambda.invocations().iter().map(|one| one.pid).collect();
    assert_eq!(pids[0], pids[1]);
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn what_is_too_large_for_an_invocation_travels_through_the_bucket() {
    let deployment = Deployment::start().await;
    let mut chance = fastrand::Rng::with_seed(1);
    let noise: Vec<u8> = (0..9_000_000).map(|_| chance.u8(..)).collect();
    deployment.write_file("noise.csv", &noise).await;
    deployment.write_file("table.csv", &b"2024,1\n".repeat(1_000_000)).await;
    let code = "data = open('noise.csv', 'rb').read()\nprint(len(data), data[0])\n\
                print(len(open('table.csv').read()))\nopen('copy.bin', 'wb').write(data[1:])";
    let output = deployment.run_code(code, &["noise.csv", "table.csv"]).await;
    assert!(output.text.contains(&format!("9000000 {}", noise[0])), "{}", output.text);
    assert!(output.text.contains("7000000"), "{}", output.text);
    let copy = &output.files[0];
    let read = deployment.world.store.read_file(&deployment.session, copy, copy.size).await;
    assert_eq!(read.unwrap(), noise[1..]);
    let payload = deployment.payloads().remove(0);
    let contents: Vec<_> = payload["files"].as_array().unwrap().iter().collect();
    let find = |name: &str| contents.iter().find(|file| file["name"] == name).unwrap();
    // A table gets small enough.
    assert!(find("table.csv")["content"]["packed"].is_string());
    assert_eq!(find("noise.csv")["content"]["stored"]["size"], 9_000_000);
    assert!(payload.to_string().len() < 200_000);
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn code_sees_nothing_of_the_function_that_runs_it() {
    let deployment = Deployment::start().await;
    let code = "import glob, os, socket\nfound = [str(dict(os.environ))]\n\
                for path in glob.glob('/proc/[0-9]*/environ') + [f'/proc/{os.getppid()}/environ']:\n    \
                try: found.append(open(path).read())\n    except OSError: pass\n\
                print('seen' if 'canary' in ''.join(found) else 'hidden')\n\
                try: socket.create_connection(('127.0.0.1', 9001))\nexcept OSError as e: print(e)";
    let output = deployment.run_code(code, &[]).await;
    assert!(output.text.contains("hidden"), "{}", output.text);
    assert!(!output.text.contains("canary"), "{}", output.text);
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn tables_are_read_by_the_function_without_code() {
    let deployment = Deployment::start().await;
    deployment.write_file("sales.csv", b"region,sales\nnorth,3\nsouth,4\n").await;
    let output = deployment.run_tool("find_tables", json!({"task": "sales"}), &["sales.csv"]).await;
    assert!(output.text.contains("region"), "{}", output.text);
    let output = deployment.run_code("print(1)", &[]).await;
    assert!(output.text.contains('1'), "{}", output.text);
    let invocations = deployment.lambda.invocations();
    let functions: Vec<_> = invocations.iter().map(|one| one.function.as_str()).collect();
    assert_eq!(functions, ["documents", "code"]);
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn published_templates_style_the_documents_of_the_function() {
    let deployment = Deployment::start_with_folder(write_theme).await;
    let arguments = json!({"fileType": "html", "fileName": "a.html", "answer": "<h1>Sales</h1>"});
    for footer in ["ACME internal", "ACME public"] {
        let theme = deployment.folder.join("templates/theme.toml");
        let text = fs::read_to_string(&theme).unwrap().replace("ACME internal", footer);
        fs::write(theme, text).unwrap();
        publish(&deployment.folder);
        let configuration = deployment.world.configuration.as_ref().unwrap();
        configuration.update(SystemClock.now_ms(), Duration::ZERO).await;
        let output = deployment.run_tool("render", arguments.clone(), &[]).await;
        let file = &output.files[0];
        let read = deployment.world.store.read_file(&deployment.session, file, file.size).await;
        let page = String::from_utf8(read.unwrap()).unwrap();
        for part in ["#7A1F5C", footer, "logo\"", "data:image/png;base64,"] {
            assert!(page.contains(part), "the page has no {part}: {page}");
        }
    }
    let payload = deployment.payloads().remove(0);
    let logo = payload["files"][0]["name"].as_str().unwrap();
    assert!(logo.starts_with("theme-") && logo.ends_with(".png"), "{payload}");
}
