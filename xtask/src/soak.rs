//! `cargo soak`: what takes too long for every change.
//!
//! A new step is a line in [`STEPS`] and a function. One that tries for longer what `cargo verify`
//! tries runs the same tests, with a variable that says how long.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use djinn_settings::table::contributor;

use crate::process;
use crate::steps::{CheckStep, StepArguments, StepCommand};
use crate::{venv, verify, workspace};

/// The command `cargo soak` runs these steps, or those that are named.
const SOAK: StepCommand = StepCommand { name: "soak", steps: STEPS, success_word: "soaked" };

/// In the order they run.
const STEPS: &[CheckStep] = &[
    CheckStep {
        name: "seeds",
        description: "a plan in the bad weather of 10 000 seeds, in memory",
        run: run_seeds,
        remedy: "run the seed that it names, with DJINN_SEED, and read what happened",
    },
    CheckStep {
        name: "crowd",
        description: "a plan of 1 000 tasks, also behind a table that throttles",
        run: run_crowd,
        remedy: "try fewer: DJINN_CROWD=100 cargo test -p djinn-tests crowd::",
    },
    CheckStep {
        name: "lambdasim",
        description: "a run of 40 invocations, and 30 runs whose functions are killed, of each kind",
        run: run_lambdasim,
        remedy: "read what the functions logged: target/tmp/lambdasim-*.log",
    },
    CheckStep {
        name: "kills",
        description: "10 000 runs killed, 1 000 frozen for 30 s: nothing is lost, nothing done twice",
        run: run_kills,
        remedy: "run the seed that it names, with DJINN_SEED; read target/tmp/lambdasim-kills-*.log",
    },
    CheckStep {
        name: "build",
        description: "sam build makes of both functions what is deployed",
        run: build_functions,
        remedy: "run it by hand: `sam build`, as README.md says",
    },
];

/// The functions, as `sam build` lays them out.
const FUNCTIONS: [&str; 2] = ["Agent", "Executor"];

/// Runs the steps, or those that are named.
///
/// # Errors
/// The first step that fails, with what to do.
pub(crate) fn run(arguments: &StepArguments) -> Result<()> {
    SOAK.run(arguments)
}

fn run_seeds() -> Result<()> {
    let test = ["test", "--package", "djinn-runtime", "--test", "it", "seed::"];
    process::run(process::cargo_command(&test).env(contributor::SEEDS.name, "10000"))
}

fn run_crowd() -> Result<()> {
    let test = ["test", "--package", "djinn-tests", "--test", "it", "crowd::"];
    process::run(process::cargo_command(&test).env(contributor::CROWD.name, "1000"))
}

fn run_lambdasim() -> Result<()> {
    process::run(verify::lambdasim_tests()?.env(contributor::SOAK.name, "1"))
}

fn run_kills() -> Result<()> {
    process::run(
        verify::kills_tests()?
            .env(contributor::KILLS.name, "10000")
            .env(contributor::SOAK.name, "1"),
    )
}

/// `sam build` with the template's own build method: cargo-lambda, with zig as the linker. Needs the
/// network once: cargo-lambda has rustup install the target for arm64.
fn build_functions() -> Result<()> {
    let out = workspace::target_dir().join("sam");
    let place = out.to_string_lossy();
    let build = ["build", "--template", "template.yaml", "--build-dir", &place];
    process::run(&mut venv::ensure_venv()?.program_command("sam", &build)?)?;
    for function in FUNCTIONS {
        let bootstrap = out.join(function).join("bootstrap");
        ensure!(is_for_arm64(&bootstrap)?, "{} is no program for arm64", bootstrap.display());
    }
    ensure!(out.join("template.yaml").is_file(), "there is no template to deploy");
    Ok(())
}

/// Whether a file is a program for 64-bit ARM: what its ELF header says.
fn is_for_arm64(path: &Path) -> Result<bool> {
    let mut header = [0; 20];
    let missing = || format!("{} cannot be read", path.display());
    File::open(path).with_context(missing)?.read_exact(&mut header).with_context(missing)?;
    Ok(header.starts_with(b"\x7fELF\x02") && header.ends_with(&[183, 0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_known_by_its_header() {
        let dir = tempfile::tempdir().unwrap();
        let program = |name: &str, machine: u8| {
            let path = dir.path().join(name);
            let mut header = [0; 64];
            header[..5].copy_from_slice(b"\x7fELF\x02");
            header[18] = machine;
            std::fs::write(&path, header).unwrap();
            is_for_arm64(&path).unwrap()
        };
        assert!(program("arm64", 183) && !program("x86_64", 62));
        assert!(!is_for_arm64(&workspace::root().join("template.yaml")).unwrap());
        let error = is_for_arm64(&dir.path().join("none")).unwrap_err().to_string();
        assert!(error.ends_with("none cannot be read"), "{error}");
    }
}
