//! The system calls of the jail, by result. A call in none of these lists fails with `ENOSYS`.

/// Calls of Python, the packages and Djinn's own jobs; `tests/jail/calls.rs` traces the calls. Some depend on
/// their arguments; see [`super::argument_rules`].
#[rustfmt::skip]
pub(super) const ALLOWED: &[i64] = &[
    // Files by descriptor.
    libc::SYS_read, libc::SYS_write, libc::SYS_readv, libc::SYS_writev, libc::SYS_pread64, libc::SYS_pwrite64,
    libc::SYS_close, libc::SYS_close_range, libc::SYS_fstat, libc::SYS_lseek, libc::SYS_ftruncate,
    libc::SYS_fallocate, libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_fadvise64, libc::SYS_fcntl,
    libc::SYS_ioctl, libc::SYS_dup, libc::SYS_dup3, libc::SYS_sendfile, libc::SYS_copy_file_range,
    #[cfg(target_arch = "x86_64")] libc::SYS_dup2,
    // Files by name.
    libc::SYS_openat, libc::SYS_newfstatat, libc::SYS_statx, libc::SYS_faccessat, libc::SYS_faccessat2,
    libc::SYS_readlinkat, libc::SYS_truncate, libc::SYS_unlinkat, libc::SYS_renameat, libc::SYS_renameat2,
    libc::SYS_linkat, libc::SYS_symlinkat, libc::SYS_mkdirat, libc::SYS_getdents64, libc::SYS_getcwd,
    libc::SYS_chdir, libc::SYS_fchdir, libc::SYS_statfs, libc::SYS_fstatfs, libc::SYS_umask,
    #[cfg(target_arch = "x86_64")] libc::SYS_open,
    #[cfg(target_arch = "x86_64")] libc::SYS_stat,
    #[cfg(target_arch = "x86_64")] libc::SYS_lstat,
    #[cfg(target_arch = "x86_64")] libc::SYS_access,
    #[cfg(target_arch = "x86_64")] libc::SYS_readlink,
    #[cfg(target_arch = "x86_64")] libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")] libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")] libc::SYS_rename,
    #[cfg(target_arch = "x86_64")] libc::SYS_link,
    #[cfg(target_arch = "x86_64")] libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")] libc::SYS_mkdir,
    // Memory.
    libc::SYS_mmap, libc::SYS_munmap, libc::SYS_mremap, libc::SYS_mprotect, libc::SYS_madvise, libc::SYS_msync,
    libc::SYS_brk,
    // Threads.
    libc::SYS_clone, libc::SYS_futex, libc::SYS_set_robust_list, libc::SYS_set_tid_address, libc::SYS_rseq,
    libc::SYS_sched_yield, libc::SYS_sched_getaffinity, libc::SYS_sched_setaffinity,
    libc::SYS_gettid, libc::SYS_exit, libc::SYS_exit_group, libc::SYS_prctl,
    // Signals to itself.
    libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn, libc::SYS_rt_sigpending,
    libc::SYS_rt_sigtimedwait, libc::SYS_sigaltstack, libc::SYS_setitimer,
    libc::SYS_getitimer, libc::SYS_restart_syscall,
    #[cfg(target_arch = "x86_64")] libc::SYS_alarm,
    #[cfg(target_arch = "x86_64")] libc::SYS_pause,
    // Waiting.
    libc::SYS_ppoll, libc::SYS_pselect6, libc::SYS_epoll_create1, libc::SYS_epoll_ctl, libc::SYS_epoll_pwait,
    libc::SYS_pipe2, libc::SYS_eventfd2, libc::SYS_nanosleep, libc::SYS_clock_nanosleep,
    #[cfg(target_arch = "x86_64")] libc::SYS_poll,
    #[cfg(target_arch = "x86_64")] libc::SYS_epoll_wait,
    // Facts of the process itself.
    libc::SYS_getpid, libc::SYS_getppid, libc::SYS_getuid, libc::SYS_geteuid, libc::SYS_getgid, libc::SYS_getegid,
    libc::SYS_getresuid, libc::SYS_getresgid, libc::SYS_getgroups, libc::SYS_getrusage, libc::SYS_getrlimit,
    libc::SYS_setrlimit, libc::SYS_prlimit64, libc::SYS_getpgid, libc::SYS_getsid, libc::SYS_getpriority,
    #[cfg(target_arch = "x86_64")] libc::SYS_getpgrp,
    // Time, chance, and the kernel's name.
    libc::SYS_clock_gettime, libc::SYS_clock_getres, libc::SYS_gettimeofday, libc::SYS_times, libc::SYS_getrandom,
    libc::SYS_uname,
];

/// Report success without an effect. Landlock restricts none of these calls, and `shutil.copy` uses some.
/// Locks would fill kernel memory, and no other process shares a job's files. For the other lock calls, see
/// [`super::lock_rules`].
#[rustfmt::skip]
pub(super) const IGNORED: &[i64] = &[
    #[cfg(target_arch = "x86_64")] libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")] libc::SYS_chown,
    #[cfg(target_arch = "x86_64")] libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")] libc::SYS_utime,
    #[cfg(target_arch = "x86_64")] libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")] libc::SYS_futimesat,
    libc::SYS_fchmod, libc::SYS_fchmodat, libc::SYS_fchown, libc::SYS_fchownat, libc::SYS_utimensat, libc::SYS_flock,
    // fchmodat2, missing from the C libraries used for builds.
    452,
];

/// Fail with `EOPNOTSUPP`, as on a file system without extended attributes.
#[rustfmt::skip]
pub(super) const UNSUPPORTED: &[i64] = &[
    libc::SYS_getxattr, libc::SYS_lgetxattr, libc::SYS_fgetxattr,
    libc::SYS_listxattr, libc::SYS_llistxattr, libc::SYS_flistxattr,
    libc::SYS_setxattr, libc::SYS_lsetxattr, libc::SYS_fsetxattr,
    libc::SYS_removexattr, libc::SYS_lremovexattr, libc::SYS_fremovexattr,
];

/// Fail with `EPERM`, a `PermissionError` in Python: network, other processes, signals, and queues that
/// outlive the process.
#[rustfmt::skip]
pub(super) const REFUSED: &[i64] = &[
    libc::SYS_socket, libc::SYS_socketpair, libc::SYS_connect, libc::SYS_bind, libc::SYS_listen,
    libc::SYS_accept, libc::SYS_accept4,
    libc::SYS_execve, libc::SYS_execveat,
    #[cfg(target_arch = "x86_64")] libc::SYS_fork,
    #[cfg(target_arch = "x86_64")] libc::SYS_vfork,
    libc::SYS_kill, libc::SYS_tkill, libc::SYS_tgkill, libc::SYS_rt_sigqueueinfo, libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_memfd_create, libc::SYS_mknodat,
    #[cfg(target_arch = "x86_64")] libc::SYS_mknod,
    libc::SYS_shmget, libc::SYS_shmat, libc::SYS_semget, libc::SYS_msgget, libc::SYS_mq_open,
    libc::SYS_setpriority, libc::SYS_sync, libc::SYS_syncfs, libc::SYS_setsid, libc::SYS_setpgid,
];

/// End the process: legitimate code never makes these calls, and an attack gets no second attempt.
#[rustfmt::skip]
pub(super) const KILLED: &[i64] = &[
    libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_kcmp,
    libc::SYS_bpf, libc::SYS_userfaultfd, libc::SYS_perf_event_open,
    libc::SYS_keyctl, libc::SYS_add_key, libc::SYS_request_key,
    libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root, libc::SYS_chroot, libc::SYS_unshare, libc::SYS_setns,
    libc::SYS_name_to_handle_at, libc::SYS_open_by_handle_at, libc::SYS_fanotify_init,
    libc::SYS_init_module, libc::SYS_finit_module, libc::SYS_delete_module, libc::SYS_kexec_load,
    libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register,
    libc::SYS_pidfd_open, libc::SYS_pidfd_getfd, libc::SYS_pidfd_send_signal,
];
