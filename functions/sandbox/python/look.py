"""Summaries of files, for an author of code."""

import os

import extract
from extract import Unreadable
from words import words

# Maximum characters of a summary.
MAX_LOOK = 4_000
# Maximum described columns, and shown rows.
MAX_COLUMNS = 50
SHOWN_ROWS = 5
# Maximum shown characters of a cell.
MAX_CELL = 80
# Cells of a sheet that are examined for the types of columns.
MAX_CELLS = 100_000
# Maximum described sheets of a workbook.
MAX_SHEETS = 8
# Maximum shown characters of a text.
MAX_TEXT = 2_000


def look(path, name, language):
    """Returns `{"text", "notes"}`, a description of at most 4 000 characters with notes as in `extract.extract`, or
    `{"problem"}` with the message of `extract.Unreadable`.

    Labels are in `language`.
    """
    try:
        described, notes = _describe(path, name, language)
    except Unreadable as error:
        return {"problem": f"{error}"}
    except MemoryError:
        return {"problem": "too_large"}
    except Exception:  # Libraries report a broken file with many kinds of exceptions.
        return {"problem": "broken"}
    return {"text": described if len(described) <= MAX_LOOK else described[:MAX_LOOK] + "…", "notes": notes}


def _describe(path, name, language):
    kind = extract.kind_of(path, name)
    describe = {"csv": _describe_csv, "xlsx": _describe_workbook, "image": _describe_image}.get(kind)
    if describe is not None:
        return describe(path, language)
    told = extract.extract(path, name, 0, MAX_TEXT, language)
    more = "…" if told["next_offset"] else ""
    return told["text"] + more, told["notes"]


def _describe_csv(path, language):
    from csv_table import CsvTable
    from pandas.errors import ParserError

    text, encoding = extract.decode(path)
    try:
        return _describe_table(path, CsvTable(text), encoding, language)
    except ParserError:
        # An unclosed quotation mark is a plain character.
        return _describe_table(path, CsvTable(text, has_quotes=False), encoding, language)


def _describe_table(path, table, encoding, language):
    import pandas
    from csv_table import TYPED_RECORDS

    known = {} if encoding.name in ("utf-8", "utf-8-sig") else {"encoding": encoding.name}
    known |= {"encoding_errors": "replace"} if encoding.replaced else {}
    beginning = {name: value for name, value in table.arguments([]).items() if name != "nrows"}
    columns = list(pandas.read_csv(path, **known, **beginning, nrows=0).columns)
    arguments = known | table.arguments(columns)
    rows = min(table.rows, TYPED_RECORDS)
    values = pandas.read_csv(path, **(arguments | {"nrows": rows}))
    header = [name for name in columns if table.named(name, columns)]
    about = words(language, "table", rows=_at_least(language, table.rows, encoding.is_cut), columns=len(header))
    if table.rows > TYPED_RECORDS:
        about += words(language, "typed_rows", rows=TYPED_RECORDS)
    lines = [about]
    if arguments:
        lines.append(f"pd.read_csv(name, {_show_arguments(arguments)})")
    lines += _table_facts(table, language)
    shown = [record + [""] * (len(columns) + 1 - len(record)) for record in table.records[:SHOWN_ROWS]]
    places = [columns.index(name) + table.is_labelled for name in header]
    lines += _describe_columns(values[header], language)
    lines += _show_rows(header, [[record[place] for place in places] for record in shown])
    return "\n".join(lines), [note for note in encoding.notes() if note != "cut"]


def _at_least(language, rows, is_cut):
    return words(language, "at_least", rows=rows) if is_cut else f"{rows}"


def _table_facts(table, language):
    facts = []
    if table.ragged:
        facts.append(words(language, "ragged", lines=table.ragged))
    if table.footer:
        facts.append(words(language, "left_after", lines=table.footer))
    if table.total is not None:
        facts.append(words(language, "total", name=table.total))
    if any(name != name.strip() for name in table.header):
        facts.append(words(language, "padded"))
    return facts


def _show_arguments(arguments):
    shown = [f'{name}="{value}"' if name in ("encoding", "encoding_errors") else f"{name}={value!r}"
             for name, value in arguments.items()]
    return ", ".join(shown)


def _describe_workbook(path, language):
    import workbook

    extract.check_archive(path)
    parts, notes = [], []
    sheets = workbook.read_sheets(path)
    tables = [sheet for sheet in sheets if sheet.kind == "table"]
    for sheet in tables[:MAX_SHEETS]:
        described, unsolved = _describe_sheet(sheet, language, sheet is sheets[0])
        parts.append(f"{words(language, 'sheet', name=sheet.name)}: {described}")
        notes += ["formulas"] if unsolved and "formulas" not in notes else []
    parts += [words(language, f"{sheet.kind}_sheet", name=sheet.name) for sheet in sheets if sheet.kind != "table"]
    if len(tables) > MAX_SHEETS:
        parts.append(words(language, "more_sheets", count=len(tables) - MAX_SHEETS))
    return "\n\n".join(parts), notes + extract.workbook_notes(path)


def _describe_sheet(sheet, language, is_first):
    from sheet_table import SheetTable
    from workbook import shorten

    cells = sheet.read(MAX_CELLS)
    if not cells.rows:
        return words(language, "empty_sheet"), False
    table = SheetTable(cells)
    rows = table.rows
    if cells.is_cut:
        counted = sheet.count_rows()
        rows = counted - table.skipped - 1 if counted else None
    shown_rows = _at_least(language, table.rows, True) if rows is None else f"{rows}"
    about = words(language, "table", rows=shown_rows, columns=len(table.header))
    if cells.is_cut:
        about += words(language, "typed_rows", rows=table.rows)
    lines = [about]
    arguments = ({} if is_first else {"sheet_name": sheet.name}) | table.arguments(cells)
    if arguments:
        lines.append(f"pd.read_excel(name, {_show_arguments(arguments)})")
    facts = [("merged", table.merged(cells)), ("unsolved", cells.facts.unsolved), ("far", cells.far)]
    lines += [words(language, key, cells=shorten(names)) for key, names in facts if names]
    if table.total is not None:
        lines.append(words(language, "total", name=table.total))
    lines += _describe_columns(table.frame(), language)
    lines += _show_rows(table.header, table.shown(SHOWN_ROWS))
    return "\n".join(lines), bool(cells.facts.unsolved)


def _describe_columns(table, language):
    shown = table.iloc[:, :MAX_COLUMNS]
    missing = shown.isna().sum()
    lines = []
    for column, kind in shown.dtypes.items():
        gaps = ", " + words(language, "missing", count=missing[column]) if missing[column] else ""
        lines.append(f"- {_cut(column)}: {kind}{gaps}")
    if len(table.columns) > MAX_COLUMNS:
        lines.append("- " + words(language, "more_columns", count=len(table.columns) - MAX_COLUMNS))
    return lines


def _show_rows(header, records):
    rows = [header, ["---"] * len(header), *records]
    return ["", *("| " + " | ".join(_cut(cell) for cell in row[:MAX_COLUMNS]) + " |" for row in rows)]


def _cut(value):
    from workbook import escape_breaks

    text = escape_breaks(f"{value}").replace("|", "\\|")
    return text if len(text) <= MAX_CELL else text[:MAX_CELL] + "…"


def _describe_image(path, language):
    from PIL import Image

    with Image.open(path) as image:
        described = words(language, "image", format=image.format, width=image.width, height=image.height,
                          bytes=os.path.getsize(path))
    return described, []
