//! The Python modules of the zygote, which travel in this program.

use std::fs;
use std::io;

use tempfile::TempDir;

macro_rules! scripts {
    ($($name:literal),*) => {
        [$(($name, include_str!(concat!("../python/", $name)))),*]
    };
}

const SCRIPTS: [(&str, &str); 19] = scripts!(
    "block.py",
    "clean_css.py",
    "clean_html.py",
    "extract.py",
    "extract_office.py",
    "jail.py",
    "job_kinds.py",
    "look.py",
    "markdown.py",
    "pictures.py",
    "render.py",
    "render_deck.py",
    "render_docx.py",
    "render_html.py",
    "render_pdf.py",
    "render_pptx.py",
    "scale.py",
    "words.py",
    "zygote.py"
);

/// Writes them into a new folder, which is removed with the value. The jail may read it.
pub(crate) fn lay_out() -> io::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("djinn-python-").tempdir()?;
    for (name, text) in SCRIPTS {
        fs::write(folder.path().join(name), text)?;
    }
    Ok(folder)
}
