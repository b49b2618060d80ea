"""Pickles definitions of a block by value: functions with their code, classes with their members.

A loaded function uses the variables of the module `__main__`, like the original.
"""

import collections
import dataclasses
import enum
import functools
import importlib
import marshal
import os
import pickle
import sys
import types
import typing

# Values that `dataclasses` compares by identity.
_SINGLETONS = {id(getattr(dataclasses, name)): name for name in
               ("MISSING", "KW_ONLY", "_FIELD", "_FIELD_CLASSVAR", "_FIELD_INITVAR", "_HAS_DEFAULT_FACTORY")}
# Attributes needed at the creation of a class, and attributes set afterwards.
_EARLY = ("__module__", "__qualname__", "__slots__", "__orig_bases__")
_OWN = ("__dict__", "__weakref__", "_abc_impl")
# The flag of classes that are not part of a C program.
_IS_HEAP_TYPE = 1 << 9
# Module paths of every process. This module is imported before a job adds its own paths.
_PLACES = tuple(os.path.abspath(place) + os.sep for place in sys.path)


class ByValuePickler(pickle.Pickler):
    """A pickler that pickles by value everything that cannot be imported.

    `from_source` are classes and functions whose definitions run again before loading.
    """

    def __init__(self, file, from_source):
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._from_source = from_source

    def reducer_override(self, value):
        name = _SINGLETONS.get(id(value))
        if name is not None:
            return _find_singleton, (name,)
        if isinstance(value, type) and value.__flags__ & _IS_HEAP_TYPE:
            return self._reduce_definition(value, _reduce_class)
        if type(value) is types.FunctionType:
            return self._reduce_definition(value, _reduce_function)
        reduce = _REDUCERS.get(type(value))
        return NotImplemented if reduce is None else reduce(value)

    def _reduce_definition(self, value, reduce):
        is_from_source = any(value is definition for definition in self._from_source)
        return NotImplemented if is_from_source or _is_importable(value) else reduce(value)


def _is_importable(value):
    module = sys.modules.get(value.__module__)
    if module is None or module.__name__ == "__main__":
        return False
    _require_lasting(module)
    found = module
    for name in value.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is value


def _require_lasting(module):
    """Raises `PicklingError` for a module in the job's own folder, because the next block would not find the module."""
    path = getattr(module, "__file__", None)
    if path is not None and not os.path.abspath(path).startswith(_PLACES):
        raise pickle.PicklingError(f"{module.__name__} is in the job's folder")


def _reduce_module(module):
    if sys.modules.get(module.__name__) is not module:
        raise pickle.PicklingError(f"{module.__name__} cannot be imported")
    _require_lasting(module)
    return importlib.import_module, (module.__name__,)


def _reduce_function(function):
    variables = function.__globals__.get("__name__")
    if getattr(sys.modules.get(variables), "__dict__", None) is not function.__globals__:
        used = _global_names(function.__code__)
        variables = {name: value for name, value in function.__globals__.items() if name in used}
    names = ("__name__", "__qualname__", "__module__", "__doc__", "__defaults__", "__kwdefaults__", "__annotations__")
    attributes = {name: getattr(function, name) for name in names}
    arguments = marshal.dumps(function.__code__), variables, function.__closure__
    return _make_function, arguments, (attributes, function.__dict__), None, None, _fill_function


def _global_names(code):
    inner = (_global_names(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*inner)


def _make_function(code, variables, closure):
    if isinstance(variables, str):
        variables = importlib.import_module(variables).__dict__
    return types.FunctionType(marshal.loads(code), variables, closure=closure)


def _fill_function(function, state):
    attributes, own = state
    for name, value in attributes.items():
        setattr(function, name, value)
    function.__dict__.update(own)


def _reduce_cell(cell):
    # A cell is empty if its function has not reached the variable yet.
    try:
        contents = (cell.cell_contents,)
    except ValueError:
        contents = ()
    return _make_cell, (), contents, None, None, _fill_cell


def _make_cell():
    return types.CellType()


def _fill_cell(cell, contents):
    if contents:
        cell.cell_contents = contents[0]


def _reduce_class(kind):
    if issubclass(kind, enum.Enum):
        raise pickle.PicklingError("members of an enumeration cannot be created one by one")
    attributes = {name: value for name, value in vars(kind).items()
                  if name not in _OWN and not isinstance(value, types.MemberDescriptorType)}
    if issubclass(kind, tuple) and hasattr(kind, "_fields") and kind.__bases__ == (tuple,):
        plain = vars(collections.namedtuple(kind.__name__, kind._fields))
        arguments = kind.__name__, kind._fields, tuple(kind._field_defaults.values()), kind.__module__
        own = {name: value for name, value in attributes.items() if name not in plain}
        return _make_named_tuple, arguments, own, None, None, _fill_class
    early = {name: attributes.pop(name) for name in _EARLY if name in attributes}
    return _make_class, (type(kind), kind.__name__, kind.__bases__, early), attributes, None, None, _fill_class


def _make_named_tuple(name, fields, defaults, module):
    return collections.namedtuple(name, fields, defaults=defaults, module=module)


def _make_class(kind, name, bases, attributes):
    return types.new_class(name, bases, {"metaclass": kind}, lambda namespace: namespace.update(attributes))


def _fill_class(kind, attributes):
    for name, value in attributes.items():
        setattr(kind, name, value)


def _reduce_cached_function(function):
    return _make_cached_function, (function.__wrapped__, function.cache_parameters())


def _make_cached_function(function, parameters):
    return functools.lru_cache(**parameters)(function)


def _reduce_cached_property(cached):
    return _make_cached_property, (cached.func, cached.attrname)


def _make_cached_property(function, name):
    cached = functools.cached_property(function)
    cached.attrname = name
    return cached


def _make_proxy(mapping):
    return types.MappingProxyType(mapping)


def _reduce_type_variable(variable):
    options = {"bound": variable.__bound__, "covariant": variable.__covariant__,
               "contravariant": variable.__contravariant__}
    return _make_type_variable, (variable.__name__, variable.__constraints__, options)


def _make_type_variable(name, constraints, options):
    return typing.TypeVar(name, *constraints, **options)


def _find_singleton(name):
    return getattr(dataclasses, name)


_REDUCERS = {
    types.ModuleType: _reduce_module,
    types.CellType: _reduce_cell,
    types.MappingProxyType: lambda proxy: (_make_proxy, (dict(proxy),)),
    property: lambda value: (property, (value.fget, value.fset, value.fdel, value.__doc__)),
    staticmethod: lambda value: (staticmethod, (value.__func__,)),
    classmethod: lambda value: (classmethod, (value.__func__,)),
    typing.TypeVar: _reduce_type_variable,
    functools._lru_cache_wrapper: _reduce_cached_function,
    functools.cached_property: _reduce_cached_property,
}
