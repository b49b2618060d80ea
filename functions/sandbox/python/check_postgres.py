"""The check of a query for PostgreSQL: one statement, written again from a tree that has only listed parts.

The database runs the written text with the rights of the connection's user, so nothing passes that is not on a list:
kinds of nodes, types, functions, and the tables of the connection.
"""

import logging

import sqlglot
from check_sql import MAX_BYTES, MAX_DEPTH, PARAMETERS, WRITES, SqlError, depth_exceeds, find_near
from postgres_functions import FUNCTIONS, NODES, TYPES, WORDS
from sqlglot import exp
from sqlglot.tokens import TokenType

_DIALECT = "postgres"
# A warning would repeat the query.
logging.getLogger("sqlglot").setLevel(logging.ERROR)
# Tokens that may stand before a parenthesis without being the name of a function.
_NO_NAMES = (TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER, TokenType.L_PAREN, TokenType.R_PAREN,
             TokenType.COMMA, TokenType.L_BRACKET, TokenType.R_BRACKET)
# Parts of a table in FROM that change no more than its name in the query.
_TABLE_PARTS = {"this", "alias", "joins", "laterals", "ordinality"}


class CheckedQuery:
    """A query that passed: `tree`, `text` (for the database) and `tables` (the names of the tables that it reads)."""

    def __init__(self, tree, text, tables):
        self.tree, self.text, self.tables = tree, text, tables


def check_postgres(sql, tables):
    """Returns the `CheckedQuery` of a query. Raises `SqlError`.

    `tables` have `name` and `columns`, as for `run_queries`.
    """
    if len(sql.encode("utf-8", "replace")) > MAX_BYTES:
        raise SqlError("too_long")
    if not sql.strip() or "\0" in sql:
        raise SqlError("syntax" if sql.strip() else "empty")
    names = [table["name"] for table in tables]
    tree = _parse(sql)
    _check_tree(tree, names)
    _name_exactly(tree, tables)
    text = _write(tree)
    # The written text is what counts, so it is read as strictly as the model's.
    again = _parse(text)
    used = _check_tree(again, names)
    if _write(again) != text:
        raise SqlError("syntax", detail="the query is ambiguous")
    _check_functions(text)
    return CheckedQuery(tree, text, used)


def find_tables(sql):
    """Returns the folded names of all tables in a text; without a tree, of all its words."""
    try:
        trees = [tree for tree in sqlglot.parse(sql, read=_DIALECT) if tree is not None]
    except (sqlglot.errors.SqlglotError, RecursionError, ValueError):
        return {word.casefold() for word in "".join(c if c.isalnum() or c == "_" else " " for c in sql).split()}
    return {table.name.casefold() for tree in trees for table in tree.find_all(exp.Table)}


def _parse(sql):
    try:
        trees = [tree for tree in sqlglot.parse(sql, read=_DIALECT) if tree is not None]
    except RecursionError as error:
        raise SqlError("too_deep") from error
    except sqlglot.errors.ParseError as error:
        fault = error.errors[0] if error.errors else {}
        raise SqlError("syntax", detail=fault.get("description", ""),
                       place=(fault.get("line"), fault.get("col"))) from error
    except (sqlglot.errors.SqlglotError, ValueError) as error:
        # A ValueError is raised for parts that cannot be empty, such as that of date_part('').
        raise SqlError("syntax") from error
    if len(trees) != 1:
        raise SqlError("not_one_query" if trees else "empty")
    return trees[0]


def _write(tree):
    return tree.sql(_DIALECT, identify=True, comments=False)


def _check_tree(tree, names):
    """Returns the names of the offered tables that a tree reads."""
    if depth_exceeds(tree, MAX_DEPTH):
        raise SqlError("too_deep")
    if not isinstance(tree, (exp.Query, exp.Values)):
        raise SqlError("no_query")
    used = set()
    for node in tree.walk():
        _check_node(node)
        if isinstance(node, exp.Table) and not isinstance(node.this, exp.Func):
            used |= _check_table(node, names)
    return sorted(used)


def _check_node(node):
    if isinstance(node, WRITES):
        raise SqlError("no_query")
    if isinstance(node, PARAMETERS):
        raise SqlError("parameter")
    if isinstance(node, exp.With) and node.args.get("recursive"):
        raise _unsupported("WITH RECURSIVE")
    if isinstance(node, exp.CTE) and node.alias.casefold().startswith("pg_"):
        raise _unsupported(node.alias)
    if isinstance(node, exp.DataType):
        if node.this not in TYPES:
            raise SqlError("function", node.sql(_DIALECT).lower())
    elif isinstance(node, exp.Anonymous):
        if not isinstance(node.this, str) or node.name.lower() not in FUNCTIONS:
            raise SqlError("function", node.name, find_near(node.name, FUNCTIONS))
    elif isinstance(node, exp.Func):
        # A function without arguments may be a word, such as CURRENT_USER.
        if not any(node.args.values()) and node.sql(_DIALECT).partition("(")[0].lower() not in FUNCTIONS:
            raise SqlError("function", node.sql_names()[0].lower())
    elif type(node).__name__ not in NODES:
        raise _unsupported(node.key.upper())


def _unsupported(name):
    return SqlError("syntax", detail=f"{name} is not supported over a database")


def _check_table(node, names):
    """Returns the name of an offered table, or nothing for that of an enclosing query."""
    if node.db or node.catalog:
        raise SqlError("qualified_table", ".".join(filter(None, (node.catalog, node.db, node.name))), sorted(names))
    if {key for key, value in node.args.items() if value} - _TABLE_PARTS:
        raise _unsupported(f"this form of {node.name}")
    if _fold(node.this) in _find_ctes(node):
        return set()
    found = [name for name in names if name.casefold() == node.name.casefold()]
    if not found:
        raise SqlError("unknown_table", node.name, find_near(node.name, names) or sorted(names))
    return set(found)


def _find_ctes(node):
    """Returns the names that enclosing queries define before a node: a definition does not see its own name."""
    names, definition, child = set(), None, node
    while child.parent is not None:
        if isinstance(child, exp.CTE):
            definition = child
        clause = child.parent.args.get("with_") or child.parent.args.get("with")
        for cte in clause.expressions if clause is not None else []:
            if child is clause and cte is definition:
                break
            names.add(_fold(cte.args["alias"].this))
        child = child.parent
    return names


def _fold(identifier):
    """Returns the name that PostgreSQL reads: only letters of ASCII are folded, and none in quotation marks."""
    name = identifier.name
    return name if identifier.args.get("quoted") else "".join(c.lower() if c.isascii() else c for c in name)


def _name_exactly(tree, tables):
    """Writes each name as the database has it, because models leave out quotation marks."""
    exact_tables = {table["name"].casefold(): table["name"] for table in tables}
    exact_columns = {column["name"].casefold(): column["name"] for table in tables for column in table["columns"]}
    own = {_fold(node) for node in tree.find_all(exp.Identifier)
           if isinstance(node.parent, (exp.Alias, exp.TableAlias))}
    own |= {column["name"] for table in tables for column in table["columns"]}
    for node in tree.find_all(exp.Identifier):
        name = _fold(node)
        if isinstance(node.parent, exp.Table) and name not in _find_ctes(node.parent):
            name = exact_tables.get(name.casefold(), name)
        elif isinstance(node.parent, exp.Column) and not node.args.get("quoted"):
            known, near = (exact_columns, own) if node.arg_key == "this" else (exact_tables, own)
            name = name if name in near else known.get(name.casefold(), name)
        node.set("this", name)
        node.set("quoted", True)


def _check_functions(text):
    """Raises `SqlError` for a name before a parenthesis that is on no list, however the tree came by it."""
    tokens = sqlglot.tokenize(text, read=_DIALECT)
    for token, following in zip(tokens, tokens[1:]):
        if following.token_type != TokenType.L_PAREN or token.token_type in _NO_NAMES:
            continue
        name = token.text.lower()
        if any(c.isalpha() for c in name) and name not in FUNCTIONS and name not in WORDS:
            raise SqlError("function", name, find_near(name, FUNCTIONS))
