//! `cargo xtask picture`: README's picture of the web page, taken in Chromium from a real run of the demo model.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::page;
use crate::process::run;
use crate::terminal::print_line;
use crate::venv;
use crate::workspace;

/// Maximum size of the picture in bytes, to keep README small.
const MAX_BYTES: u64 = 150_000;

/// The file of the picture.
#[derive(clap::Args)]
pub(crate) struct PictureArguments {
    /// File to write the picture to, as WebP.
    #[arg(long, default_value = "docs/page.webp")]
    out: PathBuf,
}

/// Builds the page, asks README's plan question, and takes a picture while three agents wait for their user.
///
/// # Errors
/// Returns an error without Chromium, if the run fails, or if the picture is too large.
pub(crate) fn take(arguments: &PictureArguments) -> Result<()> {
    let venv = venv::ensure_venv()?;
    page::build()?;
    page::install_packages(&venv, "web/stories", "page-stories")?;
    let out = workspace::root().join(&arguments.out);
    let mut command = venv.program_command("node", &["web/stories/picture.mjs"])?;
    run(command.arg(&out).env("XTASK_PROGRAM", std::env::current_exe()?))?;
    let bytes = fs::metadata(&out).with_context(|| format!("no {}", out.display()))?.len();
    if bytes > MAX_BYTES {
        bail!("the picture has {bytes} bytes, and {MAX_BYTES} are the most");
    }
    print_line(&format!("{}: {bytes} bytes", arguments.out.display()));
    Ok(())
}
