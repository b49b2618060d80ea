//! Files for an agent to look at: a hostile file beside ordinary files.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use djinn_core::id::FileName;
use djinn_core::language::Language;
use djinn_runtime::port::sandbox::{
    JobContext, JobEnd, Sandbox as _, SandboxFile, SandboxJob, SandboxWork,
};
use sandbox::LocalSandbox;

use crate::figure::{Figure, FigureLimit};
use crate::sample::Sample;
use crate::sandbox::bench_session;

/// Timed looks, after a warm-up.
const TIMED: usize = 15;
const WARM_UP: usize = 2;

/// Ordinary files per look.
const GOOD_FILES: usize = 9;

const GOOD: &[u8] =
    include_bytes!("../../../functions/sandbox/tests/jail/cases/merged-dates-formula.xlsx");

/// Two rows, and a cell in the last row and column of a sheet.
const HOSTILE: &[u8] = include_bytes!("../../../functions/sandbox/tests/jail/cases/far-cell.xlsx");

/// Compares a look at ten files, including a hostile file, with a look at the nine others.
pub(crate) async fn measure_looks(sandbox: &LocalSandbox) -> Result<Figure> {
    let mut good = Sample::default();
    let mut all = Sample::default();
    for nth in 0..WARM_UP + TIMED {
        let nine = look(sandbox, false).await?;
        let ten = look(sandbox, true).await?;
        if nth >= WARM_UP {
            good.add(nine);
            all.add(ten);
        }
    }
    Ok(Figure {
        name: "look at ten files, one hostile, against the nine others, median",
        limit: FigureLimit::AtMost(1.3),
        unit: "×",
        measured: all.median() / good.median(),
        about: format!("{:.0} ms and {:.0} ms", all.median(), good.median()),
    })
}

async fn look(sandbox: &LocalSandbox, has_hostile: bool) -> Result<Duration> {
    let mut files = Vec::with_capacity(GOOD_FILES + 1);
    if has_hostile {
        files.push(SandboxFile { name: FileName::new("far.xlsx")?, content: HOSTILE.into() });
    }
    for nth in 0..GOOD_FILES {
        let name = FileName::new(format!("good-{nth}.xlsx"))?;
        files.push(SandboxFile { name, content: GOOD.into() });
    }
    let names: Vec<FileName> = files.iter().map(|file| file.name.clone()).collect();
    let work = SandboxWork::Look { names: names.clone(), language: Language::En };
    let context = JobContext::new(&bench_session()?);
    let began = Instant::now();
    let answer = sandbox.run_job(&context, SandboxJob { work, files, state: Vec::new() }).await?;
    let took = began.elapsed();
    let look = |name: &FileName| answer.value.get(name.as_str()).and_then(|look| look.get("text"));
    let is_described = |name: &FileName| look(name).is_some();
    ensure!(answer.end == JobEnd::Done && names.iter().all(is_described), "{}", answer.value);
    Ok(took)
}
