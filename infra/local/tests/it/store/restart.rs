//! What the local stores keep.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use djinn_aws::{Aws, AwsStore};
use djinn_local::{Stores, StoresError, StoresOptions};
use djinn_runtime::port::file::Files;
use djinn_runtime::port::journal::Journals;

use super::fault::objects_under;
use super::sample::{EXPIRY, file, key, new_run, record, session};

fn at(dir: &Path) -> Result<(Stores, AwsStore), StoresError> {
    let stores =
        Stores::start(StoresOptions { dir: Some(dir.to_owned()), ..StoresOptions::default() })?;
    let store = Aws::new(stores.settings().clone()).store();
    Ok((stores, store))
}

#[tokio::test]
async fn everything_is_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("not/there/yet");
    let run = key("s", "r");
    {
        let (_stores, store) = at(&dir).unwrap();
        assert!(store.create(&run, &new_run("s", "r", 5)).await.unwrap().is_created());
        store.append(&run, &record(1, &"long ".repeat(60_000)), EXPIRY).await.unwrap();
        store.write_file(&session("s"), &file("金价.md"), b"x").await.unwrap();
    }
    for _ in 0..2 {
        let (_stores, store) = at(&dir).unwrap();
        assert_eq!(store.read_from(&run, 0).await.unwrap().len(), 2);
        let view = store.load_session(&session("s")).await.unwrap();
        assert_eq!(view.active.as_ref(), Some(&run.run));
        assert_eq!(store.read_file(&session("s"), &view.files[0], 9).await.unwrap(), b"x");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn nobody_else_may_read_what_is_kept() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let dir = tempfile::tempdir().unwrap();
    let (run, home) = (key("s", "r"), dir.path().join("home"));
    let open_to_others = |home: &Path| {
        let entries = std::fs::read_dir(home).unwrap().map(|entry| entry.unwrap().path());
        let paths: Vec<_> = entries.chain([home.to_owned()]).collect();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode();
        let open = paths.into_iter().filter(|path| mode(path) & 0o077 != 0);
        open.collect::<Vec<_>>()
    };
    let write = async |store: &AwsStore, n| {
        store.append(&run, &record(n, &"long ".repeat(60_000)), EXPIRY).await.unwrap();
    };
    {
        let (_stores, store) = at(&home).unwrap();
        assert!(store.create(&run, &new_run("s", "r", 5)).await.unwrap().is_created());
        write(&store, 1).await;
        assert!(open_to_others(&home).is_empty());
    }
    // A home that was made with wider rights, and what another program put there.
    let elsewhere = dir.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, home.join("agents")).unwrap();
    std::fs::write(home.join("models.json"), "{}").unwrap();
    for path in [&home, &home.join("objects"), &home.join("table.db"), &home.join("models.json")] {
        let mode = if path.is_dir() { 0o755 } else { 0o644 };
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let (_stores, store) = at(&home).unwrap();
    write(&store, 2).await;
    assert_eq!(open_to_others(&home), [home.join("agents")]);
}

/// Not a test of its own: [`what_was_answered_survives_kill_9`] runs it in a process that it kills.
#[tokio::test]
async fn writes_until_it_is_killed() {
    if !Path::new("to-be-killed").exists() {
        return;
    }
    let (_stores, store) = at(Path::new("data")).unwrap();
    let run = key("s", "r");
    store.create(&run, &new_run("s", "r", 5)).await.unwrap();
    for n in 1.. {
        let text = if n % 5 == 0 { "long ".repeat(60_000) } else { "short".to_owned() };
        store.append(&run, &record(n, &text), EXPIRY).await.unwrap();
        println!("written {n}");
    }
}

#[tokio::test]
async fn what_was_answered_survives_kill_9() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("to-be-killed"), "").unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store::restart::writes_until_it_is_killed", "--nocapture"])
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let written = lines.filter_map(|line| line.strip_prefix("written ")?.parse::<usize>().ok());
    let last = written.take(57).last().unwrap();
    // On Unix this is SIGKILL.
    child.kill().unwrap();
    child.wait().unwrap();

    let (_stores, store) = at(&dir.path().join("data")).unwrap();
    let records = store.read_from(&key("s", "r"), 0).await.unwrap();
    assert!(records.len() > last, "{} of {last}", records.len());
    let numbers: Vec<_> = records.iter().map(|record| record.number).collect();
    assert_eq!(numbers, (0..records.len() as u64).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_process_killed_while_it_made_the_table_leaves_nothing_in_the_way() {
    let dir = tempfile::tempdir().unwrap();
    for leftover in ["table.db.new", "table.db.new-wal"] {
        std::fs::write(dir.path().join(leftover), "half a table").unwrap();
    }
    let (_stores, store) = at(dir.path()).unwrap();
    assert_eq!(store.find_meta(&key("s", "r")).await, Ok(None));
}

#[test]
fn what_cannot_be_used_is_said_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let at_once = |dir: &Path| {
        let dir = Some(dir.to_owned());
        Stores::start(StoresOptions { dir, wait: Duration::ZERO, ..StoresOptions::default() })
    };
    let said = |dir: &Path| at_once(dir).err().map(|error| error.to_string()).unwrap();
    let first = at(dir.path()).unwrap();
    let in_use = format!("{} is in use by another process", dir.path().display());
    assert!(said(dir.path()).starts_with(&in_use));
    drop(first);

    let table = dir.path().join("table.db");
    for wal in ["table.db-wal", "table.db-shm"] {
        let _ = std::fs::remove_file(dir.path().join(wal));
    }
    for broken in ["", "this is no database at all, and long enough to be looked at as one"] {
        std::fs::write(&table, broken).unwrap();
        let text = said(dir.path());
        let begins = format!("{} holds no usable table (", table.display());
        assert!(text.starts_with(&begins) && text.contains("move it away"), "{text}");
    }
    let file = dir.path().join("a-file");
    std::fs::write(&file, "").unwrap();
    assert!(said(&file).contains("cannot be used"));
}

#[tokio::test]
async fn writing_a_file_again_keeps_its_bytes_for_another_life() {
    let dir = tempfile::tempdir().unwrap();
    let (_stores, store) = at(dir.path()).unwrap();
    let old = store.write_file(&session("s"), &file("a.md"), b"the same").await.unwrap();
    let name = old.object.trim_start_matches("files/");
    let objects = objects_under(&dir.path().join("objects/djinn"));
    let object = objects.iter().find(|object| object.ends_with(name)).unwrap();
    let written_at = || std::fs::metadata(object).unwrap().modified().unwrap();
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    File::options().write(true).open(object).unwrap().set_modified(long_ago).unwrap();
    assert_eq!(written_at(), long_ago);

    assert_eq!(
        store.write_file(&session("s"), &file("b.md"), b"the same").await.unwrap().object,
        old.object
    );
    assert!(written_at() > long_ago, "the bucket would delete it");
    assert_eq!(store.read_file(&session("s"), &old, 99).await.unwrap(), b"the same");
}
