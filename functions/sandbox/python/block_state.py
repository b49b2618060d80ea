"""The state that a block leaves to the next: variables, definitions, and settings of libraries."""

import ast
import contextlib
import io
import os
import pickle
import sys
import types
import warnings

from by_value import ByValuePickler

# Maximum bytes of all variables kept for the next block.
MAX_STATE = 50 * 1024 * 1024


def read_settings():
    """Returns the settings of loaded libraries, by library and name."""
    settings = {("warnings", "filters"): list(warnings.filters)}
    with _silence():
        return settings | _read_library_settings()


def _read_library_settings():
    settings = {}
    if matplotlib := sys.modules.get("matplotlib"):
        names = [name for name in matplotlib.rcParams if name != "backend"]
        settings |= {("rcParams", name): matplotlib.rcParams[name] for name in names}
    if numpy := sys.modules.get("numpy"):
        settings |= {("numpy", name): value for name, value in numpy.get_printoptions().items()
                     if name != "override_repr"}
    if pandas := sys.modules.get("pandas"):
        from pandas._config import config

        settings |= {("pandas", name): pandas.get_option(name) for name in config._registered_options}
    return settings


def _write_settings(settings):
    for (library, name), value in settings.items():
        with contextlib.suppress(Exception):
            _write_setting(library, name, value)


def _write_setting(library, name, value):
    if library == "warnings":
        warnings.resetwarnings()
        warnings.filters.extend(value)
    elif library == "rcParams":
        sys.modules["matplotlib"].rcParams[name] = value
    elif library == "numpy":
        sys.modules["numpy"].set_printoptions(**{name: value})
    else:
        sys.modules["pandas"].set_option(name, value)


def load_state(earlier, state, names):
    """Fills `names` with the state of the blocks `earlier` from the descriptor `state`.

    Imports run again. Definitions run again if they were not kept; failed definitions are ignored.
    """
    trees = [ast.parse(block) for block in earlier]
    nodes = [node for tree in trees for node in tree.body]
    kept = _read_state(state)
    with _silence():
        for node in nodes:
            is_import = isinstance(node, (ast.Import, ast.ImportFrom))
            if is_import or _definition_name(node) in kept["from_source"]:
                _run_again(node, names)
        for pickled in kept["variables"]:
            names.update(_load(pickled) or {})
        for node in nodes:
            name = _definition_name(node)
            if name is not None and name not in names:
                _run_again(node, names)
        settings = [_load(pickled) or {} for pickled in kept["settings"]]
    # Outside of the silenced part, which restores the warning filters at its end.
    for some in settings:
        _write_settings(some)


def _definition_name(node):
    is_definition = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    return node.name if is_definition else None


def _run_again(node, names):
    with contextlib.suppress(Exception):
        exec(compile(ast.Module([node], []), "<earlier block>", "exec"), names)


def _read_state(state):
    with os.fdopen(state, "rb") as file:
        written = file.read()
    empty = {"variables": [], "settings": [], "from_source": []}
    kept = _load(written) if written else None
    # Foreign code may have written other data.
    is_whole = isinstance(kept, dict) and all(isinstance(kept.get(name), list) for name in empty)
    return kept if is_whole else empty


def keep_state(names, defined, settings_before, new_state):
    """Writes the storable part of `names` and all changed settings to the descriptor `new_state`.

    `defined` are the names that statements of the blocks define. Returns the names of kept and of lost values.
    """
    values = {name: value for name, value in names.items() if not name.startswith("__")}
    settings = {name: value for name, value in read_settings().items()
                if name not in settings_before or not _is_same(value, settings_before[name])}
    with _silence():
        variables, from_source, lost = _pickle_variables(values, defined)
        pickled_settings, lost_settings = _pickle_each(settings, [], MAX_STATE)
    state = {"variables": variables, "settings": pickled_settings, "from_source": from_source}
    with os.fdopen(new_state, "wb") as file:
        pickle.dump(state, file, protocol=pickle.HIGHEST_PROTOCOL)
    kept = [name for name, value in values.items() if name not in lost and _is_plain(name, value)]
    lost = [name for name in lost if not name.startswith("_")]
    return sorted(kept), sorted(lost) + sorted(f"{library} {name}" for library, name in lost_settings)


def _is_same(value, other):
    try:
        return bool(value == other)
    except Exception:
        return False


def _is_plain(name, value):
    return not name.startswith("_") and not isinstance(value, types.ModuleType) and not callable(value)


def _pickle_variables(values, defined):
    """Pickles the variables together, without those that cannot be kept.

    Returns the pickles, the names of definitions that must run again, and the names of lost values.
    """
    together = _pickle(values, [], MAX_STATE)
    if together is not None:
        return [together], [], []
    from_source = [name for name, value in values.items() if name in defined and callable(value)
                   and _pickle({name: value}, [], MAX_STATE) is None]
    definitions = [values[name] for name in from_source]
    rest = {name: value for name, value in values.items() if name not in from_source}
    pickled, lost = _pickle_each(rest, definitions, MAX_STATE)
    return pickled, from_source, lost


def _pickle_each(values, definitions, room):
    """Pickles all separately picklable values together. Returns the pickles, and the keys of all other values."""
    apart, lost = {}, []
    for name, value in values.items():
        pickled = _pickle({name: value}, definitions, room)
        if pickled is None:
            lost.append(name)
        else:
            room -= len(pickled)
            apart[name] = pickled
    together = _pickle({name: values[name] for name in apart}, definitions, MAX_STATE)
    return list(apart.values()) if together is None else [together], lost


class _LimitedFile(io.BytesIO):
    """A file of limited size."""

    def __init__(self, room):
        super().__init__()
        self._room = room

    def write(self, data):
        self._room -= memoryview(data).nbytes
        if self._room < 0:
            raise OverflowError
        return super().write(data)


def _pickle(values, definitions, room):
    """Returns the pickle of `values`, or `None` if the pickle exceeds `room` or cannot be loaded by another process."""
    file = _LimitedFile(room)
    try:
        ByValuePickler(file, definitions).dump(values)
    except BaseException:  # Pickling runs foreign code.
        return None
    pickled = file.getvalue()
    with _other_main(definitions):
        return None if _load(pickled) is None else pickled


@contextlib.contextmanager
def _other_main(definitions):
    """Replaces `__main__` by a module with only these definitions, as in the next process."""
    own = sys.modules["__main__"]
    other = sys.modules["__main__"] = types.ModuleType("__main__")
    other.__dict__.update({definition.__name__: definition for definition in definitions})
    try:
        yield
    finally:
        sys.modules["__main__"] = own


def _load(pickled):
    try:
        return pickle.loads(pickled)
    except BaseException:  # Loading runs foreign code.
        return None


@contextlib.contextmanager
def _silence():
    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
