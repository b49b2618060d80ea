"""Files as typed tables: Parquet, with a description of each table and of everything that was left out or changed."""

import hashlib
import math
import os
import re

import duckdb
from column import name_examples
from column_types import find_column, find_marks
from engine import open_engine, quote_name, quote_text
from extract import Unreadable
from local_time import zone_reading
from table_files import MAX_COLUMNS, read_sources
from table_layout import Table

# Maximum size of the Parquet file of a table, in bytes.
MAX_PARQUET = 20 * 1024 * 1024
# Distinct values up to which a column has samples; maximum samples, and characters of one.
_SAMPLED_VALUES, _MAX_SAMPLES, _MAX_SAMPLE = 50, 12, 300
# Columns with samples, so that the description of a wide table stays short.
_SAMPLED_COLUMNS = 200
_MAX_TABLE_NAME = 60
_PARQUET = b"PAR1"
# Cells that DuckDB receives at once.
_CELLS_AT_ONCE = 500_000
# Times that are stored in UTC.
_ZONED = "TIMESTAMP WITH TIME ZONE"
_KINDS = (("BOOLEAN", "boolean"), ("DATE", "date"), ("TIMESTAMP", "timestamp"), ("TIME", "time"),
          ("DECIMAL", "decimal"), ("FLOAT", "number"), ("DOUBLE", "number"), ("TINYINT", "integer"), ("SMALLINT", "integer"),
          ("INTEGER", "integer"), ("BIGINT", "integer"), ("HUGEINT", "integer"), ("UTINYINT", "integer"),
          ("USMALLINT", "integer"), ("UINTEGER", "integer"), ("UBIGINT", "integer"), ("UHUGEINT", "integer"))


def read_tables(path, name):
    """Writes each table of a file as Parquet into the current folder, and returns `{"tables", "notes", "problem"}`.

    A table has `table` (a name for SQL), `sheet`, `parquet` (the name of the written file), `rows`, `columns` and
    `notes`. A column has `name`, `type`, `nulls`, `distinct`, `is_key`, `min`, `max`, `samples`, and `readings` and
    `reason` as `column.Column`.

    A note is an object with `code` and, depending on the code, `count`, `examples`, `column`, `name`. Codes of the
    file: `encoding`, `replaced_characters`, `hidden_sheet`, `chart_sheet`, `empty_sheet`, `more_sheets`. Codes of a
    table: `title_rows`, `blank_rows`, `footer_rows`, `total_rows`, `subtotal_rows`, `possible_total_rows` (kept),
    `no_header`, `header_rows_joined`, `repeated_headers`, `second_table`, `empty_columns`, `unnamed_columns`,
    `renamed_columns`, `merged_cells_filled`, `merged_numbers_kept_once`, `formulas_without_value`, `distant_cells`,
    `rows_with_more_fields` (left out), `rows_with_fewer_fields`, `items_without_fields`. Codes of a column:
    `not_converted` and `missing_words` (both null), `stays_text`.

    `problem` is empty, or `too_large`, `too_many_columns`, `encrypted`, `broken`, `no_table`, `no_text`.
    """
    try:
        tables, notes = _read_file(path, name)
    except Unreadable as error:
        return {"tables": [], "notes": [], "problem": f"{error}"}
    except MemoryError:
        return {"tables": [], "notes": [], "problem": "too_large"}
    return {"tables": tables, "notes": notes, "problem": "" if tables else "no_table"}


def _read_file(path, name):
    stem = os.path.splitext(name)[0]
    with open(path, "rb") as file:
        is_parquet = file.read(4) == _PARQUET
    if is_parquet:
        return [_read_parquet(path, _table_name(stem))], []
    sources, notes = read_sources(path, name)
    tables, names = [], set()
    for source in sources:
        table_name = _table_name(stem if len(sources) == 1 else f"{stem}_{source.sheet}")
        unique, number = table_name, 2
        while unique.casefold() in names:
            unique, number = f"{table_name}_{number}", number + 1
        names.add(unique.casefold())
        tables.append(_write_table(source, unique))
    # A single name without values is a text, and no table.
    tables = [table for table in tables if table["rows"] or len(table["columns"]) > 1]
    return tables, notes


def _table_name(text):
    name = re.sub(r"\W+", "_", text).strip("_")[:_MAX_TABLE_NAME] or "table"
    return f"t_{name}" if name[0].isdigit() else name


# Texts to types


def _write_table(source, table_name):
    table = Table(source.rows)
    notes = source.notes + table.notes
    cells_by_column = [[row[place] for row in table.rows] for place in range(len(table.names))]
    columns = _type_columns(table.names, cells_by_column, source.can_guess)
    for name, column in zip(table.names, columns):
        notes += _column_notes(name, column)
    described = {"table": table_name, "sheet": source.sheet, "rows": len(table.rows), "notes": notes}
    if not columns:
        return described | {"columns": [], "parquet": ""}
    with open_engine() as engine:
        _fill_engine(engine, table.names, columns, cells_by_column)
        parquet = write_parquet(engine)
        facts = describe_columns(engine, table.names, [column.kind for column in columns])
    for fact, column in zip(facts, columns):
        fact |= {"readings": column.readings, "reason": column.reason}
    return described | {"columns": facts, "parquet": parquet}


def _type_columns(names, cells_by_column, can_guess):
    """Types all columns. Columns whose marks for decimals and groups are certain decide for the others."""
    marks = {find_marks(cells) for cells in cells_by_column} - {None}
    certain = {pair for pair in marks if "" not in pair} or marks
    common = certain.pop() if len({decimal for decimal, _ in marks}) == 1 and len(certain) == 1 else None
    if len({decimal for decimal, _ in marks}) > 1:
        can_guess = False
    return [find_column(name, cells, common, can_guess) for name, cells in zip(names, cells_by_column)]


def _column_notes(name, column):
    notes = []
    for code, counts in (("not_converted", column.not_converted), ("missing_words", column.missing)):
        if counts:
            examples, count = name_examples(counts)
            notes.append({"code": code, "column": name, "count": count, "examples": examples})
    if column.reason:
        notes.append({"code": "stays_text", "column": name, "name": column.reason})
    return notes


def _fill_engine(engine, names, columns, cells_by_column):
    values_by_column = [column.values(cells) for column, cells in zip(columns, cells_by_column)]
    types = ", ".join(f"{quote_name(name)} {column.sql_type}" for name, column in zip(names, columns))
    engine.execute(f"CREATE TABLE data ({types})")
    casts = ", ".join(f"CAST(c{number} AS {column.sql_type})" for number, column in enumerate(columns))
    texts = ", ".join(f"unnest(${number + 1}::VARCHAR[]) AS c{number}" for number in range(len(columns)))
    step = max(1, _CELLS_AT_ONCE // len(columns))
    for first in range(0, len(values_by_column[0]), step):
        engine.execute(f"INSERT INTO data SELECT {casts} FROM (SELECT {texts})",
                       [values[first:first + step] for values in values_by_column])


def write_parquet(engine):
    """Writes the table `data` and returns the name of the file, which is the hash of its content."""
    engine.execute("COPY data TO 'table.parquet' (FORMAT parquet, COMPRESSION zstd)")
    if os.path.getsize("table.parquet") > MAX_PARQUET:
        os.remove("table.parquet")
        raise Unreadable("too_large")
    with open("table.parquet", "rb") as file:
        name = f"{hashlib.file_digest(file, 'sha256').hexdigest()}.parquet"
    os.replace("table.parquet", name)
    return name


# Parquet


def _read_parquet(path, table_name):
    try:
        with open_engine() as engine:
            engine.execute(f"CREATE VIEW raw AS SELECT * FROM read_parquet({quote_text(path)})")
            found = engine.execute("DESCRIBE raw").fetchall()
            if len(found) > MAX_COLUMNS:
                raise Unreadable("too_many_columns")
            names = [name for name, *_ in found]
            kinds = [kind_of_type(sql_type) for _, sql_type, *_ in found]
            zoned = [sql_type == _ZONED for _, sql_type, *_ in found]
            types = ["VARCHAR" if kind == "text" else "TIMESTAMP" if is_zoned else None
                     for kind, is_zoned in zip(kinds, zoned)]
            selected = ", ".join(f"CAST({name} AS {sql_type}) AS {name}" if sql_type else name
                                 for name, sql_type in zip(map(quote_name, names), types))
            engine.execute(f"CREATE TABLE data AS SELECT {selected} FROM raw")
            [(rows,)] = engine.execute("SELECT count(*) FROM data").fetchall()
            parquet = write_parquet(engine)
            facts = describe_columns(engine, names, kinds)
    except duckdb.OutOfMemoryException as error:
        raise Unreadable("too_large") from error
    except duckdb.Error as error:
        raise Unreadable("broken") from error
    for fact, is_zoned in zip(facts, zoned):
        fact |= {"readings": [zone_reading()] if is_zoned else [], "reason": ""}
    return {"table": table_name, "sheet": None, "rows": rows, "notes": [], "columns": facts, "parquet": parquet}


def kind_of_type(sql_type):
    """Returns the kind of one of DuckDB's types, as `column.Column`; `text` for all others."""
    if sql_type.endswith("]") or sql_type.startswith(("STRUCT", "MAP", "UNION")):
        return "text"
    return next((kind for start, kind in _KINDS
                 if sql_type == start or sql_type.startswith((f"{start}(", f"{start} ", f"{start}_"))), "text")


# Descriptions


def describe_columns(engine, names, kinds, sampled=()):
    """Returns the facts of the columns of the table `data`; columns in `sampled` have samples of many values too."""
    [(rows,)] = engine.execute("SELECT count(*) FROM data").fetchall()
    described = []
    for place, (name, kind) in enumerate(zip(names, kinds)):
        column = quote_name(name)
        fact = {"name": name, "type": kind}
        limits = f"min({column}), max({column})" if kind not in ("text", "boolean") else "NULL, NULL"
        [(filled, distinct, least, most)] = engine.execute(
            f"SELECT count({column}), count(DISTINCT {column}), {limits} FROM data").fetchall()
        fact |= {"nulls": rows - filled, "distinct": distinct, "is_key": distinct == rows > 0,
                 "min": show_value(least), "max": show_value(most), "samples": []}
        if name in sampled or 0 < distinct <= _SAMPLED_VALUES and place < _SAMPLED_COLUMNS:
            samples = engine.execute(f"SELECT {column} FROM data WHERE {column} IS NOT NULL GROUP BY {column} "
                                     f"ORDER BY count(*) DESC, {column} LIMIT {_MAX_SAMPLES}").fetchall()
            fact["samples"] = [f"{show_value(sample)}"[:_MAX_SAMPLE] for (sample,) in samples]
        described.append(fact)
    return described


def show_value(value):
    """Returns a value of DuckDB as JSON: large integers, decimals of more than 15 digits and times as text."""
    from datetime import date, datetime
    from decimal import Decimal

    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) <= 2**53 else f"{value}"
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        digits = len(value.as_tuple().digits)
        return f"{value:f}" if digits > 15 else float(value) if value != value.to_integral_value() else int(value)
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, (list, tuple, dict)):
        import json

        return json.dumps(value, ensure_ascii=False, default=show_value)
    return f"{value}"
