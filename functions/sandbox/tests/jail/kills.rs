//! A jailed process, or the zygote above it, that is killed at whatever point of its work.

use std::fs;
use std::process::{Command, Stdio};

use djinn_runtime::port::sandbox::{JobEnd, Sandbox as _, SandboxJob, SandboxWork};
use sandbox::WallChoice;

use crate::process::{children_of, find_zygote};
use crate::python::{block, context, python, start, start_below, start_with, value};

/// Writes products, and leaves variables that take a while to be kept.
const WORK: &str = "for n in range(40):\n    open(f'product-{n % 15}.txt', 'w').write('x' * 100_000)\n\
    big = [list(range(1_000)) for _ in range(500)]\nalso = 'y' * 5_000_000\n";

/// Waits until the zygote has a child, looks at it so many times more, and kills it.
fn kill_child_after(zygote: u32, looks: usize) {
    let child = loop {
        if let Some(child) = children_of(zygote).first() {
            break *child;
        }
        std::thread::yield_now();
    };
    for _ in 0..looks {
        children_of(zygote);
    }
    kill(child);
}

fn kill(process: u32) {
    // It may have ended, and its parent is the only one who can free its number.
    let number = process.to_string();
    let _too_late = Command::new("kill").args(["-9", &number]).stderr(Stdio::null()).status();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn a_job_that_is_killed_at_any_point_is_told_and_the_next_is_done() {
    let sandbox = start();
    sandbox.run_code("1").await;
    let mut ends = Vec::new();
    let zygote = find_zygote(sandbox.scratch());
    for step in 0..24 {
        let killer = tokio::task::spawn_blocking(move || kill_child_after(zygote, step * 16));
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

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn zygote_that_is_killed_is_replaced_while_its_children_finish() {
    for private_root in [true, false] {
        let sandbox = start_with(&python(), WallChoice { private_root, ..WallChoice::default() });
        sandbox.run_code("1").await;
        let zygote = find_zygote(sandbox.scratch());
        let code = "import time, os\nwhile not os.path.exists('go'): time.sleep(0.01)\n";
        let finishing =
            "import time\ntime.sleep(1)\nopen('made', 'w').write('made')\nprint('finished')";
        let looping = sandbox.run_code(code);
        let finishing = sandbox.run_code(finishing);
        let killing = async {
            while children_of(zygote).len() < 2 {
                tokio::task::yield_now().await;
            }
            kill(zygote);
            // It needs another zygote, and does not wait for the two.
            sandbox.run_code("print('next')").await
        };
        let (finished, next) = tokio::select! {
            ends = async { tokio::join!(finishing, killing) } => ends,
            answer = looping => panic!("it ended by itself: {answer:?}"),
        };
        assert_eq!((finished.end, finished.output.head.as_str()), (JobEnd::Done, "finished\n"));
        assert_eq!(finished.products.len(), 1, "{finished:?}");
        assert_eq!((next.end, next.output.head.as_str()), (JobEnd::Done, "next\n"));
        assert_ne!(find_zygote(sandbox.scratch()), zygote);
    }
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn job_for_a_zygote_that_is_just_dead_runs_in_the_next() {
    let sandbox = start();
    sandbox.run_code("1").await;
    let zygote = find_zygote(sandbox.scratch());
    kill(zygote);
    // No other code of this process runs meanwhile, so the end of the zygote is not noticed.
    let stat = format!("/proc/{zygote}/stat");
    while fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
        std::thread::yield_now();
    }
    assert_eq!(sandbox.run_code("print('next')").await.output.head, "next\n");
}

/// A process that is killed with everything in its hands leaves folders, which the next one removes.
#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn folders_of_dead_processes_are_removed_at_the_next_start() {
    let sandbox = start();
    let dead = sandbox.scratch().join("process-dead");
    fs::create_dir_all(dead.join("jobs/job-1/work/a/b")).unwrap();
    fs::write(dead.join("lock"), "").unwrap();
    sandbox.run_code("1").await;
    assert!(!dead.exists());
    // Those of a process that lives stay.
    let names = || {
        let entries = fs::read_dir(sandbox.scratch()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("process-")).collect::<Vec<_>>()
    };
    let own = names();
    let other = start_below(sandbox.scratch());
    other.run_job(&context(), block("1")).await.unwrap();
    let both = names();
    assert_eq!((own.len(), both.len()), (1, 2));
    assert!(both.contains(&own[0]));
    drop(other);
    assert_eq!(names(), own);
}
