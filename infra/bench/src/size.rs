//! The size of the functions as uploaded.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::figure::{Figure, FigureLimit};

/// Measures the archives of the agent and of the executor in the same folder.
///
/// # Errors
/// Returns an error if an archive is more than 2 % larger than in `infra/bench/budget.toml`.
pub(crate) fn measure_sizes(agent: &Path) -> Result<Vec<Figure>> {
    let budget: BTreeMap<String, BTreeMap<String, u64>> =
        toml::from_str(include_str!("../budget.toml"))?;
    let budget = budget.get("archive").context("the budget has no archives")?;
    let mut figures = Vec::new();
    for (function, name, limit) in [
        ("agent", "agent function, stripped and zipped", FigureLimit::AtMost(9.0)),
        ("executor", "executor function, stripped and zipped", FigureLimit::Unbounded),
    ] {
        let program = agent.with_file_name(function);
        let measured = zip_program(&program)?;
        let planned = budget.get(function).context("the budget has no such function")?;
        let most = *planned as f64 * 1.02 / 1e6;
        // The budget is for x86-64.
        let is_above = cfg!(target_arch = "x86_64") && measured > most;
        ensure!(!is_above, "the {function} is {measured:.2} MB, above {most:.2} MB");
        let about = describe_program(&program)?;
        figures.push(Figure { name, limit, unit: "MB", measured, about });
    }
    Ok(figures)
}

/// Measures the archive of the gateway.
pub(crate) fn measure_gateway_size(gateway: &Path) -> Result<Figure> {
    Ok(Figure {
        name: "gateway function, stripped and zipped",
        limit: FigureLimit::AtMost(5.0),
        unit: "MB",
        measured: zip_program(gateway)?,
        about: describe_program(gateway)?,
    })
}

/// Measures the archive of the function for databases.
pub(crate) fn measure_database_size(database: &Path) -> Result<Figure> {
    Ok(Figure {
        name: "database function, stripped and zipped",
        limit: FigureLimit::AtMost(5.0),
        unit: "MB",
        measured: zip_program(database)?,
        about: describe_program(database)?,
    })
}

/// Returns the zipped size of a program in MB.
fn zip_program(program: &Path) -> Result<f64> {
    let place = tempfile::tempdir()?;
    let archive = place.path().join("function.zip");
    // The same tool as in SAM.
    let mut zip = Command::new("python3");
    zip.args(["-m", "zipfile", "-c"]).args([&archive, program]);
    let status = zip.status().context("python3 makes the archive, and cannot be started")?;
    ensure!(status.success(), "python3 -m zipfile ended with {status}");
    count_megabytes(&archive)
}

fn count_megabytes(path: &Path) -> Result<f64> {
    let status = std::fs::metadata(path);
    let status = status.with_context(|| format!("{} is not there", path.display()))?;
    Ok(status.len() as f64 / 1_000_000.0)
}

fn describe_program(program: &Path) -> Result<String> {
    Ok(format!(
        "{:.1} MB unpacked; the release binary for {}, where Lambda gets one for aarch64",
        count_megabytes(program)?,
        std::env::consts::ARCH
    ))
}
