"""A Python that has its libraries loaded and forks a jailed child per job.

It speaks lines of JSON: a greeting comes in on standard input, `{"filters": [base64 of a seccomp program],
"needs_landlock": bool, "fonts": [paths]}`, and out goes `{"ready": {...}}`. Then a line per job comes in,
`{"id", "kind", "folder", "seconds", "arguments"}`, and one goes out when it has ended, in any order:
`{"id", "end": "done" | "time" | "disk" | "violation" | "crashed" | "unjailed", "seconds", "output", "value"}`.

The job's folder holds `work`, where the child is, and what is beside it. This process reads no foreign byte.
"""

import base64
import fcntl
import json
import os
import selectors
import signal
import sys
import time

# Python is isolated and looks for nothing beside this file by itself.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import jail  # noqa: E402

# Bytes of output that are kept from its beginning, and as many from its end.
OUTPUT_HALF = 32 * 1024
# Bytes of what a job says of itself.
MAX_VALUE = 4 * 1024 * 1024
# Bytes and files that a job may have in its folder.
MAX_FOLDER = 256 * 1024 * 1024
MAX_FILES = 2_000
# Seconds between two looks at the folders and the clock.
LOOK_AROUND = 0.1


class Output:
    """The beginning and the end of a stream of bytes."""

    def __init__(self):
        self.head, self.tail, self.total = bytearray(), bytearray(), 0

    def add(self, data):
        self.total += len(data)
        room = OUTPUT_HALF - len(self.head)
        self.head += data[:room]
        self.tail += data[room:] if room > 0 else data
        if len(self.tail) > 2 * OUTPUT_HALF:
            del self.tail[:-OUTPUT_HALF]

    def told(self):
        tail = bytes(self.tail[-OUTPUT_HALF:])
        omitted = self.total - len(self.head) - len(tail)
        if not omitted:
            return {"head": (bytes(self.head) + tail).decode(errors="replace"), "omitted": 0, "tail": ""}
        return {"head": self.head.decode(errors="ignore"), "omitted": omitted,
                "tail": tail.decode(errors="ignore")}


class Job:
    """A child at work."""

    def __init__(self, asked, child, output, value):
        self.id, self.folder = asked["id"], asked["folder"]
        self.child, self.pidfd = child, os.pidfd_open(child)
        self.pipes = {output: Output(), value: bytearray()}
        self.output, self.value = self.pipes[output], self.pipes[value]
        self.started = time.monotonic()
        self.until = self.started + asked["seconds"]
        self.end = None

    def take(self, descriptor, data):
        """Keeps what came through a pipe."""
        if self.pipes[descriptor] is self.output:
            self.output.add(data)
        elif len(self.value) <= MAX_VALUE:
            self.value += data

    def kill(self, end):
        """Ends the child, for this reason."""
        self.end = self.end or end
        signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def answer(self, status):
        """The line that tells how it ended, `status` being what the kernel says of the child."""
        value = None
        if self.end is None and os.WIFSIGNALED(status):
            self.end = "violation" if os.WTERMSIG(status) == signal.SIGSYS else "crashed"
        elif self.end is None and not self.value and os.WEXITSTATUS(status) == UNJAILED:
            self.end = "unjailed"
        elif self.end is None:
            try:
                value, self.end = json.loads(self.value), "done"
            except ValueError:
                self.end = "crashed"
        return {"id": self.id, "end": self.end, "seconds": round(time.monotonic() - self.started, 3),
                "output": self.output.told(), "value": value}


# What a child exits with that could not be jailed.
UNJAILED = 91


def folder_is_too_large(folder):
    """Whether a folder holds more than a job may write."""
    size = files = 0
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    files += 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        size += entry.stat(follow_symlinks=False).st_blocks * 512
        except OSError:
            continue
        if files > MAX_FILES or size > MAX_FOLDER:
            return True
    return False


def work_on(asked, output, value, greeting, readable):
    """What the child does, and never returns."""
    status = UNJAILED
    try:
        jail.die_with_parent()
        os.setsid()
        nothing = os.open("/dev/null", os.O_RDONLY)
        for source, target in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        jail.close_descriptors([value])
        os.chdir(os.path.join(asked["folder"], "work"))
        os.environ.clear()
        os.environ.update(HOME=asked["folder"], LANG="C.UTF-8", TZ="UTC", TMPDIR=asked["folder"])
        jail.lock(asked["folder"], readable, greeting["programs"], asked["seconds"],
                  greeting["needs_landlock"])
        # From here on foreign code may say anything, but not that it was not jailed.
        os.write(value, b" ")
        status = 1
        told = jobs().perform(asked["kind"], asked["arguments"], asked["folder"])
        with os.fdopen(value, "w", encoding="utf-8", errors="replace") as pipe:
            json.dump(told, pipe)
        status = 0
    except jail.JailError as error:
        os.write(2, f"{error}".encode())
    finally:
        os._exit(status)


def jobs():
    """What can be done for a job. It is loaded before the first."""
    import job_kinds

    return job_kinds


class Zygote:
    """The loop over jobs."""

    def __init__(self, answers, greeting):
        self.answers, self.greeting = answers, greeting
        self.readable = jail.python_folders(greeting["fonts"])
        self.selector = selectors.DefaultSelector()
        self.jobs = []
        self.asked = bytearray()
        self.is_open = True

    def start(self, asked):
        output_read, output_write = os.pipe()
        value_read, value_write = os.pipe()
        child = os.fork()
        if child == 0:
            work_on(asked, output_write, value_write, self.greeting, self.readable)
        os.close(output_write)
        os.close(value_write)
        job = Job(asked, child, output_read, value_read)
        self.jobs.append(job)
        for descriptor in (output_read, value_read):
            os.set_blocking(descriptor, False)
            self.selector.register(descriptor, selectors.EVENT_READ, (job, self.read_pipe))
        self.selector.register(job.pidfd, selectors.EVENT_READ, (job, self.end_job))

    def read_pipe(self, job, descriptor):
        try:
            data = os.read(descriptor, 64 * 1024)
        except BlockingIOError:
            return
        if data:
            job.take(descriptor, data)
        else:
            self.selector.unregister(descriptor)

    def end_job(self, job, _):
        """The child is gone; nobody else holds the other end of its pipes."""
        _, status = os.waitpid(job.child, 0)
        for descriptor in job.pipes:
            self.read_rest(job, descriptor)
            os.close(descriptor)
        self.selector.unregister(job.pidfd)
        os.close(job.pidfd)
        self.jobs.remove(job)
        self.say(job.answer(status))

    def read_rest(self, job, descriptor):
        try:
            while data := os.read(descriptor, 64 * 1024):
                job.take(descriptor, data)
        except BlockingIOError:
            pass
        if descriptor in self.selector.get_map():
            self.selector.unregister(descriptor)

    def read_jobs(self, _, descriptor):
        data = os.read(descriptor, 1024 * 1024)
        if not data:
            self.is_open = False
            return
        self.asked += data
        while (end := self.asked.find(b"\n")) >= 0:
            line = bytes(self.asked[:end])
            del self.asked[: end + 1]
            self.start(json.loads(line))

    def say(self, told):
        self.answers.write(json.dumps(told) + "\n")
        self.answers.flush()

    def look_around(self):
        now = time.monotonic()
        for job in self.jobs:
            if now > job.until:
                job.kill("time")
            elif folder_is_too_large(job.folder):
                job.kill("disk")

    def serve(self, asked):
        """Answers jobs until nobody can ask for one; whatever is at work then is killed."""
        self.selector.register(asked, selectors.EVENT_READ, (None, self.read_jobs))
        looked = time.monotonic()
        while self.is_open:
            for key, _ in self.selector.select(LOOK_AROUND if self.jobs else None):
                subject, act = key.data
                act(subject, key.fd)
            if time.monotonic() - looked > LOOK_AROUND:
                self.look_around()
                looked = time.monotonic()
        for job in self.jobs:
            job.kill("time")


def open_protocol():
    """Takes standard input and output for the protocol, so that nothing else can write to it."""
    asked, answers = os.dup(0), os.dup(1)
    nothing = os.open("/dev/null", os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    for descriptor in (asked, answers):
        fcntl.fcntl(descriptor, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
    return asked, os.fdopen(answers, "w", encoding="utf-8")


def read_line(descriptor):
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = os.read(descriptor, 1)
        if not byte:
            sys.exit(0)
        line += byte
    return json.loads(line)


def main():
    asked, answers = open_protocol()
    greeting = read_line(asked)
    greeting["programs"] = [base64.b64decode(program) for program in greeting["filters"]]
    jail.hide_memory()
    jobs().load_libraries(greeting["fonts"])
    zygote = Zygote(answers, greeting)
    zygote.say({"ready": {"python": sys.version.split()[0], "landlock": jail.landlock_version(),
                          "seccomp": jail.has_seccomp()}})
    zygote.serve(asked)


if __name__ == "__main__":
    main()
