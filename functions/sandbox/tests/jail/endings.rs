//! Jobs that end in hostile ways, many of them: they hurt nobody else, and leave nothing.

use std::fs;
use std::path::Path;

use djinn_runtime::port::sandbox::{JobEnd, MAX_PRODUCT_BYTES};
use futures::StreamExt;
use sandbox::WallChoice;

use crate::process::find_zygote;
use crate::python::{TestSandbox, python, start_with};

/// The variable that names how many jobs are done; `cargo soak` does more.
const COUNT: &str = "SANDBOX_ENDINGS";
/// Jobs at once.
const AT_ONCE: usize = 8;

/// Ways to end, which a number fills in.
const WAYS: &[&str] = &[
    "print({n})",
    "import os\nos._exit({n} % 256)",
    "import ctypes\nctypes.string_at({n} % 4096)",
    "raise ValueError('bad \\ud83d name')",
    "raise SystemExit({n})",
    "import sys\nsys.setrecursionlimit(10**9)\ndef f(): f()\nf()",
    "x = bytearray(4 << 30)",
    "import ctypes\nctypes.CDLL(None).unshare(0x10000000)",
    "import signal\nsignal.alarm(1)\nsignal.pause()",
    "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.001)\nwhile True: pass",
    "import os\nos.closerange(0, 256)",
    "import os\nfor d in range(3, 64):\n    try: os.write(d, b'{\"error\": NaN}')\n    except OSError: pass\nos._exit(0)",
    "import os\nfor d in range(3, 64):\n    try: os.write(d, b'[' * 60000)\n    except OSError: pass\nos._exit(0)",
    "import os\nfor d in range(3, 64):\n    try: os.write(d, b'1' * 310 + b'}')\n    except OSError: pass\nos._exit(0)",
    "import os\nfor d in range(3, 64):\n    try: os.write(d, b'\"\\\\ud83d\"')\n    except OSError: pass\nos._exit(0)",
    "import os\nfor d in range(3, 64):\n    try: os.write(d, b'\\xff' * 9)\n    except OSError: pass\nos._exit(0)",
    "import os\nfor n in range({n} % 400): os.mkdir('d'); os.chdir('d')",
    "import os\nfor n in range({n} % 300): open(f'f{n}', 'w').write('x' * n)\nos.mkdir('closed', 0)",
    "import os\nf = [open(f'f{n}', 'w+b') for n in range(20)]\n[g.write(bytes(99999)) for g in f]\n[os.unlink(f'f{n}') for n in range(20)]",
    "import os\nfor n in range(20): os.truncate(open(f'f{n}', 'w').name, 20 << 20)",
    "import os\nos.symlink('/etc/passwd', 'a'); os.link('a', 'b'); os.symlink('.', 'c'); os.rename('../tmp', '../work/t')",
    "import threading\nfor n in range(300): threading.Thread(target=lambda: __import__('time').sleep(9)).start()",
    "import os\nwhile True: os.write(1, b'x' * 65536)",
    "import sys, os\nsys.stdout.close()\nos.close(1)",
    "secret = open\nclass Bad:\n    def __reduce__(self): raise KeyboardInterrupt\nb = Bad()",
];

/// The resident memory of a process in KiB.
fn memory_of(process: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse().unwrap()
}

fn count_open(process: u32) -> usize {
    fs::read_dir(format!("/proc/{process}/fd")).unwrap().count()
}

fn count_below(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| 1 + count_below(&entry.path())).sum()
}

/// Does jobs, some at once, and returns the ends of those that should be done.
async fn run_many(sandbox: &TestSandbox, numbers: std::ops::Range<usize>) -> Vec<JobEnd> {
    let mut chance = fastrand::Rng::with_seed(numbers.start as u64);
    let jobs = numbers.map(|n| {
        let way = if n % 5 == 0 { WAYS[0] } else { WAYS[chance.usize(..WAYS.len())] };
        (n % 5 == 0, way.replace("{n}", &n.to_string()))
    });
    let answers = futures::stream::iter(jobs)
        .map(async |(is_plain, code)| (is_plain, sandbox.run_code(&code).await))
        .buffer_unordered(AT_ONCE);
    let plain = answers.filter_map(async |(is_plain, answer)| is_plain.then_some(answer.end));
    plain.collect().await
}

async fn end_in_every_way(choice: WallChoice, count: usize) {
    let sandbox = start_with(&python(), choice).with_seconds(2);
    let warm_up = count / 10;
    run_many(&sandbox, 0..warm_up).await;
    let zygote = find_zygote(sandbox.scratch());
    let own = std::process::id();
    let before = (memory_of(zygote), memory_of(own), count_open(zygote), count_open(own));
    let left = count_below(sandbox.scratch());
    let ends = run_many(&sandbox, warm_up..count).await;
    assert!(ends.iter().all(|end| *end == JobEnd::Done), "{ends:?}");
    assert_eq!(find_zygote(sandbox.scratch()), zygote, "the zygote was replaced");
    assert_eq!(sandbox.run_code("print(1)").await.output.head, "1\n");
    let after = (memory_of(zygote), memory_of(own), count_open(zygote), count_open(own));
    println!("{count} jobs; {choice:?}; memory in KiB and descriptors {before:?} then {after:?}");
    assert_eq!((after.2, after.3), (before.2, before.3), "descriptors stay open");
    assert_eq!(count_below(sandbox.scratch()), left, "folders stay");
    assert!(after.0 <= 1.1 * before.0, "the zygote grew: {before:?} {after:?}");
    // This process's allocator keeps what held the products of one job; what each job left would be more by now.
    let pooled = (MAX_PRODUCT_BYTES / 1024) as f64;
    assert!(after.1 <= 1.1 * before.1 + pooled, "this process grew: {before:?} {after:?}");
}

fn count() -> usize {
    std::env::var_os(COUNT).map_or(400, |count| count.to_str().unwrap().parse().unwrap())
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn hostile_endings_leave_nothing() {
    end_in_every_way(WallChoice::default(), count()).await;
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn hostile_endings_leave_nothing_without_a_private_root() {
    end_in_every_way(WallChoice { private_root: false, ..WallChoice::default() }, count()).await;
}
