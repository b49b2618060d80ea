//! What attacks are made on: each belongs to the test, so that one that succeeds harms nothing.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// A folder, a file, a server, a socket and a process that nobody but the test may touch.
pub(crate) struct Canary {
    folder: TempDir,
    server: TcpListener,
    socket: UnixListener,
    socket_name: String,
    process: Child,
    before: String,
}

impl Canary {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let secret = folder.path().join("secret.txt");
        fs::write(&secret, "the canary sings").unwrap();
        fs::set_permissions(&secret, Permissions::from_mode(0o666)).unwrap();
        fs::create_dir(folder.path().join("empty")).unwrap();
        symlink("secret.txt", folder.path().join("link.txt")).unwrap();
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        server.set_nonblocking(true).unwrap();
        let socket_name = format!("djinn-canary-{}", server.local_addr().unwrap().port());
        fs::write(shared_memory(&socket_name), "shared").unwrap();
        let address = std::os::unix::net::SocketAddr::from_abstract_name(&socket_name).unwrap();
        let socket = UnixListener::bind_addr(&address).unwrap();
        socket.set_nonblocking(true).unwrap();
        let process = Command::new("sleep").arg("600").stdout(Stdio::null()).spawn().unwrap();
        let mut canary =
            Self { folder, server, socket, socket_name, process, before: String::new() };
        canary.before = canary.look();
        canary
    }

    /// The attack's code, with the canary's names in it.
    pub(crate) fn aim(&self, code: &str) -> String {
        let port = self.server.local_addr().unwrap().port();
        let folder = self.folder.path().to_str().unwrap();
        code.replace("{folder}", folder)
            .replace("{port}", &port.to_string())
            .replace("{socket}", &self.socket_name)
            .replace("{pid}", &self.process.id().to_string())
            .replace("{parent}", &std::process::id().to_string())
            .replace("{exit}", &libc::SYS_exit.to_string())
            .replace("{keyctl}", &libc::SYS_keyctl.to_string())
            .replace("{timer_create}", &libc::SYS_timer_create.to_string())
            .replace("{timer_delete}", &libc::SYS_timer_delete.to_string())
    }

    /// What became of the canary, if anything did.
    pub(crate) fn complaint(&mut self) -> Option<String> {
        let now = self.look();
        if now != self.before {
            return Some(format!("{}\nbecame\n{now}", self.before));
        }
        if self.server.accept().is_ok() || self.socket.accept().is_ok() {
            return Some("somebody connected".to_owned());
        }
        self.process.try_wait().unwrap().map(|status| format!("the process ended: {status}"))
    }

    /// All that can be seen of its files and its process.
    fn look(&self) -> String {
        let mut paths = vec![self.folder.path().to_owned()];
        // Where somebody has taken the right to look, there is nothing to see, and that is told.
        let inside = fs::read_dir(self.folder.path()).into_iter().flatten().flatten();
        paths.extend(inside.map(|entry| entry.path()));
        paths.sort();
        let lines = paths.iter().map(|path| {
            let status = fs::symlink_metadata(path).unwrap();
            let text = fs::read_to_string(path).unwrap_or_default();
            let (mode, owner, links) = (status.mode(), status.uid(), status.nlink());
            let times = (status.mtime(), status.mtime_nsec());
            format!("{} {mode:o} {owner} {links} {times:?} {text}", path.display())
        });
        let process = fs::read_to_string(format!("/proc/{}/limits", self.process.id())).unwrap();
        format!("{}\n{process}", lines.collect::<Vec<_>>().join("\n"))
    }
}

/// A name in the shared memory of the machine.
fn shared_memory(name: &str) -> PathBuf {
    Path::new("/dev/shm").join(name)
}

impl Drop for Canary {
    fn drop(&mut self) {
        let _gone = fs::remove_file(shared_memory(&self.socket_name));
        // An attack that succeeded may have left a folder that cannot be removed.
        let _may_be_gone = fs::set_permissions(self.folder.path(), Permissions::from_mode(0o777));
        let _ended = self.process.kill();
        let _status = self.process.wait();
    }
}
