"""Kernel calls that Python's own modules do not offer, by number if the C library has no function."""

import ctypes
import os

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long

# Calls since Linux 5.2 have the same number on every architecture (include/uapi/asm-generic/unistd.h).
_NUMBERS = {
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "mount_setattr": 442,
    "landlock_create_ruleset": 444, "landlock_add_rule": 445, "landlock_restrict_self": 446,
}
# Older calls have different numbers (arch/x86/entry/syscalls/syscall_64.tbl).
_OLDER_NUMBERS = {
    "x86_64": {"capset": 126, "pivot_root": 155, "seccomp": 317, "timer_create": 222, "timer_settime": 223},
    "aarch64": {"capset": 91, "pivot_root": 41, "seccomp": 277, "timer_create": 107, "timer_settime": 110},
}

AT_FDCWD = -100


def _check(result):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def call(name, *arguments):
    """Makes the named call. Raises `OSError`."""
    number = _NUMBERS.get(name) or _OLDER_NUMBERS[os.uname().machine][name]
    # ctypes would pass a Python int as 32 bits.
    wide = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return _check(_LIBC.syscall(ctypes.c_long(number), *wide))


def prctl(option, *arguments):
    """Calls `prctl` with up to four arguments. Raises `OSError`."""
    wide = [ctypes.c_ulong(value) if isinstance(value, int) else value for value in arguments]
    wide += [ctypes.c_ulong(0)] * (4 - len(wide))
    return _check(_LIBC.prctl(option, *wide))


def mount(source, target, kind, flags):
    """Mounts `source` (path or `None`) at the path `target`. Raises `OSError`."""
    source = source and os.fsencode(source)
    kind = kind and kind.encode()
    return _check(_LIBC.mount(source, os.fsencode(target), kind, ctypes.c_ulong(flags), None))


def detach_mount(target):
    """Unmounts the path `target` when it is no longer in use. Raises `OSError`."""
    detach = 2
    return _check(_LIBC.umount2(os.fsencode(target), detach))


def unshare(flags):
    """Moves the calling process into new namespaces. Raises `OSError`."""
    return _check(_LIBC.unshare(flags))
