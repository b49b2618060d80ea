//! DynamoDB and S3 for a laptop: dynoxide (SQLite) and s3s-fs (files), behind the HTTP APIs of AWS.
//!
//! Each start creates a random key, and requests with another signature are rejected: every page in a browser
//! can reach a port of this machine.
//!
//! Differences from AWS: partitions have no size limit and are never throttled, reads are always consistent,
//! and a power failure during a write can lose all data.

mod api;
mod bucket;
mod conditional;
mod layout;
mod table;

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use agent::LocalOrigins;
use djinn_aws::{Endpoints, Settings};
use djinn_core::id::encode_hex;
use djinn_runtime::port::secret::Secret;
use socket2::{Domain, Socket, Type};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::private::{create_private_dir, narrow_home};
use crate::serve::{ServeTimeouts, serve, with_body_timeout};

/// The name of the table.
pub const TABLE: &str = "djinn";

/// The name of the bucket and of the directory with the objects.
pub const BUCKET: &str = "djinn";

/// The folder of the bucket below the home.
const OBJECTS: &str = "objects";

/// Interval for deleting expired items.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// Interval for checking a locked directory.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Options of the local stores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoresOptions {
    /// The directory with `table.db`, `objects/` and `layout`, created if missing, without access for other
    /// users. With `None`, the stores are in memory and in a temporary directory, until dropped.
    pub dir: Option<PathBuf>,
    /// Maximum wait for a directory in use by another process. A killed process holds the directory until the
    /// operating system has cleaned up.
    pub wait: Duration,
    /// Origins of pages that may read and write files by URL.
    pub origins: LocalOrigins,
}

impl Default for StoresOptions {
    fn default() -> Self {
        Self { dir: None, wait: Duration::from_secs(5), origins: LocalOrigins::default() }
    }
}

/// The reason the local stores cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StoresError {
    /// The directory cannot be used.
    #[error("{} cannot be used: {problem}", .path.display())]
    Dir {
        /// The directory, or an invalid entry of the directory.
        path: PathBuf,
        /// The error text of the operating system or the file store.
        problem: String,
    },
    /// Another process uses the directory.
    #[error("{} is in use by another process; stop it, or choose another directory", .0.display())]
    InUse(PathBuf),
    /// The directory was written by a version of Djinn with another layout.
    #[error(
        "{} was written by another version of Djinn, which this one cannot read; move it away, or set \
         DJINN_HOME to another directory, to start with an empty one",
        .0.display()
    )]
    Layout(PathBuf),
    /// The database is there, but not usable.
    #[error(
        "{} holds no usable table ({problem}); move it away to start with an empty one",
        .path.display()
    )]
    Table {
        /// The path of `table.db`, or `:memory:` without a directory.
        path: PathBuf,
        /// The error text of the database.
        problem: String,
    },
    /// No server could be started.
    #[error("the local stores cannot listen on 127.0.0.1: {0}")]
    Listen(#[from] std::io::Error),
    /// No key could be made.
    #[error("the operating system provides no random bytes to make a key of: {0}")]
    Key(#[from] getrandom::Error),
}

impl StoresError {
    /// Returns true if the disk is full.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        match self {
            // The texts of the operating system and of the database.
            Self::Dir { problem, .. } | Self::Table { problem, .. } => {
                ["No space left", "disk is full"].iter().any(|words| problem.contains(words))
            }
            _ => false,
        }
    }
}

/// Running DynamoDB and S3 servers in separate threads. Dropping the value stops both; answered requests are
/// kept.
#[derive(Debug)]
pub struct Stores {
    settings: Settings,
    runtime: Option<Runtime>,
    _home: StoresHome,
}

impl Stores {
    /// Starts both servers on free ports of 127.0.0.1, with the table and the bucket.
    ///
    /// # Errors
    /// Returns [`StoresError`], whose text says what to do.
    pub fn start(options: StoresOptions) -> Result<Self, StoresError> {
        let home = StoresHome::open(options.dir, options.wait)?;
        let key = make_key()?;
        let database = table::open_table(home.dir())?;
        let objects_dir = match &home {
            StoresHome::Permanent { dir, .. } => dir.join(OBJECTS),
            StoresHome::Temporary(dir) => dir.path().join(OBJECTS),
        };
        let bucket = bucket::open_bucket(&objects_dir, &key, options.origins)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("djinn-stores")
            .enable_all()
            .build()?;
        let runtime_guard = runtime.enter();
        let (table_listener, table_url) = listen_locally()?;
        let (bucket_listener, bucket_url) = listen_locally()?;
        runtime.spawn(table::sweep_expired(database.clone(), SWEEP_EVERY));
        let patience = ServeTimeouts::default();
        let table = with_body_timeout(api::table_routes(database, key.clone()), patience);
        runtime.spawn(serve(table_listener, table, patience));
        runtime.spawn(serve(bucket_listener, bucket, patience));
        drop(runtime_guard);
        let endpoints = Endpoints {
            dynamodb: Some(table_url),
            s3: Some(bucket_url),
            key: Some(key),
            ..Endpoints::default()
        };
        let settings = Settings { endpoints, ..Settings::new(TABLE, BUCKET) };
        Ok(Self { settings, runtime: Some(runtime), _home: home })
    }

    /// Returns the settings of these stores, without an executor and without schedules.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}

impl Drop for Stores {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The directory of all data.
#[derive(Debug)]
enum StoresHome {
    /// Kept, and locked against other processes.
    Permanent { dir: PathBuf, _lock: File },
    /// Deleted at the end. The table is in memory.
    Temporary(TempDir),
}

impl StoresHome {
    fn open(dir: Option<PathBuf>, wait: Duration) -> Result<Self, StoresError> {
        let Some(dir) = dir else {
            let dir =
                tempfile::tempdir().map_err(|error| dir_error(&std::env::temp_dir(), &error))?;
            return Ok(Self::Temporary(dir));
        };
        create_private_dir(&dir).map_err(|error| dir_error(&dir, &error))?;
        let lock = lock_dir(&dir, wait, std::thread::sleep)?;
        layout::check_layout(&dir)?;
        create_private_dir(&dir.join(OBJECTS)).map_err(|error| dir_error(&dir, &error))?;
        narrow_home(&dir).map_err(|error| dir_error(&dir, &error))?;
        Ok(Self::Permanent { dir, _lock: lock })
    }

    /// Returns the directory; `None` for temporary stores.
    fn dir(&self) -> Option<&Path> {
        match self {
            Self::Permanent { dir, .. } => Some(dir),
            Self::Temporary(_) => None,
        }
    }
}

fn dir_error(path: &Path, error: &dyn std::fmt::Display) -> StoresError {
    StoresError::Dir { path: path.to_owned(), problem: error.to_string() }
}

/// Locks a directory, or returns an error if another process still holds the lock after `wait`.
fn lock_dir(
    dir: &Path,
    wait: Duration,
    mut pause: impl FnMut(Duration),
) -> Result<File, StoresError> {
    let lock = File::create(dir.join("lock")).map_err(|error| dir_error(dir, &error))?;
    let mut wait_so_far = Duration::ZERO;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(std::fs::TryLockError::WouldBlock) if wait_so_far < wait => {
                pause(LOOK_EVERY);
                wait_so_far += LOOK_EVERY;
            }
            Err(std::fs::TryLockError::WouldBlock) => {
                return Err(StoresError::InUse(dir.to_owned()));
            }
            Err(std::fs::TryLockError::Error(error)) => return Err(dir_error(dir, &error)),
        }
    }
}

/// Creates a random secret key.
fn make_key() -> Result<Secret, getrandom::Error> {
    let mut chance = [0; 32];
    getrandom::fill(&mut chance)?;
    Ok(Secret::new(&encode_hex(&chance)))
}

/// Returns a listener on a free port, and the listener's URL.
fn listen_locally() -> Result<(tokio::net::TcpListener, String), StoresError> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    // Accepted connections inherit this option on Linux. Otherwise each response waits 40 ms for an
    // acknowledgement.
    socket.set_tcp_nodelay(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
    socket.listen(1024)?;
    let listener = TcpListener::from(socket);
    let url = format!("http://{}", listener.local_addr()?);
    Ok((tokio::net::TcpListener::from_std(listener)?, url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_waited_for_and_not_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        let wait = LOOK_EVERY * 3;
        let mut others = Some(lock_dir(dir.path(), Duration::ZERO, drop).unwrap());
        let mut looks = 0;
        let refused = lock_dir(dir.path(), wait, |_| looks += 1).unwrap_err();
        assert!(matches!(refused, StoresError::InUse(path) if path == dir.path()));
        assert_eq!(looks, 3);
        // A process that was killed, and goes while it is waited for.
        assert!(lock_dir(dir.path(), wait, |_| drop(others.take())).is_ok());
        assert!(others.is_none());
    }
}
