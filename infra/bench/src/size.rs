//! How large the agent function's archive is.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::figure::{Figure, FigureLimit};

pub(crate) fn measure_size(agent: &Path) -> Result<Figure> {
    let place = tempfile::tempdir()?;
    let archive = place.path().join("agent.zip");
    // What SAM makes its archives with, and as it does.
    let mut zip = Command::new("python3");
    zip.args(["-m", "zipfile", "-c"]).args([&archive, agent]);
    let status = zip.status().context("python3 makes the archive, and cannot be started")?;
    ensure!(status.success(), "python3 -m zipfile ended with {status}");
    let megabytes =
        |path: &Path| -> Result<f64> { Ok(std::fs::metadata(path)?.len() as f64 / 1_000_000.0) };
    Ok(Figure {
        name: "agent function, stripped and zipped",
        limit: FigureLimit::AtMost(9.0),
        unit: "MB",
        measured: megabytes(&archive)?,
        about: format!(
            "{:.1} MB unpacked; the release binary for {}, where Lambda gets one for aarch64",
            megabytes(agent)?,
            std::env::consts::ARCH
        ),
    })
}
