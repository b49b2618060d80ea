"""Tables with a rule: a view over a file, without the columns and rows that a caller may not have."""

import os

import duckdb
from engine import open_engine, quote_name, quote_text
from extract import Unreadable
from read_tables import describe_columns, kind_of_type, read_tables, write_parquet


class RuleError(Exception):
    """A rule that does not fit its file; the message is for the deployment's operator."""


def read_ruled_table(path, name, rule):
    """Reads a file as one table, as `read_tables.read_tables` does. The written Parquet file has the visible columns and
    rows alone.

    `rule` has `table` (the name for SQL), `source` (the name of the file, whose tables `sql` may name), `sheet`, `sql` (a
    query; else the table of the file), `rows` (a condition with `{user}` and `{tenant}`), `user`, `tenant`, `hidden`,
    `sampled` and `known` (names of columns; an unknown one is an error). `problem` may also be `broken_rule`, with
    `detail`.
    """
    found = read_tables(path, rule["source"])
    if found["problem"]:
        return found
    result = {"tables": [], "notes": [], "problem": ""}
    try:
        result |= {"tables": [_apply_rule(found["tables"], rule)], "notes": _without_values(found["notes"], rule)}
    except RuleError as error:
        result |= {"problem": "broken_rule", "detail": f"{error}"}
    except Unreadable as error:
        result |= {"problem": f"{error}"}
    # A written file is a product of the job, and these have the columns and rows that the caller may not have.
    kept = {table["parquet"] for table in result["tables"]}
    for whole in {table["parquet"] for table in found["tables"]} - kept - {""}:
        os.remove(whole)
    return result


def _apply_rule(tables, rule):
    source = _choose_table(tables, rule)
    with open_engine() as engine:
        for table in tables:
            if table["parquet"]:
                engine.execute(f"CREATE VIEW {quote_name(table['table'])} AS "
                               f"SELECT * FROM read_parquet({quote_text(table['parquet'])})")
        body = rule["sql"] or f"SELECT * FROM {quote_name(source['table'])}"
        try:
            found = engine.execute(f"DESCRIBE SELECT * FROM (\n{body}\n) AS whole").fetchall()
            names = {name.casefold(): name for name, *_ in found}
            chosen = _list_visible(names, rule)
            columns = ", ".join(f"CAST({quote_name(name)} AS VARCHAR) AS {quote_name(name)}"
                                if kind_of_type(f"{sql_type}") == "text" else quote_name(name)
                                for name, sql_type, *_ in found if name in chosen)
            condition = _fill_condition(rule)
            engine.execute(f"CREATE TABLE data AS SELECT {columns} FROM (\n{body}\n) AS whole WHERE (\n{condition}\n)")
        except duckdb.OutOfMemoryException as error:
            raise Unreadable("too_large") from error
        except duckdb.Error as error:
            raise RuleError(f"{error}") from error
        kinds = [kind_of_type(f"{sql_type}") for name, sql_type, *_ in found if name in chosen]
        [(rows,)] = engine.execute("SELECT count(*) FROM data").fetchall()
        sampled = {names[name.casefold()] for name in rule["sampled"]}
        facts = describe_columns(engine, chosen, kinds, sampled)
        parquet = write_parquet(engine)
    read = {} if rule["sql"] else {column["name"]: column for column in source["columns"]}
    for fact in facts:
        known = read.get(fact["name"], {})
        fact |= {"readings": known.get("readings", []), "reason": known.get("reason", "")}
    notes = [] if rule["sql"] else source["notes"]
    return {"table": rule["table"], "sheet": None, "rows": rows, "columns": facts, "parquet": parquet,
            "notes": _without_values(notes, rule)}


def _choose_table(tables, rule):
    if rule["sheet"] is not None:
        named = [table for table in tables if table["sheet"] == rule["sheet"]]
        if not named:
            raise RuleError(f"there is no sheet {rule['sheet']}")
        return named[0]
    if len(tables) > 1 and not rule["sql"]:
        raise RuleError("the workbook has several sheets: name one as `sheet`")
    return tables[0]


def _list_visible(names, rule):
    """Returns the visible columns. A hidden column that is not there may be misspelt, so it is an error."""
    for name in [*rule["hidden"], *rule["sampled"], *rule["known"]]:
        if name.casefold() not in names:
            raise RuleError(f"there is no column {name}")
    hidden = {name.casefold() for name in rule["hidden"]}
    visible = [name for folded, name in names.items() if folded not in hidden]
    if not visible:
        raise RuleError("every column is hidden")
    return visible


def _fill_condition(rule):
    condition = rule["rows"] or "true"
    # The user's name may contain a placeholder.
    parts = [part.replace("{tenant}", quote_text(rule["tenant"])) for part in condition.split("{user}")]
    return quote_text(rule["user"]).join(parts)


def _without_values(notes, rule):
    """Returns notes without the values of hidden columns or rows."""
    if not rule["hidden"] and not rule["rows"]:
        return notes
    hidden = {name.casefold() for name in rule["hidden"]}
    return [note | {"examples": []} for note in notes if note.get("column", "").casefold() not in hidden]
