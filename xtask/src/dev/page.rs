//! The web page of `cargo dev`, built beside the running system.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;

use crate::page;
use crate::terminal::print_line;

/// Writes a notice into the folder of the page, if the folder has no page.
///
/// # Errors
/// Returns an error if the folder cannot be written.
pub(super) fn prepare_folder() -> Result<PathBuf> {
    let folder = page::folder();
    if !folder.join("index.html").exists() {
        write_notice(BUILDING, "")?;
    }
    Ok(folder)
}

/// Starts the build of the page, if the page is not current. Until the end, the folder has the previous page, or
/// the notice.
///
/// # Errors
/// Returns an error if the sources or the folder cannot be read.
pub(super) fn start_build() -> Result<()> {
    if page::is_current()? {
        return Ok(());
    }
    let notice = fs::read_to_string(page::folder().join("index.html")).unwrap_or_default();
    let has_page = !notice.contains(BUILDING);
    std::thread::spawn(move || match page::build() {
        Ok(_) => print_line("the web page is ready"),
        Err(error) => {
            print_line(&format!("the web page could not be built: {error:#}\n{REMEDY}"));
            if !has_page {
                let cause = format!("{error:#}");
                write_notice("The page could not be built.", &cause).unwrap_or_else(|error| {
                    print_line(&format!("{error:#}"));
                });
            }
        }
    });
    Ok(())
}

/// The notice in place of a page.
const BUILDING: &str = "The page is being built. This takes about a minute the first time.";

/// The remedy of a failed build.
const REMEDY: &str = "The build needs Python 3.11 or later, and the registry of npm for the first time. Correct the \
                      cause, then run `cargo xtask page`. All routes work without the page.";

/// Writes a page without scripts and styles that reloads itself every two seconds.
fn write_notice(text: &str, cause: &str) -> Result<()> {
    let folder = page::folder();
    fs::create_dir_all(&folder)?;
    let remedy = if cause.is_empty() { "" } else { REMEDY };
    let cause = cause.replace('&', "&amp;").replace('<', "&lt;");
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"color-scheme\" content=\"light \
         dark\"><meta http-equiv=\"refresh\" content=\"2\"><title>Djinn</title></head><body><h1>Djinn</h1>\
         <p>{text}</p><pre>{cause}</pre><p>{remedy}</p></body></html>\n"
    );
    Ok(fs::write(folder.join("index.html"), html)?)
}
