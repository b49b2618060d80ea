//! The seccomp programs of the jail: system calls that are allowed, and the answers that others get.

mod calls;

use std::collections::BTreeMap;

use calls::{ALLOWED, IGNORED, KILLED, REFUSED, UNSUPPORTED};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

/// The flags with which C libraries start a thread: glibc's, and musl's with `CLONE_DETACHED`. They share
/// descriptors with the process, so that its files can be counted.
const THREAD_FLAGS: [u64; 2] = [0x003d_0f00, 0x007d_0f00];
/// Flag of `close_range` that gives the calling thread descriptors of its own.
const CLOSE_RANGE_UNSHARE: u64 = 2;
/// Option of `prctl` that names a piece of memory; glibc does so.
const PR_SET_VMA: u64 = 0x5356_4d41;
/// The last clock that has a name (include/uapi/linux/time.h). Greater numbers are clocks of other processes.
const LAST_CLOCK: u64 = 11;

/// Requests of `ioctl` that mean something for files and pipes, or that ask whether something is a terminal.
const IOCTLS: [u64; 5] =
    [libc::TCGETS, libc::TIOCGWINSZ, libc::FIOCLEX, libc::FIONCLEX, libc::FIONBIO];
/// Advices of `madvise` that concern the process alone. Missing are those that share equal pages with other processes,
/// by which the time of a write tells what they hold, and those that take pages of files from memory.
const ADVICES: [i32; 13] = [
    libc::MADV_NORMAL,
    libc::MADV_RANDOM,
    libc::MADV_SEQUENTIAL,
    libc::MADV_WILLNEED,
    libc::MADV_DONTNEED,
    libc::MADV_FREE,
    libc::MADV_DONTFORK,
    libc::MADV_DOFORK,
    libc::MADV_HUGEPAGE,
    libc::MADV_NOHUGEPAGE,
    libc::MADV_DONTDUMP,
    libc::MADV_DODUMP,
    libc::MADV_WIPEONFORK,
];
/// Commands of `fcntl` that set a lock.
const LOCKS: [i32; 4] = [libc::F_SETLK, libc::F_SETLKW, libc::F_OFD_SETLK, libc::F_OFD_SETLKW];
/// The other commands of `fcntl` on descriptors, flags and locks. Those for signals, leases and the size of pipes are
/// missing.
const FCNTLS: [i32; 8] = [
    libc::F_DUPFD,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_SETFL,
    libc::F_GETLK,
    libc::F_OFD_GETLK,
];

/// Returns the programs as bytes of `struct sock_filter`, in the order in which they are installed. The kernel runs
/// them all, takes the strictest answer, and of two errors the one of the program that was installed last.
///
/// # Errors
/// [`BackendError`] on an architecture that seccompiler does not know.
pub(crate) fn compile_programs() -> Result<Vec<Vec<u8>>, BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let mut refused = unconditional(REFUSED);
    refused.extend(argument_rules()?);
    let mut ignored = unconditional(IGNORED);
    ignored.extend(lock_rules()?);
    // An error for a call that the last program allows stays as it is.
    let passed = [ALLOWED, IGNORED, UNSUPPORTED, REFUSED, KILLED].concat();
    let programs = [
        answer(arch, ignored, SeccompAction::Errno(0))?,
        answer(arch, unconditional(UNSUPPORTED), errno(libc::EOPNOTSUPP))?,
        answer(arch, ioctl_rules()?, errno(libc::ENOTTY))?,
        answer(arch, refused, errno(libc::EPERM))?,
        answer(arch, unconditional(KILLED), SeccompAction::KillProcess)?,
        allow_only(arch, unconditional(&passed))?,
    ];
    Ok(programs.iter().map(|program| to_bytes(program)).collect())
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn unconditional(calls: &[i64]) -> Rules {
    calls.iter().map(|call| (*call, Vec::new())).collect()
}

fn errno(number: i32) -> SeccompAction {
    SeccompAction::Errno(number.unsigned_abs())
}

/// The calls that are refused by their arguments: new processes, and anything that concerns another process.
fn argument_rules() -> Result<Rules, BackendError> {
    let prctls =
        [libc::PR_SET_NAME, libc::PR_GET_NAME].map(|option| u64::from(option.unsigned_abs()));
    let prctls = [prctls.as_slice(), &[PR_SET_VMA]].concat();
    let fcntls = FCNTLS.iter().chain(&LOCKS).map(|command| u64::from(command.unsigned_abs()));
    let fcntls: Vec<_> = fcntls.collect();
    let another_process = || other_than(0, &[0]);
    let foreign_clock = || compared(0, SeccompCmpOp::Gt, LAST_CLOCK);
    // Neither a group, a user nor another process.
    let priorities = [other_than(0, &[0])?, other_than(1, &[0])?].concat();
    Ok(BTreeMap::from([
        (libc::SYS_clone, other_than(0, &THREAD_FLAGS)?),
        (libc::SYS_prctl, other_than(0, &prctls)?),
        (libc::SYS_fcntl, other_than(1, &fcntls)?),
        (libc::SYS_close_range, has_flag(2, CLOSE_RANGE_UNSHARE)?),
        (libc::SYS_prlimit64, another_process()?),
        (libc::SYS_sched_getaffinity, another_process()?),
        (libc::SYS_sched_setaffinity, another_process()?),
        (libc::SYS_getpgid, another_process()?),
        (libc::SYS_getsid, another_process()?),
        (libc::SYS_getpriority, priorities),
        (
            libc::SYS_madvise,
            other_than(2, &ADVICES.map(|advice| u64::from(advice.unsigned_abs())))?,
        ),
        // Other modes give a file more of the disk than its size says.
        (libc::SYS_fallocate, other_than(1, &[0])?),
        (libc::SYS_clock_gettime, foreign_clock()?),
        (libc::SYS_clock_getres, foreign_clock()?),
        (libc::SYS_clock_nanosleep, foreign_clock()?),
    ]))
}

/// The commands of `fcntl` that are answered as if they had been done.
fn lock_rules() -> Result<Rules, BackendError> {
    let rules = LOCKS.map(|command| equal_to(1, u64::from(command.unsigned_abs())));
    let rules = rules.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(BTreeMap::from([(libc::SYS_fcntl, rules.concat())]))
}

fn ioctl_rules() -> Result<Rules, BackendError> {
    Ok(BTreeMap::from([(libc::SYS_ioctl, other_than(1, &IOCTLS)?)]))
}

/// A rule for an argument that is none of these values. The kernel reads 32 bits of each such argument.
fn other_than(argument: u8, values: &[u64]) -> Result<Vec<SeccompRule>, BackendError> {
    let conditions = values.iter().map(|value| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, *value)
    });
    Ok(vec![SeccompRule::new(conditions.collect::<Result<_, _>>()?)?])
}

fn equal_to(argument: u8, value: u64) -> Result<Vec<SeccompRule>, BackendError> {
    compared(argument, SeccompCmpOp::Eq, value)
}

fn has_flag(argument: u8, flag: u64) -> Result<Vec<SeccompRule>, BackendError> {
    compared(argument, SeccompCmpOp::MaskedEq(flag), flag)
}

fn compared(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<Vec<SeccompRule>, BackendError> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)?;
    Ok(vec![SeccompRule::new(vec![condition])?])
}

fn answer(
    arch: TargetArch,
    rules: Rules,
    action: SeccompAction,
) -> Result<BpfProgram, BackendError> {
    SeccompFilter::new(rules, SeccompAction::Allow, action, arch)?.try_into()
}

fn allow_only(arch: TargetArch, rules: Rules) -> Result<BpfProgram, BackendError> {
    SeccompFilter::new(rules, errno(libc::ENOSYS), SeccompAction::Allow, arch)?.try_into()
}

fn to_bytes(program: &[sock_filter]) -> Vec<u8> {
    let steps = program.iter().flat_map(|step| {
        let [c0, c1] = step.code.to_le_bytes();
        let [k0, k1, k2, k3] = step.k.to_le_bytes();
        [c0, c1, step.jt, step.jf, k0, k1, k2, k3]
    });
    steps.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_fit_the_kernels_limit_and_end_with_a_return() {
        let programs = compile_programs().unwrap();
        for program in programs {
            // BPF_MAXINSNS is 4 096 (include/uapi/linux/bpf_common.h).
            assert!(!program.is_empty() && program.len() % 8 == 0 && program.len() / 8 <= 4096);
            let last = &program[program.len() - 8..];
            assert_eq!(last[0], 0x06, "the last instruction is a return");
        }
    }

    #[test]
    fn call_has_one_answer() {
        let mut calls = [ALLOWED, IGNORED, UNSUPPORTED, REFUSED, KILLED].concat();
        calls.sort_unstable();
        let count = calls.len();
        calls.dedup();
        assert_eq!(calls.len(), count);
        let rules = [argument_rules(), ioctl_rules(), lock_rules()];
        for call in rules.iter().flat_map(|rules| rules.as_ref().unwrap().keys()) {
            assert!(ALLOWED.contains(call), "{call} depends on its arguments and is not allowed");
        }
    }
}
