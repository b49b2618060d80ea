//! The calls to the kernel that the jail refuses, by how it refuses them.

/// Refused with `EPERM`, which ordinary code meets and Python tells as `PermissionError`: network, other
/// processes, signals, queues that outlive the process, and priorities.
#[rustfmt::skip]
pub(super) const REFUSED: &[i64] = &[
    libc::SYS_socket, libc::SYS_connect, libc::SYS_bind, libc::SYS_listen, libc::SYS_accept, libc::SYS_accept4,
    libc::SYS_execve, libc::SYS_execveat,
    #[cfg(target_arch = "x86_64")] libc::SYS_fork,
    #[cfg(target_arch = "x86_64")] libc::SYS_vfork,
    libc::SYS_kill, libc::SYS_tkill, libc::SYS_tgkill, libc::SYS_rt_sigqueueinfo, libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_memfd_create, libc::SYS_mknodat,
    #[cfg(target_arch = "x86_64")] libc::SYS_mknod,
    libc::SYS_shmget, libc::SYS_shmat, libc::SYS_semget, libc::SYS_msgget, libc::SYS_mq_open,
    libc::SYS_setpriority, libc::SYS_ioprio_set, libc::SYS_sched_setscheduler, libc::SYS_sched_setparam,
    libc::SYS_sched_setattr, libc::SYS_sync, libc::SYS_syncfs,
];

/// What code of good faith never calls ends the process.
#[rustfmt::skip]
pub(super) const KILLED: &[i64] = &[
    libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_kcmp,
    libc::SYS_bpf, libc::SYS_userfaultfd, libc::SYS_perf_event_open,
    libc::SYS_keyctl, libc::SYS_add_key, libc::SYS_request_key,
    libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root, libc::SYS_chroot, libc::SYS_unshare, libc::SYS_setns,
    libc::SYS_name_to_handle_at, libc::SYS_open_by_handle_at, libc::SYS_fanotify_init,
    libc::SYS_init_module, libc::SYS_finit_module, libc::SYS_delete_module, libc::SYS_kexec_load,
    libc::SYS_reboot, libc::SYS_swapon, libc::SYS_swapoff, libc::SYS_acct, libc::SYS_syslog, libc::SYS_quotactl,
    libc::SYS_settimeofday, libc::SYS_clock_settime, libc::SYS_adjtimex, libc::SYS_clock_adjtime,
    libc::SYS_sethostname, libc::SYS_setdomainname, libc::SYS_personality, libc::SYS_vhangup,
    libc::SYS_move_pages, libc::SYS_migrate_pages,
    #[cfg(target_arch = "x86_64")] libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")] libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")] libc::SYS_modify_ldt,
];

/// The same, by number: those that came with Linux 5.1 and later have one on every architecture
/// (include/uapi/asm-generic/unistd.h).
#[rustfmt::skip]
pub(super) const KILLED_NUMBERS: &[i64] = &[
    // pidfd_send_signal, io_uring_setup, io_uring_enter, io_uring_register.
    424, 425, 426, 427,
    // open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, pidfd_open, pidfd_getfd.
    428, 429, 430, 431, 432, 433, 434, 438,
    // process_madvise, mount_setattr, quotactl_fd, memfd_secret, process_mrelease, open_tree_attr.
    440, 442, 443, 447, 448, 467,
];

/// Answered as if they had been done. Landlock restricts none of them, and `shutil.copy` calls some.
#[rustfmt::skip]
pub(super) const IGNORED: &[i64] = &[
    #[cfg(target_arch = "x86_64")] libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")] libc::SYS_chown,
    #[cfg(target_arch = "x86_64")] libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")] libc::SYS_utime,
    #[cfg(target_arch = "x86_64")] libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")] libc::SYS_futimesat,
    libc::SYS_fchmod, libc::SYS_fchmodat, libc::SYS_fchown, libc::SYS_fchownat, libc::SYS_utimensat,
    libc::SYS_setxattr, libc::SYS_lsetxattr, libc::SYS_fsetxattr,
    libc::SYS_removexattr, libc::SYS_lremovexattr, libc::SYS_fremovexattr,
];

/// The same, by number: fchmodat2, setxattrat, removexattrat, file_setattr.
pub(super) const IGNORED_NUMBERS: &[i64] = &[452, 463, 466, 469];

/// Answered with `ENOSYS`: clone3, whose flags no filter can see, so that the C library calls clone.
pub(super) const UNKNOWN: &[i64] = &[435];
