//! The seccomp programs of the jail: allowed system calls, and the results of all others.

mod calls;

use std::collections::BTreeMap;

use calls::{ALLOWED, IGNORED, KILLED, REFUSED, UNSUPPORTED};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

/// The flags of C libraries for starting a thread: glibc's, and musl's with `CLONE_DETACHED`. Threads share
/// descriptors with the process, so open files can be counted.
const THREAD_FLAGS: [u64; 2] = [0x003d_0f00, 0x007d_0f00];
/// The flag of `close_range` for separate descriptors of the calling thread.
const CLOSE_RANGE_UNSHARE: u64 = 2;
/// The option of `prctl` for naming memory, as used by glibc.
const PR_SET_VMA: u64 = 0x5356_4d41;
/// The last named clock (include/uapi/linux/time.h). Greater numbers are clocks of other processes.
const LAST_CLOCK: u64 = 11;

/// Requests of `ioctl` for files and pipes, or for detecting a terminal.
const IOCTLS: [u64; 5] =
    [libc::TCGETS, libc::TIOCGWINSZ, libc::FIOCLEX, libc::FIONCLEX, libc::FIONBIO];
/// Values of `madvise` that affect only the process. Left out are values that share equal pages with other
/// processes, because write times reveal the contents. Values that evict pages of files are left out as well.
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
/// Commands of `fcntl` for locks.
const LOCKS: [i32; 4] = [libc::F_SETLK, libc::F_SETLKW, libc::F_OFD_SETLK, libc::F_OFD_SETLKW];
/// The other commands of `fcntl` on descriptors, flags and locks. Commands for signals, leases and pipe sizes
/// are left out.
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

/// Returns the programs as bytes of `struct sock_filter`, in order of installation. The kernel runs all
/// programs and takes the strictest result; of two errors, the error of the last installed program.
///
/// # Errors
/// Returns [`BackendError`] on an architecture unknown to seccompiler.
pub(crate) fn compile_programs() -> Result<Vec<Vec<u8>>, BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let mut refused_calls = unconditional(REFUSED);
    refused_calls.extend(argument_rules()?);
    let mut ignored_calls = unconditional(IGNORED);
    ignored_calls.extend(lock_rules()?);
    // The last program allows calls with an error from an earlier program, so the error stays.
    let known_calls = [ALLOWED, IGNORED, UNSUPPORTED, REFUSED, KILLED].concat();
    let allow = SeccompAction::Allow;
    let programs = [
        (ignored_calls, SeccompAction::Errno(0), allow.clone()),
        (unconditional(UNSUPPORTED), errno(libc::EOPNOTSUPP), allow.clone()),
        (ioctl_rules()?, errno(libc::ENOTTY), allow.clone()),
        (refused_calls, errno(libc::EPERM), allow.clone()),
        (unconditional(KILLED), SeccompAction::KillProcess, allow.clone()),
        (unconditional(&known_calls), allow, errno(libc::ENOSYS)),
    ];
    let programs = programs.into_iter().map(|(rules, action, other_action)| {
        let program: BpfProgram =
            SeccompFilter::new(rules, other_action, action, arch)?.try_into()?;
        Ok(to_bytes(&program))
    });
    programs.collect()
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn unconditional(calls: &[i64]) -> Rules {
    calls.iter().map(|call| (*call, Vec::new())).collect()
}

fn errno(number: i32) -> SeccompAction {
    SeccompAction::Errno(number.unsigned_abs())
}

/// Returns the rules for calls rejected by their arguments: new processes, and access to other processes.
fn argument_rules() -> Result<Rules, BackendError> {
    let prctls =
        [libc::PR_SET_NAME, libc::PR_GET_NAME].map(|option| u64::from(option.unsigned_abs()));
    let prctls = [prctls.as_slice(), &[PR_SET_VMA]].concat();
    let fcntls = FCNTLS.iter().chain(&LOCKS).map(|command| u64::from(command.unsigned_abs()));
    let fcntls: Vec<_> = fcntls.collect();
    let another_process = || other_than(0, &[0]);
    let foreign_clock = || compared(0, SeccompCmpOp::Gt, LAST_CLOCK);
    let unshares = SeccompCmpOp::MaskedEq(CLOSE_RANGE_UNSHARE);
    // Only for the process itself, not for a group, a user or another process.
    let priorities = [other_than(0, &[0])?, other_than(1, &[0])?].concat();
    Ok(BTreeMap::from([
        (libc::SYS_clone, other_than(0, &THREAD_FLAGS)?),
        (libc::SYS_prctl, other_than(0, &prctls)?),
        (libc::SYS_fcntl, other_than(1, &fcntls)?),
        (libc::SYS_close_range, compared(2, unshares, CLOSE_RANGE_UNSHARE)?),
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
        // Other modes allocate more disk space than the file's size shows.
        (libc::SYS_fallocate, other_than(1, &[0])?),
        (libc::SYS_clock_gettime, foreign_clock()?),
        (libc::SYS_clock_getres, foreign_clock()?),
        (libc::SYS_clock_nanosleep, foreign_clock()?),
    ]))
}

/// Returns the rules for commands of `fcntl` that report success without an effect.
fn lock_rules() -> Result<Rules, BackendError> {
    let rules =
        LOCKS.map(|command| compared(1, SeccompCmpOp::Eq, u64::from(command.unsigned_abs())));
    let rules = rules.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(BTreeMap::from([(libc::SYS_fcntl, rules.concat())]))
}

fn ioctl_rules() -> Result<Rules, BackendError> {
    Ok(BTreeMap::from([(libc::SYS_ioctl, other_than(1, &IOCTLS)?)]))
}

/// Returns a rule for an argument outside these values. The kernel reads 32 bits of each such argument.
fn other_than(argument: u8, values: &[u64]) -> Result<Vec<SeccompRule>, BackendError> {
    let conditions = values.iter().map(|value| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, *value)
    });
    Ok(vec![SeccompRule::new(conditions.collect::<Result<_, _>>()?)?])
}

fn compared(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<Vec<SeccompRule>, BackendError> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)?;
    Ok(vec![SeccompRule::new(vec![condition])?])
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
