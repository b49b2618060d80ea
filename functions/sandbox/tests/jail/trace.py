"""Prints the numbers of the system calls that blocks and jobs make, as a JSON list.

Usage: trace.py MODULES FONT < INPUT, where INPUT is `{"blocks": [code], "report": Markdown}` as JSON. A child installs
a seccomp program that has this process asked about every call (seccomp_unotify(2)), and does the jobs outside the jail.
"""

import ctypes
import fcntl
import json
import os
import select
import struct
import sys
import tempfile

sys.path.insert(0, sys.argv[1])

import job_kinds  # noqa: E402

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
SECCOMP = {"x86_64": 317, "aarch64": 277}[os.uname().machine]
PIDFD_GETFD = 438
PR_SET_NO_NEW_PRIVS = 38
SET_MODE_FILTER = 1
# A call that this process was asked about waits for its answer, whatever signals come.
NEW_LISTENER, WAIT_KILLABLE_RECV = 8, 32
# BPF_RET | BPF_K with SECCOMP_RET_USER_NOTIF.
ASK = struct.pack("=HBBI", 0x06, 0, 0, 0x7FC0_0000)
RECEIVE, SEND = 0xC050_2100, 0xC018_2101
CONTINUE = 1
# The first free descriptor of the child, where its listener comes to be.
LISTENER = 3


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


def be_asked_about():
    LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    memory = ctypes.create_string_buffer(ASK, len(ASK))
    program = Program(1, ctypes.addressof(memory))
    LIBC.syscall(SECCOMP, SET_MODE_FILTER, NEW_LISTENER | WAIT_KILLABLE_RECV, ctypes.byref(program))


def do_jobs(blocks, report):
    for code in blocks:
        def run(code=code):
            nothing = os.open("/dev/null", os.O_RDWR)
            job_kinds.perform("python", {"code": code, "earlier": []}, os.dup(nothing), nothing)
        in_a_child(run)
    documents = {"html": "r.html", "ppt": "d.html", "docx": "r.docx", "pptx": "r.pptx", "pdf": "r.pdf"}
    for form, name in documents.items():
        def make_and_read(form=form, name=name):
            perform("render", format=form, name=name, text=report, title="t", language="en")
            perform("look", names=[name], language="zh")
            perform("extract", name=name, offset=0, limit=1000, language="en")
        in_a_child(make_and_read)

    def see():
        import pandas
        from PIL import Image

        Image.new("RGB", (4000, 3000)).save("a.png")
        Image.new("RGB", (4000, 3000)).save("a.jpg")
        pandas.DataFrame({"a": [1]}).to_excel("a.xlsx")
        with open("a.csv", "w") as file:
            file.write("a,b\n1,2\n")
        perform("scale", names=["a.png", "a.jpg"], max_edge=2000, max_bytes=1_000_000)
        perform("look", names=["a.png", "a.xlsx", "a.csv"], language="zh")
    in_a_child(see)


def perform(kind, **arguments):
    job_kinds.perform(kind, arguments, None, None)


def in_a_child(work):
    child = os.fork()
    if child == 0:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            os.environ.update(HOME=folder, TMPDIR=folder)
            work()
        os._exit(0)
    os.waitpid(child, 0)


def listen(child):
    """Lets every call of a process and its children pass, and returns their numbers."""
    process = os.pidfd_open(child)
    listener = -1
    while not is_listener(listener):
        if listener >= 0:
            os.close(listener)
        listener = LIBC.syscall(PIDFD_GETFD, process, LISTENER, 0)
    calls = set()
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    while True:
        (_, events), = poll.poll()
        if events & select.POLLHUP:
            return calls
        notification = bytearray(80)
        try:
            fcntl.ioctl(listener, RECEIVE, notification)
            identity, number = struct.unpack_from("=Q", notification)[0], struct.unpack_from("=i", notification, 16)[0]
            calls.add(number)
            fcntl.ioctl(listener, SEND, struct.pack("=QqiI", identity, 0, 0, CONTINUE))
        except OSError:
            # The call was interrupted, or its process is gone.
            continue


def is_listener(descriptor):
    """Returns whether a descriptor asks about calls; Python may open a file of its own under that number before."""
    return descriptor >= 0 and os.readlink(f"/proc/self/fd/{descriptor}") == "anon_inode:seccomp notify"


def main():
    given = json.load(sys.stdin)
    for sandbox in (job_kinds.CODE, job_kinds.DOCUMENTS):
        job_kinds.load_libraries(sandbox, sys.argv[2:])
    answers = os.dup2(1, 100)
    nothing = os.open("/dev/null", os.O_RDWR)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    # Whatever the child has there is its listener, then.
    os.closerange(LISTENER, answers)
    child = os.fork()
    if child == 0:
        be_asked_about()
        do_jobs(given["blocks"], given["report"])
        os._exit(0)
    os.write(answers, json.dumps(sorted(listen(child))).encode())


main()
