//! Checks the results of `sam build` for the template's functions.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::terminal::print_line;
use crate::{process, venv, workspace};

/// The functions of every deployment, as named by `sam build`.
const FUNCTIONS: [&str; 2] = ["Agent", "Executor"];

/// The two functions of the gateway.
const GATEWAY: [&str; 2] = ["Fetch", "Call"];

/// Runs `sam build` with the template's own build method: cargo-lambda, with zig as the linker. Needs the
/// network once: cargo-lambda has rustup install the target for arm64.
pub(super) fn build_functions() -> Result<()> {
    let out = workspace::target_dir().join("sam");
    let place = out.to_string_lossy();
    let build = ["build", "--template", "template.yaml", "--build-dir", &place];
    process::run(&mut venv::ensure_venv()?.program_command("sam", &build)?)?;
    for function in FUNCTIONS {
        let bootstrap = out.join(function).join("bootstrap");
        ensure!(is_for_arm64(&bootstrap)?, "{} is not a program for arm64", bootstrap.display());
    }
    ensure!(out.join("template.yaml").is_file(), "there is no template to deploy");
    Ok(())
}

/// The functions of the sandbox, with two of the packages of each.
const SANDBOXES: [(&str, [&str; 2]); 2] =
    [("Sandbox", ["numpy", "pandas"]), ("SandboxDocuments", ["duckdb", "typst"])];

/// Runs `sam build` for the two functions of the optional sandbox, which checks the size of each archive. Needs
/// the network, and `python3.13` on the path.
pub(super) fn build_sandbox() -> Result<()> {
    let venv = venv::ensure_venv()?;
    for (function, packages) in SANDBOXES {
        // SAM builds one function at a time into a separate folder.
        let out = workspace::target_dir().join(format!("sam-{}", function.to_lowercase()));
        let place = out.to_string_lossy();
        let build = ["build", function, "--template", "template.yaml", "--build-dir", &place];
        let mut sam = venv.program_command("sam", &build)?;
        process::run(sam.args(["--parameter-overrides", "WithSandbox=true"]))?;
        let archive = out.join(function);
        let program = archive.join("sandbox");
        ensure!(is_for_arm64(&program)?, "{} is not a program for arm64", program.display());
        let folders = packages.map(|package| format!("packages/{package}"));
        for part in folders.iter().map(String::as_str).chain(["fonts"]) {
            ensure!(archive.join(part).is_dir(), "{} has no {part}", archive.display());
        }
        let bytes = count_bytes(&archive)?;
        print_line(&format!("    {function}: {} MB unpacked", bytes / 1_000_000));
    }
    Ok(())
}

/// Runs `sam build` for the gateway's two optional functions, which share one binary.
pub(super) fn build_gateway() -> Result<()> {
    let venv = venv::ensure_venv()?;
    for function in GATEWAY {
        // SAM builds one function at a time into a separate folder.
        let out = workspace::target_dir().join(format!("sam-{}", function.to_lowercase()));
        let place = out.to_string_lossy();
        let build = ["build", function, "--template", "template.yaml", "--build-dir", &place];
        let mut sam = venv.program_command("sam", &build)?;
        process::run(sam.args(["--parameter-overrides", "WithWeb=true"]))?;
        let bootstrap = out.join(function).join("bootstrap");
        ensure!(is_for_arm64(&bootstrap)?, "{} is not a program for arm64", bootstrap.display());
        let bytes = count_bytes(&out.join(function))?;
        print_line(&format!("    {function}: {:.1} MB unpacked", bytes as f64 / 1e6));
    }
    Ok(())
}

/// Runs `sam build` for the function for databases, which has a template of its own.
pub(super) fn build_database() -> Result<()> {
    let out = workspace::target_dir().join("sam-database");
    let place = out.to_string_lossy();
    let build = ["build", "--template", "infra/database/template.yaml", "--build-dir", &place];
    process::run(&mut venv::ensure_venv()?.program_command("sam", &build)?)?;
    let bootstrap = out.join("Database/bootstrap");
    ensure!(is_for_arm64(&bootstrap)?, "{} is not a program for arm64", bootstrap.display());
    let bytes = count_bytes(&out.join("Database"))?;
    print_line(&format!("    Database: {:.1} MB unpacked", bytes as f64 / 1e6));
    Ok(())
}

/// Returns the total size of a folder's files, in bytes.
fn count_bytes(folder: &Path) -> Result<u64> {
    let unreadable = || format!("{} cannot be read", folder.display());
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).with_context(unreadable)? {
        let entry = entry.with_context(unreadable)?;
        let status = entry.metadata().with_context(unreadable)?;
        bytes += if status.is_dir() { count_bytes(&entry.path())? } else { status.len() };
    }
    Ok(bytes)
}

/// Returns true if a file's ELF header is for 64-bit ARM.
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
    fn all_files_of_a_folder_count() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("below")).unwrap();
        std::fs::write(dir.path().join("a"), [0; 7]).unwrap();
        std::fs::write(dir.path().join("below/b"), [0; 5]).unwrap();
        assert_eq!(count_bytes(dir.path()).unwrap(), 12);
    }

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
