//! A jailed process that is killed, at whatever point of its work.

use std::fs;
use std::path::Path;
use std::process::Command;

use djinn_runtime::port::sandbox::{JobEnd, SandboxJob, SandboxWork};

use crate::python::{start, value};

/// Says who it is, writes products, and leaves variables that take a while to be kept.
const WORK: &str = "import os\nopen('pid', 'w').write(str(os.getpid()))\nos.rename('pid', 'who')\n\
    for n in range(40):\n    open(f'product-{n % 15}.txt', 'w').write('x' * 100_000)\n\
    big = [list(range(1_000)) for _ in range(500)]\nalso = 'y' * 5_000_000\n";

/// The file in which a job below this folder says who it is.
fn find_pid(scratch: &Path) -> Option<String> {
    let jobs = fs::read_dir(scratch).unwrap().flatten();
    jobs.map(|job| job.path().join("work/who")).find_map(|path| fs::read_to_string(path).ok())
}

/// Looks so many times at what the job has written, which is how long the killer waits, and kills.
fn kill_after(scratch: &Path, looks: usize) {
    let pid = loop {
        if let Some(pid) = find_pid(scratch) {
            break pid;
        }
        std::thread::yield_now();
    };
    for _ in 0..looks {
        find_pid(scratch);
    }
    // Nobody else has its number: whoever forked it waits for it only when it is dead.
    let _too_late =
        Command::new("kill").args(["-9", &pid]).stderr(std::process::Stdio::null()).status();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn a_job_that_is_killed_at_any_point_is_told_and_the_next_is_done() {
    let sandbox = start();
    sandbox.run_code("1").await;
    let mut ends = Vec::new();
    for step in 0..24 {
        let scratch = sandbox.scratch().to_owned();
        let killer = tokio::task::spawn_blocking(move || kill_after(&scratch, step * 120));
        let answer = sandbox.run_code(WORK).await;
        killer.await.unwrap();
        assert!(matches!(answer.end, JobEnd::Crashed | JobEnd::Done), "{answer:?}");
        // What it left is whole, or is not there: the next block works with it.
        let work = SandboxWork::Python {
            code: "print(len(big))".to_owned(),
            earlier: vec![WORK.to_owned()],
        };
        let next = sandbox.run(SandboxJob { work, files: Vec::new(), state: answer.state }).await;
        let error = value(&next).error.map(|error| error.kind);
        assert_eq!(next.end, JobEnd::Done, "{next:?}");
        assert!(
            error.is_none()
                || (error.as_deref() == Some("NameError") && answer.end == JobEnd::Crashed)
        );
        ends.push(answer.end);
    }
    let killed = ends.iter().filter(|end| **end == JobEnd::Crashed).count();
    println!("{killed} of {} jobs were killed at work, and the next was done", ends.len());
    assert!(killed >= 8, "{ends:?}");
}
