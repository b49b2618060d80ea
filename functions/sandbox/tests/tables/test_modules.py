"""Each module of the sandbox: every name exists, also on paths that no other test takes."""

import builtins
import symtable
import unittest
from pathlib import Path

MODULES = Path(__file__).parents[2] / "python"
# Names that Python gives a module.
GIVEN = {"__file__", "__name__", "__doc__"}


def list_missing(text, name):
    """Returns the names that a module reads and neither defines nor imports."""
    top = symtable.symtable(text, name, "exec")
    known = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    known |= {scope.get_name() for scope in top.get_children()} | set(dir(builtins)) | GIVEN
    missing, scopes = set(), [top]
    while scopes:
        scope = scopes.pop()
        scopes += scope.get_children()
        for symbol in scope.get_symbols():
            is_own = scope is top and symbol.is_assigned()
            if symbol.is_referenced() and (scope is top or symbol.is_global()) and not is_own:
                missing |= {symbol.get_name()} - known
            if symbol.is_declared_global():
                known.add(symbol.get_name())
    return sorted(missing)


class Modules(unittest.TestCase):
    def test_every_name_exists(self):
        paths = sorted(MODULES.glob("*.py"))
        self.assertGreater(len(paths), 50)
        for path in paths:
            with self.subTest(path.name):
                self.assertEqual(list_missing(path.read_text("utf-8"), path.name), [])

    def test_missing_name_is_found_in_functions_and_comprehensions(self):
        for text, missing in [("def f():\n    return x\n", ["x"]), ("import a\ndef f():\n    return [b(c) for c in a.x]\n", ["b"]),
                              ("def f():\n    x = 1\n    def g():\n        return x, len([])\n    return g\n", []),
                              ("try:\n    y = 1\nexcept KeyError as error:\n    print(eror)\n", ["eror"])]:
            self.assertEqual(list_missing(text, "a.py"), missing)


if __name__ == "__main__":
    unittest.main()
