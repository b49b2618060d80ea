//! Attacks on the jail. Each prints `THROUGH` where it got what it wanted, or leaves its mark on the canary.

use std::process::Command;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
use serde::Deserialize;
use tempfile::TempDir;

use crate::canary::Canary;
use crate::python::{TestSandbox, python, start, start_with};

#[derive(Deserialize)]
struct Attacks {
    attack: Vec<Attack>,
}

#[derive(Deserialize)]
struct Attack {
    name: String,
    code: String,
    /// Why it is not made without the jail.
    not_shown: Option<String>,
}

fn attacks() -> Vec<Attack> {
    let read: Attacks = toml::from_str(include_str!("attacks.toml")).unwrap();
    read.attack
}

/// The names of those that got through, with what they said.
async fn run_all(sandbox: &TestSandbox, attacks: &[Attack]) -> Vec<String> {
    let mut through = Vec::new();
    for attack in attacks {
        let mut canary = Canary::new();
        let answer = sandbox.run_code(&canary.aim(&attack.code)).await;
        let said = format!("{}{}", answer.output.head, answer.output.tail);
        let products: String = answer
            .products
            .iter()
            .map(|product| String::from_utf8_lossy(&product.content).into_owned())
            .collect();
        let complaint = canary.complaint();
        let got = said.contains("THROUGH") || products.contains("the canary sings");
        if got || complaint.is_some() {
            through.push(format!("{}: {said} {complaint:?}", attack.name));
        }
    }
    through
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn no_attack_gets_through() {
    let sandbox = start();
    let attacks = attacks();
    assert!(attacks.len() >= 60, "there are {} attacks", attacks.len());
    let walls = sandbox.sandbox.start().await.unwrap();
    let through = run_all(&sandbox, &attacks).await;
    println!("{} attacks as {}, {} got through; {walls:?}", attacks.len(), user(), through.len());
    assert!(through.is_empty(), "{through:#?}");
    // What they left behind hinders nobody.
    assert_eq!(sandbox.run_code("print(1)").await.output.head, "1\n");
}

/// On such a kernel code runs on Lambda, which has walls of its own, and nowhere else unless it is asked for.
#[test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
fn without_landlock_no_more_gets_through_than_is_listed() {
    let attacks = attacks();
    let count = attacks.len();
    // The filter holds for this thread and for what it starts.
    let run = move || {
        hide_landlock();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let sandbox = start_with(&python(), false);
            let walls = sandbox.sandbox.start().await.unwrap();
            assert_eq!(walls.landlock, 0, "Landlock is still there");
            run_all(&sandbox, &attacks).await
        })
    };
    let through = std::thread::spawn(run).join().unwrap();
    let names: Vec<_> = through.iter().map(|told| told.split(": ").next().unwrap()).collect();
    let got = names.len();
    println!("{count} attacks as {} without Landlock, {got} got through: {names:#?}", user());
    let listed = include_str!("without_landlock.txt").lines().filter(|line| !line.starts_with('#'));
    // Some need what only root may; and root without its capabilities may not read what others of root are told.
    let is_root = user() == "root";
    let (ours, others) = match is_root {
        true => (" (as root)", " (not as root)"),
        false => (" (not as root)", " (as root)"),
    };
    let listed = listed.filter(|line| !line.ends_with(others));
    let listed = listed.map(|line| line.strip_suffix(ours).unwrap_or(line));
    assert_eq!(names, listed.collect::<Vec<_>>());
}

/// Has the kernel answer as one does that has no Landlock.
fn hide_landlock() {
    let calls = [
        libc::SYS_landlock_create_ruleset,
        libc::SYS_landlock_add_rule,
        libc::SYS_landlock_restrict_self,
    ];
    let rules = calls.map(|call| (call, Vec::new())).into_iter().collect();
    let unknown = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    let arch = TargetArch::try_from(std::env::consts::ARCH).unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, unknown, arch).unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
}

/// An attack that fails everywhere shows nothing.
#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn without_the_jail_the_attacks_get_through() {
    let attacks = attacks();
    let shown: Vec<_> = attacks.iter().filter(|attack| attack.not_shown.is_none()).collect();
    assert!(shown.len() >= 40, "{} are shown", shown.len());
    let mut failed = Vec::new();
    for attack in shown {
        let mut canary = Canary::new();
        let folder = TempDir::new().unwrap();
        let code = canary.aim(&attack.code);
        let mut command = Command::new(python());
        command.args(["-I", "-c", &code]).current_dir(folder.path());
        let told = command.env_clear().env("PATH", "/usr/bin:/bin").output().unwrap();
        let said = String::from_utf8_lossy(&told.stdout).into_owned();
        if !said.contains("THROUGH") && canary.complaint().is_none() {
            failed.push(format!("{}: {}", attack.name, String::from_utf8_lossy(&told.stderr)));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

fn user() -> String {
    let told = Command::new("id").arg("-un").output().unwrap();
    String::from_utf8_lossy(&told.stdout).trim().to_owned()
}
