"""A file system with only the files that Python reads: other files and processes have no path in it.

The zygote enters it once, so every child starts there. Each child mounts its own folder at `JOB_FOLDER` in its own
mount namespace, where no other child has a path to it. Needs `CAP_SYS_ADMIN`, or a kernel that grants it within a
user namespace. Needs Linux 5.12.
"""

import os
import socket
import struct

import kernel

# The path of a job's folder inside the jail.
JOB_FOLDER = "/job"
# Maximum bytes and inodes of a job's folder. Deleted files count while they are open.
FOLDER_BYTES = 256 * 1024 * 1024
FOLDER_INODES = 2_100

# The host name inside the jail.
MACHINE_NAME = "sandbox"

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWUSER = 0x10000000
_MS_BIND, _MS_REC, _MS_PRIVATE = 1 << 12, 1 << 14, 1 << 18
_AT_RECURSIVE = 0x8000
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV = 1, 2, 4
_FSCONFIG_SET_STRING, _FSCONFIG_CMD_CREATE = 1, 6
_CLOEXEC = 1
_MOVE_MOUNT_F_EMPTY_PATH = 4
_CAP_SYS_ADMIN = 21

_DEVICES = ("/dev/null", "/dev/urandom", "/dev/zero")


def gain_mount_right():
    """Enters namespaces in which mounts and the host name may change. Raises `OSError`.

    The process must have one thread.
    """
    if _has_capability(_CAP_SYS_ADMIN):
        kernel.unshare(CLONE_NEWNS | CLONE_NEWUTS)
    else:
        user, group = os.geteuid(), os.getegid()
        kernel.unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWUTS)
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    socket.sethostname(MACHINE_NAME)


def _has_capability(number):
    with open("/proc/self/status", encoding="ascii") as status:
        effective = next(line for line in status if line.startswith("CapEff:"))
    return bool(int(effective.split()[1], 16) >> number & 1)


def _write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def enter(mount_point, readable):
    """Creates a root of `readable` (paths, read-only) on the empty folder `mount_point`, and enters it.

    Raises `OSError`.
    """
    kernel.mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    kernel.mount("tmpfs", mount_point, "tmpfs", 0)
    for place in sorted({*readable, *_DEVICES}):
        target = mount_point + place
        # A parent folder may already be mounted as a whole.
        if not os.path.exists(place) or os.path.exists(target):
            continue
        _prepare_target(place, target)
        kernel.mount(place, target, None, _MS_BIND | _MS_REC)
        attributes = _ATTR_NOSUID if place in _DEVICES else _ATTR_NOSUID | _ATTR_NODEV | _ATTR_RDONLY
        kernel.call("mount_setattr", kernel.AT_FDCWD, os.fsencode(target), _AT_RECURSIVE,
                    struct.pack("=QQQQ", attributes, 0, 0, 0), 32)
    os.mkdir(mount_point + JOB_FOLDER)
    # Paths that code and the C library use, each in the job's own folder.
    for name in ("/tmp", "/dev/shm"):
        if not os.path.exists(mount_point + name):
            os.symlink(f"{JOB_FOLDER}/tmp", mount_point + name)
    kernel.call("mount_setattr", kernel.AT_FDCWD, os.fsencode(mount_point), 0,
                struct.pack("=QQQQ", _ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NODEV, 0, 0, 0), 32)
    os.chdir(mount_point)
    kernel.call("pivot_root", b".", b".")
    kernel.detach_mount(".")
    os.chdir("/")


def _prepare_target(place, target):
    if os.path.isdir(place):
        os.makedirs(target)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))


def create_job_folder():
    """Returns the descriptor of a new, unnamed file system for a job, with the folders `work` and `tmp`.

    Raises `OSError`.
    """
    context = kernel.call("fsopen", b"tmpfs", _CLOEXEC)
    try:
        # The owner may be the user of the job, who creates nothing besides the two folders.
        for key, value in (("size", FOLDER_BYTES), ("nr_inodes", FOLDER_INODES), ("mode", "0555")):
            kernel.call("fsconfig", context, _FSCONFIG_SET_STRING, key.encode(), f"{value}".encode(), 0)
        kernel.call("fsconfig", context, _FSCONFIG_CMD_CREATE, None, None, 0)
        folder = kernel.call("fsmount", context, _CLOEXEC, _ATTR_NOSUID | _ATTR_NODEV)
    finally:
        os.close(context)
    for name in ("work", "tmp"):
        os.mkdir(name, dir_fd=folder)
        # The user of the job is not known yet, and no other process has a path to the folder.
        os.chmod(name, 0o777, dir_fd=folder)
    return folder


def mount_job_folder(folder):
    """Mounts a descriptor of `create_job_folder` at `JOB_FOLDER`, for this process only. Raises `OSError`."""
    kernel.unshare(CLONE_NEWNS)
    kernel.call("move_mount", folder, b"", kernel.AT_FDCWD, JOB_FOLDER.encode(), _MOVE_MOUNT_F_EMPTY_PATH)
