//! Jobs of one tenant find nothing of the jobs of another: not of those before, nor of those at work beside them.

use std::collections::BTreeSet;

use djinn_runtime::port::sandbox::{JobEnd, SandboxJob};
use futures::future::join_all;
use futures::poll;
use sandbox::WallChoice;

use crate::process::{children_of, find_zygote};
use crate::python::{TestSandbox, block, file, python, start_with, value};

/// Jobs before the one that searches, and beside it.
const EARLIER: usize = 200;
const CONCURRENT: usize = 8;

/// The canary of the job that searches.
const OWN: &str = "CANARY-999-secret";

/// Looks for canaries in everything that a process can reach of itself and of others, and prints each once. One of its
/// own shows that it looks well.
const SEARCH: &str = r#"
import ctypes, gc, glob, os, re, sys

own = "CANARY-%03d-secret" % 999
kept = [own, bytearray(own.encode())]
pattern = re.compile(rb"CANARY-\d{3}-secret")
found = set()

def look(data, where):
    for canary in pattern.findall(data):
        found.add((where, canary.decode()))

# What Python knows of.
for thing in gc.get_objects():
    try:
        look(repr(thing).encode(errors="replace"), "objects")
    except Exception:
        pass
frame = sys._getframe()
while frame:
    look(repr(dict(frame.f_globals)).encode(errors="replace"), "globals")
    look(repr(dict(frame.f_locals)).encode(errors="replace"), "locals")
    frame = frame.f_back

# What is in memory: a pipe takes the pages that are there, and refuses the others.
libc = ctypes.CDLL(None)
libc.sbrk.restype = ctypes.c_void_p
reader, writer = os.pipe()
PAGE = 4096

def look_at_memory(begin, end, where):
    for address in range(begin & ~(PAGE - 1), end, PAGE):
        if libc.write(writer, ctypes.c_void_p(address), PAGE) == PAGE:
            look(os.read(reader, PAGE), where)

top = libc.sbrk(0)
look_at_memory(top - (96 << 20), top, "heap")
for thing in (object(), own, kept, {}, bytearray(1 << 20)):
    middle = id(thing)
    look_at_memory(middle - (24 << 20), middle + (24 << 20), "arenas")

# What is open, or has a name.
for descriptor in range(256):
    try:
        look(os.pread(descriptor, 1 << 20, 0), "descriptors")
    except OSError:
        pass
for path in ("/proc/self/mem", "/proc/self/environ", "/proc/self/maps", "/dev/shm"):
    try:
        look(open(path, "rb").read(1 << 20), path)
    except OSError:
        pass
for path in glob.glob("/job*/**", recursive=True) + glob.glob("../../**/*", recursive=True):
    try:
        look(path.encode() + open(path, "rb").read(1 << 20), "files")
    except OSError:
        pass
for where, canary in sorted(found):
    print(where, canary)
"#;

/// A job that holds its canary wherever a job can hold something.
fn job_with_canary(number: usize, then: &str) -> SandboxJob {
    let canary = format!("CANARY-{number:03}-secret");
    let code = format!(
        "secret = '{canary}'\nlist_of_it = [secret * 3] * 9\nopen('{canary}.txt', 'w').write(secret)\nprint(secret)\n\
         {then}"
    );
    SandboxJob {
        files: vec![file("given.txt", canary.clone())],
        state: pickled(&canary),
        ..block(&code)
    }
}

/// A pickle of no variables with a canary behind it.
fn pickled(canary: &str) -> Vec<u8> {
    [b"}.".as_slice(), canary.as_bytes()].concat()
}

async fn search_behind(choice: WallChoice) {
    let TestSandbox { sandbox, scratch } = start_with(&python(), choice);
    let sandbox = TestSandbox { sandbox: sandbox.with_jobs_at_once(CONCURRENT + 1), scratch };
    let numbers: Vec<_> = (0..EARLIER).collect();
    for chunk in numbers.chunks(CONCURRENT) {
        let jobs = chunk.iter().map(|number| sandbox.run(job_with_canary(*number, "")));
        for answer in join_all(jobs).await {
            assert_eq!((answer.end, answer.products.len()), (JobEnd::Done, 1), "{answer:?}");
        }
    }
    let beside =
        (0..CONCURRENT).map(|nth| sandbox.run(job_with_canary(EARLIER + nth, "while True: pass")));
    let mut beside = std::pin::pin!(join_all(beside));
    let zygote = find_zygote(sandbox.scratch());
    while children_of(zygote).len() < CONCURRENT {
        assert!(poll!(&mut beside).is_pending());
        tokio::task::yield_now().await;
    }
    let mut search = std::pin::pin!(sandbox.run_code(SEARCH));
    let answer = tokio::select! {
        answer = &mut search => answer,
        _ = &mut beside => panic!("the jobs beside it ended first"),
    };
    assert_eq!(value(&answer).error, None);
    let found: BTreeSet<_> = answer.output.head.lines().collect();
    let others: Vec<_> = found.iter().filter(|line| !line.ends_with(OWN)).collect();
    assert!(others.is_empty(), "{others:?}");
    for place in ["objects", "globals", "arenas"] {
        assert!(
            found.contains(format!("{place} {OWN}").as_str()),
            "{place} is not searched: {found:?}"
        );
    }
    println!(
        "{EARLIER} jobs before and {CONCURRENT} beside it, none of their canaries found; {choice:?}"
    );
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn job_finds_nothing_of_other_jobs() {
    search_behind(WallChoice::default()).await;
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn job_finds_nothing_of_other_jobs_without_a_private_root() {
    search_behind(WallChoice { private_root: false, ..WallChoice::default() }).await;
}
