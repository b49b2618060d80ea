//! The seccomp programs of the jail: which calls to the kernel are refused, and how.

mod calls;

use std::collections::BTreeMap;

use calls::{IGNORED, IGNORED_NUMBERS, KILLED, KILLED_NUMBERS, REFUSED, UNKNOWN};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

/// Calls with this bit are of the x32 ABI, whose numbers no other filter knows.
const X32_BIT: u32 = 0x4000_0000;
/// `EPERM` and `ENOSYS`, as a filter answers them.
const EPERM: u32 = 1;
const ENOSYS: u32 = 38;

/// The programs of the jail as bytes of `struct sock_filter`, in the order in which they are installed.
///
/// # Errors
/// [`BackendError`] on an architecture that seccompiler does not know.
pub(crate) fn compile_programs() -> Result<Vec<Vec<u8>>, BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let plain = |calls: &[i64]| calls.iter().map(|call| (*call, Vec::new())).collect::<Rules>();
    let mut refused = plain(REFUSED);
    refused.extend(conditional_rules()?);
    let killed = plain(&[KILLED, KILLED_NUMBERS].concat());
    let programs = [
        compile_program(
            arch,
            plain(&[IGNORED, IGNORED_NUMBERS].concat()),
            SeccompAction::Errno(0),
        )?,
        compile_program(arch, plain(UNKNOWN), SeccompAction::Errno(ENOSYS))?,
        compile_program(arch, refused, SeccompAction::Errno(EPERM))?,
        compile_program(arch, killed, SeccompAction::KillProcess)?,
        refuse_x32(),
    ];
    Ok(programs.iter().map(|program| to_bytes(program)).collect())
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// What is refused by its arguments: new processes, and the limits and the place of others.
fn conditional_rules() -> Result<Rules, BackendError> {
    let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
    // The kernel reads 32 bits of each of these arguments.
    let rule = |argument, operator, value| {
        let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)?;
        Ok(vec![SeccompRule::new(vec![condition])?])
    };
    Ok(BTreeMap::from([
        (libc::SYS_clone, rule(0, SeccompCmpOp::MaskedEq(thread), 0)?),
        (libc::SYS_prlimit64, rule(0, SeccompCmpOp::Ne, 0)?),
        (libc::SYS_sched_setaffinity, rule(0, SeccompCmpOp::Ne, 0)?),
        // Letters typed into the terminal of whoever started us.
        (libc::SYS_ioctl, rule(1, SeccompCmpOp::Eq, libc::TIOCSTI)?),
    ]))
}

fn compile_program(
    arch: TargetArch,
    rules: Rules,
    action: SeccompAction,
) -> Result<BpfProgram, BackendError> {
    SeccompFilter::new(rules, SeccompAction::Allow, action, arch)?.try_into()
}

fn refuse_x32() -> BpfProgram {
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        // BPF_LD | BPF_W | BPF_ABS: the number of the call.
        step(0x20, 0, 0, 0),
        // BPF_JMP | BPF_JGE | BPF_K.
        step(0x35, 0, 1, X32_BIT),
        // BPF_RET | BPF_K: SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW.
        step(0x06, 0, 0, 0x8000_0000),
        step(0x06, 0, 0, 0x7fff_0000),
    ]
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
    fn every_program_fits_the_kernels_bound_and_ends_with_a_return() {
        let programs = compile_programs().unwrap();
        assert_eq!(programs.len(), 5);
        for program in programs {
            // BPF_MAXINSNS is 4 096 (include/uapi/linux/bpf_common.h).
            assert!(!program.is_empty() && program.len() % 8 == 0 && program.len() / 8 <= 4096);
            let last = &program[program.len() - 8..];
            assert_eq!(last[0], 0x06, "the last instruction is a return");
        }
    }
}
