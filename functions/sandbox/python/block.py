"""Runs one block of a model's Python inside the jail, after what earlier blocks left."""

import ast
import builtins
import errno
import io
import linecache
import os
import pickle
import socket
import sys
import traceback
import types

# Bytes of all variables together that are kept for the next block.
MAX_STATE = 50 * 1024 * 1024
# Characters of an error that are told.
MAX_ERROR = 4_000
# Figures that are saved for somebody who only showed them.
MAX_FIGURES = 20


class NobodyTypes(EOFError):
    """Raised where code waits for somebody at a keyboard."""


def run_block(code, earlier, state, new_state):
    """Runs `code` in the current folder.

    `earlier` are the blocks before it: their imports and definitions run again, without output. The variables that
    the descriptor `state` yields come back, and those of this block are written to the descriptor `new_state`.

    Returns `{"error": None | {"kind", "message", "line", "trace", "hint"}, "kept": [names], "lost": [names]}`:
    `hint` names what there is instead (`no_input`, `no_packages`, `no_outside`, `no_memory`, `file_too_large`,
    `disk_full`, or nothing), `lost` are the variables that are gone with this block.
    """
    # A module of its own, where pickle finds the classes of the block.
    sys.modules["__main__"] = types.ModuleType("__main__")
    names = sys.modules["__main__"].__dict__
    builtins.input = _refuse_input
    socket.socketpair = _open_pipe
    _seed_chance()
    pyplot = _save_shown_figures()
    try:
        blocks = [ast.parse(block) for block in earlier]
        _restore(blocks, state, names)
        error = _execute(code, names)
        _save_open_figures(pyplot)
    except MemoryError:
        error = {"kind": "MemoryError", "message": "", "line": None, "trace": [], "hint": "no_memory"}
    sys.stdout.flush()
    sys.stderr.flush()
    kept, lost = _keep(names, new_state)
    return {"error": error, "kept": kept, "lost": lost}


def _seed_chance():
    """Parts the random numbers of this process from those of all other children, who inherit NumPy's state alike."""
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()


def _refuse_input(prompt=""):
    raise NobodyTypes(f"{prompt}")


class _PipeEnd:
    """An end of a pipe with the methods of a socket that event loops wake themselves up by."""

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


def _execute(code, names):
    try:
        tree = ast.parse(code, "<block>")
    except (SyntaxError, ValueError) as error:
        return _describe_syntax_error(error)
    # A traceback shows the lines of the block.
    linecache.cache["<block>"] = (len(code), None, code.splitlines(keepends=True), "<block>")
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    try:
        exec(compile(tree, "<block>", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<block>", "eval"), names)
            if value is not None:
                print(repr(value))
    except SystemExit as leave:
        if leave.code not in (None, 0):
            return {"kind": "SystemExit", "message": f"{leave.code}", "line": None, "trace": [], "hint": ""}
    except BaseException as error:  # Whatever foreign code raises is its result.
        return _describe_error(error)
    return None


def _describe_syntax_error(error):
    line = getattr(error, "lineno", None)
    shown = (getattr(error, "text", None) or "").rstrip()
    message = f"{getattr(error, 'msg', error)}" + (f": {shown[:200]}" if shown else "")
    return {"kind": type(error).__name__, "message": message, "line": line, "trace": [], "hint": ""}


def _describe_error(error):
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == "<block>"]
    kind = "EOFError" if isinstance(error, NobodyTypes) else type(error).__name__
    return {"kind": kind, "message": _message_of(error), "line": own[-1].lineno if own else None,
            "trace": [f"{frame.lineno}: {frame.line}"[:300] for frame in own[-8:]], "hint": _hint(error)}


def _message_of(error):
    try:
        return f"{error}"[:MAX_ERROR]
    except Exception:  # The error is foreign code too.
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


def _definitions(tree):
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [node for node in tree.body if isinstance(node, kinds)]


def _restore(blocks, state, names):
    """Imports and definitions anew, then the variables; one that fails is as if it had not been."""
    quiet = io.StringIO()
    standard = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = quiet
    try:
        for tree in blocks:
            for node in _definitions(tree):
                try:
                    exec(compile(ast.Module([node], []), "<earlier block>", "exec"), names)
                except Exception:
                    continue
        for name, value in _load(state).items():
            names[name] = value
    finally:
        sys.stdout, sys.stderr = standard


def _load(state):
    with os.fdopen(state, "rb") as file:
        written = file.read()
    try:
        pickled = dict(pickle.loads(written)) if written else {}
    except Exception:  # Foreign code wrote something else.
        pickled = {}
    variables = {}
    for name, value in pickled.items():
        try:
            variables[name] = pickle.loads(value)
        except Exception:
            continue
    return variables


def _is_variable(name, value):
    return not name.startswith("_") and not isinstance(value, type(sys)) and not callable(value)


def _keep(names, new_state):
    """Writes what pickles to the descriptor `new_state`; returns the names of what is kept and what is not."""
    variables = {name: value for name, value in names.items() if _is_variable(name, value)}
    pickled, lost, size = {}, [], 0
    for name, value in variables.items():
        try:
            written = pickle.dumps(value, protocol=5)
        except Exception:
            lost.append(name)
            continue
        if size + len(written) > MAX_STATE:
            lost.append(name)
            continue
        size += len(written)
        pickled[name] = written
    with os.fdopen(new_state, "wb") as file:
        pickle.dump(pickled, file, protocol=5)
    return sorted(pickled), sorted(lost)


def _save_shown_figures():
    """Makes `plt.show()` save what it would show; pyplot, if it is loaded."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
        pyplot.show = lambda *_, **__: _save_open_figures(pyplot)
        pyplot.Figure.savefig = _mark_saved(pyplot.Figure.savefig)
    return pyplot


def _mark_saved(savefig):
    def save(self, *arguments, **options):
        self._djinn_is_saved = True
        return savefig(self, *arguments, **options)
    return save


def _save_open_figures(pyplot):
    if pyplot is None:
        return
    for number in pyplot.get_fignums()[:MAX_FIGURES]:
        figure = pyplot.figure(number)
        if not getattr(figure, "_djinn_is_saved", False) and figure.get_axes():
            name = _free_name("figure")
            figure.savefig(name, dpi=120, bbox_inches="tight")
    pyplot.close("all")


def _free_name(stem):
    number = 1
    while os.path.exists(f"{stem}-{number}.png"):
        number += 1
    return f"{stem}-{number}.png"
