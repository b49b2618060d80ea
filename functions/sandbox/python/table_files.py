"""The sheets and records of a file, as rows of cells."""

import csv
import datetime
import io
import json
import re
from decimal import Decimal

import extract
from extract import Unreadable
from table_layout import Rows

# Maximum columns of a table, cells of a table, and tables of a file.
MAX_COLUMNS = 1_000
MAX_CELLS = 5_000_000
MAX_TABLES = 20
# Levels of objects of JSON whose fields become columns.
_MAX_DEPTH = 3
_CELL = re.compile(r"([A-Z]+)(\d+)")
_EXCEL_TEXT = re.compile(r'="(.*)"', re.DOTALL)


class Source:
    """The rows of a table in a file.

    `sheet` is the name of a sheet, or None; `notes` are the notes of `read_tables`; `can_guess` is false if the file
    may have decimal commas without a sign of it (see `column_types.find_column`).
    """

    def __init__(self, rows, sheet=None, notes=(), can_guess=True):
        self.rows, self.sheet, self.notes, self.can_guess = rows, sheet, list(notes), can_guess


def read_sources(path, name):
    """Returns the `Source` of each table in a file, and notes about the file. Raises `Unreadable`."""
    kind = extract.kind_of(path, name)
    if kind == "xlsx":
        return _read_workbook(path)
    if kind not in ("csv", "text"):
        raise Unreadable("no_table")
    text, encoding = extract.decode(path)
    if encoding.is_cut:
        raise Unreadable("too_large")
    notes = [{"code": "encoding", "name": encoding.name, "other": encoding.other or ""}] if (
        encoding.other or encoding.name not in ("utf-8", "utf-8-sig")) else []
    notes += [{"code": "replaced_characters", "count": encoding.replaced}] if encoding.replaced else []
    text = text.removeprefix("\ufeff")
    is_json = name.lower().endswith((".json", ".jsonl", ".ndjson"))
    if is_json or text.lstrip()[:1] in ("[", "{"):
        try:
            return [_read_json(text)], notes
        except Unreadable as error:
            # With another name, the bracket may be that of a cell.
            if is_json or f"{error}" != "broken":
                raise
    if text.lstrip()[:1] == "<":
        # A page or a drawing.
        raise Unreadable("no_table")
    return [_read_csv(text)], notes


# Texts


def _read_csv(text):
    from csv_table import CsvTable

    text = text.replace("\0", "")
    table = CsvTable(text)
    if table.has_quotes and _is_unclosed(table, text):
        table = CsvTable(text, has_quotes=False)
    rows, numbers, notes, long_rows, short = [], [], [], [], 0
    width = max(table.width, len(table.header) + table.is_labelled)
    for number, record in enumerate(table.read(text)):
        if number == 0 and re.fullmatch("sep=.?", table.separator.join(record).strip(), re.IGNORECASE):
            continue
        filled = len(record)
        while filled and not record[filled - 1].strip():
            filled -= 1
        if filled > width and number > table.skipped:
            long_rows.append(table.separator.join(record)[:80])
            continue
        short += number > table.skipped and 1 < len(record) < width
        cells = [_unwrap(cell) for cell in record[:width]]
        if number == table.skipped and table.is_labelled:
            cells.insert(0, None)
        rows.append(cells[:width] + [None] * (width - len(cells)))
        numbers.append(number + 1)
    if long_rows:
        notes.append({"code": "rows_with_more_fields", "count": len(long_rows), "examples": long_rows[:3]})
    if short:
        notes.append({"code": "rows_with_fewer_fields", "count": short})
    _check_size(len(rows), width)
    skipped = sum(1 for number in numbers if number <= table.skipped)
    return Source(Rows(rows, numbers, skipped=min(skipped, max(0, len(rows) - 1))), notes=notes,
                  can_guess=table.separator != ";")


def _is_unclosed(table, text):
    """Returns true if a quotation mark is not closed, and so is a plain character."""
    try:
        for _ in csv.reader(io.StringIO(text, newline=""), delimiter=table.separator, strict=True):
            pass
    except csv.Error as error:
        return "unexpected end" in f"{error}"
    return False


def _unwrap(cell):
    """Returns the text that a spreadsheet shows for `="00123"`."""
    found = _EXCEL_TEXT.fullmatch(cell.strip())
    return found[1] if found else cell.strip()


def _check_size(rows, columns):
    if columns > MAX_COLUMNS:
        raise Unreadable("too_many_columns")
    if rows * columns > MAX_CELLS:
        raise Unreadable("too_large")


# JSON


def _read_json(text):
    records, notes = _parse_json(text)
    names, rows = {}, []
    for record in records:
        fields = {}
        _flatten(record, "", fields, 1)
        for name in fields:
            names.setdefault(name, len(names))
        rows.append(fields)
        _check_size(len(rows), len(names))
    table = [list(names)] + [[fields.get(name) for name in names] for fields in rows]
    return Source(Rows(table, list(range(1, len(table) + 1)), skipped=0), notes=notes)


def _parse_json(text):
    """Returns the objects of a list, of a list in an object, or of one object a line."""
    try:
        value = _load_json(text)
    except (ValueError, RecursionError):
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            value = [_load_json(line) for line in lines]
        except (ValueError, RecursionError) as error:
            raise Unreadable("broken") from error
    if isinstance(value, dict):
        lists = [(name, inner) for name, inner in value.items() if _has_records(inner)]
        if len(lists) == 1:
            value = lists[0][1]
        elif not lists:
            value = [value]
        else:
            raise Unreadable("no_table")
    records = [record for record in value if isinstance(record, dict)] if isinstance(value, list) else []
    if not records:
        raise Unreadable("no_table")
    other = len(value) - len(records)
    return records, [{"code": "items_without_fields", "count": other}] if other else []


def _load_json(text):
    # NaN and infinity are no values.
    return json.loads(text, parse_float=Decimal, parse_constant=lambda _: None)


def _has_records(value):
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def _flatten(value, path, fields, depth):
    for name, inner in value.items():
        place = f"{path}.{name}" if path else f"{name}"
        if isinstance(inner, dict) and inner and depth < _MAX_DEPTH:
            _flatten(inner, place, fields, depth + 1)
        elif isinstance(inner, (dict, list)):
            fields[place] = json.dumps(inner, ensure_ascii=False, default=str)
        else:
            fields[place] = inner


# Workbooks


def _read_workbook(path):
    import workbook

    extract.check_archive(path)
    sources, notes = [], []
    try:
        sheets = workbook.read_sheets(path)
        for sheet in sheets:
            if sheet.kind != "table":
                notes.append({"code": f"{sheet.kind}_sheet", "name": sheet.name})
                continue
            cells = sheet.read(MAX_CELLS)
            if cells.is_cut:
                raise Unreadable("too_large")
            if cells.rows:
                sources.append(_sheet_source(sheet.name, cells))
            else:
                notes.append({"code": "empty_sheet", "name": sheet.name})
    except Unreadable:
        raise
    except Exception as error:  # Libraries report a broken file with many kinds of exceptions.
        raise Unreadable("broken") from error
    if len(sources) > MAX_TABLES:
        notes.append({"code": "more_sheets", "count": len(sources) - MAX_TABLES,
                      "examples": [source.sheet for source in sources[MAX_TABLES:MAX_TABLES + 3]]})
    return sources[:MAX_TABLES], notes


def _sheet_source(name, cells):
    from workbook import shorten

    columns = list(range(cells.columns[0], cells.columns[-1] + 1))
    _check_size(len(cells.rows), len(columns))
    unsolved = {_cell_place(cell) for cell in cells.facts.unsolved}
    rows, numbers, last = [], [], None
    for number, row in cells.rows:
        # A gap between rows separates tables.
        if last is not None and number > last + 1:
            rows.append([None] * len(columns))
            numbers.append(number - 1)
        rows.append([None if (number, column) in unsolved else _plain_cell(row.get(column)) for column in columns])
        numbers.append(number)
        last = number
    notes = [{"code": "formulas_without_value", "count": len(unsolved),
              "examples": [shorten(cells.facts.unsolved)]}] if unsolved else []
    notes += [{"code": "distant_cells", "count": len(cells.far), "examples": [shorten(cells.far)]}] if cells.far else []
    merged = [_range_places(area, columns[0]) for area in cells.facts.merged]
    return Source(Rows(rows, numbers, [area for area in merged if area]), sheet=name, notes=notes)


def _plain_cell(value):
    from workbook import show_cell

    return show_cell(value) if isinstance(value, datetime.timedelta) else value


def _cell_place(name):
    """Returns the row and the column of a cell such as `B3`, from 1."""
    letters, row = _CELL.fullmatch(name).groups()
    column = 0
    for letter in letters:
        column = column * 26 + ord(letter) - ord("A") + 1
    return int(row), column


def _range_places(area, first_column):
    """Returns a merged range such as `A1:B2` as rows by number, and columns by place; None for other texts,
    and for ranges that begin left of all values."""
    found = [_CELL.fullmatch(name) for name in (area or "").replace("$", "").split(":")]
    if len(found) != 2 or None in found:
        return None
    (top, left), (bottom, right) = (_cell_place(cell[0]) for cell in found)
    if left < first_column:
        return None
    return top, left - first_column, bottom, right - first_column
