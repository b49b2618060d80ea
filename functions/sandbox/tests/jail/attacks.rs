//! Attacks on the jail. Each prints `THROUGH` where it got what it wanted, or leaves its mark on the canary.

use std::process::Command;

use djinn_runtime::port::sandbox::SandboxKind;
use sandbox::{WallChoice, Walls};
use serde::Deserialize;
use tempfile::TempDir;

use crate::canary::Canary;
use crate::python::{TestSandbox, python, start_with};

#[derive(Deserialize)]
struct Attacks {
    attack: Vec<Attack>,
}

#[derive(Clone, Deserialize)]
struct Attack {
    name: String,
    code: String,
    /// The reason why it is not made without the jail.
    not_shown: Option<String>,
    /// The walls each of which stops it: `private_root`, `own_user`, or `landlock` with a version. Seccomp or a limit
    /// stops it if there are none.
    #[serde(default)]
    stopped_by: Vec<String>,
    /// The user whom nothing else stops, if there is only one: `root` or `others`.
    gets_through_as: Option<String>,
}

impl Attack {
    /// Whether one of these walls stops it, or the user's own lack of rights.
    fn is_stopped(&self, walls: &Walls) -> bool {
        let is_stopped_by = |wall: &String| match wall.split_once(' ') {
            Some(("landlock", version)) => walls.landlock >= version.parse().unwrap(),
            _ if wall == "private_root" => walls.private_root,
            _ if wall == "own_user" => walls.own_user,
            _ => panic!("{}: there is no wall {wall}", self.name),
        };
        let is_other_user = |user: &String| (user == "root") != (user_name() == "root");
        self.stopped_by.is_empty()
            || self.stopped_by.iter().any(is_stopped_by)
            || self.gets_through_as.as_ref().is_some_and(is_other_user)
    }
}

fn attacks() -> Vec<Attack> {
    let read: Attacks = toml::from_str(include_str!("attacks.toml")).unwrap();
    read.attack
}

/// The names of those that got through, with what they said.
async fn run_all(sandbox: &TestSandbox, attacks: &[Attack]) -> Vec<(String, String)> {
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
            let complaint: String = complaint.unwrap_or_default().chars().take(200).collect();
            through.push((attack.name.clone(), format!("{said} {complaint}")));
        }
    }
    through
}

/// Makes attacks behind the walls of this choice, and compares those that get through with those that should.
async fn attack_behind(choice: WallChoice, attacks: &[Attack]) {
    let sandbox = start_with(&python(), choice);
    let walls = sandbox.sandbox.start(SandboxKind::Code).await.unwrap();
    let through = run_all(&sandbox, attacks).await;
    let names: Vec<_> = through.iter().map(|(name, _)| name.as_str()).collect();
    let Walls { landlock, private_root, own_user, .. } = &walls;
    println!(
        "{} attacks as {} behind Landlock {landlock}, private root: {private_root}, own user: {own_user}; {} got \
         through: {names:?}",
        attacks.len(),
        user_name(),
        names.len(),
    );
    let expected = attacks.iter().filter(|attack| !attack.is_stopped(&walls));
    let expected: Vec<_> = expected.map(|attack| attack.name.as_str()).collect();
    let unexpected: Vec<_> =
        through.iter().filter(|(name, _)| !expected.contains(&name.as_str())).collect();
    assert_eq!(names, expected, "{unexpected:#?}");
    // Nothing that they left behind hinders the next.
    assert_eq!(sandbox.run_code("print(1)").await.output.head, "1\n");
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn no_attack_gets_through() {
    let attacks = attacks();
    assert!(attacks.len() >= 140, "there are {} attacks", attacks.len());
    attack_behind(WallChoice::default(), &attacks).await;
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn private_root_alone_stops_all() {
    attack_behind(WallChoice { max_landlock: 0, ..WallChoice::default() }, &attacks()).await;
}

/// Kernels that grant no namespaces, such as Lambda's.
#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn without_a_private_root_landlock_stops_all_but_what_it_knows_nothing_of() {
    let all = attacks();
    let choice = WallChoice { private_root: false, ..WallChoice::default() };
    attack_behind(choice, &all).await;
    let sandbox = start_with(&python(), choice).sandbox;
    let newest = sandbox.start(SandboxKind::Code).await.unwrap().landlock;
    // Only these depend on its version.
    let dependent: Vec<_> =
        all.iter().filter(|attack| !attack.stopped_by.is_empty()).cloned().collect();
    for max_landlock in 1..newest {
        attack_behind(WallChoice { max_landlock, ..choice }, &dependent).await;
    }
}

/// On such a kernel code runs on Lambda, which has walls of its own, and nowhere else unless it is asked for.
#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn without_any_wall_around_files_no_more_gets_through_than_is_listed() {
    attack_behind(WallChoice { private_root: false, max_landlock: 0 }, &attacks()).await;
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

fn user_name() -> String {
    let told = Command::new("id").arg("-un").output().unwrap();
    String::from_utf8_lossy(&told.stdout).trim().to_owned()
}
