"""The check of a query before DuckDB runs it: one statement, which reads the offered tables with listed functions.

The jail and the locked engine confine what runs. The check turns mistakes into errors that say what to change, so a
query that only DuckDB can parse still runs.
"""

import difflib

import duckdb
import sqlglot
from sql_functions import KNOWN, OTHERS, TABLES
from sqlglot import exp

# Maximum bytes of a query, and levels of its tree.
MAX_BYTES, MAX_DEPTH = 20 * 1024, 100
_MAX_NEAR = 5

# Parts that no query has.
WRITES = tuple(getattr(exp, name) for name in (
    "Insert", "Update", "Delete", "Merge", "Create", "Drop", "Alter", "Copy", "Attach", "Detach", "Set", "Pragma",
    "Use", "Command", "Into", "Lock", "TruncateTable", "Transaction", "Commit", "Rollback", "Describe", "Show", "Summarize", "Kill",
    "Analyze", "Grant", "Cache", "Uncache", "LoadData", "Comment", "Execute", "Install") if hasattr(exp, name))
PARAMETERS = (exp.Parameter, exp.Placeholder, exp.SessionParameter)


class SqlError(Exception):
    """A query that is not run, or that failed.

    `code` is `empty`, `too_long`, `too_deep`, `not_one_query`, `no_query`, `parameter`, `qualified_table`,
    `unknown_table`, `unknown_column`, `function`, `syntax`, `doubled_total`, `timeout`, `too_large` or `failed`. `name`
    is the wrong name, `near` are names that exist, `detail` is a sentence of the parser or the engine, and `line` and
    `column` are the place, from 1.
    """

    def __init__(self, code, name="", near=(), detail="", place=(None, None)):
        super().__init__(code)
        self.code, self.name, self.near, self.detail = code, name, list(near), detail
        self.line, self.column = place

    def to_json(self):
        return {"code": self.code, "name": self.name, "near": self.near, "detail": self.detail, "line": self.line,
                "column": self.column}


def check_sql(sql, tables):
    """Returns the tree of a query, or None if sqlglot cannot parse what DuckDB can. Raises `SqlError`.

    `tables` are the names of the offered tables.
    """
    if len(sql.encode("utf-8", "replace")) > MAX_BYTES:
        raise SqlError("too_long")
    if not sql.strip() or "\0" in sql:
        raise SqlError("empty" if not sql.strip() else "syntax")
    _check_statements(sql)
    tree = _parse(sql)
    if tree is None:
        return None
    if depth_exceeds(tree, MAX_DEPTH):
        raise SqlError("too_deep")
    if not isinstance(tree, (exp.Query, exp.Values)):
        raise SqlError("no_query")
    for node in tree.walk():
        _check_node(node, tree, tables)
    return tree


def _check_statements(sql):
    """Has DuckDB parse the text, without running it."""
    with duckdb.connect(":memory:", config={"threads": 1}) as engine:
        try:
            statements = engine.extract_statements(sql)
        except duckdb.Error as error:
            raise explain_error(error) from error
    if len(statements) != 1:
        raise SqlError("not_one_query" if statements else "empty")
    if statements[0].type != duckdb.StatementType.SELECT:
        raise SqlError("no_query")


def _parse(sql):
    try:
        trees = [tree for tree in sqlglot.parse(sql, read="duckdb") if tree is not None]
    except RecursionError as error:
        raise SqlError("too_deep") from error
    except (sqlglot.errors.SqlglotError, ValueError):
        return None
    if len(trees) != 1:
        raise SqlError("not_one_query")
    return trees[0]


def depth_exceeds(tree, most):
    level = [tree]
    for _ in range(most):
        level = [child for node in level for child in node.iter_expressions()]
        if not level:
            return False
    return True


def _check_node(node, tree, tables):
    if isinstance(node, WRITES):
        raise SqlError("no_query")
    if isinstance(node, PARAMETERS):
        raise SqlError("parameter")
    if isinstance(node, exp.Table):
        _check_table(node, tables)
    elif isinstance(node, exp.Anonymous):
        if node.name.lower() not in OTHERS:
            raise SqlError("function", node.name, find_near(node.name, _name_functions()))
    elif isinstance(node, exp.Func) and type(node).__name__ not in KNOWN:
        raise SqlError("function", node.sql_names()[0].lower())


def _name_functions():
    """Returns the names under which DuckDB has the listed functions."""
    with duckdb.connect(":memory:", config={"threads": 1}) as engine:
        names = engine.execute("SELECT DISTINCT function_name FROM duckdb_functions()").fetchall()
    known = {name.lower() for kind in KNOWN for name in getattr(exp, kind).sql_names()}
    return sorted(OTHERS | known & {name for (name,) in names})


def _check_table(node, tables):
    if isinstance(node.this, exp.Func):
        name = node.this.name if isinstance(node.this, exp.Anonymous) else type(node.this).__name__
        if name not in TABLES:
            raise SqlError("function", name.lower())
        return
    if node.db or node.catalog:
        raise SqlError("qualified_table", ".".join(filter(None, (node.catalog, node.db, node.name))), sorted(tables))
    name = node.name.casefold()
    if name in (table.casefold() for table in tables) or name in _names_of_ctes(node):
        return
    raise SqlError("unknown_table", node.name, find_near(node.name, tables) or sorted(tables))


def _names_of_ctes(node):
    """Returns the names that the enclosing queries define."""
    names = set()
    while node is not None:
        clause = node.args.get("with_") or node.args.get("with")
        if clause is not None:
            names |= {cte.alias.casefold() for cte in clause.expressions}
        node = node.parent
    return names


def find_near(name, names):
    by_key = {other.casefold(): other for other in names}
    found = difflib.get_close_matches(name.casefold(), list(by_key), _MAX_NEAR, 0.5)
    inside = [key for key in by_key if key not in found and (name.casefold() in key or key in name.casefold())]
    return [by_key[key] for key in (found + inside)[:_MAX_NEAR]]


# Errors of DuckDB


def explain_error(error, find_columns=lambda name: []):
    """Returns the `SqlError` for an exception of DuckDB. `find_columns` returns the columns that a wrong name may mean."""
    import re

    text = f"{error}"
    detail = text.split("\n\nLINE ")[0].split("\nCandidate bindings")[0].split("\nDid you mean")[0]
    place = _find_place(text)
    if isinstance(error, duckdb.InterruptException):
        return SqlError("timeout")
    if isinstance(error, duckdb.OutOfMemoryException):
        return SqlError("too_large")
    column = re.search(r'(?:column|Column|column named) "([^"]+)"', detail)
    if isinstance(error, duckdb.BinderException) and ("not found" in detail or "does not have a column" in detail):
        name = column[1].rpartition(".")[2] if column else ""
        return SqlError("unknown_column", name, find_columns(name), detail, place)
    missing = re.search(r"(Table|Function|Macro) with name (\S+) does not exist", detail)
    if missing:
        code = "unknown_table" if missing[1] == "Table" else "function"
        return SqlError(code, missing[2], (), detail, place)
    if "depth" in detail:
        return SqlError("too_deep")
    code = "syntax" if isinstance(error, duckdb.ParserException) else "failed"
    return SqlError(code, detail=detail[:500], place=place)


def _find_place(text):
    """Returns the line and the column at which DuckDB's message points."""
    import re

    found = re.search(r"\nLINE (\d+): (.*)\n( *)\^", text)
    if not found:
        return None, None
    prefix = len(f"LINE {found[1]}: ")
    return int(found[1]), max(1, len(found[3]) - prefix + 1)
