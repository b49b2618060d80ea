//! Real servers on loopback, started by `cargo verify --only outside-tools`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use djinn_mcp::{McpClient, McpEndpoint, McpErrorCode, McpHeader, McpResult, McpTransport};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdout, Command};

use super::scripted::{NEW, OLD, call, endpoint, local_egress};

/// The revision of HTTP+SSE.
const OLDEST: &str = "2024-11-05";

const NEEDS_SERVERS: &str = "run `cargo verify --only outside-tools`";

/// A kind of server: its SDK, its flags, and the revision that it speaks.
struct Kind {
    sdk: Sdk,
    flags: &'static [&'static str],
    revision: &'static str,
}

#[derive(Clone, Copy, PartialEq)]
enum Sdk {
    Python1,
    Python2,
    Node1,
    Node2,
    Rust,
}

const KINDS: [Kind; 19] = [
    Kind { sdk: Sdk::Python2, flags: &[], revision: NEW },
    Kind { sdk: Sdk::Python2, flags: &["--json"], revision: NEW },
    Kind { sdk: Sdk::Python2, flags: &[], revision: OLD },
    Kind { sdk: Sdk::Python2, flags: &["--stateless"], revision: OLD },
    Kind { sdk: Sdk::Python1, flags: &[], revision: OLD },
    Kind { sdk: Sdk::Python1, flags: &["--json"], revision: OLD },
    Kind { sdk: Sdk::Python1, flags: &["--stateless"], revision: OLD },
    Kind { sdk: Sdk::Python1, flags: &["--sse"], revision: OLDEST },
    Kind { sdk: Sdk::Python2, flags: &["--sse"], revision: OLDEST },
    Kind { sdk: Sdk::Node1, flags: &[], revision: OLD },
    Kind { sdk: Sdk::Node1, flags: &["--json"], revision: OLD },
    Kind { sdk: Sdk::Node1, flags: &["--stateless"], revision: OLD },
    Kind { sdk: Sdk::Node2, flags: &[], revision: NEW },
    Kind { sdk: Sdk::Node2, flags: &["--json"], revision: NEW },
    Kind { sdk: Sdk::Node2, flags: &[], revision: OLD },
    Kind { sdk: Sdk::Rust, flags: &[], revision: NEW },
    Kind { sdk: Sdk::Rust, flags: &["--json"], revision: NEW },
    Kind { sdk: Sdk::Rust, flags: &[], revision: OLD },
    Kind { sdk: Sdk::Rust, flags: &["--stateless"], revision: OLD },
];

impl Kind {
    fn transport(&self) -> McpTransport {
        if self.revision == OLDEST { McpTransport::Sse } else { McpTransport::StreamableHttp }
    }

    fn name(&self) -> String {
        let sdk = match self.sdk {
            Sdk::Python1 => "Python mcp 1.x",
            Sdk::Python2 => "Python mcp 2.x",
            Sdk::Node1 => "node sdk 1.x",
            Sdk::Node2 => "node server 2.x",
            Sdk::Rust => "rmcp",
        };
        format!("{sdk} {} {}", self.revision, self.flags.join(" ")).trim_end().to_owned()
    }
}

fn variable(name: &str) -> OsString {
    std::env::var_os(name).unwrap_or_else(|| panic!("{name} is not set: {NEEDS_SERVERS}"))
}

/// A server's process, killed when dropped with its children: a program may be started by a script of its name.
struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    port: u16,
}

impl Drop for Process {
    fn drop(&mut self) {
        let group = self.child.id().map(|id| format!("-{id}"));
        let kill = |group| std::process::Command::new("kill").args(["-KILL", "--", group]).status();
        let _ = group.as_deref().map(kill);
    }
}

impl Process {
    async fn start(kind: &Kind, port: u16, flags: &[&str]) -> Self {
        let servers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers");
        let mut command = match kind.sdk {
            Sdk::Python1 => Command::new(variable("MCP_PYTHON_1")),
            Sdk::Python2 => Command::new(variable("MCP_PYTHON_2")),
            Sdk::Node1 | Sdk::Node2 => Command::new("node"),
            Sdk::Rust => Command::new(built_example("mcp-server")),
        };
        let script = match kind.sdk {
            Sdk::Python1 | Sdk::Python2 => Some(servers.join("server.py")),
            // Node looks for packages beside the script.
            Sdk::Node1 => Some(copy_beside_packages(&servers, "server.mjs")),
            Sdk::Node2 => Some(copy_beside_packages(&servers, "server2.mjs")),
            Sdk::Rust => None,
        };
        command.args(script).args(kind.flags).args(flags).args(["--port", &port.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.next_line().await.unwrap().expect("the server prints its port");
        Self { child, lines, port: line.parse().unwrap() }
    }

    /// Returns when nothing listens any more.
    async fn kill(self) {
        let port = self.port;
        drop(self);
        while TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
            tokio::task::yield_now().await;
        }
    }
}

fn copy_beside_packages(folder: &Path, script: &str) -> PathBuf {
    let copy = PathBuf::from(variable("MCP_NODE")).join(script);
    std::fs::copy(folder.join(script), &copy).unwrap();
    copy
}

/// An example of this package, which cargo builds beside the tests.
fn built_example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(2).unwrap().join("examples").join(name)
}

struct RealServer<'a> {
    kind: &'a Kind,
    client: McpClient,
    endpoint: McpEndpoint,
}

impl RealServer<'_> {
    /// Asks the server for the key that it sees.
    async fn ask_with_key(&self, key: &str) -> String {
        let header = McpHeader {
            name: "Authorization".to_owned(),
            value: format!("Bearer {key}"),
            is_key: true,
        };
        let endpoint = McpEndpoint { headers: vec![header], ..self.endpoint.clone() };
        let mut call = call("who", self.kind.revision);
        call.transport = self.kind.transport();
        call.arguments.clear();
        self.client.call_tool(&endpoint, call).await.unwrap().text
    }

    async fn call(&self, tool: &str) -> Result<McpResult, djinn_mcp::McpError> {
        let mut call = call(tool, self.kind.revision);
        call.transport = self.kind.transport();
        call.arguments.insert("b".to_owned(), json!(2));
        self.client.call_tool(&self.endpoint, call).await
    }
}

async fn check_server(kind: &Kind) {
    let name = kind.name();
    let process = Process::start(kind, 0, &[]).await;
    let origin = format!("http://127.0.0.1:{}", process.port);
    let client = McpClient::new(local_egress(&[&origin]));
    let path = if kind.revision == OLDEST { "sse" } else { "mcp" };
    let url = format!("{origin}/{path}");
    let server = RealServer { kind, client, endpoint: endpoint(&url) };
    let listing = server.client.list_tools(&server.endpoint).await.unwrap();
    let names: Vec<_> =
        listing.tools.iter().map(|tool| tool.as_ref().unwrap()["name"].clone()).collect();
    assert_eq!(names, ["add", "picture", "fail", "who", "wait"], "{name}");
    // A server of both revisions is asked for the newer.
    let listed = match (kind.sdk, kind.transport()) {
        (_, McpTransport::Sse) => OLDEST,
        (Sdk::Python2 | Sdk::Node2 | Sdk::Rust, McpTransport::StreamableHttp) => NEW,
        (Sdk::Python1 | Sdk::Node1, McpTransport::StreamableHttp) => OLD,
    };
    assert_eq!((&*listing.revision, listing.transport), (listed, kind.transport()), "{name}");
    for _ in 0..2 {
        let sum = server.call("add").await.unwrap();
        // Python's newer SDK adds `{"result":3}` as structured content.
        assert_eq!(sum.text, "3", "{name}");
    }
    let picture = server.call("picture").await.unwrap();
    assert_eq!(picture.files.len(), 1, "{name}: {picture:?}");
    assert!(picture.files[0].content.starts_with(b"\x89PNG"), "{name}");
    assert_eq!(picture.files[0].media_type.as_deref(), Some("image/png"), "{name}");
    let failure = server.call("fail").await.unwrap();
    // The newer SDK keeps the reason to itself.
    let is_reported = failure.text.contains("no ink") || failure.text.contains("fail");
    assert!(failure.is_error && is_reported, "{name}: {failure:?}");
    let unknown = server.call("nothing").await.unwrap_err();
    assert_eq!(unknown.code, McpErrorCode::UnknownTool, "{name}: {unknown}");
    // Each key has its own connection, which the server sees, also if calls take turns or run at the same time.
    for key in ["anna", "bob", "anna"] {
        let seen = server.ask_with_key(key).await;
        assert!(seen.starts_with(&format!("Bearer {key}")), "{name}: {seen}");
    }
    let both = tokio::join!(server.ask_with_key("anna"), server.ask_with_key("bob"));
    assert!(both.0.starts_with("Bearer anna") && both.1.starts_with("Bearer bob"), "{name}");
    // A restarted server knows no session, and has renamed a tool.
    let port = process.port;
    process.kill().await;
    let gone = server.call("add").await.unwrap_err();
    // The client may have a connection whose end it has not seen yet.
    let codes = [McpErrorCode::Unreachable, McpErrorCode::Protocol];
    assert!(codes.contains(&gone.code), "{name}: {gone}");
    let mut process = Process::start(kind, port, &[]).await;
    server.call("add").await.unwrap_or_else(|error| panic!("{name}: {error}"));
    // A server that dies during a call may have done what it was asked.
    let dying = async {
        assert_eq!(process.lines.next_line().await.unwrap().as_deref(), Some("waiting"), "{name}");
        process.kill().await;
    };
    let (lost, ()) = tokio::join!(server.call("wait"), dying);
    let lost = lost.unwrap_err();
    assert!(lost.code == McpErrorCode::Protocol && lost.may_be_done, "{name}: {lost:?}");
    let _process = Process::start(kind, port, &["--renamed"]).await;
    let changed = server.call("add").await.unwrap_err();
    assert_eq!(changed.code, McpErrorCode::UnknownTool, "{name}: {changed}");
    server.call("plus").await.unwrap_or_else(|error| panic!("{name}: {error}"));
    println!(
        "real server: {name}: listed, called, image, error, unknown tool, keys, restart, death, renamed"
    );
}

#[tokio::test]
#[ignore = "starts servers: cargo verify --only outside-tools"]
async fn real_servers_are_listed_and_called() {
    for kind in &KINDS {
        check_server(kind).await;
    }
}
