//! The web page in Chromium, measured by a script of the page's stories.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tokio::process::Command;

use crate::figure::{Figure, FigureLimit};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/stories/speed.mjs");

/// Runs the script with this Node. `cargo bench-run` has built the page and installed the script's packages.
pub(crate) async fn measure_page(node: &Path) -> Result<Vec<Figure>> {
    let mut command = Command::new(node);
    let output = command.args([SCRIPT, "--json"]).stderr(Stdio::inherit()).output().await?;
    ensure!(output.status.success(), "{SCRIPT} ended with {}", output.status);
    let figures: Vec<Value> = serde_json::from_slice(&output.stdout)?;
    figures.iter().map(|figure| read_figure(figure).context("a figure lacks a field")).collect()
}

fn read_figure(figure: &Value) -> Option<Figure> {
    let text = |field: &str| figure[field].as_str();
    Some(Figure {
        // Names live as long as the program, which prints them at its end.
        name: text("name")?.to_owned().leak(),
        limit: FigureLimit::AtMost(figure["most"].as_f64()?),
        unit: text("unit")?.to_owned().leak(),
        measured: figure["measured"].as_f64()?,
        about: text("about")?.to_owned(),
    })
}
