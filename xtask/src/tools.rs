//! `cargo xtask tools lock`: accepts the tools of MCP servers.

use std::collections::BTreeSet;
use std::io::{BufRead as _, stdin};
use std::path::PathBuf;

use anyhow::{Result, bail};
use djinn_local::ServerLock;
use djinn_outside::{LockFile, LockedServer, McpServer};
use djinn_text::fold::is_hidden;
use djinn_tools::local_folder::SERVERS_LOCK;
use similar::TextDiff;

use crate::dev::{config_dir, environment_vars};
use crate::terminal::print_line;

/// What to do with the tools of servers.
#[derive(clap::Args)]
pub(crate) struct ToolsArguments {
    #[command(subcommand)]
    command: ToolsCommand,
}

#[derive(clap::Subcommand)]
enum ToolsCommand {
    /// Lists the tools of MCP servers, shows what has changed, and writes tools/servers.lock.json.
    Lock(LockArguments),
}

/// The servers to lock.
#[derive(clap::Args)]
pub(crate) struct LockArguments {
    /// Name of the server, by default all.
    server: Option<String>,
    /// Configuration folder, by default that of `cargo dev`.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Writes without asking.
    #[arg(long, conflicts_with = "check")]
    yes: bool,
    /// Writes nothing, and fails if anything has changed.
    #[arg(long)]
    check: bool,
}

/// Runs `cargo xtask tools`.
///
/// # Errors
/// Returns an error for broken files, for servers that cannot be listed, and with `--check` for changes.
pub(crate) fn run(ToolsArguments { command }: ToolsArguments) -> Result<()> {
    let ToolsCommand::Lock(arguments) = command;
    let folder = arguments.folder.clone().unwrap_or_else(config_dir);
    let lock = ServerLock::new(folder, environment_vars()).with_secrets();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(lock_servers(&lock, &arguments, &mut ask_to_write))
}

/// Asks on the terminal; no answer is no.
fn ask_to_write() -> Result<bool> {
    print_line(&format!("Write {SERVERS_LOCK}? [y/N]"));
    let mut answer = String::new();
    stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

async fn lock_servers(
    lock: &ServerLock,
    arguments: &LockArguments,
    confirm: &mut dyn FnMut() -> Result<bool>,
) -> Result<()> {
    let (servers, before) = match lock.read() {
        Ok(read) => read,
        Err(problems) => {
            problems.iter().for_each(|problem| print_line(problem));
            bail!("the files are broken");
        }
    };
    let chosen = choose_servers(&servers, arguments.server.as_deref())?;
    let mut after = before.clone();
    after.servers.retain(|name, _| servers.iter().any(|server| server.name == *name));
    let mut failures = 0;
    for server in chosen {
        match lock.list_server(server).await {
            Ok(entry) => {
                for problem in server.check_tools(&entry) {
                    print_line(&format!("warning: {problem}"));
                }
                after.servers.insert(server.name.clone(), entry);
            }
            Err(reason) => {
                failures += 1;
                print_line(&format!("{}: {}", server.name, escape(&reason)));
            }
        }
    }
    let changes = describe_changes(&before, &after);
    if changes.is_empty() {
        print_line(&format!(
            "{SERVERS_LOCK} is as the servers are ({} in it).",
            after.servers.len()
        ));
    } else {
        print_line(&changes);
        if arguments.check {
            bail!("{SERVERS_LOCK} is not as the servers are: run cargo xtask tools lock");
        }
        if arguments.yes || confirm()? {
            lock.write(&after).map_err(anyhow::Error::msg)?;
            print_line(&format!(
                "Wrote {SERVERS_LOCK}. Publish the folder, or let cargo dev read it."
            ));
        } else {
            bail!("nothing was written");
        }
    }
    match failures {
        0 => Ok(()),
        1 => bail!("1 server could not be listed: its entry stays as it was"),
        count => bail!("{count} servers could not be listed: their entries stay as they were"),
    }
}

/// Returns the servers to list.
fn choose_servers<'a>(servers: &'a [McpServer], name: Option<&str>) -> Result<Vec<&'a McpServer>> {
    let chosen: Vec<&McpServer> =
        servers.iter().filter(|server| name.is_none_or(|name| server.name == name)).collect();
    match name {
        Some(name) if chosen.is_empty() => {
            let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
            bail!("there is no tools/servers/{name}.toml; the servers are: {}", names.join(", "))
        }
        _ => Ok(chosen),
    }
}

/// Returns a line for each changed server, and the changed lines of the lock file; empty without a change.
fn describe_changes(before: &LockFile, after: &LockFile) -> String {
    let names: BTreeSet<&String> = before.servers.keys().chain(after.servers.keys()).collect();
    let summaries = names.into_iter().filter_map(|name| {
        let before = before.servers.get(name);
        let after = after.servers.get(name);
        (before != after).then(|| format!("{name}: {}", summarize(before, after)))
    });
    let summaries: Vec<String> = summaries.collect();
    if summaries.is_empty() {
        return String::new();
    }
    let before = before.to_text();
    let after = after.to_text();
    let difference = TextDiff::from_lines(&before, &after);
    let lines = difference.unified_diff().context_radius(3).to_string();
    format!("{}\n{}", escape(&lines), summaries.join("\n"))
}

/// Returns the numbers of new, changed, gone and rejected tools of a server.
fn summarize(before: Option<&LockedServer>, after: Option<&LockedServer>) -> String {
    let Some(after) = after else { return "its file is gone".to_owned() };
    let hash = |server: &LockedServer, name: &String| {
        server.tools.get(name).map(|tool| tool.sha256.clone())
    };
    let old_names = || before.into_iter().flat_map(|server| server.tools.keys());
    let new = after.tools.keys().filter(|name| !old_names().any(|old| old == *name)).count();
    let gone = old_names().filter(|name| !after.tools.contains_key(*name)).count();
    let kept = old_names().filter(|name| after.tools.contains_key(*name));
    let changed = kept.filter(|name| before.and_then(|it| hash(it, name)) != hash(after, name));
    let changed = changed.count();
    let rejected = after.rejected.len();
    let first = if before.is_none() { "a new server; " } else { "" };
    format!("{first}{new} tools are new, {changed} changed, {gone} gone, {rejected} rejected")
}

/// Shows the characters that a terminal would hide or obey.
fn escape(text: &str) -> String {
    let shown = text.chars().map(|character| match character {
        '\n' => "\n".to_owned(),
        hidden if is_hidden(hidden) || hidden.is_control() => hidden.escape_unicode().to_string(),
        visible => visible.to_string(),
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use djinn_outside::ServerTransport;
    use serde_json::{Value, json};

    use super::*;

    fn entry(descriptions: &[(&str, &str)]) -> LockedServer {
        let text = "url = \"http://127.0.0.1:9/mcp\"\ntrust = \"none\"\n";
        let server = McpServer::read("notes", "notes.toml", text).unwrap();
        let tools = descriptions.iter().map(|(name, description)| {
            let schema = json!({"type": "object"});
            Ok(json!({"name": name, "description": description, "inputSchema": schema}))
        });
        let mut tools: Vec<Result<Value, String>> = tools.collect();
        tools.push(Err("it is no definition".to_owned()));
        LockedServer::from_listing(&server, ServerTransport::StreamableHttp, "2025-11-25", &tools)
    }

    fn lock_of(entries: &[(&str, LockedServer)]) -> LockFile {
        let mut file = LockFile::default();
        file.servers
            .extend(entries.iter().map(|(name, entry)| ((*name).to_owned(), entry.clone())));
        file
    }

    #[test]
    fn changes_are_counted_and_shown_with_their_hidden_characters() {
        let before = lock_of(&[(
            "notes",
            entry(&[("add", "Adds."), ("list", "Lists."), ("del", "Deletes.")]),
        )]);
        let after = lock_of(&[(
            "notes",
            entry(&[
                ("add", "Adds\u{200b} and\u{1b}[2J sends."),
                ("list", "Lists."),
                ("get", "Gets."),
            ]),
        )]);
        let changes = describe_changes(&before, &after);
        assert!(
            changes.ends_with("\nnotes: 1 tools are new, 1 changed, 1 gone, 1 rejected"),
            "{changes}"
        );
        assert!(changes.contains("-            \"description\": \"Adds.\""), "{changes}");
        assert!(
            changes
                .contains("+            \"description\": \"Adds\\u{200b} and\\u001b[2J sends.\""),
            "{changes}"
        );
        assert!(!changes.contains(['\u{200b}', '\u{1b}']), "{changes}");
        assert_eq!(describe_changes(&before, &before), "");
        let new = describe_changes(&LockFile::default(), &after);
        assert!(
            new.ends_with("\nnotes: a new server; 3 tools are new, 0 changed, 0 gone, 1 rejected"),
            "{new}"
        );
        let gone = describe_changes(&before, &LockFile::default());
        assert!(gone.ends_with("\nnotes: its file is gone"), "{gone}");
    }

    /// Locks with these arguments. Returns the error, and the number of questions to the user.
    async fn run_lock(
        folder: &std::path::Path,
        server: Option<&str>,
        check: bool,
    ) -> (String, u32) {
        let lock = ServerLock::new(folder.to_owned(), Box::new(|_| None));
        let server = server.map(str::to_owned);
        let arguments = LockArguments { server, folder: None, yes: false, check };
        let mut questions = 0;
        let mut confirm = || {
            questions += 1;
            Ok(false)
        };
        let result = lock_servers(&lock, &arguments, &mut confirm).await;
        (result.map_or_else(|error| error.to_string(), |()| String::new()), questions)
    }

    #[tokio::test]
    async fn an_unreachable_server_keeps_its_entry_and_one_without_a_file_loses_it() {
        let folder = tempfile::tempdir().unwrap();
        let servers = folder.path().join("tools/servers");
        std::fs::create_dir_all(&servers).unwrap();
        let text = "url = \"http://127.0.0.1:9/mcp\"\ntrust = \"none\"\n";
        std::fs::write(servers.join("notes.toml"), text).unwrap();
        let lock = ServerLock::new(folder.path().to_owned(), Box::new(|_| None));
        lock.write(&lock_of(&[("notes", entry(&[("add", "Adds.")]))])).unwrap();
        let failed = "1 server could not be listed: its entry stays as it was";
        assert_eq!(run_lock(folder.path(), None, true).await, (failed.to_owned(), 0));
        let unknown = "there is no tools/servers/note.toml; the servers are: notes";
        assert_eq!(run_lock(folder.path(), Some("note"), false).await, (unknown.to_owned(), 0));

        std::fs::remove_file(servers.join("notes.toml")).unwrap();
        let (checked, questions) = run_lock(folder.path(), None, true).await;
        assert!(
            checked.starts_with("tools/servers.lock.json is not as the servers are")
                && questions == 0
        );
        assert_eq!(
            run_lock(folder.path(), None, false).await,
            ("nothing was written".to_owned(), 1)
        );
        assert!(lock.read().unwrap().1.servers.contains_key("notes"));
        std::fs::write(servers.join("notes.toml"), "url = 3\n").unwrap();
        assert_eq!(
            run_lock(folder.path(), None, false).await,
            ("the files are broken".to_owned(), 0)
        );
    }

    #[tokio::test]
    async fn only_a_server_without_an_entry_is_locked_by_itself() {
        let folder = tempfile::tempdir().unwrap();
        let servers = folder.path().join("tools/servers");
        std::fs::create_dir_all(&servers).unwrap();
        let text = "url = \"http://127.0.0.1:9/mcp\"\ntrust = \"none\"\nheaders = { X = \"{key:MY-KEY}\" }\n";
        std::fs::write(servers.join("other.toml"), text).unwrap();
        std::fs::write(servers.join("notes.toml"), text.replace("/mcp", "/moved")).unwrap();
        let lock = ServerLock::new(folder.path().to_owned(), Box::new(|_| None));
        lock.write(&lock_of(&[("notes", entry(&[("add", "Adds.")]))])).unwrap();
        let new = lock.lock_new_servers().await;
        let [only] = &new[..] else { panic!("{}", new.len()) };
        let needs = "the key `MY-KEY` is needed: set it as the variable TOOL_KEY_MY_KEY (";
        let reason = only.outcome.clone().unwrap_err();
        assert!(only.server.name == "other" && reason.starts_with(needs), "{reason}");
    }
}
