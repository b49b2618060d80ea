//! The system calls that ordinary code makes, traced outside the jail, and those that the jail allows.

#[path = "../../src/seccomp/calls.rs"]
mod listed;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use listed::{ALLOWED, IGNORED, KILLED, REFUSED, UNSUPPORTED};
use serde_json::json;

use crate::documents::REPORT;
use crate::features::probes;
use crate::python::{fonts, python};

/// Calls that are made and that code does without: each has another way where it does not exist.
#[rustfmt::skip]
const DISPENSABLE: &[i64] = &[
    // The C library then starts threads by `clone`, whose flags a filter can see.
    libc::SYS_clone3,
    // Only advice to the kernel.
    libc::SYS_mbind,
    libc::SYS_get_mempolicy,
    // Ways of the tracer itself.
    libc::SYS_wait4,
];

/// Calls that are allowed though this Python does not make them here.
#[rustfmt::skip]
const OTHER_VERSIONS: &[i64] = &[
    // Those of newer and older C libraries and Pythons, or of other architectures, for what is traced by another name.
    libc::SYS_readv, libc::SYS_writev, libc::SYS_close_range, libc::SYS_statx, libc::SYS_faccessat,
    libc::SYS_faccessat2, libc::SYS_readlinkat, libc::SYS_renameat, libc::SYS_renameat2, libc::SYS_linkat,
    libc::SYS_symlinkat, libc::SYS_mkdirat, libc::SYS_dup, libc::SYS_dup3, libc::SYS_ppoll, libc::SYS_epoll_pwait,
    libc::SYS_nanosleep, libc::SYS_getrlimit, libc::SYS_setrlimit, libc::SYS_gettimeofday, libc::SYS_set_tid_address,
    libc::SYS_clock_getres, libc::SYS_fadvise64, libc::SYS_fchdir, libc::SYS_fstatfs,
    #[cfg(target_arch = "x86_64")] libc::SYS_open,
    #[cfg(target_arch = "x86_64")] libc::SYS_stat,
    #[cfg(target_arch = "x86_64")] libc::SYS_lstat,
    // Answered in the memory of the process, where the kernel can do so.
    libc::SYS_clock_gettime,
    // Made by the kernel itself, and by threads that have a name or print where they are.
    libc::SYS_restart_syscall, libc::SYS_prctl, libc::SYS_sigaltstack,
];

/// Traces what Python with its packages and our own jobs do.
fn trace() -> BTreeSet<i64> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let blocks: Vec<_> = probes().into_iter().map(|probe| probe.code).collect();
    let mut tracer = Command::new(python())
        .arg("-I")
        .arg(manifest.join("tests/jail/trace.py"))
        .arg(manifest.join("python"))
        .args(fonts())
        .env_clear()
        .envs([("TZ", "UTC"), ("LANG", "C.UTF-8"), ("MPLBACKEND", "Agg"), ("OMP_NUM_THREADS", "1")])
        .envs([("OPENBLAS_NUM_THREADS", "1"), ("PYTHONDONTWRITEBYTECODE", "1")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let input = json!({"blocks": blocks, "report": REPORT}).to_string();
    tracer.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = tracer.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
fn allowed_calls_are_those_that_ordinary_code_makes() {
    let traced = trace();
    let known: BTreeSet<i64> =
        [ALLOWED, IGNORED, UNSUPPORTED, REFUSED, DISPENSABLE].concat().into_iter().collect();
    let killed: Vec<_> = KILLED.iter().filter(|call| traced.contains(call)).collect();
    assert!(killed.is_empty(), "made and answered by the end of the process: {killed:?}");
    let unknown: Vec<_> = traced.difference(&known).collect();
    assert!(unknown.is_empty(), "made and not in the list: {unknown:?}");
    let needed: BTreeSet<i64> = traced.iter().chain(OTHER_VERSIONS).copied().collect();
    let idle: Vec<_> = ALLOWED.iter().filter(|call| !needed.contains(call)).collect();
    println!("{} calls traced, {} allowed", traced.len(), ALLOWED.len());
    assert!(idle.is_empty(), "in the list and not made: {idle:?}");
}
