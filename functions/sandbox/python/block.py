"""Runs one block of model-written Python inside the jail, with the state of earlier blocks."""

import ast
import builtins
import errno
import linecache
import os
import re
import socket
import sys
import traceback
import types

from block_state import keep_state, load_state, read_settings
from figures import Figures

# Maximum characters of an error message.
MAX_ERROR = 4_000
# Beginnings of Python's errors about asynchronous code outside of functions.
_AWAIT_OUTSIDE = ("'await' outside", "'async for' outside", "'async with' outside",
                  "asynchronous comprehension outside")


class NobodyTypes(EOFError):
    """Raised when code waits for keyboard input."""


def run_block(code, earlier, state, new_state):
    """Runs `code` in the current folder.

    `earlier` are the previous blocks. Their state is read from the descriptor `state`, and the state after this block
    is written to the descriptor `new_state`.

    Returns `{"error": None | {"kind", "message", "line", "trace", "hint"}, "kept": [names], "lost": [names],
    "empty_figures": [names]}`. `hint` names an explanation of the error (`no_input`, `no_packages`, `no_outside`,
    `no_memory`, `no_magic`, `no_await`, `file_too_large`, `disk_full`, or nothing), `kept` are the variables for the
    next block, `lost` are the values that cannot be kept, and `empty_figures` are files that were not written.
    """
    # A separate module, where pickle finds the classes of the block.
    sys.modules["__main__"] = types.ModuleType("__main__")
    names = sys.modules["__main__"].__dict__
    builtins.input = _refuse_input
    socket.socketpair = _open_pipe
    _seed_chance()
    figures = Figures()
    settings = read_settings()
    try:
        load_state(earlier, state, names)
        error = _execute(code, names, figures)
        error = _save_open(figures) or error
    except MemoryError:
        error = {"kind": "MemoryError", "message": "", "line": None, "trace": [], "hint": "no_memory"}
    sys.stdout.flush()
    sys.stderr.flush()
    defined = _defined_names([*earlier, code] if error is None else earlier)
    kept, lost = keep_state(names, defined, settings, new_state)
    return {"error": error, "kept": kept, "lost": lost, "empty_figures": figures.empty}


def _save_open(figures):
    try:
        figures.save_open()
    except Exception as error:  # Errors while saving figures are part of the result, because the code is foreign.
        return _describe_error(error)
    return None


def _defined_names(blocks):
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for block in blocks for node in ast.parse(block).body if isinstance(node, kinds)}


def _seed_chance():
    """Reseeds the random numbers of this process; all children inherit the same state of NumPy."""
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()


def _refuse_input(prompt=""):
    raise NobodyTypes(f"{prompt}")


class _PipeEnd:
    """An end of a pipe with the socket methods that event loops use to wake up."""

    def __init__(self, descriptor):
        self._descriptor = descriptor

    def fileno(self):
        return self._descriptor

    def setblocking(self, is_blocking):
        os.set_blocking(self._descriptor, is_blocking)

    def recv(self, size):
        return os.read(self._descriptor, size)

    def send(self, data):
        return os.write(self._descriptor, data)

    def close(self):
        os.close(self._descriptor)


def _open_pipe(*_):
    reader, writer = os.pipe()
    return _PipeEnd(reader), _PipeEnd(writer)


def _execute(code, names, figures):
    try:
        tree = ast.parse(code, "<block>")
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        program = compile(tree, "<block>", "exec")
        last_value = last and compile(ast.Expression(last.value), "<block>", "eval")
    except (SyntaxError, ValueError) as error:
        return _describe_syntax_error(error)
    # Tracebacks show the lines of the block.
    linecache.cache["<block>"] = (len(code), None, code.splitlines(keepends=True), "<block>")
    try:
        exec(program, names)
        if last_value is not None:
            value = eval(last_value, names)
            if figures.is_figure(value):
                figures.show(value)
            elif value is not None:
                print(repr(value))
    except SystemExit as leave:
        if leave.code not in (None, 0):
            return {"kind": "SystemExit", "message": f"{leave.code}", "line": None, "trace": [], "hint": ""}
    except BaseException as error:  # Any exception of foreign code is part of the result.
        return _describe_error(error)
    return None


def _describe_syntax_error(error):
    line = getattr(error, "lineno", None)
    shown = (getattr(error, "text", None) or "").rstrip()
    message = f"{getattr(error, 'msg', error)}" + (f": {shown[:200]}" if shown else "")
    hint = _syntax_hint(message, shown.strip())
    return {"kind": type(error).__name__, "message": message, "line": line, "trace": [], "hint": hint}


def _syntax_hint(message, line):
    """Returns a hint for notebook syntax that Python does not support."""
    if re.match(r"(.*=\s*)?[!%]*\s*(python3? -m )?(pip3?|conda|mamba|uv|apt|apt-get) ", line):
        return "no_packages"
    if re.match(r"(\w+\s*=\s*)?!", line):
        return "no_outside"
    if re.match(r"(\w+\s*=\s*)?%", line):
        return "no_magic"
    return "no_await" if message.startswith(_AWAIT_OUTSIDE) else ""


def _describe_error(error):
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == "<block>"]
    kind = "EOFError" if isinstance(error, NobodyTypes) else type(error).__name__
    return {"kind": kind, "message": _message_of(error), "line": own[-1].lineno if own else None,
            "trace": [f"{frame.lineno}: {frame.line}"[:300] for frame in own[-8:]], "hint": _hint(error)}


def _message_of(error):
    try:
        return f"{error}"[:MAX_ERROR]
    except Exception:  # Foreign code formats the error.
        return ""


def _hint(error):
    if isinstance(error, NobodyTypes):
        return "no_input"
    if isinstance(error, ModuleNotFoundError):
        return "no_packages"
    if isinstance(error, MemoryError):
        return "no_memory"
    if isinstance(error, OSError) and error.errno in (errno.EPERM, errno.EACCES, errno.EROFS):
        return "no_outside"
    if isinstance(error, FileNotFoundError) and _is_outside(error.filename):
        return "no_outside"
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        return "file_too_large"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "disk_full"
    return ""


def _is_outside(path):
    return isinstance(path, str) and os.path.relpath(path).startswith("..")
