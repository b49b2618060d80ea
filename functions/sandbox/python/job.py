"""A forked child and its job: the child enters the jail, and only then reads its task."""

import json
import os

import jail
import job_kinds
import private_root

# The exit status of a child that could not be jailed.
UNJAILED = 91
# The first byte of a child's value, written after entering the jail.
JAILED = b" "


class Descriptors:
    """The descriptors of a job, in the order of arrival.

    `task` yields `{"kind", "arguments"}` as JSON, `output` takes printed text, and `value` takes the result as JSON.
    `state` yields the variables of the previous block, and `new_state` takes the variables for the next block.
    `folder` is the job's folder, with `work` and `tmp`.
    """

    NAMES = ("task", "output", "value", "state", "new_state", "folder")

    def __init__(self, received):
        for name, descriptor in zip(self.NAMES, received, strict=True):
            setattr(self, name, descriptor)


def run_job(number, seconds, descriptors, greeting, reads_cgroup):
    """Runs a job in the calling process, which ends with the job. `greeting` is the zygote's greeting. With
    `reads_cgroup`, the job may read the limits of its control group, as DuckDB does."""
    status = UNJAILED
    try:
        _take_standard_streams(descriptors.output)
        jail.close_descriptors([getattr(descriptors, name) for name in Descriptors.NAMES if name != "output"])
        if greeting.walls.private_root:
            private_root.mount_job_folder(descriptors.folder)
            os.chdir(f"{private_root.JOB_FOLDER}/work")
        else:
            os.fchdir(descriptors.folder)
            os.chdir("work")
        os.close(descriptors.folder)
        scratch = os.path.join(os.path.dirname(os.getcwd()), "tmp")
        os.environ.clear()
        os.environ.update(HOME=scratch, LANG="C.UTF-8", TZ="UTC", TMPDIR=scratch)
        readable = [*greeting.readable, *(jail.CGROUP_PLACES if reads_cgroup else ())]
        jail.lock(greeting.walls, number, seconds, (os.getcwd(), scratch), readable, greeting.programs,
                  greeting.needs_file_wall)
        # From here on, foreign code may write anything, but cannot claim that it was not jailed.
        os.write(descriptors.value, JAILED)
        status = 1
        _perform(descriptors)
        status = 0
    except (jail.JailError, OSError) as error:
        if status == UNJAILED:
            os.write(2, f"{error}".encode())
    finally:
        os._exit(status)


def _take_standard_streams(output):
    os.setsid()
    nothing = os.open("/dev/null", os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)


def _perform(descriptors):
    with os.fdopen(descriptors.task, encoding="utf-8") as file:
        task = json.load(file)
    value = job_kinds.perform(task["kind"], task["arguments"], descriptors.state, descriptors.new_state)
    with os.fdopen(descriptors.value, "w", encoding="utf-8", errors="replace") as pipe:
        json.dump(value, pipe, ensure_ascii=False)
