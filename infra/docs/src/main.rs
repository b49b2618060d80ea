//! Writes the documents generated from the code, or lists the outdated documents.

mod client_routes;
mod error_list;
mod event_schema;
mod openapi;
mod operation;
mod route_list;
mod settings_list;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

/// A generated document: the name in `docs/`, and the text.
type Document = (&'static str, String);

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["write", dir] => write_all(Path::new(dir)),
        ["check", dir] => check_all(Path::new(dir)),
        _ => bail!("djinn-docs write DIR | djinn-docs check DIR"),
    }
}

fn make_documents() -> Result<Vec<Document>> {
    Ok(vec![
        ("errors.md", error_list::write_error_list()?),
        ("events.schema.json", event_schema::write_event_schema()?),
        ("openapi.json", openapi::write_openapi()?),
        ("settings.md", settings_list::write_settings_list()?),
    ])
}

fn write_all(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir)?;
    for (name, text) in make_documents()? {
        let path = dir.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn check_all(dir: &Path) -> Result<()> {
    let differs = |document: &Document| {
        let (name, text) = document;
        fs::read_to_string(dir.join(name)).ok().as_ref() != Some(text)
    };
    let stale: Vec<_> =
        make_documents()?.into_iter().filter(differs).map(|(name, _)| name).collect();
    if !stale.is_empty() {
        bail!("{} differ from the code: run `cargo xtask docs`", stale.join(", "));
    }
    Ok(())
}
