"""The jail that a forked child locks itself into before it reads a byte of foreign code or of a foreign file.

Four walls, each of which holds alone against most attacks: resource limits, no capabilities, Landlock
(files, TCP, signals and abstract sockets outward), and seccomp programs that were compiled by whoever
started this process. Landlock covers neither chmod, chown, utime nor xattr; the seccomp programs do.
"""

import ctypes
import errno
import os
import resource
import signal
import struct
import sys
import sysconfig

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long

# The numbers are the same on x86_64 and aarch64 (Linux 5.13, include/uapi/asm-generic/unistd.h).
_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_ADD_RULE = 445
_LANDLOCK_RESTRICT_SELF = 446
_CAPSET = {"x86_64": 126, "aarch64": 91}

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY = 63

# Rights of files, by the version of the ABI that knows them (include/uapi/linux/landlock.h).
_READ_FILE, _READ_DIR, _WRITE_FILE, _TRUNCATE = 1 << 2, 1 << 3, 1 << 1, 1 << 14
_FILE_RIGHTS = {1: (1 << 13) - 1, 2: 1 << 13, 3: _TRUNCATE, 5: 1 << 15}
_READ = _READ_FILE | _READ_DIR
_RULE_PATH_BENEATH = 1

MEMORY_BYTES = 1536 * 1024 * 1024
FILE_BYTES = 64 * 1024 * 1024
OPEN_FILES = 128

# What extension modules and the C library open late.
_SYSTEM_FOLDERS = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo",
                   "/etc/ld.so.cache", "/etc/localtime", "/dev/urandom", "/dev/zero")


class JailError(Exception):
    """A wall could not be put up. Nothing foreign may run then."""


def _call(function, *arguments):
    result = function(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def landlock_version():
    """The version of Landlock's ABI, 0 where the kernel has none."""
    try:
        return _call(_LIBC.syscall, _LANDLOCK_CREATE_RULESET, None, 0, 1)
    except OSError:
        return 0


def has_seccomp():
    """Whether the kernel takes seccomp programs."""
    # A null program is refused with EFAULT by a kernel that knows the mode, with EINVAL by another.
    result = _LIBC.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, None, 0, 0)
    return result == -1 and ctypes.get_errno() == errno.EFAULT


def hide_memory():
    """Keeps others of the same user out of this process's memory and of its /proc."""
    _call(_LIBC.prctl, _PR_SET_DUMPABLE, 0, 0, 0, 0)


def die_with_parent():
    """Has the kernel kill this process when the one that forked it dies."""
    _call(_LIBC.prctl, _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def python_folders(fonts):
    """What code may read: Python, its packages, the system's libraries, and the fonts (paths)."""
    places = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    places += [path for path in sys.path if path] + [sysconfig.get_config_var("LIBDIR")]
    places += [*_SYSTEM_FOLDERS, *fonts]
    return sorted({os.path.realpath(place) for place in places if place and os.path.exists(place)})


def _limit(kind, most):
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(kind, (most, most))


def limit_resources(seconds):
    """Bounds memory, files and processor time (whole seconds); no core is dumped."""
    _limit(resource.RLIMIT_AS, MEMORY_BYTES)
    _limit(resource.RLIMIT_FSIZE, FILE_BYTES)
    _limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_MEMLOCK, 0)
    _limit(resource.RLIMIT_MSGQUEUE, 0)
    # Threads count, too: the wall clock ends whoever sleeps.
    _limit(resource.RLIMIT_CPU, max(1, int(seconds)) * 4 + 1)


def drop_capabilities():
    """Gives up every capability for good, so that root is nobody in particular."""
    _LIBC.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    for capability in range(_LAST_CAPABILITY + 1):
        # Refused for capabilities that the kernel has not, and for those who may not drop any.
        _LIBC.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    _call(_LIBC.syscall, _CAPSET[os.uname().machine], header, bytes(24))


def _allow_beneath(ruleset, path, rights):
    folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not os.path.isdir(path):
            rights &= _READ_FILE | _WRITE_FILE | _TRUNCATE
        rule = struct.pack("=Qi", rights, folder)
        _call(_LIBC.syscall, _LANDLOCK_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0)
    finally:
        os.close(folder)


def restrict_files(version, work, readable):
    """Landlock: `work` to write, `readable` to read, nothing else; no TCP, no signals outward."""
    rights = 0
    for since, more in _FILE_RIGHTS.items():
        rights |= more if version >= since else 0
    # Bind and connect of TCP since version 4; abstract sockets and signals since 6.
    network = 3 if version >= 4 else 0
    scopes = 3 if version >= 6 else 0
    attributes = struct.pack("=QQQ", rights, network, scopes)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _call(_LIBC.syscall, _LANDLOCK_CREATE_RULESET, attributes, size, 0)
    # Whatever is not executed, nor a device, socket or pipe that somebody else might hold.
    _allow_beneath(ruleset, work, rights & ~(1 | 1 << 6 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 15))
    _allow_beneath(ruleset, "/dev/null", _READ_FILE | _WRITE_FILE)
    for path in readable:
        _allow_beneath(ruleset, path, _READ)
    _call(_LIBC.syscall, _LANDLOCK_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


def filter_calls(programs):
    """Seccomp: installs each of these programs (bytes of `struct sock_filter`), for all threads to come."""
    for program in programs:
        memory = ctypes.create_string_buffer(program, len(program))
        described = _Program(len(program) // 8, ctypes.addressof(memory))
        _call(_LIBC.prctl, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(described), 0, 0)


def close_descriptors(kept):
    """Closes every descriptor but these."""
    last = 2
    for descriptor in sorted(kept):
        os.closerange(last + 1, descriptor)
        last = max(last, descriptor)
    os.closerange(last + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def lock(work, readable, programs, seconds, needs_landlock):
    """Puts up all walls around the calling process, which has one thread.

    Raises `JailError`: then nothing foreign may run.
    """
    try:
        hide_memory()
        _call(_LIBC.prctl, _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        limit_resources(seconds)
        drop_capabilities()
        version = landlock_version()
        if version:
            restrict_files(version, work, readable)
        elif needs_landlock:
            raise JailError("this kernel has no Landlock")
        if not programs:
            raise JailError("no seccomp program was given")
        filter_calls(programs)
    except OSError as error:
        raise JailError(f"{error}") from error
