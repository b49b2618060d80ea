//! A job from the first descriptor to the end.

use std::io;
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use djinn_runtime::port::sandbox::{JobEnd, JobOutput, SandboxWork};
use rustix::process::Signal;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::sleep;

use crate::disk_usage::exceeds_quota;
use crate::output::OutputCollector;
use crate::standstill::Standstill;
use crate::zygote::{ForkedChild, ZygoteChild};

/// Maximum size of a job's value, in bytes.
const MAX_VALUE: usize = 4 * 1024 * 1024;
/// Maximum number of values inside a job's value, counted generously. Each takes up to 200 bytes of memory
/// here.
const MAX_PARTS: usize = 50_000;
/// Maximum bytes of a block's variables. Python keeps up to 50 MB.
const MAX_STATE: usize = 64 * 1024 * 1024;
/// Milliseconds between two checks of a folder without a kernel quota. The interval is random, so a job
/// cannot clean up before each check.
const QUOTA_INTERVAL: RangeInclusive<u64> = 20..=180;
/// The status of a child without a jail, and the first byte of the value of a jailed child (`python/job.py`).
const UNJAILED: i32 = 91;
const JAILED: u8 = b' ';

/// The parent's ends of a job's pipes.
pub(crate) struct JobChannels {
    task: Sender,
    state: Sender,
    output: Receiver,
    value: Receiver,
    new_state: Receiver,
}

/// The child's ends of the pipes, in the order of `python/job.py`.
pub(crate) struct ChildChannels([OwnedFd; 5]);

/// The result of a job.
pub(crate) struct JobReport {
    pub(crate) end: JobEnd,
    pub(crate) seconds: f64,
    pub(crate) output: JobOutput,
    pub(crate) value: Value,
    /// The variables for the next block; `None` if the job was ended or wrote too many bytes.
    pub(crate) new_state: Option<Vec<u8>>,
}

/// Opens the pipes of a job.
pub(crate) fn open_channels() -> io::Result<(JobChannels, ChildChannels)> {
    let (task, own_task) = io::pipe()?;
    let (own_output, output) = io::pipe()?;
    let (own_value, value) = io::pipe()?;
    let (state, own_state) = io::pipe()?;
    let (own_new_state, new_state) = io::pipe()?;
    let channels = JobChannels {
        task: Sender::from_owned_fd(own_task.into())?,
        state: Sender::from_owned_fd(own_state.into())?,
        output: Receiver::from_owned_fd(own_output.into())?,
        value: Receiver::from_owned_fd(own_value.into())?,
        new_state: Receiver::from_owned_fd(own_new_state.into())?,
    };
    let child = [task.into(), output.into(), value.into(), state.into(), new_state.into()];
    Ok((channels, ChildChannels(child)))
}

impl ChildChannels {
    /// Returns the descriptors; the folder's descriptor follows.
    pub(crate) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.0.iter().map(AsFd::as_fd).collect()
    }
}

/// A forked child with its job.
pub(crate) struct RunningJob {
    pub(crate) child: ForkedChild,
    pub(crate) channels: JobChannels,
    /// The folder to check, if the kernel enforces no quota.
    pub(crate) watched: Option<Arc<OwnedFd>>,
    pub(crate) seconds: u32,
}

impl RunningJob {
    /// Sends the work and the previous block's variables to the child, and waits for the end. A child that
    /// exceeds a limit is ended.
    ///
    /// # Errors
    /// Returns [`io::Error`] if the child cannot be waited for.
    pub(crate) async fn finish(self, work: &SandboxWork, state: &[u8]) -> io::Result<JobReport> {
        let Self { child: ForkedChild { process, status, .. }, channels, watched, seconds } = self;
        let task = serde_json::to_vec(work).unwrap_or_default();
        let start = Instant::now();
        let exchange = async {
            let pipes = tokio::join!(
                write_pipe(channels.task, &task),
                write_pipe(channels.state, state),
                read_output(channels.output),
                read_pipe(channels.value, MAX_VALUE),
                read_pipe(channels.new_state, MAX_STATE),
            );
            // A child can close its pipes and continue.
            let status = match status.await {
                Ok(status) => Some(status),
                Err(_) => process.wait().await.map(|()| None)?,
            };
            Ok::<_, io::Error>((pipes, status))
        };
        tokio::pin!(exchange);
        let (ended, used_up) = tokio::select! {
            ended = &mut exchange => (ended, None),
            end = wait_for_limit(seconds, watched, &process) => {
                process.kill();
                (exchange.await, Some(end))
            }
        };
        let (((), (), output, value, new_state), status) = ended?;
        let seconds = start.elapsed().as_secs_f64();
        let parsed_value = parse_value(&value);
        let end = match used_up {
            Some(end) => end,
            None => classify_end(status, &value, parsed_value.is_some()),
        };
        let is_done = end == JobEnd::Done;
        let new_state = Some(new_state).filter(|state| is_done && state.len() <= MAX_STATE);
        let value = parsed_value.filter(|_| is_done).unwrap_or_default();
        Ok(JobReport { end, seconds, output, value, new_state })
    }
}

async fn write_pipe(mut pipe: Sender, bytes: &[u8]) {
    // A dead child reads nothing, and the exit status shows the reason.
    let _result = pipe.write_all(bytes).await;
}

async fn read_output(mut pipe: Receiver) -> JobOutput {
    let mut collector = OutputCollector::default();
    let mut piece = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = pipe.read(&mut piece).await {
        collector.add(piece.get(..length).unwrap_or_default());
    }
    collector.finish()
}

/// Reads a pipe to the end, and keeps at most `limit` bytes and 1 more to show the excess.
async fn read_pipe(mut pipe: Receiver, limit: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut piece = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = pipe.read(&mut piece).await {
        let room = (limit + 1).saturating_sub(bytes.len());
        bytes.extend(piece.get(..length.min(room)).unwrap_or_default());
    }
    bytes
}

/// Waits until a job has exceeded the time or the folder's quota.
async fn wait_for_limit(
    seconds: u32,
    watched: Option<Arc<OwnedFd>>,
    process: &ZygoteChild,
) -> JobEnd {
    let deadline = sleep(Duration::from_secs(seconds.into()));
    tokio::pin!(deadline);
    loop {
        let pause = sleep(Duration::from_millis(fastrand::u64(QUOTA_INTERVAL)));
        tokio::select! {
            () = &mut deadline => return JobEnd::Time,
            () = pause, if watched.is_some() => {}
        }
        let Some(folder) = watched.clone() else { continue };
        let descriptor = process.descriptor();
        let pid = process.pid;
        let look = tokio::task::spawn_blocking(move || {
            let _standstill = Standstill::begin(descriptor, pid);
            exceeds_quota(&folder, pid)
        });
        if look.await.unwrap_or_default() {
            return JobEnd::Disk;
        }
    }
}

/// Parses a child's value, which foreign code may have written. Bytes, parts and depth are limited, and NaN
/// and lone surrogates are rejected.
fn parse_value(bytes: &[u8]) -> Option<Value> {
    let is_limited = bytes.len() <= MAX_VALUE && count_parts(bytes) <= MAX_PARTS;
    let is_jailed = bytes.first() == Some(&JAILED);
    if is_limited && is_jailed { serde_json::from_slice(bytes).ok() } else { None }
}

/// Counts the start and separator characters of JSON values, outside of strings.
fn count_parts(json: &[u8]) -> usize {
    let mut parts = 0;
    let mut is_string = false;
    let mut is_escaped = false;
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_string => is_escaped = true,
            b'"' => is_string = !is_string,
            b'[' | b'{' | b',' | b':' if !is_string => parts += 1,
            _ => {}
        }
    }
    parts
}

/// Classifies the end of a child that was not killed. `status` is `None` if the zygote died.
fn classify_end(status: Option<ExitStatus>, value: &[u8], has_value: bool) -> JobEnd {
    let signal = status.and_then(|status| status.signal()).map(Signal::from_named_raw);
    let code = status.and_then(|status| status.code());
    match (signal.flatten(), code) {
        (Some(Signal::SYS), _) => JobEnd::Violation,
        (Some(Signal::XCPU), _) => JobEnd::Time,
        (Some(_), _) => JobEnd::Crashed,
        (None, Some(UNJAILED)) if value.is_empty() => JobEnd::Unjailed,
        (None, _) if has_value => JobEnd::Done,
        (None, Some(_)) => JobEnd::NoResult,
        (None, None) => JobEnd::Crashed,
    }
}

#[cfg(test)]
mod fuzz {
    use djinn_testkit::fuzz::FuzzPlan;

    use super::*;

    const WORDS: &[&str] = &[
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"a\"",
        "null",
        "NaN",
        "-Infinity",
        "1e999",
        "\\ud83d",
        "\\u0000",
        " ",
        "0",
        "-",
        "{\"error\": ",
        "\"kept\": [",
        "[[[[[[[[",
        "]]]]]]]]",
    ];

    #[test]
    fn value_is_json_of_a_jailed_child_or_no_value() {
        let plan = FuzzPlan { corpus: "values", words: WORDS, max_bytes: 100_000, cases: 2_000 };
        let tried = plan.run(|input| {
            let bytes = input.bytes.as_slice();
            let Some(value) = parse_value(bytes) else { return Ok(()) };
            let text = value.to_string();
            let is_same = serde_json::from_str::<Value>(&text).is_ok_and(|again| again == value);
            if bytes.first() == Some(&JAILED) && is_same && std::str::from_utf8(bytes).is_ok() {
                Ok(())
            } else {
                Err(format!("{text} is taken for a value"))
            }
        });
        println!("{}", tried.unwrap());
        assert_eq!(parse_value(b" {\"a\": [1, \"x\"]}"), Some(serde_json::json!({"a": [1, "x"]})));
        assert_eq!(parse_value(&[&[JAILED], vec![b'1'; MAX_VALUE].as_slice()].concat()), None);
        let list = |parts: usize| format!(" [{}0]", "0,".repeat(parts - 1)).into_bytes();
        assert!(parse_value(&list(MAX_PARTS)).is_some());
        assert_eq!(parse_value(&list(MAX_PARTS + 1)), None);
        // A string is a single part.
        let text = format!(" \"{}\"", r#"[,\"{:"#.repeat(MAX_PARTS));
        assert!(parse_value(text.as_bytes()).is_some());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_a_child_is_classified_by_its_status_and_its_value() {
        let exited = |code: i32| Some(ExitStatus::from_raw(code << 8));
        let killed = |signal: i32| Some(ExitStatus::from_raw(signal));
        for (status, value, end) in [
            (exited(0), " null", JobEnd::Done),
            (exited(1), " null", JobEnd::Done),
            (exited(0), " {", JobEnd::NoResult),
            (exited(0), "", JobEnd::NoResult),
            (exited(UNJAILED), "", JobEnd::Unjailed),
            // Foreign code ended with that status.
            (exited(UNJAILED), " ", JobEnd::NoResult),
            (killed(libc::SIGSYS), " ", JobEnd::Violation),
            (killed(libc::SIGXCPU), " ", JobEnd::Time),
            (killed(libc::SIGKILL), " null", JobEnd::Crashed),
            (killed(libc::SIGSEGV), " ", JobEnd::Crashed),
            // The zygote died first.
            (None, " null", JobEnd::Done),
            (None, " ", JobEnd::Crashed),
        ] {
            let has_value = parse_value(value.as_bytes()).is_some();
            assert_eq!(
                classify_end(status, value.as_bytes(), has_value),
                end,
                "{status:?} {value:?}"
            );
        }
    }
}
