//! The zygote's Python modules, embedded in this program.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

macro_rules! scripts {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../python/", $name)))),*]
    };
}

const SCRIPTS: &[(&str, &str)] = scripts!(
    "block.py",
    "block_state.py",
    "by_value.py",
    "cell_values.py",
    "chart.py",
    "chart_fonts.py",
    "check_postgres.py",
    "check_sql.py",
    "clean_css.py",
    "clean_html.py",
    "column.py",
    "column_times.py",
    "column_types.py",
    "csv_table.py",
    "doubled_totals.py",
    "drawing.py",
    "drawings.py",
    "engine.py",
    "extract.py",
    "extract_docx.py",
    "extract_pdf.py",
    "extract_pptx.py",
    "fetched_rows.py",
    "figures.py",
    "formula.py",
    "formula.typ",
    "formula_drawing.py",
    "formula_symbols.py",
    "house.py",
    "insights.py",
    "jail.py",
    "job.py",
    "job_kinds.py",
    "kernel.py",
    "letters.py",
    "local_time.py",
    "look.py",
    "markdown.py",
    "pictures.py",
    "plain_cells.py",
    "pptx_charts.py",
    "pptx_theme.py",
    "postgres_functions.py",
    "private_root.py",
    "query_chart.py",
    "query_facts.py",
    "read_tables.py",
    "render.py",
    "render_deck.py",
    "render_docx.py",
    "render_html.py",
    "render_pdf.py",
    "render_pptx.py",
    "report.typ",
    "run_queries.py",
    "scale.py",
    "sheet_table.py",
    "sql_functions.py",
    "style.mplstyle",
    "table_files.py",
    "table_layout.py",
    "table_rule.py",
    "tables.py",
    "text_encoding.py",
    "typesetting.py",
    "words.py",
    "workbook.py",
    "zygote.py",
);

/// Writes the modules into a new folder, readable by the users of jobs.
pub(crate) fn lay_out(folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)?;
    fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    for (name, text) in SCRIPTS {
        let path = folder.join(name);
        fs::write(&path, text)?;
        fs::set_permissions(path, Permissions::from_mode(0o644))?;
    }
    Ok(())
}
