"""A Python process with loaded libraries that forks a jailed child per job.

The zygote imports and forks, and reads no byte of any job: a child receives descriptors, and the parent of this process
reads and writes their other ends. The parent and the zygote exchange packets of JSON over the zygote's standard input,
a socket:

- in, once: `{"sandbox": "code" or "documents", "programs": [base64 of a seccomp program], "fonts": [paths],
  "needs_file_wall", "max_landlock", "mount_point": path of an empty folder, or null for no private root}`;
- out, once: `{"walls": {...}}`, see `jail.Walls`;
- in: `{"job": number, "seconds", "reads_cgroup"}` with the descriptors of `job.Descriptors`, `folder` only without a private root;
- out: `{"job", "pid"}` with a descriptor of the child and, with a private root, its folder; or `{"job", "problem"}`;
- out: `{"job", "status"}` when the child has ended, with the status of `waitpid`.

With `--walls SETTINGS`, the process prints the walls that this kernel grants, and ends.

When the socket is closed, the zygote kills its children and ends. When the zygote is killed, its children continue.
"""

import base64
import json
import os
import selectors
import signal
import socket
import sys

# Python is isolated and does not search beside this file by itself.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import jail  # noqa: E402
import private_root  # noqa: E402

# Maximum bytes of a packet; the seccomp programs take the most.
MAX_PACKET = 128 * 1024


class Greeting:
    """The parameters for starting children."""

    def __init__(self, settings):
        self.sandbox = settings["sandbox"]
        self.programs = [base64.b64decode(program) for program in settings["programs"]]
        self.fonts, self.needs_file_wall = settings["fonts"], settings["needs_file_wall"]
        self.mount_point = settings["mount_point"]
        self.readable = jail.python_places(self.fonts)
        self.walls = jail.Walls(settings)
        self.try_private_root()

    def try_private_root(self):
        """Checks in a child if the kernel grants a private root, and a separate user for each job."""
        if self.mount_point is None:
            return
        child = os.fork()
        if child == 0:
            self.enter_private_root_and_end()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        self.walls.private_root = status in (_ROOT_WITH_USER, _ROOT_ALONE)
        self.walls.own_user = status == _ROOT_WITH_USER

    def enter_private_root_and_end(self):
        status = _NO_ROOT
        try:
            private_root.gain_mount_right()
            private_root.enter(self.mount_point, self.readable)
            private_root.mount_job_folder(private_root.create_job_folder())
            status = _ROOT_ALONE
            jail.become_job_user(0)
            for place in self.readable:
                os.close(os.open(place, os.O_RDONLY))
            with open(os.__file__, "rb"), open(f"{private_root.JOB_FOLDER}/work/file", "wb"):
                status = _ROOT_WITH_USER
        except OSError:
            pass
        finally:
            os._exit(status)


# The exit status of a child that tried a private root.
_NO_ROOT, _ROOT_ALONE, _ROOT_WITH_USER = 1, 2, 3


class Zygote:
    """The loop over jobs."""

    def __init__(self, channel, greeting):
        self.channel, self.greeting = channel, greeting
        self.selector = selectors.DefaultSelector()
        # The job and the process of each child, by descriptor.
        self.children = {}

    def serve(self):
        """Forks children until the other end of the socket is closed; children at work are then killed."""
        self.selector.register(self.channel, selectors.EVENT_READ)
        try:
            while all(self.handle(key) for key, _ in self.selector.select()):
                pass
        except ConnectionError:
            # The socket was closed before all data was read or sent.
            pass
        for child in self.children:
            signal.pidfd_send_signal(child, signal.SIGKILL)

    def handle(self, key):
        """Handles readable data of a descriptor. Returns false if the socket is closed."""
        if key.fileobj is self.channel:
            return self.read_request()
        self.end_child(key.fd)
        return True

    def read_request(self):
        data, received, _, _ = socket.recv_fds(self.channel, MAX_PACKET, 16)
        if not data:
            return False
        request = json.loads(data)
        number = request["job"]
        try:
            if self.greeting.walls.private_root:
                received.append(private_root.create_job_folder())
            self.fork_child(request, job.Descriptors(received))
        except OSError as error:
            self.send({"job": number, "problem": f"{error}"})
        finally:
            for descriptor in received:
                os.close(descriptor)
        return True

    def fork_child(self, request, descriptors):
        number = request["job"]
        child = os.fork()
        if child == 0:
            self.children.clear()
            reads_cgroup = request["reads_cgroup"] and self.greeting.sandbox == job_kinds.DOCUMENTS
            job.run_job(number, request["seconds"], descriptors, self.greeting, reads_cgroup)
        process = os.pidfd_open(child)
        sent = [process, descriptors.folder] if self.greeting.walls.private_root else [process]
        self.send({"job": number, "pid": child}, sent)
        self.children[process] = (number, child)
        self.selector.register(process, selectors.EVENT_READ)

    def end_child(self, process):
        number, child = self.children.pop(process)
        _, status = os.waitpid(child, 0)
        self.selector.unregister(process)
        os.close(process)
        self.send({"job": number, "status": status})

    def send(self, message, descriptors=()):
        socket.send_fds(self.channel, [json.dumps(message).encode()], descriptors)


def read_greeting(channel):
    data = channel.recv(MAX_PACKET)
    return Greeting(json.loads(data)) if data else sys.exit(0)


def print_walls(settings):
    """Prints the walls that this kernel grants, as JSON."""
    print(json.dumps(Greeting(settings).walls.to_json()))


def main():
    channel = socket.socket(fileno=os.dup(0))
    nothing = os.open("/dev/null", os.O_RDWR)
    os.dup2(nothing, 0)
    greeting = read_greeting(channel)
    if greeting.walls.private_root:
        # Before a library starts a thread, because namespaces require a single thread.
        private_root.gain_mount_right()
    jail.hide_memory()
    job_kinds.load_libraries(greeting.sandbox, greeting.fonts)
    if greeting.walls.private_root:
        private_root.enter(greeting.mount_point, greeting.readable)
    zygote = Zygote(channel, greeting)
    zygote.send({"walls": greeting.walls.to_json()})
    zygote.serve()


# Lets users of jobs access created files, regardless of this process's umask.
os.umask(0o022)

if __name__ == "__main__" and sys.argv[1:2] == ["--walls"]:
    print_walls(json.loads(sys.argv[2]))
elif __name__ == "__main__":
    import job
    import job_kinds

    main()
