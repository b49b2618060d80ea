//! Documents: a report of ten pages with three charts, in each form.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use djinn_core::id::FileName;
use djinn_core::language::Language;
use djinn_runtime::port::sandbox::{
    DocumentFormat, JobContext, Sandbox as _, SandboxJob, SandboxWork,
};
use sandbox::LocalSandbox;

use crate::figure::{Figure, FigureLimit};
use crate::sample::Sample;
use crate::sandbox::bench_session;

/// Timed documents of each form, after a warm-up.
const TIMED: usize = 10;
const WARM_UP: usize = 1;

/// The forms, with the names of their figures and of their files.
const FORMS: [(DocumentFormat, &str, &str); 4] = [
    (DocumentFormat::Pdf, "ten pages with three charts as `pdf`, median", "report.pdf"),
    (DocumentFormat::Docx, "ten pages with three charts as `docx`, median", "report.docx"),
    (DocumentFormat::Pptx, "ten pages with three charts as `pptx`, median", "report.pptx"),
    (DocumentFormat::Html, "ten pages with three charts as `html`, median", "report.html"),
];

/// Measures the time to render a report in each form.
pub(crate) async fn measure_documents(sandbox: &LocalSandbox) -> Result<Vec<Figure>> {
    let report = write_report();
    let mut figures = Vec::with_capacity(FORMS.len());
    for (format, name, file) in FORMS {
        let mut sample = Sample::default();
        for nth in 0..WARM_UP + TIMED {
            let took = render(sandbox, format, file, &report).await?;
            if nth >= WARM_UP {
                sample.add(took);
            }
        }
        let about = format!("p95 {:.0} ms of {TIMED}", sample.p95());
        let limit = FigureLimit::AtMost(1_500.0);
        figures.push(Figure { name, limit, unit: "ms", measured: sample.median(), about });
    }
    Ok(figures)
}

/// Returns a Markdown text with eight parts, each with paragraphs, a list, a table and a footnote, and three charts.
fn write_report() -> String {
    let text = "The plants record vibration, temperature and power of 340 pumps every ten seconds; rosters name \
        the operator of each pump and shift. The maintenance team compares shifts, and the board decides on the \
        budget of the next two years by these figures[1]. ";
    let mut report = "# Digital pumping stations: a three-year plan\n\nFor the board\n".to_owned();
    for part in 1..=8 {
        let rows: String = (2022..2028)
            .map(|year| format!("| {year} | {} | {} |\n", year * 31, year * 47))
            .collect();
        report += &format!(
            "\n## Stations of region {part}\n\n{}\n\n{}[^{part}]\n\n### Costs\n\n{}\n\n- {text}\n- {text}\n\n\
             | Year | Investment | Income |\n|---|--:|--:|\n{rows}\n[^{part}]: The report of the region.\n",
            text.repeat(4),
            text.repeat(3),
            text.repeat(2),
        );
        if part <= 3 {
            report += r#"
```chart
{"type": "bar", "title": "Sales", "unit": "thousand USD", "labels": ["2021", "2022", "2023", "2024"],
 "series": [{"name": "Pumps", "values": [1284, 1317, 1342, 1391]}, {"name": "Service", "values": [402, 455, 490, 571]}]}
```
"#;
        }
    }
    report + "\n## Sources\n\n1. [Report](https://example.com/report), 2026\n"
}

async fn render(
    sandbox: &LocalSandbox,
    format: DocumentFormat,
    file: &str,
    text: &str,
) -> Result<Duration> {
    let work = SandboxWork::Render {
        format,
        name: FileName::new(file)?,
        text: text.to_owned(),
        title: String::new(),
        language: Language::En,
        theme: None,
    };
    let context = JobContext::new(&bench_session()?);
    let job = SandboxJob { work, files: Vec::new(), state: Vec::new() };
    let began = Instant::now();
    let answer = sandbox.run_job(&context, job).await?;
    let took = began.elapsed();
    ensure!(answer.products.len() == 1, "{}", answer.value);
    Ok(took)
}
