"""Workbooks, row by row: distant cells cost nothing, and formulas without a value are shown."""

import datetime
import re
import warnings

# Empty rows or columns after which the next cells belong to another table.
_FAR_ROWS, _FAR_COLUMNS = 1_000, 100
# Maximum listed cells that are distant, or have a formula without a value.
_MAX_NAMED = 5
_MIDNIGHT = datetime.time()


class Sheet:
    """A sheet: `name`, and `kind`: `table`, `hidden` or `chart`."""

    def __init__(self, name, kind, rows=None, count_rows=None):
        self.name, self.kind = name, kind
        self._rows, self._count_rows = rows, count_rows

    def read(self, max_cells):
        """Returns the sheet's `SheetCells`, with at most `max_cells` cells."""
        return SheetCells(self._rows, max_cells)

    def count_rows(self):
        """Returns the number of filled rows without parsing them, or None if unknown."""
        return self._count_rows() if self._count_rows else None


class SheetFacts:
    """Facts of a sheet besides values: `merged` ranges, `unsolved` cells (formulas without a value), and the last row
    and column with any content, including blanks."""

    def __init__(self):
        self.merged, self.unsolved = [], []
        self.last_row = self.last_column = 0


class SheetCells:
    """The filled cells of a sheet.

    `rows` is a list of pairs: the number of a row from 1, and values by column from 1. `columns` are the numbers of
    all columns; `is_cut` is true if more rows exist. `facts` are the `SheetFacts` of the read part, and `far` names
    cells that are distant from all others.
    """

    def __init__(self, rows, max_cells):
        self.rows, self.far, self.is_cut, self.facts = [], [], False, SheetFacts()
        count = 0
        for number, cells in rows(self.facts):
            if not cells:
                continue
            if self.rows and number - self.rows[-1][0] > _FAR_ROWS:
                self.far += [_name_cell(number, column) for column in cells]
                continue
            self.rows.append((number, cells))
            count += len(cells)
            if count > max_cells:
                self.is_cut = True
                break
        self.columns = self._drop_far_columns()

    def has_strays(self):
        """Returns true if cells outside the listed rows and columns have any content, even a blank."""
        return bool(self.rows) and (self.facts.last_row > self.rows[-1][0]
                                    or self.facts.last_column > self.columns[-1])

    def _drop_far_columns(self):
        used = sorted({column for _, cells in self.rows for column in cells})
        end = next((place for place in range(1, len(used)) if used[place] - used[place - 1] > _FAR_COLUMNS), len(used))
        far = set(used[end:])
        if far:
            self.far += [_name_cell(number, column) for number, cells in self.rows for column in cells if column in far]
            near = [(number, {column: cells[column] for column in cells if column not in far})
                    for number, cells in self.rows]
            self.rows = [(number, cells) for number, cells in near if cells]
        return used[:end]


def shorten(cells):
    """Returns the names of the first five cells as a text."""
    return ", ".join(cells if len(cells) <= _MAX_NAMED else [*cells[:_MAX_NAMED], "…"])


def _name_cell(row, column):
    from openpyxl.utils import get_column_letter

    return f"{get_column_letter(column)}{row}"


def read_sheets(path):
    """Returns the sheets of a workbook, in order. Raises any exception of a library for a broken workbook."""
    import openpyxl

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            workbook = openpyxl.load_workbook(path, read_only=True, data_only=True)
        except Exception:  # The library is strict about styles and properties, which are irrelevant here.
            return _read_leniently(path)
        return [_open_sheet(workbook, sheet) for sheet in workbook._sheets]


def _open_sheet(workbook, sheet):
    from openpyxl.chartsheet import Chartsheet

    if isinstance(sheet, Chartsheet):
        return Sheet(sheet.title, "chart")
    kind = "table" if sheet.sheet_state == "visible" else "hidden"
    return Sheet(sheet.title, kind, lambda facts: _stream_rows(workbook, sheet, facts), lambda: _count_rows(sheet))


def _stream_rows(workbook, sheet, facts):
    from lxml.etree import iterparse
    from openpyxl.worksheet._reader import FORMULA_TAG, MERGE_TAG, ROW_TAG, WorkSheetParser

    parser = WorkSheetParser(None, sheet._shared_strings, True, workbook.epoch, workbook._date_formats,
                             workbook._timedelta_formats)
    with sheet._get_source() as source:
        for _, element in iterparse(source, tag=(ROW_TAG, MERGE_TAG)):
            if element.tag == MERGE_TAG:
                facts.merged += [cell.get("ref") for cell in element]
                continue
            number, cells = parser.parse_row(element)
            values = {}
            for cell, written in zip(cells, element):
                value = cell["value"]
                formula = written.find(FORMULA_TAG) if value is None else None
                if formula is not None:
                    value = _show_formula(parser, written)
                    facts.unsolved.append(_name_cell(number, cell["column"]))
                if value is None:
                    continue
                facts.last_row, facts.last_column = number, max(facts.last_column, cell["column"])
                if not isinstance(value, str) or value.strip():
                    values[cell["column"]] = value
            element.clear()
            while element.getprevious() is not None:
                del element.getparent()[0]
            yield number, values


def _count_rows(sheet):
    count, last, rest = 0, 0, b""
    with sheet._get_source() as source:
        while piece := source.read(1024 * 1024):
            *rows, rest = (rest + piece).split(b"</row>")
            for row in rows:
                if b"<v>" not in row and b"<is>" not in row:
                    continue
                number = re.search(rb'<row [^>]*?\br="(\d+)"', row)
                number = int(number[1]) if number else last + 1
                if last and number - last > _FAR_ROWS:
                    return count
                count, last = count + 1, number
    return count or None


def _show_formula(parser, element):
    value = parser.parse_formula(element)
    return value if isinstance(value, str) else f"{getattr(value, 'text', None) or '='}"


def _read_leniently(path):
    from python_calamine import CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    workbook = CalamineWorkbook.from_path(path)
    sheets = []
    for about in workbook.sheets_metadata:
        is_shown = about.visible == SheetVisibleEnum.Visible
        kind = "chart" if about.typ != SheetTypeEnum.WorkSheet else "table" if is_shown else "hidden"
        sheets.append(Sheet(about.name, kind, _calamine_rows(workbook, about.name)))
    return sheets


def _calamine_rows(workbook, name):
    def rows(facts):
        from openpyxl.utils import get_column_letter

        sheet = workbook.get_sheet_by_name(name)
        for (top, left), (bottom, right) in sheet.merged_cell_ranges or []:
            facts.merged.append(f"{get_column_letter(left + 1)}{top + 1}:{get_column_letter(right + 1)}{bottom + 1}")
        for number, row in enumerate(sheet.iter_rows(), 1):
            yield number, {column: value for column, value in enumerate(row, 1) if f"{value}".strip()}

    return rows


def show_cell(value):
    """Returns a value as text: whole numbers without a point, dates without midnight, line breaks escaped."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
    if isinstance(value, datetime.datetime):
        value = value.replace(microsecond=0)
        return f"{value.date()}" if value.time() == _MIDNIGHT else f"{value}"
    if isinstance(value, datetime.timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    return escape_breaks(f"{value}")


def escape_breaks(text):
    """Returns a text as one line."""
    return re.sub(r"\r\n?|\n", r"\\n", text.strip()).replace("\t", " ")
