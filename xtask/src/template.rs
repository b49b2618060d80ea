//! `cargo xtask template`: checks `template.yaml` without the network and writes SAM's transformed template
//! to `target/template.json`, for tests. The template of the function for databases is checked as well, and that
//! of the example, which is generated and not committed. `--example` writes the latter without any check.
//!
//! `sam validate --lint` checks SAM's own properties but accepts wrong values of CloudFormation properties.
//! So SAM's output is linted too, and `infra/check/rules.py` then checks the product's requirements.

use std::fs;

use anyhow::{Context as _, Result, ensure};

use crate::process;
use crate::venv::{self, Venv};
use crate::workspace;

const SOURCE: &str = "template.yaml";
const TRANSFORMED: &str = "target/template.json";

/// The template of the function for databases.
const DATABASE: &str = "infra/database/template.yaml";
const TRANSFORMED_DATABASE: &str = "target/database.json";

/// The template of a deployment with a custom tool.
const EXAMPLE: &str = "examples/own-tool/template.yaml";
const TRANSFORMED_EXAMPLE: &str = "target/own-tool.json";

/// All differences of the example's template: pairs of a piece that occurs once, and the replacement.
const DIFFERENCES: [(&str, &str); 12] = [
    (
        "Description: Djinn, a serverless multi-agent backend.\n",
        "Description: Djinn, a serverless multi-agent backend, with a tool of its own.\n\n\
         # `cargo xtask template --example` makes this from the template.yaml of Djinn. Two names of binaries\n\
         # differ, and the paths of the sandbox and the gateway.\n",
    ),
    (
        " `cargo xtask template`\n# checks it offline; infra/check/rules.py lists what must stay true.\n",
        "\n",
    ),
    ("        Binary: agent\n", "        Binary: own-tool-agent\n"),
    ("        Binary: executor\n", "        Binary: own-tool-executor\n"),
    (
        "      WorkingDirectory: .\n    Properties:\n      Layer",
        "      WorkingDirectory: ../..\n    Properties:\n      Layer",
    ),
    ("      Content: infra/page\n", "      Content: ../../infra/page\n"),
    ("      WorkingDirectory: .\n      #", "      WorkingDirectory: ../..\n      #"),
    ("      WorkingDirectory: .\n      cfn-lint", "      WorkingDirectory: ../..\n      cfn-lint"),
    (
        "is true.\n      Code: !If [HasSandbox, infra/sandbox,",
        "is true.\n      Code: !If [HasSandbox, ../../infra/sandbox,",
    ),
    (
        "in isolation.\n      Code: !If [HasSandbox, infra/sandbox,",
        "in isolation.\n      Code: !If [HasSandbox, ../../infra/sandbox,",
    ),
    (
        "and holds no secret.\n      Code: !If [HasWeb, .,",
        "and holds no secret.\n      Code: !If [HasWeb, ../..,",
    ),
    (
        "that it alone reads.\n      Code: !If [HasWeb, .,",
        "that it alone reads.\n      Code: !If [HasWeb, ../..,",
    ),
];

/// The arguments of `cargo xtask template`.
#[derive(Debug, clap::Args)]
pub(crate) struct TemplateArguments {
    /// Only write the template of examples/own-tool.
    #[arg(long)]
    example: bool,
}

/// Writes the example's template, and checks all templates unless only the example's is wanted.
///
/// # Errors
/// Returns the error of the first failed check.
pub(crate) fn run(arguments: &TemplateArguments) -> Result<()> {
    if arguments.example { write_example() } else { check() }
}

/// Writes the example's template and checks all templates.
///
/// # Errors
/// Returns the error of the first failed check.
pub(crate) fn check() -> Result<()> {
    write_example()?;
    let venv = venv::ensure_venv()?;
    check_template(&venv, SOURCE, TRANSFORMED)?;
    run_tool(&venv, "python", &["infra/check/breakages.py", SOURCE])?;
    check_template(&venv, EXAMPLE, TRANSFORMED_EXAMPLE)?;
    lint_template(&venv, DATABASE, TRANSFORMED_DATABASE)?;
    run_tool(&venv, "python", &["infra/check/database_rules.py", DATABASE])
}

fn check_template(venv: &Venv, source: &str, transformed: &str) -> Result<()> {
    lint_template(venv, source, transformed)?;
    run_tool(venv, "python", &["infra/check/rules.py", transformed])
}

fn lint_template(venv: &Venv, source: &str, transformed: &str) -> Result<()> {
    run_tool(venv, "sam", &["validate", "--lint", "--template", source])?;
    run_tool(venv, "python", &["infra/check/transform.py", source, transformed])?;
    run_tool(venv, "cfn-lint", &[transformed])
}

fn run_tool(venv: &Venv, program: &str, arguments: &[&str]) -> Result<()> {
    process::run(&mut venv.program_command(program, arguments)?)
}

fn write_example() -> Result<()> {
    let source = fs::read_to_string(workspace::root().join(SOURCE))
        .with_context(|| format!("{SOURCE} cannot be read"))?;
    fs::write(workspace::root().join(EXAMPLE), derive_example(&source)?)
        .with_context(|| format!("{EXAMPLE} cannot be written"))
}

fn derive_example(source: &str) -> Result<String> {
    DIFFERENCES.iter().try_fold(source.to_owned(), |template, (ours, theirs)| {
        let count = template.matches(ours).count();
        ensure!(count == 1, "{SOURCE} has `{}` {count} times, not once", ours.trim());
        Ok(template.replacen(ours, theirs, 1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_differs_in_its_binaries_its_ways_to_what_is_ours_and_what_is_said_of_it() {
        let source = fs::read_to_string(workspace::root().join(SOURCE)).unwrap();
        let example = derive_example(&source).unwrap();
        let lines = |text: &str| -> Vec<String> { text.lines().map(str::to_owned).collect() };
        let ours = lines(&source);
        let differs = |line: &&String| !line.starts_with(['#', 'D']) && !ours.contains(line);
        let own: Vec<_> =
            lines(&example).iter().filter(differs).map(|l| l.trim().to_owned()).collect();
        let binaries = ["Binary: own-tool-agent", "Binary: own-tool-executor"];
        let page = ["WorkingDirectory: ../..", "Content: ../../infra/page"];
        let sandbox = [
            "WorkingDirectory: ../..",
            "Code: !If [HasSandbox, ../../infra/sandbox, { ZipFile: pass }]",
        ];
        let sandbox = [sandbox, sandbox].concat();
        let gateway = ["Code: !If [HasWeb, ../.., { ZipFile: pass }]"; 2];
        assert_eq!(own, [&binaries[..], &page, &sandbox, &gateway].concat());
    }

    #[test]
    fn a_template_without_the_pieces_is_refused() {
        let error = derive_example("Description: another\n").unwrap_err().to_string();
        assert!(error.contains("0 times, not once"), "{error}");
    }
}
