"""The jail that a forked child enters before it reads a byte of its job.

The walls are resource limits, a user of its own, no capabilities, Landlock (files, TCP, signals and abstract sockets
to the outside), a timer that ends the process, and seccomp programs that allow only listed calls. `private_root` adds
a file system in which only Python and the job's own folder have names. Landlock does not cover stat, chmod, chown,
utime and xattr; the private root and the seccomp programs do.
"""

import ctypes
import errno
import os
import resource
import signal
import struct
import sys
import sysconfig

import kernel
import private_root

_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_SECCOMP_SET_MODE_FILTER = 1
_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY = 63
_CLOCK_MONOTONIC = 1
_SIGEV_SIGNAL = 0

# Rights on files, by the version of the ABI that supports them (include/uapi/linux/landlock.h).
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK = 1 << 6, 1 << 9, 1 << 10, 1 << 11
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_FILE_RIGHTS = {1: (1 << 13) - 1, 2: 1 << 13, 3: _TRUNCATE, 5: _IOCTL_DEV}
_READ = _READ_FILE | _READ_DIR
_NOT_IN_JOB = _EXECUTE | _MAKE_CHAR | _MAKE_SOCK | _MAKE_FIFO | _MAKE_BLOCK | _IOCTL_DEV
_RULE_PATH_BENEATH = 1
_SCOPES_SINCE = 6

MEMORY_BYTES = 1536 * 1024 * 1024
FILE_BYTES = 64 * 1024 * 1024
OPEN_FILES = 128
# Maximum threads of a job; the C library makes each thread a task of the kernel.
THREADS = 128
# Seconds after the time limit at which the kernel itself ends a job.
TIMER_MARGIN = 5

# Users of jobs if this process is root: a range reserved for services (systemd's DynamicUser).
_FIRST_USER, _USERS = 61_184, 4_000

# Files that extension modules and the C library open late.
_SYSTEM_FOLDERS = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo",
                   "/etc/ld.so.cache", "/etc/localtime", "/dev/urandom", "/dev/zero")

# The limits of a control group, for jobs that count processors by them.
CGROUP_PLACES = ("/proc/self/cgroup", "/sys/fs/cgroup")


class JailError(Exception):
    """A wall could not be set up. No foreign code may run."""


class Walls:
    """The walls that this kernel grants; `settings` may disable some, as on an older kernel.

    `landlock` is the version of the ABI, or 0 without Landlock. With `private_root`, a child sees only the files of
    Python and of its job. With `own_user`, its threads, signals and queues are counted separately.
    """

    def __init__(self, settings):
        self.landlock = min(_landlock_version(), settings["max_landlock"])
        self.seccomp = _has_seccomp()
        self.private_root = self.own_user = False

    def to_json(self):
        return {"python": sys.version.split()[0], **vars(self)}


def _landlock_version():
    try:
        return kernel.call("landlock_create_ruleset", None, 0, 1)
    except OSError:
        return 0


def _has_seccomp():
    # A kernel that supports the operation rejects a null program with EFAULT, any other with EINVAL or ENOSYS.
    try:
        kernel.call("seccomp", _SECCOMP_SET_MODE_FILTER, 0, None)
    except OSError as error:
        return error.errno == errno.EFAULT
    return False


def hide_memory():
    """Hides this process's memory and /proc from other processes of the same user."""
    kernel.prctl(_PR_SET_DUMPABLE, 0)


def python_places(fonts):
    """Returns all paths that code may read: Python, its packages, the system's libraries, `fonts` (paths)."""
    places = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    places += [path for path in sys.path if path] + [sysconfig.get_config_var("LIBDIR")]
    places += [*_SYSTEM_FOLDERS, *fonts]
    places = [os.path.abspath(place) for place in places if place and os.path.exists(place)]
    return sorted({*places, *(os.path.realpath(place) for place in places)})


def _limit(kind, most):
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(kind, (most, most))


def _limit_resources(seconds, walls):
    _limit(resource.RLIMIT_AS, MEMORY_BYTES)
    _limit(resource.RLIMIT_FSIZE, FILE_BYTES)
    _limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    # Disables core dumps: one byte is too small for a core, and piped core handlers check for this value (core(5)).
    _limit(resource.RLIMIT_CORE, 1)
    for kind in (resource.RLIMIT_MEMLOCK, resource.RLIMIT_MSGQUEUE, resource.RLIMIT_NICE, resource.RLIMIT_RTPRIO):
        _limit(kind, 0)
    # The timer below needs one signal.
    _limit(resource.RLIMIT_SIGPENDING, THREADS)
    _limit(resource.RLIMIT_NPROC, THREADS if walls.own_user else THREADS + _count_threads())
    # Threads count too; sleeping threads end with the wall clock.
    _limit(resource.RLIMIT_CPU, max(1, int(seconds)) * 4 + 1)


def _count_threads():
    """Counts the threads of this process's user, which share one limit."""
    count = 0
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == os.getuid():
                count += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            continue
    return count


def become_job_user(number):
    """Gives the process a user whose threads and signals are counted separately. Raises `OSError`.

    Root becomes a user that no other active job has, selected by the job's `number`. Other users keep their identity,
    in a user namespace of their own.
    """
    if os.geteuid() != 0:
        kernel.unshare(private_root.CLONE_NEWUSER)
        return
    user = _FIRST_USER + number % _USERS
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def _drop_capabilities():
    # Fails for capabilities that the kernel does not have, and for users who may not drop any.
    for option, value in [(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL),
                          *((_PR_CAPBSET_DROP, capability) for capability in range(_LAST_CAPABILITY + 1))]:
        try:
            kernel.prctl(option, value)
        except OSError:
            continue


def _forgo_capabilities():
    kernel.call("capset", struct.pack("=Ii", _CAPABILITY_VERSION_3, 0), bytes(24))


def _end_by_timer(seconds):
    event = struct.pack("=qii48x", 0, signal.SIGKILL, _SIGEV_SIGNAL)
    timer = ctypes.c_int()
    kernel.call("timer_create", _CLOCK_MONOTONIC, event, ctypes.byref(timer))
    expiry = struct.pack("=qqqq", 0, 0, int(seconds) + TIMER_MARGIN, 0)
    kernel.call("timer_settime", timer.value, 0, expiry, None)


def _allow_beneath(ruleset, path, rights):
    folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not os.path.isdir(path):
            rights &= _READ_FILE | _WRITE_FILE | _TRUNCATE
        rule = struct.pack("=Qi", rights, folder)
        kernel.call("landlock_add_rule", ruleset, _RULE_PATH_BENEATH, rule, 0)
    finally:
        os.close(folder)


def _restrict_files(version, writable, readable):
    rights = 0
    for since, more in _FILE_RIGHTS.items():
        rights |= more if version >= since else 0
    # Bind and connect of TCP since version 4; abstract sockets and signals since version 6.
    network = 3 if version >= 4 else 0
    scopes = 3 if version >= _SCOPES_SINCE else 0
    attributes = struct.pack("=QQQ", rights, network, scopes)
    size = 24 if version >= _SCOPES_SINCE else 16 if version >= 4 else 8
    ruleset = kernel.call("landlock_create_ruleset", attributes, size, 0)
    for path in writable:
        _allow_beneath(ruleset, path, rights & ~_NOT_IN_JOB)
    _allow_beneath(ruleset, "/dev/null", _READ_FILE | _WRITE_FILE)
    for path in readable:
        # In a private root, control groups have no path.
        if os.path.exists(path):
            _allow_beneath(ruleset, path, _READ)
    kernel.call("landlock_restrict_self", ruleset, 0)
    os.close(ruleset)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


def _filter_calls(programs):
    for program in programs:
        memory = ctypes.create_string_buffer(program, len(program))
        described = _Program(len(program) // 8, ctypes.addressof(memory))
        # The programs restrict prctl too.
        kernel.call("seccomp", _SECCOMP_SET_MODE_FILTER, 0, ctypes.byref(described))


def close_descriptors(kept):
    """Closes every descriptor from 3 on, except these."""
    last = 2
    for descriptor in sorted(kept):
        os.closerange(last + 1, descriptor)
        last = max(last, descriptor)
    os.closerange(last + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def lock(walls, number, seconds, writable, readable, programs, needs_file_wall):
    """Sets up all walls around the calling process, which has one thread and is in its job's folder.

    `number` is the job's number, `writable` and `readable` are paths, and `programs` are seccomp programs (bytes of
    `struct sock_filter`) in the order of installation. Raises `JailError`: no foreign code may run then.
    """
    try:
        if needs_file_wall and not (walls.landlock or walls.private_root):
            raise JailError("this kernel has no wall around files")
        if not programs:
            raise JailError("no seccomp program was given")
        kernel.prctl(_PR_SET_NO_NEW_PRIVS, 1)
        _limit_resources(seconds, walls)
        _drop_capabilities()
        if walls.own_user:
            become_job_user(number)
        _forgo_capabilities()
        # If the folder has no quota, the parent examines the open files of this process.
        kernel.prctl(_PR_SET_DUMPABLE, 0 if walls.private_root else 1)
        _end_by_timer(seconds)
        if walls.landlock:
            _restrict_files(walls.landlock, writable, readable)
        _filter_calls(programs)
    except OSError as error:
        raise JailError(f"{error}") from error
