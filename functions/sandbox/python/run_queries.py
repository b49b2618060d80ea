"""Queries over tables in Parquet files: checked, run with limits, and told what an empty or doubled result means."""

import csv
import difflib
import itertools
import json
import threading
import time

import duckdb
from check_postgres import check_postgres, find_tables
from check_sql import SqlError, check_sql, explain_error, find_near
from doubled_totals import find_doubled_total
from engine import lock_engine, open_engine, quote_name, quote_text
from query_chart import choose_chart
from query_facts import QueryFacts, split_conjuncts
from read_tables import kind_of_type, show_value
from sqlglot import exp

# Maximum rows of a view, and bytes of its rows; rows of a result.
MAX_SHOWN_ROWS, MAX_SHOWN_BYTES = 1_000, 200 * 1024
MAX_ROWS = 100_000
_MAX_CSV = 20 * 1024 * 1024
# Values of a column that are compared with the value of a filter, and named at most; columns that an error lists.
_COMPARED_VALUES, _MAX_NEAR, _MAX_LISTED = 5_000, 5, 40
# Conditions of a query over a database that are tried if it has no rows.
_MAX_PROBES = 3


def run_queries(tables, queries, accepted, seconds):
    """Runs queries within `seconds` and returns `{"results"}`, an object for each.

    `tables` have `name`, `columns` with `name` and `type`, and `parquet` (a file in the current folder) or `database`, with
    `connection` and `keys`, lists of columns without equal rows. `queries` have `question` and `sql`. `accepted` are
    queries that were rejected for doubled totals, and now run with a note.

    A result has `sql` and `question`; `error` (see `check_sql.SqlError`) or `columns` (`key`, `name`, `type`, and facts
    of `query_facts`), `filters`, `rows` (a text: a JSON array of arrays), `row_count`, `is_cut`, `shown`, `chart`,
    `notes`, and `file`, the name of a written CSV file. A note has `code`: `doubled_total`, `facts_unknown` or
    `no_rows`. A query over a database is checked, not run: its result has `statement` with `connection`, `text`,
    `tables`, `facts` and `probes` in place of rows, for `fetched_rows.show_fetched`. A probe is a condition: `filter`,
    `text` (the query without it) and, if it is simple, `table`, `column`, `wanted` (its values) and `values_text` (a
    query for the values of the column, or for its `least` and `most`).
    """
    deadline = time.monotonic() + seconds
    in_files = [table for table in tables if table.get("parquet")]
    paths = sorted({table["parquet"] for table in in_files})
    results = []
    with open_engine() as engine:
        for table in in_files:
            name, parquet = quote_name(table["name"]), quote_text(table["parquet"])
            engine.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({parquet})")
        lock_engine(engine, paths)
        runner = QueryRunner(engine, in_files, accepted, deadline)
        runner.shown_bytes = MAX_SHOWN_BYTES // max(1, len(queries))
        checker = DatabaseChecker(tables, accepted)
        for number, query in enumerate(queries, 1):
            chosen = checker if checker.is_meant(query["sql"]) else runner
            results.append(chosen.run(number, query["question"], query["sql"]))
    return {"results": results}


def check_totals(sql, facts, accepted, is_unique):
    """Returns the notes about the totals of a query. Raises `SqlError` for a doubled total that is not accepted."""
    if facts is None or facts.columns is None:
        return [{"code": "facts_unknown"}]
    doubled = find_doubled_total(facts.scope, is_unique)
    if doubled is None:
        return []
    values = {"total": doubled.total, "table": doubled.table, "joined": doubled.joined, "keys": doubled.keys}
    if sql.strip() in accepted:
        return [{"code": "doubled_total", **values}]
    detail = json.dumps(values, ensure_ascii=False)
    raise SqlError("doubled_total", doubled.total, [doubled.table, doubled.joined, *doubled.keys], detail)


class DatabaseChecker:
    """Checks queries over tables of databases."""

    def __init__(self, tables, accepted):
        self.accepted = {sql.strip() for sql in accepted}
        self.tables = {table["name"].casefold(): table for table in tables if table.get("database")}
        self.in_files = {table["name"].casefold() for table in tables if table.get("parquet")}

    def is_meant(self, sql):
        """Returns true for a query that names a table of a database, and for every query without tables in files."""
        return bool(self.tables) and (not self.in_files or not self.tables.keys().isdisjoint(find_tables(sql)))

    def run(self, number, question, sql):
        result = {"question": question, "sql": sql}
        try:
            tables = self._offer_tables(sql)
            checked = check_postgres(sql, tables)
            facts = QueryFacts(checked.tree, tables, "postgres")
            notes = check_totals(sql, facts, self.accepted, self._is_unique)
        except SqlError as error:
            return result | {"error": error.to_json()}
        filtered = checked.tree.find(exp.Where) is not None
        statement = {"connection": tables[0]["database"]["connection"], "text": checked.text, "tables": checked.tables,
                     "facts": facts.columns or [], "has_condition": filtered,
                     "probes": list(itertools.islice(_find_probes(checked.tree, facts, tables), _MAX_PROBES))}
        return result | {"filters": facts.filters, "notes": notes, "statement": statement}

    def _offer_tables(self, sql):
        """Returns the tables of the connection that a query names first: no query reads two."""
        named = find_tables(sql)
        first = next((table for name, table in self.tables.items() if name in named), next(iter(self.tables.values())))
        connection = first["database"]["connection"]
        offered = [table for table in self.tables.values() if table["database"]["connection"] == connection]
        others = named & (self.in_files | self.tables.keys()) - {table["name"].casefold() for table in offered}
        if others:
            raise SqlError("two_sources", sorted(others)[0], [table["name"] for table in offered])
        return offered

    def _is_unique(self, table, columns):
        keys = self.tables[table.casefold()]["database"]["keys"]
        folded = {column.casefold() for column in columns}
        return any({column.casefold() for column in key} <= folded for key in keys)


def _find_probes(tree, facts, tables):
    """Yields the probes of a checked query, see `run_queries`. Their texts are checked as the query was."""
    kinds = {(table["name"], column["name"]): column["type"] for table in tables for column in table["columns"]}
    for part in _list_conditions(tree):
        try:
            text = check_postgres(_write_without(tree, part, "postgres"), tables).text
        except SqlError:
            continue
        probe = {"filter": part.sql("postgres"), "text": text}
        found = _find_filter(part, facts)
        kind = found and kinds.get((found["table"], found["column"]))
        if kind and kind != "boolean":
            table, column = quote_name(found["table"]), quote_name(found["column"])
            values = (f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL LIMIT {_COMPARED_VALUES}"
                      if kind == "text" else f"SELECT min({column}) AS least, max({column}) AS most FROM {table}")
            probe |= {"table": found["table"], "column": found["column"], "wanted": found["values"],
                      "values_text": check_postgres(values, tables).text}
        yield probe


def _list_conditions(tree):
    """Yields the conditions of a query that must all be true."""
    for select in tree.find_all(exp.Select):
        clause = select.args.get("where")
        yield from split_conjuncts(clause.this) if clause else []


def _write_without(tree, part, dialect):
    """Returns a query as text, without one of its conditions."""
    parent, key, index = part.parent, part.arg_key, part.index
    parent.set(key, exp.true(), index)
    try:
        return tree.sql(dialect)
    finally:
        parent.set(key, part, index)


def _find_filter(part, facts):
    """Returns the fact of a condition, if it is simple."""
    wanted = [literal.name for literal in part.find_all(exp.Literal)]
    columns = {column.name.casefold() for column in part.find_all(exp.Column)}
    return next((fact for fact in (facts.filters if facts else []) if fact["column"].casefold() in columns
                 and set(fact["values"]) <= {*wanted, *(f"-{value}" for value in wanted)}), None)


class QueryRunner:
    """Runs queries on a locked connection until the deadline."""

    def __init__(self, engine, tables, accepted, deadline):
        self.engine, self.tables, self.deadline = engine, tables, deadline
        self.shown_bytes = MAX_SHOWN_BYTES
        self.accepted = {sql.strip() for sql in accepted}
        self.names = [table["name"] for table in tables]

    def run(self, number, question, sql):
        result = {"question": question, "sql": sql}
        try:
            tree = check_sql(sql, self.names)
            facts = QueryFacts(tree, self.tables) if tree is not None else None
            notes = check_totals(sql, facts, self.accepted, self._is_unique)
            return result | self._run_checked(number, sql, tree, facts, notes)
        except SqlError as error:
            return result | {"error": error.to_json()}
        except duckdb.Error as error:
            explained = explain_error(error, lambda name: self._find_columns(name, sql)).to_json()
            # The engine ran the query from the second line on.
            explained["line"] = explained["line"] and max(1, explained["line"] - 1)
            return result | {"error": explained}

    def execute(self, sql, count):
        """Returns the description and at most `count` rows of a query, before the deadline."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise SqlError("timeout")
        timer = threading.Timer(left, self.engine.interrupt)
        timer.start()
        try:
            found = self.engine.execute(sql)
            return found.description, found.fetchmany(count)
        finally:
            timer.cancel()

    def _find_columns(self, name, sql):
        """Returns the columns that a wrong name may mean: those of that name with their tables, then those of the query's
        tables that are near, or all of these."""
        named = find_tables(sql)
        own, same = [], []
        for table in self.tables:
            columns = [column["name"] for column in table["columns"]]
            own += columns if table["name"].casefold() in named else []
            same += [f"{table['name']}.{column}" for column in columns if column.casefold() == name.casefold()]
        near = [column for column in find_near(name, own) if column.casefold() != name.casefold()]
        return (same + near)[:_MAX_NEAR] or own[:_MAX_LISTED]

    def _is_unique(self, table, columns):
        keys = ", ".join(map(quote_name, columns))
        _, found = self.execute(f"SELECT 1 FROM {quote_name(table)} GROUP BY {keys} HAVING count(*) > 1 LIMIT 1", 1)
        return not found

    def _run_checked(self, number, sql, tree, facts, notes):
        # The line break ends a comment.
        body = sql.strip().rstrip(";")
        description, rows = self.execute(f"SELECT * FROM (\n{body}\n) AS result LIMIT {MAX_ROWS + 1}", MAX_ROWS + 1)
        is_cut = len(rows) > MAX_ROWS
        rows = rows[:MAX_ROWS]
        columns = describe_result([(name, kind_of_type(f"{sql_type}")) for name, sql_type, *_ in description],
                                  facts.columns if facts else None)
        values = [[show_value(cell) for cell in row] for row in rows]
        shown = choose_shown(values, self.shown_bytes)
        if not rows and tree is not None:
            notes = [*notes, *self._explain_no_rows(tree, facts)]
        return {"columns": columns, "filters": facts.filters if facts else [], "row_count": len(rows), "is_cut": is_cut,
                "shown": len(shown), "rows": json.dumps(shown, ensure_ascii=False), "notes": notes,
                "chart": choose_chart(columns, values), "file": write_csv(number, columns, values)}

    # No rows

    def _explain_no_rows(self, tree, facts):
        """Returns a note with the filter without which the query has rows, and values that exist."""
        for part in _list_conditions(tree):
            if self._has_rows_without(tree, part):
                return [{"code": "no_rows", "filter": part.sql("duckdb"), **self._find_values(part, facts)}]
        return [{"code": "no_rows"}] if tree.find(exp.Where) else []

    def _has_rows_without(self, tree, part):
        try:
            _, rows = self.execute(f"SELECT 1 FROM (\n{_write_without(tree, part, 'duckdb')}\n) AS result LIMIT 1", 1)
        except (duckdb.Error, SqlError):
            return False
        return bool(rows)

    def _find_values(self, part, facts):
        """Returns the nearest values or the range of the column of a filter, if the filter is simple."""
        found = _find_filter(part, facts)
        if found is None:
            return {}
        table, column = quote_name(found["table"]), quote_name(found["column"])
        about = {"column": found["column"]}
        try:
            description, [(least, most)] = self.execute(f"SELECT min({column}), max({column}) FROM {table}", 1)
            if kind_of_type(f"{description[0][1]}") != "text":
                return about | {"min": show_value(least), "max": show_value(most)}
            _, rows = self.execute(f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL "
                                   f"LIMIT {_COMPARED_VALUES}", _COMPARED_VALUES)
        except (duckdb.Error, SqlError):
            return about
        return about | {"near": find_nearest(found["values"], [value for (value,) in rows])}


def find_nearest(wanted, values):
    """Returns the stored values that are most like those of a condition."""
    words = [word.strip("%").casefold() for word in wanted]

    def likeness(value):
        folded = value.casefold()
        ratios = (difflib.SequenceMatcher(None, word, folded).ratio()
                  + (1 if word and (word in folded or folded in word) else 0) for word in words)
        return max(ratios, default=0)

    return sorted(sorted(values), key=likeness, reverse=True)[:_MAX_NEAR]


def describe_result(description, facts):
    """Returns the columns of a result, each with a key that no other has. `description` has names and kinds."""
    known = facts if facts and len(facts) == len(description) else None
    columns, seen = [], set()
    for place, (name, kind) in enumerate(description):
        key, number = name, 2
        while key.casefold() in seen:
            key, number = f"{name}_{number}", number + 1
        seen.add(key.casefold())
        column = {"key": key, "name": name, "type": kind}
        columns.append(column | (known[place] if known else {}))
    return columns


def choose_shown(values, most):
    """Returns the first rows that fit into `most` bytes of a view."""
    shown, size = [], 0
    for row in values[:MAX_SHOWN_ROWS]:
        size += len(json.dumps(row, ensure_ascii=False).encode())
        if size > most:
            break
        shown.append(row)
    return shown


def write_csv(number, columns, values):
    """Writes a result as CSV and returns the name of the file; rows beyond 20 MB are left out."""
    name = f"query-{number}.csv"
    with open(name, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([column["key"] for column in columns])
        for row in values:
            if file.tell() > _MAX_CSV - MAX_SHOWN_BYTES:
                break
            writer.writerow(["" if cell is None else cell for cell in row])
    return name
