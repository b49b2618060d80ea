//! The lock file of a configuration folder on this machine.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use djinn_aws::{Aws, AwsSecrets};
use djinn_outside::{LockFile, LockedServer, McpServer};
use djinn_runtime::port::secret::NoSecrets;
use djinn_runtime::port::text_folder::{FolderText, MAX_LOCK, SERVERS, SERVERS_LOCK};
use djinn_settings::table::runtime::LOCAL;
use djinn_tools::local_folder::LocalFolder;
use djinn_wiring::Variables;

use crate::store::{BUCKET, TABLE};
use crate::system::Var;

/// The MCP servers of a configuration folder, and the file with their accepted tools.
pub struct ServerLock {
    folder: PathBuf,
    variables: Variables,
    /// The store of keys without a variable.
    secrets: Option<AwsSecrets>,
}

/// A server that had no entry in the lock file.
pub struct NewServer {
    /// The server's file.
    pub server: McpServer,
    /// The new entry, or the reason why there is none.
    pub outcome: Result<LockedServer, String>,
}

impl ServerLock {
    /// Opens a configuration folder, without reading. Keys and the rules for URLs come from variables.
    #[must_use]
    pub fn new(folder: PathBuf, var: Var) -> Self {
        let local = LOCAL.pair("1");
        let variables: Variables =
            Arc::new(move |name| if name == local.0 { Some(local.1.clone()) } else { var(name) });
        Self { folder, variables, secrets: None }
    }

    /// Reads keys without a variable from Secrets Manager, as calls do.
    #[must_use]
    pub fn with_secrets(self) -> Self {
        let secrets = Aws::new(djinn_aws::Settings::new(TABLE, BUCKET)).secrets();
        Self { secrets: Some(secrets), ..self }
    }

    /// Reads the servers and the lock file, which is empty if there is none.
    ///
    /// # Errors
    /// Returns the problems of all files as sentences.
    pub fn read(&self) -> Result<(Vec<McpServer>, LockFile), Vec<String>> {
        let texts = LocalFolder::new(&self.folder).read_now();
        let texts = texts.map_err(|error| vec![error.to_string()])?;
        let folder = self.folder.display().to_string();
        let mut problems = Vec::new();
        let mut servers = Vec::new();
        for (name, text) in SERVERS.texts_of(&texts) {
            let name = name.strip_suffix(".toml").unwrap_or(name);
            let server = read_text(&folder, text, |path, text| McpServer::read(name, path, text));
            server
                .map(|server| servers.push(server))
                .unwrap_or_else(|found| problems.extend(found));
        }
        let lock = texts.iter().find(|text| text.name == SERVERS_LOCK);
        let lock = lock.map(|text| read_text(&folder, text, LockFile::read)).transpose();
        match lock {
            Ok(lock) if problems.is_empty() => Ok((servers, lock.unwrap_or_default())),
            Ok(_) => Err(problems),
            Err(found) => Err([problems, found].concat()),
        }
    }

    /// Lists the tools of a server, for its entry in the lock file.
    ///
    /// # Errors
    /// Returns a sentence without its full stop if the list cannot be read to its end.
    pub async fn list_server(&self, server: &McpServer) -> Result<LockedServer, String> {
        match &self.secrets {
            Some(secrets) => gateway::list_server(server, &self.variables, secrets).await,
            None => gateway::list_server(server, &self.variables, &NoSecrets).await,
        }
    }

    /// Writes the lock file as a whole: a reader finds the old or the new one.
    ///
    /// # Errors
    /// Returns a sentence for a file that is too large or cannot be written.
    pub fn write(&self, lock: &LockFile) -> Result<(), String> {
        let text = lock.to_text();
        let path = self.folder.join(SERVERS_LOCK);
        if text.len() > MAX_LOCK {
            return Err(format!("{SERVERS_LOCK} would have more than {MAX_LOCK} bytes"));
        }
        let write = || {
            let place = path.parent().unwrap_or(&self.folder);
            fs::create_dir_all(place)?;
            let mut file = tempfile::NamedTempFile::new_in(place)?;
            file.write_all(text.as_bytes())?;
            file.persist(&path).map_err(|error| error.error)
        };
        write().map(drop).map_err(|error| format!("{} cannot be written: {error}", path.display()))
    }

    /// Locks the servers without any entry. A server with an entry is never locked again, whatever its URL. Returns
    /// nothing while a file is broken.
    pub async fn lock_new_servers(&self) -> Vec<NewServer> {
        self.lock_due_servers(|_| true).await
    }

    /// Locks the servers without any entry for which `is_due` returns true.
    pub async fn lock_due_servers(&self, is_due: impl Fn(&McpServer) -> bool) -> Vec<NewServer> {
        let Ok((servers, mut lock)) = self.read() else { return Vec::new() };
        let mut new_servers = Vec::new();
        let is_new = |server: &McpServer| !lock.servers.contains_key(&server.name);
        for server in servers.into_iter().filter(|server| is_new(server) && is_due(server)) {
            let outcome = self.list_server(&server).await;
            new_servers.push(NewServer { server, outcome });
        }
        for new in &new_servers {
            if let Ok(entry) = &new.outcome {
                lock.servers.insert(new.server.name.clone(), entry.clone());
            }
        }
        if new_servers.iter().any(|new| new.outcome.is_ok())
            && let Err(problem) = self.write(&lock)
        {
            for new in new_servers.iter_mut().filter(|new| new.outcome.is_ok()) {
                new.outcome = Err(problem.clone());
            }
        }
        new_servers
    }
}

fn read_text<T>(
    folder: &str,
    file: &FolderText,
    parse: impl FnOnce(&str, &str) -> Result<T, Vec<djinn_outside::ToolFileProblem>>,
) -> Result<T, Vec<String>> {
    let path = file.path_in(folder);
    let text = file.text.as_ref().map_err(|rule| vec![format!("{path}:1: it {rule}")])?;
    parse(&path, text).map_err(|found| found.iter().map(ToString::to_string).collect())
}
