//! The size of the functions as uploaded.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::figure::{Figure, FigureLimit};

/// Size of the agent's archive at b6a0633, before code and the web were added, in MB.
const AGENT_BEFORE: f64 = 10.7;

/// Measures the archives of the agent and of the executor in the same folder.
pub(crate) fn measure_sizes(agent: &Path) -> Result<Vec<Figure>> {
    let executor = agent.with_file_name("executor");
    let agent_zip = zip_program(agent)?;
    let executor_zip = zip_program(&executor)?;
    Ok(vec![
        Figure {
            name: "agent function, stripped and zipped",
            limit: FigureLimit::AtMost(9.0),
            unit: "MB",
            measured: agent_zip,
            about: describe_program(agent)?,
        },
        Figure {
            name: "growth of the agent's archive",
            limit: FigureLimit::AtMost(0.15),
            unit: "MB",
            measured: agent_zip - AGENT_BEFORE,
            about: format!("beside {AGENT_BEFORE} MB at b6a0633, before code and the web came"),
        },
        Figure {
            name: "executor function, stripped and zipped",
            limit: FigureLimit::Unbounded,
            unit: "MB",
            measured: executor_zip,
            about: format!("{}; nobody weighed it at b6a0633", describe_program(&executor)?),
        },
    ])
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
