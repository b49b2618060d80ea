//! How jobs end, and what is told of them.

use djinn_runtime::port::sandbox::{JobEnd, SandboxJob, SandboxWork};
use serde_json::json;

use crate::python::{block, file, start, value};

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn a_block_tells_what_it_printed_and_the_value_of_its_last_line() {
    let sandbox = start();
    let answer = sandbox.run_code("print('one')\nx = [1, 2]\nx + [3]").await;
    assert_eq!((answer.end, answer.output.head.as_str()), (JobEnd::Done, "one\n[1, 2, 3]\n"));
    assert_eq!(value(&answer).kept, ["x"]);
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn errors_name_their_line_and_what_there_is_instead() {
    let sandbox = start();
    // Code, kind, line, a part of what is said or the hint.
    let errors = [
        ("x = 1\ny = (", "SyntaxError", Some(2), "never closed"),
        ("\x00", "SyntaxError", None, "null bytes"),
        ("x = 1\n\nx / 0", "ZeroDivisionError", Some(3), "division by zero"),
        ("def f():\n    return [][1]\nf()", "IndexError", Some(2), "out of range"),
        ("input('name')", "EOFError", Some(1), "no_input"),
        ("import requests", "ModuleNotFoundError", Some(1), "no_packages"),
        ("import socket\nsocket.socket()", "PermissionError", Some(2), "no_outside"),
        ("import os\nos.system('ls') and 1/0", "ZeroDivisionError", Some(2), ""),
        ("import subprocess\nsubprocess.run(['pip'])", "PermissionError", Some(2), "no_outside"),
        // Behind Landlock it may not be read, and in a private root it is not there.
        ("open('/etc/passwd')", "PermissionError|FileNotFoundError", Some(1), "no_outside"),
        ("open('/usr/lib/x', 'w')", "PermissionError|OSError", Some(1), "no_outside"),
        ("x = bytearray(4 << 30)", "MemoryError", Some(1), "no_memory"),
        ("raise SystemExit(3)", "SystemExit", None, "3"),
        ("open('big', 'wb').write(bytes(70 << 20))", "OSError", Some(1), "file_too_large"),
    ];
    for (code, kind, line, part) in errors {
        let answer = sandbox.run_code(code).await;
        let error = value(&answer).error.unwrap_or_else(|| panic!("{code}: {answer:?}"));
        assert!(kind.split('|').any(|kind| kind == error.kind), "{code}: {error:?}");
        assert_eq!(error.line, line, "{code}: {error:?}");
        assert!(error.message.contains(part) || error.hint == part, "{code}: {error:?}");
    }
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn a_long_output_keeps_its_beginning_and_its_end() {
    let sandbox = start();
    let answer = sandbox.run_code("for n in range(100_000): print(n)").await;
    let output = answer.output;
    assert!(output.head.starts_with("0\n1\n") && output.tail.ends_with("\n99999\n"));
    assert_eq!((output.head.len(), output.tail.len()), (32 * 1024, 32 * 1024));
    // 588 890 characters are written.
    assert_eq!(output.omitted, 588_890 - 64 * 1024);
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn what_takes_too_long_or_dies_ends_and_the_next_job_is_done() {
    let sandbox = start().with_seconds(1);
    let ends = [
        ("while True: pass", JobEnd::Time),
        ("import time\ntime.sleep(100)", JobEnd::Time),
        ("import os\nos.closerange(0, 100)\nwhile True: pass", JobEnd::Time),
        ("import ctypes\nctypes.string_at(0)", JobEnd::Crashed),
        ("import os\nos._exit(0)", JobEnd::NoResult),
        // The status of a child that could not be jailed.
        ("import os\nos._exit(91)", JobEnd::NoResult),
        ("import ctypes\nctypes.CDLL(None).unshare(0)", JobEnd::Violation),
    ];
    for (code, end) in ends {
        let answer = sandbox.run_code(code).await;
        assert_eq!(answer.end, end, "{code}: {answer:?}");
    }
    assert_eq!(sandbox.run_code("1 + 1").await.output.head, "2\n");
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn variables_and_definitions_come_back_in_the_next_block() {
    let sandbox = start();
    let first = "import math\nclass P:\n    pass\ndef twice(x): return 2 * x\np = P(); p.x = 3\n\
                 handle = open('f', 'w')\nprint('loud')";
    let answer = sandbox.run_code(first).await;
    let said = value(&answer);
    assert_eq!((said.kept, said.lost), (vec!["p".to_owned()], vec!["handle".to_owned()]));
    let work = SandboxWork::Python {
        code: "print(math.floor(twice(p.x)))".to_owned(),
        earlier: vec![first.to_owned()],
    };
    let next = SandboxJob { work, files: Vec::new(), state: answer.state };
    assert_eq!(sandbox.run(next).await.output.head, "6\n");
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn variables_that_cannot_be_read_are_none() {
    let sandbox = start();
    for state in [b"garbage".as_slice(), b"]."] {
        let job = SandboxJob { state: state.to_vec(), ..block("print('fine')\nx = 1") };
        let answer = sandbox.run(job).await;
        assert_eq!(answer.output.head, "fine\n", "{answer:?}");
        assert_eq!(value(&answer).kept, ["x"]);
    }
}

/// Children of one process inherit the same state.
#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn random_numbers_of_jobs_differ() {
    let sandbox = start();
    for code in ["import random\nrandom.random()", "import numpy\nnumpy.random.rand()"] {
        let (one, other) = (sandbox.run_code(code).await, sandbox.run_code(code).await);
        assert!(
            one.output.head.starts_with("0.") && other.output.head.starts_with("0."),
            "{one:?}"
        );
        assert_ne!(one.output.head, other.output.head, "{code}");
    }
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn a_chart_that_is_shown_or_saved_is_a_product() {
    let sandbox = start();
    let code = "import pandas as pd, matplotlib.pyplot as plt\n\
        table = pd.read_csv('sales.csv')\n\
        table.groupby('region').amount.sum().plot.bar()\nplt.show()\n\
        plt.figure(); plt.plot([1, 2]); plt.savefig('line.svg')";
    let mut job = block(code);
    job.files.push(file("sales.csv", "region,amount\nNorth,3\nSouth,4\nNorth,5\n"));
    let answer = sandbox.run(job).await;
    let names: Vec<_> = answer.products.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["figure-1.png", "line.svg"], "{answer:?}");
    assert!(answer.products[0].content.starts_with(b"\x89PNG"));
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn eight_jobs_at_once_are_all_done() {
    let sandbox = start();
    sandbox.run_code("1").await;
    let jobs = (0..8).map(|n| format!("print(sum(range({n}_000_000)))"));
    let jobs: Vec<_> = jobs.collect();
    let answers = futures::future::join_all(jobs.iter().map(|code| sandbox.run_code(code))).await;
    for (n, answer) in (0_u64..).zip(answers) {
        let most = n * 1_000_000;
        assert_eq!(answer.output.head.trim(), (most * most.saturating_sub(1) / 2).to_string());
    }
}

/// Foreign code finds the pipe that its value goes through.
#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn values_that_cannot_be_read_end_their_own_job_alone() {
    let sandbox = start();
    let beside = "import time\ntime.sleep(3)\nprint('beside')";
    let hostile = async {
        let write = |bytes: &str| {
            format!(
                "import os\nfor d in range(3, 64):\n    try: os.write(d, {bytes})\n    except OSError: pass\nos._exit(0)"
            )
        };
        let values = [
            r#"b'{"error": NaN}'"#,
            "b'[' * 60_000",
            "b'1' * 310",
            "b'1e999'",
            r#"b'"\\ud83d"'"#,
            r"b'\xff\xfe'",
            r#"b'{"error": null}{"error": null}'"#,
            r"b'\x00'",
            // As memory it is a hundred times as large.
            "b'[' + b'[],' * 60_000 + b'[]]'",
        ];
        for bytes in values {
            let answer = sandbox.run_code(&write(bytes)).await;
            assert_eq!(
                (answer.end, &answer.value),
                (JobEnd::NoResult, &json!(null)),
                "{bytes}: {answer:?}"
            );
        }
        // One that can be read is taken for what it is: words of foreign code.
        let answer = sandbox.run_code(&write(r#"b'{"kept": ["x"]}'"#)).await;
        assert_eq!((answer.end, answer.value), (JobEnd::Done, json!({"kept": ["x"]})));
    };
    let (answer, ()) = tokio::join!(sandbox.run_code(beside), hostile);
    assert_eq!((answer.end, answer.output.head.as_str()), (JobEnd::Done, "beside\n"));
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn errors_of_any_text_and_size_are_told() {
    let sandbox = start();
    for (code, part) in [
        ("raise ValueError('bad \\ud83d name')", "bad ? name"),
        ("raise ValueError('x' * 10_000_000)", "xxx"),
        ("raise ValueError(float('nan'))", "nan"),
        ("raise ValueError(10 ** 310)", "1000"),
        ("x = []\nfor _ in range(100_000): x = [x]\nraise ValueError(len(x))", "1"),
        ("class E(Exception):\n    def __str__(self): raise KeyError\nraise E", ""),
    ] {
        let answer = sandbox.run_code(code).await;
        let error = value(&answer).error.unwrap_or_else(|| panic!("{code}: {answer:?}"));
        assert!(error.message.contains(part), "{code}: {error:?}");
    }
}
