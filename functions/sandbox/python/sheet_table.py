"""The table of a sheet: the beginning and end, and arguments for reading it with pandas without loss."""

import re

from csv_table import find_header, find_total, is_identifier, usual_width
from workbook import show_cell

_SAMPLE_ROWS = 200
_INTEGER = re.compile(r"[+-]?\d+")


class SheetTable:
    """A table in `workbook.SheetCells`.

    `header`, the names of columns; `skipped`, the number of filled rows before the header; `rows`, the number of data
    rows; `total`, the first cell of a last row with sums, which `rows` does not count.
    """

    def __init__(self, cells):
        self._columns = cells.columns
        records = [[row.get(column) for column in cells.columns] for _, row in cells.rows]
        shown = [[_show(value) for value in record] for record in records[:_SAMPLE_ROWS]]
        width = usual_width([[cell for cell in record if cell] for record in shown])[0]
        # All rows of a sheet have the same width, so filled cells determine the table's width.
        is_header = [len([cell for cell in record if cell]) * 2 >= min(max(width, len(record) // 2), 4)
                     for record in shown]
        self.skipped = is_header.index(True) if True in is_header else find_header(shown, len(cells.columns))
        self._header_row = cells.rows[self.skipped][0]
        names = shown[self.skipped]
        self.header = _unique([name or f"Unnamed: {number}" for number, name in enumerate(names)])
        self._records = records[self.skipped + 1:]
        last = [_show(value) for value in self._records[-1]] if self._records else []
        self.total = find_total(last) if len(self._records) > 1 and not cells.is_cut else None
        if self.total is not None:
            del self._records[-1]
        self.rows = len(self._records)
        self._last_row = self._header_row
        if self.rows:
            self._last_row = cells.rows[self.skipped + self.rows][0]

    def shown(self, count):
        """Returns the first data rows as texts."""
        return [[_show(value) for value in record] for record in self._records[:count]]

    def frame(self):
        """Returns the data, with a type for each column."""
        import pandas

        columns = {name: pandas.Series(self._values(place), dtype=object).convert_dtypes()
                   for place, name in enumerate(self.header)}
        return pandas.DataFrame(columns)

    def merged(self, cells):
        """Returns the merged ranges in the data."""
        first = self._header_row
        return [area for area in cells.facts.merged
                if area and int(re.search(r"\d+", area)[0]) > first]

    def arguments(self, cells):
        """Returns keyword arguments for `pandas.read_excel`."""
        arguments = {}
        if self._header_row > 1:
            arguments["header"] = self._header_row - 1
        if self._columns != list(range(1, len(self._columns) + 1)) or cells.has_strays():
            arguments["usecols"] = _name_columns(self._columns)
        if self.total is not None or cells.has_strays():
            arguments["nrows"] = self._last_row - self._header_row
        types = {}
        for place, name in enumerate(self.header):
            values = [value for value in self._values(place) if value is not None]
            if any(isinstance(value, str) and _INTEGER.fullmatch(value) and is_identifier(value) for value in values):
                types[name] = "str"
            elif values and len(values) < self.rows and all(type(value) is int for value in values):
                types[name] = "Int64"
        return arguments | ({"dtype": types} if types else {})

    def _values(self, place):
        return [record[place] for record in self._records]


def _show(value):
    return "" if value is None else show_cell(value)


def _unique(names):
    """Makes names unique in the same way as pandas."""
    seen, unique = {}, []
    for name in names:
        seen[name] = seen.get(name, -1) + 1
        unique.append(f"{name}.{seen[name]}" if seen[name] else name)
    return unique


def _name_columns(columns):
    """Returns columns in Excel's notation: `C:D,G`."""
    from openpyxl.utils import get_column_letter

    ranges = []
    for column in columns:
        if ranges and column == ranges[-1][1] + 1:
            ranges[-1][1] = column
        else:
            ranges.append([column, column])
    return ",".join(get_column_letter(first) if first == last else f"{get_column_letter(first)}:{get_column_letter(last)}"
                    for first, last in ranges)
